package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
)

func TestBulkReportsEachNode(t *testing.T) { // U13
	w := commerce()
	d := w.deepen()
	s := newSite(t, w)
	form := url.Values{"action": {"disable"}, "node": {"ledger", "order-service", "nobody", "ledger"}, "back": {"/console/nodes?state=up"}}
	doc := parse(t, s.post("/console/nodes/bulk", form, htmx("bulk-result")).must(t, 200))
	if got := text1(doc, "[data-testid=bulk-outcome] b"); got != "2 of 3 nodes disabled" {
		t.Errorf("outcome = %q", got)
	}
	if got := text1(doc, "[data-failed=nobody]"); got != `nobody: no node is called "nobody"` {
		t.Errorf("failure = %q", got)
	}
	if w.nodes[1].Enabled || w.nodes[2].Enabled || !w.nodes[0].Enabled {
		t.Error("not exactly the selected nodes were disabled")
	}
	if got := d.kinds(); !slices.Equal(got, []history.Kind{history.Disabled, history.Disabled}) {
		t.Errorf("history = %v", got)
	}
	whole := s.post("/console/nodes/bulk", form).must(t, 200) // without script
	if doc := parse(t, whole); doc.Find(`a[href="/console/nodes?state=up"]`).Length() == 0 || !includes(whole, "<html") {
		t.Error("without script there is no way back to the list")
	}
	for _, bad := range []url.Values{{"action": {"explode"}, "node": {"ledger"}}, {"action": {"hold"}}, {}} {
		s.post("/console/nodes/bulk", bad).must(t, 400)
	}
}

func TestBulkHoldsDrainsAndMoves(t *testing.T) { // U13, D12
	w := commerce()
	d := w.deepen()
	s := newSite(t, w)
	s.post("/console/nodes/bulk", url.Values{"action": {"hold"}, "node": {"order-service", "legacy-mall"}, "reason-hold": {"disk"}}, htmx("")).must(t, 200)
	if len(w.holds) != 5 || w.holds[4].Reason != "disk" || w.holds[4].Account != "admin" {
		t.Errorf("holds = %+v, want the four instances of order-service beside the old one", w.holds)
	}
	s.post("/console/nodes/bulk", url.Values{"action": {"drain"}, "node": {"ledger"}, "reason-drain": {"deploy"}, "reason-hold": {"no"}}, htmx("")).must(t, 200)
	if len(d.drains) != 1 || d.drains[0].Instance != "ledger-1" || d.drains[0].Reason != "deploy" {
		t.Errorf("drains = %+v", d.drains)
	}
	s.post("/console/nodes/bulk", url.Values{"action": {"move"}, "node": {"ledger"}, "group": {"promo"}}, htmx("")).must(t, 200)
	if w.nodes[1].Group != "promo" {
		t.Errorf("ledger is in %q", w.nodes[1].Group)
	}
}

func TestRightsOfSomebodyWithOneGroup(t *testing.T) { // D21
	w := commerce()
	for i := range w.nodes { // the world knows groups by code, rights by id
		for _, g := range w.groups {
			if g.Code == w.nodes[i].Group {
				w.nodes[i].GroupID = g.ID
			}
		}
	}
	w.deepen()
	s := newSite(t, w)
	codes := []string{"CloudNode", "CloudNode@ADD", "CloudNode@EDIT", "CloudNode@DELETE", "CloudNodeGroup", "CloudNodeGroup@EDIT", "cloud_node_manager_permission", "cloud_access_token_permission", "erupt_cloud_node_log"}
	w.limit("li", []int64{2}, codes...) // commerce, and promo below it
	get := func(path string) answer { return s.as("li", http.MethodGet, path, nil) }
	post := func(path string, form url.Values) answer { return s.as("li", http.MethodPost, path, form) }

	body := get("/console/nodes?order=group").must(t, 200)
	got := rows(t, body)
	slices.Sort(got)
	if want := []string{"cart-service", "coupon-v1", "legacy-mall", "order-service", "promo-engine"}; !slices.Equal(got, want) {
		t.Errorf("the list shows %v, want %v", got, want)
	}
	doc := parse(t, body)
	for _, name := range []string{"ledger", "payment-gateway", "carrier-sf", "Payments"} {
		if includes(body, name) {
			t.Errorf("the list names %s", name)
		}
	}
	if n := text1(doc, "#nav-nodes .n:last-child"); n != "5" {
		t.Errorf("the navigation counts %s nodes, want 5", n)
	}
	for _, path := range []string{"/console/nodes/ledger", "/console/nodes/ledger/instances", "/console/nodes/ledger/config", "/console/nodes/ledger/pages", "/console/nodes/ledger/settings", "/console/nodes/ledger/log", "/console/nodes/carrier-sf", "/console/groups/payments", "/console/groups/payments/config"} {
		if body := get(path).must(t, 403); !includes(body, "CloudNode") && !includes(body, "erupt_cloud_node_log") {
			t.Errorf("GET %s does not name the permission that is missing", path)
		}
	}
	for path, form := range map[string]url.Values{
		"/console/nodes/ledger/enabled": {"enabled": {"0"}}, "/console/nodes/ledger/delete": {"confirm": {"ledger"}}, "/console/nodes/ledger/token": {},
		"/console/nodes/ledger/hold": {"instance": {"ledger-1"}}, "/console/nodes/ledger/hold/lift": {"location": {"x"}}, "/console/nodes/ledger/instances/remove": {"instance": {"ledger-1"}},
		"/console/nodes/ledger/settings": {"display": {"x"}}, "/console/nodes/ledger/config": {"config": {"{}"}, "revision": {"0"}, "note": {"n"}}, "/console/nodes/ledger/config/review": {"config": {"{}"}, "revision": {"0"}},
		"/console/groups/payments": {"name": {"x"}},
	} {
		post(path, form).must(t, 403)
	}
	if !w.nodes[1].Enabled || len(w.removed) > 0 || len(w.nodes) != 8 || w.nodes[1].Display == "x" || w.nodes[1].Revision > 0 {
		t.Error("something was done to a node of another group")
	}
	// His own he may change, but not give away, nor take in what is not his.
	post("/console/nodes/promo-engine/settings", url.Values{"display": {"P"}, "group": {"payments"}}).must(t, 403)
	post("/console/nodes/promo-engine/settings", url.Values{"display": {"P"}, "group": {""}}).must(t, 403)
	post("/console/nodes/promo-engine/settings", url.Values{"display": {"P"}, "group": {"commerce"}}).must(t, 303)
	post("/console/nodes", url.Values{"name": {"fresh"}, "group": {"payments"}}).must(t, 403)
	post("/console/nodes", url.Values{"name": {"fresh"}}).must(t, 403)
	outcome := parse(t, s.as("li", http.MethodPost, "/console/nodes/bulk", url.Values{"action": {"disable"}, "node": {"ledger", "cart-service"}}, htmx("")).must(t, 200))
	if text1(outcome, "[data-testid=bulk-outcome] b") != "1 of 2 nodes disabled" || !includes(text1(outcome, "[data-failed=ledger]"), "CloudNode@EDIT") || !w.nodes[1].Enabled {
		t.Errorf("bulk: %s", text1(outcome, "[data-testid=bulk-outcome]"))
	}
	s.as("li", http.MethodPost, "/console/nodes/bulk", url.Values{"action": {"move"}, "node": {"cart-service"}, "group": {"payments"}}, htmx("")).must(t, 403)
	if options := parse(t, get("/console/nodes/promo-engine/settings").must(t, 200)).Find("#f-group option").Length(); options != 2 {
		t.Errorf("the form offers %d groups, want commerce and promo", options)
	}
	groups := parse(t, get("/console/groups").must(t, 200))
	if body := groups.Find("main").Text(); includes(body, "Payments") || !includes(body, "Promotions") {
		t.Errorf("the group tree shows %s", body)
	}
	// Below a group that is not his, his own stays where it is.
	w.limit("mei", []int64{3}, codes...)
	page := parse(t, s.as("mei", http.MethodGet, "/console/groups/promo", nil).must(t, 200))
	if page.Find(`input[name=parent][value="*"]`).Length() != 1 || page.Find("#f-parent").Length() != 0 {
		t.Error("the form offers to move a group out of one that the viewer does not see")
	}
	s.as("mei", http.MethodPost, "/console/groups/promo", url.Values{"name": {"Promo"}, "parent": {"*"}}).must(t, 303)
	s.as("mei", http.MethodPost, "/console/groups/promo", url.Values{"name": {"Promo"}, "parent": {"payments"}}).must(t, 403)
	s.as("mei", http.MethodPost, "/console/groups/promo", url.Values{"name": {"Promo"}, "parent": {""}}).must(t, 403)
	// In whose groups nothing lies, he is told that there is something elsewhere.
	w.limit("wu", []int64{99}, codes...)
	if body := s.as("wu", http.MethodGet, "/console/nodes", nil).must(t, 200); !includes(body, `data-testid="hidden"`) {
		t.Error("an empty view does not say that there are nodes in other groups (U14)")
	}
}

// TestNobodyMovesHimselfRights: who may see tokens in one group only does not get to see others by moving nodes or groups into
// it (D21).
func TestNobodyMovesHimselfRights(t *testing.T) {
	for _, limited := range []bool{true, false} {
		w := commerce()
		for i := range w.nodes {
			for _, g := range w.groups {
				if g.Code == w.nodes[i].Group {
					w.nodes[i].GroupID = g.ID
				}
			}
		}
		w.deepen()
		s := newSite(t, w)
		w.login("li", false, "CloudNode", "CloudNode@EDIT", "CloudNodeGroup", "CloudNodeGroup@EDIT", "cloud_access_token_permission")
		moved := map[string]bool{}
		if limited {
			session := w.sessions["li"]
			session.Scopes = map[string][]int64{"cloud_access_token_permission": {2}} // commerce
			w.sessions["li"] = session
		}
		post := func(path string, form url.Values) answer { return s.as("li", http.MethodPost, path, form) }
		post("/console/nodes/ledger/settings", url.Values{"display": {"L"}, "group": {"commerce"}})
		moved["settings"] = w.nodes[1].Group == "commerce"
		w.nodes[1].Group = "payments"
		post("/console/nodes/bulk", url.Values{"action": {"move"}, "node": {"ledger"}, "group": {"commerce"}})
		moved["bulk"] = w.nodes[1].Group == "commerce"
		moved["group"] = post("/console/groups/payments", url.Values{"name": {"P"}, "parent": {"commerce"}}).Code == 303
		for way, did := range moved {
			if did == limited {
				t.Errorf("limited %t: moved by %s: %t", limited, way, did)
			}
		}
	}
}

func TestGroupsStayCollapsed(t *testing.T) { // U13
	w := newWorld()
	w.group("a", "A", "")
	w.group("b", "B", "")
	for i := range 90 {
		w.node(fleet.Node{Name: fmt.Sprintf("n-%02d", i), Group: []string{"a", "b", ""}[i%3], Enabled: true, FirstSeen: now})
	}
	s := newSite(t, w)
	a := s.get("/console/nodes?order=group&fold=a", htmx("nodes-list"))
	a.must(t, 200)
	var cookies []*http.Cookie
	for _, c := range a.Result().Cookies() {
		if c.Name == shutCookie || c.Name == orderCookie {
			cookies = append(cookies, c)
		}
	}
	with := func(r *http.Request) {
		for _, c := range cookies {
			r.AddCookie(c)
		}
	}
	body := s.get("/console/nodes", with).must(t, 200)
	doc := parse(t, body)
	if doc.Find(`[data-testid=group-a] [data-testid=node-row]`).Length() != 0 || text1(doc, `[data-testid=group-a] [data-testid=attention]`) != "30 need attention" {
		t.Errorf("the collapsed group: %s", text1(doc, "[data-testid=group-a]"))
	}
	if got := rows(t, body); len(got) != 50 || text1(doc, ".pager span") != "1–50 of 60" {
		t.Errorf("%d rows, %q: a collapsed group takes no places", len(got), text1(doc, ".pager span"))
	}
	second := parse(t, s.get("/console/nodes?page=2", with).must(t, 200))
	if second.Find("[data-testid=group-a]").Length() != 0 || second.Find("[data-testid=node-row]").Length() != 10 {
		t.Error("the heading of a collapsed group stands on every page")
	}
	if got := rows(t, s.get("/console/nodes?open=a", with).must(t, 200)); got[0] != "n-00" {
		t.Errorf("opened again, the list begins with %s", got[0])
	}
	flat := rows(t, s.get("/console/nodes").must(t, 200)) // nobody chose: more nodes than fit on a page
	if flat[0] != "n-00" || flat[1] != "n-01" {
		t.Errorf("a large fleet begins with %v, want the worst of all groups", flat[:2])
	}
}

func TestListAsCardsAndForScripts(t *testing.T) { // U12, U80, U81, S94
	s := newSite(t, commerce())
	a := s.get("/console/nodes?view=cards")
	doc := parse(t, a.must(t, 200))
	if doc.Find("ul.node-cards li[data-testid=node-row]").Length() != 8 || doc.Find(`#node-ledger [data-copy="http://10.20.7.21:8080"]`).Length() == 0 {
		t.Error("the cards lack nodes or addresses to copy")
	}
	if !slices.ContainsFunc(a.Result().Cookies(), func(c *http.Cookie) bool { return c.Name == viewCookie && c.Value == "cards" }) {
		t.Error("the layout is not remembered")
	}
	asJSON := func(r *http.Request) { r.Header.Set("Accept", "application/json") }
	var list struct {
		Nodes []struct {
			Name, State   string
			Up, Instances int
		}
		Total  int
		Counts map[string]int
	}
	if err := json.Unmarshal([]byte(s.get("/console/nodes?q=service", asJSON).must(t, 200)), &list); err != nil {
		t.Fatal(err)
	}
	if list.Total != 2 || len(list.Nodes) != 2 || list.Nodes[0].Name != "cart-service" || list.Nodes[0].Up != 1 || list.Nodes[0].Instances != 2 || list.Counts["held"] != 1 {
		t.Errorf("twin = %+v", list)
	}
	file := s.get("/console/nodes.csv?group=payments")
	lines := strings.Split(strings.TrimSpace(file.must(t, 200)), "\r\n")
	if len(lines) != 3 || !includes(lines[1], "ledger,General ledger,Payments,Reachable,,true,1,1,2.3.0,2026-12-01T06:32:02Z") {
		t.Errorf("CSV = %q", lines)
	}
	if got := file.Header().Get("Content-Type"); !includes(got, "text/csv") {
		t.Errorf("type = %q", got)
	}
}
