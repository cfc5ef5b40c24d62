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
		"extended colours are none":   {"\x1b[38;5;196mx\x1b[m", []span{{Text: "x"}}, ""},
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

func FuzzParseLogLine(f *testing.F) {
	f.Add("\x1b[31mERROR\x1b[0m https://a.b\x1b]0;t\x07 \xff")
	f.Fuzz(func(t *testing.T, content string) {
		for _, s := range views.ParseLogLine(1, content).Spans {
			if !utf8.ValidString(s.Text) || strings.ContainsAny(s.Text, "\x1b\x00\x07") {
				t.Errorf("%q leaves %q", content, s.Text)
			}
			if s.Href != "" && !strings.HasPrefix(s.Href, "http://") && !strings.HasPrefix(s.Href, "https://") {
				t.Errorf("%q links to %q", content, s.Href)
			}
		}
	})
}
