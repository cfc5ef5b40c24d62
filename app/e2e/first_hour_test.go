package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// The first hour of somebody who has never seen the product, from the first login to the operation log. Everything is done
// in the browser; only the node is a process beside it, started with what the snippet says.
func TestFirstHour(t *testing.T) { // D12, D18, U14, U20–U23, U60
	s := serve(t, []string{"EC_CLOUD_SERVER_HEARTBEAT_TIME=1s"})
	b := browse(t, s)
	b.login("erupt", adminPassword)
	b.shows("[data-testid=empty]")

	hourGroup(b)
	token := hourNode(t, b, s)
	node := goNode(t, s, "crm", token, freeAddr(t), "")
	b.until("the instance does not appear by itself", `document.querySelector("[data-testid=arrival]")?.dataset.here === "true"`)
	if b.eval("window.sinceThen") != "true" {
		t.Error("the page was loaded anew, want it live")
	}
	b.shoot("arrived")
	b.click("[data-testid=arrived]")
	b.at("/console/nodes/crm")

	hourRecord(b)
	hourLog(b, s)
	hourToken(t, b, token)
	hourHold(b)
	hourRemove(t, b, s)
	hourDrain(b)
	if code := node.stop(patience); code != 0 {
		t.Errorf("the drained node ended with code %d:\n%s", code, node.output())
	}
	b.until("it does not leave", `document.querySelectorAll("[data-testid=instance-row]").length === 0`)
	hourTrail(t, b)
}

func hourGroup(b *tab) {
	b.open("/console/groups")
	b.click("[data-testid=new-group]")
	b.fill("#f-code", "sales")
	b.fill("#f-name", "Sales")
	b.click("[data-testid=group-form] button[type=submit]")
	b.shows("[data-testid=group-row][data-group=sales]")
}

// hourNode creates the node on the first page and copies the snippet; it returns the token that the snippet carries.
func hourNode(t *testing.T, b *tab, s *server) string {
	t.Helper()
	b.open("/console/nodes")
	b.fill("[data-testid=node-form] [name=name]", "crm")
	b.choose("[data-testid=node-form] [name=group]", "sales")
	b.click("[data-testid=node-form] button[type=submit]")
	b.shows("[data-testid=token]")
	b.eval(`(() => { window.sinceThen = true; navigator.clipboard.writeText = async (t) => { window.copied = t } })()`)
	b.click(`.seg label:has([name=snippet][value=properties])`)
	b.click(`[data-copy-from=snippet-properties]`)
	b.until("nothing was copied", "window.copied")
	copied := b.eval("window.copied")
	values := map[string]string{}
	for line := range strings.Lines(copied) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = value
	}
	if got := values["erupt.cloud-node.serverAddresses[0]"]; got != s.URL {
		t.Fatalf("the snippet names the server %q, want %s:\n%s", got, s.URL, copied)
	}
	b.shoot("snippet")
	return values["erupt.cloud-node.accessToken"]
}

func hourRecord(b *tab) {
	b.open("/console/nodes/crm/pages")
	b.shows("[data-testid=page-table][data-checked=true]") // the node has said which of its pages it has
	b.click(`a[href$="/console/pages/crm.Customer"]`)
	b.says("[data-testid=page-count]", "30")
	b.click("[data-testid=page-new]")
	b.fill(`#record-form [name="f.name"]`, "The first of my own")
	b.fill(`#record-form [name="f.balance"]`, "7")
	b.shoot("record")
	b.click("[data-testid=record-save]")
	b.until("the drawer stays open", `!document.querySelector("#record")`)
	b.says("[data-testid=page-count]", "31")
}

func hourLog(b *tab, s *server) {
	said, raw := s.call(http.MethodPost, "/erupt-api/data/crm.Stream/operator/say?line=hello+from+the+first+hour", strings.NewReader("{}"), http.Header{
		"erupt": {"crm.Stream"}, "Content-Type": {"application/json"},
	})
	if said.StatusCode != http.StatusOK {
		b.t.Fatalf("the node = %d %s", said.StatusCode, raw)
	}
	b.open("/console/nodes/crm")
	b.click(`[data-testid=open-log], #node-tabs a[href*="/log"]`)
	b.says("[data-testid=log-lines]", "hello from the first hour")
	b.shoot("log")
}

// hourToken rotates the token: the instance goes on with the one that it has.
func hourToken(t *testing.T, b *tab, old string) {
	t.Helper()
	b.open("/console/nodes/crm/settings")
	b.click("[data-testid=rotate]")
	b.click("[data-testid=rotate-now]")
	b.shows("[data-testid=token]")
	if got := b.text("[data-testid=token]"); got == old || got == "" {
		t.Errorf("the new token is %q", got)
	}
	b.open("/console/nodes/crm/settings")
	b.shows("[data-testid=old-token] li")
	b.shoot("grace")
}

func hourHold(b *tab) {
	b.open("/console/nodes/crm/instances")
	b.click("[data-testid=hold]")
	b.fill("details[open] [name=reason]", "looking at it")
	b.click("details[open] button[type=submit]")
	b.until("it is not held", `document.querySelector("[data-testid=instance-row]")?.dataset.state === "held"`)
	b.click("[data-testid=lift]")
	b.until("it is still held", `document.querySelector("[data-testid=instance-row]")?.dataset.state === "up"`)
}

func hourRemove(t *testing.T, b *tab, s *server) {
	t.Helper()
	before := s.instances("crm")[0].Registered
	b.click("[data-testid=remove]")
	b.click("[data-testid=remove-confirm]")
	eventually(t, patience, func() bool {
		got := s.instances("crm")
		return len(got) == 1 && got[0].Registered.After(before)
	}, func() string { return "the removed instance did not come back" })
	b.until("it does not come back on the page", `document.querySelector("[data-testid=instance-row]")?.dataset.state === "up"`)
}

func hourDrain(b *tab) {
	b.click("[data-testid=drain]")
	b.shows("[data-testid=drain-last]")
	b.click("[data-testid=drain-now]")
	b.shows("[data-testid=safe-to-stop]")
	b.until("it is not draining", `document.querySelector("[data-testid=instance-row]")?.dataset.state === "drain"`)
	b.shoot("drained")
}

// hourTrail finds all of it in the operation log, and what the instance did in the node's events.
func hourTrail(t *testing.T, b *tab) {
	t.Helper()
	want := []string{
		"Create group", "Create node", "Add record", "Rotate token", "Hold instance", "Lift hold", "Remove instance", "Drain instance",
	}
	missing := func() (out []string) {
		text := b.text("main")
		for _, w := range want {
			if !strings.Contains(text, w) {
				out = append(out, w)
			}
		}
		return out
	}
	eventually(t, patience, func() bool { // the trail is written behind the answer
		b.open("/console/audit")
		return len(missing()) == 0
	}, func() string { return "not in the operation log: " + strings.Join(missing(), ", ") })
	b.shoot("audit")
	want = []string{"registered", "removed", "drain"}
	eventually(t, patience, func() bool {
		b.open("/console/nodes/crm/events")
		return containsAll(strings.ToLower(b.text("main")), want)
	}, func() string { return "the events are: " + b.text("main") })
	b.shoot("events")
}

func containsAll(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
