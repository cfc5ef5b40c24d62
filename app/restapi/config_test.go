package restapi_test

import (
	"strings"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
)

// configExamples are the examples of the document about configs.
func configExamples() (all []example) {
	huge := `{"baseRevision":1,"config":{"a":"` + strings.Repeat("a", fleet.MaxConfig+128<<10) + `"}}`
	for item, target := range map[string]string{"/api/v1/nodes/{nodeName}/config": "/api/v1/nodes/stock", "/api/v1/groups/{code}/config": "/api/v1/groups/de"} {
		target += "/config"
		missing := strings.NewReplacer("stock", "nosuch", "/de/", "/nosuch/").Replace(target)
		all = append(all,
			example{"GET " + item, target, "", 200}, example{"GET " + item, missing, "", 404},
			example{"PUT " + item, target, `{"baseRevision":0,"config":{"limit":5},"note":"n"}`, 200}, example{"GET " + item, target, "", 200},
			example{"PUT " + item, target, `{"baseRevision":0,"config":{"limit":6}}`, 409}, example{"PUT " + item, target, `{"config":{}}`, 400},
			example{"PUT " + item, missing, `{"baseRevision":0,"config":null}`, 404}, example{"PUT " + item, target, huge, 413},
		)
	}
	return all
}

// TestConfigsAreReplacedOnTopOfARevision: whoever comes second is told, and nothing of the first is lost (S28); half a
// document, or one that does not say on what it rests, is refused (S35).
func TestConfigsAreReplacedOnTopOfARevision(t *testing.T) {
	w := newWorld(t)
	const target = "/api/v1/nodes/orders/config"
	put := func(body string, status int, want string) {
		t.Helper()
		if res := w.do("PUT", target, body, "root"); res.Code != status || !strings.Contains(res.Body.String(), want) {
			t.Errorf("%s answered %d %s, want %d with %q", body, res.Code, res.Body, status, want)
		}
	}
	if res := w.do("GET", target, "", "root"); res.Body.String() != `{"revision":0,"config":null}` {
		t.Errorf("never published: %s", res.Body)
	}
	put(`{"baseRevision":0,"config":{"limit": 12345678901234567890.50},"note":"more"}`, 200, `{"revision":1,"config":{"limit":12345678901234567890.50}}`)
	put(`{"baseRevision":0,"config":{"limit":7}}`, 409, "changed by lin")
	put(`{"config":{"limit":7}}`, 400, `"baseRevision":"is missing"`)
	put(`{"baseRevision":1}`, 400, `"config":"is missing"`)
	if n := w.nodes["orders"]; n.Revision != 1 || n.Config != `{"limit": 12345678901234567890.50}` {
		t.Errorf("stored is revision %d, %s; want the first as it was written", n.Revision, n.Config)
	}
	if e := w.edits[0]; e.Editor != "erupt" || e.Address != "192.0.2.1" || e.Note != "more" {
		t.Errorf("edit %+v", e)
	}
	put(`{"baseRevision":1,"config":null}`, 200, `{"revision":2,"config":null}`)
	if n := w.nodes["orders"]; n.Config != "" {
		t.Errorf("cleared is %q", n.Config)
	}
	if got := w.kinds(); len(got) != 2 || got[0] != "published orders  by erupt" {
		t.Errorf("history %q", got)
	}
	for _, e := range w.audit {
		if strings.Contains(string(e.Params), "limit") {
			t.Errorf("the trail holds the config: %s", e.Params)
		}
	}
}

// TestWhoMayNotEditSeesNoSecrets: over the API as in the console (D21).
func TestWhoMayNotEditSeesNoSecrets(t *testing.T) {
	w := newWorld(t)
	n := w.nodes["orders"]
	n.Config, n.Revision = `{"db":{"password":"hush"},"list":[{"secret":"hush"}],"limit":5}`, 3
	w.nodes["orders"] = n
	g := w.groups["eu"]
	g.Config, g.Revision = n.Config, 3
	w.groups["eu"] = g
	w.sessions["reader"] = access.Session{Account: "reader", Values: codes(access.CodeNodes, access.CodeGroups)}
	w.sessions["editor"] = access.Session{Account: "editor", Values: codes(access.CodeNodes, access.CodeNodes+"@EDIT", access.CodeGroups, access.CodeGroups+"@EDIT")}
	for _, target := range []string{"/api/v1/nodes/orders/config", "/api/v1/groups/eu/config"} {
		if got := w.do("GET", target, "", "reader").Body.String(); strings.Contains(got, "hush") || !strings.Contains(got, `"limit":5`) || !strings.Contains(got, `"revision":3`) {
			t.Errorf("%s shows a reader %s", target, got)
		}
		if got := w.do("GET", target, "", "editor").Body.String(); !strings.Contains(got, `{"db":{"password":"hush"},"list":[{"secret":"hush"}],"limit":5}`) {
			t.Errorf("%s shows an editor %s", target, got)
		}
	}
}
