package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
)

func TestNodePageHasATabForEachAddress(t *testing.T) { // U20
	s := newSite(t, commerce())
	for path, want := range map[string]string{
		"": "Overview", "/instances": "Instances 4", "/config": "Configuration", "/pages": "Pages 2", "/log": "Logs", "/settings": "Settings",
	} {
		doc := parse(t, s.get("/console/nodes/order-service"+path).must(t, 200))
		if got := text1(doc, ".tabs [aria-current]"); got != want {
			t.Errorf("%s: current tab = %q, want %q", path, got, want)
		}
		if got := text1(doc, ".crumb"); got != "NodesCommerceorder-service" {
			t.Errorf("%s: breadcrumb = %q", path, got)
		}
	}
	s.get("/console/nodes/nobody").must(t, 404)
}

func TestInstanceCountsAgreeEverywhere(t *testing.T) { // S16, S73
	w := newWorld()
	w.node(fleet.Node{Name: "big", Enabled: true, FirstSeen: now})
	for i := range 137 {
		w.instances = append(w.instances, registry.Instance{
			Key: registry.Key{App: "BIG", ID: "i" + strings.Repeat("x", i)}, NodeName: "big", Origin: registry.OriginNode, Rev: registry.Seq(i + 1),
			Locations: []string{"http://10.0.0.1:" + string(rune('0'+i%10)) + strings.Repeat("1", i%4)}, Status: registry.Up, Node: &registry.NodeDetail{Version: "1"},
		})
	}
	w.table.Replace(w.instances, 200, false)
	s := newSite(t, w)
	if got := text1(parse(t, s.get("/console/nodes").must(t, 200)), "#node-big [data-l=Instances]"); got != "137/137" {
		t.Errorf("list says %q, want 137/137", got)
	}
	seen := 0
	for _, page := range []string{"", "?page=2", "?page=3"} {
		doc := parse(t, s.get("/console/nodes/big/instances"+page).must(t, 200))
		seen += doc.Find("[data-testid=instance-row]").Length()
		if got := text1(doc, ".tabs [aria-current] .n"); got != "137" {
			t.Errorf("tab says %q, want 137", got)
		}
	}
	if seen != 137 {
		t.Errorf("paging reaches %d instances, want 137", seen)
	}
}

func TestHoldKeepsTheReasonAndTheHolder(t *testing.T) { // S7
	s := newSite(t, commerce())
	form := url.Values{"instance": {"i-4"}, "reason": {"disk <full>"}}
	a := s.post("/console/nodes/order-service/hold", form, htmx("node-instances"))
	doc := parse(t, a.must(t, 200))
	row := doc.Find(`[data-instance="i-4"]`)
	if row.AttrOr("data-state", "") != "held" || !includes(row.Text(), "held by admin: disk <full>,") || row.Find("[data-testid=lift]").Length() != 1 {
		t.Errorf("the row after a hold:\n%s", a.body)
	}
	if !includes(a.Header().Get("HX-Trigger"), "ec:said") {
		t.Errorf("nothing is said aloud: %v", a.Header())
	}
	s.post("/console/nodes/order-service/hold/lift", url.Values{"location": {"http://10.20.4.14:8080"}}).must(t, 303)
	if len(s.holds) != 1 {
		t.Errorf("holds = %v, want only the one from before", s.holds)
	}
	if e := s.audit[len(s.audit)-1]; e.Action != "instance.lift" || e.Account != "admin" || !e.OK {
		t.Errorf("audit = %+v", e)
	}
	s.post("/console/nodes/order-service/hold/lift", url.Values{"location": {"http://10.20.4.14:8080"}}).must(t, 303) // again: no error
	s.post("/console/nodes/order-service/hold", url.Values{"instance": {"gone"}}).must(t, 404)
}

func TestRemovalSaysThatALivingInstanceReturns(t *testing.T) { // S9, U22
	w := commerce()
	d := w.deepen()
	s := newSite(t, w)
	doc := parse(t, s.get("/console/nodes/order-service/instances").must(t, 200))
	ask := doc.Find(`[data-instance="i-1"] .confirm`)
	if !includes(ask.Text(), "registers again with its next heartbeat, within about 15 s") || ask.Find("[data-testid=hold-instead]").Length() != 1 {
		t.Errorf("the question before a removal: %q", ask.Text())
	}
	if len(s.removed) != 0 {
		t.Fatal("looking must not remove")
	}
	a := s.post("/console/nodes/order-service/instances/remove", url.Values{"instance": {"i-1"}})
	a.must(t, 303)
	if got := a.Header().Get("Location"); got != "/console/nodes/order-service/instances?said=removed" {
		t.Errorf("Location = %q", got)
	}
	if len(s.removed) != 1 || s.removed[0].ID != "i-1" {
		t.Errorf("removed = %v", s.removed)
	}
	if len(d.events) != 1 || d.events[0].Kind != history.Removed || d.events[0].Instance != "i-1" || d.events[0].Account == "" {
		t.Errorf("history = %+v, want the removal with who did it", d.events)
	}
	if body := s.get(a.Header().Get("Location")).must(t, 200); !includes(body, "If it lives, it returns with its next heartbeat") {
		t.Error("the page after the removal does not say that the instance may return")
	}
}

func TestHoldsOfAbsentInstancesCanBeLifted(t *testing.T) {
	w := commerce()
	w.holds = append(w.holds, fleet.Hold{Node: "legacy-mall", Location: "http://10.9.9.9:1", Account: "li"})
	doc := parse(t, newSite(t, w).get("/console/nodes/legacy-mall/instances").must(t, 200))
	if row := doc.Find("[data-testid=absent-hold]"); row.Find("[data-testid=lift]").Length() != 1 || !includes(row.Text(), "http://10.9.9.9:1") {
		t.Errorf("a hold without an instance is not shown: %q", row.Text())
	}
}

func TestTokenIsShownOnRequestOnlyAndRecorded(t *testing.T) { // A25, U23
	s := newSite(t, commerce())
	for _, path := range []string{"", "/instances", "/config", "/settings", "/log"} {
		if includes(s.get("/console/nodes/order-service"+path).must(t, 200), secretToken) {
			t.Errorf("%s holds the token unasked", path)
		}
	}
	packed := func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }
	a := s.post("/console/nodes/order-service/token", nil, htmx("node-connect"), packed)
	body := a.must(t, 200)
	if text1(parse(t, body), "[data-testid=token]") != secretToken || !includes(body, "erupt.cloud-node.accessToken="+secretToken) {
		t.Errorf("the token and a snippet with it are missing:\n%s", body)
	}
	if a.Header().Get("Cache-Control") != "no-store" || a.Header().Get("Content-Encoding") != "" {
		t.Errorf("headers = %v, want no-store and not packed", a.Header())
	}
	if e := s.audit[len(s.audit)-1]; e.Action != "token.view" || e.Subject != "order-service" || !e.OK {
		t.Errorf("audit = %+v", e)
	}
	if includes(s.audit[len(s.audit)-1].URL, secretToken) {
		t.Error("the audit trail holds the token")
	}
	if whole := s.post("/console/nodes/order-service/token", nil).must(t, 200); !includes(whole, secretToken) || !includes(whole, "<html") {
		t.Error("without script the whole page must come, with the token")
	}
	s.login("viewer", false, "CloudNode")
	s.as("viewer", http.MethodPost, "/console/nodes/order-service/token", url.Values{}).must(t, 403)
	if got := s.get("/console/nodes/order-service/token"); got.Code != 405 && got.Code != 404 {
		t.Errorf("GET of the token = %d: a link must never show it", got.Code)
	}
}

func TestCreationShowsTheTokenOnce(t *testing.T) {
	s := newSite(t, commerce())
	form := url.Values{"name": {"fresh"}, "display": {"Fresh"}, "group": {"promo"}, "duty": {"li, wang，chen"}, "enabled": {"1"}, "core": {"1"}}
	a := s.post("/console/nodes", form)
	if body := a.must(t, 200); text1(parse(t, body), "[data-testid=token]") != secretToken || a.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("no token after the creation:\n%s", body)
	}
	n := s.nodes[len(s.nodes)-1]
	if n.Name != "fresh" || n.Group != "promo" || !n.Enabled || !n.Core || len(n.Duty) != 3 || n.UpdatedBy != "admin" {
		t.Errorf("created %+v", n)
	}
	s.fail = fault.New(fault.Conflict, "a node %q exists already", "fresh").Field("name", "a node %q exists already", "fresh")
	doc := parse(t, s.post("/console/nodes", form, chinese).must(t, 409))
	if got := text1(doc, "#e-name"); got != "节点 \"fresh\" 已存在" {
		t.Errorf("message at the field = %q", got)
	}
	if doc.Find("#f-display").AttrOr("value", "") != "Fresh" || doc.Find("#f-name").AttrOr("aria-describedby", "") == "" {
		t.Error("the refused form lost what was typed, or its message is not tied to the field")
	}
}

func TestSettingsDeletionNeedsTheName(t *testing.T) { // U22
	s := newSite(t, commerce())
	body := s.post("/console/nodes/ledger/delete", url.Values{"confirm": {"Ledger"}}).must(t, 422)
	if got := text1(parse(t, body), "#e-confirm"); got == "" || len(s.nodes) != 8 {
		t.Errorf("message %q, %d nodes left", got, len(s.nodes))
	}
	if doc := parse(t, body); doc.Find("[data-testid=form-error]").Length() > 0 || doc.Find("#f-confirm[autofocus]").Length() != 1 {
		t.Error("the form of the profile says it too, or the page does not open at the field")
	}
	s.post("/console/nodes/ledger/delete", url.Values{"confirm": {"ledger"}}).must(t, 303)
	if len(s.nodes) != 7 {
		t.Errorf("%d nodes left, want 7", len(s.nodes))
	}
}

func TestEnableAndDisableReturnToWhereTheyWerePressed(t *testing.T) {
	s := newSite(t, commerce())
	a := s.post("/console/nodes/ledger/enabled", url.Values{"enabled": {"0"}, "back": {"/console/nodes?state=up&q=a+b"}})
	a.must(t, 303)
	if got := a.Header().Get("Location"); got != "/console/nodes?q=a+b&said=disabled&state=up" || s.nodes[1].Enabled {
		t.Errorf("Location = %q, enabled = %v", got, s.nodes[1].Enabled)
	}
	for _, evil := range []string{"https://evil.example", "//evil.example", "/\\evil"} {
		a := s.post("/console/nodes/ledger/enabled", url.Values{"enabled": {"1"}, "back": {evil}})
		if got := a.Header().Get("Location"); got != "/console/?said=enabled" {
			t.Errorf("back=%s leads to %q", evil, got)
		}
	}
}

func TestButtonsOfMissingRightsAreAbsent(t *testing.T) { // F13
	s := newSite(t, commerce())
	s.login("viewer", false, "CloudNode")
	absent := map[string][]string{
		"/console/nodes":                          {"new-node", "open-log"},
		"/console/nodes/order-service":            {"disable", "enable", "open-log", "hold", "remove", "show-token"},
		"/console/nodes/order-service/instances":  {"hold", "remove", "lift"},
		"/console/nodes/promo-engine/instances":   {"lift"},
		"/console/nodes/order-service/settings":   {"delete", "delete-node"},
		"/console/nodes/order-service/config":     {"review", "publish"},
		"/console/nodes/order-service/pages":      {},
		"/console/nodes?order=worst&state=never":  {"new-node"},
		"/console/nodes/order-service?page=2":     {"show-token"},
		"/console/nodes/order-service/instances?": {"remove-confirm"},
	}
	for path, ids := range absent {
		doc := parse(t, s.as("viewer", http.MethodGet, path, nil).must(t, 200))
		for _, id := range ids {
			if doc.Find("[data-testid="+id+"]").Length() > 0 {
				t.Errorf("%s offers %s to somebody who may only look", path, id)
			}
		}
		if n := doc.Find(`main form[method=post]`).FilterFunction(func(_ int, f *goquery.Selection) bool { return f.Find("[type=submit]").Length() > 0 }).Length(); n > 0 {
			t.Errorf("%s has %d forms to send for somebody who may only look", path, n)
		}
	}
	if body := s.as("viewer", http.MethodGet, "/console/nodes/order-service/config", nil).must(t, 200); includes(body, "hunter2") {
		t.Error("who may only look sees a secret of the configuration")
	}
	for _, path := range []string{
		"/console/nodes", "/console/nodes/ledger/settings", "/console/nodes/ledger/enabled", "/console/nodes/ledger/delete", "/console/nodes/ledger/token",
		"/console/nodes/ledger/hold", "/console/nodes/ledger/hold/lift", "/console/nodes/ledger/instances/remove", "/console/nodes/ledger/config",
		"/console/nodes/ledger/config/review", "/console/groups", "/console/groups/promo", "/console/groups/promo/delete", "/console/groups/promo/config",
		"/console/users", "/console/users/lin.wei", "/console/users/lin.wei/delete", "/console/users/lin.wei/logout", "/console/roles", "/console/roles/ops", "/console/roles/ops/delete",
	} {
		if a := s.as("viewer", http.MethodPost, path, url.Values{"confirm": {"ledger"}}); a.Code != 403 {
			t.Errorf("POST %s = %d, want 403", path, a.Code)
		}
	}
	for _, path := range []string{"/console/nodes/new", "/console/nodes/order-service/log", "/console/nodes/order-service/log/lines?instance=i-1", "/console/nodes/order-service/log/text?instance=i-1", "/console/groups", "/console/users", "/console/roles", "/console/audit"} {
		if a := s.as("viewer", http.MethodGet, path, nil); a.Code != 403 {
			t.Errorf("GET %s = %d, want 403", path, a.Code)
		}
	}
	if len(s.audit) != 1 {
		t.Errorf("refused requests reached the domain: %+v", s.audit)
	}
}
