package web_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/web"
)

func TestTwin(t *testing.T) { // U80, S78
	const html, json, part = "<head><rows><foot>", `{"nodes":["<a>"]}`, "<rows>"
	tests := map[string]struct {
		headers []string
		want    string
	}{
		"a browser":                    {[]string{"Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, html},
		"curl":                         {[]string{"Accept", "*/*"}, html},
		"no word about it":             {nil, html},
		"a script":                     {[]string{"Accept", "application/json"}, json},
		"a script that takes the rest": {[]string{"Accept", "application/json, text/plain, */*"}, json},
		"both, JSON first":             {[]string{"Accept", "application/json, text/html"}, json},
		"both, HTML first":             {[]string{"Accept", "text/html, application/json"}, html},
		"HTML only as a stopgap":       {[]string{"Accept", "text/html;q=0.2, application/json;q=0.9"}, json},
		"JSON refused":                 {[]string{"Accept", "application/json;q=0"}, html},
		"a quality that is none":       {[]string{"Accept", "application/json;q=7"}, html},
		"junk":                         {[]string{"Accept", strings.Repeat(",;q=", 1000)}, html},
		"htmx":                         {[]string{"HX-Request", "true", "Accept", "*/*"}, part},
		"htmx that asks for JSON":      {[]string{"HX-Request", "true", "Accept", "application/json"}, json},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newShell(t)
			f.Engine().GET("/console/x", f.Handle(func(c *gin.Context) error {
				return web.Twin(c, map[string][]string{"nodes": {"<a>"}}, page, "rows")
			}))
			w := f.do("GET", "/console/x", tt.headers...)
			got := strings.TrimSpace(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(w.Body.String()))
			if got != tt.want {
				t.Errorf("answered %q, want %q", got, tt.want)
			}
			if isJSON := w.Header().Get("Content-Type") == "application/json"; isJSON != (tt.want == json) {
				t.Errorf("Content-Type is %q", w.Header().Get("Content-Type"))
			}
			vary := w.Header().Values("Vary")
			if w.Header().Get("Cache-Control") != "no-store" || !slices.Contains(vary, "Accept") || !slices.Contains(vary, "HX-Request") {
				t.Errorf("caching is %q, %q; page, fragment and JSON must not share an entry", w.Header().Get("Cache-Control"), vary)
			}
		})
	}
}

func TestScriptsReadTwinsWithTheirToken(t *testing.T) { // U80
	f := newShell(t)
	f.Engine().GET("/console/x", f.RequireCookie("cloudnode"), text("ok"))
	f.Engine().POST("/console/x", f.RequireCookie("cloudnode"), text("ok"))
	tests := map[string]struct {
		method  string
		headers []string
		want    int
	}{
		"a bearer":                       {"GET", []string{"Accept", "application/json", "Authorization", "Bearer lin-token"}, 200},
		"the header token":               {"GET", []string{"Accept", "application/json", "token", "lin-token"}, 200},
		"a token that is over":           {"GET", []string{"Accept", "application/json", "token", "old"}, 401},
		"a page is for browsers":         {"GET", []string{"Accept", "text/html", "token", "lin-token"}, 303},
		"no write by a script":           {"POST", []string{"Accept", "application/json", "token", "lin-token"}, 401},
		"no token and no cookie":         {"GET", []string{"Accept", "application/json"}, 401},
		"HTML wins where it is liked":    {"GET", []string{"Accept", "text/html, application/json", "token", "lin-token"}, 303},
		"method override changes little": {"POST", []string{"Accept", "application/json", "token", "lin-token", "X-HTTP-Method-Override", "GET"}, 401},
	}
	for name, tt := range tests {
		if w := f.do(tt.method, "/console/x", tt.headers...); w.Code != tt.want {
			t.Errorf("%s: answered %d, want %d", name, w.Code, tt.want)
		}
	}
}
