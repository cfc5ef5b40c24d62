package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"eruptcloud/app/fleet"
)

// notice is how the console answers a partial request that failed.
const notice = `<div class="notice is-down" role="alert" data-testid="failure" data-code="x"><b>failed with %d</b><button type="button" data-do="unnotice">Close</button></div>`

// Each partial request that fails leaves its target as it was, says so once in a notice that stays, and can be sent again (S90).
func TestFailedPartialRequestsLeaveThePageAsItWas(t *testing.T) {
	b := browse(t, commerce())
	b.open("/console/nodes/order-service")
	b.until("the page", `window.htmx && document.querySelector("[data-testid=show-token]")`)
	b.eval(`window.target = document.querySelector("#node-connect"); window.was = target.textContent; 0`)
	fails := func(name string, answer func(http.ResponseWriter), said string) {
		f := func(rw http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("HX-Request") != "true" || r.Method != http.MethodPost {
				return false
			}
			answer(rw)
			return true
		}
		b.intercept.Store(&f)
		b.eval(`document.querySelector("#notice").replaceChildren(); 0`)
		b.click("[data-testid=show-token]")
		b.until(name+" is said", `document.querySelector("#notice [role=alert]")?.textContent.includes("`+said+`") && document.querySelectorAll("#notice .notice").length === 1`)
		if got := b.eval(`[target.isConnected, target.textContent === was, document.querySelector("[data-testid=show-token]").matches(":disabled, .htmx-request *"), document.querySelectorAll("h1").length, document.querySelector("#notice").getAttribute("aria-live")].join()`); got != "true,true,false,1,assertive" {
			t.Errorf("%s: target there, as it was, button off, headings, live region: %v", name, got)
		}
	}
	for _, status := range []int{400, 403, 404, 409, 413, 422, 429, 500, 502} {
		fails(fmt.Sprint(status), func(rw http.ResponseWriter) {
			rw.Header().Set("X-Request-Id", "REQ12345")
			rw.Header().Set("Content-Type", "text/html")
			rw.WriteHeader(status)
			fmt.Fprintf(rw, notice, status)
		}, fmt.Sprintf("failed with %d", status))
	}
	for _, status := range []int{413, 502, 504} {
		fails(fmt.Sprintf("a proxy's own %d", status), func(rw http.ResponseWriter) {
			rw.Header().Set("Content-Type", "text/html")
			rw.WriteHeader(status)
			fmt.Fprint(rw, "<html><head><title>Bad</title></head><body><h1>nginx</h1></body></html>")
		}, fmt.Sprintf("an error (%d)", status))
	}
	fails("a connection that breaks", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "did not answer")
	b.eval(`htmx.config.timeout = 100; 0`)
	wait := make(chan struct{})
	fails("an answer that does not come", func(http.ResponseWriter) { <-wait }, "too long")
	close(wait)
	b.eval(`htmx.config.timeout = 30000; 0`)

	b.intercept.Store(nil)
	b.click("[data-testid=show-token]")
	b.until("the same button works", `document.querySelector("[data-testid=token]")?.textContent === "`+secretToken+`"`)
	for _, c := range b.complaints() {
		if strings.Contains(c, "exception") {
			t.Error(c)
		}
	}
}

func TestAStreamThatFallsSilentCountsAsBroken(t *testing.T) { // S93, U62
	w := commerce()
	b := browse(t, w)
	var streams atomic.Int64
	first := func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/console/events" || streams.Add(1) > 1 {
			return false
		}
		rw.Header().Set("Content-Type", streamType)
		fmt.Fprintf(rw, streamMessage, `{"v":1,"boot":"x","t":[],"ping":1}`)
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done() // a message was due after a second, and nothing says that none will come
		return true
	}
	b.intercept.Store(&first)
	b.open("/console/nodes")
	b.until("it is live", `document.querySelector("#live[data-on] .lbl")?.textContent === "Live"`)
	b.until("two pings are missed", `document.querySelector("#live").classList.contains("stale")`)
	b.until("it is live again", `document.querySelector("#live .lbl").textContent === "Live"`)
	b.change(func() {
		w.nodes = slices.DeleteFunc(w.nodes, func(n fleet.Node) bool { return n.Name == "ledger" })
		w.changed[0]("node", "ledger")
	})
	b.until("changes are heard", `!document.querySelector("#node-ledger")`)
	if n := streams.Load(); n != 2 {
		t.Errorf("%d streams were opened, want a second one", n)
	}
	b.complaints() // the stream that was given up
}
