package console

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"eruptcloud/app/registry"
)

// TestAPageWhoseNodeVanishesSaysSo: the node is deleted, or the right to see it is taken away, while its page is open. The page stays
// readable, says which it is, and asks for nothing any more (U21).
func TestAPageWhoseNodeVanishesSaysSo(t *testing.T) {
	for name, tt := range map[string]struct {
		happens func(w *world)
		code    string
		says    string
	}{
		"deleted": {func(w *world) { _ = fakeNodes{w}.Delete(t.Context(), "cart-service", "lin.wei") }, "404", "removed"},
		"right taken away": {func(w *world) {
			w.mu.Lock() // sessions are read side by side
			defer w.mu.Unlock()
			s := w.sessions["admin"]
			s.Admin = false
			s.Values = w.sessions["other"].Values
			w.sessions["admin"] = s
		}, "403", "no longer"},
	} {
		t.Run(name, func(t *testing.T) {
			w := commerce()
			w.deepen()
			w.login("other", false, "EruptUser")
			b := browse(t, w)
			var asked atomic.Int32
			count := func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Header.Get("HX-Request") == "true" {
					asked.Add(1)
				}
				return false
			}
			b.intercept.Store(&count)
			b.open("/console/nodes/cart-service") // one of its instances drains, so that a part of the page asks every two seconds
			b.until("the page", `window.htmx && document.querySelector("[data-testid=drains] [hx-trigger], [hx-trigger^=every]")`)
			touch := func() {
				for _, l := range w.listeners {
					l([]registry.Change{{Action: registry.Modified, In: w.instances[6]}})
				}
			}
			b.change(func() { tt.happens(w); touch() })
			b.until("it is said", `document.querySelector("#notice [data-gone]")?.dataset.gone === "`+tt.code+`"`)
			if got, _ := b.eval(`document.querySelector("#notice").textContent`).(string); !strings.Contains(got, tt.says) {
				t.Errorf("the page says %q, want that it is %s", got, tt.says)
			}
			if got := b.eval(`document.querySelector("h1").textContent + document.querySelectorAll("[data-testid=instance-row]").length`); got != "cart-service2" {
				t.Errorf("what is left of the page: %v", got)
			}
			if got := b.eval(`document.querySelectorAll("[data-live][data-src], [hx-trigger^=every]").length`); got != 0.0 {
				t.Errorf("%v parts of the page would still ask", got)
			}
			before := asked.Load()
			b.change(touch)
			// Two rounds of what asked every two seconds, and what follows a change.
			b.until("time has passed", `(window.__passed ??= performance.now()) && performance.now() - window.__passed > 4500`)
			if n := asked.Load() - before; n != 0 {
				t.Errorf("it asked %d times more", n)
			}
		})
	}
}
