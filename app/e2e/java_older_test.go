package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

// A node of another version of the 1.12 generation, on two replicas with MariaDB and Redis: it registers at the first, its page
// is read at both, a record is saved in the console of the second.
func TestJavaOlderVersion(t *testing.T) { // D1
	testbed.Require(t, "java")
	testbed.Require(t, "mvn")
	p := startProduction(t)
	n := launchJava(t, javaSettings{name: "older", token: p.one.node("older"), servers: p.one.URL, version: "1.12.21"})
	n.ready()
	for _, s := range []*server{p.one, p.two} {
		if in := s.awaitInstances("older", 1, 20*time.Second)[0]; in.Version != "1.12.21" || in.Location != n.URL {
			t.Errorf("instance %+v at %s, want 1.12.21 at %s", in, s.URL, n.URL)
		}
		if status, raw := s.table(t, "older.Customer"); status != http.StatusOK || !strings.Contains(raw, `"total":120`) {
			t.Errorf("table at %s = %d %.300s", s.URL, status, raw)
		}
	}
	if raw, err := p.client.Get(t.Context(), "erupt-cloud:node:older").Result(); err != nil || !strings.Contains(raw, `"version":"1.12.21"`) {
		t.Errorf("the entry in Redis is %q (%v), want that of 1.12.21", raw, err)
	}
	b := browse(t, p.two)
	b.login("erupt", adminPassword)
	b.open("/console/nodes")
	b.says("[data-node=older]", "1.12.21")
	before := n.row("customer", "1")
	b.open("/console/pages/older.Customer/record?id=1")
	b.fill(`#record-form [name="f.name"]`, "Älter 老")
	b.click("[data-testid=record-save]")
	b.until("it is not saved", `!document.querySelector("[data-testid=record-save]")`)
	if after := n.row("customer", "1"); show(after["name"]) != "Älter 老" || strings.Join(changed(before, after), " ") != "name" {
		t.Errorf("columns %v changed, the name is %s", changed(before, after), show(after["name"]))
	}
	n.term()
	for _, s := range []*server{p.one, p.two} {
		s.awaitInstances("older", 0, 20*time.Second)
	}
}
