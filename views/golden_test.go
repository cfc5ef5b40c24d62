package views_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/google/go-cmp/cmp"

	"eruptcloud/views"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a component with its file in testdata.
func golden(t *testing.T, name string, ctx context.Context, c templ.Component) {
	t.Helper()
	var b bytes.Buffer
	if err := c.Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	path := filepath.Join("testdata", name+".html")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with -update and look at it", err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s differs (-golden +now):\n%s", name, diff)
	}
}

func TestGoldenStates(t *testing.T) { // U2
	for _, lang := range views.Langs {
		golden(t, "states_"+lang, in(lang), templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
			for _, k := range []views.StateKind{
				views.StateUp, views.StateSlow, views.StateProbing, views.StateDown, views.StateDraining, views.StateHeld, views.StateOffline,
				views.StateDisabled, views.StateNever,
			} {
				if err := views.State(k).Render(ctx, w); err != nil {
					return err
				}
			}
			return views.StateLarge(views.StateHeld).Render(ctx, w)
		}))
	}
}

func TestGoldenNotice(t *testing.T) {
	f := views.Failure{
		Status: 409, Code: "conflict", Message: `somebody & "others" <were> faster`, Fields: map[string]string{"name": "exists already", "code": "<b>"},
		RequestID: "REQ123456", RetryAfter: 90 * time.Second,
	}
	golden(t, "notice_en", in("en"), views.Notice(f))
	golden(t, "notice_zh", in("zh"), views.Notice(f))
}

func TestGoldenLogLines(t *testing.T) {
	one, two := views.ParseLogLine(1, "2026-12-01T14:31:12.004+08:00  \x1b[32mINFO\x1b[m ready at https://a.b/c."), views.ParseLogLine(2, "ERROR \x1b[31m<script>\x1b[m\n\tat x")
	one.Instance, two.Instance = "i-1", "i-2"
	golden(t, "log_lines", in("en"), views.LogItems(views.LogChunk{Node: "n", Merged: true, Lines: []views.LogLine{one, two}, Sources: []views.LogSource{
		{LogInstance: views.LogInstance{ID: "i-1", Short: "i-1", Class: "c1"}, First: 1, Last: 1, Restarted: true},
		{LogInstance: views.LogInstance{ID: "i-2", Short: "i-2", Class: "c2"}, First: 2, Last: 2, Oldest: 1, Rotated: true, Lost: 1204},
		{LogInstance: views.LogInstance{ID: "i-3", Short: "i-3", Class: "c3"}, Failed: "<b>no answer</b>"},
	}}))
}

func TestGoldenSnippets(t *testing.T) { // U23
	golden(t, "snippets", in("en"), views.Snippets(views.SnippetModel{Node: "order-service", Server: "https://fleet.example/ops", Token: `q'u"o$te`}))
}
