package console

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
)

func includes(s, part string) bool { return strings.Contains(s, part) }

// parse reads HTML.
func parse(t testing.TB, body string) *goquery.Document {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// rows are the names of the nodes in a list, in order.
func rows(t testing.TB, body string) []string {
	t.Helper()
	var out []string
	parse(t, body).Find("[data-testid=node-row]").Each(func(_ int, s *goquery.Selection) { out = append(out, s.AttrOr("data-node", "")) })
	return out
}

func text1(doc *goquery.Document, selector string) string {
	return strings.Join(strings.Fields(doc.Find(selector).First().Text()), " ")
}

func TestNodeListShowsTheWorstFirst(t *testing.T) { // U10
	s := newSite(t, commerce())
	body := s.get("/console/nodes").must(t, 200)
	doc := parse(t, body)
	if got, want := text1(doc, "[data-testid=headline]"), "One node is offline, one is held; 1 of 2 instances of cart-service is draining. Start with legacy-mall."; got != want {
		t.Errorf("headline = %q, want %q", got, want)
	}
	want := []string{"legacy-mall", "cart-service", "order-service", "promo-engine", "coupon-v1", "ledger", "payment-gateway", "carrier-sf"}
	if got := rows(t, body); !slices.Equal(got, want) {
		t.Errorf("rows = %v, want %v", got, want)
	}
	flat := rows(t, s.get("/console/nodes?order=worst").must(t, 200))
	if want := []string{"legacy-mall", "promo-engine", "cart-service", "ledger", "order-service", "payment-gateway", "coupon-v1", "carrier-sf"}; !slices.Equal(flat, want) {
		t.Errorf("worst first = %v, want %v", flat, want)
	}
	for selector, want := range map[string]string{
		"#node-order-service .tag.split": "2.3.0 + 2.2.0", "#node-cart-service .says": "1 of 2 draining", "#node-cart-service .bad": "1/2",
		"#node-promo-engine .says": "1 of 1 held by chen.jie: bad disk on mk-07", "#node-ledger .faint": "General ledger",
		"#node-order-service time": "3 s ago", "[data-testid=count-off] b": "1", "[data-testid=count-up] b": "4",
	} {
		if got := text1(doc, selector); got != want {
			t.Errorf("%s = %q, want %q", selector, got, want)
		}
	}
	for _, absent := range []string{"Last 50 probes", "P95", "P50"} {
		if includes(body, absent) {
			t.Errorf("the list shows %q, which nobody measures yet", absent)
		}
	}
}

func TestNodeListFilters(t *testing.T) { // U11
	s := newSite(t, commerce())
	for query, want := range map[string][]string{
		"q=ORDER":                  {"order-service"},
		"q=10.20.7.1":              {"payment-gateway"},
		"q=chen.yu":                {"payment-gateway"},
		"q=i-3":                    {"order-service"},
		"q=commerce+old":           {"legacy-mall"},
		"q=2.2.0":                  {"order-service", "promo-engine"},
		"state=held":               {"promo-engine"},
		"state=held&state=never":   {"promo-engine", "carrier-sf"},
		"group=promo":              {"promo-engine", "coupon-v1"},
		"group=-":                  {"carrier-sf"},
		"version=2.2.0":            {"order-service", "promo-engine"},
		"enabled=0":                {"coupon-v1"},
		"group=payments&q=general": {"ledger"},
		"q=nothing+like+it":        nil,
	} {
		got := rows(t, s.get("/console/nodes?"+query).must(t, 200))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("?%s shows %v, want %v", query, got, want)
		}
	}
	if sub := rows(t, s.get("/console/nodes?group=commerce").must(t, 200)); len(sub) != 5 {
		t.Errorf("?group=commerce shows %v, want also the nodes of the group below it", sub)
	}
	body := s.get("/console/nodes?q=zzz").must(t, 200)
	if !includes(body, `data-testid="no-match"`) || includes(body, `data-testid="empty"`) {
		t.Errorf("nothing that fits must say so and offer a reset, not the empty page (U14)")
	}
}

func TestNodeListAnswersASearchWithAFragment(t *testing.T) { // S78
	s := newSite(t, commerce())
	a := s.get("/console/nodes?q=ledger", htmx("nodes-list"))
	body := a.must(t, 200)
	doc := parse(t, body)
	if includes(body, "<html") || doc.Find("#nodes-list").Length() != 1 || doc.Find(`#nodes-chips[hx-swap-oob=true]`).Length() != 1 || doc.Find("#nodes-head").Length() != 0 {
		t.Errorf("the answer to a search is not the list with its filters:\n%s", body)
	}
	if !slices.Contains(a.Header().Values("Vary"), "HX-Request") || a.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("headers = %v, want Vary: HX-Request and no-store", a.Header())
	}
	// The live script names no target: it gets every part that can change.
	doc = parse(t, s.get("/console/nodes", htmx("")).must(t, 200))
	for _, id := range []string{"#nodes-list", "#nodes-head", "#side-groups", "#nav-nodes"} {
		if doc.Find(id).Length() != 1 {
			t.Errorf("%s is not among the parts for the live script", id)
		}
	}
	if doc.Find("#node-q").Length() != 0 {
		t.Error("the search field must not travel: it may be in use")
	}
}

func TestNodeListPagesAndRemembersTheSize(t *testing.T) { // U14, S73
	w := newWorld()
	for i := range 137 {
		w.node(fleet.Node{Name: fmt.Sprintf("n-%03d", i), Enabled: true})
	}
	s := newSite(t, w)
	if got := rows(t, s.get("/console/nodes").must(t, 200)); len(got) != 50 {
		t.Errorf("a first page has %d rows, want 50", len(got))
	}
	a := s.get("/console/nodes?size=100&page=2")
	if got := rows(t, a.must(t, 200)); len(got) != 37 || got[0] != "n-100" {
		t.Errorf("page 2 of 100 has %d rows from %v, want 37 from n-100", len(got), got)
	}
	cookies := a.Result().Cookies()
	i := slices.IndexFunc(cookies, func(c *http.Cookie) bool { return c.Name == sizeCookie })
	if i < 0 {
		t.Fatal("the size is not remembered")
	}
	with := func(r *http.Request) { r.AddCookie(cookies[i]) }
	if got := rows(t, s.get("/console/nodes", with).must(t, 200)); len(got) != 100 {
		t.Errorf("with the remembered size a page has %d rows, want 100", len(got))
	}
	last := s.get("/console/nodes?page=99").must(t, 200)
	if got := rows(t, last); len(got) != 37 || text1(parse(t, last), ".pager span") != "101–137 of 137" {
		t.Errorf("a page past the end shows %d rows, %q; want the last page", len(got), text1(parse(t, last), ".pager span"))
	}
	for _, junk := range []string{"?page=-1", "?page=x&size=7", "?size=100000", "?state=%00&group=%FF"} {
		s.get("/console/nodes"+junk).must(t, 200)
	}
}

func TestEmptyFleetSaysHowToBegin(t *testing.T) { // U14
	s := newSite(t, newWorld())
	body := s.get("/console/nodes").must(t, 200)
	if !includes(body, `data-testid="empty"`) || !includes(body, "No node has registered yet") || !includes(body, "erupt.cloud-node.nodeName") {
		t.Errorf("an empty fleet shows no way to begin:\n%s", body)
	}
	s.login("guest", false)
	a := s.as("guest", http.MethodGet, "/console/nodes", nil)
	if body := a.must(t, 403); !includes(body, "CloudNode") || !includes(body, "administrator") {
		t.Errorf("without the right the page must name it and say whom to ask:\n%s", body)
	}
}

func TestSideListCountsGroupsWithThoseBelow(t *testing.T) {
	s := newSite(t, commerce())
	side := parse(t, s.get("/console/nodes").must(t, 200)).Find("#side-groups")
	got := map[string]string{}
	side.Find("li > a").Each(func(_ int, a *goquery.Selection) {
		got[strings.TrimSpace(a.Find("span").First().Text())] = strings.Join(strings.Fields(a.Find(".n").Last().Text()), " ")
	})
	for name, want := range map[string]string{"All nodes": "8", "Commerce": "5", "Promotions": "2", "Payments": "2", "No group": "1"} {
		if got[name] != want {
			t.Errorf("side list: %s has %q nodes, want %s (%v)", name, got[name], want, got)
		}
	}
	if n := strings.TrimSpace(side.Find(`a[href$="group=commerce"] .is-down`).Text()); !strings.HasPrefix(n, "2") {
		t.Errorf("Commerce: %q need attention, want 2: one offline, one held below it", n)
	}
}

func TestGroupTreeSurvivesARing(t *testing.T) {
	groups := []fleet.Group{{ID: 1, Code: "a", ParentID: 2}, {ID: 2, Code: "b", ParentID: 1}, {ID: 3, Code: "c", ParentID: 99}}
	tree := newGroupTree(groups)
	if got := tree.order(); len(got) != 3 || tree.holds("x", "a") || !tree.holds("a", "b") {
		t.Errorf("order of a ring = %v", got)
	}
}

// BenchmarkNodeList guards the list of a large fleet: budget 50 ms for 2,000 nodes, the search included (U6, S13).
func BenchmarkNodeList(b *testing.B) {
	w := newWorld()
	var all []registry.Instance
	for i := range 2000 {
		name := fmt.Sprintf("svc-%04d", i)
		w.node(fleet.Node{Name: name, Display: "Service", Group: []string{"a", "b", ""}[i%3], Enabled: true, FirstSeen: now})
		for k := range 3 {
			all = append(all, registry.Instance{
				Key: registry.Key{App: strings.ToUpper(name), ID: fmt.Sprint(k)}, NodeName: name, Origin: registry.OriginNode, Rev: 1,
				Locations: []string{fmt.Sprintf("http://10.%d.%d.%d:80", i/250, i%250, k)}, Status: registry.Up, Node: &registry.NodeDetail{Version: "2.3.0"},
			})
		}
	}
	w.group("a", "A", "")
	w.group("b", "B", "a")
	w.table.Replace(all, 1, false)
	s := newSite(b, w)
	cookie := s.cookie("admin")
	b.ReportAllocs()
	for b.Loop() {
		a := s.as("", http.MethodGet, "/console/nodes?"+url.Values{"q": {"svc 10.3"}}.Encode(), nil, func(r *http.Request) { r.AddCookie(cookie) })
		if a.Code != 200 {
			b.Fatal(a.Code)
		}
	}
}
