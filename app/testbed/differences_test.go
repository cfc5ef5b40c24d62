package testbed_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"eruptcloud/app/testbed"
)

// noted is a test that only remembers what it was failed with.
type noted struct {
	testing.TB
	said []string
}

func (n *noted) Helper() {}

func (n *noted) Errorf(format string, args ...any) {
	n.said = append(n.said, strings.TrimSpace(format)+" "+strings.Join(texts(args), " "))
}

func texts(args []any) []string {
	var out []string
	for _, a := range args {
		if s, ok := a.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func TestDifferences(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.txt")
	list := "# known\n\n1/login | status | 200 | 500 | kinder (erupt-wire 1.3)\n1/*-power | body.* | true | * | as above\n1/gone | status | 1 | 2 | was once (A15)\n2/gone | status | 1 | 2 | of another run (erupt-1.12 bug 3)\n"
	if err := os.WriteFile(path, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	d := testbed.ReadDifferences(t, path)
	tests := map[string]struct {
		request, field, ours, theirs string
		fails                        bool
	}{
		"listed":              {"1/login", "status", "200", "500", false},
		"listed with stars":   {"1/user-power", "body.add.x", "true", "(anything) at all", false},
		"another value":       {"1/login", "status", "201", "500", true},
		"another request":     {"1/login2", "status", "200", "500", true},
		"star needs the rest": {"1/user-powers", "body.add", "true", "x", true},
	}
	for name, tt := range tests {
		n := &noted{TB: t}
		d.Differ(n, tt.request, tt.field, tt.ours, tt.theirs)
		if (len(n.said) > 0) != tt.fails {
			t.Errorf("%s: it said %q, want a failure: %v", name, n.said, tt.fails)
		}
	}
	n := &noted{TB: t}
	d.Finish(n, "1/")
	if len(n.said) != 1 || !strings.Contains(n.said[0], "1/gone") {
		t.Errorf("at the end it said %q, want the one line that described nothing", n.said)
	}
}

// A difference without a source is a mistake that somebody wrote down.
func TestDifferencesNeedTheirSource(t *testing.T) {
	for lines, fails := range map[string]bool{
		"x | status | 1 | 2 | kinder (erupt-wire 10.1)":                                 false,
		"x | status | 1 | 2 | kinder (erupt-1.12 bug 3)":                                false,
		"x | status | 1 | 2 | kinder (A15)\nx | body | 1 | 2 | as above: in words":      false,
		"x | status | 1 | 2 | kinder":                                                   true,
		"x | status | 1 | 2 | as above":                                                 true,
		"x | status | 1 | 2 | kinder\nx | body | 1 | 2 | as above":                      true,
		"x | status | 1 | 2 | because of erupt-wire":                                    true,
		"x | status | 1 | 2 | (A15)\nx | status | 1 | 3 | no\ny | body | 1 | 2 | (A15)": true,
		"x | status | 1 | 2 | ":                                                         true,
	} {
		path := filepath.Join(t.TempDir(), "list.txt")
		if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		n := &noted{TB: t}
		testbed.ReadDifferences(n, path)
		if (len(n.said) > 0) != fails {
			t.Errorf("of %q it said %q, want a failure: %t", lines, n.said, fails)
		}
	}
}

func TestShown(t *testing.T) {
	for v, want := range map[string]string{
		"": "(nothing)", "a | b\nc": "a ¦ b c", strings.Repeat("é", 120): strings.Repeat("é", 99) + "…",
	} {
		if got := testbed.Shown(v); got != want {
			t.Errorf("Shown(%.20q) = %q, want %q", v, got, want)
		}
	}
}
