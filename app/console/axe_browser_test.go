package console

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

const axeFile = "testdata/axe/axe.min.js"

func TestAxeIsTheFileOfItsNote(t *testing.T) {
	code, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatal(err)
	}
	note, err := os.ReadFile("testdata/axe/VENDOR.md")
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(code); !strings.Contains(string(note), hex.EncodeToString(sum[:])) {
		t.Errorf("VENDOR.md does not name the sum %x", sum)
	}
}

// axeSays runs axe on the open page and returns what is serious or critical: the rule, and where.
func (b *tab) axeSays(code string) []string {
	b.t.Helper()
	b.eval(code + "; 0")
	raw, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`axe.run(document, { resultTypes: ["violations"] }).then((r) => JSON.stringify(r.violations
		.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + n.html.slice(0, 160) + " " + (n.any[0]?.message || "")).join(" | "))))`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	var found []string
	if err := json.Unmarshal([]byte(raw), &found); err != nil {
		b.t.Fatal(err)
	}
	return found
}

func TestNothingSeriousForPeopleWithDisabilities(t *testing.T) { // U70
	code, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatal(err)
	}
	deep := func() *world {
		w := commerce()
		w.deepen()
		return w
	}
	seen := map[string]bool{}
	for _, look := range []struct {
		theme string
		width int64
	}{{"light", 1440}, {"dark", 1440}, {"light", 390}} {
		t.Run(fmt.Sprintf("%s %d", look.theme, look.width), func(t *testing.T) {
			b := browse(t, deep())
			b.size(look.width, 900)
			for _, path := range browserPages() {
				if strings.Contains(path, "/log/lines") || strings.Contains(path, "/palette") || strings.Contains(path, "%3E") {
					continue
				}
				b.eval(fmt.Sprintf(`document.cookie = "ec_theme=%s; path=/"; 0`, look.theme))
				b.open(path)
				b.until("script on "+path, `document.documentElement.classList.contains("js")`)
				for _, v := range b.axeSays(string(code)) {
					if !seen[v] {
						seen[v] = true
						t.Errorf("%s: %s", path, v)
					}
				}
			}
		})
	}
	b := browse(t, deep())
	b.size(1440, 900)
	b.open("/console/nodes")
	for _, over := range []struct{ name, open, shown, shut string }{
		{"the palette", `ec.acts.palette(null, new Event("x"))`, "dialog[open] [role=option]", `document.querySelector("dialog[open]").close()`},
		{"the sheet of keys", `document.querySelector("[data-do=keys]").click()`, "#keys[open]", `document.querySelector("#keys").close()`},
		{"the log", `document.querySelector("a[hx-target='#drawer']").click()`, "#drawer .log li", `0`},
	} {
		b.eval(over.open + "; 0")
		b.until(over.name, `document.querySelector("`+over.shown+`")`)
		for _, v := range b.axeSays(string(code)) {
			t.Errorf("%s: %s", over.name, v)
		}
		b.eval(over.shut + "; 0")
	}
}

// TestNothingSeriousInErrorsAndSecondSteps: pages that say what failed, drawers, menus that ask, and forms that were refused are pages
// like others (U22, U70).
func TestNothingSeriousInErrorsAndSecondSteps(t *testing.T) {
	code, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatal(err)
	}
	b := browse(t, everyWorld(t))
	opened := func(summary string) string {
		return `document.querySelector("` + summary + `").closest("details").open = true`
	}
	posted := func(form, fill string) string {
		return `(() => { const f = document.querySelector("` + form + `"); ` + fill + ` f.noValidate = true; f.submit(); })()`
	}
	for _, look := range []struct {
		theme string
		width int64
	}{{"light", 1440}, {"dark", 390}} {
		b.size(look.width, 900)
		for _, s := range []struct{ name, path, do, shown string }{
			{"nothing at an address", "/console/nope", "0", "h1"},
			{"a node that is none", "/console/nodes/nope", "0", "h1"},
			{"a page of a node that is away", "/console/pages/label-printer.Label", "0", "[data-testid=problem], .notice, h1"},
			{"two configurations beside each other", "/console/nodes/warehouse/config/compare?rev=1&rev=2", "0", ".diff"},
			{"a conflict", "/console/nodes/warehouse/config", posted("[data-testid=config-form]", `f.config.value = '{"a":9}'; f.revision.value = "7";`), "[data-testid=conflict]"},
			{"a configuration that is no JSON", "/console/nodes/warehouse/config", posted("[data-testid=config-form]", `f.config.value = "{";`), "[data-testid=config-problem]"},
			{"before publishing", "/console/nodes/warehouse/config", posted("[data-testid=config-form]", `f.config.value = '{"a":9}'; f.revision.value = "0";`), "[data-testid=publish]"},
			{"a refused form", "/console/nodes/shop/settings", posted("form[action$='/delete']", `f.confirm.value = "Shop";`), "[aria-invalid=true]"},
			{"asking before a hold", "/console/nodes/shop/instances", opened("[data-testid=hold]"), "details[open] .pop"},
			{"asking before a drain", "/console/nodes/shop/instances", opened("[data-testid=drain]"), "details[open] .pop"},
			{"asking before a removal", "/console/nodes/shop/instances", opened("[data-testid=remove]"), "details[open] .pop"},
			{"asking before a rotation", "/console/nodes/warehouse/settings", opened("[data-testid=rotate]"), "details[open] .pop"},
			{"asking before a group is deleted", "/console/groups/yard", opened("#delete summary"), "details[open] .pop"},
			{"the menu of a row", "/console/nodes", opened("[data-testid=node-row] summary"), "details[open] .item"},
			{"an entry of the log of operations", "/console/audit", `document.querySelector("[data-testid=audit-row] a[hx-get], a[hx-target='#drawer']").click()`, "#drawer .drawer"},
			{"a record", "/console/pages/warehouse.Customer", `document.querySelector("a[hx-target='#drawer']").click()`, "#drawer .drawer"},
			{"asking before records are deleted", "/console/pages/warehouse.Customer", `document.querySelector("tbody input[type=checkbox]").click(), document.querySelector("[data-testid=page-delete]").click()`, "#page-confirm:not(:empty)"},
		} {
			b.eval(fmt.Sprintf(`document.cookie = "ec_theme=%s; path=/"; 0`, look.theme))
			b.open(s.path)
			b.until("script on "+s.path, `document.documentElement.classList.contains("js") && window.htmx`)
			b.eval(s.do + "; 0")
			b.until(s.name, `document.querySelector("`+s.shown+`")?.checkVisibility()`)
			for _, v := range b.axeSays(string(code)) {
				t.Errorf("%s, %s %d: %s", s.name, look.theme, look.width, v)
			}
		}
	}
}
