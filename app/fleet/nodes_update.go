package fleet

import (
	"context"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/ent"
	"eruptcloud/ent/configrevision"
	"eruptcloud/ent/node"
	"eruptcloud/ent/nodedrain"
	"eruptcloud/ent/nodeextra"
	"eruptcloud/ent/nodehold"
)

// Update changes a profile. fault.NotFound if there is none.
func (n *Nodes) Update(ctx context.Context, name string, patch NodePatch) (Node, error) {
	err := n.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := nodeRow(ctx, forUpdate(n.db, tx.Node.Query()), name)
		if err != nil {
			return err
		}
		// Only the columns that change, and not by UpdateOneID, which reads all of them back: an adopted table may lack some.
		author, err := n.author(ctx, tx, patch.By)
		if err != nil {
			return err
		}
		update := tx.Node.Update().Where(node.ID(row.ID)).SetUpdateBy(author).SetUpdateTime(n.now())
		if err := n.patch(ctx, tx, update, name, patch); err != nil {
			return err
		}
		if err := update.Exec(ctx); err != nil {
			return err
		}
		return patchExtra(ctx, tx, row.ID, patch)
	})
	if err != nil {
		return Node{}, database.Mapped(err, noNode(name), nil)
	}
	return n.written(ctx, name)
}

func (f *Fleet) patch(ctx context.Context, tx *ent.Tx, update *ent.NodeUpdate, name string, patch NodePatch) error {
	if patch.Display != nil {
		display := strings.TrimSpace(*patch.Display)
		if display == "" {
			display = name
		}
		if err := line("display", display); err != nil {
			return err
		}
		update.SetName(display)
	}
	if patch.Remark != nil {
		if err := limited("remark", *patch.Remark, maxRemark); err != nil {
			return err
		}
		update.SetRemark(*patch.Remark)
	}
	if patch.Enabled != nil {
		update.SetStatus(flag(*patch.Enabled))
	}
	if patch.Duty != nil {
		duty, err := dutyText(*patch.Duty)
		if err != nil {
			return err
		}
		update.SetDuty(f.dutyColumn(duty))
	}
	if patch.Group != nil {
		id, err := f.groupID(ctx, tx, *patch.Group)
		if err != nil {
			return err
		}
		if id == nil {
			update.ClearCloudNodeGroupID()
		} else {
			update.SetCloudNodeGroupID(*id)
		}
	}
	return nil
}

func patchExtra(ctx context.Context, tx *ent.Tx, id int64, patch NodePatch) error {
	if patch.Core == nil && patch.RawSession == nil {
		return nil
	}
	extra, err := nodeExtra(ctx, tx, id)
	if err != nil {
		return err
	}
	update := tx.NodeExtra.Update().Where(nodeextra.ID(extra.ID))
	if patch.Core != nil {
		update.SetCore(flag(*patch.Core))
	}
	if patch.RawSession != nil {
		update.SetRawSession(flag(*patch.RawSession))
	}
	return update.Exec(ctx)
}

// nodeExtra returns the extra row of a node and makes it where it is missing, as in an adopted database. The caller holds the
// node's row, so nobody else makes it meanwhile.
func nodeExtra(ctx context.Context, tx *ent.Tx, id int64) (*ent.NodeExtra, error) {
	extra, err := tx.NodeExtra.Query().Where(nodeextra.NodeID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		return tx.NodeExtra.Create().SetNodeID(id).Save(ctx)
	}
	return extra, err
}

// Delete removes a profile with its config history, holds and drains. fault.NotFound if there is none.
func (n *Nodes) Delete(ctx context.Context, name, by string) error {
	err := n.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := nodeRow(ctx, forUpdate(n.db, tx.Node.Query()), name)
		if err != nil {
			return err
		}
		if _, err := tx.ConfigRevision.Delete().Where(configrevision.OwnerEQ(configrevision.OwnerNode), configrevision.OwnerID(row.ID)).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.NodeExtra.Delete().Where(nodeextra.NodeID(row.ID)).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.NodeHold.Delete().Where(nodehold.NodeName(name)).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.NodeDrain.Delete().Where(nodedrain.NodeName(name)).Exec(ctx); err != nil {
			return err
		}
		_, err = tx.Node.Delete().Where(node.ID(row.ID)).Exec(ctx)
		return err
	})
	if err != nil {
		return database.Mapped(err, noNode(name), nil)
	}
	n.afterWrite(ctx, kindNode, name)
	return nil
}

// MarkSeen notes the moment of a node's first accepted registration; later calls cost nothing.
func (n *Nodes) MarkSeen(ctx context.Context, name string) error {
	if known, ok := n.Cached(name); ok && !known.FirstSeen.IsZero() {
		return nil
	}
	changed := false
	err := n.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		row, err := nodeRow(ctx, forUpdate(n.db, tx.Node.Query()), name)
		if err != nil {
			return err
		}
		extra, err := nodeExtra(ctx, tx, row.ID)
		if err != nil {
			return err
		}
		count, err := tx.NodeExtra.Update().Where(nodeextra.ID(extra.ID), nodeextra.FirstSeenIsNil()).SetFirstSeen(n.now()).Save(ctx)
		changed = count > 0
		return err
	})
	if err != nil {
		return database.Mapped(err, noNode(name), nil)
	}
	if changed {
		n.afterWrite(ctx, kindNode, name)
	}
	return nil
}
