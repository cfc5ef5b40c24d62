package access_test

import (
	"slices"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
	"eruptcloud/ent/roleextra"
)

// tree makes groups: east with the group eastern below it, and west. It returns their ids.
func (w *world) tree(t *testing.T) (east, eastern, west int64) {
	t.Helper()
	ctx := t.Context()
	make := func(code string) int64 {
		row, err := w.db.Client.Group.Create().SetCode(code).SetName(code).Save(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return row.ID
	}
	east, eastern, west = make("east"), make("eastern"), make("west")
	w.db.Client.GroupExtra.Create().SetGroupID(eastern).SetParentID(east).ExecX(ctx)
	return east, eastern, west
}

// limited makes an enabled role with limits.
func (w *world) limited(t *testing.T, code string, readOnly bool, groups []int64, menus ...string) {
	t.Helper()
	_, err := w.Roles.Create(t.Context(), access.NewRole{Code: code, Enabled: true, Menus: menus, ReadOnly: readOnly, Groups: groups, By: access.System})
	if err != nil {
		t.Fatalf("create role %s: %v", code, err)
	}
}

// shop makes menus of all kinds that limits treat differently.
func (w *world) shop(t *testing.T) (all []string) {
	t.Helper()
	for _, m := range [][2]string{
		{"table", "shop.Product"}, {"button", "shop.approve"}, {"table", access.CodeNodes}, {"tree", access.CodeGroups},
		{"table", access.CodeUsers}, {"table", access.CodeAudit}, {"button", access.CodeViewToken}, {"button", access.CodeManageNodes},
		{"button", access.CodeNodeLog}, {"button", "local"}, {"tpl", "report/sales.html"}, {"api", "shop.api"}, {"link", "https://example.org/x"},
	} {
		w.menu(t, m[0], m[1])
	}
	menus, err := w.Menus.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range menus {
		all = append(all, m.Code)
	}
	return all
}

// D21: a read-only role grants what changes nothing, and of the rest nothing.
func TestReadOnlyRole(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.limited(t, "viewers", true, nil, w.shop(t)...)
		w.user(t, "lin", withRoles("viewers"))
		s := w.login(t, "lin")
		for code, want := range map[string]bool{
			"shop.product": true, "shop.product@view_detail": true, "shop.product@export": true, "shop.product@add": false, "shop.product@edit": false,
			"shop.product@delete": false, "shop.product@importable": false, "shop.approve": false, "shop.api": false, "local": false,
			"report/sales.html": true, "https://example.org/x": true,
			access.CodeNodes: true, access.CodeNodes + "@EDIT": false, access.CodeGroups: true, access.CodeGroups + "@ADD": false,
			access.CodeUsers: true, access.CodeUsers + "@VIEW_DETAIL": true, access.CodeUsers + "@EDIT": false, access.CodeAudit: true,
			access.CodeViewToken: false, access.CodeManageNodes: false, access.CodeNodeLog: true,
		} {
			if got := s.Holds(code); got != want {
				t.Errorf("Holds(%q) = %v, want %v", code, got, want)
			}
			if s.MayChangeIn(code, nil) {
				t.Errorf("MayChangeIn(%q) although every role is read-only", code)
			}
		}
		for _, m := range s.Menus {
			if !s.Holds(m.Value) {
				t.Errorf("the menu %s is listed, though its code is not held", m.Code)
			}
		}
	})
}

// D21: a role for some groups counts in their trees, and only as far as it is about nodes and groups.
func TestRoleForGroups(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		east, _, west := w.tree(t)
		all := w.shop(t)
		w.limited(t, "easterners", false, []int64{east}, all...)
		w.limited(t, "westerners", true, []int64{west, west}, "shop.Product", access.CodeNodes)
		w.role(t, "loggers", access.CodeNodeLog)
		w.user(t, "lin", withRoles("easterners"))
		w.user(t, "yu", withRoles("easterners", "westerners", "loggers"))
		lin, yu := w.login(t, "lin"), w.login(t, "yu")
		for code, want := range map[string]bool{
			"shop.product": true, "shop.product@edit": true, "shop.approve": true, "report/sales.html": true, access.CodeNodes: true, access.CodeGroups + "@ADD": true,
			access.CodeViewToken: true, access.CodeManageNodes: true, access.CodeNodeLog: true,
			access.CodeUsers: false, access.CodeUsers + "@EDIT": false, access.CodeAudit: false, "local": false,
		} {
			if got := lin.Holds(code); got != want {
				t.Errorf("Holds(%q) = %v, want %v", code, got, want)
			}
			if got := lin.HoldsIn(code, []int64{7, east}); got != want {
				t.Errorf("HoldsIn(%q) below his group = %v, want %v", code, got, want)
			}
			if lin.HoldsIn(code, []int64{west}) || lin.HoldsIn(code, nil) {
				t.Errorf("%q is held in another group, or in none", code)
			}
		}
		for _, tt := range []struct {
			code                  string
			group                 int64
			looks, changes, light bool
		}{
			{"shop.product", east, true, true, true},
			{"shop.product", west, true, false, true},
			{"shop.product", 0, false, false, false},
			{"shop.product@edit", west, false, false, false},
			{access.CodeNodeLog, west, true, true, true}, // an unlimited role grants it
			{access.CodeNodeLog, 0, true, true, true},
		} {
			chain := []int64{tt.group}
			if got := yu.HoldsIn(tt.code, chain); got != tt.looks {
				t.Errorf("HoldsIn(%q) in %d = %v, want %v", tt.code, tt.group, got, tt.looks)
			}
			if got := yu.MayChangeIn(tt.code, chain); got != tt.changes {
				t.Errorf("MayChangeIn(%q) in %d = %v, want %v", tt.code, tt.group, got, tt.changes)
			}
			light, held, err := w.Sessions.Check(t.Context(), yu.Token, tt.code)
			if err != nil || (held[0] && light.Reaches(tt.code, chain)) != tt.light {
				t.Errorf("Check(%q) in %d = %v, reaches %v, %v; want %v", tt.code, tt.group, held[0], light.Reaches(tt.code, chain), err, tt.light)
			}
		}
		w.user(t, "root", admin)
		if s := w.login(t, "root"); !s.HoldsIn("shop.product", nil) || !s.MayChangeIn("anything", nil) {
			t.Error("an admin is limited")
		}
	})
}

func TestRoleLimitsLive(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		east, eastern, west := w.tree(t)
		w.shop(t)
		w.limited(t, "r", true, []int64{west, east, west}, "shop.Product")
		got, err := w.Roles.ByCode(ctx, "r")
		if err != nil || !got.ReadOnly || !slices.Equal(got.Groups, []int64{east, west}) {
			t.Fatalf("ByCode = %+v, %v", got, err)
		}
		w.role(t, "free", "shop.Product")
		all, err := w.Roles.List(ctx)
		if err != nil || len(all) != 2 || all[0].ReadOnly || all[0].Groups != nil || !all[1].ReadOnly || len(all[1].Groups) != 2 {
			t.Errorf("List = %+v, %v", all, err)
		}
		w.user(t, "lin", withRoles("r"))
		s := w.login(t, "lin")
		now := func() access.Session {
			t.Helper()
			one, _, err := w.Sessions.Get(ctx, s.Token)
			if err != nil {
				t.Fatal(err)
			}
			return one
		}
		change := func(p access.RolePatch) access.Role {
			t.Helper()
			p.By = access.System
			r, err := w.Roles.Update(ctx, "r", p)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		no := false
		if r := change(access.RolePatch{Name: p("other")}); !r.ReadOnly || len(r.Groups) != 2 {
			t.Errorf("a change of the name took the limits: %+v", r)
		}
		change(access.RolePatch{Groups: &[]int64{eastern}})
		if one := now(); one.HoldsIn("shop.product", []int64{west}) || !one.HoldsIn("shop.product", []int64{eastern, east}) || one.HoldsIn("shop.product", []int64{east}) {
			t.Errorf("after the groups changed the live session has %v", one.Scopes)
		}
		change(access.RolePatch{ReadOnly: &no})
		if one := now(); !one.MayChangeIn("shop.product", []int64{eastern}) {
			t.Error("the live session is still read-only")
		}
		if r := change(access.RolePatch{Groups: &[]int64{}}); r.Groups != nil || r.ReadOnly {
			t.Errorf("without limits it is %+v", r)
		}
		if one := now(); !one.HoldsIn("shop.product", nil) || len(one.Scopes) != 0 {
			t.Errorf("without limits the live session has %v", one.Scopes)
		}
		for name, groups := range map[string][]int64{"an unknown group": {east, 999}, "zero": {0}, "too many": many(191)} {
			_, err := w.Roles.Update(ctx, "r", access.RolePatch{Groups: &groups, By: access.System})
			wants(t, name, err, fault.Invalid)
			_, err = w.Roles.Create(ctx, access.NewRole{Code: "x", Groups: groups, By: access.System})
			wants(t, name+" for a new role", err, fault.Invalid)
		}
		change(access.RolePatch{Groups: &[]int64{west}})
		w.db.Client.Group.Delete().ExecX(ctx)
		if r := change(access.RolePatch{Groups: &[]int64{west}, Sort: p(3)}); !slices.Equal(r.Groups, []int64{west}) {
			t.Errorf("a role whose group is gone became %+v; without groups it would count everywhere", r)
		}
		if err := w.Roles.Delete(ctx, "r"); err != nil {
			t.Fatal(err)
		}
		if n := w.db.Client.RoleExtra.Query().CountX(ctx); n != 0 {
			t.Errorf("%d limits are left of deleted roles", n)
		}
	})
}

func many(n int) (ids []int64) {
	for i := range n {
		ids = append(ids, int64(i+1))
	}
	return ids
}

// F18, D21: nobody hands out more than he has: neither for other groups than his, nor to change what he only sees.
func TestNobodyGrantsBeyondHisLimits(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		east, eastern, west := w.tree(t)
		w.shop(t)
		w.limited(t, "east", false, []int64{east}, "shop.Product")
		w.limited(t, "looks", true, nil, "shop.api", "report_sales.html")
		w.role(t, "manager", access.CodeUsers)
		w.user(t, "helper", withRoles("east", "looks", "manager"))
		helper := access.Actor{Account: "helper"}
		for name, tt := range map[string]struct {
			menus    []string
			readOnly bool
			groups   []int64
			want     fault.Code // empty: granted
		}{
			"his group":                     {[]string{"shop.Product"}, false, []int64{east}, ""},
			"a group below his":             {[]string{"shop.Product"}, false, []int64{eastern}, ""},
			"everywhere":                    {[]string{"shop.Product"}, false, nil, fault.Forbidden},
			"everywhere, to look":           {[]string{"shop.Product"}, true, nil, fault.Forbidden},
			"another group":                 {[]string{"shop.Product"}, false, []int64{west}, fault.Forbidden},
			"his and another group":         {[]string{"shop.Product"}, true, []int64{east, west}, fault.Forbidden},
			"what he sees, to look":         {[]string{"report_sales.html"}, true, nil, ""},
			"what he sees, to change":       {[]string{"report_sales.html"}, false, nil, fault.Forbidden},
			"what his read-only role drops": {[]string{"shop.api"}, true, nil, fault.Forbidden},
			"what he holds freely":          {[]string{access.CodeUsers}, false, nil, ""},
			"what he holds freely, in part": {[]string{access.CodeUsers}, true, []int64{west}, ""},
		} {
			_, err := w.Roles.Create(ctx, access.NewRole{Code: "new", Enabled: true, Menus: tt.menus, ReadOnly: tt.readOnly, Groups: tt.groups, By: helper})
			if tt.want == "" && err != nil {
				t.Errorf("%s: %v", name, err)
			} else if tt.want != "" {
				wants(t, name, err, tt.want)
			}
			if err == nil {
				if err := w.Roles.Delete(ctx, "new"); err != nil {
					t.Fatal(err)
				}
			}
		}
		no := false
		for name, patch := range map[string]access.RolePatch{
			"his role for all groups": {Groups: &[]int64{}}, "his role for another group": {Groups: &[]int64{west}}, "both": {Groups: &[]int64{east, west}},
		} {
			patch.By = helper
			_, err := w.Roles.Update(ctx, "east", patch)
			wants(t, name, err, fault.Forbidden)
		}
		_, err := w.Roles.Update(ctx, "looks", access.RolePatch{ReadOnly: &no, By: helper})
		wants(t, "his read-only role is opened", err, fault.Forbidden)
		_, err = w.Menus.Update(ctx, access.CodeUsers, access.MenuPatch{Value: p("shop.Product"), By: helper})
		wants(t, "a menu of all gets a code that he holds in part", err, fault.Forbidden)
		_, err = w.Menus.Update(ctx, access.CodeUsers, access.MenuPatch{Type: p("tpl"), Value: p("report/sales.html"), By: helper})
		wants(t, "a menu of all gets a code that he may only look at", err, fault.Forbidden)

		w.limited(t, "wests", false, []int64{west}, "shop.Product")
		w.limited(t, "easts", true, []int64{eastern}, "shop.Product")
		w.user(t, "west", withRoles("wests"))
		w.user(t, "east", withRoles("easts"))
		_, err = w.Users.Update(ctx, "west", access.UserPatch{Password: p("another password"), By: helper})
		wants(t, "the password of who holds it elsewhere", err, fault.Forbidden)
		if _, err := w.Users.Update(ctx, "east", access.UserPatch{Password: p("another password"), By: helper}); err != nil {
			t.Errorf("the password of who holds less: %v", err)
		}
	})
}

// Groups that cannot be read must not make a role count everywhere.
func TestSpoiltLimits(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	east, _, _ := w.tree(t)
	w.shop(t)
	w.limited(t, "r", false, []int64{east}, "shop.Product")
	w.user(t, "lin", withRoles("r"))
	w.db.Client.RoleExtra.Update().Where(roleextra.NodeGroupsNEQ("")).SetNodeGroups("[1,").ExecX(t.Context())
	_, err := w.attempt(t.Context(), "lin", goodPassword)
	wants(t, "a login with a role whose groups are spoilt", err, fault.Internal)
}

// A new installation has a role that looks on; one that has menus keeps its roles.
func TestSeedMakesAViewer(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for range 2 {
			if _, err := w.Menus.Seed(ctx); err != nil {
				t.Fatal(err)
			}
		}
		r, err := w.Roles.ByCode(ctx, access.Viewer)
		if err != nil || !r.ReadOnly || !r.Enabled || len(r.Menus) != 6 {
			t.Fatalf("the viewer is %+v, %v", r, err)
		}
		w.user(t, "lin", withRoles(access.Viewer))
		if s := w.login(t, "lin"); !s.Holds(access.CodeNodes) || !s.Holds(access.CodeNodeLog) || s.Holds(access.CodeViewToken) || s.Holds(access.CodeUsers) {
			t.Errorf("the viewer holds %v", s.Values)
		}
		if err := w.Roles.Delete(ctx, access.Viewer); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Menus.Seed(ctx); err != nil {
			t.Fatal(err)
		}
		_, err = w.Roles.ByCode(ctx, access.Viewer)
		wants(t, "the viewer that somebody deleted", err, fault.NotFound)
	})
}

func TestReplicasAgreeOnLimits(t *testing.T) {
	db, url := testbed.MySQL(t), testbed.Redis(t)
	replica := func() *world {
		return newWorld(t, db, func(o *access.Options) { o.Store = access.NewRedisSessions(dial(t, url), "erupt-auth:") })
	}
	a, b := replica(), replica()
	ctx := t.Context()
	east, _, west := a.tree(t)
	a.shop(t)
	a.limited(t, "r", true, []int64{east}, "shop.Product")
	a.user(t, "lin", withRoles("r"))
	s := a.login(t, "lin")
	at := func(w *world, group int64) (looks, changes bool) {
		t.Helper()
		one, _, err := w.Sessions.Get(ctx, s.Token)
		if err != nil {
			t.Fatal(err)
		}
		return one.HoldsIn("shop.product", []int64{group}), one.MayChangeIn("shop.product", []int64{group})
	}
	if looks, changes := at(b, east); !looks || changes {
		t.Errorf("the other replica lets look %v, change %v; want look only", looks, changes)
	}
	no := false
	if _, err := b.Roles.Update(ctx, "r", access.RolePatch{Groups: &[]int64{west}, ReadOnly: &no, By: access.System}); err != nil {
		t.Fatal(err)
	}
	if looks, _ := at(a, east); looks {
		t.Error("a group that was taken at the other replica still counts")
	}
	if looks, changes := at(a, west); !looks || !changes {
		t.Errorf("a group that was given at the other replica lets look %v, change %v", looks, changes)
	}
}
