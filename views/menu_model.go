package views

import (
	"context"
	"net/url"
	"slices"
	"strings"
)

// MenusPath lists the menus; a menu is MenusPath/CODE.
const MenusPath = "/console/menus"

// MenuPath returns the address of a menu.
func MenuPath(code string) string { return itemPath(MenusPath, code) }

// MenuAction returns where a form about a menu posts to.
func MenuAction(code string, more ...string) string {
	return strings.Join(append([]string{MenusPath, url.PathEscape(code)}, more...), "/")
}

// MenuList is the page of menus, as a tree.
type MenuList struct {
	Query string
	Rows  []MenuRow
	All   int
	Pages []MenuPage   // of nodes, without a menu
	Roles []RoleChoice // that can be given the menus of these pages; none: the viewer may not
	More  int          // pages that are not listed
	Said  string
}

// MenuPage is a page of a node that could become a menu.
type MenuPage struct{ Node, Full string }

// MenuRow is one menu; its buttons are the rights below it, which have rows of their own.
type MenuRow struct {
	Code, Name, Type, Value string
	Status                  string // open, hidden, disabled
	Depth                   int
	Right                   bool // a button: a permission, not a page
	First, Last             bool // among those beside it
	Icon                    string
	Roles                   int // that bundle it
}

// MenuForm creates or changes a menu.
type MenuForm struct {
	Fields
	New                                   bool
	Code, Name, Type, Value, Parent, Icon string
	Param                                 string
	Status                                string
	Sort                                  string
	Parents                               []GroupOption // where it may lie, in tree order
	Buttons                               []MenuRow     // the rights below it
	Roles                                 []RoleChoice  // that bundle it
	Said                                  string
}

// MenuStatuses are the words for a menu's status, as forms send them.
var MenuStatuses = []string{"open", "hidden", "disabled"}

// menuTypes are what erupt's front ends know (a folder has none).
var menuTypes = []string{"table", "tree", "form", "button", "api", "link", "newWindow", "selfWindow", "router", "tpl", "mtpl", "fill", "bi", "cube"}

// OfferTypes are the types that a page of a node can have.
var OfferTypes = []string{"table", "tree", "form"}

// unsupportedTypes are known, but this server has nothing that they lead to; nor has it for types that are not known.
var unsupportedTypes = []string{"mtpl", "bi", "cube"}

// unsupported reports whether nothing here opens a menu of the type.
func unsupported(kind string) bool {
	return kind != "" && (slices.Contains(unsupportedTypes, kind) || !slices.Contains(menuTypes, kind))
}

// types are the types to choose from; one that is not known is kept.
func (m MenuForm) types() []string {
	for _, t := range append([]string{""}, menuTypes...) {
		if t == m.Type {
			return menuTypes
		}
	}
	return append([]string{m.Type}, menuTypes...)
}

func menuTypeName(ctx context.Context, kind string) string {
	if kind == "" {
		return T(ctx, "menus.type.folder")
	}
	key := "menus.type." + kind
	if word := T(ctx, key); word != key {
		return word
	}
	return kind
}

func (m MenuForm) title(ctx context.Context) string {
	if m.New {
		return T(ctx, "menus.new")
	}
	return MenuName(ctx, m.Code, m.Name)
}

func (m MenuForm) mayChange(ctx context.Context) bool {
	if m.New {
		return May(ctx, "EruptMenu@ADD")
	}
	return May(ctx, "EruptMenu@EDIT")
}

func menuIcon(r MenuRow) string {
	switch {
	case r.Right:
		return "key"
	case r.Type == "":
		return "menu"
	case strings.EqualFold(r.Type, "tree"):
		return "group"
	}
	return "page"
}

// offers reports whether the viewer has something to do with the menus of these pages.
func offers(links []PageLink) bool {
	return slices.ContainsFunc(links, func(l PageLink) bool { return l.Offer != PageOffer{} })
}
