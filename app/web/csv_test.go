package web_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/go-cmp/cmp"

	"eruptcloud/app/fault"
	"eruptcloud/app/web"
)

func rowsOf(rows ...[]any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (f *fixture) export(rows iter.Seq2[[]any, error], header ...string) func(headers ...string) (status int, body string, h http.Header) {
	f.Engine().GET("/console/list.csv", f.Handle(func(c *gin.Context) error { return web.CSV(c, "节点", header, rows) }))
	return func(headers ...string) (int, string, http.Header) {
		w := f.do("GET", "/console/list.csv", headers...)
		return w.Code, w.Body.String(), w.Header()
	}
}

func TestCSVCells(t *testing.T) { // S94
	long := strings.Repeat("长", 40_000)
	moment := time.Date(2026, 1, 15, 23, 30, 0, 250_000_000, time.UTC)
	tests := map[string]struct {
		cell any
		want string
	}{
		"a long id keeps its zeros":         {"00367901234567890323", "00367901234567890323"},
		"an id that a float cannot hold":    {int64(9007199254740993), "9007199254740993"},
		"the same as a text":                {"9007199254740993", "9007199254740993"},
		"a version is no number":            {"1.10", "1.10"},
		"a formula":                         {`=HYPERLINK("http://evil.example","x")`, `'=HYPERLINK("http://evil.example","x")`},
		"a plus":                            {"+1", "'+1"},
		"an at":                             {"@cmd", "'@cmd"},
		"a minus before no number":          {"-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"},
		"a negative number as a text":       {"-0.02", "-0.02"},
		"a negative number":                 {-0.02, "-0.02"},
		"a tab":                             {"\t=1", "'\t=1"},
		"a carriage return":                 {"\r=1", "'\r=1"},
		"a wide equals sign":                {"＝1", "'＝1"},
		"a formula that is not at the head": {"a=1", "a=1"},
		"line breaks stay as they were":     {"a\nb\r\nc", "a\nb\r\nc"},
		"quotes and separators":             {`say "hi", twice; now`, `say "hi", twice; now`},
		"blanks at the ends":                {" a ", " a "},
		"emoji":                             {"👩‍🚀 ready", "👩‍🚀 ready"},
		"40,000 characters":                 {long, long},
		"bytes that are no text":            {"a\xff\x00b", "a\ufffdb"},
		"nothing":                           {nil, ""},
		"a bool":                            {true, "true"},
		"a time":                            {moment, "2026-01-15T23:30:00.25Z"},
		"no time":                           {time.Time{}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newShell(t)
			_, body, _ := f.export(rowsOf([]any{"first", tt.cell, "last"}), "a", "b", "c")()
			body, marked := strings.CutPrefix(body, "\ufeff")
			if !marked || !strings.HasPrefix(body, "a,b,c\r\n") || !strings.HasSuffix(body, ",last\r\n") {
				t.Fatalf("file is %.100q, want a byte order mark, the header, and lines that end in CRLF", body)
			}
			got := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(body, "a,b,c\r\n"), "first,"), ",last\r\n")
			if strings.HasPrefix(got, `"`) {
				got = strings.ReplaceAll(got[1:len(got)-1], `""`, `"`)
			}
			if got != tt.want {
				t.Errorf("cell %.60q was written as %.60q, want %.60q", tt.cell, got, tt.want)
			}
		})
	}
}

func TestCSVIsReadBackAsItWas(t *testing.T) { // S94
	f := newShell(t)
	_, body, h := f.export(rowsOf([]any{"a,b", "say \"x\"", "two\nlines"}, []any{"", 7, "z"}), "one", "two", "three")()
	got, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(body, "\ufeff"))).ReadAll()
	want := [][]string{{"one", "two", "three"}, {"a,b", `say "x"`, "two\nlines"}, {"", "7", "z"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("read back (-want +got, %v):\n%s", err, diff)
	}
	if !strings.HasPrefix(h.Get("Content-Type"), "text/csv; charset=utf-8") || h.Get("Cache-Control") != "no-store" {
		t.Errorf("headers are %v", h)
	}
	if d := h.Get("Content-Disposition"); d != `attachment; filename="__-20260701T120000Z.csv"; filename*=UTF-8''%E8%8A%82%E7%82%B9-20260701T120000Z.csv` {
		t.Errorf("Content-Disposition is %q", d)
	}
}

func TestAttachmentsHaveBothNames(t *testing.T) { // S99
	for name, want := range map[string]string{
		"crm.log":           `attachment; filename="crm.log"; filename*=UTF-8''crm.log`,
		"订单 导出.csv":         `attachment; filename="__ __.csv"; filename*=UTF-8''%E8%AE%A2%E5%8D%95%20%E5%AF%BC%E5%87%BA.csv`,
		"../a\"\r\nb:1.log": `attachment; filename=".._a___b_1.log"; filename*=UTF-8''.._a___b_1.log`,
	} {
		if got := web.Attachment(name); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
}

func TestCSVTimesAreInTheViewersZone(t *testing.T) { // U72, S94
	f := newShell(t)
	get := f.export(rowsOf([]any{time.Date(2026, 7, 1, 20, 0, 0, 0, time.UTC)}), "at")
	for zone, want := range map[string]string{"Asia/Shanghai": "2026-07-02T04:00:00+08:00", "America/New_York": "2026-07-01T16:00:00-04:00"} {
		if _, body, _ := get("Cookie", "ec_zone="+zone); !strings.Contains(body, want) {
			t.Errorf("in %s the file is %q, want %s in it", zone, body, want)
		}
	}
}

func TestCSVOfManyRowsTakesLittleMemory(t *testing.T) { // S94
	const rows, budget = 200_000, 2 << 20
	f := newShell(t)
	var peak, before runtime.MemStats
	f.Engine().GET("/console/list.csv", f.Handle(func(c *gin.Context) error {
		runtime.GC()
		runtime.ReadMemStats(&before)
		return web.CSV(c, "list", []string{"id", "text"}, func(yield func([]any, error) bool) {
			for i := range rows {
				if !yield([]any{i, strings.Repeat("x", 200)}, nil) {
					return
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&peak)
		})
	}))
	w := &counter{header: http.Header{}}
	r := httptest.NewRequest("GET", "http://fleet.test/console/list.csv", nil)
	f.Handler().ServeHTTP(w, r)
	if w.bytes < rows*200 {
		t.Fatalf("%d bytes were sent", w.bytes)
	}
	if peak.HeapAlloc > before.HeapAlloc+budget {
		t.Errorf("%d rows hold %d KB, want at most %d", rows, (peak.HeapAlloc-before.HeapAlloc)>>10, budget>>10)
	}
}

func TestCSVThatFails(t *testing.T) {
	broken := func(after int) iter.Seq2[[]any, error] {
		return func(yield func([]any, error) bool) {
			for i := range after {
				if !yield([]any{fmt.Sprint(i), strings.Repeat("x", 1000)}, nil) {
					return
				}
			}
			yield(nil, fault.New(fault.Unavailable, "the database does not answer").Because(errors.New("down")))
		}
	}
	f := newShell(t)
	if status, body, h := f.export(broken(1), "a", "b")(); status != 503 || strings.Contains(body, "xxx") || h.Get("Content-Disposition") != "" {
		t.Errorf("before the first bytes: answered %d %.80q %v, want a plain 503", status, body, h)
	}
	f = newShell(t)
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("after the first bytes: recovered %v, want a broken connection", p)
		}
	}()
	f.export(broken(1000), "a", "b")()
}

// counter is a writer that keeps nothing.
type counter struct {
	header http.Header
	bytes  int
}

func (w *counter) Header() http.Header         { return w.header }
func (w *counter) WriteHeader(int)             {}
func (w *counter) Write(p []byte) (int, error) { w.bytes += len(p); return len(p), nil }
