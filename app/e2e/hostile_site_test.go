package e2e

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
)

// foreign are the headers by which browsers say that a page of another site asks.
var foreign = map[string]http.Header{
	"another origin":           {"Origin": {"https://evil.example"}},
	"no origin at all":         {"Origin": {"null"}},
	"our host on another port": {"Origin": {"http://127.0.0.1:1"}},
	"our host as a suffix":     {"Origin": {"http://evil.{host}"}},
	"our host as a user":       {"Origin": {"http://{host}@evil.example"}},
	"an origin that is none":   {"Origin": {"evil"}},
	"cross-site":               {"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"no-cors"}},
	"same-site":                {"Sec-Fetch-Site": {"same-site"}, "Sec-Fetch-Mode": {"cors"}},
	"cross-site, origin ours":  {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"http://{host}"}},
	"a word that is none":      {"Sec-Fetch-Site": {"Same-Origin"}},
}

// F8, F18: a page of another site changes nothing, although the browser adds the cookie of an admin.
func otherSitesWriting(t *testing.T, a *arena) {
	host := strings.TrimPrefix(a.URL, "http://")
	for _, e := range endpoints(t) {
		if e.method == http.MethodGet || e.method == http.MethodHead {
			continue
		}
		t.Run(e.method+" "+e.pattern, func(t *testing.T) {
			a := a.at(t)
			a.unchanged("a page of another site", func() {
				for name, h := range foreign {
					s := e.shot(admin)
					s.by = byCookie
					s.header = s.header.Clone()
					s.header.Del("Sec-Fetch-Site")
					for k, v := range h {
						s.header.Set(k, strings.ReplaceAll(v[0], "{host}", host))
					}
					g := a.fire(s)
					if g.status != http.StatusForbidden {
						t.Errorf("%s = %d %s, want 403", name, g.status, digest(g.body))
					} else if problem := misformed(s, g); problem != "" {
						t.Errorf("%s: %s: %s", name, problem, digest(g.body))
					}
				}
			})
			a.untouched("a page of another site")
		})
	}
}

// F18: reading endpoints that do something more than read ask where the page comes from, too.
func otherSitesReading(t *testing.T, a *arena) {
	evil := http.Header{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}}
	socket := http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
	}
	tests := map[string]struct {
		shot
		want int
	}{
		"a download":               {shot{method: "GET", target: "/erupt-api/excel/template/orders.Secret", header: with(evil, http.Header{"Erupt": {"orders.Secret"}})}, 403},
		"a WebSocket":              {shot{method: "GET", target: "/erupt-api/tpl/live?_node=orders", header: with(evil, socket)}, 403},
		"leaving by a cookie":      {shot{method: "GET", target: "/erupt-api/logout"}, 401},
		"leaving by a link":        {shot{method: "GET", target: "/console/logout", header: browser()}, 405},
		"removing by a cookie":     {shot{method: "GET", target: "/erupt-cloud-api/remove-instance/orders?instance=" + a.orders.URL()}, 401},
		"a node's log by a cookie": {shot{method: "GET", target: "/erupt-cloud-api/erupt-cloud-node-log?nodeName=orders&size=10"}, 401},
	}
	a.unchanged("a page of another site", func() {
		for name, tt := range tests {
			s := tt.shot
			s.who, s.by = admin, byCookie
			g := a.fire(s)
			if g.status != tt.want {
				t.Errorf("%s = %d %s, want %d", name, g.status, digest(g.body), tt.want)
			}
		}
	})
	a.untouched("a page of another site")
	for name, h := range map[string]http.Header{"GET": {}, "preflight": {"Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"token"}}} {
		method := http.MethodGet
		if name == "preflight" {
			method = http.MethodOptions
		}
		for _, target := range []string{"/api/v1/nodes", "/erupt-api/menu", "/erupt-api/build/orders.Secret", "/console/nodes", "/erupt-cloud-api/erupt-power"} {
			g := a.fire(shot{method: method, target: target, header: with(evil, h), who: admin})
			for k := range g.header {
				if strings.HasPrefix(k, "Access-Control-") {
					t.Errorf("%s %s lets another site read: %s: %s", name, target, k, g.header.Get(k))
				}
			}
		}
	}
}

// F18: the way back after a login stays here.
func waysBack(t *testing.T, a *arena) {
	for _, next := range []string{
		"https://evil.example/", "//evil.example/", "///evil.example", `/\evil.example`, `\\evil.example`, "/console//evil.example", "/console/../..//evil.example",
		"/console/%2e%2e/%2e%2e/x", "/console@evil.example", "/console.evil.example", "javascript:alert(1)", "/console/\r\nSet-Cookie: a=b", "/console/\tx", "http:/console/",
		"/console;//evil.example", "\x00/console/", "/console/x\x00", "//console/", "/console/logout", "/console/login?next=//evil.example",
		"https:evil.example", "/consolex", strings.Repeat("/console", 2000), "/Console/nodes",
	} {
		form := url.Values{"account": {"erupt"}, "password": {adminPassword}, "next": {next}}
		if strings.ContainsAny(next, "\x00") {
			g := a.fire(shot{method: http.MethodPost, target: "/console/login", form: form, header: browser()})
			if g.status != http.StatusBadRequest {
				t.Errorf("next=%q = %d, want 400", next, g.status)
			}
			continue
		}
		// What the form of the page hands on has been through the check already.
		g := a.fire(shot{method: http.MethodGet, target: "/console/login?next=" + url.QueryEscape(next), header: browser()})
		page, err := goquery.NewDocumentFromReader(bytes.NewReader(g.body))
		if err != nil {
			t.Fatal(err)
		}
		if got := page.Find("[name=next]").AttrOr("value", ""); g.status != http.StatusOK && g.status != http.StatusBadRequest || g.status == http.StatusOK && got != "/console/" {
			t.Errorf("next=%q: %d, the form leads to %q", next, g.status, got)
		}
	}
	for _, next := range []string{"//evil.example/", "https://evil.example/", `/\evil.example`} {
		form := url.Values{"account": {"erupt"}, "password": {adminPassword}, "next": {next}}
		g := a.fire(shot{method: http.MethodPost, target: "/console/login", form: form, header: browser()})
		if g.status != http.StatusSeeOther || g.header.Get("Location") != a.base()+"/console/" {
			t.Errorf("next=%q leads to %d %q", next, g.status, g.header.Get("Location"))
		}
	}
	for _, back := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "/console/../../evil", "/console//evil.example", "javascript:alert(1)"} {
		for _, s := range []shot{
			{target: "/console/look", form: url.Values{"lang": {"en"}, "back": {back}}},
			{target: "/console/nodes/stock/enabled", form: url.Values{"enabled": {"1"}, "back": {back}}},
		} {
			s.method, s.who, s.by, s.header = http.MethodPost, admin, byCookie, browser()
			g := a.fire(s)
			if to := g.header.Get("Location"); g.status != http.StatusSeeOther || !strings.HasPrefix(to, a.base()+"/console") || strings.Contains(to, "evil") || strings.Contains(to, "//") {
				t.Errorf("%s back=%q leads to %d %q", s.target, back, g.status, to)
			}
		}
	}
}

// F8, F18: a session is nobody's but its owner's, and ends everywhere at once.
func sessionsEnd(t *testing.T, a *arena) {
	// Fixation: a cookie that the browser had before the login means nothing after it.
	planted := a.cookies[guest]
	g := a.fire(shot{
		method: http.MethodPost, target: "/console/login", form: url.Values{"account": {"erupt"}, "password": {adminPassword}},
		header: with(browser(), http.Header{"Cookie": {planted}}),
	})
	fresh := cookieOf(g.header)
	if fresh == planted || fresh == "" {
		t.Fatalf("the login kept the cookie %q", fresh)
	}
	if g := a.fire(shot{method: http.MethodGet, target: "/console/nodes", header: with(browser(), http.Header{"Cookie": {planted}})}); g.status != http.StatusForbidden {
		t.Errorf("whoever planted the cookie gets %d, want 403 as before", g.status)
	}
	if set := g.header.Get("Set-Cookie"); !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Lax") {
		t.Errorf("the cookie is %q", set)
	}
	// Use after a logout: by header, by cookie, and by the handle that a node was given.
	a.cookies["leaver"] = fresh
	a.fire(shot{method: http.MethodGet, target: "/erupt-api/build/orders.Secret", who: "leaver", by: byCookie, header: http.Header{"Erupt": {"orders.Secret"}}})
	asked := a.reached()
	if len(asked) != 1 {
		t.Fatalf("the node was asked %d times", len(asked))
	}
	handle := asked[0].Header.Get("Token")
	a.secrets = append(a.secrets, handle)
	power := shot{method: http.MethodGet, target: "/erupt-cloud-api/erupt-power?nodeName=orders&eruptName=Secret", header: http.Header{"Token": {handle}}}
	if g := a.fire(power); !bytes.Contains(g.body, []byte(`"query":true`)) {
		t.Fatalf("the handle says %s, want the admin's rights", g.body)
	}
	a.handleAtWrongPlaces(handle)
	if g := a.fire(shot{method: http.MethodPost, target: "/console/logout", who: "leaver", by: byCookie, header: browser()}); g.status != http.StatusSeeOther {
		t.Fatalf("logout = %d", g.status)
	}
	a.grantsNothing(power, a.fire(power))
	a.forget()
	for _, s := range []shot{
		{method: http.MethodGet, target: "/erupt-cloud-api/userinfo/orders", header: http.Header{"Token": {handle}, "Access-Token": {a.access["orders"]}}},
		{method: http.MethodGet, target: "/console/nodes", who: "leaver", by: byCookie, header: browser()},
		{method: http.MethodGet, target: "/erupt-api/build/orders.Secret", who: "leaver", by: byCookie, header: http.Header{"Erupt": {"orders.Secret"}}},
		{method: http.MethodGet, target: "/erupt-attachment/a.txt?_node=orders", who: "leaver", by: byCookie, header: http.Header{}},
	} {
		g := a.fire(s)
		if ok := g.status == http.StatusUnauthorized || g.status == http.StatusSeeOther || g.status == http.StatusOK && len(g.body) == 0; !ok {
			t.Errorf("after the logout: %s = %d %s", s.target, g.status, digest(g.body))
		}
	}
	a.untouched("a session that has ended")
}

// handleAtWrongPlaces uses what a node was given where it counts for nothing: a node must not act as its users.
func (a *arena) handleAtWrongPlaces(handle string) {
	a.t.Helper()
	as := http.Header{"Token": {handle}}
	for _, target := range []string{"/api/v1/nodes", "/erupt-api/menu", "/erupt-api/userinfo", "/erupt-cloud-api/erupt-cloud-node-log?nodeName=orders&size=1"} {
		s := shot{method: http.MethodGet, target: target, header: as}
		a.refused(s, a.fire(s), http.StatusUnauthorized)
	}
	s := shot{method: http.MethodGet, target: "/erupt-api/build/stock.Secret", header: with(as, http.Header{"Erupt": {"stock.Secret"}})}
	a.refused(s, a.fire(s), http.StatusUnauthorized)
	s = shot{method: http.MethodGet, target: "/erupt-api/build/orders.Secret", header: with(as, http.Header{"Erupt": {"orders.Secret"}})}
	a.refused(s, a.fire(s), http.StatusUnauthorized)
	for _, target := range []string{"/erupt-cloud-api/erupt-power?nodeName=stock&eruptName=Secret", "/erupt-cloud-api/erupt-power?nodeName=ORDERS&eruptName=Secret", "/erupt-cloud-api/erupt-power?nodeName=orders%00&eruptName=Secret"} {
		s := shot{method: http.MethodGet, target: target, header: as}
		a.grantsNothing(s, a.fire(s))
	}
	s = shot{method: http.MethodGet, target: "/erupt-cloud-api/userinfo/stock", header: with(as, http.Header{"Access-Token": {a.access["stock"]}})}
	if g := a.fire(s); len(g.body) != 0 {
		a.t.Errorf("another node hears who it is: %s", g.body)
	}
	// The session itself is nothing that a node may hold.
	raw := shot{method: http.MethodGet, target: "/erupt-cloud-api/erupt-power?nodeName=orders&eruptName=Secret", who: admin, mayShow: nil}
	a.grantsNothing(raw, a.fire(raw))
	if got := len(a.reached()); got != 1 {
		a.t.Errorf("the nodes were asked %d times, want only the first", got)
	}
}

// F8: whoever tries many passwords is slowed down, by whichever door he comes.
func manyLogins(t *testing.T, a *arena) {
	try := map[string]func(account string) got{
		"console": func(account string) got {
			return a.fire(shot{method: http.MethodPost, target: "/console/login", header: browser(), form: url.Values{"account": {account}, "password": {"guess"}}})
		},
		"erupt-api": func(account string) got {
			return a.fire(shot{method: http.MethodPost, target: "/erupt-api/login", kind: jsonKind, body: []byte(`{"account":"` + account + `","pwd":"guess"}`)})
		},
		"password change": func(string) got {
			return a.fire(shot{method: http.MethodPost, target: "/erupt-api/change-pwd", kind: jsonKind, who: clerk, body: []byte(`{"pwd":"guess","newPwd":"plain-horse-79","newPwd2":"plain-horse-79"}`)})
		},
	}
	for door, do := range try {
		locked, slowed := 0, 0
		for range 60 { // the first ten are looked at, which takes its time; then the account is locked, and in the end the address
			g := do("somebody")
			switch {
			case bytes.Contains(bytes.ToLower(g.body), []byte("too many requests")):
				slowed++
			case bytes.Contains(bytes.ToLower(g.body), []byte("too many")):
				locked++
			}
			if bytes.Contains(g.body, []byte(`"success":true`)) || bytes.Contains(g.body, []byte(`"pass":true`)) || g.status == http.StatusSeeOther {
				t.Errorf("%s: a guess was right", door)
			}
		}
		if locked == 0 || slowed == 0 && door != "password change" {
			t.Errorf("%s: of 60 guesses %d were refused for the account and %d for the address", door, locked, slowed)
		}
	}
}

// F7, F18: what is kept of a request has no secrets in it.
func noSecretsInTheTrail(t *testing.T, a *arena) {
	const hidden = "hunter2-never-kept"
	a.secrets = append(a.secrets, hidden)
	body := []byte(`{"id":7,"name":"seen","password":"` + hidden + `","nested":{"apiToken":"` + hidden + `","list":[{"newPwd":"` + hidden + `"}]},"text":"{\"secret\":\"` + hidden + `\"}"}`)
	for _, s := range []shot{
		{method: http.MethodPost, target: "/erupt-api/data/modify/orders.Secret/update?_token=" + hidden + "&password=" + hidden, body: body, kind: jsonKind, header: http.Header{"Erupt": {"orders.Secret"}}},
		{method: http.MethodPost, target: "/erupt-api/file/upload-html-editor/orders.Secret/field?_erupt=orders.Secret&_token=" + a.sessions[admin], body: body, kind: jsonKind},
		{method: http.MethodPatch, target: "/api/v1/users/guest", body: []byte(`{"password":"` + hidden + `"}`), kind: jsonKind},
		{method: http.MethodPost, target: "/api/v1/nodes", body: []byte(`{"nodeName":"quiet","name":"quiet","accessToken":"` + hidden + `"}`), kind: jsonKind, mayShow: []string{hidden}},
		{method: http.MethodGet, target: "/erupt-cloud-api/node-group-config/orders?Access-Token=" + hidden},
		{method: http.MethodGet, target: "/api/v1/nodes?password=" + hidden + ";token=" + hidden + "&pwd=" + hidden, header: http.Header{"Referer": {"http://x/?_token=" + hidden}}},
		{method: http.MethodGet, target: "/nowhere?secret=" + hidden},
	} {
		s.who = admin
		if g := a.fire(s); g.status >= http.StatusInternalServerError {
			t.Errorf("%s %s = %d %s", s.method, s.target, g.status, digest(g.body))
		}
	}
	a.must(http.MethodDelete, "/api/v1/nodes/quiet", nil, http.StatusNoContent, nil)
	var trail string
	eventually(t, 10*time.Second, func() bool {
		trail = strings.Join(append(a.column(t.Context(), "SELECT * FROM e_upms_operate_log"), a.column(t.Context(), "SELECT * FROM e_cloud_operate_extra")...), "\n")
		return strings.Contains(trail, "node.delete")
	}, func() string { return "the trail has no end" })
	if !strings.Contains(trail, "seen") {
		t.Errorf("the trail does not say what was written:\n%s", trail)
	}
	for _, secret := range append(a.secrets, a.sessions[admin]) {
		if i := strings.Index(trail, secret); i >= 0 {
			t.Errorf("the trail shows a secret: …%.400s", trail[max(0, i-200):])
		}
	}
}
