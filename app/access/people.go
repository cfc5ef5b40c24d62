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
	row, err := p.db.Client.User.Query().Where(user.Account(account)).WithRoles().WithOrg().WithPost().Only(ctx)
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
	s.Menus, s.Values = permissions(held)
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

// held returns the menus of a user that have an effect: all for an admin, else those of his enabled roles (erupt-wire 5.4).
func (p *people) held(ctx context.Context, userID int64, admin bool) ([]Menu, error) {
	effective := menu.Or(menu.StatusIsNil(), menu.StatusNEQ(int(MenuDisabled)))
	where := []predicate.Menu{effective}
	if !admin {
		where = append(where, menu.HasRolesWith(role.Status(true), role.HasUsersWith(user.ID(userID))))
	}
	rows, err := p.db.Client.Menu.Query().Where(where...).All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	held := make([]Menu, 0, len(rows))
	for _, r := range rows {
		held = append(held, menuOf(r))
	}
	slices.SortFunc(held, bySort)
	return held, nil
}

// above returns the menus above those of s that are not in it themselves, from held or else from the database.
func (p *people) above(ctx context.Context, held []Menu, s Session) (map[int64]Menu, error) {
	byID := make(map[int64]Menu, len(held))
	for _, m := range held {
		byID[m.ID] = m
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

// permissions divides held menus, sorted, into those that are listed and the permission set.
func permissions(held []Menu) (listed []Menu, values map[string]Menu) {
	values = make(map[string]Menu, len(held))
	for _, m := range held {
		if m.Status == MenuOpen {
			listed = append(listed, m)
		}
		if m.Value != "" {
			values[permissionKey(m.Value)] = m
		}
	}
	return listed, values
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

// mayGrant refuses menus that by does not hold: who is no admin may grant only what he has (erupt-wire 5.7).
func (p *people) mayGrant(ctx context.Context, by Actor, menus []int64) error {
	if by.Admin || len(menus) == 0 {
		return nil
	}
	s, err := p.session(ctx, by.Account)
	if err != nil {
		return actorUnknown(by, err)
	}
	held, err := p.held(ctx, s.UserID, s.Admin)
	if err != nil {
		return err
	}
	for _, id := range menus {
		if !slices.ContainsFunc(held, func(m Menu) bool { return m.ID == id }) {
			return fault.New(fault.Forbidden, "you can only grant menus that you hold yourself")
		}
	}
	return nil
}

// mayBecome refuses by the accounts that hold more than he does: whose password he sets, he can be.
func (p *people) mayBecome(ctx context.Context, by Actor, u User) error {
	if by.Admin || u.Admin || by.Account == u.Account { // an admin is guarded elsewhere
		return nil
	}
	s, err := p.session(ctx, by.Account)
	if err != nil {
		return actorUnknown(by, err)
	}
	own, err := p.held(ctx, s.UserID, s.Admin)
	if err != nil {
		return err
	}
	theirs, err := p.held(ctx, u.ID, u.Admin)
	if err != nil {
		return err
	}
	for _, m := range theirs {
		if !slices.ContainsFunc(own, func(o Menu) bool { return o.ID == m.ID }) {
			return fault.New(fault.Forbidden, "you can only set the password of an account that holds no more than you do").
				Field("password", "%s holds more than you do", u.Account)
		}
	}
	return nil
}

// actorUnknown refuses an actor who is nobody; other errors pass.
func actorUnknown(by Actor, err error) error {
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unauthenticated) {
		return fault.New(fault.Forbidden, "the account %q that asks for this cannot grant anything", by.Account).Because(err)
	}
	return err
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
