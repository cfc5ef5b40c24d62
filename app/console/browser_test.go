package console

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/app/testbed"
)

// tab is a browser's tab on a console. change alters the world between two requests.
type tab struct {
	t    *testing.T
	ctx  context.Context
	url  string
	gate sync.Mutex

	mu   sync.Mutex
	said []string // errors that the browser reported

	intercept atomic.Pointer[func(http.ResponseWriter, *http.Request) bool] // answers in the console's place, if it returns true
}

func browse(t *testing.T, w *world) *tab {
	t.Helper()
	ctx := testbed.Browser(t)
	s := newSite(t, w)
	b := &tab{t: t}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if f := b.intercept.Load(); f != nil && (*f)(rw, r) {
			return
		}
		if r.URL.Path != "/console/events" {
			b.gate.Lock()
			defer b.gate.Unlock()
		}
		if r.URL.Path == "/sign-in" {
			http.SetCookie(rw, s.cookie("admin"))
			return
		}
		s.http.ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		close(w.done) // ends the event streams, which would keep the server open
		srv.CloseClientConnections()
		srv.Close()
	})
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	b.ctx, b.url = ctx, srv.URL
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.note("exception: " + fmt.Sprint(ev.ExceptionDetails.Text, ev.ExceptionDetails.Exception))
		case *log.EventEntryAdded:
			if string(ev.Entry.Level) == "error" && !strings.HasSuffix(ev.Entry.URL, "/favicon.ico") { // asked for by the page that signs in
				b.note(string(ev.Entry.Source) + ": " + ev.Entry.Text + " " + ev.Entry.URL)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b.size(1280, 900)
	b.open("/sign-in")
	return b
}

func (b *tab) note(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.said = append(b.said, s)
}

func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.said
	b.said = nil
	return out
}

func (b *tab) change(f func()) {
	b.gate.Lock()
	defer b.gate.Unlock()
	f()
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) size(width, height int64) { b.t.Helper(); b.do(chromedp.EmulateViewport(width, height)) }
func (b *tab) open(path string)         { b.t.Helper(); b.do(chromedp.Navigate(b.url + path)) }
func (b *tab) click(css string)         { b.t.Helper(); b.do(chromedp.Click(chromedp.CSS(css))) }

// keys types into a field. The field is found in the page: chromedp.SendKeys reads attributes while its own loop writes them.
func (b *tab) keys(css, text string) {
	b.t.Helper()
	b.until("a field "+css, focusing(css))
	b.do(chromedp.KeyEvent(text))
}

// focusing is an expression that is true once the element has the focus.
func focusing(css string) string {
	return `(() => { const e = document.querySelector(` + strconv.Quote(css) + `); if (!e || e.disabled || !e.checkVisibility()) return false; e.focus(); return document.activeElement === e })()`
}

func (b *tab) eval(js string) any {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](js))
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return v
}

// until waits for a condition in the page, also over a change of pages.
func (b *tab) until(what, js string) {
	b.t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; {
		_, err := chromedp.Run(b.ctx, chromedp.Poll[bool]("!!("+js+")", chromedp.WithPollingTimeout(5*time.Second)))
		if err == nil {
			return
		}
		if time.Now().After(deadline) || b.ctx.Err() != nil {
			b.t.Fatalf("%s: %v\n%v", what, err, b.eval(`location.href + "\n" + (document.body?.innerText ?? "").slice(0, 2000)`))
		}
	}
}

// browserPages are the pages that somebody opens; what only fills a part of one is left out.
func browserPages() []string {
	all := append(everyPage("order-service", "i-1", "commerce", "lin.wei", "ops"), "/console/nodes/promo-engine/instances", "/console/nodes/carrier-sf")
	return slices.DeleteFunc(all, func(path string) bool {
		return regexp.MustCompile(`/(drains|arrival|log/lines|palette)\b`).MatchString(path)
	})
}

func TestPagesFitAndBreakNoRuleInABrowser(t *testing.T) { // U1, U4
	w := commerce()
	w.deepen()
	b := browse(t, w)
	for _, width := range []int64{360, 768, 1440} {
		b.size(width, 900)
		for _, path := range browserPages() {
			if strings.Contains(path, "/log/lines") || strings.Contains(path, "/palette") {
				continue
			}
			b.open(path)
			b.until("script on "+path, `document.documentElement.classList.contains("js")`)
			if over := b.eval(`document.documentElement.scrollWidth - innerWidth`); over.(float64) > 0 {
				wide := b.eval(`[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".vh, [hidden]")).slice(0, 4).map((e) => e.tagName + "." + e.className).join(" ")`)
				t.Errorf("%s at %d px scrolls sideways by %v px: %v", path, width, over, wide)
			}
			for _, c := range b.complaints() {
				if !strings.Contains(c, "404") || !strings.Contains(path, "missing") {
					t.Errorf("%s at %d px: %s", path, width, c)
				}
			}
		}
	}
}

func TestOpenPageFollowsTheFleet(t *testing.T) { // U60, S75
	w := commerce()
	b := browse(t, w)
	b.open("/console/nodes")
	b.until("the stream", `document.querySelector("#live[data-on] .lbl")?.textContent === "Live"`)
	leave := func(node string) {
		b.change(func() {
			for _, in := range w.instances {
				if in.NodeName == node {
					_ = fakeRegistry{w}.Remove(context.Background(), in.Key, registry.Patrol)
					return
				}
			}
		})
	}
	b.eval(`window.same = true; 0`)
	leave("ledger")
	b.until("the row", `document.querySelector("#node-ledger").dataset.state === "down" && document.querySelector("#node-ledger .says").textContent.includes("survival check")`)
	b.until("the headline", `document.querySelector("[data-testid=headline]").textContent.startsWith("Two nodes are offline")`)
	b.until("the side list", `document.querySelector("#side-groups a[href$='group=payments'] .is-down")`)

	// A search that is being typed, an open menu and a selection survive what changes around them.
	b.keys("#node-q", "service")
	b.until("the search", `document.querySelectorAll("[data-testid=node-row]").length === 2 && location.search.includes("q=service")`)
	b.click("#node-order-service .drop-menu > summary")
	leave("cart-service")
	b.until("the row beside the menu", `document.querySelector("#node-cart-service td[data-l=Instances]").textContent.trim() === "1/1"`)
	if got := b.eval(`[window.same, document.querySelector("#node-order-service .drop-menu").open, document.querySelector("#node-q").value].join()`); got != "true,true,service" {
		t.Errorf("after a refresh: %v, want the page, its menu and its search as they were", got)
	}
	b.eval(`document.querySelector("#node-order-service .drop-menu").open = false; document.querySelector("#node-q").focus(); 0`)
	leave("order-service")
	b.until("the count", `document.querySelector("#node-order-service td[data-l=Instances]").textContent.trim() === "3/3"`)
	if got := b.eval(`document.activeElement.id`); got != "node-q" {
		t.Errorf("the focus went to %v", got)
	}
}

// TestFocusStaysWhenRowsCome: a list that gets other rows is replaced as a whole, and what had the focus has it again; where its
// row is gone, the row in its place has it (U61).
func TestFocusStaysWhenRowsCome(t *testing.T) {
	w := commerce()
	b := browse(t, w)
	b.open("/console/nodes")
	b.until("the stream", `document.querySelector("#live[data-on] .lbl")?.textContent === "Live"`)
	b.eval(`document.querySelector("#node-order-service a.open").focus(); window.was = document.activeElement; 0`)
	drop := func(name string) {
		b.change(func() {
			w.nodes = slices.DeleteFunc(w.nodes, func(n fleet.Node) bool { return n.Name == name })
			w.changed[0]("node", name)
		})
	}
	drop("ledger")
	b.until("the row is gone", `!document.querySelector("#node-ledger")`)
	if got := b.eval(`[document.activeElement.closest("tr")?.id, document.activeElement.matches("a.open"), window.was.isConnected].join()`); got != "node-order-service,true,false" {
		t.Errorf("after other rows: %v, want the focus on the new link of the same row", got)
	}
	drop("order-service")
	b.until("its own row is gone", `!document.querySelector("#node-order-service")`)
	if got := b.eval(`document.activeElement.closest("tr[id]") !== null`); got != true {
		t.Errorf("the focus went to %v, want a row", b.eval(`document.activeElement.outerHTML.slice(0, 200)`))
	}
}

func TestPageSaysWhenTheServerIsAway(t *testing.T) { // U62, S76, S90
	w := commerce()
	b := browse(t, w)
	b.open("/console/nodes/order-service")
	b.until("the stream", `document.querySelector("#live[data-on] .lbl")?.textContent === "Live"`)
	b.eval(`window.fetchWas = window.fetch; window.fetch = () => Promise.reject(new TypeError("away")); document.dispatchEvent(new Event("visibilitychange")); 0`)
	b.until("reconnecting", `document.querySelector("#live").classList.contains("stale") && document.querySelector("#live .lbl").textContent.startsWith("Reconnecting since")`)
	b.eval(`window.fetch = window.fetchWas; 0`)
	b.change(func() { w.changed[0]("node", "order-service") })
	b.until("live again", `document.querySelector("#live[data-on] .lbl")?.textContent === "Live"`)
}

func TestTypedTextOutlivesTheSession(t *testing.T) { // S61, U63
	w := commerce()
	b := browse(t, w)
	b.open("/console/nodes/order-service/config")
	b.until("the editor", `document.querySelector("[data-editor]").dataset.ready`)
	b.eval(`(() => { const t = document.querySelector("[data-testid=editor]"); t.focus(); t.value = '{"typed": tru}'; t.dispatchEvent(new Event("input", { bubbles: true })); })(); 0`)
	b.until("the error while typing", `document.querySelector("[data-json-where]").textContent === "Line 1, column 11" && document.querySelector("[data-testid=review]").disabled`)
	b.eval(`(() => { const t = document.querySelector("[data-testid=editor]"); t.value = '{"typed": true}'; t.dispatchEvent(new Event("input", { bubbles: true })); })(); 0`)
	b.until("valid", `!document.querySelector("[data-testid=review]").disabled`)
	admin := w.sessions["admin"]
	b.change(func() { delete(w.sessions, "admin") })
	b.click("[data-testid=review]")
	b.until("the login", `location.pathname === "/console/login" && document.querySelector("[data-testid=ended]")`)
	if got := b.eval(`new URLSearchParams(location.search).get("next")`); got != "/console/nodes/order-service/config" {
		t.Errorf("way back = %v", got)
	}
	b.change(func() { w.sessions["admin"] = admin })
	b.keys("#account", "admin")
	b.keys("#password", "right")
	b.click("[data-testid=login-form] [type=submit]")
	b.until("the text", `location.pathname.endsWith("/config") && document.querySelector("[data-testid=editor]").value === '{"typed": true}'`)
	b.click("[data-testid=review]")
	b.until("the review", `document.querySelector("[data-testid=publish]")`)
	if got := b.eval(`Object.keys(sessionStorage).join()`); strings.Contains(got.(string), "ec-kept") {
		t.Errorf("the kept text stays behind: %v", got)
	}
}

func TestDraftsStayInTheirTabUntilPublished(t *testing.T) { // U40, S62
	b := browse(t, commerce())
	const dot = `document.querySelectorAll(".side a[href='/console/nodes/order-service/config'] .draft").length`
	write := func(text string) {
		b.until("the editor", `document.querySelector("[data-editor]").dataset.ready`)
		b.eval(`(() => { const t = document.querySelector("[data-testid=editor]"); t.value = '` + text + `'; t.dispatchEvent(new Event("input", { bubbles: true })); })(); 0`)
	}
	b.open("/console/nodes/order-service/config")
	write(`{"written": 1}`)
	b.until("its dot", dot+" === 1")
	b.click(`[data-go="c"]`)
	b.until("its dot in the tree", `document.querySelector("[data-testid=config-tree]") && `+dot+" === 1")
	b.eval(`document.querySelector(".side a[href='/console/nodes/order-service/config']").click(); 0`)
	b.until("the draft", `document.querySelector("[data-testid=editor]").value === '{"written": 1}' && document.querySelector("[data-testid=discard]").checkVisibility()`)
	b.click("[data-testid=discard]")
	b.until("the published text", dot+` === 0 && !document.querySelector("[data-testid=editor]").value.includes("written") && !document.querySelector("[data-testid=discard]").checkVisibility()`)

	write(`{"written": 2}`)
	b.until("valid", `!document.querySelector("[data-testid=review]").disabled`)
	b.click("[data-testid=review]")
	b.until("the review keeps it", `document.querySelector("[data-testid=publish]") && `+dot+" === 1")
	b.keys("[data-testid=publish] [name=note]", "two")
	b.click("[data-testid=publish-now]")
	b.until("published", `document.querySelector("[data-testid=editor]")?.value.includes('"written": 2') && `+dot+" === 0")

	write(`{"written": 3}`)
	b.until("its dot", dot+" === 1")
	b.click(".drop-menu > summary[aria-label^='User menu']")
	b.click("[data-testid=logout]")
	b.until("logged out", `location.pathname === "/console/login" && !Object.keys(sessionStorage).some((k) => k.startsWith("ec-draft"))`)
}

func TestTokenStaysNowhereInTheBrowser(t *testing.T) { // S62
	b := browse(t, commerce())
	b.open("/console/nodes/order-service")
	b.click("[data-testid=show-token]")
	b.until("the token", `document.querySelector("[data-testid=token]")?.textContent === "`+secretToken+`" && document.querySelector("#snippet-yaml").textContent.includes("`+secretToken+`")`)
	b.click(".drop-menu > summary[aria-label^='User menu']")
	b.click("[data-testid=logout]")
	b.until("logged out", `location.pathname === "/console/login"`)
	if got := b.eval(`JSON.stringify(sessionStorage) + JSON.stringify(localStorage)`); strings.Contains(got.(string), secretToken) {
		t.Errorf("storage holds %v", got)
	}
	b.do(chromedp.NavigateBack())
	b.until("back asks for the login", `location.pathname === "/console/login" && !document.body.innerText.includes("`+secretToken+`")`)
}

func TestThemeAndLanguageSwitchWithoutLosingThePage(t *testing.T) { // U1, U71
	b := browse(t, commerce())
	b.open("/console/nodes?state=up")
	b.click(".tools [name=theme]")
	b.until("light", `document.documentElement.dataset.theme === "light" && document.cookie.includes("ec_theme=light")`)
	b.click(".tools [name=theme]")
	b.until("dark", `document.documentElement.dataset.theme === "dark" && getComputedStyle(document.body).backgroundColor === "rgb(21, 20, 19)"`)
	b.click(".tools [name=lang]")
	b.until("Chinese", `document.documentElement.lang === "zh-CN" && document.documentElement.dataset.theme === "dark"`)
	if got := b.eval(`location.pathname + location.search`); got != "/console/nodes?state=up" {
		t.Errorf("now at %v", got)
	}
	if got := b.eval(`document.querySelector("h1").innerText`); !strings.Contains(got.(string), "节点") {
		t.Errorf("title = %v", got)
	}
}

func TestKeysReachWhatTheMouseReaches(t *testing.T) { // U70
	b := browse(t, commerce())
	b.open("/console/nodes")
	b.do(chromedp.KeyEvent("/"))
	b.until("the search", `document.activeElement.id === "node-q"`)
	b.eval(`document.activeElement.blur(); 0`)
	b.do(chromedp.KeyEvent("j"))
	b.until("the first row", `document.activeElement.textContent === "legacy-mall"`)
	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"))
	b.until("the second row", `document.activeElement.textContent === "cart-service"`)
	b.do(chromedp.KeyEvent("\r"))
	b.until("the node and its scripts, which run when it is read", `location.pathname === "/console/nodes/cart-service" && document.readyState === "complete"`)
	b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("n"))
	b.until("the list again", `location.pathname === "/console/nodes"`)
}

func TestBackShowsTheWholePageWithItsSearch(t *testing.T) { // S78, S79
	b := browse(t, commerce())
	b.open("/console/nodes")
	b.keys("#node-q", "ledger")
	b.until("the search", `document.querySelectorAll("[data-testid=node-row]").length === 1 && location.search.includes("ledger")`)
	b.click("#node-ledger a.open")
	b.until("the node", `location.pathname === "/console/nodes/ledger" && document.querySelectorAll("[data-testid=instance-row]").length === 1`)
	b.do(chromedp.NavigateBack())
	b.until("back", `location.search.includes("ledger") && document.querySelector(".top") && document.querySelector("#node-q").value === "ledger" && document.querySelectorAll("[data-testid=node-row]").length === 1`)
}
