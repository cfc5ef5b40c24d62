package fleet

import (
	"context"
	"slices"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/nodedrain"
)

// Start orders an instance of a node out of routing until it has left, and returns the drain. If there is one already, that
// stays as it is and is returned. fault.NotFound if there is no such node; whether there is such an instance is for the caller
// to know. d.Created is ignored.
func (d *Drains) Start(ctx context.Context, drain Drain) (Drain, error) {
	if drain.Instance == "" {
		return Drain{}, invalid("instance", "a drain needs the instance that it is for")
	}
	if err := first(line("instance", drain.Instance), line("account", drain.Account), limited("reason", drain.Reason, maxRemark)); err != nil {
		return Drain{}, err
	}
	var out Drain
	err := d.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		// The node's row is locked: its deletion takes the drains along, and two orders for one instance meet here.
		if _, err := nodeRow(ctx, forUpdate(d.db, tx.Node.Query()), drain.Node); err != nil {
			return err
		}
		row, err := drainRow(ctx, tx, drain.Node, drain.Instance)
		if ent.IsNotFound(err) {
			row, err = tx.NodeDrain.Create().SetNodeName(drain.Node).SetInstanceID(drain.Instance).SetReason(drain.Reason).
				SetAccount(drain.Account).SetCreated(d.now()).Save(ctx)
		}
		if err != nil {
			return err
		}
		out = drainOf(row)
		return nil
	})
	if err != nil {
		return Drain{}, database.Mapped(err, noNode(drain.Node), nil)
	}
	d.afterWrite(ctx, kindDrain, drain.Node)
	return out, nil
}

// drainRow finds the drain of exactly this instance: MySQL would also find one that differs in trailing blanks.
func drainRow(ctx context.Context, tx *ent.Tx, name, instance string) (*ent.NodeDrain, error) {
	rows, err := tx.NodeDrain.Query().Where(nodedrain.NodeName(name), nodedrain.InstanceID(instance)).All(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.NodeName == name && row.InstanceID == instance {
			return row, nil
		}
	}
	return nil, &ent.NotFoundError{}
}

// End calls a drain off: the instance takes requests again. fault.NotFound if there is none.
func (d *Drains) End(ctx context.Context, name, instance, by string) error {
	err := d.remove(ctx, name, instance)
	return database.Mapped(err, fault.New(fault.NotFound, "instance %q of node %q is not draining", instance, name), nil)
}

// Forget removes the drain of an instance that has left. That there is none is no error, and costs nothing.
func (d *Drains) Forget(ctx context.Context, name, instance string) error {
	if _, there := d.Draining(name, instance); !there {
		return nil
	}
	err := d.remove(ctx, name, instance)
	if ent.IsNotFound(err) {
		return nil
	}
	return database.Mapped(err, nil, nil)
}

func (d *Drains) remove(ctx context.Context, name, instance string) error {
	err := d.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := drainRow(ctx, tx, name, instance)
		if err != nil {
			return err
		}
		count, err := tx.NodeDrain.Delete().Where(nodedrain.ID(row.ID)).Exec(ctx)
		if err == nil && count == 0 {
			return &ent.NotFoundError{} // somebody else was faster
		}
		return err
	})
	if err == nil || ent.IsNotFound(err) { // in either case the memory should know
		d.afterWrite(ctx, kindDrain, name)
	}
	return err
}

// Of returns the drains of a node, by instance.
func (d *Drains) Of(ctx context.Context, name string) ([]Drain, error) {
	rows, err := d.db.Client.NodeDrain.Query().Where(nodedrain.NodeName(name)).All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	out := make([]Drain, 0, len(rows))
	for _, row := range rows {
		if row.NodeName == name {
			out = append(out, drainOf(row))
		}
	}
	slices.SortFunc(out, func(a, b Drain) int { return strings.Compare(a.Instance, b.Instance) })
	return out, nil
}

// Draining tells from memory whether an instance of a node is ordered out of routing.
func (d *Drains) Draining(node, instance string) (Drain, bool) {
	s := d.snapshot.Load()
	if s == nil {
		return Drain{}, false
	}
	drain, ok := s.drains[drainKey{node, instance}]
	return drain, ok
}

// All returns every drain from memory, in no order.
func (d *Drains) All() []Drain {
	s := d.snapshot.Load()
	if s == nil {
		return nil
	}
	out := make([]Drain, 0, len(s.drains))
	for _, drain := range s.drains {
		out = append(out, drain)
	}
	return out
}
