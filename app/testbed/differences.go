package testbed

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Differences is the list of what this server answers otherwise than the one that it stands in for. A line is
//
//	request | field | ours | theirs | why
//
// where the first four may hold * for any text, and a line that begins with # is a comment. Why names its source: a section of
// erupt-wire, erupt 1.12, or a requirement by its letter and number; "as above" takes over that of the line before. A difference
// that no line describes fails the test, and so does a line that describes none.
type Differences struct {
	path  string
	mu    sync.Mutex
	lines []*difference
}

type difference struct {
	number                       int // of the line
	request, field, ours, theirs string
	used                         bool
}

// source is what a difference may rest on.
var source = regexp.MustCompile(`\b(erupt-wire [1-9][0-9.]*|erupt-1\.12|[A-DFSU][1-9][0-9]*)\b`)

// ReadDifferences reads the list.
func ReadDifferences(t testing.TB, path string) *Differences {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := &Differences{path: path}
	sourced := false // the line before
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		parts := strings.Split(text, " | ")
		if len(parts) != 5 || strings.TrimSpace(parts[4]) == "" {
			t.Errorf("%s:%d: want request | field | ours | theirs | why, got %q", path, n, text)
			continue
		}
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		if sourced = source.MatchString(parts[4]) || sourced && strings.HasPrefix(parts[4], "as above"); !sourced {
			t.Errorf("%s:%d: %q names no source", path, n, parts[4])
		}
		d.lines = append(d.lines, &difference{number: n, request: parts[0], field: parts[1], ours: parts[2], theirs: parts[3]})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return d
}

// Differ reports a difference; it fails the test unless a line describes it. Values are told as Shown makes them.
func (d *Differences) Differ(t testing.TB, request, field, ours, theirs string) {
	t.Helper()
	ours, theirs = Shown(ours), Shown(theirs)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.lines {
		if like(l.request, request) && like(l.field, field) && like(l.ours, ours) && like(l.theirs, theirs) {
			l.used = true
			return
		}
	}
	t.Errorf("not in %s:\n%s | %s | %s | %s | ", d.path, request, field, ours, theirs)
}

// Finish fails for every line about requests with this prefix that described nothing since the list was read.
func (d *Differences) Finish(t testing.TB, prefix string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, l := range d.lines {
		if !l.used && strings.HasPrefix(l.request, prefix) {
			t.Errorf("%s:%d describes a difference that is gone: %s | %s | %s | %s", d.path, l.number, l.request, l.field, l.ours, l.theirs)
		}
	}
}

// Shown is a value as the list holds it: one line, without the list's separator, cut at 100 characters.
func Shown(v string) string {
	if v == "" {
		return "(nothing)"
	}
	v = strings.ReplaceAll(strings.Join(strings.Fields(v), " "), "|", "¦")
	if r := []rune(v); len(r) > 100 {
		v = string(r[:99]) + "…"
	}
	return v
}

// like reports whether text matches a pattern in which * stands for any text.
func like(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return strings.HasSuffix(text, last)
}

// String tells how many lines there are.
func (d *Differences) String() string { return fmt.Sprintf("%s: %d lines", d.path, len(d.lines)) }
