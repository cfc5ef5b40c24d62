package eruptapi

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// Every refusal that a person can see has its Chinese, with the same verbs in the same order, and no Chinese is left over.
func TestErrorsAreTranslated(t *testing.T) {
	verbs, made := regexp.MustCompile(`%[a-z]`), regexp.MustCompile(`fault\.New\(\s*fault\.\w+,\s*("(?:[^"\\]|\\.)*")`)
	own, shared := map[string]string{}, map[string]string{}
	for name, into := range map[string]*map[string]string{"eruptapi": &own, "web": &shared, "access": &shared} {
		text, err := os.ReadFile("../../views/locale/errors_" + name + ".zh.toml")
		if err != nil {
			t.Fatal(err)
		}
		if err := toml.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range made.FindAllSubmatch(source, -1) {
			format, err := strconv.Unquote(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			key := "error: " + format
			used[key] = true
			zh, ok := own[key]
			if !ok {
				zh, ok = shared[key]
			}
			if a, b := verbs.FindAllString(format, -1), verbs.FindAllString(zh, -1); !ok || !slices.Equal(a, b) {
				t.Errorf("%s: %q has the Chinese %q", name, format, zh)
			}
		}
	}
	if len(used) < 8 {
		t.Errorf("only %d formats found: does this test still read the sources right?", len(used))
	}
	for key := range own {
		if !used[key] {
			t.Errorf("%q is in the catalogue and nowhere else", key)
		}
	}
}
