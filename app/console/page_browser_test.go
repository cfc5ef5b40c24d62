package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/chromedp"

	"eruptcloud/app/testbed"
	"eruptcloud/proxy"
)

// pageTab is a browser's tab on a console with pages.
type pageTab struct {
	t   *testing.T
	ctx context.Context
	url string
}

func openTab(t *testing.T, w *world, f PageCaller) *pageTab {
	t.Helper()
	ctx := testbed.Browser(t)
	s := newPageSite(t, w, f)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
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
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	b := &pageTab{t, ctx, srv.URL}
	b.do(chromedp.EmulateViewport(1280, 900))
	b.open("/sign-in")
	return b
}

func (b *pageTab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *pageTab) open(path string) { b.t.Helper(); b.do(chromedp.Navigate(b.url + path)) }

func (b *pageTab) eval(js string) any {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](js))
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return v
}

func (b *pageTab) click(css string) { b.t.Helper(); b.do(chromedp.Click(chromedp.CSS(css))) }

// until waits for a condition in the page, also over a change of pages.
func (b *pageTab) until(what, js string) {
	b.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		_, err := chromedp.Run(b.ctx, chromedp.Poll[bool]("!!("+js+")", chromedp.WithPollingTimeout(5*time.Second)))
		if err == nil {
			return
		}
		if time.Now().After(deadline) || b.ctx.Err() != nil {
			b.t.Fatalf("%s: %v\n%v", what, err, b.eval(`document.querySelector("#drawer").innerText + "\n" + document.querySelector("#main").innerText.slice(0, 2000)`))
		}
	}
}

func TestDrawerInABrowser(t *testing.T) {
	w, f := warehouse(t)
	b := openTab(t, w, f)
	b.open("/console/pages/warehouse.Customer")
	b.until("the table", `document.querySelectorAll("[data-testid=view-row]").length === 10 && window.ecPages`)
	b.click("[data-testid=view-row] a.open")
	b.until("the drawer", `document.querySelector("#drawer > .drawer #f-name") && document.querySelector("#frame").inert`)

	// Text that was typed is not lost by leaving.
	b.until("a field #f-name", focusing("#f-name"))
	b.do(chromedp.KeyEvent("New "))
	b.eval(`window.asked = 0; window.confirm = () => { window.asked++; return false; }; 0`)
	b.do(chromedp.KeyEvent("\x1b"))
	b.click("#drawer [data-do=close-drawer][aria-label]")
	if got := b.eval(`window.asked + " " + document.querySelector("#f-name").value`); got != "2 New Customer 1" {
		t.Errorf("leaving with typed text: %v, want it asked twice and kept", got)
	}

	// A reference is chosen by typing; Enter takes the choice and does not send the form.
	b.click("#f-region")
	b.until("the choices", `document.querySelectorAll("#f-region-list input[type=radio]").length === 6`)
	b.until("a field #f-region", focusing("#f-region"))
	b.do(chromedp.KeyEvent("germ"))
	b.until("the search", `[...document.querySelectorAll("#f-region-list label")].some((l) => l.querySelector("mark")?.textContent === "Germ") && document.querySelectorAll("#f-region-list label").length === 4`)
	b.eval(`document.querySelector("#f-region-list input[data-label=Germany]").closest("label").click(); 0`)
	if got := b.eval(`new FormData(document.querySelector("#record-form")).get("f.region")`); got != "2\tGermany" {
		t.Errorf("chosen region = %q", got)
	}
	if len(f.sent("data/modify/{e}/update")) != 0 {
		t.Fatal("choosing sent the form")
	}

	// A refusal keeps the drawer and the text; then it saves, once, closes and reloads the table.
	saved := f.says["data/modify/{e}/update"]
	f.on("data/modify/{e}/update", f.recorded("classic-refused-required"))
	b.click("#record-save")
	b.until("the refusal", `document.querySelector("#drawer [data-testid=record-notice]") && document.querySelector("#f-name-e")`)
	if got := b.eval(`document.querySelector("#f-name").value + "|" + new FormData(document.querySelector("#record-form")).get("f.region") + "|" + (document.activeElement.dataset.testid || "")`); got != "New Customer 1|2\tGermany|record-notice" {
		t.Errorf("after the refusal: %v", got)
	}
	f.on("data/modify/{e}/update", func(c proxy.Call, body []byte) (*proxy.Answer, error) {
		f.on("data/table/{e} warehouse.Customer", says(200, `{"pageIndex":1,"pageSize":20,"total":1,"totalPage":1,"list":[{"id":1,"name":"New Customer 1"}]}`))
		return saved(c, body)
	})
	b.eval(`const s = document.querySelector("#record-save"); s.click(); s.click(); 0`)
	b.until("the saved table", `!document.querySelector("#drawer > .drawer") && !document.querySelector("#frame").inert && document.querySelectorAll("[data-testid=view-row]").length === 1`)
	b.until("the toast", `document.querySelector("#toasts").textContent.includes("Record saved")`)
	if got := f.sent("data/modify/{e}/update"); len(got) != 2 || !strings.Contains(got[1], `"name":"New Customer 1"`) || !strings.Contains(got[1], `"region":{"id":"2","name":"Germany"}`) {
		t.Errorf("updates = %q, want the refused one and one more", got)
	}
	b.do(chromedp.Navigate(b.url + "/console/pages")) // nothing unsaved is left: this must not ask
}

func TestDeletingInABrowser(t *testing.T) {
	w, f := warehouse(t)
	b := openTab(t, w, f)
	b.open("/console/pages/warehouse.Customer?s=1")
	b.until("the table", `window.ecPages && document.querySelector("[data-testid=page-delete]").disabled`)
	b.click("#record-2 [data-row]")
	b.click("#record-4 [data-row]")
	b.click("[data-testid=page-delete]")
	b.until("the question", `document.querySelector("[data-testid=page-delete-sure]")?.textContent === "Delete 2 records"`)
	b.click("[data-testid=page-delete-sure]")
	b.until("the toast", `document.querySelector("#toasts").textContent.includes("Deleted") && !document.querySelector("[data-testid=page-delete-sure]")`)
	if got := f.sent("data/modify/{e}/delete"); len(got) != 1 || got[0] != `["2","4"]` {
		t.Errorf("deleted %q", got)
	}
	b.until("the reloaded table", `document.querySelectorAll("[data-row]:checked").length === 0`)
}

func TestPagesOfNodesFitAndBreakNoRuleInABrowser(t *testing.T) { // U4, S60
	w, f := warehouse(t)
	w.pageMenus("admin", true, "label-printer.Label", "warehouse.Region")
	b := openTab(t, w, f)
	var mu sync.Mutex
	var said []string
	err := chromedp.Listen(b.ctx, func(ev any) {
		if e, ok := ev.(*log.EventEntryAdded); ok && string(e.Entry.Level) == "error" && e.Entry.Source != "network" {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, e.Entry.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{
		"", "?q=zzz", "/warehouse.Customer", "/warehouse.Customer?s=1&q.score.from=abc", "/warehouse.Widget", "/shop.Customer", "/warehouse.Region", "/warehouse.StockItem",
		"/label-printer.Label", "/warehouse.Widget/record?id=3", "/warehouse.Purchase/record?id=1", "/shop.Customer/record?id=1", "/shop.Customer/new", "/warehouse.Ledger/record?id=1",
	}
	for _, width := range []int64{360, 1280, 2560} {
		b.do(chromedp.EmulateViewport(width, 900))
		for _, p := range paths {
			b.open("/console/pages" + p)
			wide := b.eval(`[...document.querySelectorAll("main *")].filter((e) => !e.closest(".page-scroll, .vh") && e.getBoundingClientRect().right > innerWidth + 1).slice(0, 4).map((e) => e.tagName + "." + e.className).join(" ")`)
			if over := b.eval(`document.documentElement.scrollWidth - innerWidth`); over.(float64) > 0 {
				t.Errorf("/console/pages%s at %d px scrolls sideways by %v px: %v", p, width, over, wide)
			}
		}
		b.open("/console/pages/warehouse.Widget")
		b.click("[data-testid=view-row] a")
		b.until("the drawer", `document.querySelector("#drawer > .drawer") && document.querySelector("#drawer").getBoundingClientRect().right <= innerWidth`)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(said) > 0 {
		t.Errorf("the browser complains: %q", said)
	}
}
