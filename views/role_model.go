package views

import (
	"context"
	"net/url"
	"slices"
	"strings"
)

// RolesPath lists the roles; a role is RolePath.
const RolesPath = "/console/roles"

// RolePath returns the address of a role.
func RolePath(code string) string { return itemPath(RolesPath, code) }

// RoleAction returns where a form about a role posts to.
func RoleAction(code string, more ...string) string {
	return strings.Join(append([]string{RolesPath, url.PathEscape(code)}, more...), "/")
}

// RoleList is the page of roles.
type RoleList struct {
	Query string
	Rows  []RoleRow
	All   int
	Said  string
}

// RoleRow is one role.
type RoleRow struct {
	Code, Name string
	Sort       int
	Enabled    bool
	ReadOnly   bool
	Groups     []string // names of the node groups that it is limited to
	Menus      int
	Users      int
}

// RoleForm creates or changes a role.
type RoleForm struct {
	Fields
	New        bool
	From       string // the name of the role that this one is a copy of
	Code, Name string
	Sort       string
	Enabled    bool
	ReadOnly   bool
	Limited    bool // to Groups
	Groups     []GroupChoice
	Menus      []MenuChoice
	Idle       []string // names of what it bundles and does not give, because of its limits
	Users      []UserRow
	UserCount  int
	Said       string
}

// GroupChoice is a node group to limit a role to, in tree order.
type GroupChoice struct {
	ID    string
	Code  string
	Name  string
	Depth int
	On    bool
	Why   string // why the viewer cannot choose it; empty: he can
}

// MenuChoice is a menu that a role may bundle, in tree order, with the rights below it.
type MenuChoice struct {
	Code, Name, Value string
	Depth             int
	On                bool
	Button            bool // a permission, not a page
	Disabled          bool
	Why               string // why the viewer cannot change it; empty: he can
	Rights            []MenuChoice
}

func (m RoleForm) title(ctx context.Context) string {
	switch {
	case m.New && m.From != "":
		return T(ctx, "roles.copy_of", "role", m.From)
	case m.New:
		return T(ctx, "roles.new")
	}
	return m.Name
}

func (m RoleForm) mayChange(ctx context.Context) bool {
	if m.New {
		return May(ctx, "EruptRole@ADD")
	}
	return May(ctx, "EruptRole@EDIT")
}

// menuHeldBack reports whether the viewer cannot give one of the menus.
func (m RoleForm) menuHeldBack() bool {
	return slices.ContainsFunc(m.Menus, func(c MenuChoice) bool {
		return c.Why != "" || slices.ContainsFunc(c.Rights, func(r MenuChoice) bool { return r.Why != "" })
	})
}

// limitText names the groups of a limited role, or counts them.
func limitText(ctx context.Context, groups []string) string {
	if len(groups) <= 2 {
		return T(ctx, "roles.only_in", "groups", strings.Join(groups, ", "))
	}
	return T(ctx, "roles.only_in_n", "count", len(groups))
}

// rightName is the name of a function of a menu: that of its code where the console knows it, else what somebody chose.
func rightName(ctx context.Context, c MenuChoice) string {
	if _, function, ok := strings.Cut(c.Value, "@"); ok {
		if key := "right.function." + function; T(ctx, key) != key {
			return T(ctx, key)
		}
	}
	return MenuName(ctx, c.Code, c.Name)
}

// RightText says in words what a permission code lets one do; page is the name of the page that it is about, if it is one.
func RightText(ctx context.Context, code, name string) string {
	if text := T(ctx, "right."+code); text != "right."+code {
		return text
	}
	page, function, ok := strings.Cut(code, "@")
	if ok && T(ctx, "right.function."+function) != "right.function."+function {
		return T(ctx, "right.on_page", "function", T(ctx, "right.function."+function), "page", page)
	}
	return name
}
