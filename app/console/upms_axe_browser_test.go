package console

import (
	"fmt"
	"os"
	"testing"
)

// TestNothingSeriousOnUPMSPages: the pages of organisations, posts, dictionaries, open API, sessions, the second factor, the server's
// own log and the login with a picture, as they are, when a form was refused and when they ask (U22, U70).
func TestNothingSeriousOnUPMSPages(t *testing.T) {
	code, err := os.ReadFile(axeFile)
	if err != nil {
		t.Fatal(err)
	}
	w := office(t)
	w.replicas = []string{"web-1-ABCDEF", "web-2-ABCDEF"}
	w.ownLog.add("2026-12-01T06:32:04Z INFO  \x1b[36mready\x1b[m url=https://fleet.example/", "2026-12-01T06:32:05Z WARN  refused", "2026-12-01T06:32:06Z ERROR broken")
	w.upms.guarded = true
	b := browse(t, w)
	opened := func(summary string) string {
		return `document.querySelector("` + summary + `").closest("details").open = true`
	}
	posted := func(form string) string {
		return `(() => { const f = document.querySelector("` + form + `"); f.noValidate = true; f.submit(); })()`
	}
	for _, look := range []struct {
		theme, lang string
		width       int64
	}{{"light", "en", 1440}, {"dark", "zh", 390}} {
		b.size(look.width, 900)
		for _, s := range []struct{ path, do, shown string }{
			{"/console/orgs", "0", "h1"},
			{"/console/orgs/north", "0", "main form[method=post]"},
			{"/console/orgs/new", posted("main form[method=post]"), "[aria-invalid=true]"},
			{"/console/orgs/south", opened("[data-testid=delete] summary"), "details[open]"},
			{"/console/posts", "0", "h1"},
			{"/console/posts/lead", "0", "main form[method=post]"},
			{"/console/posts/new", posted("[data-testid=post-form]"), "[aria-invalid=true]"},
			{"/console/dicts", "0", "h1"},
			{"/console/dicts?q=nothing-like-it", "0", "[data-testid=empty]"},
			{"/console/dicts/level", "0", "[data-testid=item-row]"},
			{"/console/dicts/level", posted("[data-testid=import] form, form[data-testid=import]"), "#e-file"},
			{"/console/dicts/level/items/new", posted("main form[method=post]"), "[aria-invalid=true]"},
			{"/console/open-api", "0", "h1"},
			{"/console/open-api/new", posted("main form[method=post]"), "[aria-invalid=true]"},
			{"/console/online", opened("[data-testid=end]"), "details[open] .pop"},
			{"/console/me/mfa", "0", "h1"},
			{"/console/server-log", "0", ".log li[data-num]"},
			{"/console/login", "0", "[data-testid=captcha] img"},
		} {
			b.eval(fmt.Sprintf(`document.cookie = "ec_theme=%s; path=/"; document.cookie = "ec_lang=%s; path=/"; 0`, look.theme, look.lang))
			b.open(s.path)
			b.until("script on "+s.path, `document.documentElement.classList.contains("js") && window.htmx`)
			b.eval(s.do + "; 0")
			b.until(s.path+" after "+s.do, `document.querySelector("`+s.shown+`")?.checkVisibility()`)
			for _, v := range b.axeSays(string(code)) {
				t.Errorf("%s, %s %d: %s", s.path, look.theme, look.width, v)
			}
			if over := b.eval(`document.documentElement.scrollWidth - innerWidth`); over.(float64) > 0 {
				t.Errorf("%s at %d px scrolls sideways by %v px", s.path, look.width, over)
			}
		}
	}
}
