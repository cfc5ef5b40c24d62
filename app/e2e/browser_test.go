package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"eruptcloud/app/testbed"
)

// patience is how long a page may take for what it was asked to do.
const patience = 20 * time.Second

// tab is a browser tab. Whatever it writes to the console as a warning or an error, violations of the content security
// policy included, fails the test, unless the test has said that it expects it.
type tab struct {
	t    testing.TB
	ctx  context.Context
	base string // address of the server, with its base path

	mu       sync.Mutex
	problems []string
	expected []string
}

// browse opens a tab with cookies of its own.
func browse(t testing.TB, s *server) *tab {
	t.Helper()
	return newTab(t, testbed.Browser(t), s.URL)
}

// another opens a second tab of the same browser: same cookies, same storage.
func (b *tab) another() *tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		b.t.Fatalf("open a second tab: %v", err)
	}
	return newTab(b.t, ctx, b.base)
}

func newTab(t testing.TB, ctx context.Context, base string) *tab {
	b := &tab{t: t, ctx: ctx, base: base}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			b.shoot("failed")
			b.t.Logf("the tab is at %s", b.eval("location.href"))
		}
		for _, p := range b.troubles() {
			t.Errorf("the browser's console says: %s", p)
		}
	})
	return b
}

// hear runs in the tab's own loop: it must not wait for the tab.
func (b *tab) hear(ev any) {
	switch e := ev.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning || e.Entry.Source == log.EntrySourceViolation {
			b.note(fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, strings.TrimPrefix(e.Entry.URL, b.base)))
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			var words []string
			for _, a := range e.Args {
				words = append(words, strings.Trim(string(a.Value), `"`)+a.Description)
			}
			b.note(fmt.Sprintf("console.%s: %s", e.Type, strings.Join(words, " ")))
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		b.note(fmt.Sprintf("exception: %s at %s:%d", text, strings.TrimPrefix(e.ExceptionDetails.URL, b.base), e.ExceptionDetails.LineNumber+1))
	case *page.EventJavascriptDialogOpening:
		// "Leave the page?" is answered as an impatient person does; everything else that blocks is a surprise.
		if e.Type != page.DialogTypeBeforeunload {
			b.note("dialog: " + e.Message)
		}
		go func() { // the loop that calls us must go on for the answer to be sent
			_, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}()
	}
}

func (b *tab) note(problem string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, problem)
}

// expect lets problems pass that contain text: a browser reports every answer of 400 and above as an error.
func (b *tab) expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = append(b.expected, text)
}

func (b *tab) troubles() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.problems), func(p string) bool {
		return slices.ContainsFunc(b.expected, func(text string) bool { return strings.Contains(p, text) })
	})
}

// do runs actions within the patience.
func (b *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%s: %v\nthe page shows: %s", what, err, b.sight())
	}
}

// open loads a page of the server.
func (b *tab) open(path string) {
	b.t.Helper()
	b.do("open "+path, chromedp.Navigate(b.base+path))
}

// eval returns the value of an expression as text; an expression that fails is told as "error: …".
func (b *tab) eval(js string) string {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[*json.RawMessage]("(() => { const v = ("+js+"); return v === undefined ? null : v })()"))
	if err != nil {
		return "error: " + err.Error()
	}
	if v == nil {
		return ""
	}
	var s string
	if json.Unmarshal(*v, &s) == nil {
		return s
	}
	return string(*v)
}

// until waits until an expression is true; a page that is just being replaced counts as not yet.
func (b *tab) until(what, js string) {
	b.t.Helper()
	got := ""
	eventually(b.t, patience, func() bool {
		got = b.eval("Boolean(" + js + ")")
		return got == "true"
	}, func() string { return fmt.Sprintf("%s (%s is %s)\nthe page shows: %s", what, js, got, b.sight()) })
}

// shows waits until the page has an element.
func (b *tab) shows(selector string) {
	b.t.Helper()
	b.until("there is no "+selector, "document.querySelector("+quote(selector)+")")
}

// says waits until the text of an element contains a text.
func (b *tab) says(selector, text string) {
	b.t.Helper()
	b.until(selector+" does not say "+text, "document.querySelector("+quote(selector)+")?.innerText.includes("+quote(text)+")")
}

// text returns what an element shows.
func (b *tab) text(selector string) string {
	return b.eval("document.querySelector(" + quote(selector) + ")?.innerText")
}

// click presses the mouse on the first visible element that matches, as a person would: what covers it gets the click.
func (b *tab) click(selector string) {
	b.t.Helper()
	const visible = `(() => { const e = [...document.querySelectorAll(%s)].find((x) => x.checkVisibility() && !x.disabled); if (!e) return false;
		document.querySelectorAll("[data-e2e]").forEach((x) => x.removeAttribute("data-e2e")); e.setAttribute("data-e2e", ""); return true })()`
	b.until("nothing to click at "+selector, fmt.Sprintf(visible, quote(selector)))
	b.do("click "+selector, chromedp.Click(chromedp.CSS("[data-e2e]"), chromedp.NodeReady))
	b.restPointer()
}

// restPointer takes the mouse away from the page: lists do not move their rows under it.
func (b *tab) restPointer() {
	b.t.Helper()
	b.do("move the mouse away", func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved})
		return chromedp.Void{}, err
	})
}

// fill replaces what a field holds by a text, as pasting does.
func (b *tab) fill(selector, text string) {
	b.t.Helper()
	b.until("no field "+selector, `(() => { const e = document.querySelector(`+quote(selector)+`); if (!e || e.disabled) return false; e.focus(); e.select?.(); return document.activeElement === e })()`)
	b.do("fill "+selector, func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		if text == "" {
			return chromedp.KeyEvent("\b")(ctx, t)
		}
		_, err := cdp.Call(ctx, t, input.InsertText, input.InsertTextParams{Text: text})
		return chromedp.Void{}, err
	})
}

// choose selects an option of a list by its value.
func (b *tab) choose(selector, value string) {
	b.t.Helper()
	b.until("no option "+value+" in "+selector, `(() => { const e = document.querySelector(`+quote(selector)+`); if (!e || ![...e.options].some((o) => o.value === `+quote(value)+`)) return false;
		e.value = `+quote(value)+`; e.dispatchEvent(new Event("input", { bubbles: true })); e.dispatchEvent(new Event("change", { bubbles: true })); return true })()`)
}

// at waits until the tab shows a path; it begins after the base path.
func (b *tab) at(path string) {
	b.t.Helper()
	b.until("the address is not "+path, "location.href.replace(/[?#].*/, '') === "+quote(b.base+path)+" && document.readyState === 'complete'")
}

// turns waits for the page that an action leads to, where old and new cannot be told apart by what they show.
func (b *tab) turns(action func()) {
	b.t.Helper()
	b.eval("window.before = true")
	action()
	b.until("the page did not turn", "!window.before && document.readyState === 'complete'")
}

// login goes through the sign-in page.
func (b *tab) login(account, password string) {
	b.t.Helper()
	b.open("/console/login")
	b.signIn(account, password)
	b.until("no login", "!location.pathname.endsWith('/console/login') && document.querySelector('[data-testid=logout]')")
}

// signIn fills the sign-in page that is open.
func (b *tab) signIn(account, password string) {
	b.t.Helper()
	b.shows("[data-testid=login-form]")
	b.fill("#account", account)
	b.fill("#password", password)
	b.click("[data-testid=login-form] button[type=submit]")
}

// width emulates a screen.
func (b *tab) width(w, h int64) {
	b.t.Helper()
	b.do("resize", chromedp.EmulateViewport(w, h))
}

// sight is the beginning of what the page shows, for messages.
func (b *tab) sight() string {
	text := b.eval("location.href + '\\n' + document.body?.innerText")
	return text[:min(len(text), 1500)]
}

// shoot saves a picture of the whole page where go test -artifacts keeps it.
func (b *tab) shoot(name string) {
	if f := flag.Lookup("test.artifacts"); f == nil || f.Value.String() != "true" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Logf("no picture of %s: %v", name, err)
		return
	}
	if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), png, 0o600); err != nil {
		b.t.Log(err)
	}
}

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a text always marshals
	}
	return string(raw)
}

// status opens a page and returns the status of the answer.
func (b *tab) status(path string) int {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	resp, err := chromedp.Run(ctx, chromedp.NavigateResponse(b.base+path))
	if err != nil || resp == nil {
		b.t.Fatalf("open %s: %v", path, err)
	}
	return int(resp.Status)
}
