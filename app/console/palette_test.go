package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
)

// hits asks for the palette's options and returns "kind: title" of each.
func (s *site) hits(account, query string, recent ...string) []string {
	s.t.Helper()
	a := s.as(account, http.MethodGet, "/console/palette?"+url.Values{"q": {query}, "recent": recent}.Encode(), nil, htmx(""))
	if a.Code != 200 {
		s.t.Fatalf("palette %q answered %d %s", query, a.Code, a.body)
	}
	out := []string{}
	doc := parse(s.t, a.body)
	doc.Find("[role=group]").Each(func(_ int, g *goquery.Selection) {
		kind, _ := g.Attr("data-kind")
		g.Find("[role=option] .hit").Each(func(_ int, o *goquery.Selection) {
			out = append(out, kind+": "+strings.Join(strings.Fields(o.Text()), " "))
		})
	})
	return out
}

// without leaves out the hits of a kind.
func without(kind string, hits []string) []string {
	out := []string{}
	for _, h := range hits {
		if !strings.HasPrefix(h, kind+":") {
			out = append(out, h)
		}
	}
	return out
}

func TestPaletteFindsEveryKind(t *testing.T) { // U70
	s := newSite(t, commerce())
	tests := map[string]struct {
		query string
		want  []string
	}{
		"a name before those that only contain it": {"promo", []string{"node: promo-engine", "node: coupon-v1", "instance: http://10.20.6.1:8080", "group: Promotions"}},
		"an address":                    {"10.20.7.11", []string{"instance: http://10.20.7.11:8080"}},
		"an instance's id":              {"i-3", []string{"instance: http://10.20.4.13:8080"}},
		"a display name":                {"general", []string{"node: ledger"}},
		"who is on duty":                {"chen.yu", []string{"node: payment-gateway"}},
		"several words, in any order":   {"order 4.14", []string{"instance: http://10.20.4.14:8080"}},
		"a user":                        {"lin.wei", []string{"user: lin.wei"}},
		"nothing":                       {"zzz", []string{}},
		"upper case":                    {"LEDGER", []string{"node: ledger", "instance: http://10.20.7.21:8080"}},
		"more words than are looked at": {strings.Repeat("e ", 500), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := without("action", s.hits("admin", tt.query))
			if diff := cmp.Diff(tt.want, got); tt.want != nil && diff != "" {
				t.Errorf("%q finds (-want +got):\n%s", tt.query, diff)
			}
		})
	}
}

func TestPaletteActions(t *testing.T) { // U70
	w := commerce()
	w.login("viewer", false, "CloudNode")
	w.login("keeper", false, "CloudNode", "cloud_node_manager_permission", "erupt_cloud_node_log")
	s := newSite(t, w)
	if got := s.hits("admin", "hold order"); !cmp.Equal(got, []string{"action: Hold instances of order-service"}) {
		t.Errorf("hold order finds %v", got)
	}
	if got := without("node", s.hits("keeper", "> ledger")); !cmp.Equal(got, []string{"action: Open the log of ledger", "action: Hold instances of ledger", "action: Drain instances of ledger"}) {
		t.Errorf("> ledger offers a keeper %v", got)
	}
	if got := s.hits("viewer", "> ledger"); len(got) != 0 {
		t.Errorf("> ledger offers a viewer %v", got)
	}
	want := []string{"action: Go to nodes", "action: Go to pages", "action: Go to my account", "action: Change the theme", "action: Switch to Chinese", "action: Show the keyboard shortcuts", "action: Sign out"}
	if got := s.hits("viewer", ""); !cmp.Equal(got, want) {
		t.Errorf("an empty search offers a viewer %v, want %v", got, want)
	}
	if got := s.hits("viewer", "退出"); !cmp.Equal(got, []string{"action: Sign out"}) {
		t.Errorf("in the other language: %v", got)
	}
}

func TestPaletteShowsWhatWasUsedLastFirst(t *testing.T) { // U70
	w := commerce()
	w.login("viewer", false, "CloudNode")
	s := newSite(t, w)
	recent := []string{"/console/nodes/ledger", "/console/users/lin.wei", "/console/nodes/gone", "javascript:alert(1)", "/console/nodes/cart-service"}
	if got := without("action", s.hits("admin", "", recent...)); !cmp.Equal(got, []string{"recent: ledger", "recent: cart-service"}) {
		t.Errorf("an empty search begins with %v", got)
	}
	if got := s.hits("admin", "service", "/console/nodes/order-service"); got[0] != "node: order-service" || got[1] != "node: cart-service" {
		t.Errorf("the node that was open last is not the first: %v", got)
	}
	w.login("nobody", false)
	if got := without("action", s.hits("nobody", "", recent...)); len(got) != 0 {
		t.Errorf("a viewer without the right is told %v", got)
	}
}

func TestSearchShowsOnlyWhatTheViewerMaySee(t *testing.T) { // D21
	w := commerce()
	for i, n := range w.nodes {
		for _, g := range w.groups {
			if g.Code == n.Group {
				w.nodes[i].GroupID = g.ID
			}
		}
	}
	w.login("shop", false, "CloudNode", "cloud_node_manager_permission")
	in := w.sessions["shop"]
	in.Scopes = map[string][]int64{"cloudnode": {2}, "cloud_node_manager_permission": {3}} // commerce; promotions below it
	w.sessions["shop"] = in
	w.login("nobody", false)
	s := newSite(t, w)
	if got := without("action", s.hits("shop", "e")); cmp.Diff(got, without("instance", got)) == "" || strings.Contains(fmt.Sprint(got), "payment") || strings.Contains(fmt.Sprint(got), "10.20.7.") {
		t.Errorf("finds %v", got)
	}
	if got := s.hits("shop", "ledger"); len(got) != 0 {
		t.Errorf("a node of another group: %v", got)
	}
	if got := without("node", s.hits("shop", "> hold")); len(got) != 0 {
		t.Errorf("without a node's name: %v", got)
	}
	if got := s.hits("shop", "hold e"); !cmp.Equal(got, []string{"action: Hold instances of promo-engine"}) {
		t.Errorf("may hold in one group only, is offered %v", got)
	}
	for _, q := range []string{"ledger", "order", "lin.wei", "10.20", "Commerce"} {
		if got := without("action", s.hits("nobody", q)); len(got) != 0 {
			t.Errorf("without any right %q finds %v", q, got)
		}
	}
}

func TestSearchPage(t *testing.T) { // U70, U80
	s := newSite(t, commerce())
	doc := parse(t, s.get("/console/search?q=order").body)
	if got := doc.Find("[data-kind=node] a.item").First(); got.Text() == "" || got.AttrOr("href", "") != "/console/nodes/order-service" || got.Find(".hit mark").Text() != "order" {
		t.Errorf("the first node is %q", got.Text())
	}
	if doc.Find("button[data-run]").Length() != 0 || doc.Find(`[data-kind=action] a[href="/console/nodes/order-service/config"]`).Length() != 1 {
		t.Error("the page must offer links only, those of actions too")
	}
	if got := doc.Find("#search-q").AttrOr("value", ""); got != "order" {
		t.Errorf("the box holds %q", got)
	}
	if doc := parse(t, s.get("/console/search?q=zzz").body); doc.Find("[data-testid=empty]").Length() != 1 {
		t.Error("nothing is said where nothing was found")
	}
	if a := s.get("/console/search"); a.Code != 200 || parse(t, a.body).Find("[data-testid=hit]").Length() != 0 {
		t.Errorf("an empty search answered %d with hits", a.Code)
	}
	a := s.get("/console/search?q=ledger", func(r *http.Request) { r.Header.Set("Accept", "application/json") })
	var got struct {
		Query string
		Hits  []searchHit
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		t.Fatal(err)
	}
	want := []searchHit{{Kind: "node", Title: "ledger", State: "up", Note: "General ledger", URL: "/console/nodes/ledger"}, {Kind: "instance", Title: "http://10.20.7.21:8080", Note: "ledger, ledger-1", URL: "/console/nodes/ledger/instance?id=ledger-1"}}
	if diff := cmp.Diff(want, got.Hits); diff != "" || got.Query != "ledger" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

// BenchmarkPalette guards what each pressed key costs with a large fleet: budget 30 ms for 2,000 nodes.
func BenchmarkPalette(b *testing.B) {
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
	w.table.Replace(all, 1, false)
	s := newSite(b, w)
	cookie := s.cookie("admin")
	b.ReportAllocs()
	for b.Loop() {
		if a := s.as("", http.MethodGet, "/console/palette?q=svc", nil, func(r *http.Request) { r.AddCookie(cookie) }); a.Code != 200 {
			b.Fatal(a.Code)
		}
	}
}
