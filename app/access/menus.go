package access

import (
	"context"
	"slices"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/menu"
	"eruptcloud/ent/user"
)

// Menus keeps navigation entries and the permission codes below them.
type Menus struct {
	db      *database.DB
	people  *people
	changes *changes
}

// Types of menus that this package treats specially (erupt-wire 5.2).
const (
	TypeTable  = "table"
	TypeTree   = "tree"
	TypeForm   = "form"
	TypeButton = "button"
	TypeAPI    = "api"
)

// NewMenu is a wish for a menu. A table or tree gets the six buttons of erupt's functions.
type NewMenu struct {
	Code   string // empty: 8 random characters
	Name   string
	Type   string // empty together with Value: a folder
	Value  string
	Parent string // code; empty: none
	Icon   string
	Param  string
	Status MenuStatus // zero: open
	Sort   *int
}

// MenuPatch says what to change; nil leaves a thing as it is.
type MenuPatch struct {
	Name, Type, Value, Parent, Icon, Param *string
	Status                                 *MenuStatus
	Sort                                   *int
	NoSort                                 bool // takes the number away
	By                                     Actor
}

func noMenu(code string) *fault.Error {
	return fault.New(fault.NotFound, "no menu has the code %q", code)
}

// All returns every menu by sort number.
func (m *Menus) All(ctx context.Context) ([]Menu, error) {
	rows, err := m.db.Client.Menu.Query().WithParent().All(ctx)
	if err != nil {
		return nil, database.Mapped(err, nil, nil)
	}
	found := make([]Menu, 0, len(rows))
	for _, r := range rows {
		found = append(found, menuOf(r))
	}
	slices.SortFunc(found, bySort)
	return found, nil
}

// ByCode returns a menu. fault.NotFound if there is none.
func (m *Menus) ByCode(ctx context.Context, code string) (Menu, error) {
	row, err := m.db.Client.Menu.Query().Where(menu.Code(code)).WithParent().Only(ctx)
	if err != nil {
		return Menu{}, database.Mapped(err, noMenu(code), nil)
	}
	return menuOf(row), nil
}

// Create makes a menu. fault.Invalid with Fields, fault.Conflict if the code exists.
func (m *Menus) Create(ctx context.Context, n NewMenu) (Menu, error) {
	if n.Code == "" {
		n.Code = randomText(alphanumerics, 8)
	}
	if n.Status == 0 {
		n.Status = MenuOpen
	}
	if err := checkMenu(n); err != nil {
		return Menu{}, err
	}
	taken := fault.New(fault.Conflict, "a menu with the code %q exists already", n.Code).Field("code", "exists already")
	err := m.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		c := tx.Menu.Create().SetCode(n.Code).SetName(n.Name).SetStatus(int(n.Status)).SetNillableSort(n.Sort)
		if n.Parent != "" {
			id, err := parentID(ctx, tx, n.Parent)
			if err != nil {
				return err
			}
			c.SetParentMenuID(id)
		}
		setText(n.Type, c.SetType)
		setText(n.Value, c.SetValue)
		setText(n.Icon, c.SetIcon)
		setText(n.Param, c.SetParam)
		row, err := c.Save(ctx)
		if err != nil {
			return database.Mapped(err, nil, taken)
		}
		return addButtons(ctx, tx, row)
	})
	if err != nil {
		return Menu{}, err
	}
	if err := m.changes.follow(ctx, "menu", n.Code, m.holders(), nil); err != nil { // nobody has it yet but the admins
		return Menu{}, err
	}
	return m.ByCode(ctx, n.Code)
}

// Update changes a menu and renames the buttons below it after its value; live sessions follow at once.
func (m *Menus) Update(ctx context.Context, code string, p MenuPatch) (Menu, error) {
	before, err := m.ByCode(ctx, code)
	if err != nil {
		return Menu{}, err
	}
	after := before.patched(p)
	if err := checkMenu(after); err != nil {
		return Menu{}, err
	}
	if !p.By.Admin {
		if err := m.mayChange(ctx, p.By, before, after); err != nil {
			return Menu{}, err
		}
	}
	err = m.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		change := tx.Menu.Update().Where(menu.ID(before.ID))
		if err := place(ctx, tx, change, before.ID, p.Parent); err != nil {
			return err
		}
		by, err := actorName(ctx, tx, p.By)
		if err != nil {
			return err
		}
		setText(by, change.SetUpdateBy)
		setPatch(p.Name, change.SetName)
		setPatch(p.Icon, change.SetIcon)
		setPatch(p.Param, change.SetParam)
		setOrClear(p.Type, change.SetType, change.ClearType)
		setOrClear(p.Value, change.SetValue, change.ClearValue)
		if p.Status != nil {
			change.SetStatus(int(*p.Status))
		}
		if p.NoSort {
			change.ClearSort()
		} else if p.Sort != nil {
			change.SetSort(*p.Sort)
		}
		if n, err := change.Save(ctx); err != nil {
			return err
		} else if n == 0 {
			return noMenu(code)
		}
		if err := renameButtons(ctx, tx, before, after.Value); err != nil {
			return err
		}
		if p.Type == nil && p.Value == nil {
			return nil // buttons that an admin deleted stay deleted
		}
		return addButtons(ctx, tx, &ent.Menu{ID: before.ID, Type: after.Type, Value: after.Value})
	})
	if err != nil {
		return Menu{}, err
	}
	if err := m.changes.follow(ctx, "menu", code, m.holders(before.ID), nil); err != nil {
		return Menu{}, err
	}
	return m.ByCode(ctx, code)
}

func (m Menu) patched(p MenuPatch) NewMenu {
	n := NewMenu{Code: m.Code, Name: m.Name, Type: m.Type, Value: m.Value, Icon: m.Icon, Param: m.Param, Status: m.Status}
	take(&n.Name, p.Name)
	take(&n.Type, p.Type)
	take(&n.Value, p.Value)
	take(&n.Icon, p.Icon)
	take(&n.Param, p.Param)
	if p.Status != nil {
		n.Status = *p.Status
	}
	return n
}

// place moves a menu below another one, or to the top; not below itself.
func place(ctx context.Context, tx *ent.Tx, change *ent.MenuUpdate, id int64, parent *string) error {
	if parent == nil {
		return nil
	}
	if *parent == "" {
		change.ClearParentMenuID()
		return nil
	}
	target, err := parentID(ctx, tx, *parent)
	if err != nil {
		return err
	}
	for up, depth := target, 0; up != 0; depth++ {
		if up == id || depth > deepest {
			return fault.New(fault.Invalid, "a menu cannot lie below itself").Field("parent", "lies below this menu")
		}
		row, err := tx.Menu.Query().Where(menu.ID(up)).Only(ctx)
		if err != nil {
			return err
		}
		up = orZero(row.ParentMenuID)
	}
	change.SetParentMenuID(target)
	return nil
}

func parentID(ctx context.Context, tx *ent.Tx, code string) (int64, error) {
	id, err := tx.Menu.Query().Where(menu.Code(code)).OnlyID(ctx)
	return id, database.Mapped(err, fault.New(fault.Invalid, "there is no menu %q", code).Field("parent", "there is no menu %q", code), nil)
}

// holders finds everybody who holds one of these menus or a button below it, and the admins, who hold all.
func (m *Menus) holders(ids ...int64) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		all, err := m.db.Client.Menu.Query().Where(menu.Or(menu.IDIn(ids...), menu.ParentMenuIDIn(ids...))).IDs(ctx)
		if err != nil {
			return nil, database.Mapped(err, nil, nil)
		}
		return m.people.affected(ctx, all...)
	}
}

// Delete removes a menu and the buttons of its functions, from all roles too. fault.Conflict if other menus lie below it.
func (m *Menus) Delete(ctx context.Context, code string) error {
	row, err := m.ByCode(ctx, code)
	if err != nil {
		return err
	}
	accounts, err := m.holders(row.ID)(ctx)
	if err != nil {
		return err
	}
	err = m.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		below, err := tx.Menu.Query().Where(menu.ParentMenuID(row.ID)).All(ctx)
		if err != nil {
			return err
		}
		for _, b := range below {
			if b.Type != TypeButton {
				return fault.New(fault.Conflict, "other menus lie below %q; delete or move them first", code)
			}
			if err := remove(ctx, tx, b.ID); err != nil {
				return err
			}
		}
		return remove(ctx, tx, row.ID)
	})
	if err != nil {
		return err
	}
	return m.changes.follow(ctx, "menu", code, these(accounts...), nil)
}

// remove deletes one menu and what refers to it; erupt's foreign keys do not cascade.
func remove(ctx context.Context, tx *ent.Tx, id int64) error {
	if err := tx.Menu.Update().Where(menu.ID(id)).ClearRoles().Exec(ctx); err != nil {
		return err
	}
	if err := tx.User.Update().Where(user.EruptMenuID(id)).ClearEruptMenuID().Exec(ctx); err != nil {
		return err
	}
	_, err := tx.Menu.Delete().Where(menu.ID(id)).Exec(ctx)
	return database.Mapped(err, nil, fault.New(fault.Conflict, "other records still refer to this menu; hide or disable it instead"))
}

func checkMenu(n NewMenu) error {
	var wrong *fault.Error
	if !isCode(n.Code) {
		wrong = fieldFault(wrong, "code", "needs 1 to 64 letters, digits and . _ - $ @")
	}
	if strings.TrimSpace(n.Name) == "" {
		wrong = fieldFault(wrong, "name", "is needed")
	}
	if (n.Type == "") != (n.Value == "") {
		wrong = fieldFault(wrong, "value", "is needed exactly if there is a type")
	}
	if n.Status < MenuOpen || n.Status > MenuDisabled {
		wrong = fieldFault(wrong, "status", "is 1 (open), 2 (hidden) or 3 (disabled)")
	}
	for field, text := range map[string]string{"name": n.Name, "type": n.Type, "value": n.Value, "icon": n.Icon} {
		wrong = textFault(wrong, field, text, 255)
	}
	return orNil(textFault(wrong, "param", n.Param, 2000))
}

func take(to, from *string) {
	if from != nil {
		*to = *from
	}
}

func setOrClear[T any](text *string, set func(string) T, clear func() T) {
	switch {
	case text == nil:
	case *text == "":
		clear()
	default:
		set(*text)
	}
}
