package views_test

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"eruptcloud/views"
)

func TestParseLogLine(t *testing.T) { // U32
	type span = views.LogSpan
	tests := map[string]struct {
		content string
		want    []span
		level   string
	}{
		"plain":                       {"hello", []span{{Text: "hello"}}, ""},
		"colours become classes":      {"\x1b[31mbad\x1b[0m ok", []span{{Class: "ansi-31", Text: "bad"}, {Text: " ok"}}, ""},
		"bold red of logback":         {"\x1b[1;31mERROR\x1b[0;39m x", []span{{Class: "ansi-31", Text: "ERROR"}, {Text: " x"}}, "ERROR"},
		"bright and blue":             {"\x1b[92mg\x1b[34mb\x1b[39m", []span{{Class: "ansi-32", Text: "g"}, {Class: "ansi-36", Text: "b"}}, ""},
		"256 colours are reduced":     {"\x1b[38;5;196mr\x1b[38;5;28mg\x1b[38;5;21mb\x1b[38;5;244md\x1b[38;5;255mw\x1b[m", []span{{Class: "ansi-31", Text: "r"}, {Class: "ansi-32", Text: "g"}, {Class: "ansi-36", Text: "b"}, {Class: "ansi-2", Text: "d"}, {Text: "w"}}, ""},
		"true colours are reduced":    {"\x1b[38;2;255;150;0mo\x1b[38:2::200:0:200mm\x1b[0m", []span{{Class: "ansi-33", Text: "o"}, {Class: "ansi-35", Text: "m"}}, ""},
		"backgrounds are none":        {"\x1b[48;5;196;31mx\x1b[48;2;1;2;3my\x1b[m", []span{{Class: "ansi-31", Text: "x"}, {Class: "ansi-31", Text: "y"}}, ""},
		"bold and dim":                {"\x1b[1mb\x1b[22;2md\x1b[22mn", []span{{Class: "ansi-1", Text: "b"}, {Class: "ansi-2", Text: "d"}, {Text: "n"}}, ""},
		"colours without an end":      {"\x1b[38;5mx\x1b[38;2;1my\x1b[99999999999999999999mz", []span{{Text: "x"}, {Text: "y"}, {Text: "z"}}, ""},
		"time and level have columns": {"2026-12-01 14:31:12.117 \x1b[33m WARN\x1b[m pool low", []span{{Text: "pool low"}}, "WARN"},
		"dashes after the level":      {"2026-12-01 14:31:12.117  INFO --- ready", []span{{Text: "ready"}}, "INFO"},
		"a level in brackets":         {"2026/12/01 14:31:12 [ERROR] x", []span{{Text: "x"}}, "ERROR"},
		"a level later in the line":   {"2026-12-01T14:31:12Z [main] INFO x", []span{{Text: "[main] INFO x"}}, "INFO"},
		"logfmt":                      {"time=2026-12-01T14:31:12Z level=warn msg=x", []span{{Text: "time=2026-12-01T14:31:12Z level=warn msg=x"}}, "WARN"},
		"JSON":                        {`{"level":"error","msg":"x"}`, []span{{Text: `{"level":"error","msg":"x"}`}}, "ERROR"},
		"a word is no level":          {"no error at all, debug me", []span{{Text: "no error at all, debug me"}}, ""},
		"java.util.logging":           {"SEVERE: x", []span{{Text: "SEVERE: x"}}, "ERROR"},
		"cursor and title are taken":  {"a\x1b[2Jb\x1b]0;evil\x07c\x1b(d", []span{{Text: "a"}, {Text: "b"}, {Text: "c"}, {Text: "(d"}}, ""},
		"turned around":               {"pay \u202e100 to\u2066 me", []span{{Text: "pay �100 to� me"}}, ""},
		"an escape that never ends":   {"a\x1b[31", []span{{Text: "a"}, {Text: "[31"}}, ""},
		"control characters go":       {"a\x00b\x08c\u0085d\te", []span{{Text: "abcd\te"}}, ""},
		"bytes that are no text":      {"a\xffb", []span{{Text: "a\ufffdb"}}, ""},
		"links only http":             {"see https://a.b/c?d=1). javascript:alert(1)", []span{{Text: "see "}, {Text: "https://a.b/c?d=1", Href: "https://a.b/c?d=1"}, {Text: "). javascript:alert(1)"}}, ""},
		"markup stays text":           {`"><img src=x onerror=alert(1)>`, []span{{Text: `"><img src=x onerror=alert(1)>`}}, ""},
		"several lines are one event": {"WARN x\n\tat y\r\n", []span{{Text: "WARN x\n\tat y"}}, "WARN"},
		"fatal counts as error":       {"FATAL x", []span{{Text: "FATAL x"}}, "ERROR"},
		"a level in a word is none":   {"INFORMATION", []span{{Text: "INFORMATION"}}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := views.ParseLogLine(7, tt.content)
			if !reflect.DeepEqual(got.Spans, tt.want) || got.Level != tt.level || got.Num != 7 {
				t.Errorf("ParseLogLine(%q) = %+v, want %+v at level %q", tt.content, got, tt.want, tt.level)
			}
		})
	}
}

func TestLongLogLinesAreCutBetweenCharacters(t *testing.T) {
	content := "x" + strings.Repeat("界", 1<<20)
	got := views.ParseLogLine(1, content)
	text := ""
	for _, s := range got.Spans {
		text += s.Text
	}
	if got.Cut != len(content) || len(text) > 8<<10 || !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
		t.Errorf("a line of %d bytes: cut %d, %d shown, valid %v", len(content), got.Cut, len(text), utf8.ValidString(text))
	}
}

func TestTimesOfLogLines(t *testing.T) { // U32, D13
	tests := map[string]struct {
		content, want string
		zoned         bool
	}{
		"logback":       {"2026-12-01 14:31:12.004 INFO x", "2026-12-01T14:31:12.004Z", false},
		"spring boot 3": {"2026-12-01T14:31:12.004+08:00  INFO x", "2026-12-01T06:31:12.004Z", true},
		"comma":         {"2026-12-01 14:31:12,5 x", "2026-12-01T14:31:12.5Z", false},
		"package log":   {"2026/12/01 14:31:12.000123 x", "2026-12-01T14:31:12.000123Z", false},
		"west":          {"[2026-12-01 14:31:12 -0530] x", "2026-12-01T20:01:12Z", true},
		"logfmt":        {"level=info ts=2026-12-01T14:31:12Z x", "2026-12-01T14:31:12Z", true},
		"JSON":          {`{"time":"2026-12-01T14:31:12.1Z"}`, "2026-12-01T14:31:12.1Z", true},
		"colour first":  {"\x1b[2m2026-12-01 14:31:12\x1b[m x", "2026-12-01T14:31:12Z", false},
		"no date":       {"2026-13-40 14:31:12 x", "", false},
		"none":          {"started at 14:31", "", false},
	}
	for name, tt := range tests {
		got, text := views.ParseLogLine(1, tt.content), ""
		if !got.Time.IsZero() {
			text = got.Time.Format("2006-01-02T15:04:05.999999999Z07:00")
		}
		if text != tt.want || got.Zoned != tt.zoned {
			t.Errorf("%s: %q says %s (zone named %v), want %s", name, tt.content, text, got.Zoned, tt.want)
		}
	}
}

func TestEventsOfManyLinesAreFolded(t *testing.T) {
	got := views.ParseLogLine(1, "ERROR x"+strings.Repeat("\n\tat y", 49))
	if got.Folded != 42 || strings.Count(got.Spans[0].Text, "\n") != 7 || strings.Count(got.Text(), "at y") != 49 {
		t.Errorf("%d lines folded, %d shown, %q", got.Folded, strings.Count(got.Spans[0].Text, "\n")+1, got.Text())
	}
	if got := views.ParseLogLine(1, "x\ny\nz"); got.Folded != 0 || len(got.More) != 0 {
		t.Errorf("three lines: %d folded", got.Folded)
	}
}

func TestShortNames(t *testing.T) {
	tests := map[string]struct{ ids, want []string }{
		"short already": {[]string{"i-1", "i-2"}, []string{"i-1", "i-2"}},
		"what differs":  {[]string{"order-service-7f6c5d-aaaaa", "order-service-7f6c5d-bbbbb"}, []string{"aaaaa", "bbbbb"}},
		"one":           {[]string{"order-service-7f6c5d"}, []string{"…vice-7f6c5d"}},
		"letters":       {[]string{"订单服务的第一个实例在上海机房", "x"}, []string{"…个实例在上海机房", "x"}},
	}
	for name, tt := range tests {
		got := views.ShortNames(tt.ids, 12)
		for i := range got {
			if n := utf8.RuneCountInString(got[i]); n > 12 || !strings.HasSuffix(tt.want[i], got[i][len(got[i])-1:]) {
				t.Errorf("%s: %v", name, got)
			}
		}
		if name != "letters" && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func FuzzParseLogLine(f *testing.F) {
	f.Add("\x1b[31mERROR\x1b[0m https://a.b\x1b]0;t\x07 \xff")
	f.Fuzz(func(t *testing.T, content string) {
		line := views.ParseLogLine(1, content)
		for _, s := range append(line.Spans, line.More...) {
			if !utf8.ValidString(s.Text) || strings.ContainsAny(s.Text, "\x1b\x00\x07") {
				t.Errorf("%q leaves %q", content, s.Text)
			}
			if s.Href != "" && !strings.HasPrefix(s.Href, "http://") && !strings.HasPrefix(s.Href, "https://") {
				t.Errorf("%q links to %q", content, s.Href)
			}
		}
	})
}
