package fleet

import (
	"context"
	"slices"
	"time"

	"eruptcloud/ent"
	"eruptcloud/ent/group"
	"eruptcloud/ent/groupextra"
	"eruptcloud/ent/node"
	"eruptcloud/ent/nodeextra"
)

// Columns without config, which may be large and is read only when it changed.
var (
	nodeColumns  = slices.DeleteFunc(slices.Clone(node.Columns), func(c string) bool { return c == node.FieldConfig })
	groupColumns = slices.DeleteFunc(slices.Clone(group.Columns), func(c string) bool { return c == group.FieldConfig })
)

// configChunk is how many configs are read with one query.
const configChunk = 100

// readProfiles reads all nodes. Configs of nodes that did not change are taken from old.
func (f *Fleet) readProfiles(ctx context.Context, tx *ent.Tx, old map[string]*profile) (map[string]*profile, error) {
	rows, err := tx.Node.Query().WithGroup(func(q *ent.GroupQuery) { q.Select(group.FieldID, group.FieldCode) }).Select(nodeColumns...).All(ctx)
	if err != nil {
		return nil, err
	}
	extras, err := tx.NodeExtra.Query().All(ctx)
	if err != nil {
		return nil, err
	}
	byNode := make(map[int64]*ent.NodeExtra, len(extras))
	for _, e := range extras {
		byNode[e.NodeID] = e
	}
	out := make(map[string]*profile, len(rows))
	var changed []int64
	byID := make(map[int64]*profile, len(rows))
	for _, row := range rows {
		p := f.profileOf(row, byNode[row.ID])
		out[p.Name], byID[p.ID] = p, p
		if was := old[p.Name]; was != nil && was.ID == p.ID && sameText(was.Updated, p.Updated, was.Revision, p.Revision) {
			p.Config = was.Config
		} else {
			changed = append(changed, p.ID)
		}
	}
	for ids := range slices.Chunk(changed, configChunk) {
		configs, err := tx.Node.Query().Where(node.IDIn(ids...)).Select(node.FieldID, node.FieldConfig).All(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range configs {
			byID[c.ID].Config = c.Config
		}
	}
	return out, nil
}

// sameText reports whether a row's config is still that of the memory: every writer, also another program, sets update_time.
func sameText(a, b time.Time, revA, revB int64) bool {
	return !a.IsZero() && a.Equal(b) && revA == revB
}

// readProfile reads one node by its exact name. ent.NotFoundError if there is none.
func (f *Fleet) readProfile(ctx context.Context, tx *ent.Tx, name string) (*profile, error) {
	row, err := nodeRow(ctx, tx.Node.Query().WithGroup(func(q *ent.GroupQuery) { q.Select(group.FieldID, group.FieldCode) }), name)
	if err != nil {
		return nil, err
	}
	extra, err := tx.NodeExtra.Query().Where(nodeextra.NodeID(row.ID)).Only(ctx)
	if err != nil && !ent.IsNotFound(err) {
		return nil, err
	}
	return f.profileOf(row, extra), nil
}

// nodeRow finds the row of a name. MySQL takes names for equal that differ in trailing blanks, or in case in an adopted
// database; we do not.
func nodeRow(ctx context.Context, q *ent.NodeQuery, name string) (*ent.Node, error) {
	rows, err := q.Where(node.NodeName(name)).All(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.NodeName == name {
			return row, nil
		}
	}
	return nil, &ent.NotFoundError{}
}

func groupRow(ctx context.Context, q *ent.GroupQuery, code string) (*ent.Group, error) {
	rows, err := q.Where(group.Code(code)).All(ctx)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.Code == code {
			return row, nil
		}
	}
	return nil, &ent.NotFoundError{}
}

// profileOf makes a profile of its rows; a node without an extra row has the defaults.
func (f *Fleet) profileOf(row *ent.Node, extra *ent.NodeExtra) *profile {
	p := &profile{Node: Node{
		ID: row.ID, Name: row.NodeName, Display: row.Name, Enabled: bool(row.Status), Duty: dutyOf(row.Duty), Config: row.Config,
		Remark: row.Remark, Created: timeOf(row.CreateTime), Updated: timeOf(row.UpdateTime), UpdatedBy: row.UpdateBy,
	}, sortKey: folded(row.NodeName)}
	if row.CloudNodeGroupID != nil {
		p.GroupID = *row.CloudNodeGroupID
	}
	if row.Edges.Group != nil {
		p.Group = row.Edges.Group.Code
	}
	p.token = f.open(row.AccessToken, &p.tokenError)
	if extra != nil {
		p.Core, p.RawSession, p.Revision = bool(extra.Core), bool(extra.RawSession), extra.ConfigRevision
		p.FirstSeen, p.oldUntil = timeOf(extra.FirstSeen), timeOf(extra.OldTokenUntil)
		p.rotated, p.rotatedBy = timeOf(extra.TokenRotated), extra.TokenRotatedBy
		p.oldToken = f.open(extra.OldToken, &p.tokenError)
	}
	return p
}

// open returns the plain token, or notes why there is none.
func (f *Fleet) open(stored string, failed *string) string {
	if stored == "" {
		return ""
	}
	plain, err := f.sealer.Open(stored)
	if err != nil {
		*failed = err.Error()
	}
	return plain
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// readGroups reads all groups. Configs of groups that did not change are taken from old.
func readGroups(ctx context.Context, tx *ent.Tx, old map[string]*Group) (map[string]*Group, error) {
	rows, err := tx.Group.Query().Select(groupColumns...).All(ctx)
	if err != nil {
		return nil, err
	}
	extras, err := tx.GroupExtra.Query().All(ctx)
	if err != nil {
		return nil, err
	}
	byGroup := make(map[int64]*ent.GroupExtra, len(extras))
	for _, e := range extras {
		byGroup[e.GroupID] = e
	}
	out := make(map[string]*Group, len(rows))
	byID := make(map[int64]*Group, len(rows))
	var changed []int64
	for _, row := range rows {
		g := groupOf(row, byGroup[row.ID])
		out[g.Code], byID[g.ID] = g, g
		if was := old[g.Code]; was != nil && was.ID == g.ID && sameText(was.Updated, g.Updated, was.Revision, g.Revision) {
			g.Config = was.Config
		} else {
			changed = append(changed, g.ID)
		}
	}
	for ids := range slices.Chunk(changed, configChunk) {
		configs, err := tx.Group.Query().Where(group.IDIn(ids...)).Select(group.FieldID, group.FieldConfig).All(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range configs {
			byID[c.ID].Config = c.Config
		}
	}
	for _, g := range byID {
		if parent := byID[g.ParentID]; parent != nil {
			g.Parent = parent.Code
		}
	}
	return out, nil
}

// readGroup reads one group by its exact code. ent.NotFoundError if there is none.
func readGroup(ctx context.Context, tx *ent.Tx, code string) (Group, error) {
	row, err := groupRow(ctx, tx.Group.Query(), code)
	if err != nil {
		return Group{}, err
	}
	extra, err := tx.GroupExtra.Query().Where(groupextra.GroupID(row.ID)).Only(ctx)
	if err != nil && !ent.IsNotFound(err) {
		return Group{}, err
	}
	g := groupOf(row, extra)
	if g.ParentID != 0 {
		parent, err := tx.Group.Query().Where(group.ID(g.ParentID)).Select(group.FieldID, group.FieldCode).Only(ctx)
		if err != nil && !ent.IsNotFound(err) {
			return Group{}, err
		} else if err == nil {
			g.Parent = parent.Code
		}
	}
	return *g, nil
}

func groupOf(row *ent.Group, extra *ent.GroupExtra) *Group {
	g := &Group{
		ID: row.ID, Code: row.Code, Name: row.Name, Config: row.Config, Remark: row.Remark,
		Created: timeOf(row.CreateTime), Updated: timeOf(row.UpdateTime), UpdatedBy: row.UpdateBy,
	}
	if extra != nil {
		g.Revision = extra.ConfigRevision
		if extra.ParentID != nil {
			g.ParentID = *extra.ParentID
		}
	}
	return g
}

func readHolds(ctx context.Context, tx *ent.Tx) (map[holdKey]Hold, error) {
	rows, err := tx.NodeHold.Query().All(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[holdKey]Hold, len(rows))
	for _, row := range rows {
		out[holdKey{row.NodeName, row.Location}] = holdOf(row)
	}
	return out, nil
}

func readDrains(ctx context.Context, tx *ent.Tx) (map[drainKey]Drain, error) {
	rows, err := tx.NodeDrain.Query().All(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[drainKey]Drain, len(rows))
	for _, row := range rows {
		out[drainKey{row.NodeName, row.InstanceID}] = drainOf(row)
	}
	return out, nil
}

func drainOf(row *ent.NodeDrain) Drain {
	return Drain{Node: row.NodeName, Instance: row.InstanceID, Reason: row.Reason, Account: row.Account, Created: row.Created.UTC()}
}

func holdOf(row *ent.NodeHold) Hold {
	return Hold{Node: row.NodeName, Location: row.Location, Reason: row.Reason, Account: row.Account, Created: row.Created.UTC()}
}
