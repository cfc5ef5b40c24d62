package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"eruptcloud/app/testbed"
)

// many creates profiles n00, n01, …: rows to filter, to scroll and to page through.
func (s *server) many(n int) {
	s.t.Helper()
	for i := range n {
		s.node(fmt.Sprintf("n%02d", i))
	}
}

// rename is a change that open pages hear of; shown is how the list says that it has arrived.
func (s *server) rename(node, name string) (shown string) {
	s.t.Helper()
	s.must(http.MethodPatch, "/api/v1/nodes/"+node, map[string]any{"name": name}, http.StatusOK, nil)
	return fmt.Sprintf(`document.getElementById("node-%s")?.innerText.includes(%s)`, node, quote(name))
}

// unturned marks a page; stillThere then proves that it was not loaded anew.
func (b *tab) unturned() { b.t.Helper(); b.eval("window.unturned = true") }

const stillThere = "window.unturned === true"

// isLive waits until the page hears of changes.
func (b *tab) isLive() {
	b.t.Helper()
	b.until("the page is not live", `document.querySelector("#live[data-on] .lbl")?.innerText === "Live" && document.querySelector("#live").classList.contains("is-up")`)
}

func TestRefreshesTakeNothingAway(t *testing.T) { // S75, U61
	s := serve(t, nil)
	s.many(40)
	s.beater(t, "shop", s.node("shop"), "i1")
	s.awaitInstances("shop", 1, patience)
	b := browse(t, s)
	b.login("erupt", adminPassword)
	b.width(1280, 600)
	b.open("/console/nodes?order=worst")
	b.isLive()
	b.unturned()
	refreshed := func(phase string) {
		t.Helper()
		for i := range 5 {
			b.until(phase+": the change does not arrive", s.rename("shop", fmt.Sprintf("%s %d", phase, i)))
		}
	}

	// A menu is open, a text is selected, and the page is scrolled half way.
	b.eval(`window.scrollTo(0, (document.documentElement.scrollHeight - innerHeight) / 2)`)
	const inSight = `[...document.querySelectorAll("tr[data-node^=n]")].filter((r) => { const at = r.getBoundingClientRect(); return at.top > 150 && at.bottom < innerHeight - 150 })`
	b.eval(`(() => { const [row, other] = ` + inSight + `; window.row = row.id; window.other = other.id })()`)
	menu := "#" + b.eval("window.row") + " details.drop-menu"
	b.click(menu + " > summary")
	b.until("the menu does not open", "document.querySelector("+quote(menu)+").open")
	b.eval(`getSelection().selectAllChildren(document.querySelector("#" + window.other + " a.open"))`)
	const state = `[document.querySelector("#" + window.row + " details.drop-menu").open, getSelection().toString(), scrollY, document.querySelector("#" + window.row).getBoundingClientRect().top].join(" ")`
	before := b.eval(state)
	if !strings.HasPrefix(before, "true n") || strings.Contains(before, " 0 ") {
		t.Fatalf("nothing to lose: %s", before)
	}
	refreshed("menu")
	if after := b.eval(state); after != before {
		t.Errorf("menu, selection, scroll and place of the row: %q before five refreshes, %q after", before, after)
	}

	// Somebody types.
	b.click(menu + " > summary")
	b.eval(`(getSelection().removeAllRanges(), window.scrollTo(0, 0))`)
	b.fill("#node-q", "sho")
	b.until("the filter does not work", `document.querySelectorAll("[data-testid=node-row]").length === 1 && location.search.includes("q=sho")`)
	b.eval(`document.querySelector("#node-q").setSelectionRange(1, 2)`)
	refreshed("typing")
	const field = `[document.activeElement.id, document.activeElement.value, document.activeElement.selectionStart, document.activeElement.selectionEnd].join(" ")`
	if got := b.eval(field); got != "node-q sho 1 2" {
		t.Errorf("after five refreshes the field is %q, want that nothing moved", got)
	}
	if n := b.eval(`document.querySelectorAll("[data-testid=node-row]").length`); n != "1" {
		t.Errorf("%s rows: the refresh forgot the filter", n)
	}
	if b.eval(stillThere) != "true" {
		t.Error("the page was loaded anew")
	}
}

// gauge stands before a server and counts the requests to it.
type gauge struct {
	streams, logs atomic.Int64 // event streams that are open; requests for lines of a log
}

func (s *server) gauged(t *testing.T) *gauge {
	t.Helper()
	g := &gauge{}
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}, FlushInterval: -1, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/console/events":
			g.streams.Add(1)
			defer g.streams.Add(-1)
		case strings.HasSuffix(r.URL.Path, "/log/lines"):
			g.logs.Add(1)
		}
		front.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	s.URL = srv.URL
	return g
}

func TestUpdatesResumeAfterARestart(t *testing.T) { // S76, U62
	address, data := freeAddr(t), t.TempDir()
	key := func(b string) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(b, 48))) }
	env := []string{ // Redis keeps the session over the restart
		"EC_DATABASE_DRIVER=mysql", "EC_DATABASE_DSN=" + testbed.MariaDB(t), "EC_DATABASE_MIGRATE=true", "EC_REDIS_URL=" + testbed.RedisServer(t).URL(),
		"EC_SESSION_KEYS=" + key("s"), "EC_SECRETS_TOKEN_KEY=" + key("t"), "EC_NETGUARD_ALLOW_LOOPBACK=true",
	}
	s := serveIn(t, data, env, "--listen", address)
	beats := s.beater(t, "shop", s.node("shop"), "i1")
	b := browse(t, s)
	b.expect("ERR_CONNECTION_REFUSED")
	b.expect("ERR_INCOMPLETE_CHUNKED_ENCODING")
	b.expect("ERR_CONNECTION_RESET")
	b.expect("ERR_EMPTY_RESPONSE")
	b.login("erupt", adminPassword)
	b.open("/console/nodes")
	b.isLive()
	b.unturned()
	b.until("no update before the restart", s.rename("shop", "before"))
	s.process.kill()
	b.until("the page does not say that it is cut off", `document.querySelector("#live").classList.contains("stale")`)
	beats.stop()
	s = serveIn(t, data, env, "--listen", address)
	b.isLive()
	for _, name := range []string{"after", "and on", "and on again"} {
		b.until("updates stop after the restart", s.rename("shop", name))
	}
	if b.eval(stillThere) != "true" {
		t.Error("the page was loaded anew")
	}
}

func TestDrawerLeavesOneStream(t *testing.T) { // S76
	s := furnished(t)
	g := s.gauged(t)
	b := browse(t, s)
	b.login("erupt", adminPassword)
	b.open("/console/nodes")
	b.isLive()
	b.unturned()
	for range 50 {
		b.eval(`document.querySelector("#node-crm [data-testid=open-log]").click()`)
		b.until("the drawer does not open", `document.querySelector("#drawer .log-panel")`)
		b.eval(`document.querySelector("#drawer [data-do=close-drawer]").click()`)
		b.until("the drawer does not close", `!document.querySelector("#drawer > *") && location.pathname === "/console/nodes"`)
	}
	eventually(t, patience, func() bool { return g.streams.Load() == 1 }, func() string { return fmt.Sprintf("%d streams are open, want one", g.streams.Load()) })
	asked := g.logs.Load()
	for i := range 3 { // each takes about as long as an open log waits before it asks again
		b.until("updates stop", s.rename("crm", fmt.Sprintf("round %d", i)))
	}
	if n := g.logs.Load() - asked; n != 0 {
		t.Errorf("closed drawers asked %d times for lines", n)
	}
	if n := g.streams.Load(); n != 1 || b.eval(stillThere) != "true" {
		t.Errorf("%d streams, the same page: %s", n, b.eval(stillThere))
	}
}

func TestEightTabsAreAllUsable(t *testing.T) { // S77
	s := serve(t, nil)
	g := s.gauged(t)
	s.many(3)
	s.beater(t, "shop", s.node("shop"), "i1")
	first := browse(t, s)
	first.login("erupt", adminPassword)
	tabs := []*tab{first}
	for range 7 {
		tabs = append(tabs, first.another())
	}
	for _, b := range tabs {
		b.open("/console/nodes")
		b.isLive()
	}
	if n := g.streams.Load(); n != 1 {
		t.Errorf("eight tabs keep %d streams open, want that they share one", n)
	}
	shown := s.rename("shop", "heard by all")
	for i, b := range tabs {
		b.until(fmt.Sprintf("tab %d hears nothing", i), shown)
	}
	for i, b := range tabs { // a request leaves each of them while all are open
		b.click("#node-n00 a.open")
		b.at("/console/nodes/n00")
		b.until(fmt.Sprintf("tab %d is not live on the next page", i), `document.querySelector("#live[data-on]")?.classList.contains("is-up")`)
	}
}

func TestBackShowsWholePages(t *testing.T) { // S78, U80
	s := serve(t, nil)
	s.many(60)
	b := browse(t, s)
	b.login("erupt", adminPassword)
	b.open("/console/nodes?order=worst&size=25")
	b.fill("#node-q", "n")
	b.until("the filter does not work", `location.search.includes("q=n") && document.querySelectorAll("[data-testid=node-row]").length === 25`)
	whole := func(where, page string) string {
		return fmt.Sprintf(`document.readyState === "complete" && location.pathname === "/console/nodes" && document.querySelector("#nav") && document.querySelector("head link[rel=stylesheet]") &&
			document.querySelector("#node-q").value === "n" && document.querySelectorAll("[data-testid=node-row]").length === 25 && (new URLSearchParams(location.search).get("page") || "1") === %s && %s`, quote(page), where)
	}
	b.click("[data-testid=pager] a[rel=next]")
	b.until("the second page", whole("true", "2"))
	second := b.eval("location.pathname + location.search")
	row := b.eval(`document.querySelector("[data-testid=node-row]").id`)
	b.click("#" + row + " a.open")
	b.until("the node's page", `location.pathname.startsWith("/console/nodes/n") && document.readyState === "complete"`)
	b.eval("history.back()")
	b.until("Back does not show the second page whole", whole(`document.getElementById(`+quote(row)+`)`, "2"))
	b.eval("history.back()")
	b.until("Back does not show the first page whole", whole(`!document.getElementById(`+quote(row)+`)`, "1"))

	// Part and whole of one address share no entry of the cache, whichever came first.
	for _, header := range []string{`{ "HX-Request": "true" }`, `{}`} {
		b.eval(`(window.kept = "", fetch(` + quote(second) + `, { headers: ` + header + ` }).then((a) => a.text()).then(() => fetch(` + quote(second) + `, { cache: "force-cache", headers: { Accept: "text/html" } })).then((a) => a.text()).then((x) => { window.kept = x; }), 0)`)
		b.until("a part was kept as the page", `window.kept.trimStart().toLowerCase().startsWith("<!doctype html") && window.kept.includes("</html>")`)
	}
	again := b.another() // what a browser that is opened again does: the same address, the same cookies, the same cache
	again.open(second)
	again.until("the reopened page is not whole", whole(`document.getElementById(`+quote(row)+`)`, "2"))
}

func TestQuietPagesLiveOnBehindNginx(t *testing.T) { // S93, U62
	s := serve(t, nil, "--base-path", prefix)
	inner := originOf(t, s.URL)
	goNode(t, s, "crm", s.node("crm"), freeAddr(t), "")
	s.awaitInstances("crm", 1, patience)
	// Buffering is on, as it is by default, and a stream is cut after two seconds of silence instead of sixty.
	const pass = "proxy_pass %[1]s; proxy_set_header Host $http_host; "
	nginx(t, s, fmt.Sprintf(pass+"location "+prefix+"/console/events { "+pass+"proxy_read_timeout 2s; }", inner), false)
	for i := range 80 {
		s.write("crm", fmt.Sprintf("2026-11-30 08:00:00.000  INFO 1 --- [main] shop.Till : sale %03d", i))
	}
	b := browse(t, s)
	b.expect("ERR_INCOMPLETE_CHUNKED_ENCODING")
	b.login("erupt", adminPassword)
	b.open("/console/nodes")
	b.isLive()
	b.click("#node-crm [data-testid=open-log]")
	b.says("[data-testid=log-lines]", "sale 079")
	b.unturned()
	// Somebody reads and has marked a line; the line is far from the end.
	b.eval(`(() => { const l = document.querySelector("[data-testid=log-lines]"), line = [...l.querySelectorAll("li[data-num]")].find((x) => x.innerText.includes("sale 040"));
		line.scrollIntoView({ block: "center" }); getSelection().selectAllChildren(line); })()`)
	b.says("[data-log-status]", "Paused")
	const place = `[getSelection().toString(), document.querySelector("[data-testid=log-lines]").scrollTop].join(" ")`
	before := b.eval(place)
	b.eval(`(window.cuts = 0, window.was = false, new MutationObserver(() => { const now = document.querySelector("#live").classList.contains("stale"); if (now && !window.was) window.cuts++; window.was = now; }).observe(document.querySelector("#live"), { attributes: true }))`)
	b.until("the stream is not cut while nothing happens", "window.cuts >= 2")
	b.isLive()

	s.write("crm", "2026-11-30 09:00:00.000  INFO 1 --- [main] shop.Till : after the silence")
	const line = `[...document.querySelectorAll("[data-testid=log-lines] li[data-num]")].filter((l) => l.innerText.includes("after the silence")).length`
	b.until("the line is lost", line+" === 1")
	b.until("the change is lost", s.rename("crm", "another name"))
	b.says("[data-log-status]", "1 new")
	if after := b.eval(place); after != before || !strings.Contains(before, "sale 040") {
		t.Errorf("selection and place: %q before, %q after", before, after)
	}
	b.until("the stream is not cut again", "window.cuts >= 3")
	b.isLive()
	b.until("the next change is lost", s.rename("crm", "yet another name"))
	if n := b.eval(line); n != "1" {
		t.Errorf("the line is there %s times", n)
	}
	if nums := b.eval(`(() => { const all = [...document.querySelectorAll("[data-testid=log-lines] li[data-num]")].map((l) => l.dataset.num); return all.length - new Set(all).size })()`); nums != "0" {
		t.Errorf("%s lines came twice", nums)
	}
	if b.eval(stillThere) != "true" {
		t.Error("the page was loaded anew")
	}
}
