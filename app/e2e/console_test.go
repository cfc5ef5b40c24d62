package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestLogin(t *testing.T) { // F8, U80: a deep link survives it
	s := serve(t, nil)
	s.node("crm")
	b := browse(t, s)
	b.expect("status of 401")
	b.open("/console/nodes/crm/config?from=x&q=a%20b#hist")
	b.at("/console/login")
	b.signIn("erupt", "not-the-password")
	b.shows("[data-testid=login-error]")
	wrong := b.text("[data-testid=login-error]")
	b.turns(func() { b.signIn("nobody", "not-the-password") })
	if got := b.eval(`document.querySelector("#account").value`); got != "nobody" {
		t.Errorf("the form came back with the account %q", got)
	}
	if got := b.text("[data-testid=login-error]"); got != wrong || got == "" {
		t.Errorf("an unknown account is told %q, a wrong password %q; want the same", got, wrong)
	}
	if got := b.eval(`document.querySelector("#password").value`); got != "" {
		t.Errorf("the password came back in the page: %q", got)
	}
	b.expect("status of 400") // there is no revision x
	b.signIn("erupt", adminPassword)
	b.at("/console/nodes/crm/config")
	if got := b.eval("location.search"); got != "?from=x&q=a%20b" && got != "?from=x&q=a+b" {
		t.Errorf("the login led to %q, want the address that was asked for", b.eval("location.href"))
	}
	b.open("/console/")
	b.at("/console/nodes")
}

func TestLogoutEndsTheOtherTab(t *testing.T) { // F8, S61, S89, U63
	s := serve(t, nil)
	s.node("crm")
	one := browse(t, s)
	one.login("erupt", adminPassword)
	two := one.another()
	two.expect("status of 401")
	two.open("/console/nodes/crm/settings")
	two.fill("#node-form [name=remark]", "typed before the session ended")
	three := one.another()
	three.expect("status of 401")
	three.open("/console/nodes")
	one.click("header details.drop-menu summary")
	one.click("[data-testid=logout]")
	one.at("/console/login")

	// A search asks for a fragment: the answer leads the whole page to the login, not a form into the table.
	three.fill("#node-q", "crm")
	three.at("/console/login")

	// A form that was being filled in is not lost: it comes back after the login.
	two.click("#node-form button[type=submit]")
	two.at("/console/login")
	two.signIn("erupt", adminPassword)
	two.at("/console/nodes/crm/settings")
	two.until("the text is gone", `document.querySelector("#node-form [name=remark]").value === "typed before the session ended"`)
	two.click("#node-form button[type=submit]")
	two.shows("[data-toast]")
	two.until("the text is not saved", `document.querySelector("#node-form [name=remark]").defaultValue === "typed before the session ended"`)

	if resp, _ := s.call(http.MethodGet, "/api/v1/nodes", nil, nil); resp.StatusCode != http.StatusOK {
		t.Errorf("the script's own session = %d after the browser's logout, want it untouched", resp.StatusCode)
	}
}

func TestNodeFromFormToLive(t *testing.T) { // F13, U14, U23, U60
	s := serve(t, nil)
	b := browse(t, s)
	b.login("erupt", adminPassword)
	b.at("/console/nodes")
	b.shows("[data-testid=empty]")
	b.shoot("empty")
	b.shows("[data-testid=node-form]") // the short form of a first node; this is about the whole one
	b.open("/console/nodes/new")
	b.expect("status of 422")
	b.fill("#f-name", "bad name")
	b.click("#node-form button[type=submit]")
	b.shows("#e-name")
	if got := b.eval(`document.querySelector("#f-name").value`); got != "bad name" {
		t.Errorf("the form came back with %q, want what was typed", got)
	}
	b.shoot("refused")
	b.fill("#f-name", "crm")
	b.fill("#f-display", "Customer relations")
	b.click("#node-form button[type=submit]")
	b.shows("[data-testid=token]")
	token := b.text("[data-testid=token]")
	b.shoot("created")
	if got := b.text("#snippet-properties"); !strings.Contains(got, token) || !strings.Contains(got, "serverAddresses[0]="+s.URL) {
		t.Errorf("the snippet has not the real address and token: %s", got)
	}

	b.open("/console/nodes")
	b.until("the new node is not in the list", `document.querySelector("[data-node=crm]")?.dataset.state === "never"`)
	b.eval("window.sinceThen = true")
	one := goNode(t, s, "crm", token, freeAddr(t), "")
	b.until("the instance does not appear", `document.querySelector("[data-node=crm]")?.dataset.state === "up"`)
	b.until("the headline did not follow", `!document.querySelector("#nodes-head").innerText.includes("0 instances")`)
	b.shoot("live")
	two := goNode(t, s, "crm", token, freeAddr(t), "")
	b.until("the second instance does not appear", `document.querySelector("[data-node=crm]")?.innerText.includes("2/2")`)
	two.stop(40 * time.Second)
	b.until("the second instance does not leave", `document.querySelector("[data-node=crm]")?.innerText.includes("1/1")`)
	one.stop(40 * time.Second)
	b.until("the node is not offline", `document.querySelector("[data-node=crm]")?.dataset.state === "down"`)
	if b.eval("window.sinceThen") != "true" {
		t.Error("the page was loaded anew, want it live")
	}
	b.shoot("offline")
}

func TestHoldAndRemove(t *testing.T) { // F13, S9, U22
	s := serve(t, []string{"EC_CLOUD_SERVER_HEARTBEAT_TIME=1s"})
	goNode(t, s, "crm", s.node("crm"), freeAddr(t), "")
	before := s.awaitInstances("crm", 1, patience)[0]
	b := browse(t, s)
	b.login("erupt", adminPassword)
	b.open("/console/nodes/crm/instances")
	b.click("[data-testid=hold]")
	b.fill("details[open] [name=reason]", "disk is being replaced")
	b.shoot("hold")
	b.click("details[open] button[type=submit]")
	b.until("it is not held", `document.querySelector("[data-testid=instance-row]")?.dataset.state === "held"`)
	b.says("[data-testid=instance-row]", "disk is being replaced")
	b.says("[data-testid=instance-row]", "erupt")
	b.shoot("held")
	if got := s.instances("crm"); len(got) != 1 || got[0].State != "held" {
		t.Errorf("the API says %+v, want it held", got)
	}
	if resp, raw := s.call(http.MethodPost, "/erupt-api/data/table/crm.Customer", tableQuery(), http.Header{"erupt": {"crm.Customer"}, "Content-Type": {"application/json"}}); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a request while all are held = %d %s, want 503", resp.StatusCode, raw)
	}
	b.click("[data-testid=lift]")
	b.until("it is still held", `document.querySelector("[data-testid=instance-row]")?.dataset.state === "up"`)

	b.click("[data-testid=remove]")
	b.says("details[open] .confirm", "again") // a living instance registers again
	b.shoot("remove")
	if got := s.instances("crm"); len(got) != 1 || !got[0].Registered.Equal(before.Registered) {
		t.Errorf("the first step removed already: %+v", got)
	}
	b.click("[data-testid=remove-confirm]")
	eventually(t, patience, func() bool {
		got := s.instances("crm")
		return len(got) == 1 && got[0].Registered.After(before.Registered)
	}, func() string { return "the removed instance did not register again" })
	b.until("it does not come back on the page", `document.querySelector("[data-testid=instance-row]")?.dataset.state === "up"`)
}

func TestTokenIsShownOnRequest(t *testing.T) { // F13
	s := serve(t, nil)
	token := s.node("crm")
	b := browse(t, s)
	b.login("erupt", adminPassword)
	b.open("/console/nodes/crm")
	if strings.Contains(b.eval("document.documentElement.outerHTML"), token) {
		t.Error("the token is in the page before anybody asked")
	}
	b.click("[data-testid=show-token]")
	b.says("[data-testid=token]", token)
	b.shoot("token")
	b.open("/console/nodes/crm")
	b.shows("[data-testid=show-token]")
	if strings.Contains(b.eval("document.documentElement.outerHTML"), token) {
		t.Error("the token is in the page after a reload")
	}
	eventually(t, patience, func() bool { // the trail is written behind the answer
		b.open("/console/audit?q=token.view")
		return strings.Contains(b.text("main"), "crm")
	}, func() string { return "the view is not in the audit trail: " + b.text("main") })
	b.shoot("audit")
}

func TestGroupTree(t *testing.T) { // F13
	s := serve(t, nil)
	b := browse(t, s)
	b.login("erupt", adminPassword)
	b.open("/console/groups")
	b.shows("[data-testid=empty]")
	for _, g := range []struct{ code, name, parent string }{{"shop", "Shop", ""}, {"shop-eu", "Shop Europe", "shop"}} {
		b.click("[data-testid=new-group]")
		b.fill("#f-code", g.code)
		b.fill("#f-name", g.name)
		b.choose("#f-parent", g.parent)
		b.click("[data-testid=group-form] button[type=submit]")
		b.at("/console/groups")
		b.shows(`[data-testid=group-row][data-group="` + g.code + `"]`)
	}
	if got := b.eval(`[...document.querySelectorAll("[data-testid=group-row]")].map((r) => r.dataset.group).join()`); got != "shop,shop-eu" {
		t.Errorf("the rows are %s, want each group above those in it", got)
	}
	b.shoot("groups")
	var groups struct {
		Items []struct{ Code, Parent string }
	}
	s.must(http.MethodGet, "/api/v1/groups", nil, http.StatusOK, &groups)
	if len(groups.Items) != 2 || groups.Items[1].Code != "shop-eu" || groups.Items[1].Parent != "shop" {
		t.Errorf("the API says %+v", groups.Items)
	}
}

func TestSessionEndedByAnAdmin(t *testing.T) { // F8, S61, U63
	s := serve(t, nil)
	s.hires("li", "李雷", "a-password-for-li", map[string]any{"admin": true})
	b := browse(t, s)
	b.expect("status of 401")
	b.login("li", "a-password-for-li")
	b.open("/console/groups/new")
	b.fill("#f-name", "half a name")
	s.must(http.MethodPatch, "/api/v1/users/li", map[string]any{"password": "another-password-for-li"}, http.StatusOK, nil)
	b.fill("#f-code", "half")
	b.click("[data-testid=group-form] button[type=submit]")
	b.at("/console/login")
	b.shows("[data-testid=ended]")
	b.shoot("ended")
	b.signIn("li", "another-password-for-li")
	b.at("/console/me/password") // somebody else made it
	b.fill("#f-old", "another-password-for-li")
	b.fill("#f-new", "a-third-password-for-li")
	b.fill("#f-again", "a-third-password-for-li")
	b.click("[data-testid=first-password] button[type=submit]")
	b.at("/console/groups/new")
	b.until("the text is gone", `document.querySelector("#f-name").value === "half a name" && document.querySelector("#f-code").value === "half"`)
	var groups struct{ Total int }
	s.must(http.MethodGet, "/api/v1/groups", nil, http.StatusOK, &groups)
	if groups.Total != 0 {
		t.Error("a form of an ended session was carried out")
	}
}
