package fleet_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"eruptcloud/app/fault"
)

// TestRefusalsSpeakChinese: every message of this package and of database that a person can see has its translation, with
// the same verbs in the same order.
func TestRefusalsSpeakChinese(t *testing.T) {
	formats := map[string]bool{}
	for _, dir := range []string{".", "../database"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if f := formatOf(call); f != "" {
						formats[f] = true
					}
				}
				return true
			})
		}
	}
	for _, f := range fault.JSONFormats {
		formats["config, line %d, column %d: "+f] = true
	}
	if len(formats) < 25 {
		t.Fatalf("found only %d messages", len(formats))
	}
	catalogue := map[string]string{}
	for _, area := range []string{"fleet", "database"} {
		text, err := os.ReadFile("../../views/locale/errors_" + area + ".zh.toml")
		if err != nil {
			t.Fatal(err)
		}
		if err := toml.Unmarshal(text, &catalogue); err != nil {
			t.Fatal(err)
		}
	}
	for f := range formats {
		zh := catalogue["error: "+f]
		if zh == "" || verbs(zh) != verbs(f) {
			t.Errorf("%q is %q in Chinese; want a translation with the verbs %s", f, zh, verbs(f))
		}
	}
}

// formatOf returns the message of a call that makes a fault, empty for another call.
func formatOf(call *ast.CallExpr) string {
	at, prefix := -1, ""
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && x.Name == "fault" && f.Sel.Name == "New" {
			at = 1
		}
	case *ast.Ident:
		switch f.Name {
		case "invalid":
			at = 1
		case "configError":
			at, prefix = 2, "config, line %d, column %d: "
		}
	}
	if at < 0 || len(call.Args) <= at {
		return ""
	}
	literal, ok := call.Args[at].(*ast.BasicLit)
	if !ok {
		return ""
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return prefix + text
}

func verbs(format string) (out string) {
	for i := 0; i+1 < len(format); i++ {
		if format[i] == '%' {
			out += format[i : i+2]
			i++
		}
	}
	return out
}
