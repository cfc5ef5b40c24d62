package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
)

// crowd is a fleet of 2,000 nodes in 40 groups, with three instances each.
func crowd() *world {
	w := commerce()
	for i := range 40 {
		w.group(fmt.Sprintf("g-%02d", i), fmt.Sprintf("Department %d", i), "")
	}
	all := w.instances
	for i := range 2000 {
		name := fmt.Sprintf("svc-%04d", i*7919%10000)
		w.node(fleet.Node{Name: name, Display: "Service number " + fmt.Sprint(i), Group: fmt.Sprintf("g-%02d", i%40), Enabled: i%17 != 0, FirstSeen: now})
		for k := range 3 {
			if i%13 == 0 {
				break
			}
			all = append(all, registry.Instance{
				Key: registry.Key{App: strings.ToUpper(name), ID: fmt.Sprintf("i-%d-%04x", k, i*31)}, NodeName: name, Origin: registry.OriginNode, Rev: registry.Seq(len(all) + 1),
				Locations: []string{fmt.Sprintf("http://10.%d.%d.%d:8080", i/250, i%250, k)}, Status: registry.Up, Registered: now, Updated: now,
				Node: &registry.NodeDetail{Version: []string{"2.3.0", "2.2.0", "2.1.1"}[i%3], Erupts: []string{"Customer", "Order"}},
			})
		}
	}
	w.instances = all
	w.table.Replace(all, registry.Seq(len(all)), false)
	return w
}

func TestPagesAreLight(t *testing.T) { // U6
	const first, after = 150 << 10, 30 << 10
	s := newSite(t, crowd())
	gzipped := func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }
	for _, path := range []string{
		"/console/nodes", "/console/nodes?order=worst", "/console/nodes/order-service", "/console/nodes/order-service/instances", "/console/nodes/order-service/config",
		"/console/nodes/order-service/log", "/console/nodes/order-service/settings", "/console/groups", "/console/users", "/console/roles", "/console/menus", "/console/audit",
		"/console/me", "/console/search?q=svc", "/console/login",
	} {
		page := s.get(path, gzipped)
		if page.Code != 200 || page.Header().Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s answered %d, %q", path, page.Code, page.Header().Get("Content-Encoding"))
		}
		total := page.Body.Len()
		parse(t, s.get(path).body).Find("link[href], script[src]").Each(func(_ int, e *goquery.Selection) {
			src := e.AttrOr("src", e.AttrOr("href", ""))
			a := s.get(src, gzipped)
			if a.Code != 200 || !strings.Contains(a.Header().Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %s answered %d, %q; a browser must keep it", path, src, a.Code, a.Header().Get("Cache-Control"))
			}
			total += a.Body.Len()
		})
		t.Logf("%-45s %6d bytes, with all that it loads %7d", path, page.Body.Len(), total)
		if page.Body.Len() > after || total > first {
			t.Errorf("%s weighs %d bytes and %d with all that it loads; want at most %d and %d", path, page.Body.Len(), total, after, first)
		}
	}
	if hits := s.get("/console/palette?q=s", htmx(""), gzipped); hits.Body.Len() > 4<<10 {
		t.Errorf("what the palette finds weighs %d bytes", hits.Body.Len())
	}
}
