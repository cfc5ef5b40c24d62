package console

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"eruptcloud/nodeagent/wire"
	"eruptcloud/proxy"
)

// logger writes lines to the log of an instance that a tab looks at.
type logger struct {
	b   *tab
	w   *world
	num int64
}

func (l *logger) grow(n int, format string) {
	l.b.change(func() {
		l.w.mu.Lock()
		defer l.w.mu.Unlock()
		for range n {
			l.num++
			l.w.log[firstLog] = append(l.w.log[firstLog], wire.LogLine{Num: l.num, Content: fmt.Sprintf(format, l.num)})
		}
		if over := len(l.w.log[firstLog]) - 4000; over > 0 {
			l.w.log[firstLog] = l.w.log[firstLog][over:]
		}
	})
}

const (
	listEnd  = `(() => { const l = document.querySelector(".log"); return l.scrollHeight - l.scrollTop - l.clientHeight < 24; })()`
	lastLine = `[...document.querySelectorAll(".log li[data-num]")].at(-1)?.dataset.num`
	logState = `document.querySelector("[data-log-status]").textContent`
)

func TestLogFollowsInADrawer(t *testing.T) { // U30, U31, U80
	w := commerce()
	b := browse(t, w)
	l := &logger{b: b, w: w, num: 40}
	b.open("/console/nodes?q=service")
	b.click("#node-order-service [data-testid=open-log]")
	b.until("the drawer", `document.querySelectorAll("#drawer .log li[data-num]").length === 40 && document.querySelector("#frame").inert`)
	b.until("the address of the log", `location.pathname === "/console/nodes/order-service/log" && location.search === "?instance=*"`)
	l.grow(60, "WARN line <b>%d</b>")
	b.until("new lines at the end", lastLine+` === "100" && `+listEnd+` && `+logState+` === "Following"`)
	b.eval(`document.querySelector("#drawer .log").scrollTop = 0; 0`)
	b.until("paused", logState+`.startsWith("Paused") && !document.querySelector("[data-do=log-follow]").hidden`)
	l.grow(7, "WARN line <b>%d</b>")
	b.until("the count of unread lines", logState+` === "Paused, 7 new lines" && document.querySelector("#drawer .log").scrollTop < 5`)
	b.keys("[data-log-search]", "line <b>10")
	b.until("the matches", `document.querySelector("[data-log-found]").textContent === "8 of 8" && document.querySelectorAll("#drawer .log mark").length === 8 && !document.querySelector("#drawer .log b")`)
	b.keys("[data-log-search]", "\r")
	b.until("the next match is the first", `document.querySelector("[data-log-found]").textContent === "1 of 8" && document.querySelector("mark.on").closest("li").dataset.num === "100"`)
	b.click("[data-do=log-level][value=WARN]")
	if got := b.eval(`[...document.querySelectorAll("#drawer .log li[data-num]:not([hidden])")].every((l) => ["WARN", "ERROR"].includes(l.dataset.lv))`); got != true {
		t.Error("lower levels are still shown")
	}
	b.until("the counts", `document.querySelector("[data-log-n=WARN]").textContent === "73" && document.querySelector("[data-log-n=ERROR]").textContent === "5" && document.querySelector("[data-log-count]").textContent.includes("29 lines of lower levels hidden")`)
	if got := b.eval(`location.search`); got != "?instance=*&level=warn&q=line+%3Cb%3E10" {
		t.Errorf("the address says %v", got)
	}
	b.eval(`document.querySelector("[data-log-search]").focus(); 0`)
	b.do(chromedp.KeyEvent("\x1b"))
	b.until("the search emptied", `document.querySelector("[data-log-search]").value === "" && document.querySelector("#drawer > .drawer")`)
	b.eval(`document.querySelector("#drawer .log").focus(); 0`)
	b.do(chromedp.KeyEvent("f"))
	b.until("following by key", logState+` === "Following" && `+listEnd)
	b.do(chromedp.KeyEvent("\x1b"))
	b.until("closed", `!document.querySelector("#drawer > .drawer") && !document.querySelector("#frame").inert && location.search === "?q=service"`)
	if got := b.eval(`document.activeElement.dataset.testid || ""`); got != "open-log" {
		t.Errorf("the focus went to %v, want the button that opened the log", got)
	}
}

func TestLogKeepsItsSizeUnderAFlood(t *testing.T) { // U31, S82
	w := commerce()
	b := browse(t, w)
	l := &logger{b: b, w: w, num: 40}
	b.open(logPath + "?instance=i-1")
	b.until("the page", lastLine+` === "40"`)
	b.eval(`window.worst = 0; (function tick(then) { const now = performance.now(); worst = Math.max(worst, now - then); setTimeout(tick, 20, now); })(performance.now()); 0`)
	for range 4 { // 8,000 lines with colours, long ones, other scripts
		l.grow(1990, "2026-12-01T14:31:12.004+08:00 \x1b[32mINFO\x1b[m \x1b[38;5;196mx.e.sample\x1b[m GET /orders/%d 客户导入完成 🚀 200 31 ms")
		l.grow(10, "ERROR "+strings.Repeat("订单", 4000)+" %d")
		b.until("the end of it", fmt.Sprintf(`%s === "%d"`, lastLine, l.num))
	}
	if got := b.eval(`document.querySelectorAll(".log > li").length`).(float64); got > 2001 {
		t.Errorf("%v lines are kept", got)
	}
	if got := b.eval(listEnd); got != true {
		t.Error("the end is not in sight")
	}
	if worst := b.eval(`worst`).(float64); worst > 3000 {
		t.Errorf("the page stood still for %.0f ms", worst)
	}
	// Who reads keeps what he reads, however much comes.
	b.eval(`document.querySelector(".log").scrollTop = 0; 0`)
	b.until("paused", logState+`.startsWith("Paused")`)
	top := b.eval(`document.querySelector(".log li[data-num]").dataset.num`)
	l.grow(3000, "INFO line %d")
	b.until("unread lines are counted", logState+` === "Paused, 3,000 new lines"`)
	if got := b.eval(`[document.querySelector(".log li[data-num]").dataset.num, document.querySelectorAll(".log > li").length <= 2002, document.querySelector(".log").scrollTop < 5].join()`); got != fmt.Sprint(top)+",true,true" {
		t.Errorf("while paused: %v, want line %v first", got, top)
	}
	b.click("[data-do=log-follow]")
	b.until("the end again", fmt.Sprintf(`%s === "%d" && %s && [...document.querySelectorAll(".log .skipped")].some((l) => l.textContent.endsWith("lines skipped to keep up"))`, lastLine, l.num, listEnd))
}

// Who follows again while the panel is still catching up learns what was left out, though the panel was about to ask as well.
func TestFollowingAgainWhileCatchingUpTellsWhatWasSkipped(t *testing.T) { // U31, S82
	w := commerce()
	b := browse(t, w)
	l := &logger{b: b, w: w, num: 40}
	b.open(logPath + "?instance=i-1")
	l.grow(2500, "INFO line %d")
	b.until("the end", fmt.Sprintf(`%s === "%d"`, lastLine, l.num))
	b.eval(`document.querySelector(".log").scrollTop = 0; 0`)
	b.until("paused", logState+`.startsWith("Paused")`)
	// More is written than the panel reads, and the first jump to the end is answered when it asks a second time, or would have.
	const enough = 8 // full answers, after which a panel that follows jumps by itself
	var asked, jumps atomic.Int64
	second := make(chan struct{})
	answer := func(_ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/log/lines") {
			return false
		}
		if r.URL.Query().Get("at") != "" {
			if asked.Add(1) <= enough {
				l.grow(3000, "INFO line %d")
			}
			return false
		}
		switch jumps.Add(1) {
		case 1:
			select {
			case <-second:
			case <-time.After(time.Second):
			}
		case 2:
			close(second)
		}
		return false
	}
	b.eval(fmt.Sprintf(`(window.answers = 0, new MutationObserver((_, o) => { if (%s.startsWith("Paused, ") && ++answers === %d) { o.disconnect(); document.querySelector("[data-do=log-follow]").click(); } }).observe(document.querySelector("[data-log-status]"), { childList: true }), 0)`, logState, enough))
	b.intercept.Store(&answer)
	b.until("following", logState+` === "Following"`)
	atEnd := func() string {
		var last int64
		b.change(func() { last = l.num })
		return fmt.Sprintf(`%s === "%d" && %s`, lastLine, last, listEnd)
	}
	b.until("the end and what was skipped", atEnd()+` && [...document.querySelectorAll(".log .skipped")].some((l) => l.textContent.endsWith("lines skipped to keep up"))`)
	if twice := b.eval(`(() => { const all = [...document.querySelectorAll(".log li[data-num]")].map((l) => l.dataset.num); return all.length - new Set(all).size; })()`); twice != 0.0 {
		t.Errorf("%v lines are there twice", twice)
	}
	l.grow(3, "INFO line %d")
	b.until("it goes on", atEnd())
}

func TestOlderLinesAreLoadedInPlace(t *testing.T) { // U31
	w := commerce()
	b := browse(t, w)
	l := &logger{b: b, w: w}
	w.log[firstLog] = nil
	l.grow(3000, "INFO line %d of many")
	b.open(logPath + "?instance=i-1")
	b.until("the newest", lastLine+` === "3000" && document.querySelector("[data-older]").textContent.includes("older lines remain")`)
	b.eval(`document.querySelector(".log").scrollTop = 0; window.y = document.querySelector("li[data-num='2501']").getBoundingClientRect().top; 0`)
	b.click("[data-do=log-older]")
	b.until("500 more", `document.querySelectorAll("li[data-num]").length === 1000`)
	if moved := b.eval(`Math.abs(document.querySelector("li[data-num='2501']").getBoundingClientRect().top - y)`).(float64); moved > 30 {
		t.Errorf("the line that was read moved by %v px", moved)
	}
	for n := 1500; n <= 2000; n += 500 {
		b.eval(`document.querySelector("[data-do=log-older]").click(); 0`)
		b.until("500 more", fmt.Sprintf(`document.querySelectorAll("li[data-num]").length === %d`, n))
	}
	b.eval(`document.querySelector("[data-do=log-older]").click(); 0`)
	b.until("newer ones make room", `document.querySelector("li[data-num]").dataset.num === "501" && document.querySelectorAll(".log > li").length <= 2002 && document.querySelector(".log").lastElementChild.textContent.startsWith("Newer lines are not shown")`)
	b.eval(`document.querySelector("[data-do=log-older]").click(); 0`)
	b.until("the beginning", `document.querySelector("li[data-num]").dataset.num === "1" && document.querySelector("[data-older]").textContent.includes("no older lines")`)
	b.click("[data-do=log-follow]")
	b.until("the end again", lastLine+` === "3000" && `+listEnd)
	// A search that finds nothing more goes on in what is older.
	b.keys("[data-log-search]", "line 2400 of")
	b.until("no match", `document.querySelector("[data-log-found]").textContent === "No match"`)
	b.click("[data-do=log-prev]")
	b.until("the match in an older page", `document.querySelector("mark.on")?.closest("li").dataset.num === "2400" && document.querySelector("[data-log-found]").textContent === "1 of 1"`)
}

func TestLineOfALogIsAnAddress(t *testing.T) { // U80
	w := commerce()
	b := browse(t, w)
	l := &logger{b: b, w: w}
	w.log[firstLog] = nil
	l.grow(1500, "2026-12-01T14:31:12.004+08:00 INFO line %d")
	b.open(logPath + "?instance=i-1&line=700")
	b.until("the line", `(() => { const r = document.querySelector("li.at")?.getBoundingClientRect(); return r && r.top > 0 && r.bottom < innerHeight && `+logState+`.startsWith("Paused"); })()`)
	b.until("it stays while more is read", lastLine+` === "1500" && document.querySelector("li.at").dataset.num === "700"`)
	b.click("li[data-num='702'] .when")
	if got := b.eval(`location.search + document.querySelectorAll("li.at").length`); got != "?instance=i-1&line=7021" {
		t.Errorf("after a click on a time: %v", got)
	}
	b.eval(`document.cookie = "ec_zone=Asia/Shanghai; path=/"; document.querySelector("[data-do=log-zone]").click(); 0`)
	b.open(logPath + "?instance=i-1&line=702")
	b.until("the viewer's zone or UTC", `["14:31:12.004", "06:31:12.004"].includes(document.querySelector("li.at .when").textContent.trim())`)
	was := b.eval(`document.querySelector("li.at .when").textContent.trim()`)
	b.click("[data-do=log-zone]")
	b.until("the other zone", fmt.Sprintf(`document.querySelector("li.at .when").textContent.trim() !== %q`, was))
	b.eval(`document.querySelector("[data-do=log-follow]").click(); 0`)
	b.until("the address without the line", `location.search === "?instance=i-1"`)
}

func TestLogSaysWhatBecameOfItsNode(t *testing.T) { // U21, U30, S80, S81
	w := commerce()
	w.log[firstLog] = nil
	b := browse(t, w)
	l := &logger{b: b, w: w}
	b.open(logPath + "?instance=i-1")
	b.until("nothing yet", logState+` === "Nothing yet" && document.querySelector("[data-nothing]")`)
	l.grow(3, "INFO line %d")
	b.until("the first lines", lastLine+` === "3" && !document.querySelector("[data-nothing]") && `+logState+` === "Following"`)
	set := func(lines []wire.LogLine, err error) {
		b.change(func() { w.mu.Lock(); w.log[firstLog], w.logErr = lines, err; w.mu.Unlock() })
	}
	set(nil, nil)
	b.until("rotated", `document.querySelectorAll("[data-mark=rotated]").length === 1 && `+logState+`.startsWith("Rotated")`)
	l.num = 0
	l.grow(2, "INFO anew %d")
	b.until("it goes on", lastLine+` === "2" && document.querySelectorAll("[data-mark]").length === 1`)
	l.grow(5, "INFO anew %d")
	b.until("more", lastLine+` === "7"`)
	set([]wire.LogLine{{Num: 1, Content: "started"}}, nil)
	b.until("restarted", `document.querySelector("[data-mark=restarted]") && `+lastLine+` === "1" && `+logState+` === "The node restarted its counter"`)
	set([]wire.LogLine{{Num: 1, Content: "started"}}, proxy.Fail(proxy.UpstreamTimeout, "'%s' offers no log", "order-service"))
	b.until("reconnecting", logState+` === "No answer, trying again" && document.querySelectorAll("[data-mark=failed]").length === 1`)
	l.num = 1
	set([]wire.LogLine{{Num: 1, Content: "started"}, {Num: 2, Content: "back"}}, nil)
	b.until("it resumes from the last line, which does not come twice", lastLine+` === "2" && document.querySelectorAll("li[data-num='1']").length <= 3 && `+logState+` !== "No answer, trying again"`)
	b.click("[data-do=log-clear]")
	b.until("cleared", `!document.querySelector("li[data-num]") && document.querySelector(".log").textContent.includes("the node keeps its lines")`)
}

func TestDrawerOpensFiftyTimesAndLeavesNothingBehind(t *testing.T) { // S76
	w := commerce()
	b := browse(t, w)
	b.open("/console/nodes")
	b.until("the stream", `document.querySelector("#live[data-on] .lbl")?.textContent === "Live"`)
	for range 50 {
		b.eval(`document.querySelector("#node-order-service [data-testid=open-log]").click(); 0`)
		b.until("open", `document.querySelector("#drawer .log li[data-num]")`)
		b.eval(`document.querySelector("#drawer [data-do=close-drawer].btn").click(); 0`)
		b.until("closed", `!document.querySelector("#drawer > *") && location.pathname === "/console/nodes"`)
	}
	w.mu.Lock()
	w.logCalls = nil
	w.mu.Unlock()
	b.eval(`window.asked = 0; const was = fetch; window.fetch = (u, o) => { if (String(u).includes("/log/lines")) asked++; return was(u, o); }; 0`)
	b.eval(`new Promise((done) => setTimeout(done, 2500))`)
	if n := b.eval(`asked`).(float64); n != 0 {
		t.Errorf("closed drawers still ask for lines: %v requests", n)
	}
}
