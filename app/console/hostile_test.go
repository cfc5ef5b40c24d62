package console

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/static"
)

const evil = `"><img src=x onerror=alert(1)>'<script>alert(2)</script>`

// hostile is a fleet in which everything that can be named is named maliciously (S60).
func hostile() *world {
	w := newWorld()
	w.group("g"+evil, "G"+evil, "")
	w.node(fleet.Node{
		Name: "n" + evil, Display: "d" + evil, Group: "g" + evil, Enabled: true, FirstSeen: now, Duty: []string{evil}, Remark: evil, UpdatedBy: evil,
		Updated: now, Config: `{"k` + strings.ReplaceAll(evil, `"`, `\"`) + `":"v"}`, Revision: 1,
	})
	location := "http://h/" + evil
	w.instance("n"+evil, "i"+evil, location, "v"+evil, func(in *registry.Instance) {
		in.Node.Erupts, in.Node.Modules, in.Node.Peer = []string{"E" + evil, "javascript:alert(3)"}, []string{evil}, evil
		in.Node.Resources = map[string][]string{evil: {evil}}
	})
	w.holds = []fleet.Hold{{Node: "n" + evil, Location: location, Reason: evil, Account: evil, Created: now}, {Node: "n" + evil, Location: "javascript:alert(4)", Account: evil}}
	w.revisions["n"+evil] = []fleet.Revision{{Number: 1, Config: `{"a":"` + `\"><script>"}`, Author: evil, Address: evil, Note: evil, Created: now}}
	w.log[location] = []wire.LogLine{{Num: 1, Content: "\x1b[31m" + evil + "\x1b[m javascript:alert(5) https://a.b/" + evil}}
	w.users = []access.User{{Account: "u" + evil, Name: evil, Email: evil, Phone: evil, Remark: evil, Enabled: true, Roles: []int64{1}, RoleCodes: []string{"r" + evil}}}
	w.roles = []access.Role{{ID: 1, Code: "r" + evil, Name: evil, Enabled: true}}
	w.menus = []access.Menu{{ID: 1, Code: "m" + evil, Name: evil, Value: evil}}
	w.audit = []access.Entry{{At: now, User: evil, Account: evil, Address: evil, Action: evil, Subject: evil, URL: evil, Error: evil, Params: []byte(evil), RequestID: evil}}
	d := w.deepen()
	d.events = []history.Event{{ID: 1, At: now, Node: "n" + evil, Kind: history.Held, Instance: "i" + evil, Reason: evil + "%d", Account: evil, Version: evil}}
	d.drains = []fleet.Drain{{Node: "n" + evil, Instance: "i" + evil, Reason: evil, Account: evil, Created: now}}
	d.refusals = []fleet.Refusal{{Node: "n" + evil, Address: evil, Reason: fleet.WrongToken, Since: now, Last: now, Count: 1}}
	d.graces["n"+evil] = fleet.Grace{Rotated: now, Account: evil, Until: now}
	s := w.sessions["admin"]
	s.Name, s.Agent, s.Address = evil, evil, evil
	w.sessions["admin"] = s
	return w
}

// everyPage lists the console's pages for a node, a group, a user and a role.
func everyPage(node, instance, group, user, role string) []string {
	n, g := "/console/nodes/"+url.PathEscape(node), "/console/groups/"+url.PathEscape(group)
	q := url.Values{"instance": {instance}}.Encode()
	return []string{
		"/console/nodes", "/console/nodes?order=worst", "/console/nodes?" + url.Values{"q": {evil}, "group": {group, evil}, "state": {evil}, "version": {evil}}.Encode(),
		"/console/nodes/new", n, n + "/instances", n + "/config", n + "/config?from=1", n + "/config/compare?rev=1&rev=1", n + "/pages", n + "/log", n + "/log?" + q, n + "/settings", n + "/badge", n + "/events?kind=held", n + "/instance?" + url.Values{"id": {instance}}.Encode(), n + "/drains", n + "/arrival", "/console/nodes?view=cards",
		"/console/groups", "/console/groups/new?" + url.Values{"parent": {group}}.Encode(), g, g + "/config",
		"/console/users", "/console/users?" + url.Values{"q": {evil}}.Encode(), "/console/users/new", "/console/users/" + url.PathEscape(user), "/console/roles", "/console/roles/new", "/console/roles/" + url.PathEscape(role), "/console/menus", "/console/menus/new",
		"/console/audit", "/console/audit?" + url.Values{"q": {evil}, "subject": {evil}}.Encode(), "/console/me", "/console/search?q=e", "/console/palette?q=e", "/console/login", "/console/login?" + url.Values{"next": {evil}}.Encode(),
		"/console/server-log", "/console/server-log?" + url.Values{"instance": {evil}, "q": {evil}, "line": {"1"}}.Encode(),
		"/console/nodes/" + url.PathEscape("missing"+evil), n + "/log/lines?offset=0&" + q,
	}
}

func hostilePages() []string { return everyPage("n"+evil, "i"+evil, "g"+evil, "u"+evil, "r"+evil) }

func TestHostileNamesStayTextOnEveryPage(t *testing.T) { // S60
	s := newSite(t, hostile())
	check := func(what, body string) {
		t.Helper()
		doc := parse(t, body)
		doc.Find(`img:not([src^="/badge/"]), script:not([src]), iframe, object, embed, style, base`).Each(func(_ int, e *goquery.Selection) {
			html, _ := goquery.OuterHtml(e)
			t.Errorf("%s holds %s", what, html)
		})
		doc.Find("*").Each(func(_ int, e *goquery.Selection) {
			for _, a := range e.Nodes[0].Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(a.Key, "hx-on") {
					t.Errorf("%s has the attribute %s=%q", what, a.Key, a.Val)
				}
				if slices.Contains([]string{"href", "src", "action", "formaction", "hx-get", "hx-post"}, a.Key) && regexp.MustCompile(`(?i)^\s*(javascript|data|vbscript):`).MatchString(a.Val) {
					t.Errorf("%s has %s=%q", what, a.Key, a.Val)
				}
			}
		})
	}
	shown := 0
	for _, path := range hostilePages() {
		for _, opt := range []func(*http.Request){func(*http.Request) {}, chinese, htmx("")} {
			a := s.get(path, opt)
			if a.Code >= 500 {
				t.Errorf("%s = %d", path, a.Code)
			}
			check(path, a.body)
			shown += strings.Count(a.body, "&lt;script&gt;alert(2)")
		}
	}
	form := url.Values{"name": {evil}, "display": {evil}, "config": {evil}, "revision": {"1"}, "note": {evil}, "account": {evil}, "code": {evil}, "instance": {evil}, "confirm": {evil}, "reason": {evil}, "location": {evil}}
	n := "/console/nodes/" + url.PathEscape("n"+evil)
	for _, path := range []string{"/console/login", "/console/nodes", n + "/settings", n + "/delete", n + "/config/review", n + "/config", n + "/hold", n + "/hold/lift", n + "/instances/remove", n + "/token", "/console/groups", "/console/users", "/console/roles"} {
		a := s.post(path, form)
		if a.Code >= 500 {
			t.Errorf("POST %s = %d", path, a.Code)
		}
		check("POST "+path, a.body)
	}
	conflict := s.post(n+"/config", url.Values{"config": {`{"a":"</textarea><script>alert(2)</script>"}`}, "revision": {"0"}, "note": {"x"}})
	check("conflict", conflict.must(t, 409))
	if shown < 50 {
		t.Errorf("the hostile text was shown %d times only: the pages under test do not show what they should", shown)
	}
}

func TestEveryLinkKeepsTheBasePath(t *testing.T) { // S18
	w := commerce()
	s := newSite(t, w, func(o *web.Options) { o.BasePath = "/ops/fleet" })
	seen := 0
	for _, path := range append(everyPage("order-service", "i-1", "commerce", "lin.wei", "ops"), "/console/nodes/promo-engine/instances") {
		a := s.get("/ops/fleet" + path)
		parse(t, a.body).Find("*").Each(func(_ int, e *goquery.Selection) {
			for _, attr := range e.Nodes[0].Attr {
				if !slices.Contains([]string{"href", "src", "action", "formaction", "hx-get", "hx-post", "hx-put", "data-src", "data-log", "data-stream", "data-worker", "data-quiet", "data-alarm"}, attr.Key) {
					continue
				}
				seen++
				if strings.HasPrefix(attr.Val, "/") && !strings.HasPrefix(attr.Val, "/ops/fleet/") {
					t.Errorf("%s: %s=%q leaves the base path", path, attr.Key, attr.Val)
				}
			}
		})
		if loc := a.Header().Get("Location"); loc != "" && !strings.HasPrefix(loc, "/ops/fleet/") {
			t.Errorf("%s redirects to %q", path, loc)
		}
	}
	if seen < 500 {
		t.Errorf("only %d addresses were looked at", seen)
	}
	a := s.post("/ops/fleet/console/nodes/ledger/enabled", url.Values{"enabled": {"0"}, "back": {"/console/nodes"}})
	if got := a.Header().Get("Location"); got != "/ops/fleet/console/nodes?said=disabled" {
		t.Errorf("after a form: %q", got)
	}
	if got := s.as("", http.MethodGet, "/ops/fleet/console/nodes", nil, htmx("x")).Header().Get("HX-Redirect"); !strings.HasPrefix(got, "/ops/fleet/console/login?next=%2Fconsole") {
		t.Errorf("HX-Redirect = %q", got)
	}
	if body := s.get("/ops/fleet/console/nodes/ledger").must(t, 200); !includes(body, "serverAddresses[0]=http://example.com/ops/fleet") {
		t.Error("the snippet leaves out the base path")
	}
	doc := parse(t, s.get("/ops/fleet/console/login").must(t, 200))
	s.get(doc.Find("link[rel=stylesheet]").First().AttrOr("href", "")).must(t, 200)
}

func TestPagesKeepTheContentSecurityPolicy(t *testing.T) {
	s := newSite(t, commerce())
	for _, path := range everyPage("order-service", "i-1", "commerce", "lin.wei", "ops") {
		a := s.get(path)
		doc := parse(t, a.body)
		if n := doc.Find("style, [style], script:not([src])").Length(); n > 0 {
			t.Errorf("%s has %d inline styles or scripts", path, n)
		}
		if csp := a.Header().Get("Content-Security-Policy"); !includes(csp, "default-src 'self'") || includes(csp, "unsafe") {
			t.Errorf("%s: policy %q", path, csp)
		}
		if ids := duplicateIDs(doc); len(ids) > 0 {
			t.Errorf("%s has ids twice: %v", path, ids)
		}
	}
}

func duplicateIDs(doc *goquery.Document) []string {
	seen := map[string]int{}
	doc.Find("[id]").Each(func(_ int, e *goquery.Selection) { seen[e.AttrOr("id", "")]++ })
	var out []string
	for id, n := range seen {
		if n > 1 {
			out = append(out, id)
		}
	}
	return out
}

// U6: at most 150 KB compressed the first time, 30 KB after.
func TestPageWeight(t *testing.T) {
	w := newWorld()
	for i := range 200 {
		w.node(fleet.Node{Name: "service-" + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26)), Display: "Some service", Enabled: true, FirstSeen: now})
	}
	s := newSite(t, w)
	packed := func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") }
	page := s.get("/console/nodes", packed)
	page.must(t, 200)
	html := unzip(t, page.Body.Bytes())
	assets := 0
	parse(t, html).Find("link[rel=stylesheet], script[src], link[rel=icon]").Each(func(_ int, e *goquery.Selection) {
		path := e.AttrOr("src", e.AttrOr("href", ""))
		assets += s.get(path, packed).Body.Len()
	})
	worker := s.get(static.Path("js/live-worker.js"), packed).Body.Len()
	if total := page.Body.Len() + assets + worker; total > 150<<10 {
		t.Errorf("a first visit weighs %d bytes packed, at most 150 KB are allowed", total)
	}
	if page.Body.Len() > 30<<10 {
		t.Errorf("the page alone weighs %d bytes packed, at most 30 KB are allowed", page.Body.Len())
	}
}

func unzip(t *testing.T, packed []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("the packed page is broken: %v", err)
	}
	return string(body)
}

func TestErrorPagesArePackedWhole(t *testing.T) {
	s := newSite(t, commerce())
	a := s.get("/console/nodes/nobody", func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip") })
	if a.Code != 404 || a.Header().Get("Content-Encoding") != "gzip" {
		t.Fatalf("%d %v", a.Code, a.Header())
	}
	if body := unzip(t, a.Body.Bytes()); !strings.HasSuffix(strings.TrimSpace(body), "</html>") {
		t.Error("the end of the page is missing")
	}
	a = s.get("/console/nodes/nobody", htmx("x"))
	if a.Code != 404 || includes(a.body, "<html") || !includes(a.body, `role="alert"`) {
		t.Errorf("a fragment's failure is %d %q, want a notice (S90)", a.Code, a.body)
	}
}
