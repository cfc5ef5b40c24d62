package e2e

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// forgery is something that an attacker adds to a request to be taken for somebody else.
type forgery struct {
	name   string
	header http.Header
	query  string
	not    []surface // where it is no forgery, or has a test of its own
}

// forgeries never hold a credential of the one who sends them. other is a Cookie header of another installation.
func (a *arena) forgeries(other string) []forgery {
	name, sealed, _ := strings.Cut(a.cookies[admin], "=")
	foreign := name + "=" + strings.SplitN(other, "=", 2)[1]
	uid := base64.StdEncoding.EncodeToString([]byte(`{"uid":1,"account":"erupt","name":"erupt"}`))
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("erupt:"+adminPassword))
	return []forgery{
		{name: "user", header: http.Header{"User": {uid}}},
		{name: "access token of a node", header: http.Header{"Access-Token": {a.access["stock"]}}, not: []surface{onNodeAPI}},
		{name: "name and password", header: http.Header{"Authorization": {basic}}},
		{name: "node token as bearer", header: http.Header{"Authorization": {"Bearer " + a.access["orders"]}}},
		{name: "erupt headers", not: []surface{onProxy}, header: http.Header{
			"Erupt": {"orders.Allowed"}, "Eruptparent": {"orders.Allowed"}, "Drillsourceerupt": {"orders.Allowed"}, "Drill": {"lines"}, "Drillvalue": {"1"},
		}},
		{name: "trusted proxy", header: http.Header{
			"X-Forwarded-For": {"127.0.0.1"}, "X-Real-Ip": {"127.0.0.1"}, "Forwarded": {"for=127.0.0.1;proto=https;host=evil.example"},
			"X-Forwarded-Host": {"evil.example"}, "X-Forwarded-Proto": {"https"}, "X-Forwarded-Prefix": {"/evil"}, "X-Forwarded-Port": {"443"},
			"X-Forwarded-User": {"erupt"}, "X-Remote-User": {"erupt"}, "Remote-User": {"erupt"}, "X-Auth-Request-User": {"erupt"}, "X-Authenticated-User": {"erupt"},
			"X-Original-Url": {"/livez"}, "X-Rewrite-Url": {"/livez"}, "X-Request-Id": {"'><script>alert(1)</script>"},
		}},
		{name: "agent of the house", header: http.Header{"User-Agent": {"erupt-cloud-probe"}, "X-Requested-With": {"XMLHttpRequest"}}},
		{name: "session in the query", query: "_token=" + a.sessions[admin] + "&token=" + a.sessions[admin] + "&access_token=" + a.sessions[admin], not: []surface{onProxy}},
		{name: "session in another cookie", header: http.Header{"Cookie": {"token=" + a.sessions[admin] + "; JSESSIONID=" + a.sessions[admin]}}, not: []surface{onConsole}},
		{name: "unsealed cookie", header: http.Header{"Cookie": {name + "=" + a.sessions[admin]}}},
		{name: "cut cookie", header: http.Header{"Cookie": {name + "=" + sealed[:len(sealed)-4]}}},
		{name: "cookie of another installation", header: http.Header{"Cookie": {foreign + "; " + other}}},
		{name: "cookie where headers count", header: http.Header{"Cookie": {a.cookies[admin]}}, not: []surface{onConsole, onProxy}},
		{name: "header where cookies count", header: http.Header{"Token": {a.sessions[admin]}, "Authorization": {"Bearer " + a.sessions[admin]}}, not: []surface{onREST, onLocal, onProxy, onNodeAPI}},
		{name: "made-up session", header: http.Header{"Token": {strings.Repeat("A", 22)}}, not: []surface{onREST, onLocal, onProxy, onNodeAPI}},
		{name: "another method", header: http.Header{
			"X-Http-Method-Override": {"GET"}, "X-Method-Override": {"DELETE"}, "X-Http-Method": {"PUT"},
		}, query: "_method=DELETE"},
	}
}

// F18, S54, S59: the same refusal as the plain request, whatever is forged, as anybody who may not.
func forgedIdentity(t *testing.T, a *arena) {
	other := newOther(t)
	all := a.forgeries(other)
	for _, e := range endpoints(t) {
		t.Run(e.method+" "+e.pattern, func(t *testing.T) {
			a := a.at(t)
			a.unchanged("being refused", func() {
				for _, who := range []string{nobody, guest, clerk} {
					want := e.refusals(who)
					if want == nil {
						continue
					}
					plain := e.shot(who)
					a.expect(e, plain, want)
					if who == guest {
						continue // refused like clerk, for the same reason
					}
					for i, f := range all {
						if f.query != "" && strings.Contains(e.pattern, "/file/upload-") {
							continue // editors name the session there, by erupt's contract (erupt-wire 3.6)
						}
						forged := f.on(e, plain)
						if i%5 != 0 && e.surface == onConsole { // a page costs more, and says the same
							forged.header.Del("Accept")
							a.expect(e, forged, asProgram(want))
							continue
						}
						a.expect(e, forged, want)
					}
					a.untouched(who)
				}
			})
		})
	}
}

// asProgram are the statuses for somebody who asks for no page: nobody sends him to the login.
func asProgram(want []int) []int {
	if slices.Contains(want, http.StatusSeeOther) {
		return []int{http.StatusUnauthorized}
	}
	return want
}

// newOther returns the console cookie of an admin of another installation.
func newOther(t *testing.T) string {
	t.Helper()
	b := arena{server: serve(t, nil), t: t, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	return b.enter(admin, adminPassword)
}

// on adds the forgery to a shot, where it is one.
func (f forgery) on(e endpoint, s shot) shot {
	s.header = s.header.Clone()
	for _, not := range f.not {
		if e.surface == not {
			return s
		}
	}
	forged := f.header.Clone()
	if s.by == byCookie && s.who != nobody {
		forged.Del("Cookie") // the sender's own
	}
	s.header = with(s.header, forged)
	if f.query != "" {
		sign := "?"
		if strings.Contains(s.target, "?") {
			sign = "&"
		}
		s.target += sign + f.query
	}
	return s
}

// expect fires a shot that is to be refused.
func (a *arena) expect(e endpoint, s shot, want []int) {
	a.t.Helper()
	g := a.fire(s)
	a.refused(s, g, want...)
	if e.surface == onNodeAPI && silent(e.pattern) {
		a.grantsNothing(s, g)
	}
	if g.status == http.StatusSeeOther && !strings.HasPrefix(g.header.Get("Location"), a.base()+"/console/") {
		a.t.Errorf("%s %s leads to %q", s.method, s.target, g.header.Get("Location"))
	}
}
