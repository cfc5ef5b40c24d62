package fleet

import (
	"context"
	"slices"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/nodehold"
)

// Set orders a location of a node out of routing and returns the hold. If it is held already, that hold stays as it is and is
// returned. fault.NotFound if there is no such node. h.Created is ignored.
func (h *Holds) Set(ctx context.Context, hold Hold) (Hold, error) {
	if hold.Location == "" {
		return Hold{}, invalid("location", "a hold needs the location that it is for")
	}
	if err := first(line("location", hold.Location), line("account", hold.Account), limited("reason", hold.Reason, maxRemark)); err != nil {
		return Hold{}, err
	}
	var out Hold
	err := h.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		// The node's row is locked: its deletion takes the holds along, and two orders for one location meet here.
		if _, err := nodeRow(ctx, forUpdate(h.db, tx.Node.Query()), hold.Node); err != nil {
			return err
		}
		row, err := holdRow(ctx, tx, hold.Node, hold.Location)
		if ent.IsNotFound(err) {
			row, err = tx.NodeHold.Create().SetNodeName(hold.Node).SetLocation(hold.Location).SetReason(hold.Reason).
				SetAccount(hold.Account).SetCreated(h.now()).Save(ctx)
		}
		if err != nil {
			return err
		}
		out = holdOf(row)
		return nil
	})
	if err != nil {
		return Hold{}, database.Mapped(err, noNode(hold.Node), nil)
	}
	h.afterWrite(ctx, kindHold, hold.Node)
	return out, nil
}

// holdRow finds the hold of exactly this location: MySQL would also find one that differs in trailing blanks.
func holdRow(ctx context.Context, tx *ent.Tx, name, location string) (*ent.NodeHold, error) {
	rows, err := tx.NodeHold.Query().Where(nodehold.NodeName(name), nodehold.Location(location)).All(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.NodeName == name && row.Location == location {
			return row, nil
		}
	}
	return nil, &ent.NotFoundError{}
}

// Lift ends a hold. fault.NotFound if there is none.
func (h *Holds) Lift(ctx context.Context, name, location, by string) error {
	err := h.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := holdRow(ctx, tx, name, location)
		if err != nil {
			return err
		}
		count, err := tx.NodeHold.Delete().Where(nodehold.ID(row.ID)).Exec(ctx)
		if err == nil && count == 0 {
			return &ent.NotFoundError{} // somebody else was faster
		}
		return err
	})
	if err != nil {
		return database.Mapped(err, fault.New(fault.NotFound, "%s of node %q is not held", location, name), nil)
	}
	h.afterWrite(ctx, kindHold, name)
	return nil
}

// Of returns the holds of a node, by location.
func (h *Holds) Of(ctx context.Context, name string) ([]Hold, error) {
	rows, err := h.db.Client.NodeHold.Query().Where(nodehold.NodeName(name)).All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	out := make([]Hold, 0, len(rows))
	for _, row := range rows {
		if row.NodeName == name {
			out = append(out, holdOf(row))
		}
	}
	slices.SortFunc(out, func(a, b Hold) int { return strings.Compare(a.Location, b.Location) })
	return out, nil
}

// Held tells from memory whether a location of a node is held.
func (h *Holds) Held(node, location string) (Hold, bool) {
	s := h.snapshot.Load()
	if s == nil {
		return Hold{}, false
	}
	hold, ok := s.holds[holdKey{node, location}]
	return hold, ok
}
