package access

import (
	"context"
	"strings"

	"eruptcloud/app/database"
	"eruptcloud/ent"
	"eruptcloud/ent/menu"
)

// seed is a menu that erupt creates when it starts for the first time; code and value are equal, except for folders and home.
type seed struct {
	code, name, kind, parent string
	icon                     string
	sort                     int
	status                   MenuStatus
	functions                string // of its buttons, in order: what the class behind it allows
}

const crud = "ADD EDIT DELETE VIEW_DETAIL"

// seeds are the menus of erupt-cloud-server and erupt-upms, in erupt's order (erupt-wire 5.5), and after them our own.
var seeds = []seed{
	{code: "$NodeManager", name: "Micronode Management", icon: "fa fa-cloud", sort: 70},
	{code: CodeGroups, name: "Group Config", kind: TypeTree, parent: "$NodeManager", sort: 10, status: MenuHidden, functions: crud},
	{code: CodeNodes, name: "Node Config", kind: TypeTable, parent: "$NodeManager", sort: 20, functions: crud},
	{code: CodeViewToken, name: "View Token", kind: TypeButton, parent: CodeNodes, sort: 110},
	{code: CodeManageNodes, name: "Node Manager", kind: TypeButton, parent: CodeNodes, sort: 120},
	{code: CodeNodeLog, name: "Node Log", kind: TypeButton, parent: CodeNodes, sort: 120},
	{code: "$manager", name: "System Management", icon: "fa fa-cogs", sort: 1},
	{code: "$home", name: "Home", kind: "router", icon: "fa fa-home", sort: 0},
	{code: CodeMenus, name: "Menu Management", kind: TypeTree, parent: "$manager", sort: 0, functions: crud},
	{code: CodeRoles, name: "Role Management", kind: TypeTable, parent: "$manager", sort: 10, functions: crud},
	{code: "EruptOrg", name: "Org Management", kind: TypeTree, parent: "$manager", sort: 20, functions: crud},
	{code: "EruptPost", name: "Post Management", kind: TypeTree, parent: "$manager", sort: 30, functions: crud},
	{code: CodeUsers, name: "User Management", kind: TypeTable, parent: "$manager", sort: 40, functions: crud},
	{code: "EruptDict", name: "Data Dictionary", kind: TypeTable, parent: "$manager", sort: 50, functions: "ADD EDIT DELETE EXPORT VIEW_DETAIL"},
	{
		code: "EruptDictItem", name: "Dict Item", kind: TypeTable, parent: "$manager", sort: 60, status: MenuHidden,
		functions: "ADD EDIT DELETE EXPORT IMPORTABLE VIEW_DETAIL",
	},
	{code: "EruptOpenApi", name: "Open API", kind: TypeTable, parent: "$manager", sort: 60, functions: crud},
	{code: "EruptOnline", name: "Online Users", kind: TypeTable, parent: "$manager", sort: 65, functions: "EXPORT"},
	{code: "EruptLoginLog", name: "Login Log", kind: TypeTable, parent: "$manager", sort: 70, functions: "EXPORT"},
	{code: CodeAudit, name: "Operation Log", kind: TypeTable, parent: "$manager", sort: 80, functions: "EXPORT"},
	{code: CodeServerLog, name: "System Log", kind: "tpl", parent: "$manager", sort: 90},
	// Ours: erupt has no button to end sessions of others, so no role could carry the right to.
	{code: CodeOnline + "@DELETE", name: "DELETE", kind: TypeButton, parent: CodeOnline, sort: 20},
}

// Viewer is the code of the role that a new installation starts with: it shows nodes, groups and logs, and changes nothing.
const Viewer = "viewer"

// viewed are the menus of the role Viewer.
var viewed = []string{
	"$NodeManager", CodeNodes, CodeNodes + "@VIEW_DETAIL", CodeGroups, CodeGroups + "@VIEW_DETAIL", CodeNodeLog,
}

// Seed inserts the menus that erupt's initialisation makes and that are missing by code, all or none, and returns how many
// it added. It changes no existing row. Where there was no menu at all, it makes the role Viewer too.
func (m *Menus) Seed(ctx context.Context) (added int, err error) {
	err = m.db.InTx(ctx, func(ctx context.Context, tx *ent.Tx) error {
		added = 0
		rows, err := tx.Menu.Query().All(ctx)
		if err != nil {
			return err
		}
		ids := make(map[string]int64, len(rows))
		for _, r := range rows {
			ids[r.Code] = r.ID
		}
		for _, s := range seeds {
			for _, one := range s.rows() {
				made, err := insertSeed(ctx, tx, one, ids)
				if err != nil {
					return err
				}
				added += made
			}
		}
		if len(rows) > 0 {
			return nil
		}
		return seedViewer(ctx, tx, ids)
	})
	if err != nil {
		// Another replica was faster with some row: what it left out is inserted by its own transaction or the next start.
		if n, counted := m.missing(ctx); counted == nil && n == 0 {
			return 0, nil
		}
		return 0, err
	}
	if added == 0 {
		return 0, nil
	}
	return added, m.changes.follow(ctx, "menu", "", m.holders(), nil)
}

// seedViewer makes the role Viewer, unless somebody made a role already.
func seedViewer(ctx context.Context, tx *ent.Tx, ids map[string]int64) error {
	exists, err := tx.Role.Query().Exist(ctx)
	if err != nil || exists {
		return err
	}
	c := tx.Role.Create().SetCode(Viewer).SetName("Viewer").SetSort(0).SetStatus(true)
	for _, code := range viewed {
		c.AddMenuIDs(ids[code])
	}
	row, err := c.Save(ctx)
	if err != nil {
		return err
	}
	return limit{readOnly: true}.write(ctx, tx, row.ID)
}

// rows returns a menu and the buttons of its functions.
func (s seed) rows() []seed {
	out := []seed{s}
	for i, f := range strings.Fields(s.functions) {
		name := f
		for _, known := range functions {
			if known.Code == f {
				name = known.Name
			}
		}
		out = append(out, seed{code: s.code + "@" + f, name: name, kind: TypeButton, parent: s.code, sort: 10 * (i + 1)})
	}
	return out
}

func insertSeed(ctx context.Context, tx *ent.Tx, s seed, ids map[string]int64) (int, error) {
	if _, exists := ids[s.code]; exists {
		return 0, nil
	}
	status := s.status
	if status == 0 {
		status = MenuOpen
	}
	c := tx.Menu.Create().SetCode(s.code).SetName(s.name).SetSort(s.sort).SetStatus(int(status))
	if parent, ok := ids[s.parent]; ok {
		c.SetParentMenuID(parent)
	}
	switch s.kind {
	case "":
	case "router":
		c.SetType(s.kind).SetValue("/")
	default:
		c.SetType(s.kind).SetValue(s.code)
	}
	if s.icon != "" || s.kind == TypeTable || s.kind == TypeTree {
		c.SetIcon(s.icon) // classes have an empty one, as erupt writes it
	}
	row, err := c.Save(ctx)
	if err != nil {
		return 0, err
	}
	ids[s.code] = row.ID
	return 1, nil
}

// missing counts the seeds without a row.
func (m *Menus) missing(ctx context.Context) (int, error) {
	var codes []string
	for _, s := range seeds {
		for _, one := range s.rows() {
			codes = append(codes, one.code)
		}
	}
	have, err := m.db.Client.Menu.Query().Where(menu.CodeIn(codes...)).Count(ctx)
	return len(codes) - have, database.Mapped(err, nil, nil)
}
