package dict_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"eruptcloud/views"
)

// Every error that a person can see has a Chinese text.
func TestErrorsAreTranslated(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	format := regexp.MustCompile(`(?:fault\.New\(fault\.\w+, |field\(\w+, "?\w+"?, |const format = )"((?:[^"\\]|\\.)*)"`)
	n := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range format.FindAllStringSubmatch(string(src), -1) {
			n++
			if m[1] == "has more than %d characters" { // messages at fields are translated as they are read
				continue
			}
			if key := "error: " + m[1]; views.Text("zh", key) == key {
				t.Errorf("no Chinese for %q", m[1])
			}
		}
	}
	if n < 12 {
		t.Errorf("only %d formats found: does this test still read the sources right?", n)
	}
}
