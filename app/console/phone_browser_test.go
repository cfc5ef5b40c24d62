package console

import "testing"

// inScreen is true if all of an element can be seen and pressed.
const inScreen = `const inScreen = (sel) => { const r = document.querySelector(sel).getBoundingClientRect(); return r.width > 0 && r.left >= 0 && r.right <= innerWidth && r.top >= 0 && r.bottom <= innerHeight; };`

func TestSeveralNodesAreChosenOnAPhone(t *testing.T) { // U4, U13
	w := commerce()
	w.deepen()
	b := browse(t, w)
	b.size(390, 844)
	b.open("/console/nodes")
	for _, box := range []string{"#node-ledger [data-testid=select]", "#nodes [data-do=bulk-all]"} {
		if got := b.eval(`(() => { const r = document.querySelector("` + box + `").getBoundingClientRect(); return r.width > 0 && r.left >= 0 && r.right <= innerWidth; })()`); got != true {
			t.Fatalf("%s cannot be reached", box)
		}
	}
	b.click("#nodes [data-do=bulk-all]")
	b.until("the bar", `getComputedStyle(document.querySelector("#bulk")).display !== "none"`)
	b.click("[data-testid=bulk-drain]")
	b.until("its question is in sight, above the bar", `(() => { `+inScreen+` return inScreen("[data-testid=bulk-drain-now]") && inScreen("[data-testid=bulk-drain]")
		&& document.querySelector("[data-testid=bulk-drain] + .menu").getBoundingClientRect().bottom <= document.querySelector("#bulk").getBoundingClientRect().top; })()`)
	b.open(orderPage)
	b.click("[data-testid=drain-node]")
	b.until("the question of the title's button is in sight", `(() => { `+inScreen+` return inScreen("[data-testid=drain-node] + .menu"); })()`)
	b.open(orderPage + "/settings")
	b.until("the tab that is shown is in sight", `(() => { `+inScreen+` return inScreen("#node-tabs [aria-current]"); })()`)
	if got := b.eval(`document.documentElement.scrollWidth <= innerWidth`); got != true {
		t.Error("the page scrolls sideways")
	}
	for _, c := range b.complaints() {
		t.Error(c)
	}
}

func TestToastsDoNotPileUp(t *testing.T) {
	w := commerce()
	b := browse(t, w)
	b.open("/console/nodes")
	b.eval(`for (const n of [1, 2, 3, 4, 5]) ec.toast("said " + n); 0`)
	b.until("the newest three, newest last", `[...document.querySelectorAll("#toasts .toast span")].map((s) => s.textContent).join() === "said 3,said 4,said 5"`)
	b.eval(`document.querySelector("#toasts .toast button").click(); 0`)
	b.until("one is closed", `document.querySelectorAll("#toasts .toast").length === 2`)
}
