package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMutationsFitTheTree: a rule that was rewritten takes its mutation along, or nobody checks it any more.
func TestMutationsFitTheTree(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range mutations {
		source, err := os.ReadFile(filepath.Join("../../..", m.file))
		if err != nil {
			t.Errorf("%s: %v", m.rule, err)
			continue
		}
		changed, err := m.apply(source)
		if err != nil {
			t.Errorf("%s: %v", m.rule, err)
		} else if string(changed) == string(source) {
			t.Errorf("%s changes nothing", m.rule)
		}
		if seen[m.rule] || len(m.tests) == 0 {
			t.Errorf("%s is there twice, or names no tests", m.rule)
		}
		seen[m.rule] = true
	}
	if len(seen) < 30 {
		t.Errorf("%d mutations, want at least 30", len(seen))
	}
}

func TestApply(t *testing.T) {
	m := mutation{file: "a.go", old: "a < b", new: "a <= b"}
	if got, err := m.apply([]byte("if a < b {")); err != nil || string(got) != "if a <= b {" {
		t.Errorf("apply = %s, %v", got, err)
	}
	for _, source := range []string{"if a > b {", "a < b || a < b"} {
		if _, err := m.apply([]byte(source)); err == nil || !strings.Contains(err.Error(), "a.go") {
			t.Errorf("apply to %q = %v, want an error that names the file", source, err)
		}
	}
}

func TestFirstFailure(t *testing.T) {
	if got := firstFailure([]byte("x\n--- FAIL: TestA (0.1s)\n    a_test.go:1\n--- FAIL: TestB (0.1s)\n")); got != "TestA" {
		t.Errorf("firstFailure = %q, want TestA", got)
	}
}
