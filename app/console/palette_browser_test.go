package console

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const ctrl = chromedp.ModifierCtrl

func TestPaletteByKeyboard(t *testing.T) { // U70
	b := browse(t, commerce())
	b.open("/console/nodes/ledger")
	b.open("/console/nodes")
	press := func() { b.t.Helper(); b.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(ctrl))) }
	press()
	b.until("the node of before as the first choice", `document.querySelector("#palette").open && document.activeElement.id === "palette-q" && document.querySelector("#palette [aria-selected=true] .hit")?.textContent === "ledger"`)
	b.keys("#palette-q", "order")
	b.until("the hits", `document.querySelector("#palette-hits [data-kind=node] [aria-selected=true]")?.id === document.querySelector("#palette-q").getAttribute("aria-activedescendant") && document.querySelector("#palette-said").textContent.includes("results")`)
	b.do(chromedp.KeyEvent(kb.ArrowDown)) // down
	b.until("the second option", `document.querySelector("#palette [aria-selected=true]").closest("[data-kind]").dataset.kind === "instance" && document.querySelectorAll("#palette [aria-selected=true]").length === 1`)
	b.do(chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowUp)) // up, and around to the last
	b.until("the last option", `(() => { const all = document.querySelectorAll("#palette [role=option]"); return all[all.length - 1].ariaSelected === "true" || all[all.length - 1].getAttribute("aria-selected") === "true"; })()`)
	press()
	b.until("closed", `!document.querySelector("#palette").open`)
	press()
	b.until("open again, empty", `document.querySelector("#palette").open && document.querySelector("#palette-q").value === ""`)
	b.keys("#palette-q", "promo-eng\r") // faster than the answers: what opens is what was typed
	b.until("the node", `location.pathname === "/console/nodes/promo-engine"`)
	press()
	b.keys("#palette-q", "theme\r")
	b.until("the theme", `document.documentElement.dataset.theme === "light" && !document.querySelector("#palette").open`)
	press()
	b.keys("#palette-q", "sign out\r")
	b.until("signed out", `location.pathname === "/console/login"`)
}

func TestKeysStayOutOfFieldsAndDialogs(t *testing.T) { // U70
	b := browse(t, commerce())
	b.open("/console/nodes")
	b.keys("#node-q", "g?jn")
	b.until("the text alone", `document.querySelector("#node-q").value === "g?jn" && !document.querySelector("#keys").open && location.pathname === "/console/nodes"`)
	b.eval(`document.activeElement.blur(); 0`)
	b.do(chromedp.KeyEvent("?"))
	b.until("the sheet", `document.querySelector("#keys").open`)
	b.do(chromedp.KeyEvent("g"), chromedp.KeyEvent("p"))
	sheet := b.eval(`[...document.querySelectorAll("#keys dl > div:not([hidden]) dd")].map((d) => d.textContent).join("|")`).(string)
	if !strings.Contains(sheet, "Next and previous row") || strings.Contains(sheet, "Follow the log") || !strings.Contains(sheet, "Administration") {
		t.Errorf("the sheet of the node list says %s", sheet)
	}
	b.do(chromedp.KeyEvent("\x1b"))
	b.until("closed, and still here", `!document.querySelector("#keys").open && location.pathname === "/console/nodes"`)
	for keys, path := range map[string]string{"gp": "/console/pages", "gc": "/console/groups", "ga": "/console/users", "gm": "/console/me"} {
		if keys == "gp" {
			continue // the fake console hosts no pages
		}
		b.open("/console/nodes")
		b.do(chromedp.KeyEvent(keys[:1]), chromedp.KeyEvent(keys[1:]))
		b.until(keys, `location.pathname === "`+path+`"`)
	}
	b.open("/console/nodes/order-service/settings")
	b.do(chromedp.KeyEvent("/"))
	b.until("no search on the page: the palette", `document.querySelector("#palette").open || document.activeElement.matches("[aria-keyshortcuts='/']")`)
}

func TestSearchBoxInTheBar(t *testing.T) {
	b := browse(t, commerce())
	b.size(1440, 900)
	b.open("/console/nodes")
	b.click("#find")
	b.until("a click opens the palette", `document.querySelector("#palette").open`)
	b.do(chromedp.KeyEvent("\x1b"))
	b.until("closed", `!document.querySelector("#palette").open`)
	b.eval(`document.querySelector("#find").focus(); 0`)
	b.do(chromedp.KeyEvent("l"), chromedp.KeyEvent("e"), chromedp.KeyEvent("d"), chromedp.KeyEvent("\r"))
	b.until("typed, it leads to the page", `location.pathname === "/console/search" && location.search === "?q=led" && document.querySelector("[data-kind=node] a.item")`)
	b.size(390, 800)
	b.click("[data-testid=find-link]")
	b.until("on a phone too", `document.querySelector("#palette").open`)
}
