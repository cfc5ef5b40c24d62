package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// bend makes another address of one, in the hope that a check reads it in one way and whoever answers in another.
type bend struct {
	name string
	of   func(path string) string
}

// bends never lead anywhere: they are refused, whoever asks.
var bends = []bend{
	{"encoded slash", func(p string) string { return lastSlash(p, "%2f") }},
	{"encoded slash, upper case", func(p string) string { return lastSlash(p, "%2F") }},
	{"slash encoded twice", func(p string) string { return lastSlash(p, "%252f") }},
	{"backslash", func(p string) string { return lastSlash(p, `\`) }},
	{"encoded backslash", func(p string) string { return lastSlash(p, "%5c") }},
	{"overlong slash", func(p string) string { return lastSlash(p, "%c0%af") }},
	{"wide slash", func(p string) string { return lastSlash(p, "%ef%bc%8f") }},
	{"dot segment", func(p string) string { return lastSlash(p, "/./") }},
	{"encoded dot segment", func(p string) string { return lastSlash(p, "/%2e/") }},
	{"up and down", func(p string) string { return lastSlash(p, "/x/../") }},
	{"up and down, encoded", func(p string) string { return lastSlash(p, "/x/%2e%2e/") }},
	{"up and down, half encoded", func(p string) string { return lastSlash(p, "/x/.%2E/") }},
	{"up and down, encoded twice", func(p string) string { return lastSlash(p, "/x/%252e%252e/") }},
	{"up and down behind a semicolon", func(p string) string { return lastSlash(p, "/x/..;/") }},
	{"from a public path", func(p string) string { return "/livez/.." + p }},
	{"from a public path, encoded", func(p string) string { return "/livez/%2e%2e" + p }},
	{"from the static files", func(p string) string { return "/static/..%2f.." + p }},
	{"parameter", func(p string) string { return p + ";x=1" }},
	{"parameter in the middle", func(p string) string { return lastSlash(p, ";x=1/") }},
	{"encoded parameter", func(p string) string { return p + "%3bx=1" }},
	{"session parameter", func(p string) string { return p + ";jsessionid=1" }},
	{"NUL", func(p string) string { return p + "%00" }},
	{"NUL and an ending", func(p string) string { return p + "%00.html" }},
	{"line end", func(p string) string { return p + "%0d%0aX-Evil:%201" }},
	{"trailing slash", func(p string) string { return p + "/" }},
	{"trailing dot", func(p string) string { return p + "/." }},
	{"trailing blank", func(p string) string { return p + "%20" }},
	{"upper case", func(p string) string { return "/" + strings.ToUpper(p[1:2]) + p[2:] }},
	{"all upper case", strings.ToUpper},
	{"no UTF-8", func(p string) string { return p + "%ff%fe" }},
	{"no UTF-8, raw", func(p string) string { return p + "\xff\xfe" }},
	{"question mark", func(p string) string { return p + "%3f" }},
	{"hash", func(p string) string { return p + "%23" }},
	{"very long", func(p string) string { return p + "/" + strings.Repeat("a", 20<<10) }},
	{"very deep", func(p string) string { return p + strings.Repeat("/a", 4000) }},
	{"second address", func(p string) string { return "/http://evil.example" + p }},
}

// lastSlash puts something in the place of the last slash that has a word before it.
func lastSlash(path, instead string) string {
	i := strings.LastIndexByte(strings.TrimRight(path, "/"), '/')
	if i == 0 {
		return path + instead
	}
	return path[:i] + instead + path[i+1:]
}

// F18, S49, S59: an address that can be read in two ways is refused, as an admin who may do everything.
func bentPaths(t *testing.T, a *arena) {
	for _, e := range endpoints(t) {
		t.Run(e.method+" "+e.pattern, func(t *testing.T) {
			a := a.at(t)
			a.unchanged("a bent path", func() {
				for _, b := range bends {
					s := e.shot(admin)
					if b.name != "encoded slash" { // one error page is as good as thirty
						s.header.Del("Accept")
					}
					path, query, _ := strings.Cut(s.target, "?")
					if s.target = b.of(path); query != "" {
						s.target += "?" + query
					}
					if !harmless(e, b) {
						a.bent(e, b, s)
					}
				}
				a.untouched("a bent path")
			})
		})
	}
}

// harmless names bends that make no other address, because the last part of the path is free text.
func harmless(e endpoint, b bend) bool {
	free := strings.HasSuffix(e.pattern, "/**") || strings.HasSuffix(e.pattern, "/{id}") || strings.HasSuffix(e.pattern, "*file")
	code := e.pattern == "/erupt-api/erupt-permission/**"
	record := e.method == http.MethodGet && strings.HasPrefix(e.pattern, "/erupt-api/data/{e}/") // else it is a record's id
	switch b.name {
	case "trailing slash":
		return strings.HasSuffix(e.target, "/") || e.target == "/console" // two slashes are one
	case "trailing blank", "question mark", "hash", "wide slash", "slash encoded twice", "up and down, encoded twice", "very deep":
		return free || code || record
	}
	return false
}

// bent fires an address that must lead nowhere.
func (a *arena) bent(e endpoint, b bend, s shot) {
	a.t.Helper()
	g := a.fire(s)
	want := []int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}
	switch {
	case e.surface == onConsole:
		want = append(want, http.StatusUnprocessableEntity) // a form whose fields are missing, before it is known whose
	case e.pattern == "/erupt-cloud-api/effective-config/:node":
		want = append(want, http.StatusUnauthorized)
	case e.surface == onNodeAPI && silent(e.pattern) && g.status == http.StatusOK: // the last part is the node's name
		a.grantsNothing(s, g)
		return
	case g.status == http.StatusForbidden && e.surface == onProxy:
		want = append(want, http.StatusForbidden)
	case e.pattern == "/erupt-cloud-api/remove-instance/:node" && g.status == http.StatusOK && len(g.body) == 0:
		return // a node of another name has no such instance, which is no error
	}
	if !slices.Contains(want, g.status) {
		a.t.Errorf("%s: %s %.300s = %d %s, want a refusal", b.name, s.method, s.target, g.status, digest(g.body))
		return
	}
	if g.header.Get("X-Evil") != "" {
		a.t.Errorf("%s: a header was smuggled into the answer", b.name)
	}
	if problem := misformed(s, g); problem != "" {
		a.t.Errorf("%s: %s %.300s = %d: %s: %s", b.name, s.method, s.target, g.status, problem, digest(g.body))
	}
}

// S49, S59: addresses that say the same in other words get the same refusal as the plain one.
func samePathInOtherWords(t *testing.T, a *arena) {
	words := []bend{
		{"two slashes", func(p string) string { return "/" + p }},
		{"many slashes", func(p string) string { return strings.ReplaceAll(p, "/", "///") }},
		{"an encoded letter", func(p string) string { return p[:1] + "%" + hexOf(p[1]) + p[2:] }},
		{"an encoded dot", func(p string) string { return strings.ReplaceAll(p, ".", "%2e") }},
	}
	for _, e := range endpoints(t) {
		t.Run(e.method+" "+e.pattern, func(t *testing.T) {
			a := a.at(t)
			for _, who := range []string{nobody, clerk} {
				want := e.refusals(who)
				if want == nil || e.target == "/" {
					continue
				}
				for _, b := range words {
					s := e.shot(who)
					path, query, _ := strings.Cut(s.target, "?")
					if s.target = b.of(path); query != "" {
						s.target += "?" + query
					}
					g := a.fire(s)
					ok := want
					// the router compares paths as they are sent; a dot of the node's is none of the route's
					if b.name == "an encoded letter" || b.name == "an encoded dot" && strings.Contains(e.pattern, ".") {
						ok = append(slices.Clone(want), http.StatusNotFound, http.StatusMethodNotAllowed)
					}
					a.refused(s, g, ok...)
				}
			}
			a.untouched("a path in other words")
		})
	}
}

func hexOf(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}
