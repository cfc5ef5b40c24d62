package views_test

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/a-h/templ/parser/v2"
)

// plain are texts that are the same in every language: keys of a keyboard, names of languages (each in itself), formats and log levels.
var plain = []string{"Ctrl K", "Ctrl Enter", "Enter", "Esc", "CSV", "JSON", "Java", "Go", "YAML", "curl", "UTC", "TLS", "HTTP", "P50", "P95", "g", "f", "j", "k", "m", "Info", "Warn", "Error", "English", "中文"}

// spoken are attributes whose values people read or hear.
var spoken = []string{"title", "aria-label", "aria-description", "aria-roledescription", "aria-valuetext", "placeholder", "alt", "label"}

var words = regexp.MustCompile(`\pL{2,}|\p{Han}`)

// isPlain reports whether a text says nothing in any language.
func isPlain(s string) bool {
	s = strings.TrimSpace(regexp.MustCompile(`&[a-z]+;`).ReplaceAllString(s, ""))
	return slices.Contains(plain, s) || !words.MatchString(s) || regexp.MustCompile(`^(\w+@[A-Z_]+|/[\w/-]+)$`).MatchString(s) // a permission's code, a path
}

func TestTemplatesHoldNoTextThatIsNoKey(t *testing.T) { // U71
	files, err := filepath.Glob("*.templ")
	if err != nil || len(files) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, f := range files {
		doc, err := parser.Parse(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range literals(doc) {
			t.Errorf("%s: %q is written in the template; make it a key of both catalogues", f, text)
		}
	}
}

func TestLiteralTextsAreNoticed(t *testing.T) {
	doc, err := parser.ParseString(`package x
templ X(m M) {
	<p title="A title" data-x="not read">
		Hello
		if m.A {
			<span aria-label={ "Close " + m.Name } placeholder={ T(ctx, "a.key", "x", "one value") }>…</span>
		} else {
			@Y(m) {
				<b>关闭</b>
			}
		}
		for range m.Rows {
			{ "plain words" }
			{ m.Name + ": " }
		}
		<kbd>Esc</kbd>
	</p>
}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"A title", "Hello", "Close ", "关闭", "plain words"}
	if got := literals(doc); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// literals are the texts of a template that are read and come from no key.
func literals(doc *parser.TemplateFile) []string {
	var out []string
	say := func(s string) {
		if !isPlain(s) {
			out = append(out, s)
		}
	}
	var nodes func([]parser.Node)
	var attributes func([]parser.Attribute)
	attributes = func(all []parser.Attribute) {
		for _, a := range all {
			switch a := a.(type) {
			case *parser.ConstantAttribute:
				if slices.Contains(spoken, a.Key.String()) {
					say(a.Value)
				}
			case *parser.ExpressionAttribute:
				if slices.Contains(spoken, a.Key.String()) {
					inGo(a.Expression.Value, say)
				}
			case *parser.ConditionalAttribute:
				attributes(a.Then)
				attributes(a.Else)
			}
		}
	}
	nodes = func(all []parser.Node) {
		for _, n := range all {
			switch n := n.(type) {
			case *parser.Text:
				say(n.Value)
			case *parser.StringExpression:
				inGo(n.Expression.Value, say)
			case *parser.Element:
				attributes(n.Attributes)
				nodes(n.Children)
			case *parser.IfExpression:
				nodes(n.Then)
				for _, e := range n.ElseIfs {
					nodes(e.Then)
				}
				nodes(n.Else)
			case interface{ ChildNodes() []parser.Node }:
				nodes(n.ChildNodes())
			}
		}
	}
	for _, n := range doc.Nodes {
		if n, ok := n.(*parser.HTMLTemplate); ok {
			nodes(n.Children)
		}
	}
	return out
}

// inGo finds the texts of an expression that are shown: not those in the arguments of calls, which are keys and names.
func inGo(expression string, say func(string)) {
	tree, err := goparser.ParseExpr(expression)
	if err != nil {
		return // templ's own forms, such as several values
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr, *ast.IndexExpr:
			return false
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
				say(s)
			}
		}
		return true
	})
}
