package nodeagent

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"eruptcloud/nodeagent/wire"
)

func numbers(lines []wire.LogLine) []int64 {
	out := make([]int64, len(lines))
	for i, l := range lines {
		out[i] = l.Num
	}
	return out
}

func span64(from, to int64) []int64 {
	var out []int64
	for n := from; n <= to; n++ {
		out = append(out, n)
	}
	return out
}

func TestLogQueries(t *testing.T) { // wire 2.9, recordings 310–313
	tests := map[string]struct {
		events       int
		offset       int64
		size         int
		first, count int64
	}{
		"nothing yet":                          {0, 0, 1000, 0, 0},
		"without offset: the oldest, size + 1": {19, 0, 5, 1, 6},
		"all":                                  {19, 0, 1000, 1, 19},
		"from a number on, inclusive":          {19, 17, 500, 17, 3},
		"from the newest: nothing":             {19, 19, 500, 0, 0},
		"beyond the newest: nothing":           {19, 4000, 500, 0, 0},
		"a poll after one new line":            {20, 19, 500, 19, 2},
		"the ring has turned":                  {1500, 0, 1000, 501, 1000},
		"an offset that has gone":              {1500, 3, 1000, 501, 1000},
		"size zero":                            {19, 0, 0, 1, 2},
		"size negative":                        {19, 0, -7, 1, 2},
		"size enormous":                        {1500, 0, 1 << 40, 501, 1000},
		"offset negative":                      {19, -5, 5, 1, 6},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := NewLogRing(0)
			for i := range tt.events {
				l.Append(fmt.Sprint("event ", i+1))
			}
			lines := l.Since(tt.offset, tt.size)
			if got := numbers(lines); !slices.Equal(got, span64(tt.first, tt.first+tt.count-1)) {
				t.Errorf("numbers = %v, want %d from %d on", got, tt.count, tt.first)
			}
			for _, line := range lines {
				if line.Content != fmt.Sprint("event ", line.Num) {
					t.Errorf("event %d is %q", line.Num, line.Content)
				}
			}
		})
	}
}

func TestLogEndpoint(t *testing.T) { // A28
	a := newAgent(t, (&plane{}).config())
	for i := range 5 {
		a.LogRing().Append(fmt.Sprint("line <", i, ">"))
	}
	for _, path := range []string{"/erupt-api/tool/erupt-log", "/erupt-api/tool/log"} {
		got := decode[[]wire.LogLine](t, do(a.Handler(), fromServer(http.MethodGet, path+"?size=500&offset=4", "")))
		if !slices.Equal(numbers(got), []int64{4, 5}) || got[0].Content != "line <3>" {
			t.Errorf("%s = %v", path, got)
		}
	}
	for query, want := range map[string]int{"size=x": 400, "offset=1e3": 400, "offset=99999999999999999999": 400, "size=": 200, "": 200} {
		if w := do(a.Handler(), fromServer(http.MethodGet, wire.LogPath+"?"+query, "")); w.Code != want {
			t.Errorf("?%s = %d, want %d", query, w.Code, want)
		}
	}
	if w := do(a.Handler(), fromServer(http.MethodPost, wire.LogPath, "")); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST = %d", w.Code)
	}
	if w := do(newAgent(t, (&plane{}).config()).Handler(), fromServer(http.MethodGet, wire.LogPath, "")); strings.TrimSpace(w.Body.String()) != "[]" {
		t.Errorf("empty log = %s, want an empty list (S81)", w.Body)
	}
}

func TestLogMemoryIsBounded(t *testing.T) { // S82
	l := NewLogRing(10)
	l.Append(strings.Repeat("ü", 5<<20))
	if got := l.Since(0, 1)[0].Content; len(got) > maxLogEvent+40 || !utf8.ValidString(got) || !strings.Contains(got, "bytes cut") {
		t.Errorf("a line of 10 MB became %d bytes ending in %q", len(got), got[len(got)-30:])
	}
	_, _ = l.Write([]byte(strings.Repeat("x", 1<<20)))
	if len(l.partial) > maxLogEvent {
		t.Errorf("a line without end keeps %d bytes", len(l.partial))
	}
	big := NewLogRing(1000)
	for range 1000 {
		big.Append(strings.Repeat("y", maxLogEvent))
	}
	total := 0
	for _, line := range big.Since(0, 1000) {
		total += len(line.Content)
	}
	if total > maxLogAnswer || total < maxLogAnswer/2 {
		t.Errorf("an answer has %d bytes, want up to %d", total, maxLogAnswer)
	}
}

func TestLogWriter(t *testing.T) {
	l := NewLogRing(10)
	for _, part := range []string{"one\ntw", "o\r\n", "\n", "gr\xc3", "\xbcezi\nbad \xff byte\nunfinished"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	var got []string
	for _, line := range l.Since(0, 10) {
		got = append(got, line.Content)
	}
	if want := []string{"one", "two", "", "grüezi", "bad \uFFFD byte"}; !slices.Equal(got, want) {
		t.Errorf("lines = %q, want %q", got, want)
	}
}

func TestLogHandler(t *testing.T) {
	l, next := NewLogRing(10), &lines{}
	log := slog.New(l.Handler(next.logger().Handler())).With("request_id", "r1").WithGroup("db").With("host", "a b")
	log.Info("stored", "rows", 3, slog.Group("took", "ms", 12))
	log.Error("failed", "error", "x=1", "stack", "goroutine 1\n\tmain.go:3")
	log.Debug("unseen")
	got := l.Since(0, 10)
	if len(got) != 2 {
		t.Fatalf("%d events, want 2", len(got))
	}
	if !strings.HasSuffix(got[0].Content, "\x1b[32m INFO\x1b[0m --- stored request_id=r1 db.host=\"a b\" db.rows=3 db.took.ms=12") {
		t.Errorf("info = %q", got[0].Content)
	}
	if !strings.Contains(got[1].Content, "\x1b[31mERROR\x1b[0m --- failed") || !strings.HasSuffix(got[1].Content, "error=\"x=1\"\ngoroutine 1\n\tmain.go:3") {
		t.Errorf("error = %q, want the stack on its own lines", got[1].Content)
	}
	if passed := next.containing("request_id=r1 db.host=\"a b\" db.rows=3"); len(passed) != 1 {
		t.Errorf("next got %q", next.all)
	}
	quiet := slog.New(l.Handler(slog.DiscardHandler))
	if !quiet.Enabled(context.Background(), slog.LevelInfo) || quiet.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("the ring takes info, whatever next wants, and debug only with it")
	}
}

func TestLogRingIsSafeForConcurrentUse(t *testing.T) {
	l := NewLogRing(100)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 500 {
				l.Append(fmt.Sprint(w, i))
				_, _ = fmt.Fprintln(l, "x")
				if lines := l.Since(0, 1000); len(lines) > 100 {
					t.Errorf("%d lines of a ring of 100", len(lines))
				}
			}
		})
	}
	all.Wait()
	if got := l.Since(3999, 10); len(got) != 2 || got[1].Num != 4000 {
		t.Errorf("the last numbers are %v, want 3999 and 4000", numbers(got))
	}
}

func FuzzLogQuery(f *testing.F) {
	for _, seed := range []string{"size=5", "size=500&offset=19", "size=-1&offset=9223372036854775807", "size=x", "offset=%zz", "size=1;offset=2"} {
		f.Add(seed)
	}
	a, err := New((&plane{}).config())
	if err != nil {
		f.Fatal(err)
	}
	for i := range 2000 {
		a.LogRing().Append(fmt.Sprint(i))
	}
	f.Fuzz(func(t *testing.T, query string) {
		r := fromServer(http.MethodGet, wire.LogPath, "")
		r.URL = &url.URL{Path: wire.LogPath, RawQuery: query}
		w := do(a.Handler(), r)
		if w.Code == http.StatusBadRequest {
			return
		}
		got := numbers(decode[[]wire.LogLine](t, w))
		if w.Code != http.StatusOK || len(got) > 1001 || !slices.IsSorted(got) || len(got) > 0 && (got[0] < 1001 || got[len(got)-1] > 2000) {
			t.Errorf("?%s = %d with %d numbers", query, w.Code, len(got))
		}
	})
}
