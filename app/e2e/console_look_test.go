package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// furnished is a server with something on each page: a group, a live node with pages, a role, a user, configurations.
func furnished(t *testing.T) *server {
	t.Helper()
	s := serve(t, nil)
	s.must(http.MethodPost, "/api/v1/groups", map[string]any{"code": "shop", "name": "Shop of a name that is rather long for a phone"}, http.StatusCreated, nil)
	token := s.node("crm")
	s.must(http.MethodPatch, "/api/v1/nodes/crm", map[string]any{"group": "shop", "name": "Customer relations and everything that belongs to them"}, http.StatusOK, nil)
	s.node("a-node-with-a-name-as-long-as-names-may-be-which-is-sixty-four-c")
	s.must(http.MethodPost, "/api/v1/roles", map[string]any{"code": "clerk", "name": "Clerk", "menus": []string{}}, http.StatusCreated, nil)
	s.must(http.MethodPost, "/api/v1/users", map[string]any{"account": "li", "name": "李雷", "password": "a-password-for-li", "roles": []string{"clerk"}}, http.StatusCreated, nil)
	goNode(t, s, "crm", token, freeAddr(t), "")
	s.awaitInstances("crm", 1, patience)
	return s
}

// everyPage are the addresses of all pages of the console, with the status that they answer.
var everyPage = []struct {
	path   string
	status int
}{
	{"/console/nodes", 200}, {"/console/nodes?order=worst", 200}, {"/console/nodes?q=nothing-matches-this", 200}, {"/console/nodes/new", 200},
	{"/console/nodes/crm", 200}, {"/console/nodes/crm/instances", 200}, {"/console/nodes/crm/config", 200},
	{"/console/nodes/crm/pages", 200}, {"/console/nodes/crm/log", 200}, {"/console/nodes/crm/settings", 200},
	{"/console/nodes/a-node-with-a-name-as-long-as-names-may-be-which-is-sixty-four-c", 200},
	{"/console/groups", 200}, {"/console/groups/new", 200}, {"/console/groups/shop", 200}, {"/console/groups/shop/config", 200},
	{"/console/pages", 200}, {"/console/pages/crm.Customer", 200}, {"/console/pages/crm.Customer/record?id=3", 200}, {"/console/pages/crm.Customer/new", 200},
	{"/console/users", 200}, {"/console/users/new", 200}, {"/console/users/li", 200}, {"/console/roles", 200}, {"/console/roles/new", 200},
	{"/console/roles/clerk", 200}, {"/console/audit", 200}, {"/console/me", 200},
	{"/console/nodes/nobody", 404}, {"/console/nowhere", 404},
}

func TestEveryPageOnAPhone(t *testing.T) { // U4, F13
	s := furnished(t)
	b := browse(t, s)
	b.expect("status of 404")
	b.width(360, 780)
	b.open("/console/login")
	b.fits("/console/login")
	b.login("erupt", adminPassword)
	for _, p := range everyPage {
		b.open(p.path)
		b.fits(p.path)
		b.shoot("phone" + strings.NewReplacer("/", "-", "?", "-", "=", "-").Replace(p.path))
	}
	b.open("/console/nodes")
	b.click("[data-do=nav]")
	b.until("the menu does not open", `document.querySelector("#nav a[href$='/console/groups']").checkVisibility()`)
	b.fits("the open menu")
	b.shoot("phone-menu")
	for _, m := range []struct{ path, summary string }{
		{"/console/nodes/crm/instances", "[data-testid=hold]"}, {"/console/nodes/crm/instances", "[data-testid=remove]"},
		{"/console/nodes", "[data-node=crm] details.drop-menu summary"}, {"/console/nodes", "header details.drop-menu summary"},
	} {
		b.open(m.path)
		b.click(m.summary)
		b.fits(m.summary)
		if got := b.eval(`(() => { const r = document.querySelector("details[open] .menu").getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth && r.bottom <= innerHeight })()`); got != "true" {
			t.Errorf("the menu of %s reaches out of the screen: %s", m.summary, b.eval(`JSON.stringify(document.querySelector("details[open] .menu").getBoundingClientRect())`))
		}
		b.shoot("phone-menu-" + strings.Trim(m.summary, "[]=-"))
	}
	b.open("/console/nodes/crm")
	b.click("[data-testid=open-log]")
	b.shows("[data-testid=log-lines] li[data-num]")
	b.fits("the log drawer")
	b.shoot("phone-log")
}

// fits fails if the page scrolls sideways.
func (b *tab) fits(what string) {
	b.t.Helper()
	if b.eval("document.documentElement.scrollWidth <= innerWidth") == "true" {
		return
	}
	b.t.Errorf("%s scrolls sideways: %s of %s pixels; the widest parts: %s", what, b.eval("document.documentElement.scrollWidth"), b.eval("innerWidth"),
		b.eval(`[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 8)
			.map((e) => e.tagName + "." + e.className + "#" + e.id + " " + Math.round(e.getBoundingClientRect().right)).join("; ")`))
}

func TestEveryPageInBothLanguages(t *testing.T) { // U71, F13
	s := furnished(t)
	b := browse(t, s)
	b.expect("status of 404")
	b.login("erupt", adminPassword)
	b.open("/console/nodes?q=crm&order=worst")
	b.click("header button[name=lang][value=zh]")
	b.until("the language did not change", `document.documentElement.lang.startsWith("zh")`)
	b.at("/console/nodes")
	if got := b.eval("location.search"); got != "?q=crm&order=worst" && got != "?order=worst&q=crm" {
		t.Errorf("the switch led to %s, want the same page", b.eval("location.href"))
	}
	id := s.instances("crm")[0].InstanceID
	for _, p := range everyPage {
		resp := b.status(p.path)
		if resp != p.status {
			t.Errorf("%s answered %d, want %d", p.path, resp, p.status)
		}
		b.fits(p.path)
		b.shoot("zh" + strings.NewReplacer("/", "-", "?", "-", "=", "-").Replace(p.path))
		if left := english(strings.ReplaceAll(b.eval(proseOfThePage), id, "")); len(left) > 0 {
			t.Errorf("%s still says in English: %v", p.path, left)
		}
	}
}

// proseOfThePage collects what is written for people: no code, addresses, ids or lines of logs.
const proseOfThePage = `(() => {
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), out = [];
	while (walk.nextNode()) {
		const e = walk.currentNode.parentElement;
		if (e.checkVisibility() && !e.closest("pre, code, .mono, .log, .snips, [data-testid=failure] ~ .small")) out.push(walk.currentNode.data);
	}
	return out.join("\n");
})()`

// english returns the words of a Chinese page that look untranslated. Names are in Latin letters in any language.
func english(text string) []string {
	known := strings.Fields(`erupt cloud english json csv utc debug info warn error go
		crm clerk viewer li shop of a name that is rather long for phone customer customers relations and everything belongs to them stream
		balance contract node with names may be which sixty four token url id crmcustomer sidecar nodeagent nobody
		http get client mozilla linux x applewebkit khtml like gecko headlesschrome chrome safari ms`)
	var left []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') }) {
		low := strings.ToLower(word)
		if len(low) > 2 && !slices.Contains(known, low) && !slices.Contains(left, word) {
			left = append(left, word)
		}
	}
	return left
}

func TestThemes(t *testing.T) { // U1, F13
	s := furnished(t)
	b := browse(t, s)
	b.login("erupt", adminPassword)
	light := b.eval("getComputedStyle(document.body).backgroundColor")
	for b.eval("document.documentElement.dataset.theme") != "dark" {
		before := b.eval("document.documentElement.dataset.theme")
		b.click("header [data-do=theme]")
		b.until("the theme did not change", "document.documentElement.dataset.theme !== "+quote(before))
	}
	if dark := b.eval("getComputedStyle(document.body).backgroundColor"); dark == light {
		t.Errorf("the background is %s in both themes", dark)
	}
	for _, path := range []string{"/console/nodes", "/console/nodes/crm", "/console/pages/crm.Customer", "/console/nodes/crm/config"} {
		b.open(path) // the choice is remembered, and known before the page is drawn
		if got := b.eval("document.documentElement.dataset.theme"); got != "dark" {
			t.Errorf("%s is %s after the choice of dark", path, got)
		}
		b.shoot("dark" + strings.ReplaceAll(path, "/", "-"))
	}
}

// write has a node that says what it is told write a line to its log.
func (s *server) write(node, line string) {
	s.t.Helper()
	resp, raw := s.call(http.MethodPost, "/erupt-api/data/"+node+".Stream/operator/say?"+url.Values{"line": {line}}.Encode(), strings.NewReader(`{"ids":[],"param":null}`),
		http.Header{"erupt": {node + ".Stream"}, "Content-Type": {"application/json"}})
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("say = %d %s", resp.StatusCode, raw)
	}
}

func TestLogDrawerFollows(t *testing.T) { // F13, U30, U31
	s := furnished(t)
	say := func(line string) { t.Helper(); s.write("crm", line) }
	const lines = "[data-testid=log-lines]"
	b := browse(t, s)
	b.login("erupt", adminPassword)
	for i := range 60 {
		say(fmt.Sprintf("2026-11-30 08:00:00.000  INFO 1 --- [main] shop.Till : sale %03d", i))
	}
	b.click("[data-node=crm] [data-testid=open-log]")
	b.says(lines, "sale 059")
	say("2026-11-30 08:00:01.000 ERROR 1 --- [main] shop.Till : <img src=x onerror=alert(1)> 打不开")
	b.says(lines, "<img src=x onerror=alert(1)> 打不开")
	b.until("it does not stay at the end", `(() => { const l = document.querySelector("[data-testid=log-lines]"); return l.scrollHeight - l.scrollTop - l.clientHeight < 24 })()`)
	b.says("[data-log-status]", "Following")
	b.shoot("follow")

	// Who scrolls up is left alone, is told what came, and goes on by a button.
	b.eval(`document.querySelector("[data-testid=log-lines]").scrollTop = 0`)
	b.says("[data-log-status]", "Paused")
	say("2026-11-30 08:00:02.000  INFO 1 --- [main] shop.Till : sale after the pause")
	b.says("[data-log-status]", "1 new")
	b.shoot("paused")
	if got := b.eval(`document.querySelector("[data-testid=log-lines]").scrollTop`); got != "0" {
		t.Errorf("the reader was moved to %s", got)
	}
	b.click("[data-do=log-follow]")
	b.says("[data-log-status]", "Following")

	b.click("[data-do=log-level][value=ERROR]")
	b.until("the filter shows more than the error", `[...document.querySelectorAll("[data-testid=log-lines] li[data-num]")].filter((l) => !l.hidden).length === 1`)
	b.click(`[data-do=log-level][value=""]`)
	b.fill("[data-log-search]", "sale 01")
	b.says("[data-log-found]", "10")
	b.shoot("search")
	b.click("header [data-do=close-drawer]")
	b.until("the drawer stays", `!document.querySelector("[data-testid=log-drawer]")`)
}
