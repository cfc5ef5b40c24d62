package access_test

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// Every error that a person can see has a Chinese text with the same verbs in the same order.
func TestErrorsAreTranslated(t *testing.T) {
	verb := regexp.MustCompile(`%[a-z]`)
	text, err := os.ReadFile("../../views/locale/errors_access.zh.toml")
	if err != nil {
		t.Fatal(err)
	}
	chinese := map[string]string{}
	if err := toml.Unmarshal(text, &chinese); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, format := range append(formats(t, "."), formats(t, "../cluster")...) {
		n++
		zh, ok := chinese["error: "+format]
		if !ok {
			t.Errorf("no Chinese for %q", format)
			continue
		}
		if want, got := verb.FindAllString(format, -1), verb.FindAllString(zh, -1); !slices.Equal(want, got) {
			t.Errorf("%q has the verbs %v, its Chinese %q has %v", format, want, zh, got)
		}
	}
	if n < 40 {
		t.Errorf("only %d formats found: does this test still read the sources right?", n)
	}
}

// formats returns the second argument of every fault.New in a folder, and the first of (wrong), its short form for passwords.
func formats(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), name, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			at := -1
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				if x, ok := f.X.(*ast.Ident); ok && x.Name == "fault" && f.Sel.Name == "New" {
					at = 1
				}
			case *ast.Ident:
				if f.Name == "wrong" {
					at = 0
				}
			}
			if at < 0 || at >= len(call.Args) {
				return true
			}
			if lit, ok := call.Args[at].(*ast.BasicLit); ok {
				format, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, format)
			}
			return true
		})
	}
	return found
}
