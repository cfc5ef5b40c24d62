package console

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
)

// noTwin are the pages of the console that have no JSON beside them (U80), and why.
var noTwin = map[string]string{
	"/console":                        "leads on",
	"/console/":                       "leads on",
	"/console/login":                  "a form before the login; programs log in at /erupt-api/login",
	"/console/me":                     "about the browser's own session",
	"/console/me/password":            "a form",
	"/console/nodes/new":              "a form",
	"/console/groups/new":             "a form",
	"/console/pages/:page/options":    "the choices of one field of a form",
	"/console/palette":                "the parts of a dialog; /console/search has the same as JSON",
	"/console/nodes/:node/arrival":    "a part of the page of a new node",
	"/console/nodes/:node/drains":     "a part of the node's page, whose JSON has it",
	"/console/nodes/:node/events/new": "a part of the list of events",
	"/console/nodes/:node/log/text":   "a file",
	"/console/server-log/text":        "a file",
	"/console/requests/:id":           "leads on",
	"/console/events":                 "a stream",
}

// examples fill the places of the console's addresses.
var examples = strings.NewReplacer(":node", "warehouse", ":group", "depot", ":account", "admin", ":role", "ops", ":menu", "CloudNode", ":entry", "7",
	":page", "warehouse.Customer", ":id", "REQ1")

// queries are what some addresses need besides.
var queries = map[string]string{
	"/console/nodes/:node/instance": "?id=i-2", "/console/pages/:page/record": "?id=1", "/console/nodes/:node/events/new": "?after=0",
	"/console/nodes/:node/config/compare": "?rev=1&rev=2", "/console/groups/:group/config/compare": "?rev=1&rev=2",
}

// everything is a console in which each page has something to show.
func everything(t *testing.T) *site { return newSite(t, everyWorld(t)) }

func everyWorld(t *testing.T) *world {
	w, pages := warehouse(t)
	w.deepen().pages = pages
	w.traces = manyTraces()
	w.group("depot", "Depot", "")
	w.group("yard", "Yard", "depot")
	w.nodes[0].Group, w.nodes[0].GroupID = "depot", 1
	w.holds = append(w.holds, fleet.Hold{Node: "warehouse", Location: "http://10.20.4.12:8080", Account: "chen.jie", Reason: "=1+1", Created: now})
	revisions := []fleet.Revision{{Number: 2, Config: `{"a":2}`, Author: "lin", Created: now}, {Number: 1, Config: `{"a":1}`, Author: "lin", Created: now.Add(-time.Hour)}}
	w.revisions["warehouse"], w.revisions["group depot"] = revisions, revisions
	shop := commerce()
	w.users, w.roles, w.menus, w.audit = shop.users, shop.roles, shop.menus, shop.audit
	w.logins = []access.LoginRecord{{At: now, User: "admin", Address: "10.0.0.9", Browser: "Firefox"}}
	fakeHistory{w.deep}.Record(history.Event{Node: "warehouse", Kind: history.Held, At: now, Account: "chen.jie", Reason: "=1+1"})
	return w
}

func scripted(r *http.Request) { r.Header.Set("Accept", "application/json") }

// TestEveryPageHasATwin walks all addresses of the console: a list or a detail page that has no JSON is named above with its reason
// (U80).
func TestEveryPageHasATwin(t *testing.T) {
	s := everything(t)
	for _, r := range s.shell.Engine().Routes() {
		if r.Method != http.MethodGet || !strings.HasPrefix(r.Path, "/console") || strings.HasSuffix(r.Path, ".csv") || noTwin[r.Path] != "" {
			continue
		}
		path := examples.Replace(r.Path) + queries[r.Path]
		if strings.Contains(path, "/:") {
			t.Errorf("%s needs an example for its place", r.Path)
			continue
		}
		a := s.get(path, scripted)
		if kind := a.Header().Get("Content-Type"); a.Code != http.StatusOK || !strings.HasPrefix(kind, "application/json") || !json.Valid([]byte(a.body)) {
			t.Errorf("%s answers a script %d with %q; a page without JSON needs a reason in noTwin", path, a.Code, kind)
		}
		if vary := strings.Join(a.Header().Values("Vary"), ", "); r.Path != "/console/changes" && !strings.Contains(vary, "Accept") {
			t.Errorf("%s: a cache could give its JSON to a browser (S78): Vary is %q", path, vary)
		}
		if r.Path == "/console/changes" || strings.HasSuffix(r.Path, "/log/lines") {
			continue
		}
		if page := s.get(path); page.Code != http.StatusOK || !strings.HasPrefix(page.Header().Get("Content-Type"), "text/html") {
			t.Errorf("%s answers a browser %d with %q", path, page.Code, page.Header().Get("Content-Type"))
		}
	}
}

// TestEveryListIsAFile: lists are there as CSV, with as many rows as their JSON has, and no cell that a spreadsheet would calculate
// (U81, S94).
func TestEveryListIsAFile(t *testing.T) {
	s := everything(t)
	for list, items := range map[string]string{
		"/console/nodes": "nodes", "/console/groups": "items", "/console/users": "items", "/console/roles": "items", "/console/menus": "items",
		"/console/audit": "items", "/console/logins": "items", "/console/nodes/warehouse/instances": "registered", "/console/nodes/warehouse/events": "events",
	} {
		var twin map[string]json.RawMessage
		var rows []any
		if err := json.Unmarshal([]byte(s.get(list, scripted).must(t, http.StatusOK)), &twin); err != nil {
			t.Fatal(list, err)
		}
		if err := json.Unmarshal(twin[items], &rows); err != nil || len(rows) == 0 {
			t.Fatalf("%s: %d items, %v", list, len(rows), err)
		}
		a := s.get(list + ".csv")
		if kind := a.Header().Get("Content-Type"); a.Code != http.StatusOK || !strings.HasPrefix(kind, "text/csv") || !strings.HasPrefix(a.body, "\ufeff") {
			t.Errorf("%s.csv answers %d with %q", list, a.Code, kind)
			continue
		}
		if !strings.Contains(a.Header().Get("Content-Disposition"), "attachment") {
			t.Errorf("%s.csv is no download", list)
		}
		lines, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(a.body, "\ufeff"))).ReadAll()
		if err != nil || len(lines) != len(rows)+1 {
			t.Errorf("%s.csv has %d lines, %v; want a head and %d", list, len(lines), err, len(rows))
		}
		for _, cell := range slices.Concat(lines...) {
			if strings.HasPrefix(cell, "=") {
				t.Errorf("%s.csv has a cell that calculates: %q", list, cell)
			}
		}
		if link := parse(t, s.get(list).must(t, http.StatusOK)).Find("a[href*='.csv']").AttrOr("href", ""); !strings.HasPrefix(link, list+".csv") {
			t.Errorf("the page %s offers the file %q", list, link)
		}
	}
}

// TestTwinsEndWithTheRights: scripts see of groups, pages and configurations what the viewer may (D21, U80).
func TestTwinsEndWithTheRights(t *testing.T) {
	s := everything(t)
	s.limit("reader", []int64{2}, "CloudNodeGroup", "CloudNode", "EruptRole")
	s.instance("shop", "s-2", "http://10.20.5.2:8080", "2.0.4", func(in *registry.Instance) { in.Node.Erupts = []string{"Secret"} })
	asReader := func(path string) answer { return s.as("reader", http.MethodGet, path, nil, scripted) }
	if body := asReader("/console/groups").must(t, http.StatusOK); strings.Contains(body, "depot") || !strings.Contains(body, `"yard"`) {
		t.Errorf("the list of groups: %s", body)
	}
	if body := s.as("reader", http.MethodGet, "/console/groups.csv", nil).must(t, http.StatusOK); strings.Contains(body, "depot") {
		t.Errorf("the file of groups: %s", body)
	}
	for _, path := range []string{"/console/groups/depot", "/console/groups/depot/config", "/console/nodes/warehouse/config", "/console/nodes/warehouse/settings",
		"/console/nodes/warehouse/pages", "/console/nodes/warehouse/badge", "/console/pages/warehouse.Customer", "/console/nodes/warehouse/instances.csv"} {
		asReader(path).must(t, http.StatusForbidden)
	}
	if body := asReader("/console/pages").must(t, http.StatusOK); strings.Contains(body, "Customer") {
		t.Errorf("the menu of pages: %s", body)
	}
	s.login("looker", false, "CloudNode")
	for _, path := range []string{"/console/nodes/warehouse/config", "/console/nodes/warehouse/config/compare?rev=1&rev=2"} {
		s.nodes[0].Config = `{"db":{"password":"hunter2"}}`
		s.revisions["warehouse"][0].Config = s.nodes[0].Config
		if body := s.as("looker", http.MethodGet, path, nil, scripted).must(t, http.StatusOK); strings.Contains(body, "hunter2") {
			t.Errorf("%s shows a secret to who may not change it: %s", path, body)
		}
	}
}
