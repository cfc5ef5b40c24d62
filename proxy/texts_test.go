package proxy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// Every text that a person can see has its Chinese, with the same verbs in the same order.
func TestTextsAreTranslated(t *testing.T) {
	file, err := os.ReadFile("../views/locale/errors_proxy.zh.toml")
	if err != nil {
		t.Fatal(err)
	}
	var catalogue map[string]string
	if err := toml.Unmarshal(file, &catalogue); err != nil {
		t.Fatal(err)
	}
	verbs := regexp.MustCompile(`%[a-z]`)
	used := map[string]bool{"error: " + noInstance: true}
	for _, format := range formats(t) {
		used["error: "+format] = true
		zh, ok := catalogue["error: "+format]
		if !ok {
			t.Errorf("no Chinese for %q", format)
		} else if a, b := verbs.FindAllString(format, -1), verbs.FindAllString(zh, -1); !slices.Equal(a, b) {
			t.Errorf("%q takes %v, its Chinese %v", format, a, b)
		}
	}
	for key := range catalogue {
		if !used[key] {
			t.Errorf("%q is in the catalogue and nowhere else", key)
		}
	}
}

// formats collects the literal second arguments of Fail.
func formats(t *testing.T) []string {
	t.Helper()
	var all []string
	names, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			if fun, ok := call.Fun.(*ast.Ident); !ok || fun.Name != "Fail" {
				return true
			}
			if lit, ok := call.Args[1].(*ast.BasicLit); ok {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, text)
			}
			return true
		})
	}
	return all
}
