package e2e

import (
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// TestAClerkGetsAPage: F8, F14. An admin offers a node's page as a menu with one click, a role carries it and one of its
// rights, and who has the role may do exactly that.
func TestAClerkGetsAPage(t *testing.T) {
	s := serve(t, nil)
	addr := freeAddr(t)
	goNode(t, s, "orders", s.node("orders"), addr, "")
	s.awaitInstances("orders", 1, 20*time.Second)
	if status, body := offer(t, s, "orders.Customer"); status != http.StatusSeeOther {
		t.Fatalf("offering answered %d %.300s", status, body)
	}
	type menu struct{ Code, Name, Type, Value, Parent string }
	var page menu
	s.must(http.MethodGet, "/api/v1/menus/orders.Customer", nil, http.StatusOK, &page)
	if page.Name != "Customers" || page.Type != "table" || page.Value != "orders.Customer" || page.Parent == "" {
		t.Fatalf("menu %+v", page)
	}
	var all struct{ Items []menu }
	s.must(http.MethodGet, "/api/v1/menus?pageSize=500", nil, http.StatusOK, &all)
	menus := []string{page.Code}
	for _, m := range all.Items {
		if m.Value == "orders.Customer@EDIT" {
			menus = append(menus, m.Code)
		}
	}
	if len(menus) != 2 {
		t.Fatalf("the page has no right to edit: %+v", all.Items)
	}
	s.must(http.MethodPost, "/api/v1/roles", map[string]any{"code": "clerks", "name": "Clerks", "menus": menus}, http.StatusCreated, nil)
	s.must(http.MethodPost, "/api/v1/users", map[string]any{"account": clerk, "name": "Clerk", "password": staffPassword, "roles": []string{"clerks"}}, http.StatusCreated, nil)
	token := s.login(clerk, staffPassword)
	for _, c := range []struct {
		what, method, path, page string
		body                     any
		want                     int
	}{
		{"query", http.MethodPost, "/erupt-api/data/table/orders.Customer", "orders.Customer", map[string]any{"pageIndex": 1, "pageSize": 10}, 200},
		{"edit", http.MethodPost, "/erupt-api/data/modify/orders.Customer/update", "orders.Customer", map[string]any{"id": 1, "name": "changed", "balance": 5}, 200},
		{"delete", http.MethodPost, "/erupt-api/data/modify/orders.Customer/delete", "orders.Customer", []string{"1"}, 403},
		{"another page", http.MethodPost, "/erupt-api/data/table/orders.Stream", "orders.Stream", map[string]any{"pageIndex": 1, "pageSize": 10}, 403},
	} {
		resp, raw := s.call(c.method, c.path, c.body, http.Header{"Token": {token}, "Erupt": {c.page}})
		if resp.StatusCode != c.want {
			t.Errorf("%s answered %d %.300s, want %d", c.what, resp.StatusCode, raw, c.want)
		}
	}
}

// offer presses the button on the menu of pages, as a browser without script does.
func offer(t *testing.T, s *server, page string) (status int, body []byte) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	a := &arena{server: s, t: t, client: client, fired: new(atomic.Int64)}
	cookie := a.enter(admin, adminPassword)
	got := a.fire(shot{
		method: http.MethodPost, target: "/console/pages/" + page + "/offer", form: url.Values{"back": {"/console/pages"}},
		header: http.Header{"Cookie": {cookie}},
	})
	return got.status, got.body
}
