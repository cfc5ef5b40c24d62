package proxy

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// sample fills a pattern.
func sample(e *Endpoint) []string {
	var words []string
	for _, w := range e.words {
		switch w {
		case "{e}":
			w = "shop.Customer"
		case "{f}":
			w = "name"
		case "{id}":
			w = "42"
		case "**":
			words = append(words, "a")
			w = "b.html"
		}
		words = append(words, w)
	}
	return words
}

func TestEveryEndpointIsFoundByItsOwnPattern(t *testing.T) {
	for _, e := range endpoints {
		methods := e.Methods
		if len(methods) == 0 {
			methods = []string{http.MethodGet, http.MethodPost}
		}
		for _, m := range methods {
			found, _ := match(m, sample(e))
			if found != e {
				t.Errorf("match(%s %s) = %+v, want its own row", m, e.Pattern, found)
			}
		}
	}
}

func TestMatch(t *testing.T) {
	tests := []struct{ method, path, want string }{
		{"GET", "erupt-api/build/shop.Customer", "erupt-api/build/{e}"},
		{"HEAD", "erupt-api/build/shop.Customer", "erupt-api/build/{e}"},
		{"GET", "erupt-api/build/shop.Customer/region", "erupt-api/build/{e}/{f}"},
		{"GET", "erupt-api/data/shop.Customer/operator", "erupt-api/data/{e}/{id}"}, // a record may be called so
		{"GET", "erupt-api/data/tree/shop.Region", "erupt-api/data/tree/{e}"},
		{"POST", "erupt-api/data/modify/shop.Customer/update", "erupt-api/data/modify/{e}/update"},
		{"DELETE", "erupt-api/data/modify/shop.Customer/103", "erupt-api/data/modify/{e}/{id}"},
		{"PUT", "erupt-api/data/modify/shop.Customer", "erupt-api/data/modify/{e}"},
		{"GET", "erupt-api/tpl/page.html", "erupt-api/tpl/**"},
		{"GET", "erupt-api/tpl/operation-tpl/shop.Customer/page", "erupt-api/tpl/operation-tpl/{e}/{f}"},
		{"GET", "erupt-api/tpl/operation-tpl/a/b/c", "erupt-api/tpl/**"},
		{"GET", "erupt-attachment/2026-11-29/a.png", "erupt-attachment/**"},
		{"POST", "erupt-api/login", "erupt-api/login"},
		{"GET", "erupt-api/erupt-permission/shop.Customer@EDIT", "erupt-api/erupt-permission/**"},
		{"GET", "erupt-attachment", ""},
		{"GET", "erupt-api", ""},
		{"GET", "erupt-api/data/table/shop.Customer/x/y/z", ""},
		{"GET", "erupt-api/Build/shop.Customer", ""}, // routers of the nodes mind the case
		{"GET", "console", ""},
	}
	for _, tt := range tests {
		got := ""
		if e, _ := match(tt.method, strings.Split(tt.path, "/")); e != nil {
			got = e.Pattern
		}
		if got != tt.want {
			t.Errorf("match(%s %s) = %q, want %q", tt.method, tt.path, got, tt.want)
		}
	}
}

func TestMatchOffersMethods(t *testing.T) {
	tests := map[string][]string{
		"erupt-api/data/table/shop.Customer":            {"POST"},
		"erupt-api/data/modify/shop.Customer":           {"POST", "PUT", "DELETE"},
		"erupt-api/data/validate-erupt/shop.Customer":   {"GET"},
		"erupt-api/data/form-view/shop.Customer":        {"GET", "POST"},
		"erupt-api/data/modify/shop.Customer/drag-sort": {"POST"},
	}
	for path, want := range tests {
		e, offered := match("PATCH", strings.Split(path, "/"))
		if e != nil || !slices.Equal(offered, want) {
			t.Errorf("match(PATCH %s) offers %v, want %v", path, offered, want)
		}
	}
}

// The functions of erupt-wire 10.1.4.
func TestEndpointFunctions(t *testing.T) {
	tests := []struct {
		method, path string
		want         Function
		write        bool
	}{
		{"POST", "data/modify/{e}", Add, true},
		{"PUT", "data/modify/{e}", Edit, true},
		{"DELETE", "data/modify/{e}", Delete, true},
		{"DELETE", "data/modify/{e}/{id}", Delete, true},
		{"POST", "data/modify/{e}/update", Edit, true},
		{"POST", "data/modify/{e}/update-cell", Edit, true},
		{"POST", "data/modify/{e}/drag-sort", Edit, true},
		{"POST", "data/modify/{e}/delete", Delete, true},
		{"POST", "data/modify/board/{e}/update_group", Edit, true},
		{"POST", "data/modify/gantt/{e}/update_date", Edit, true},
		{"POST", "data/modify/calendar/{e}/update_date", Edit, true},
		{"POST", "excel/export/{e}", Export, false},
		{"GET", "excel/template/{e}", Importable, false},
		{"POST", "excel/import/{e}", Importable, true},
		{"GET", "data/{e}/{id}", ViewDetail, false},
		{"GET", "data/form-view/{e}", AddOrEdit, false},
		{"POST", "data/form-view/{e}", AddOrEdit, true},
		{"POST", "data/table/{e}", None, false},
		{"GET", "build/{e}", None, false},
		{"POST", "data/{e}/operator/{f}", None, true},
	}
	for _, tt := range tests {
		e, err := endpointOf(tt.method, tt.path)
		if err != nil || e.Function != tt.want || e.Write != tt.write {
			t.Errorf("%s %s: function %q, write %v, error %v, want %q, %v", tt.method, tt.path, e.Function, e.Write, err, tt.want, tt.write)
		}
	}
}

// A name that is a word of another pattern would turn the rebuilt path into another endpoint's.
func TestNamesThatAreWordsOfPatterns(t *testing.T) {
	for _, name := range []string{"table", "tree", "modify", "tab", "init-value", "depend-tree", "onchange", "form-view", "extra-row"} {
		e, err := endpointOf("GET", "data/{e}/{id}")
		if err != nil {
			t.Fatal(err)
		}
		if e.taken[name] == nil {
			t.Errorf("an erupt may be called %q, which makes /data/%s/x another endpoint", name, name)
		}
	}
}

func TestEndpointsIsACopy(t *testing.T) {
	Endpoints()[0].Pattern = "changed"
	if endpoints[0].Pattern == "changed" {
		t.Error("Endpoints hands out the table itself")
	}
}

func FuzzMatch(f *testing.F) {
	for _, e := range endpoints {
		f.Add("GET", "/"+strings.Join(sample(e), "/"))
	}
	f.Add("POST", "/erupt-api/data/%2e%2e/x")
	f.Add("GET", "/erupt-api//x;y")
	f.Fuzz(func(t *testing.T, method, escaped string) {
		p, err := parsePath(escaped)
		if err != nil {
			if KindOf(err) != Invalid {
				t.Errorf("parsePath(%q): %v is not invalid", escaped, err)
			}
			return
		}
		for _, s := range p.segments() {
			if s == "" || s == "." || s == ".." || strings.ContainsAny(s, "/\\;\x00") {
				t.Errorf("parsePath(%q) lets segment %q through", escaped, s)
			}
		}
		// What is built again is read again as the same path, by our rules and so by the node's.
		plain, raw := p.join(-1, "")
		if raw == "" {
			raw = plain
		}
		again, err := parsePath(raw)
		if strings.Contains(plain, "%") && raw == plain {
			t.Errorf("%q: the joined path %q needs an encoded form", escaped, plain)
		} else if err != nil || !slices.Equal(again.segments(), p.segments()) {
			t.Errorf("%q joined to %q reads as %q (%v), want %q", escaped, raw, again.segments(), err, p.segments())
		}
		e, offered := match(method, p.segments())
		if e != nil && offered != nil {
			t.Errorf("match(%s %q) both finds and offers", method, escaped)
		}
		if e != nil && e.index >= 0 && e.index >= p.n {
			t.Errorf("match(%s %q): no segment %d", method, escaped, e.index)
		}
	})
}
