package console

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/PuerkitoBio/goquery"

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
	drawer := s.get(logPath, htmx("drawer")).must(t, 200)
	if doc := parse(t, drawer); doc.Find("[data-testid=log-drawer]").Length() != 1 || includes(drawer, "<html") || len(numbers(t, drawer)) != 40 {
		t.Errorf("drawer:\n%s", drawer)
	}
	page := s.get(logPath).must(t, 200)
	if doc := parse(t, page); doc.Find("[data-testid=log-page]").Length() != 1 || !includes(page, "<html") || len(numbers(t, page)) != 40 {
		t.Error("the page has no log")
	}
	doc := parse(t, page)
	if got := doc.Find(".ansi-36").First().Text(); got != "x.e.sample.order.OrderController" {
		t.Errorf("colour = %q", got)
	}
	if got := doc.Find("li.err a").First().AttrOr("href", ""); got != "https://wiki.internal/db-pool" {
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

func TestLogGoesOnAfterTheLastLine(t *testing.T) {
	s := newSite(t, commerce())
	ask := func(offset int) answer {
		return s.get(fmt.Sprintf(logPath+"/lines?instance=i-1&offset=%d", offset), htmx(""))
	}
	if got := numbers(t, ask(38).must(t, 200)); len(got) != 2 || got[0] != "39" || got[1] != "40" {
		t.Errorf("after 38: %v, want 39 and 40", got)
	}
	ask(40).must(t, 204)
	s.log[firstLog] = append(s.log[firstLog], wire.LogLine{Num: 41, Content: "new"})
	if got := numbers(t, ask(40).must(t, 200)); len(got) != 1 || got[0] != "41" {
		t.Errorf("after 40: %v, want 41 once", got)
	}
	for _, bad := range []string{"-1", "x", "1e9"} {
		s.get(logPath+"/lines?instance=i-1&offset="+bad, htmx("")).must(t, 400)
	}
	s.get(logPath+"/lines?instance=gone&offset=3", htmx("")).must(t, 404)
}

func TestRestartedCounterIsNoticed(t *testing.T) { // erupt-wire 2.9
	s := newSite(t, commerce())
	s.log[firstLog] = []wire.LogLine{{Num: 1, Content: "started"}, {Num: 2, Content: "ready"}}
	body := s.get(logPath+"/lines?instance=i-1&offset=40", htmx("")).must(t, 200)
	if got := numbers(t, body); len(got) != 2 || !includes(body, "data-restarted") {
		t.Errorf("after a restart: %v\n%s", got, body)
	}
	// An emptied buffer is no restart.
	s.log[firstLog] = nil
	s.get(logPath+"/lines?instance=i-1&offset=40", htmx("")).must(t, 204)
	// A buffer that turned over faster than we asked goes on with what is there.
	s.log[firstLog] = []wire.LogLine{{Num: 900, Content: "a"}, {Num: 901, Content: "b"}}
	if got := numbers(t, s.get(logPath+"/lines?instance=i-1&offset=40", htmx("")).must(t, 200)); len(got) != 2 || got[0] != "900" {
		t.Errorf("after a gap: %v, want 900 and 901", got)
	}
}

func TestEmptyAndBrokenLogsAreSaidInWords(t *testing.T) { // S81
	s := newSite(t, commerce())
	s.log[firstLog] = nil
	if body := s.get(logPath).must(t, 200); !includes(body, "Nothing logged yet") {
		t.Error("an empty log does not say so")
	}
	s.logErr = proxy.Fail(proxy.UpstreamTimeout, "'%s' offers no log", "order-service")
	if doc := parse(t, s.get(logPath).must(t, 200)); !includes(doc.Find("[data-failed]").Text(), "'order-service' offers no log") {
		t.Error("a node that fails must cost the panel, not the page")
	}
	if doc := parse(t, s.get("/console/nodes/legacy-mall/log").must(t, 200)); !includes(doc.Find(".log-panel").Text(), "No instance is registered") {
		t.Error("a node without instances has nobody to ask")
	}
}

func TestLogDownloadHasNoColours(t *testing.T) {
	s := newSite(t, commerce())
	a := s.get(logPath + "/text?" + url.Values{"instance": {"i-1"}}.Encode())
	if body := a.must(t, 200); includes(body, "\x1b") || !includes(body, "HikariPool pool stats") || a.Header().Get("Content-Disposition") != `attachment; filename="order-service.log"` {
		t.Errorf("download %v:\n%s", a.Header(), body)
	}
}
