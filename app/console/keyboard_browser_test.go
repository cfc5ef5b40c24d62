package console

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// press types into whatever has the focus.
func (b *tab) press(keys string) { b.t.Helper(); b.do(chromedp.KeyEvent(keys)) }

// tabTo presses Tab until the focus is on an element.
func (b *tab) tabTo(css string) {
	b.t.Helper()
	b.until(css, `document.querySelector("`+css+`")`)
	const most = 150
	for range most {
		if b.eval(`!!document.activeElement?.matches("`+css+`")`) == true {
			if b.eval(`getComputedStyle(document.activeElement).outlineStyle === "none" && getComputedStyle(document.activeElement.parentElement).outlineStyle === "none"`) == true {
				b.t.Errorf("the focus on %s cannot be seen", css)
			}
			return
		}
		b.press(kb.Tab)
	}
	b.t.Fatalf("Tab does not reach %s; the focus is on %v", css, b.eval(`document.activeElement.outerHTML.slice(0, 200)`))
}

// jump opens what the palette finds first.
func (b *tab) jump(text string) {
	b.t.Helper()
	b.until("script", `window.ec && window.ec.acts?.palette`)
	b.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(ctrl)))
	b.until("the palette", `document.querySelector("#palette").open && document.activeElement.id === "palette-q"`)
	b.press(text + "\r")
}

// The main tasks, without a mouse from the sign-in page to the sign-in page.
func TestTheMainTasksByKeyboardAlone(t *testing.T) { // U70
	w := commerce()
	w.deepen()
	b := browse(t, w)

	b.open("/console/login") // log in
	b.until("the field", `document.activeElement.id === "account"`)
	b.press("admin")
	b.press(kb.Tab)
	b.press("right\r")
	b.until("signed in", `location.pathname === "/console/nodes"`)

	b.until("script", `window.ec`)
	b.press("/") // find a node
	b.until("the search", `document.activeElement.id === "node-q"`)
	b.do(chromedp.KeyEvent("a", chromedp.KeyModifiers(ctrl))) // the test's keyboard types what a page has taken for itself
	b.press("order")
	b.until("found", `document.querySelectorAll("[data-testid=node-row]").length === 1`)
	b.tabTo("#node-order-service a.open") // open it
	b.press("\r")
	b.until("the node", `location.pathname === "/console/nodes/order-service"`)

	b.jump("hold order") // hold an instance, lift it
	b.until("its instances", `location.pathname.endsWith("/instances")`)
	b.tabTo("[data-testid=hold]")
	b.press("\r")
	b.until("the question", `document.activeElement.name === "reason"`)
	b.press("bad disk\r")
	b.until("held", `document.querySelector("[data-testid=lift]")`)
	b.tabTo("[data-testid=lift]")
	b.press("\r")
	b.until("lifted", `!document.querySelector("[data-testid=lift]")`)

	b.tabTo("[data-testid=instance-row] [data-testid=drain]") // drain it
	b.press("\r")
	b.tabTo("[data-testid=instance-row] [data-testid=drain-now]")
	b.press("\r")
	b.until("draining", `document.querySelector("[data-testid=call-off]")`)

	b.jump("edit order") // edit its configuration
	b.until("the editor", `location.pathname.endsWith("/config") && document.querySelector("[data-editor]")?.dataset.ready`)
	b.tabTo("[data-testid=editor]")
	b.do(chromedp.KeyEvent("a", chromedp.KeyModifiers(ctrl)))
	b.press(`{"a": 1}`)
	b.tabTo("button[data-testid=review]")
	b.press("\r")
	b.tabTo("[data-testid=publish] [name=note]")
	b.press("smaller\r")
	b.until("published", `location.pathname.endsWith("/config") && document.querySelector("[data-testid=editor]")`)

	b.jump("log order") // read its log
	b.until("the log", `location.pathname.endsWith("/log") && document.querySelectorAll(".log li[data-num]").length > 0`)
	b.tabTo(".log")
	b.press(kb.Home)

	b.jump("settings order") // rotate its token
	b.until("the settings", `location.pathname.endsWith("/settings")`)
	if b.eval(`!document.querySelector("[data-testid=rotate]")`) == true {
		b.jump("order-service")
	}
	b.tabTo("[data-testid=rotate]")
	b.press("\r")
	b.tabTo("[data-testid=rotate-now]")
	b.press("\r")
	b.until("rotated", `document.querySelector("[data-testid=token], [data-testid=grace]")`)

	b.jump("create a node") // create a node
	b.until("the form", `document.activeElement.name === "name"`)
	b.press("made-by-keys\r")
	b.until("created", `document.querySelector("h1")?.textContent.includes("made-by-keys")`)

	b.jump("sign out") // log out
	b.until("signed out", `location.pathname === "/console/login"`)
}
