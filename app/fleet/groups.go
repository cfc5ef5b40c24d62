package fleet

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"entgo.io/ent/dialect/sql"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/configrevision"
	"eruptcloud/ent/group"
	"eruptcloud/ent/groupextra"
	"eruptcloud/ent/node"
)

var desc = sql.OrderDesc()

func noGroup(code string) *fault.Error {
	return fault.New(fault.NotFound, "no group has the code %q", code)
}

// ByCode returns a group as the database has it now. fault.NotFound if there is none.
func (g *Groups) ByCode(ctx context.Context, code string) (Group, error) {
	var out Group
	err := g.db.InSnapshot(ctx, func(ctx context.Context, tx *ent.Tx) (err error) {
		out, err = readGroup(ctx, tx, code)
		return err
	})
	if err != nil {
		return Group{}, database.Mapped(err, noGroup(code), nil)
	}
	return out, nil
}

// written is Nodes.written for groups.
func (g *Groups) written(ctx context.Context, code string) (Group, error) {
	if g.afterWrite(ctx, kindGroup, code) {
		if known := g.snapshot.Load().groups[code]; known != nil {
			return *known, nil
		}
	}
	return g.ByCode(ctx, code)
}

// List returns all groups by code; ParentID makes the tree.
func (g *Groups) List(ctx context.Context) ([]Group, error) {
	s, err := g.fresh(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Group, 0, len(s.groups))
	for _, known := range s.groups {
		out = append(out, *known)
	}
	slices.SortFunc(out, func(a, b Group) int {
		return cmp.Or(strings.Compare(folded(a.Code), folded(b.Code)), strings.Compare(a.Code, b.Code))
	})
	return out, nil
}

// tree is what a change of the tree rests on.
type tree struct {
	rows   map[string]*ent.Group // by code
	parent map[int64]int64
}

// lockTree reads the whole tree and keeps others from changing it until the transaction ends: two moves that each are right
// could make a cycle together.
func (f *Fleet) lockTree(ctx context.Context, tx *ent.Tx) (tree, error) {
	rows, err := forUpdate(f.db, tx.Group.Query()).Select(groupColumns...).Order(group.ByID()).All(ctx)
	if err != nil {
		return tree{}, err
	}
	extras, err := tx.GroupExtra.Query().All(ctx)
	if err != nil {
		return tree{}, err
	}
	t := tree{rows: make(map[string]*ent.Group, len(rows)), parent: make(map[int64]int64, len(extras))}
	for _, r := range rows {
		t.rows[r.Code] = r
	}
	for _, e := range extras {
		if e.ParentID != nil {
			t.parent[e.GroupID] = *e.ParentID
		}
	}
	return t, nil
}

// parentID finds the parent for a group, which must not be the group itself or below it. id is zero for a new group.
func (t tree) parentID(id int64, code string) (*int64, error) {
	if code == "" {
		return nil, nil
	}
	row := t.rows[code]
	if row == nil {
		return nil, invalid("parent", "no group has the code %q", code)
	}
	for up, steps := row.ID, 0; up != 0 && steps <= len(t.rows); up, steps = t.parent[up], steps+1 {
		if up == id {
			return nil, invalid("parent", "group %q cannot be the parent: it is the group itself or below it", code)
		}
	}
	return &row.ID, nil
}

// Create adds a group. fault.Conflict names a group whose code differs at most in case (S29).
func (g *Groups) Create(ctx context.Context, in NewGroup) (Group, error) {
	name := strings.TrimSpace(in.Name)
	if name == "" {
		name = in.Code
	}
	if err := first(groupCode(in.Code), line("name", name), limited("remark", in.Remark, maxRemark)); err != nil {
		return Group{}, err
	}
	config, err := checkConfig(in.Config)
	if err != nil {
		return Group{}, err
	}
	err = g.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		t, err := g.lockTree(ctx, tx)
		if err != nil {
			return err
		}
		if clash, taken := sameName(slices.Collect(maps.Keys(t.rows)), in.Code); taken {
			return fault.New(fault.Conflict, "a group %q exists already", clash).Field("code", "a group %q exists already", clash)
		}
		parent, err := t.parentID(0, in.Parent)
		if err != nil {
			return err
		}
		author, err := g.author(ctx, tx, in.By)
		if err != nil {
			return err
		}
		now := g.now()
		row, err := tx.Group.Create().SetCode(in.Code).SetName(name).SetConfig(config).SetRemark(in.Remark).
			SetCreateBy(author).SetUpdateBy(author).SetCreateTime(now).SetUpdateTime(now).Save(ctx)
		if err != nil {
			return err
		}
		extra := tx.GroupExtra.Create().SetGroupID(row.ID).SetNillableParentID(parent)
		if config != "" {
			extra.SetConfigRevision(1)
			if err := addRevision(ctx, tx, configrevision.OwnerGroup, row.ID, 1, ConfigEdit{JSON: config, Editor: in.By}, now); err != nil {
				return err
			}
		}
		return extra.Exec(ctx)
	})
	err = database.Mapped(err, nil, fault.New(fault.Conflict, "a group %q exists already", in.Code).Field("code", "a group %q exists already", in.Code))
	if err != nil {
		return Group{}, err
	}
	return g.written(ctx, in.Code)
}

// Update changes a group. fault.NotFound if there is none, fault.Invalid for a parent that would close a circle.
func (g *Groups) Update(ctx context.Context, code string, patch GroupPatch) (Group, error) {
	err := g.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		t, err := g.lockTree(ctx, tx)
		if err != nil {
			return err
		}
		row := t.rows[code]
		if row == nil {
			return noGroup(code)
		}
		author, err := g.author(ctx, tx, patch.By)
		if err != nil {
			return err
		}
		update := tx.Group.Update().Where(group.ID(row.ID)).SetUpdateBy(author).SetUpdateTime(g.now())
		if patch.Name != nil {
			name := strings.TrimSpace(*patch.Name)
			if name == "" {
				name = code
			}
			if err := line("name", name); err != nil {
				return err
			}
			update.SetName(name)
		}
		if patch.Remark != nil {
			if err := limited("remark", *patch.Remark, maxRemark); err != nil {
				return err
			}
			update.SetRemark(*patch.Remark)
		}
		if patch.Parent != nil {
			if err := move(ctx, tx, t, row.ID, *patch.Parent); err != nil {
				return err
			}
		}
		return update.Exec(ctx)
	})
	if err != nil {
		return Group{}, database.Mapped(err, nil, nil)
	}
	return g.written(ctx, code)
}

func move(ctx context.Context, tx *ent.Tx, t tree, id int64, parent string) error {
	parentID, err := t.parentID(id, parent)
	if err != nil {
		return err
	}
	extra, err := groupExtra(ctx, tx, id)
	if err != nil {
		return err
	}
	update := tx.GroupExtra.Update().Where(groupextra.ID(extra.ID))
	if parentID == nil {
		return update.ClearParentID().Exec(ctx)
	}
	return update.SetParentID(*parentID).Exec(ctx)
}

// groupExtra returns the extra row of a group and makes it where it is missing, as in an adopted database. The caller holds
// the group's row, so nobody else makes it meanwhile.
func groupExtra(ctx context.Context, tx *ent.Tx, id int64) (*ent.GroupExtra, error) {
	extra, err := tx.GroupExtra.Query().Where(groupextra.GroupID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		return tx.GroupExtra.Create().SetGroupID(id).Save(ctx)
	}
	return extra, err
}

// Delete removes a group and its config history. fault.NotFound if there is none, fault.Conflict while nodes or other groups
// are in it, or roles are limited to it.
func (g *Groups) Delete(ctx context.Context, code, by string) error {
	err := g.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		t, err := g.lockTree(ctx, tx)
		if err != nil {
			return err
		}
		row := t.rows[code]
		if row == nil {
			return noGroup(code)
		}
		nodes, err := tx.Node.Query().Where(node.CloudNodeGroupID(row.ID)).Count(ctx)
		if err != nil {
			return err
		}
		children, err := tx.GroupExtra.Query().Where(groupextra.ParentID(row.ID)).Count(ctx)
		if err != nil {
			return err
		}
		if nodes+children > 0 {
			return notEmpty(code, nodes, children)
		}
		if err := notLimiting(ctx, tx, code, row.ID); err != nil {
			return err
		}
		if _, err := tx.ConfigRevision.Delete().Where(configrevision.OwnerEQ(configrevision.OwnerGroup), configrevision.OwnerID(row.ID)).Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.GroupExtra.Delete().Where(groupextra.GroupID(row.ID)).Exec(ctx); err != nil {
			return err
		}
		_, err = tx.Group.Delete().Where(group.ID(row.ID)).Exec(ctx)
		return err
	})
	if err != nil {
		return database.Mapped(err, nil, nil)
	}
	g.afterWrite(ctx, kindGroup, code)
	return nil
}

// notEmpty says what is still in a group. Each number of things has a format of its own, which the translations go by.
func notEmpty(code string, nodes, groups int) error {
	switch {
	case nodes == 0 && groups == 1:
		return fault.New(fault.Conflict, "group %q still has a group in it; move it first", code)
	case nodes == 0:
		return fault.New(fault.Conflict, "group %q still has %d groups in it; move them first", code, groups)
	case groups == 0 && nodes == 1:
		return fault.New(fault.Conflict, "group %q still has a node in it; move it first", code)
	case groups == 0:
		return fault.New(fault.Conflict, "group %q still has %d nodes in it; move them first", code, nodes)
	case nodes == 1 && groups == 1:
		return fault.New(fault.Conflict, "group %q still has a node and a group in it; move them first", code)
	case nodes == 1:
		return fault.New(fault.Conflict, "group %q still has a node and %d groups in it; move them first", code, groups)
	case groups == 1:
		return fault.New(fault.Conflict, "group %q still has %d nodes and a group in it; move them first", code, nodes)
	}
	return fault.New(fault.Conflict, "group %q still has %d nodes and %d groups in it; move them first", code, nodes, groups)
}

// Chain returns from memory the ids of a group and of all above it, the group first; nil for zero or an unknown id. It is what
// rights by group are asked with (D21).
func (g *Groups) Chain(id int64) []int64 {
	s := g.snapshot.Load()
	if s == nil || id == 0 {
		return nil
	}
	var out []int64
	for _, group := range slices.Backward(s.chain(id)) {
		out = append(out, group.ID)
	}
	return out
}
