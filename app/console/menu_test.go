package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/eruptapi"
	"eruptcloud/app/fault"
)

func menuValues(change ...string) url.Values {
	v := url.Values{"name": {"Customers"}, "type": {"table"}, "value": {"orders.Customer"}, "parent": {""}, "icon": {""}, "status": {"open"}, "sort": {""}}
	for i := 0; i < len(change); i += 2 {
		v.Set(change[i], change[i+1])
	}
	return v
}

// lastEntry is the newest line of the trail.
func (s *site) lastEntry() access.Entry {
	if len(s.audit) == 0 {
		return access.Entry{}
	}
	return s.audit[len(s.audit)-1]
}

func TestMenusAreListedAsATree(t *testing.T) { // F8
	s := newSite(t, commerce())
	d := document(t, s.get("/console/menus").body)
	rows := texts(d.Find("[data-testid=menu-row]"))
	if len(rows) != 3 || !strings.HasPrefix(rows[0], "Micronode ManagementFolder") || !strings.Contains(rows[1], "CloudNode1Shown") || !strings.Contains(rows[2], "Rightcloud_access_token_permission") {
		t.Errorf("rows %q", rows)
	}
	if d.Find("[data-code=token] td.d2").Length() != 1 || d.Find(`.side [aria-current=page][href="/console/menus"]`).Length() != 1 {
		t.Error("a right is not nested, or the side list does not name the page")
	}
}

func TestMenuForms(t *testing.T) {
	s := newSite(t, commerce())
	got := s.post("/console/menus", menuValues("code", "cust", "status", "hidden", "sort", "7"))
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/console/menus?said=created" {
		t.Fatalf("creating answered %d to %s", got.Code, got.Header().Get("Location"))
	}
	m := s.menus[3]
	if m.Code != "cust" || m.Status != access.MenuHidden || m.Sort == nil || *m.Sort != 7 || m.Value != "orders.Customer" {
		t.Errorf("created %+v", m)
	}
	if e := s.lastEntry(); e.Action != "menu.create" || e.Subject != "cust" || !e.OK {
		t.Errorf("trail %+v", e)
	}
	form := document(t, s.get("/console/menus/cust").body).Find("[data-testid=menu-form]")
	v := formValues(form)
	if v.Get("status") != "hidden" || v.Get("sort") != "7" || v.Get("type") != "table" {
		t.Errorf("the form holds %v", v)
	}
	v.Set("sort", "")
	v.Set("name", "Buyers")
	if got := s.post("/console/menus/cust", v); got.Code != http.StatusSeeOther || s.menus[3].Name != "Buyers" || s.menus[3].Sort != nil {
		t.Errorf("saving answered %d: %+v", got.Code, s.menus[3])
	}
	if got := s.post("/console/menus/cust", url.Values{"name": {"x"}}); got.Code != http.StatusBadRequest || s.menus[3].Name != "Buyers" {
		t.Errorf("a form without its fields answered %d: %+v", got.Code, s.menus[3])
	}
	if got := s.post("/console/menus/cust/delete", nil); got.Code != http.StatusSeeOther || len(s.menus) != 3 || s.lastEntry().Action != "menu.delete" {
		t.Errorf("deleting answered %d, %d menus left", got.Code, len(s.menus))
	}
	if got := s.get("/console/menus/nosuch"); got.Code != http.StatusNotFound {
		t.Errorf("a menu that is not there answered %d", got.Code)
	}
}

func TestMenuFormShowsWhatIsWrongAtItsField(t *testing.T) {
	s := newSite(t, commerce())
	for name, c := range map[string]struct{ field, value string }{"order": {"sort", "x"}, "status": {"status", "odd"}} {
		got := s.post("/console/menus", menuValues(c.field, c.value))
		if got.Code != http.StatusUnprocessableEntity || document(t, got.body).Find("#e-"+c.field).Length() != 1 || s.lastEntry().OK {
			t.Errorf("%s: answered %d without a message at the field", name, got.Code)
		}
	}
	s.fail = fault.New(fault.Invalid, "some fields need correction").Field("value", "is needed exactly if there is a type").Field("parent", "lies below this menu")
	d := document(t, s.post("/console/menus/CloudNode", menuValues()).body)
	if d.Find("#e-value").Length() != 1 || d.Find("#e-parent").Length() != 1 || d.Find(`#f-value[value="orders.Customer"]`).Length() != 1 {
		t.Error("the form lost messages or what was typed")
	}
}

// A menu may not be moved below itself: what lies below it is not offered.
func TestMenuCannotBePutBelowItself(t *testing.T) {
	s := newSite(t, commerce())
	for code, want := range map[string]string{"$NodeManager": "", "token": "$NodeManager CloudNode", "CloudNode": "$NodeManager"} {
		var have []string
		d := document(t, s.get("/console/menus/"+url.PathEscape(code)).body)
		for _, o := range d.Find("#f-parent option").EachIter() {
			if v, _ := o.Attr("value"); v != "" {
				have = append(have, v)
			}
		}
		if got := strings.Join(have, " "); got != want {
			t.Errorf("%s may lie below %q, want %q", code, got, want)
		}
	}
}

func TestMenuRights(t *testing.T) {
	calls := map[string]string{
		"GET /console/menus": "EruptMenu", "GET /console/menus/new": "EruptMenu@ADD", "POST /console/menus": "EruptMenu@ADD", "GET /console/menus/CloudNode": "EruptMenu",
		"POST /console/menus/CloudNode": "EruptMenu@EDIT", "POST /console/menus/CloudNode/delete": "EruptMenu@DELETE",
		"POST /console/pages/shop.Customer/offer": "EruptMenu@ADD",
	}
	for call, right := range calls {
		method, path, _ := strings.Cut(call, " ")
		for _, code := range []string{"EruptMenu", "EruptMenu@ADD", "EruptMenu@EDIT", "EruptMenu@DELETE", "EruptRole"} {
			w, f := warehouse(t)
			w.login("clerk", false, code)
			s := newPageSite(t, w, f)
			var form url.Values
			if method == http.MethodPost {
				form = menuValues()
			}
			if got := s.as("clerk", method, path, form); (got.Code != http.StatusForbidden) != (code == right) {
				t.Errorf("%s with %s answered %d, want it open exactly for %s", call, code, got.Code, right)
			}
		}
	}
}

// F14: one click makes a page a menu; then it says so and leads there.
func TestOfferAPageAsMenu(t *testing.T) {
	w, f := warehouse(t)
	s := newPageSite(t, w, f)
	const offer = `form[data-testid=offer][action="/console/pages/shop.Customer/offer"]`
	for _, path := range []string{"/console/pages", "/console/nodes/shop/pages"} {
		if document(t, s.get(path).body).Find(offer).Length() != 1 {
			t.Errorf("%s does not offer the page", path)
		}
	}
	got := s.post("/console/pages/shop.Customer/offer", url.Values{"back": {"/console/nodes/shop/pages"}})
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/console/nodes/shop/pages?said=offered" {
		t.Fatalf("answered %d to %s", got.Code, got.Header().Get("Location"))
	}
	m := s.menus[len(s.menus)-1]
	if m.Value != "shop.Customer" || m.Name == "" {
		t.Errorf("made %+v", m)
	}
	if e := s.lastEntry(); e.Action != "menu.create" || e.Subject != "shop.Customer" {
		t.Errorf("trail %+v", e)
	}
	for _, path := range []string{"/console/pages", "/console/nodes/shop/pages"} {
		d := document(t, s.get(path).body)
		if d.Find(offer).Length() != 0 || d.Find(`[data-testid=offered][href="/console/menus/shop.Customer"]`).Length() != 1 {
			t.Errorf("%s does not lead to the menu", path)
		}
	}
	for _, page := range []string{"shop.Nosuch", "nosuch.Customer"} {
		if got := s.post("/console/pages/"+page+"/offer", nil); got.Code != http.StatusNotFound {
			t.Errorf("%s answered %d, want 404", page, got.Code)
		}
	}
	w.login("clerk", false, "CloudNode")
	if document(t, s.as("clerk", http.MethodGet, "/console/nodes/shop/pages", nil).body).Find("[data-testid=offer], [data-testid=offered]").Length() != 0 {
		t.Error("who may do nothing about menus sees them")
	}
}

// The links that the other front end shows lead to pages of this one.
func TestPagesOfTheServerExist(t *testing.T) {
	s := newSite(t, office(t))
	for code, path := range eruptapi.Pages {
		if got := s.get(path); got.Code != http.StatusOK {
			t.Errorf("%s leads to %s, which answers %d", code, path, got.Code)
		}
	}
}
