package access

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/menu"
	"eruptcloud/ent/predicate"
	"eruptcloud/ent/role"
	"eruptcloud/ent/user"
)

// people reads what a user is and holds. It reads outside of transactions, so it sees what is committed.
type people struct {
	db  *database.DB
	now func() time.Time
}

// session returns what account is and holds now, without token and times. fault.NotFound if there is no such user,
// fault.Unauthenticated if he may not work now.
func (p *people) session(ctx context.Context, account string) (Session, error) {
	row, err := theUser(ctx, p.db.Client.User.Query().WithRoles().WithOrg().WithPost(), account)
	if err != nil {
		return Session{}, database.Mapped(err, noUser(account), nil)
	}
	if err := p.mayWork(row); err != nil {
		return Session{}, err
	}
	s := Session{UserID: row.ID, Account: row.Account, Name: displayName(row), Admin: bool(row.IsAdmin)}
	if row.Edges.Org != nil {
		s.Org = row.Edges.Org.Code
	}
	if row.Edges.Post != nil {
		s.Post = row.Edges.Post.Code
	}
	for _, r := range row.Edges.Roles { // disabled ones too (erupt-wire 1.6); only their menus do not count
		s.Roles = append(s.Roles, r.Code)
	}
	slices.Sort(s.Roles)
	held, err := p.held(ctx, row.ID, s.Admin)
	if err != nil {
		return Session{}, err
	}
	s.permit(held)
	s.Above, err = p.above(ctx, held, s)
	return s, err
}

// mayWork refuses users who are disabled or whose time is over.
func (p *people) mayWork(row *ent.User) error {
	switch {
	case !bool(row.Status):
		return fault.New(fault.Unauthenticated, "the account %s is disabled; ask an administrator", row.Account)
	case row.ExpireDate != nil && !row.ExpireDate.After(p.now()):
		return fault.New(fault.Unauthenticated, "the account %s has expired; ask an administrator", row.Account)
	}
	return nil
}

// above returns the menus above those of s that are not in it themselves, from held or else from the database.
func (p *people) above(ctx context.Context, held []grant, s Session) (map[int64]Menu, error) {
	byID := make(map[int64]Menu, len(held))
	for _, g := range held {
		byID[g.ID] = g.Menu
	}
	level := slices.Concat(s.Menus, slices.Collect(maps.Values(s.Values)))
	known := make(map[int64]bool, len(level))
	for _, m := range level {
		known[m.ID] = true
	}
	found := map[int64]Menu{}
	for len(level) > 0 {
		var next []Menu
		var missing []int64
		for _, m := range level {
			if m.Parent == 0 || known[m.Parent] {
				continue
			}
			known[m.Parent] = true
			if up, ok := byID[m.Parent]; ok {
				next = append(next, up)
			} else {
				missing = append(missing, m.Parent)
			}
		}
		loaded, err := p.menus(ctx, missing)
		if err != nil {
			return nil, err
		}
		level = append(next, loaded...)
		for _, m := range level {
			found[m.ID] = m
		}
	}
	return found, nil
}

// menus loads menus by id; an id without a row is left out.
func (p *people) menus(ctx context.Context, ids []int64) ([]Menu, error) {
	var found []Menu
	for chunk := range slices.Chunk(ids, 500) {
		rows, err := p.db.Client.Menu.Query().Where(menu.IDIn(chunk...)).All(ctx)
		if err != nil {
			return nil, database.Mapped(err, nil, nil)
		}
		for _, r := range rows {
			found = append(found, menuOf(r))
		}
	}
	return found, nil
}

// permit divides held menus, sorted, into those that are listed and the permission set with its limits.
func (s *Session) permit(held []grant) {
	s.Values = make(map[string]Menu, len(held))
	looks, writes := make(map[string]reach, len(held)), make(map[string]reach, len(held))
	for _, g := range held {
		if g.Status == MenuOpen {
			s.Menus = append(s.Menus, g.Menu)
		}
		if g.Value != "" {
			key := permissionKey(g.Value)
			s.Values[key] = g.Menu
			looks[key], writes[key] = looks[key].plus(g.looks), writes[key].plus(g.writes)
		}
	}
	s.Scopes, s.Writes = map[string][]int64{}, map[string][]int64{}
	for key, r := range looks {
		if !r.all {
			s.Scopes[key] = r.groups
		}
		if w := writes[key]; !w.same(r) {
			s.Writes[key] = append([]int64{}, w.groups...)
		}
	}
}

// permissionKey is how a permission code is compared: in lower case, without a query.
func permissionKey(value string) string {
	value, _, _ = strings.Cut(value, "?")
	return strings.ToLower(value)
}

// bySort orders as erupt does: menus without a number first; by id where numbers are equal.
func bySort(a, b Menu) int {
	x, y := -1<<62, -1<<62
	if a.Sort != nil {
		x = *a.Sort
	}
	if b.Sort != nil {
		y = *b.Sort
	}
	if x != y {
		if x < y {
			return -1
		}
		return 1
	}
	return int(min(max(a.ID-b.ID, -1), 1))
}

// affected returns the accounts that hold any of these menus, and all admins, who hold every one.
func (p *people) affected(ctx context.Context, menus ...int64) ([]string, error) {
	where := user.IsAdmin(true)
	if len(menus) > 0 {
		where = user.Or(where, user.HasRolesWith(role.HasMenusWith(menu.IDIn(menus...))))
	}
	return p.accounts(ctx, where)
}

func (p *people) accounts(ctx context.Context, where predicate.User) ([]string, error) {
	found, err := p.db.Client.User.Query().Where(where).Select(user.FieldAccount).Strings(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	return found, nil
}

func displayName(row *ent.User) string {
	if row.Name == "" {
		return row.Account
	}
	return row.Name
}

func menuOf(r *ent.Menu) Menu {
	m := Menu{
		ID: r.ID, Code: r.Code, Name: r.Name, Type: r.Type, Value: r.Value, Sort: r.Sort, Icon: r.Icon, Param: r.Param,
		Status: MenuOpen, // null counts as open
	}
	if r.Status != nil {
		m.Status = MenuStatus(*r.Status)
	}
	if r.ParentMenuID != nil {
		m.Parent = *r.ParentMenuID
	}
	if r.Edges.Parent != nil {
		m.ParentCode = r.Edges.Parent.Code
	}
	return m
}

func noUser(account string) *fault.Error {
	return fault.New(fault.NotFound, "no user is called %q", account)
}
