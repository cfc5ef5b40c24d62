package access_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/ent/menu"
)

// ownSeeds are the menus of a first start that erupt does not make.
var ownSeeds = []string{"EruptOnline@DELETE"}

// A fresh installation of erupt 2.0.4 has these rows; ours come after them.
func TestSeedIsErupts(t *testing.T) {
	text, err := os.ReadFile("testdata/menus.json")
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		ID                int64
		Code, Name        string
		Type, Value, Icon *string
		Status            *int
		Sort              *int
		Parent            *int64 `json:"parent_menu_id"`
	}
	var want []row
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	eachWorld(t, func(t *testing.T, w *world) {
		added, err := w.Menus.Seed(t.Context())
		if err != nil || added != 66+len(ownSeeds) {
			t.Fatalf("Seed = %d, %v; want erupt's 66 and %d", added, err, len(ownSeeds))
		}
		made, err := w.db.Client.Menu.Query().Order(menu.ByID()).All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		withIcon := map[int64]bool{}
		for _, id := range w.db.Client.Menu.Query().Where(menu.IconNotNil()).IDsX(t.Context()) {
			withIcon[id] = true
		}
		codes, own := map[int64]string{0: ""}, []string{}
		for _, m := range made {
			codes[m.ID] = m.Code
		}
		for _, m := range made[66:] {
			own = append(own, m.Code)
			if m.Type != "button" || m.Value != m.Code || codes[*m.ParentMenuID]+"@DELETE" != m.Code || *m.Status != 1 {
				t.Errorf("ours is %+v", m)
			}
		}
		if made = made[:66]; !slices.Equal(own, ownSeeds) {
			t.Errorf("besides erupt's: %v, want %v", own, ownSeeds)
		}
		wantCodes := map[int64]string{0: ""}
		for _, r := range want {
			wantCodes[r.ID] = r.Code
		}
		if len(made) != len(want) {
			t.Fatalf("%d rows, want %d", len(made), len(want))
		}
		zero := func(p *int64) int64 {
			if p == nil {
				return 0
			}
			return *p
		}
		text := func(s *string) string {
			if s == nil {
				return ""
			}
			return *s
		}
		for i, m := range made {
			got := []any{m.Code, m.Name, m.Type, m.Value, *m.Status, *m.Sort, m.Icon, withIcon[m.ID], codes[zero(m.ParentMenuID)]}
			r := want[i]
			expected := []any{r.Code, r.Name, text(r.Type), text(r.Value), *r.Status, *r.Sort, text(r.Icon), r.Icon != nil, wantCodes[zero(r.Parent)]}
			if d := cmp.Diff(expected, got); d != "" {
				t.Errorf("row %d (-want +got):\n%s", i, d)
			}
		}
		if added, err := w.Menus.Seed(t.Context()); err != nil || added != 0 {
			t.Errorf("a second Seed = %d, %v; want nothing", added, err)
		}
	})
}

func TestSeedAddsWhatIsMissing(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		if _, err := w.Menus.Create(ctx, access.NewMenu{Code: "CloudNode", Name: "Meine Knoten", Type: "table", Value: "CloudNode"}); err != nil {
			t.Fatal(err)
		}
		w.user(t, "root", admin)
		s := w.login(t, "root")
		if _, err := w.Menus.Seed(ctx); err != nil {
			t.Fatal(err)
		}
		if m, err := w.Menus.ByCode(ctx, "CloudNode"); err != nil || m.Name != "Meine Knoten" || m.ParentCode != "" {
			t.Errorf("an existing row became %+v, %v", m, err)
		}
		if m, err := w.Menus.ByCode(ctx, access.CodeNodeLog); err != nil || m.ParentCode != "CloudNode" {
			t.Errorf("a new row is %+v, %v; want it below the existing one", m, err)
		}
		if now, _, err := w.Sessions.Get(ctx, s.Token); err != nil || !now.HoldsMenu(access.CodeNodeLog) {
			t.Errorf("an admin's session did not hear of the new menus: %v", err)
		}
	})
}

func TestSeedOfManyReplicas(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, err := w.Menus.Seed(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n, err := w.db.Client.Menu.Query().Count(t.Context()); err != nil || n != 66+len(ownSeeds) {
			t.Errorf("%d rows, %v; want %d", n, err, 66+len(ownSeeds))
		}
	})
}

func TestTablesGetTheirButtons(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		made, err := w.Menus.Create(ctx, access.NewMenu{Name: "Customers", Type: "table", Value: "order-service.Customer", Sort: p(5)})
		if err != nil || len(made.Code) != 8 || made.Status != access.MenuOpen || *made.Sort != 5 {
			t.Fatalf("Create = %+v, %v", made, err)
		}
		if _, err := w.Menus.Create(ctx, access.NewMenu{Code: "form", Name: "Form", Type: "form", Value: "order-service.Settings"}); err != nil {
			t.Fatal(err)
		}
		all, err := w.Menus.All(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range all {
			if m.Parent == made.ID {
				got = append(got, m.Name+" "+m.Value)
				if m.Type != "button" || m.ParentCode != made.Code || len(m.Code) != 8 {
					t.Errorf("button %+v", m)
				}
			}
		}
		want := []string{
			"ADD order-service.Customer@ADD", "EDIT order-service.Customer@EDIT", "DELETE order-service.Customer@DELETE",
			"EXPORT order-service.Customer@EXPORT", "IMPORT order-service.Customer@IMPORTABLE", "DETAIL order-service.Customer@VIEW_DETAIL",
		}
		if !slices.Equal(got, want) || len(all) != 10 { // the form has two of its own
			t.Errorf("buttons %v of %d menus, want %v", got, len(all), want)
		}
		if _, err := w.Menus.Update(ctx, made.Code, access.MenuPatch{Value: p("shop.Customer"), By: access.System}); err != nil {
			t.Fatal(err)
		}
		renamed, err := w.db.Client.Menu.Query().Where(menu.ParentMenuID(made.ID)).Order(menu.BySort()).Select(menu.FieldValue).Strings(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			want[i] = "shop.Customer@" + strings.SplitN(want[i], "@", 2)[1]
		}
		if !slices.Equal(renamed, want) {
			t.Errorf("after a new value the buttons are %v, want %v", renamed, want)
		}
		if err := w.Menus.Delete(ctx, made.Code); err != nil {
			t.Fatal(err)
		}
		if n, err := w.db.Client.Menu.Query().Count(ctx); err != nil || n != 3 {
			t.Errorf("%d menus left, %v; want the form and its buttons only", n, err)
		}
	})
}

func TestMenusAreChecked(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.menu(t, "link", "here")
		for name, c := range map[string]struct {
			menu  access.NewMenu
			code  fault.Code
			field string
		}{
			"no name":             {access.NewMenu{Code: "x"}, fault.Invalid, "name"},
			"type without value":  {access.NewMenu{Code: "x", Name: "x", Type: "link"}, fault.Invalid, "value"},
			"value without type":  {access.NewMenu{Code: "x", Name: "x", Value: "link"}, fault.Invalid, "value"},
			"unknown parent":      {access.NewMenu{Code: "x", Name: "x", Parent: "ghost"}, fault.Invalid, "parent"},
			"unknown status":      {access.NewMenu{Code: "x", Name: "x", Status: 4}, fault.Invalid, "status"},
			"code with a blank":   {access.NewMenu{Code: "x y", Name: "x"}, fault.Invalid, "code"},
			"code twice":          {access.NewMenu{Code: "here", Name: "x"}, fault.Conflict, "code"},
			"value too long":      {access.NewMenu{Code: "x", Name: "x", Type: "link", Value: strings.Repeat("x", 256)}, fault.Invalid, "value"},
			"param with controls": {access.NewMenu{Code: "x", Name: "x", Param: "\x01"}, fault.Invalid, "param"},
		} {
			_, err := w.Menus.Create(ctx, c.menu)
			wants(t, name, err, c.code)
			if fault.Of(err) != nil && fault.Of(err).Fields[c.field] == "" {
				t.Errorf("%s: fields %v, want one at %s", name, fault.Of(err).Fields, c.field)
			}
		}
		_, err := w.Menus.Update(ctx, "ghost", access.MenuPatch{By: access.System})
		wants(t, "Update of an unknown menu", err, fault.NotFound)
		wants(t, "Delete of an unknown menu", w.Menus.Delete(ctx, "ghost"), fault.NotFound)
	})
}

func TestMenuTree(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for _, c := range [][2]string{{"a", ""}, {"b", "a"}, {"c", "b"}} {
			if _, err := w.Menus.Create(ctx, access.NewMenu{Code: c[0], Name: c[0], Parent: c[1]}); err != nil {
				t.Fatal(err)
			}
		}
		for _, below := range []string{"a", "b", "c"} {
			_, err := w.Menus.Update(ctx, "a", access.MenuPatch{Parent: p(below), By: access.System})
			wants(t, "a below "+below, err, fault.Invalid)
		}
		wants(t, "Delete with others below", w.Menus.Delete(ctx, "b"), fault.Conflict)
		if m, err := w.Menus.Update(ctx, "c", access.MenuPatch{Parent: p("a"), Icon: p("fa fa-x"), Param: p("q"), Sort: p(3), Name: p("C"), By: access.System}); err != nil ||
			m.ParentCode != "a" || m.Icon != "fa fa-x" || m.Param != "q" || *m.Sort != 3 || m.Name != "C" {
			t.Errorf("Update = %+v, %v", m, err)
		}
		if m, err := w.Menus.Update(ctx, "c", access.MenuPatch{Parent: p(""), By: access.System}); err != nil || m.Parent != 0 {
			t.Errorf("moved to the top: %+v, %v", m, err)
		}
		if err := w.Menus.Delete(ctx, "b"); err != nil {
			t.Error(err)
		}
	})
}

func TestMenusCannotBeTurnedIntoRights(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.menu(t, "button", "mine")
		w.menu(t, "button", "mine.too")
		w.menu(t, "button", "EruptUser@EDIT")
		w.role(t, "mine", "mine", "mine.too")
		w.user(t, "helper", withRoles("mine"))
		helper := access.Actor{Account: "helper"}
		for name, by := range map[string]access.Actor{"by a non-admin": helper, "by nobody": {}} {
			_, err := w.Menus.Update(ctx, "mine", access.MenuPatch{Value: p("eruptuser@edit"), By: by})
			wants(t, "a held menu becomes a right "+name, err, fault.Forbidden)
		}
		if _, err := w.Menus.Update(ctx, "mine", access.MenuPatch{Value: p("MINE?x=1"), Name: p("n"), By: helper}); err != nil {
			t.Errorf("a value that means the same: %v", err)
		}
		if _, err := w.Menus.Update(ctx, "mine", access.MenuPatch{Value: p("mine.too"), By: helper}); err != nil {
			t.Errorf("a value that he holds: %v", err)
		}
	})
}

func TestSessionsFollowMenus(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.menu(t, "tree", "shop.Region")
		w.role(t, "sales", "shop.Region")
		w.user(t, "lin", withRoles("sales"))
		w.user(t, "root", admin)
		lin, root := w.login(t, "lin"), w.login(t, "root")
		status := func(s access.MenuStatus) {
			t.Helper()
			if _, err := w.Menus.Update(ctx, "shop.Region", access.MenuPatch{Status: &s, By: access.System}); err != nil {
				t.Fatal(err)
			}
		}
		listed := func() bool {
			now, _, err := w.Sessions.Get(ctx, lin.Token)
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(now.Menus, func(m access.Menu) bool { return m.Value == "shop.Region" })
		}
		if !w.holds(t, lin.Token, "shop.region") || !listed() {
			t.Error("an open menu must be held and listed")
		}
		status(access.MenuHidden)
		if !w.holds(t, lin.Token, "shop.region") || listed() {
			t.Error("a hidden menu must be held and not listed")
		}
		status(access.MenuDisabled)
		if w.holds(t, lin.Token, "shop.region") || listed() {
			t.Error("a disabled menu must have no effect at all")
		}
		status(access.MenuOpen)
		if _, err := w.Menus.Update(ctx, "shop.Region", access.MenuPatch{Value: p("shop.Area?x=1"), By: access.System}); err != nil {
			t.Fatal(err)
		}
		if w.holds(t, lin.Token, "shop.region") || !w.holds(t, lin.Token, "SHOP.Area") {
			t.Error("a session must follow a menu's new value, without its query")
		}
		if _, err := w.Menus.Create(ctx, access.NewMenu{Name: "New", Type: "button", Value: "new.right"}); err != nil {
			t.Fatal(err)
		}
		if now, _, _ := w.Sessions.Get(ctx, root.Token); !now.HoldsMenu("new.right") {
			t.Error("an admin's session must get a new menu")
		}
		if err := w.Menus.Delete(ctx, "shop.Region"); err != nil {
			t.Fatal(err)
		}
		if w.holds(t, lin.Token, "shop.area") {
			t.Error("a deleted menu is still held")
		}
	})
}
