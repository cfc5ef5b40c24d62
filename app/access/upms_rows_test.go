package access_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/ent/menu"
)

// What a first start of 1.12 makes is what ours makes, but for its names, for the button that 2.0 adds to the operation log
// and for the groups, which 2.0 hides (erupt-wire 5.5).
func TestSeedKnowsTheMenusOf112(t *testing.T) {
	raw, err := os.ReadFile("testdata/menus-1.12.json")
	if err != nil {
		t.Fatal(err)
	}
	var old []struct {
		ID          int64
		Code        string
		Type, Value *string
		Sort        int
		Status      int
		Parent      *int64 `json:"parent_menu_id"`
	}
	if err := json.Unmarshal(raw, &old); err != nil {
		t.Fatal(err)
	}
	eachWorld(t, func(t *testing.T, w *world) {
		if _, err := w.Menus.Seed(t.Context()); err != nil {
			t.Fatal(err)
		}
		all, err := w.Menus.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ours := map[string]access.Menu{}
		for _, m := range all {
			ours[m.Code] = m
		}
		codes := map[int64]string{}
		for _, r := range old {
			codes[r.ID] = r.Code
		}
		for _, r := range old {
			m, ok := ours[r.Code]
			delete(ours, r.Code)
			parent := ""
			if r.Parent != nil {
				parent = codes[*r.Parent]
			}
			text := func(s *string) string {
				if s == nil {
					return ""
				}
				return *s
			}
			status := access.MenuStatus(r.Status)
			if r.Code == access.CodeGroups {
				status = access.MenuHidden
			}
			if !ok || m.Type != text(r.Type) || m.Value != text(r.Value) || m.Sort == nil || *m.Sort != r.Sort || m.Status != status || m.ParentCode != parent {
				t.Errorf("%s is %+v, want %+v", r.Code, m, r)
			}
		}
		for _, code := range ownSeeds {
			delete(ours, code)
		}
		if _, more := ours["EruptOperateLog@EXPORT"]; !more || len(ours) != 1 {
			t.Errorf("besides those of 1.12: %v", ours)
		}
	})
}

func TestFormsGetTwoButtons(t *testing.T) { // erupt-wire 5.3
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.menu(t, "form", "shop.Settings")
		buttons := func() string {
			values := w.db.Client.Menu.Query().Where(menu.Type("button")).Order(menu.BySort()).Select(menu.FieldValue).StringsX(ctx)
			return strings.Join(values, " ")
		}
		if got := buttons(); got != "shop.Settings@ADD shop.Settings@EDIT" {
			t.Errorf("buttons of a form: %s", got)
		}
		if _, err := w.Menus.Update(ctx, "shop.Settings", access.MenuPatch{Value: p("shop.Options"), By: access.System}); err != nil {
			t.Fatal(err)
		}
		if got := buttons(); got != "shop.Options@ADD shop.Options@EDIT" {
			t.Errorf("after another value: %s", got)
		}
		all, err := w.Menus.All(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := access.PageMenus(all)["shop.options"]; !ok {
			t.Error("a form is no page that a menu opens")
		}
		for kind, want := range map[string]int{"tree": 6, "form": 2, "": 6} {
			m, added, err := w.Menus.Offer(ctx, access.Page{Node: "shop", Erupt: "X" + kind, Type: kind})
			if err != nil || !added {
				t.Fatalf("offer a %s: %v", kind, err)
			}
			if n := w.db.Client.Menu.Query().Where(menu.ParentMenuID(m.ID)).CountX(ctx); n != want || kind != "" && m.Type != kind {
				t.Errorf("a %q gets type %s and %d buttons, want %d", kind, m.Type, n, want)
			}
			if _, added, err = w.Menus.Offer(ctx, access.Page{Node: "SHOP", Erupt: "x" + strings.ToUpper(kind)}); err != nil || added {
				t.Errorf("offered again: %v", err)
			}
		}
	})
}

// A Java server writes all that a request held into the operation log; we show it without tokens and passwords.
func TestJavaRowsAreShownMasked(t *testing.T) { // erupt-wire 6.8
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for _, sql := range []string{
			`INSERT INTO e_upms_operate_log (id, operate_user, api_name, req_addr, req_param, status, create_time) VALUES
				(1, 'Lin', 'DELETES | Customer', 'http://h/erupt-api/data/modify/x?_token=SECRET1&a=1', 'ids=[104, 105]
_token=[SECRET2]
', NULL, '2026-11-29 20:00:00')`,
			`INSERT INTO e_upms_operate_log (id, api_name, req_param, before_data) VALUES (2, 'UPDATE | User', '{"password":"SECRET3","name":"x"}', '{"pwd":"SECRET4"}')`,
			`INSERT INTO e_upms_operate_log (id) VALUES (3)`,
		} {
			if _, err := w.db.SQL.ExecContext(ctx, sql); err != nil {
				t.Fatal(err)
			}
		}
		page, err := w.Audit.Search(ctx, access.AuditFilter{}, "")
		if err != nil || len(page.Entries) != 3 {
			t.Fatalf("Search = %+v, %v; want all three", page.Entries, err)
		}
		text, err := json.Marshal(page.Entries)
		if err != nil || strings.Contains(string(text), "SECRET") || !strings.Contains(string(text), "ids=[104, 105]") || !strings.Contains(string(text), `a=1`) {
			t.Errorf("shown: %s, %v", text, err)
		}
		if found, n, err := w.Audit.List(ctx, access.AuditFilter{Outcome: "failed"}); err != nil || n != 3 && n != 1 || !slices.ContainsFunc(found, func(e access.Entry) bool { return e.ID == 1 }) {
			t.Errorf("failed: %+v, %v", found, err)
		}
	})
}
