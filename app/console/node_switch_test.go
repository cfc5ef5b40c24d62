package console

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// TestTheSwitcherStaysOnItsTab: an instance can be chosen on each tab that is about instances, and the choice keeps the tab (U20).
func TestTheSwitcherStaysOnItsTab(t *testing.T) {
	w, pages := warehouse(t)
	w.deepen().pages = pages
	w.traces = manyTraces()
	w.instance("warehouse", "i-3", "http://10.20.4.13:8080", "1.12.23")
	s := newSite(t, w)
	for tab, want := range map[string]string{
		"": "/instance?id=i-2", "/instances": "/instance?id=i-2", "/log": "/log?instance=i-2", "/events": "/events?instance=i-2", "/pages": "/pages?instance=i-2",
		"/route": "/route?instance=i-2", "/config": "", "/settings": "",
	} {
		links := func(doc *goquery.Document) (all []string) {
			doc.Find("#node-head [data-testid=instance-switch]").Parent().Find("a.item").Each(func(_ int, a *goquery.Selection) { all = append(all, a.AttrOr("href", "")) })
			return all
		}
		const node = "/console/nodes/warehouse"
		all := links(parse(t, s.get(node+tab).must(t, http.StatusOK)))
		if want == "" {
			if len(all) > 0 {
				t.Errorf("%s is about the node, and offers %v", tab, all)
			}
			continue
		}
		if !slices.Contains(all, node+want) {
			t.Errorf("%s offers %v, want %s among them", tab, all, want)
			continue
		}
		chosen := parse(t, s.get(node+want).must(t, http.StatusOK))
		if got := text1(chosen, "[data-testid=instance-switch] .cut"); got != "i-2" {
			t.Errorf("%s shows %q as chosen", want, got)
		}
		if got := chosen.Find("#node-head").AttrOr("data-src", ""); got != node+want {
			t.Errorf("%s refreshes itself from %q", want, got)
		}
	}
	body := s.get("/console/nodes/warehouse/pages?instance=i-3").must(t, http.StatusOK)
	if strings.Contains(body, "warehouse.Ledger") || !strings.Contains(body, "warehouse.Order") {
		t.Error("the pages of one instance are not those that it announces")
	}
}

// TestANodesConfigurationStandsInTheTree: beside it are all groups and their nodes, its own group open (U40); without the right to
// groups the nodes of its group.
func TestANodesConfigurationStandsInTheTree(t *testing.T) {
	w := commerce()
	w.login("looker", false, "CloudNode")
	w.limit("limited", []int64{2, 3}, "CloudNode", "CloudNodeGroup")
	for i := range w.nodes {
		for _, g := range w.groups {
			if g.Code == w.nodes[i].Group {
				w.nodes[i].GroupID = g.ID
			}
		}
	}
	s := newSite(t, w)
	doc := parse(t, s.get("/console/nodes/order-service/config").must(t, http.StatusOK))
	tree := doc.Find("#side [data-testid=config-tree]")
	if n := tree.Find(`a[href$="/config"]`).Length(); n != 3+8 {
		t.Errorf("the tree has %d configurations, want three groups and eight nodes", n)
	}
	if got := tree.Find("a[aria-current=page]").Text(); !strings.Contains(got, "order-service") {
		t.Errorf("the tree marks %q", got)
	}
	if open := tree.Find("details[open]"); open.Length() != 1 || open.Find(`a[href$="/order-service/config"]`).Length() != 1 {
		t.Error("the group of the node is not the one that is open")
	}
	if doc := parse(t, s.as("looker", http.MethodGet, "/console/nodes/order-service/config", nil).must(t, http.StatusOK)); doc.Find("[data-testid=config-tree]").Length() != 0 || doc.Find("#side-nodes").Length() != 1 {
		t.Error("who may not see groups does not see the neighbours alone")
	}
	body := s.as("limited", http.MethodGet, "/console/nodes/order-service/config", nil).must(t, http.StatusOK)
	if strings.Contains(body, "payment-gateway") || strings.Contains(body, "Payments") || !strings.Contains(body, "promo-engine") {
		t.Error("the tree of a limited viewer is not what he may see")
	}
}
