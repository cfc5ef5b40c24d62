package access

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/ent"
	"eruptcloud/ent/groupextra"
	"eruptcloud/ent/menu"
	"eruptcloud/ent/role"
	"eruptcloud/ent/roleextra"
	"eruptcloud/ent/user"
)

// reach is where something counts: everywhere, or in the trees of node groups (D21). Zero: nowhere.
type reach struct {
	all    bool
	groups []int64 // sorted; empty if all
}

var everywhere = reach{all: true}

// within is the reach of a role that is limited to groups; none: it is not limited.
func within(groups []int64) reach {
	if len(groups) == 0 {
		return everywhere
	}
	groups = slices.Clone(groups)
	slices.Sort(groups)
	return reach{groups: slices.Compact(groups)}
}

func (r reach) plus(other reach) reach {
	switch {
	case r.all || other.all:
		return everywhere
	case len(r.groups) == 0:
		return other
	case len(other.groups) == 0:
		return r
	}
	return within(slices.Concat(r.groups, other.groups))
}

// covers reports whether r counts wherever other does: each of its groups lies in a tree of r.
func (r reach) covers(other reach, up parents) bool {
	if r.all || other.all {
		return r.all
	}
	for _, g := range other.groups {
		if !slices.ContainsFunc(up.chain(g), func(id int64) bool { return slices.Contains(r.groups, id) }) {
			return false
		}
	}
	return true
}

func (r reach) same(other reach) bool {
	return r.all == other.all && slices.Equal(r.groups, other.groups)
}

// parents leads from a node group to the one above it.
type parents map[int64]int64

// chain returns a group and all above it.
func (p parents) chain(id int64) []int64 {
	var out []int64
	for ; id != 0 && !slices.Contains(out, id); id = p[id] {
		out = append(out, id)
	}
	return out
}

func (p *people) groupParents(ctx context.Context) (parents, error) {
	rows, err := p.db.Client.GroupExtra.Query().Where(groupextra.ParentIDNotNil()).All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	up := make(parents, len(rows))
	for _, r := range rows {
		up[r.GroupID] = *r.ParentID
	}
	return up, nil
}

// grant is a menu that somebody holds.
type grant struct {
	Menu
	looks, writes reach // where it counts for looking, and for changing
}

// held returns the menus of a user that have an effect, by sort: all for an admin, else those of his enabled roles
// (erupt-wire 5.4), as far as these reach (D21).
func (p *people) held(ctx context.Context, userID int64, admin bool) ([]grant, error) {
	effective := menu.Or(menu.StatusIsNil(), menu.StatusNEQ(int(MenuDisabled)))
	var held []grant
	if admin {
		rows, err := p.db.Client.Menu.Query().Where(effective).All(ctx)
		if err != nil {
			return nil, database.Mapped(err, nil, nil)
		}
		for _, r := range rows {
			held = append(held, grant{Menu: menuOf(r), looks: everywhere, writes: everywhere})
		}
	} else {
		roles, err := p.db.Client.Role.Query().Where(role.Status(true), role.HasUsersWith(user.ID(userID))).All(ctx)
		if err != nil {
			return nil, database.Mapped(err, nil, nil)
		}
		limits, err := p.limits(ctx, ids(roles)...)
		if err != nil {
			return nil, err
		}
		byID := map[int64]*grant{}
		for _, r := range roles {
			rows, err := p.db.Client.Menu.Query().Where(effective, menu.HasRolesWith(role.ID(r.ID))).All(ctx)
			if err != nil {
				return nil, database.Mapped(err, nil, nil)
			}
			for _, row := range rows {
				limits[r.ID].add(byID, menuOf(row))
			}
		}
		for _, g := range byID {
			held = append(held, *g)
		}
	}
	slices.SortFunc(held, func(a, b grant) int { return bySort(a.Menu, b.Menu) })
	return held, nil
}

// limit is what a role's codes are limited to.
type limit struct {
	readOnly bool
	groups   []int64
}

// add gives a user the menu m as far as a role with the limit l does.
func (l limit) add(held map[int64]*grant, m Menu) {
	if l.readOnly && m.changes() || len(l.groups) > 0 && !m.ofNodes() {
		return
	}
	g := held[m.ID]
	if g == nil {
		g = &grant{Menu: m}
		held[m.ID] = g
	}
	g.looks = g.looks.plus(within(l.groups))
	if !l.readOnly {
		g.writes = g.writes.plus(within(l.groups))
	}
}

func ids(roles []*ent.Role) []int64 {
	out := make([]int64, len(roles))
	for i, r := range roles {
		out[i] = r.ID
	}
	return out
}

// limits returns what roles are limited to, by their id; one that is not has none.
func (p *people) limits(ctx context.Context, roles ...int64) (map[int64]limit, error) {
	rows, err := p.db.Client.RoleExtra.Query().Where(roleextra.RoleIDIn(roles...)).All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	found := make(map[int64]limit, len(rows))
	for _, r := range rows {
		l := limit{readOnly: bool(r.ReadOnly)}
		if r.NodeGroups != "" {
			// Unreadable groups are an error: without them the role would count everywhere.
			if err := json.Unmarshal([]byte(r.NodeGroups), &l.groups); err != nil {
				return nil, fmt.Errorf("read the groups of role %d: %w", r.RoleID, err)
			}
		}
		found[r.RoleID] = l
	}
	return found, nil
}

// changes reports whether a menu gives a right to change something; a read-only role does not grant it. Of buttons only those
// are known to change nothing that are listed here: the others stand for operations of nodes.
func (m Menu) changes() bool {
	key := permissionKey(m.Value)
	if key == strings.ToLower(CodeNodeLog) {
		return false
	}
	_, function, isFunction := strings.Cut(key, "@")
	switch function {
	case "export", "view_detail":
		return false
	}
	return isFunction || m.Type == TypeButton || m.Type == "api" || strings.HasPrefix(key, "cloud_")
}

// ofNodes reports whether a menu's code is about nodes and groups, which is what a role for some groups can grant. Pages and
// templates of nodes have a dot or a slash in theirs, as have links, which give no right; folders have no code.
func (m Menu) ofNodes() bool {
	key := permissionKey(m.Value)
	page, _, _ := strings.Cut(key, "@")
	switch page {
	case "", strings.ToLower(CodeNodes), strings.ToLower(CodeGroups), strings.ToLower(CodeNodeLog):
		return true
	}
	return strings.HasPrefix(page, "cloud_") || strings.ContainsAny(page, "./")
}
