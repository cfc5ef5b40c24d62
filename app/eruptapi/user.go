package eruptapi

import (
	"net/http"
	"strings"

	"eruptcloud/app/access"
	"eruptcloud/app/web"
)

// Pages are the server's own pages, as menus name them, and where the console shows them.
var Pages = map[string]string{
	access.CodeNodes: "/console/nodes", access.CodeGroups: "/console/groups", access.CodeUsers: "/console/users",
	access.CodeRoles: "/console/roles", access.CodeMenus: "/console/menus", access.CodeAudit: "/console/audit", access.CodeLogins: "/console/logins",
	access.CodeOrgs: "/console/orgs", access.CodePosts: "/console/posts", access.CodeDicts: "/console/dicts",
	access.CodeOpenAPI: "/console/open-api", access.CodeOnline: "/console/online", access.CodeServerLog: "/console/server-log",
}

// userInfo handles GET /erupt-api/userinfo.
func (a *API) userInfo(w http.ResponseWriter, r *http.Request) error {
	in, err := a.session(r)
	if err != nil {
		return err
	}
	u, err := a.o.Users.ByAccount(r.Context(), in.Account)
	if err != nil {
		return err
	}
	home := homeOf(in, u.HomeMenu)
	roles := in.Roles
	if roles == nil {
		roles = []string{}
	}
	return writeJSON(w, map[string]any{
		"avatar": orNil(u.Avatar), "nickname": in.Name, "indexMenuType": orNil(home.Type), "indexMenuValue": orNil(home.Value),
		"resetPwd": u.PasswordSet.IsZero(), "org": orNil(in.Org), "post": orNil(in.Post), "roles": roles,
	})
}

// homeOf returns the menu that the user starts with, if it still is one of his.
func homeOf(in access.Session, id int64) access.Menu {
	for _, m := range in.Menus {
		if id != 0 && m.ID == id {
			return m
		}
	}
	return access.Menu{}
}

type menuItem struct {
	ID    int64   `json:"id"`
	Code  string  `json:"code"`
	Name  string  `json:"name"`
	Type  *string `json:"type"`
	Value *string `json:"value"`
	Icon  *string `json:"icon"`
	PID   *int64  `json:"pid"`
}

// menu handles GET /erupt-api/menu. The server's own pages have no build model here: they appear as links into the console,
// and those of erupt's pages that this server does not have are left out with their buttons, as are pages of nodes for whose
// group they are not held (D21).
func (a *API) menu(w http.ResponseWriter, r *http.Request) error {
	in, err := a.session(r)
	if err != nil {
		return err
	}
	if r.URL.Query().Get("flush") == "true" { // since erupt 2.2
		if err := a.o.Sessions.Renew(r.Context(), in.Token); err != nil {
			return err
		}
		if in, err = a.session(r); err != nil {
			return err
		}
	}
	absent := map[int64]access.Menu{}
	for _, m := range in.Menus {
		if a.nowhere(m) || !a.reaches(in, m) {
			absent[m.ID] = m
		}
	}
	lang, items := web.Lang(r), make([]menuItem, 0, len(in.Menus))
	for _, m := range in.Menus {
		_, left := absent[m.ID]
		_, below := absent[m.Parent]
		if left || below && isButton(m) {
			continue
		}
		item := menuItem{ID: m.ID, Code: m.Code, Name: nameOf(lang, m), Type: orNil(m.Type), Value: orNil(m.Value), Icon: orNil(m.Icon)}
		if parent := above(absent, m.Parent); parent != 0 {
			item.PID = &parent
		}
		if page, ok := a.o.Pages[m.Value]; ok && !isButton(m) {
			item.Type, item.Value = orNil("newWindow"), orNil(web.Base(r)+page)
		}
		items = append(items, item)
	}
	return writeJSON(w, items)
}

// nameOf is a menu's name in the language of the front end. Buttons of nodes' pages have a code that says nothing.
func nameOf(lang string, m access.Menu) string {
	if isButton(m) && strings.Contains(m.Value, "@") {
		return web.MenuName(lang, m.Value, m.Name)
	}
	return web.MenuName(lang, m.Code, m.Name)
}

// nowhere reports whether a menu names a page that neither a node nor this server has: the former have a dot in the value.
func (a *API) nowhere(m access.Menu) bool {
	value, _, _ := strings.Cut(m.Value, "?")
	if _, ours := a.o.Pages[m.Value]; ours {
		return false
	}
	switch m.Type {
	case access.TypeTable, access.TypeTree, "form":
		return !strings.Contains(value, ".")
	}
	return false
}

func isButton(m access.Menu) bool { return m.Type == access.TypeButton || m.Type == "api" }

// above is the nearest menu, from id upwards, that was not left out.
func above(absent map[int64]access.Menu, id int64) int64 {
	for range len(absent) + 1 { // menus may lie in a circle
		m, left := absent[id]
		if !left {
			return id
		}
		id = m.Parent
	}
	return 0
}
