package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"eruptcloud/app/access"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/proxy"
)

const (
	firstLog = "http://10.20.4.11:8080" // of i-1
	logPath  = "/console/nodes/order-service/log"
)

// numbers are those of the lines in a piece of log.
func numbers(t *testing.T, body string) []string {
	t.Helper()
	var out []string
	parse(t, body).Find("li[data-num]").Each(func(_ int, s *goquery.Selection) { out = append(out, s.AttrOr("data-num", "")) })
	return out
}

func TestLogIsADrawerForScriptAndAPageForOthers(t *testing.T) { // U30, A28
	s := newSite(t, commerce())
	drawer := s.get(logPath+"?instance=i-1", htmx("drawer")).must(t, 200)
	if doc := parse(t, drawer); doc.Find("[data-testid=log-drawer]").Length() != 1 || includes(drawer, "<html") || len(numbers(t, drawer)) != 40 {
		t.Errorf("drawer:\n%s", drawer)
	}
	page := s.get(logPath+"?instance=i-1").must(t, 200)
	if doc := parse(t, page); doc.Find("[data-testid=log-page]").Length() != 1 || !includes(page, "<html") || len(numbers(t, page)) != 40 {
		t.Error("the page has no log")
	}
	doc := parse(t, page)
	if got := doc.Find(".ansi-36").First().Text(); got != "x.e.sample.order.OrderController" {
		t.Errorf("colour = %q", got)
	}
	if got := doc.Find("li.err a[target]").First().AttrOr("href", ""); got != "https://wiki.internal/db-pool" {
		t.Errorf("link = %q", got)
	}
	if c := s.logCalls[0]; c.Node != "order-service" || c.Location != firstLog || c.Token != "admin" || c.Offset != nil {
		t.Errorf("call = %+v", c)
	}
	s.get(logPath+"?instance=i-3", htmx("drawer")).must(t, 200)
	if c := s.logCalls[len(s.logCalls)-1]; c.Location != "http://10.20.4.13:8080" {
		t.Errorf("the chosen instance was not asked: %+v", c)
	}
}

func logOf(location string, from, to int, format string) []wire.LogLine {
	var out []wire.LogLine
	for i := from; i <= to; i++ {
		out = append(out, wire.LogLine{Num: int64(i), Content: fmt.Sprintf(format, i, location)})
	}
	return out
}

func TestMergedTailIsInTheOrderOfTimes(t *testing.T) { // D13, U32
	s := newSite(t, commerce())
	at := func(num int64, clock, text string) wire.LogLine {
		return wire.LogLine{Num: num, Content: "2026-12-01 14:31:" + clock + " INFO " + text}
	}
	s.log = map[string][]wire.LogLine{
		firstLog:                 {at(7, "01.000", "a"), at(8, "03.000", "c"), {Num: 9, Content: "\tat stack of c"}, at(10, "02.500", "clock set back")},
		"http://10.20.4.12:8080": {at(1, "02.000", "b"), at(2, "04.000", "d")},
		"http://10.20.4.13:8080": {{Num: 5, Content: "no time at all"}},
	}
	body := s.get(logPath).must(t, 200)
	doc := parse(t, body)
	var got []string
	doc.Find("li[data-num]").Each(func(_ int, li *goquery.Selection) {
		got = append(got, strings.TrimSpace(li.Find(".who").Text())+" "+strings.TrimSpace(li.Find(".text").Text()))
	})
	want := []string{"i-1 a", "i-2 b", "i-1 c", "i-1 at stack of c", "i-1 clock set back", "i-2 d", "i-3 no time at all"}
	if !slices.Equal(got, want) {
		t.Errorf("merged:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if text := doc.Find("[data-log-order]").Text(); !includes(text, "stand where they arrived") {
		t.Errorf("the order is said to be %q", text)
	}
	classes := map[string]bool{}
	doc.Find(".who").Each(func(_ int, w *goquery.Selection) { classes[w.AttrOr("class", "")] = true })
	if len(classes) != 3 {
		t.Errorf("three instances in %d colours", len(classes))
	}
	body = s.get(logPath+"/lines?instance=*&at=10@i-1&at=1@i-2&at=5@i-3&at=0@i-4", htmx("")).must(t, 200)
	if got := numbers(t, body); !slices.Equal(got, []string{"2"}) {
		t.Errorf("after the known lines: %v", got)
	}
}

func TestOneInstanceThatFailsCostsOnlyItsOwnLines(t *testing.T) { // U32
	w := commerce()
	s := newSite(t, w)
	w.failLog = map[string]error{"http://10.20.4.12:8080": proxy.Fail(proxy.UpstreamTimeout, "'%s' offers no log", "order-service")}
	doc := parse(t, s.get(logPath).must(t, 200))
	if n := doc.Find("li[data-num]").Length(); n != 40 {
		t.Errorf("%d lines of those that answer", n)
	}
	if text := doc.Find("[data-mark=failed]").Text(); text != "i-2: 'order-service' offers no log" {
		t.Errorf("said of the one that fails: %q", text)
	}
}

func TestLogGoesOnAfterTheLastLine(t *testing.T) { // S93
	s := newSite(t, commerce())
	ask := func(at int) string {
		return s.get(fmt.Sprintf(logPath+"/lines?instance=i-1&at=%d@i-1", at), htmx("")).must(t, 200)
	}
	if got := numbers(t, ask(38)); len(got) != 2 || got[0] != "39" || got[1] != "40" {
		t.Errorf("after 38: %v, want 39 and 40", got)
	}
	if got := numbers(t, ask(40)); len(got) != 0 {
		t.Errorf("after 40: %v", got)
	}
	s.log[firstLog] = append(s.log[firstLog], wire.LogLine{Num: 41, Content: "new"})
	if got := numbers(t, ask(40)); len(got) != 1 || got[0] != "41" {
		t.Errorf("after 40: %v, want 41 once", got)
	}
	for _, bad := range []string{"at=-1@i-1", "at=x@i-1", "at=1e9@i-1", "at=4", "before=@i-1", "charset=klingon", "before=1" + strings.Repeat("&before=1@x", 70)} {
		s.get(logPath+"/lines?instance=i-1&"+bad, htmx("")).must(t, 400)
	}
	if doc := parse(t, s.get(logPath+"/lines?instance=gone&at=3@gone", htmx("")).must(t, 200)); doc.Find("[data-source=gone][data-gone]").Length() != 1 {
		t.Error("an instance that has left is not said to have left (U21)")
	}
}

func TestOlderLinesComeInChunks(t *testing.T) { // U31
	s := newSite(t, commerce())
	s.log[firstLog] = logOf("", 2001, 3800, "INFO line %d%s")
	page := parse(t, s.get(logPath+"?instance=i-1").must(t, 200))
	if n := page.Find("li[data-num]").Length(); n != logShown || !includes(page.Find("[data-older]").Text(), "1,300 older lines remain") {
		t.Errorf("%d lines at first, %q", n, page.Find("[data-older]").Text())
	}
	before := func(at int) (first, last string, source *goquery.Selection) {
		doc := parse(t, s.get(fmt.Sprintf(logPath+"/lines?instance=i-1&before=%d@i-1", at), htmx("")).must(t, 200))
		all := doc.Find("li[data-num]")
		return all.First().AttrOr("data-num", ""), all.Last().AttrOr("data-num", ""), doc.Find("[data-source]")
	}
	if first, last, source := before(3301); first != "2801" || last != "3300" || source.AttrOr("data-first", "") != "2801" || source.AttrOr("data-oldest", "") != "0" {
		t.Errorf("before 3301: %s to %s", first, last)
	}
	if first, last, source := before(2101); first != "2001" || last != "2100" || source.AttrOr("data-oldest", "") != "2001" {
		t.Errorf("before 2101: %s to %s, the oldest said to be %s", first, last, source.AttrOr("data-oldest", ""))
	}
	if first, _, source := before(2001); first != "" || source.AttrOr("data-oldest", "") != "2001" {
		t.Errorf("before the oldest: %s", first)
	}
	if first, _, _ := before(1); first != "" {
		t.Errorf("before 1: %s", first)
	}
}

func TestMergedOlderLinesLeaveNoHole(t *testing.T) { // U31, D13
	s := newSite(t, commerce())
	s.log = map[string][]wire.LogLine{}
	chatty := func(n int) string { return fmt.Sprintf("2026-12-01 14:%02d:%02d.000 INFO chatty %d", n/60, n%60, n) }
	for i := 1; i <= 1800; i++ {
		s.log[firstLog] = append(s.log[firstLog], wire.LogLine{Num: int64(i), Content: chatty(i)})
		if i%100 == 0 {
			s.log["http://10.20.4.12:8080"] = append(s.log["http://10.20.4.12:8080"], wire.LogLine{Num: int64(i / 100), Content: strings.Replace(chatty(i), "chatty", "quiet", 1)})
		}
	}
	seen := map[string]bool{}
	take := func(body string) string {
		doc, next := parse(t, body), ""
		doc.Find("li[data-num]").Each(func(_ int, li *goquery.Selection) {
			key := li.AttrOr("data-of", "") + " " + li.AttrOr("data-num", "")
			if seen[key] {
				t.Errorf("%s comes twice", key)
			}
			seen[key] = true
		})
		doc.Find("[data-source]").Each(func(_ int, li *goquery.Selection) {
			next += "&before=" + li.AttrOr("data-first", "") + "@" + li.AttrOr("data-source", "")
		})
		return next
	}
	next := take(s.get(logPath+"?instance=*").must(t, 200))
	for range 6 {
		next = take(s.get(logPath+"/lines?instance=*"+next, htmx("")).must(t, 200))
	}
	if len(seen) != 1818 {
		t.Errorf("%d of 1,818 lines seen", len(seen))
	}
}

func TestRestartedCounterAndRotatedLogAreNoticed(t *testing.T) { // S80, erupt-wire 2.9
	s := newSite(t, commerce())
	calls := func() int { n := len(s.logCalls); s.logCalls = nil; return n }
	ask := func(at int) *goquery.Selection {
		return parse(t, s.get(fmt.Sprintf(logPath+"/lines?instance=i-1&at=%d@i-1", at), htmx("")).must(t, 200)).Find("body")
	}
	marks := func(doc *goquery.Selection) string { return doc.Find("[data-mark]").Text() }
	s.log[firstLog] = []wire.LogLine{{Num: 1, Content: "started"}, {Num: 2, Content: "ready"}}
	if doc := ask(40); doc.Find("li[data-num]").Length() != 2 || marks(doc) != "The node restarted its counter" {
		t.Errorf("after a restart: %s", doc.Text())
	}
	calls()
	// The log was cut to nothing: said once, then nothing is asked for twice, and what comes next is shown whatever its number.
	s.log[firstLog] = nil
	if doc := ask(40); marks(doc) != "Rotated: earlier lines are gone" || doc.Find("[data-source]").AttrOr("data-last", "") != "0" || calls() != 2 {
		t.Errorf("after the log was emptied: %s", doc.Text())
	}
	if doc := ask(0); marks(doc) != "" || calls() != 1 {
		t.Errorf("while it stays empty: %q", marks(doc))
	}
	s.log[firstLog] = []wire.LogLine{{Num: 1, Content: "anew"}}
	if doc := ask(0); marks(doc) != "" || doc.Find("li[data-num]").Length() != 1 {
		t.Errorf("after it was made anew: %q", doc.Text())
	}
	// A buffer that turned over faster than we asked goes on with what is there, and says how much was lost.
	s.log[firstLog] = []wire.LogLine{{Num: 900, Content: "a"}, {Num: 901, Content: "b"}}
	if doc := ask(40); doc.Find("li[data-num]").Length() != 2 || marks(doc) != "Rotated: 859 lines were gone before they could be read" {
		t.Errorf("after a gap: %q", marks(doc))
	}
}

func TestEmptyAndBrokenLogsAreSaidInWords(t *testing.T) { // S81
	s := newSite(t, commerce())
	s.log[firstLog] = nil
	if body := s.get(logPath).must(t, 200); !includes(body, "Nothing logged yet") {
		t.Error("an empty log does not say so")
	}
	s.logErr = proxy.Fail(proxy.UpstreamTimeout, "'%s' offers no log", "order-service")
	if doc := parse(t, s.get(logPath+"?instance=i-1").must(t, 200)); !includes(doc.Find("[data-mark=failed]").Text(), "'order-service' offers no log") {
		t.Error("a node that fails must cost the panel, not the page")
	}
	if doc := parse(t, s.get("/console/nodes/legacy-mall/log").must(t, 200)); !includes(doc.Find(".log-panel").Text(), "No instance is registered") {
		t.Error("a node without instances has nobody to ask")
	}
}

func TestLineIsALink(t *testing.T) { // U80
	s := newSite(t, commerce())
	s.log[firstLog] = logOf("", 1, 1900, "INFO line %d%s")
	doc := parse(t, s.get(logPath+"?instance=i-1&line=700&level=warn&q=pool").must(t, 200))
	at := doc.Find("li.at")
	if at.AttrOr("data-num", "") != "700" || doc.Find("li[data-num]").First().AttrOr("data-num", "") != "500" || doc.Find("li[data-num]").Length() != logShown {
		t.Errorf("the line stands at %s", at.AttrOr("data-num", "nothing"))
	}
	if href := at.Find(".when").AttrOr("href", ""); href != logPath+"?instance=i-1&line=700" {
		t.Errorf("its link is %s", href)
	}
	if doc.Find("[data-log-search]").AttrOr("value", "") != "pool" || doc.Find("[data-do=log-level][value=WARN]").AttrOr("aria-pressed", "") != "true" {
		t.Error("search and level of the address are not used")
	}
	s.log[firstLog] = logOf("", 1501, 1900, "INFO line %d%s")
	if doc := parse(t, s.get(logPath+"?instance=i-1&line=700").must(t, 200)); doc.Find("[data-mark=missing]").Text() != "Line 700 is not on the node any more" {
		t.Error("a line that is gone is not said to be gone")
	}
	s.get(logPath+"?line=x").must(t, 400)
}

func TestLogAsJSON(t *testing.T) { // U80
	s := newSite(t, commerce())
	s.log[firstLog] = []wire.LogLine{{Num: 6, Content: "2026-12-01T14:31:12.004+08:00 \x1b[31mERROR\x1b[m <b>x</b>"}, {Num: 7, Content: "2026-12-01 14:31:13 z\xfcrich"}}
	for _, path := range []string{logPath + "?instance=i-1", logPath + "/lines?instance=i-1", logPath + "/lines?instance=i-1&at=5@i-1"} {
		a := s.get(path, func(r *http.Request) { r.Header.Set("Accept", "application/json") })
		var d logDocument
		if err := json.Unmarshal([]byte(a.must(t, 200)), &d); err != nil || len(d.Lines) != 2 || len(d.Sources) != 1 {
			t.Fatalf("%s: %v\n%s", path, err, a.body)
		}
		one, two := d.Lines[0], d.Lines[1]
		if one.Time.Format("15:04:05.000Z07:00") != "06:31:12.004Z" || one.Level != "ERROR" || one.Text != "<b>x</b>" || one.Instance != "i-1" || one.Num != 6 {
			t.Errorf("%s: first line %+v", path, one)
		}
		if two.Time != nil || two.Local != "2026-12-01T14:31:13.000" || two.Text != "zürich" || two.Charset != "windows-1252" || d.Sources[0].Last != 7 {
			t.Errorf("%s: second line %+v, %+v", path, two, d.Sources)
		}
	}
}

func TestLinesInOtherCharacterSets(t *testing.T) { // S98
	tests := []struct{ content, choice, text, used string }{
		{"订单 ok", "", "订单 ok", ""},
		{"\xb6\xa9\xb5\xa5 ok", "", "订单 ok", "gb18030"},
		{"Z\xfcrich", "", "Zürich", "windows-1252"},
		{"Z\xfcrich", "utf-8", "Z\xfcrich", ""},
		{"Z\xfcrich", "gb18030", "Z\xfc\x72ich", "gb18030"},
		{"\xe8\xae\xa2", "windows-1252", "è®¢", "windows-1252"},
		{"plain", "gb18030", "plain", ""},
		{"\xb6", "", "¶", "windows-1252"},
		{"a\xffb", "gb18030", "a\ufffdb", "gb18030"},
	}
	for _, tt := range tests {
		text, used := decodeLog(tt.content, tt.choice)
		if tt.choice == "gb18030" && strings.HasPrefix(tt.content, "Z") {
			if used != "gb18030" || text == tt.content {
				t.Errorf("%q as chosen: %q", tt.content, text)
			}
			continue
		}
		if text != tt.text || used != tt.used {
			t.Errorf("%q by %q: %q as %q, want %q as %q", tt.content, tt.choice, text, used, tt.text, tt.used)
		}
	}
	s := newSite(t, commerce())
	s.log[firstLog] = []wire.LogLine{{Num: 1, Content: "\xb6\xa9\xb5\xa5"}}
	if doc := parse(t, s.get(logPath+"?instance=i-1").must(t, 200)); doc.Find("li .text").Text() != "订单" || !includes(doc.Find("[data-log-charset]").Text(), "read as gb18030") {
		t.Errorf("shown as %q, said %q", doc.Find("li .text").Text(), doc.Find("[data-log-charset]").Text())
	}
	if doc := parse(t, s.get(logPath+"?instance=i-1&charset=utf-8").must(t, 200)); doc.Find("li .text").Text() != "����" {
		t.Errorf("bytes that are no UTF-8 are shown as %q", doc.Find("li .text").Text())
	}
}

func TestLogOfInstancesOutOfRoutingCanBeRead(t *testing.T) { // D12
	s := newSite(t, commerce())
	s.log["http://10.20.5.1:8080"] = []wire.LogLine{{Num: 1, Content: "draining"}}
	s.log["http://10.20.6.1:8080"] = []wire.LogLine{{Num: 1, Content: "held"}}
	if got := numbers(t, s.get("/console/nodes/cart-service/log?instance=cart-1").must(t, 200)); len(got) != 1 {
		t.Error("the log of a draining instance")
	}
	if got := numbers(t, s.get("/console/nodes/promo-engine/log").must(t, 200)); len(got) != 1 {
		t.Error("the log of a held instance")
	}
}

func TestLogNeedsTheRightForTheNode(t *testing.T) { // D21
	w := commerce()
	for i := range w.nodes {
		for _, g := range w.groups {
			if g.Code == w.nodes[i].Group {
				w.nodes[i].GroupID = g.ID
			}
		}
	}
	w.login("team", false, access.CodeNodes, access.CodeNodeLog)
	team := w.sessions["team"]
	team.Scopes = map[string][]int64{strings.ToLower(access.CodeNodeLog): {1}, strings.ToLower(access.CodeNodes): {1}} // payments
	w.sessions["team"] = team
	s := newSite(t, w)
	for _, path := range []string{"", "/lines?at=1@i-1&instance=i-1", "/text?instance=i-1"} {
		s.as("team", http.MethodGet, "/console/nodes/ledger/log"+strings.ReplaceAll(path, "i-1", "ledger-1"), nil).must(t, 200)
		if body := s.as("team", http.MethodGet, logPath+path, nil).must(t, 403); !includes(body, access.CodeNodeLog) {
			t.Errorf("%s does not say which right is missing", path)
		}
	}
	if len(s.logCalls) == 0 || slices.ContainsFunc(s.logCalls, func(c proxy.LogCall) bool { return c.Node == "order-service" }) {
		t.Error("the node was asked all the same")
	}
}

func TestMergedLogIsBounded(t *testing.T) { // S82
	w := commerce()
	for i := range 40 {
		w.instance("ledger", fmt.Sprintf("many-%d", i), fmt.Sprintf("http://10.20.8.%d:8080", i), "2.3.0")
		w.log[fmt.Sprintf("http://10.20.8.%d:8080", i)] = logOf("", 1, 1000, "INFO line %d%s")
	}
	s := newSite(t, w)
	doc := parse(t, s.get("/console/nodes/ledger/log?instance=*").must(t, 200))
	if n := doc.Find("li[data-num]").Length(); n != logShown || len(s.logCalls) != logMerged || !includes(doc.Find("footer").Text(), "the first 16 of 41") {
		t.Errorf("%d lines of %d instances, %q", n, len(s.logCalls), doc.Find("footer").Text())
	}
	s.logCalls = nil
	s.get("/console/nodes/ledger/log").must(t, 200)
	if len(s.logCalls) != 1 {
		t.Errorf("%d instances are asked when nobody chose among 41", len(s.logCalls))
	}
}

func TestLogDownload(t *testing.T) {
	s := newSite(t, commerce())
	a := s.get(logPath + "/text?" + url.Values{"instance": {"i-1"}}.Encode())
	if body := a.must(t, 200); includes(body, "\x1b") || !includes(body, "2026-12-01 14:31:12.117  WARN com.zaxxer.hikari.pool.HikariPool pool stats") || a.Header().Get("Content-Disposition") != `attachment; filename="order-service.log"; filename*=UTF-8''order-service.log` {
		t.Errorf("download %v:\n%s", a.Header(), body)
	}
	s.log[firstLog] = []wire.LogLine{{Num: 1, Content: "2026-12-01 14:31:12 first"}, {Num: 2, Content: "2026-12-01 14:31:14 " + strings.Repeat("long", 5000), Size: 5 << 20}, {Num: 3, Content: "2026-12-01 14:31:15 last"}}
	s.log["http://10.20.4.12:8080"] = []wire.LogLine{{Num: 1, Content: "2026-12-01 14:31:13 between"}}
	if body := s.get(logPath+"/text?instance=*").must(t, 200); !includes(body, "first\ni-2  2026-12-01 14:31:13 between\ni-1  2026-12-01 14:31:14 long") {
		t.Errorf("all instances:\n%.200s", body)
	}
	if body := s.get(logPath+"/text?instance=i-1&line=2").must(t, 200); len(body) < 20_000 || includes(body, "first") || includes(body, "last") || !includes(body, "(5242880 bytes)") {
		t.Errorf("one line: %d bytes", len(body))
	}
	s.get(logPath+"/text?instance=i-1&line=9").must(t, 404)
	s.get(logPath+"/text?instance=gone").must(t, 404)
}

func TestLongLineSaysItsLength(t *testing.T) { // U32, S82
	s := newSite(t, commerce())
	s.log[firstLog] = []wire.LogLine{{Num: 4, Content: "INFO " + strings.Repeat("订", 1<<18), Size: 5 << 20}}
	li := parse(t, s.get(logPath+"?instance=i-1").must(t, 200)).Find("li[data-num]")
	if text := li.Text(); len(text) > 9<<10 || !includes(text, "cut at 8 KB of 5.0 MB, 5,242,880 bytes") || includes(text, "�") {
		t.Errorf("%d bytes, ends in %q", len(text), text[len(text)-120:])
	}
	if href := li.Find("a[download]").AttrOr("href", ""); href != logPath+"/text?instance=i-1&line=4" {
		t.Errorf("the whole line is at %s", href)
	}
}
