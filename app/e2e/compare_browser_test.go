package e2e

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/testbed"
)

// oldFront is the official front end in a tab.
type oldFront struct {
	*tab
	front *front
	node  *javaNode
}

// TestFrontEndOfErupt opens the official front end of 1.12.23 in a browser against our server, on a database of that version
// that was adopted and with a real node behind it, and works with it as its users do.
func TestFrontEndOfErupt(t *testing.T) {
	dsn, stored := testbed.EruptDatabase(t, "1.12"), testbed.Redis(t)
	furnish(t, openMySQL(t, dsn))
	s := adopted(t, dsn, stored)
	f := &oldFront{front: frontEnd(t, s), node: java(t, &server{URL: s.URL}, "warehouse", warehouseToken, "")}
	api := &side{t: t, URL: s.URL, words: map[string]string{}}
	api.words["admin"] = api.signIn("erupt", "erupt")
	api.awaitNode()
	f.tab = newTab(t, testbed.Browser(t), f.front.URL)
	for _, text := range []string{
		"ERR_NAME_NOT_RESOLVED", "ERR_INTERNET_DISCONNECTED", "AMap", "isTenantToken", "does not conform to the required format", "Use `yyyy` instead of `YYYY`", "DecoupledDocumentEditor", "Duplicate definition of module",
		"status of 404",            // pictures that the node's rows name and nobody stored
		"/etc/passwd",              // a row of the node's names it as a picture
		"'document' from 'Window'", // templates of nodes are shut into frames of their own (erupt-wire 10.7)
	} {
		f.expect(text)
	}
	for _, step := range []func(*testing.T){
		f.logIn, f.menu, f.search, f.editAndSave, f.insertAndDelete, f.operate, f.export, f.drill, f.tree, f.upload, f.template,
	} {
		step(t)
		if t.Failed() {
			return
		}
		if refused := f.front.trouble(); len(refused) > 0 {
			t.Fatalf("calls of the front end failed: %v", refused)
		}
	}
}

// press clicks what shows a text, in the dialog if one is open.
func (f *oldFront) press(selector, text string) {
	f.t.Helper()
	f.until("nothing to press says "+text, `(() => { const open = [...document.querySelectorAll(".ant-modal-content, .ant-popover-inner, .ant-select-dropdown")].filter((e) => e.checkVisibility());
		for (const root of [...open.reverse(), document]) for (const e of root.querySelectorAll(`+quote(selector)+`))
			if (e.innerText.trim() === `+quote(text)+` && e.checkVisibility()) { e.click(); return true }
		return false })()`)
}

// icon clicks an icon in the first row of the table.
func (f *oldFront) icon(class string) {
	f.t.Helper()
	f.until("no "+class+" in the first row", `(() => { const e = document.querySelector(".ant-table-tbody .`+class+`"); if (!e) return false; (e.closest("a") || e).click(); return true })()`)
}

// find waits until the table shows the rows of a search.
func (f *oldFront) find(name, sees string) {
	f.t.Helper()
	f.fill(`input[placeholder="As on the contract"]`, name)
	f.press("button", "Query")
	f.until("the table does not show "+sees, `document.querySelector(".ant-table-tbody").innerText.includes(`+quote(sees)+`) && !document.querySelector(".ant-spin-spinning")`)
}

func (f *oldFront) closed() {
	f.t.Helper()
	f.until("the dialog stays open", `![...document.querySelectorAll(".ant-modal-content")].some((e) => e.checkVisibility())`)
}

func (f *oldFront) logIn(*testing.T) {
	f.open("/")
	f.shows("input[formcontrolname=userName]")
	// Messages go away by themselves after three seconds.
	f.eval(`(() => { window.told = ""; setInterval(() => { window.told += [...document.querySelectorAll(".ant-message")].map((e) => e.innerText).join(" ") }, 200); return 1 })()`)
	f.fill("input[formcontrolname=userName]", "erupt")
	f.fill("input[type=password]", "erupt")
	f.press("button[type=submit]", "Login") // a curtain is still before it
	f.until("no login", `document.querySelector(".sidebar-nav__item-link")`)
}

func (f *oldFront) menu(*testing.T) {
	f.press("a.sidebar-nav__item-link", "Warehouse 仓库")
	f.press("a.sidebar-nav__item-link", "Customer")
	f.until("the page is not open", `location.hash === "#/build/table/warehouse.Customer"`)
	f.until("the table has no count", `document.body.innerText.includes("Total 119 Items")`)
	f.until("the node's alert is missing", `document.querySelector(".ant-alert")?.innerText.includes("no debts")`)
	f.shoot("table")
}

func (f *oldFront) search(*testing.T) { f.find("Customer 12", "Customer 120") }

func (f *oldFront) editAndSave(t *testing.T) {
	before := f.node.row("customer", "12")
	f.icon("anticon-edit")
	f.until("no form", `document.querySelector('.ant-modal-content input[placeholder="As on the contract"]')?.value === "Customer 12"`)
	f.fill(`.ant-modal-content input[placeholder="As on the contract"]`, "Zürich & Söhne 苏黎世")
	f.shoot("edit")
	f.press("button", "Modify")
	f.closed()
	after := f.node.row("customer", "12")
	if got := changed(before, after); show(after["name"]) != "Zürich & Söhne 苏黎世" || !slices.Equal(got, []string{"name"}) {
		t.Errorf("the node's row has the name %s, and %v changed; want the name alone", show(after["name"]), got)
	}
}

func (f *oldFront) insertAndDelete(t *testing.T) {
	f.press("button", "Add")
	f.until("the default values are not there", `[...document.querySelectorAll(".ant-modal-content input")].some((e) => e.value === "100")`)
	f.fill(`.ant-modal-content input[placeholder="As on the contract"]`, "Zoë, by the old front end")
	f.press("label", "Standard")
	f.press("button", "Add")
	f.closed()
	inserted := func() bool {
		return slices.ContainsFunc(f.node.rows("customer"), func(r map[string]*string) bool { return show(r["name"]) == "Zoë, by the old front end" })
	}
	if !inserted() {
		t.Fatal("the node has no such row")
	}
	f.find("Zoë", "Zoë, by the old front end")
	f.icon("anticon-delete")
	f.press("button", "OK")
	f.until("the row is still shown", `!document.querySelector(".ant-table-tbody").innerText.includes("Zoë")`)
	if inserted() {
		t.Error("the row is still in the node's database")
	}
}

func (f *oldFront) operate(*testing.T) {
	f.press("button", "Who am I") // the node asks the server who calls, for its configuration and for a right
	f.until("the operation's answer is not shown", `document.querySelector(".ant-modal-confirm, .ant-modal-content")?.innerText.includes('"account":"erupt"') && document.body.innerText.includes("组")`)
	f.shoot("operation")
	f.press("button", "OK")
	f.closed()
	f.find("Customer 120", "Customer 120")
	f.until("no box to tick", `(() => { const e = document.querySelector(".ant-table-tbody td .ant-checkbox-input"); e?.click(); return Boolean(e) })()`)
	f.press("button", "Set discount")
	f.until("the first values are not there", `[...document.querySelectorAll(".ant-modal-content input")].some((e) => e.value)`)
	f.press("button", "OK")
	f.until("the missing reason is not told", `window.told.includes("Reason required")`)
	f.press("button", "Close")
	f.closed()
}

func (f *oldFront) export(t *testing.T) {
	f.eval(`(() => { window.saved = []; const make = URL.createObjectURL; URL.createObjectURL = (b) => { window.saved.push(b); return make(b) };
		HTMLAnchorElement.prototype.click = new Proxy(HTMLAnchorElement.prototype.click, { apply: (f, a) => { if (a.download) window.savedAs = a.download; else f.call(a) } }); return 1 })()`)
	f.press("button", "Download")
	f.until("no download arrives", `window.savedAs && window.saved.length === 1`)
	if name, size := f.eval("window.savedAs"), f.eval("window.saved[0].size"); !strings.HasSuffix(name, ".xlsx") || len(size) < 4 {
		t.Errorf("the download is %s of %s bytes, want a sheet", name, size) // erupt-1.12 bug 1
	}
}

func (f *oldFront) drill(*testing.T) {
	f.find("", "Customer 7")
	f.icon("fa-shopping-cart")
	f.until("the drill shows no rows", `(() => { const text = [...document.querySelectorAll(".ant-modal-content")].map((e) => e.innerText).join(" "); return ["P-1", "P-7", "Total 7 Items"].every((x) => text.includes(x)) })()`)
	f.shoot("drill")
	f.click(".ant-modal-close")
	f.closed()
}

func (f *oldFront) tree(t *testing.T) {
	f.press("a.sidebar-nav__item-link", "Region")
	f.press(".ant-tree-title", "Berlin")
	f.until("the node of the tree is not open", `[...document.querySelectorAll("input")].some((e) => e.value === "Berlin") && [...document.querySelectorAll("input")].some((e) => e.value === "Germany")`)
	f.eval(`[...document.querySelectorAll("input")].find((e) => e.value === "Berlin").id = "name-of-region"`)
	f.fill("#name-of-region", "Berlin-Mitte")
	f.press("button", "Update")
	f.until("the tree does not show the new name", `[...document.querySelectorAll(".ant-tree-title")].some((e) => e.innerText.trim() === "Berlin-Mitte")`)
	f.shoot("tree")
	if got := show(f.node.row("region", "3")["name"]); got != "Berlin-Mitte" {
		t.Errorf("the node's region is called %s", got)
	}
}

func (f *oldFront) upload(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 6))); err != nil {
		t.Fatal(err)
	}
	f.press("a.sidebar-nav__item-link", "Widget")
	f.until("no rows", `document.querySelector(".ant-table-tbody .anticon-edit")`)
	f.icon("anticon-edit")
	f.until("no field with the row's pictures", `document.querySelector('input[type=file][accept*=".bmp"]') && document.querySelectorAll(".ant-modal-content .ant-upload-list-item").length >= 2`)
	f.eval(`(() => { const raw = Uint8Array.from(atob("` + base64.StdEncoding.EncodeToString(picture.Bytes()) + `"), (c) => c.charCodeAt(0)), files = new DataTransfer();
		files.items.add(new File([raw], "grey.png", { type: "image/png" })); const e = document.querySelector('input[type=file][accept*=".bmp"]');
		e.files = files.files; e.dispatchEvent(new Event("change", { bubbles: true })); return 1 })()`)
	f.until("the form does not show the picture", `[...document.querySelectorAll("nz-upload-list img, .ant-upload-list img")].some((e) => e.src.startsWith("data:image") && e.complete)`)
	f.press("button", "Modify")
	f.closed()
	got := show(f.node.row("widget", "1")["pictures"])
	if !strings.Contains(got, "/20") || !strings.HasSuffix(got, ".png") {
		t.Fatalf("the node's pictures are %s", got)
	}
	// The front end asks the server for it, without a token: the file is the node's.
	f.eval(`(() => { const e = new Image(); e.id = "stored"; e.src = "/erupt-attachment` + got[strings.LastIndexByte(got, '|')+1:] + `"; document.body.append(e); return 1 })()`)
	f.until("the picture is not shown", `document.querySelector("#stored").naturalWidth === 8`)
	f.eval(`document.querySelector("#stored").remove()`)
	f.shoot("picture")
}

func (f *oldFront) template(*testing.T) {
	f.press("a.sidebar-nav__item-link", "Customer")
	f.press("button", "Guide")
	f.until("no frame", `[...document.querySelectorAll("iframe")].some((e) => e.src.includes("/erupt-api/tpl/operation-tpl/warehouse.Customer/guide") && e.clientHeight > 100)`)
	f.shoot("template")
}
