package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

// A node of another version of the 1.12 generation beside: registered, its page read, a record saved.
func TestJavaOlderVersion(t *testing.T) { // D1
	testbed.Require(t, "java")
	testbed.Require(t, "mvn")
	s := serve(t, nil)
	n := launchJava(t, javaSettings{name: "older", token: s.node("older"), servers: s.URL, version: "1.12.21"})
	n.ready()
	if in := s.awaitInstances("older", 1, 20*time.Second)[0]; in.Version != "1.12.21" || in.Location != n.URL {
		t.Errorf("instance %+v, want 1.12.21 at %s", in, n.URL)
	}
	if status, raw := s.table(t, "older.Customer"); status != http.StatusOK || !strings.Contains(raw, `"total":120`) {
		t.Errorf("table = %d %.300s", status, raw)
	}
	b := browse(t, s)
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
	s.awaitInstances("older", 0, 20*time.Second)
}
