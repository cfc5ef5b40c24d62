package e2e

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/access"
)

// F18: who manages people and rights, and is no admin, gives nobody more than he holds himself, least of all to himself.
func TestHostileManager(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	manager := []string{access.CodeUsers, access.CodeRoles, access.CodeMenus, access.CodeAudit}
	var mine, all []string
	var menus struct {
		Items []struct{ Code, Value string }
	}
	a.must(http.MethodGet, "/api/v1/menus?pageSize=500", nil, http.StatusOK, &menus)
	for _, m := range menus.Items {
		all = append(all, m.Code)
		if value, _, _ := strings.Cut(m.Value, "@"); slices.Contains(manager, value) {
			mine = append(mine, m.Code)
		}
	}
	if len(mine) < 12 {
		t.Fatalf("the manager's menus are %v", mine)
	}
	a.must(http.MethodPost, "/api/v1/roles", map[string]any{"code": "managers", "name": "Managers", "menus": mine}, http.StatusCreated, nil)
	a.must(http.MethodPost, "/api/v1/roles", map[string]any{"code": "bosses", "name": "Bosses", "menus": all}, http.StatusCreated, nil)
	for account, role := range map[string]string{"manager": "managers", "boss": "bosses"} {
		a.hires(account, account, staffPassword, map[string]any{"roles": []string{role}})
	}
	const who = "manager"
	a.sessions[who] = a.login(who, staffPassword)
	a.cookies[who] = a.enter(who, staffPassword)
	if g := a.fire(shot{method: http.MethodGet, target: "/api/v1/users", who: who}); g.status != http.StatusOK {
		t.Fatalf("the manager may not even look: %d %s", g.status, g.body)
	}
	refusals := []int{http.StatusForbidden, http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity}
	a.unchanged("a manager", func() {
		for _, tt := range []struct{ method, target, body string }{
			{http.MethodPost, "/api/v1/users", `{"account":"mole","name":"m","password":"plain-horse-81","admin":true}`},
			{http.MethodPost, "/api/v1/users", `{"account":"mole","name":"m","password":"plain-horse-81","roles":["bosses"]}`},
			{http.MethodPatch, "/api/v1/users/manager", `{"admin":true}`},
			{http.MethodPatch, "/api/v1/users/manager", `{"roles":["managers","bosses"]}`},
			{http.MethodPatch, "/api/v1/users/clerk", `{"admin":true}`},
			{http.MethodPatch, "/api/v1/users/clerk", `{"roles":["bosses"]}`},
			{http.MethodPatch, "/api/v1/users/erupt", `{"password":"plain-horse-81"}`},
			{http.MethodPatch, "/api/v1/users/erupt", `{"enabled":false}`},
			{http.MethodPatch, "/api/v1/users/erupt", `{"admin":false}`},
			{http.MethodPatch, "/api/v1/users/erupt", `{"name":"mine"}`},
			{http.MethodPatch, "/api/v1/users/erupt", `{"roles":["managers"]}`},
			{http.MethodPatch, "/api/v1/users/boss", `{"password":"plain-horse-81"}`},
			{http.MethodPatch, "/api/v1/users/boss", `{"enabled":false}`},
			{http.MethodPatch, "/api/v1/users/boss", `{"roles":[]}`},
			{http.MethodDelete, "/api/v1/users/boss", ""},
			{http.MethodDelete, "/api/v1/users/erupt", ""},
			{http.MethodPost, "/api/v1/roles", `{"code":"moles","name":"m","menus":["pageAllowed"]}`},
			{http.MethodPatch, "/api/v1/roles/managers", `{"menus":["pageAllowed"]}`},
		} {
			s := shot{method: tt.method, target: tt.target, body: []byte(tt.body), kind: jsonKind, who: who}
			a.refused(s, a.fire(s), refusals...)
		}
		for _, tt := range []struct {
			target string
			form   url.Values
		}{
			{"/console/users", url.Values{"account": {"mole"}, "name": {"m"}, "password": {"plain-horse-81"}, "enabled": {"1"}, "role": {"bosses"}}},
			{"/console/users/manager", url.Values{"name": {"manager"}, "enabled": {"1"}, "role": {"managers", "bosses"}}},
			{"/console/users/erupt", url.Values{"name": {"erupt"}, "enabled": {"1"}, "admin": {"1"}, "password": {"plain-horse-81"}}},
			{"/console/users/boss/password", url.Values{"confirm": {"1"}}},
			{"/console/users/boss", url.Values{"name": {"boss"}, "role": {"bosses"}}},
			{"/console/users/erupt/delete", url.Values{}},
			{"/console/roles/managers", url.Values{"name": {"Managers"}, "enabled": {"1"}, "sort": {"0"}, "menu": append(slices.Clone(mine), "pageAllowed")}},
			{"/console/roles", url.Values{"code": {"moles"}, "name": {"m"}, "enabled": {"1"}, "sort": {"0"}, "menu": {"pageAllowed"}}},
			{"/console/menus/" + mine[0], url.Values{"name": {"m"}, "type": {"table"}, "value": {access.CodeNodes}, "parent": {""}, "icon": {""}, "status": {"open"}, "sort": {""}}},
		} {
			s := shot{method: http.MethodPost, target: tt.target, form: tt.form, who: who, by: byCookie, header: browser()}
			a.refused(s, a.fire(s), refusals...)
		}
	})
	for _, target := range []string{"/api/v1/nodes", "/api/v1/groups", "/api/v1/nodes/orders/instances"} {
		s := shot{method: http.MethodGet, target: target, who: who}
		a.refused(s, a.fire(s), http.StatusForbidden)
	}
	a.untouched("a manager")
}
