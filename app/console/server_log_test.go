package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/nodeagent/wire"
)

// ownLines are what the server logged.
type ownLines []wire.LogLine

func (l *ownLines) read(from int64, size int) []wire.LogLine {
	all := slices.Clone(*l) // the console may do with it what it likes
	if from < 0 {
		return all[max(len(all)-size, 0):]
	}
	for i, line := range all {
		if line.Num >= from {
			return all[i:min(i+size, len(all))]
		}
	}
	return nil
}

func (l *ownLines) add(texts ...string) {
	for _, text := range texts {
		*l = append(*l, wire.LogLine{Num: int64(len(*l) + 1), Content: text})
	}
}

// replica is who answers.
func (w *world) replica() string {
	if len(w.replicas) == 0 {
		return "web-1-ABCDEF"
	}
	return w.replicas[0]
}

const serverLogPath = "/console/server-log"

func TestServerLogIsReadLikeThatOfANode(t *testing.T) { // erupt-wire 3.3, U30, U32, U80
	w := commerce()
	w.ownLog.add("2026-12-01T06:32:04Z INFO  \x1b[31mready\x1b[m url=https://fleet.example/", "2026-12-01T06:32:05Z ERROR node <script>alert(2)</script>\u202e refused")
	s := newSite(t, w)
	page := s.get(serverLogPath).must(t, 200)
	doc := parse(t, page)
	if got := numbers(t, page); strings.Join(got, " ") != "1 2" {
		t.Fatalf("lines %v, want 1 and 2", got)
	}
	if doc.Find(".ansi-31").Text() != "ready" || doc.Find("li.err").Length() != 1 || doc.Find("script:not([src])").Length() != 0 || includes(page, "\u202e") {
		t.Error("colours, levels or markup of lines are not treated as those of nodes are")
	}
	if got := doc.Find(".log-panel").AttrOr("data-log", ""); got != "/console/server-log/lines?instance=" {
		t.Errorf("the panel asks %q", got)
	}
	if doc.Find("#log-instance, #log-charset, [data-testid=replica]").Length() != 0 || doc.Find("#nav [aria-current=page]").Length() != 1 {
		t.Error("the only server offers a choice, or the navigation does not show the page")
	}
	var twin logDocument
	if err := json.Unmarshal([]byte(s.get(serverLogPath, scripted).must(t, 200)), &twin); err != nil || twin.Replica != "web-1-ABCDEF" || len(twin.Lines) != 2 || twin.Lines[1].Level != "ERROR" {
		t.Errorf("the twin is %+v, %v", twin, err)
	}
	file := s.get(serverLogPath + "/text")
	if want := "2026-12-01T06:32:04Z INFO  ready url=https://fleet.example/\n"; file.Code != 200 || !strings.HasPrefix(file.body, want) || !strings.Contains(file.Header().Get("Content-Disposition"), "server-web-1-ABCDEF.log") {
		t.Errorf("the file: %d %q %v", file.Code, file.body, file.Header())
	}
	s.get(serverLogPath+"/text?line=9").must(t, 404)
	s.get(serverLogPath+"/lines?at=x").must(t, 400)
	w.ownLog.add("2026-12-01T06:32:06Z INFO  third")
	if got := numbers(t, s.get(serverLogPath+"/lines?at=2@web-1-ABCDEF").must(t, 200)); strings.Join(got, " ") != "3" {
		t.Errorf("what came after: %v, want 3", got)
	}
	if got := s.get(serverLogPath+"/lines?instance=&at=40@web-1-OTHER1").must(t, 200); len(numbers(t, got)) != 3 || !includes(got, "The server started again") {
		t.Errorf("after a start: %s", got)
	}
	for i := range 900 {
		w.ownLog.add(fmt.Sprintf("2026-12-01T06:33:00Z INFO  line %d", i))
	}
	if got := numbers(t, s.get(serverLogPath+"/lines?before=404@web-1-ABCDEF").must(t, 200)); len(got) != 403 || got[0] != "1" {
		t.Errorf("%d older lines, want 403", len(got))
	}
	if page = s.get(serverLogPath+"?instance=web-1-ABCDEF&line=450").must(t, 200); parse(t, page).Find("li.at[data-num='450']").Length() != 1 {
		t.Error("the line of a link is not shown")
	}
	if page = s.get(serverLogPath+"?instance=web-1-ABCDEF&line=5000").must(t, 200); !includes(page, "does not keep line 5,000") {
		t.Error("a line that is gone is not said to be")
	}
}

func TestServerLogSaysWhoseItIs(t *testing.T) { // U30
	w := commerce()
	w.replicas = []string{"web-2-BBBBBB", "web-1-AAAAAA"}
	w.ownLog.add("2026-12-01T06:32:04Z INFO  ready")
	s := newSite(t, w)
	page := s.get(serverLogPath).must(t, 200)
	doc := parse(t, page)
	if got := doc.Find("[data-testid=replica]").Text(); !strings.Contains(got, "replica web-2-BBBBBB") || !strings.Contains(got, "2 replicas") {
		t.Errorf("the page says %q", got)
	}
	if who := doc.Find("li[data-num] .who"); who.Length() != 1 || who.AttrOr("title", "") != "web-2-BBBBBB" {
		t.Error("the line does not say whose it is")
	}
	// Another replica answers a page that knows the lines of the first one: each goes on from its own.
	if got := s.get(serverLogPath+"/lines?instance=*&at=7@web-1-AAAAAA&at=1@web-2-BBBBBB").must(t, 200); len(numbers(t, got)) != 0 || includes(got, "started again") {
		t.Errorf("lines came twice: %s", got)
	}
	for _, path := range []string{"?instance=web-1-AAAAAA&line=3", "/lines?instance=web-1-AAAAAA&at=3@web-1-AAAAAA"} {
		got := s.get(serverLogPath+path, chinese).must(t, 200)
		if len(numbers(t, got)) != 0 || !includes(got, "应答的是副本 web-2-BBBBBB") {
			t.Errorf("%s does not say that another replica answers: %s", path, got)
		}
	}
	s.get(serverLogPath+"/text?instance=web-1-AAAAAA").must(t, 503)
}

func TestServerLogNeedsItsCodeForEverything(t *testing.T) { // A28
	w := commerce()
	w.ownLog.add("INFO ready")
	s := newSite(t, w)
	s.login("watcher", false, access.CodeNodeLog, access.CodeAudit)
	s.login("reader", false, access.CodeServerLog)
	s.login("limited", false, access.CodeServerLog)
	limited := w.sessions["limited"]
	limited.Scopes = map[string][]int64{access.CodeServerLog: {1}}
	w.sessions["limited"] = limited
	for _, path := range []string{"", "/lines", "/text"} {
		s.as("watcher", http.MethodGet, serverLogPath+path, nil).must(t, 403)
		s.as("limited", http.MethodGet, serverLogPath+path, nil).must(t, 403)
		s.as("reader", http.MethodGet, serverLogPath+path, nil).must(t, 200)
	}
}
