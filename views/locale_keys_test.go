package views_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"eruptcloud/views"
)

// built are keys that are put together at run time: a prefix, and whatever the catalogue has below it.
var built = []string{"state.", "number.", "count.", "said.", "headline.down", "headline.off", "headline.slow", "headline.probe",
	"headline.drain", "headline.held", "headline.node.", "bulk.sum.", "nodes.csv.", "event.kind.", "layout.theme.", "failure.", "route.head.", "route.outcome.", "route.do.", "page.", "error: ", "audit.do.", "menu.", "right.", "rights.area.", "user.state.", "menus.type.", "menus.status."}

// catalogue reads all keys of a language; a table of plural forms counts as one.
func catalogue(t *testing.T, lang string) map[string]string {
	t.Helper()
	files, err := filepath.Glob("locale/*." + lang + ".toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no catalogue for %s: %v", lang, err)
	}
	out := map[string]string{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := toml.Unmarshal(raw, &doc); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		for key, v := range doc {
			if _, twice := out[key]; twice {
				t.Errorf("%s defines %q a second time", f, key)
			}
			switch v := v.(type) {
			case string:
				out[key] = v
			case map[string]any:
				out[key] = fmt.Sprint(v["other"])
			default:
				t.Errorf("%s: %q is %T, want text or plural forms", f, key, v)
			}
		}
	}
	return out
}

func TestBothLanguagesHaveTheSameKeysAndPlaceholders(t *testing.T) { // U71
	en, zh := catalogue(t, "en"), catalogue(t, "zh")
	holes := regexp.MustCompile(`\{\{\.(\w+)\}\}`)
	for key, text := range en {
		other, ok := zh[key]
		if !ok {
			t.Errorf("%q has no Chinese text", key)
			continue
		}
		a, b := names(holes, text), names(holes, other)
		if !slices.Equal(a, b) {
			t.Errorf("%q fills %v in English and %v in Chinese", key, a, b)
		}
	}
	for key := range zh {
		if _, ok := en[key]; !ok && !strings.HasPrefix(key, "error: ") {
			t.Errorf("%q has no English text", key)
		}
	}
}

func names(re *regexp.Regexp, text string) []string {
	set := map[string]bool{}
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		if m[1] != "count" { // the number itself is often written by another name
			set[m[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// A translation may take the arguments in another order, by their numbers, but must take the same ones.
func TestChineseErrorsKeepTheVerbsOfTheirFormats(t *testing.T) {
	for key, text := range catalogue(t, "zh") {
		format, ok := strings.CutPrefix(key, "error: ")
		if !ok {
			continue
		}
		if a, b := verbs(format), verbs(text); !slices.Equal(a, b) {
			t.Errorf("%q has verbs %v, its translation %q has %v", format, a, text, b)
		}
	}
}

// verbs returns the verbs of a format in the order of the arguments that they take.
func verbs(format string) []string {
	byArg := map[int]string{}
	next := 1
	for _, m := range regexp.MustCompile(`%(?:\[(\d+)\])?[-+# 0-9.]*([a-zA-Z%])`).FindAllStringSubmatch(format, -1) {
		if m[2] == "%" {
			continue
		}
		if m[1] != "" {
			next, _ = strconv.Atoi(m[1]) // digits
		}
		byArg[next] = m[2]
		next++
	}
	out := make([]string, 0, len(byArg))
	for _, arg := range slices.Sorted(maps.Keys(byArg)) {
		out = append(out, byArg[arg])
	}
	return out
}

func TestEveryKeyInUseExistsAndNoneIsUnused(t *testing.T) { // U71
	used := keysInUse(t)
	en := catalogue(t, "en")
	for key, where := range used {
		if _, ok := en[key]; !ok {
			t.Errorf("%s uses %q, which no catalogue has", where, key)
		}
	}
	for key := range en {
		if _, ok := used[key]; !ok && !slices.ContainsFunc(built, func(p string) bool { return strings.HasPrefix(key, p) }) {
			t.Errorf("%q is in the catalogue and nowhere used", key)
		}
	}
}

// keysInUse finds the literal keys in generated templates, view models and handlers: first texts of T, Text and Sayf, and
// texts of that form in data that is shown later.
func keysInUse(t *testing.T) map[string]string {
	t.Helper()
	used := map[string]string{}
	var files []string
	for _, pattern := range []string{"*.go", "../app/console/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	area := regexp.MustCompile(`^[a-z]+(\.[a-z0-9_]+)+$`)
	areas := map[string]bool{}
	for key := range catalogue(t, "en") {
		areas[strings.SplitN(key, ".", 2)[0]] = true
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if key, ok := keyOf(n); ok {
					used[key] = f
				}
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && area.MatchString(s) && areas[strings.SplitN(s, ".", 2)[0]] {
					if _, exists := catalogueKey(s); exists {
						used[s] = f
					}
				}
			}
			return true
		})
	}
	return used
}

func catalogueKey(key string) (string, bool) {
	text := views.Text("en", key, "count", 2)
	return text, text != key
}

// keyOf returns the literal key of a call to T, Text or Sayf.
func keyOf(call *ast.CallExpr) (string, bool) {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	at, ok := map[string]int{"T": 1, "Text": 1, "Sayf": 0}[name]
	if !ok || len(call.Args) <= at {
		return "", false
	}
	lit, ok := call.Args[at].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	key, err := strconv.Unquote(lit.Value)
	return key, err == nil && strings.Contains(key, ".")
}

// Formats of errors that the console's handlers make themselves; those of other packages are theirs to translate.
func TestConsoleErrorsAreInChinese(t *testing.T) {
	zh := catalogue(t, "zh")
	files, err := filepath.Glob("../app/console/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "New" || fmt.Sprint(sel.X) != "fault" {
				return true
			}
			if lit, ok := call.Args[1].(*ast.BasicLit); ok {
				if format, err := strconv.Unquote(lit.Value); err == nil && zh["error: "+format] == "" {
					t.Errorf("%s: %q has no Chinese text", f, format)
				}
			}
			return true
		})
	}
}
