package access_test

import (
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
)

func TestRoleLife(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.menu(t, "link", "elsewhere")
		w.menu(t, "button", "do.it")
		made, err := w.Roles.Create(ctx, access.NewRole{Code: "sales", Name: "Sales 销售", Sort: 20, Enabled: true, Menus: []string{"do.it", "do.it"}, By: access.System})
		if err != nil || made.Name != "Sales 销售" || made.Sort != 20 || !made.Enabled || !slices.Equal(made.MenuCodes, []string{"do.it"}) || len(made.Menus) != 1 {
			t.Errorf("Create = %+v, %v", made, err)
		}
		w.role(t, "audit")
		_, err = w.Roles.Create(ctx, access.NewRole{Code: "sales", By: access.System})
		wants(t, "a code twice", err, fault.Conflict)
		for name, n := range map[string]access.NewRole{
			"no code": {}, "code with a blank": {Code: "a b"}, "code too long": {Code: strings.Repeat("a", 65)}, "unknown menu": {Code: "x", Menus: []string{"ghost"}},
			"name too long": {Code: "x", Name: strings.Repeat("x", 256)},
		} {
			n.By = access.System
			_, err := w.Roles.Create(ctx, n)
			wants(t, name, err, fault.Invalid)
		}
		no := false
		changed, err := w.Roles.Update(ctx, "sales", access.RolePatch{Name: p("S"), Sort: p(1), Enabled: &no, Menus: &[]string{}, By: access.System})
		if err != nil || changed.Name != "S" || changed.Sort != 1 || changed.Enabled || len(changed.Menus) != 0 {
			t.Errorf("Update = %+v, %v", changed, err)
		}
		if same, err := w.Roles.Update(ctx, "sales", access.RolePatch{By: access.System}); err != nil || same.Name != "S" {
			t.Errorf("an Update of nothing = %+v, %v", same, err)
		}
		_, err = w.Roles.Update(ctx, "sales", access.RolePatch{Name: p(" "), By: access.System})
		wants(t, "an empty name", err, fault.Invalid)
		all, err := w.Roles.List(ctx)
		if err != nil || len(all) != 2 || all[0].Code != "audit" || all[1].Code != "sales" {
			t.Errorf("List = %+v, %v; want audit (0) before sales (1)", all, err)
		}
		w.user(t, "lin", withRoles("sales"))
		if err := w.Roles.Delete(ctx, "sales"); err != nil {
			t.Errorf("Delete of a role that somebody has: %v", err)
		}
		wants(t, "Delete of a deleted role", w.Roles.Delete(ctx, "sales"), fault.NotFound)
		_, err = w.Roles.ByCode(ctx, "sales")
		wants(t, "ByCode of a deleted role", err, fault.NotFound)
		_, err = w.Roles.Update(ctx, "sales", access.RolePatch{By: access.System})
		wants(t, "Update of a deleted role", err, fault.NotFound)
	})
}

func TestOnlyHeldMenusAreGranted(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.menu(t, "button", "mine")
		w.menu(t, "button", "yours")
		w.menu(t, "button", "off")
		w.role(t, "mine", "mine", "off")
		w.role(t, "yours", "yours")
		w.user(t, "helper", withRoles("mine"))
		disabled := access.MenuDisabled
		if _, err := w.Menus.Update(ctx, "off", access.MenuPatch{Status: &disabled, By: access.System}); err != nil {
			t.Fatal(err)
		}
		helper := access.Actor{Account: "helper"}
		for name, menus := range map[string][]string{"a foreign menu": {"mine", "yours"}, "a disabled menu": {"off"}} {
			_, err := w.Roles.Create(ctx, access.NewRole{Code: "new", Menus: menus, By: helper})
			wants(t, name, err, fault.Forbidden)
		}
		_, err := w.Roles.Update(ctx, "mine", access.RolePatch{Menus: &[]string{"mine", "off", "yours"}, By: helper})
		wants(t, "his own role grows", err, fault.Forbidden)
		for _, nobody := range []access.Actor{{}, {Account: "ghost"}} {
			_, err = w.Roles.Create(ctx, access.NewRole{Code: "new", Menus: []string{"mine"}, By: nobody})
			wants(t, "nobody grants", err, fault.Forbidden)
		}
		if _, err := w.Roles.Update(ctx, "yours", access.RolePatch{Menus: &[]string{"mine", "yours"}, By: helper}); err != nil {
			t.Errorf("a held menu is added to a role with foreign ones: %v", err)
		}
		no, yes := false, true
		if _, err := w.Roles.Update(ctx, "yours", access.RolePatch{Enabled: &no, By: helper}); err != nil {
			t.Errorf("a role is disabled: %v", err)
		}
		_, err = w.Roles.Update(ctx, "yours", access.RolePatch{Enabled: &yes, By: helper})
		wants(t, "a role with foreign menus is enabled", err, fault.Forbidden)
	})
}

func TestSessionsFollowRoles(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.menu(t, "button", "a")
		w.menu(t, "button", "b")
		w.role(t, "one", "a")
		w.role(t, "two", "a", "b")
		w.user(t, "lin", withRoles("one", "two"))
		w.user(t, "yu", withRoles("one"))
		lin, yu := w.login(t, "lin"), w.login(t, "yu")
		check := func(what string, s access.Session, a, b bool) {
			t.Helper()
			if w.holds(t, s.Token, "a") != a || w.holds(t, s.Token, "b") != b {
				t.Errorf("%s: %s holds a: %v, b: %v", what, s.Account, !a, !b)
			}
		}
		check("at first", lin, true, true)
		check("at first", yu, true, false)
		no, yes := false, true
		if _, err := w.Roles.Update(ctx, "two", access.RolePatch{Enabled: &no, By: access.System}); err != nil {
			t.Fatal(err)
		}
		check("two disabled", lin, true, false)
		if now, _, _ := w.Sessions.Get(ctx, lin.Token); !slices.Equal(now.Roles, []string{"one", "two"}) {
			t.Errorf("roles %v, want the disabled one too", now.Roles)
		}
		if _, err := w.Roles.Update(ctx, "one", access.RolePatch{Menus: &[]string{}, By: access.System}); err != nil {
			t.Fatal(err)
		}
		check("one emptied", lin, false, false)
		check("one emptied", yu, false, false)
		if _, err := w.Roles.Update(ctx, "two", access.RolePatch{Enabled: &yes, By: access.System}); err != nil {
			t.Fatal(err)
		}
		check("two enabled", lin, true, true)
		if err := w.Roles.Delete(ctx, "two"); err != nil {
			t.Fatal(err)
		}
		check("two deleted", lin, false, false)
	})
}
