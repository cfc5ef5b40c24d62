package access

import (
	"context"
	"slices"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/dbtype"
	"eruptcloud/ent/menu"
	"eruptcloud/ent/role"
	"eruptcloud/ent/roleextra"
	"eruptcloud/ent/user"
)

// Roles keeps roles and the menus that they bundle.
type Roles struct {
	db      *database.DB
	people  *people
	changes *changes
}

// NewRole is a wish for a role.
type NewRole struct {
	Code    string // up to 64 letters, digits and . _ - $ @
	Name    string // empty: the code
	Sort    int
	Enabled bool
	Menus   []string // codes
	// ReadOnly and Groups limit what the menus give, see Role.
	ReadOnly bool
	Groups   []int64
	By       Actor // who is no admin grants only menus that he holds, and as far as he holds them
}

// RolePatch says what to change; nil leaves a thing as it is.
type RolePatch struct {
	Name    *string
	Sort    *int
	Enabled *bool
	Menus   *[]string // codes
	// ReadOnly and Groups limit what the menus give, see Role.
	ReadOnly *bool
	Groups   *[]int64
	By       Actor
}

func noRole(code string) *fault.Error {
	return fault.New(fault.NotFound, "no role has the code %q", code)
}

// ByCode returns a role with its menus. fault.NotFound if there is none.
func (r *Roles) ByCode(ctx context.Context, code string) (Role, error) {
	row, err := r.db.Client.Role.Query().Where(role.Code(code)).WithMenus().Only(ctx)
	if err != nil {
		return Role{}, database.Mapped(err, noRole(code), nil)
	}
	limits, err := r.people.limits(ctx, row.ID)
	if err != nil {
		return Role{}, err
	}
	return roleOf(row, limits[row.ID]), nil
}

// List returns all roles by their sort number.
func (r *Roles) List(ctx context.Context) ([]Role, error) {
	rows, err := r.db.Client.Role.Query().WithMenus().Order(role.BySort(), role.ByCode()).All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	limits, err := r.people.limits(ctx, ids(rows)...)
	if err != nil {
		return nil, err
	}
	found := make([]Role, 0, len(rows))
	for _, row := range rows {
		found = append(found, roleOf(row, limits[row.ID]))
	}
	return found, nil
}

// Create makes a role. fault.Invalid with Fields, fault.Conflict if the code exists, fault.Forbidden if By does not hold one
// of the menus.
func (r *Roles) Create(ctx context.Context, n NewRole) (Role, error) {
	if n.Name == "" {
		n.Name = n.Code
	}
	var wrong *fault.Error
	if !isCode(n.Code) {
		wrong = fieldFault(wrong, "code", "needs 1 to 64 letters, digits and . _ - $ @")
	}
	if err := orNil(textFault(wrong, "name", n.Name, 255)); err != nil {
		return Role{}, err
	}
	menus, err := r.menuIDs(ctx, n.Menus)
	if err != nil {
		return Role{}, err
	}
	as := limit{readOnly: n.ReadOnly, groups: within(n.Groups).groups}
	if err := r.checkGroups(ctx, as.groups, nil); err != nil {
		return Role{}, err
	}
	if err := r.people.mayGrant(ctx, n.By, menus, as); err != nil {
		return Role{}, err
	}
	taken := fault.New(fault.Conflict, "a role with the code %q exists already", n.Code).Field("code", "exists already")
	err = r.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		by, err := actorID(ctx, tx, n.By)
		if err != nil {
			return err
		}
		row, err := tx.Role.Create().SetCode(n.Code).SetName(n.Name).SetSort(n.Sort).SetStatus(dbtype.Flag(n.Enabled)).
			SetNillableCreateUserID(by).SetNillableUpdateUserID(by).AddMenuIDs(menus...).Save(ctx)
		if err != nil {
			return database.Mapped(err, nil, taken)
		}
		return as.write(ctx, tx, row.ID)
	})
	if err != nil {
		return Role{}, err
	}
	if err := r.changes.follow(ctx, "role", n.Code, these(), nil); err != nil {
		return Role{}, err
	}
	return r.ByCode(ctx, n.Code)
}

// Update changes a role; the live sessions of those who have it follow at once.
func (r *Roles) Update(ctx context.Context, code string, p RolePatch) (Role, error) {
	if p.Name != nil {
		var wrong *fault.Error
		if strings.TrimSpace(*p.Name) == "" {
			wrong = fieldFault(wrong, "name", "must not be empty")
		}
		if err := orNil(textFault(wrong, "name", *p.Name, 255)); err != nil {
			return Role{}, err
		}
	}
	before, err := r.ByCode(ctx, code)
	if err != nil {
		return Role{}, err
	}
	want := before.Menus
	if p.Menus != nil {
		if want, err = r.menuIDs(ctx, *p.Menus); err != nil {
			return Role{}, err
		}
	}
	as, err := r.limited(ctx, before, p)
	if err != nil {
		return Role{}, err
	}
	gone, added := differ(before.Menus, want)
	granted := added
	if p.Enabled != nil && *p.Enabled && !before.Enabled || before.ReadOnly && !as.readOnly || !slices.Equal(before.Groups, as.groups) {
		granted = want // enabling a role grants everything in it, and so may other limits
	}
	if err := r.people.mayGrant(ctx, p.By, granted, as); err != nil {
		return Role{}, err
	}
	err = r.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		by, err := actorID(ctx, tx, p.By)
		if err != nil {
			return err
		}
		change := tx.Role.Update().Where(role.ID(before.ID)).SetNillableUpdateUserID(by).RemoveMenuIDs(gone...)
		setPatch(p.Name, change.SetName)
		if p.Sort != nil {
			change.SetSort(*p.Sort)
		}
		if p.Enabled != nil {
			change.SetStatus(dbtype.Flag(*p.Enabled))
		}
		changed, err := change.AddMenuIDs(added...).Save(ctx)
		if err == nil && changed == 0 {
			return noRole(code)
		} else if err == nil {
			err = as.write(ctx, tx, before.ID)
		}
		return database.Mapped(err, nil, fault.New(fault.Conflict, "the role %q was changed by somebody else; read it again", code))
	})
	if err != nil {
		return Role{}, err
	}
	holders := func(ctx context.Context) ([]string, error) {
		return r.people.accounts(ctx, user.HasRolesWith(role.ID(before.ID)))
	}
	if err := r.changes.follow(ctx, "role", code, holders, nil); err != nil {
		return Role{}, err
	}
	return r.ByCode(ctx, code)
}

// Delete removes a role from everybody who has it.
func (r *Roles) Delete(ctx context.Context, code string) error {
	row, err := r.db.Client.Role.Query().Where(role.Code(code)).Only(ctx)
	if err != nil {
		return database.Mapped(err, noRole(code), nil)
	}
	var accounts []string
	err = r.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		var err error
		if accounts, err = tx.User.Query().Where(user.HasRolesWith(role.ID(row.ID))).Select(user.FieldAccount).Strings(ctx); err != nil {
			return err
		}
		if err := tx.Role.Update().Where(role.ID(row.ID)).ClearUsers().ClearMenus().Exec(ctx); err != nil {
			return err
		}
		if _, err := tx.RoleExtra.Delete().Where(roleextra.RoleID(row.ID)).Exec(ctx); err != nil {
			return err
		}
		_, err = tx.Role.Delete().Where(role.ID(row.ID)).Exec(ctx)
		return database.Mapped(err, nil, fault.New(fault.Conflict, "other records still refer to the role %q; disable it instead", code))
	})
	if err != nil {
		return err
	}
	return r.changes.follow(ctx, "role", code, these(accounts...), nil)
}

func (r *Roles) menuIDs(ctx context.Context, codes []string) ([]int64, error) {
	ids, known := make([]int64, 0, len(codes)), map[string]bool{}
	for chunk := range slices.Chunk(codes, 500) {
		rows, err := r.db.Client.Menu.Query().Where(menu.CodeIn(chunk...)).All(ctx)
		if err != nil {
			return nil, database.Mapped(err, nil, nil)
		}
		for _, row := range rows {
			ids, known[row.Code] = append(ids, row.ID), true
		}
	}
	for _, c := range codes {
		if !known[c] {
			return nil, fault.New(fault.Invalid, "there is no menu %q", c).Field("menus", "there is no menu %q", c)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func roleOf(row *ent.Role, l limit) Role {
	r := Role{
		ID: row.ID, Code: row.Code, Name: row.Name, Sort: row.Sort, Enabled: bool(row.Status), ReadOnly: l.readOnly, Groups: l.groups,
	}
	menus := slices.Clone(row.Edges.Menus)
	slices.SortFunc(menus, func(a, b *ent.Menu) int { return strings.Compare(a.Code, b.Code) })
	for _, m := range menus {
		r.Menus, r.MenuCodes = append(r.Menus, m.ID), append(r.MenuCodes, m.Code)
	}
	return r
}
