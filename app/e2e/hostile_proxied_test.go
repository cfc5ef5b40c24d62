package e2e

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/testbed"
	"eruptcloud/proxy"
)

// about makes a request for the page full, with header or parameter as the endpoint has it. path is what stands in the path
// in the page's place, parent and source what the request says of how it came there.
type about struct {
	path, full, parent, source, drill string
	more                              http.Header
	query                             string
}

func (e endpoint) about(who string, x about) shot {
	s := shot{method: e.method, who: who, header: http.Header{}, target: strings.Replace(e.target, "orders.Secret", x.path, 1)}
	if e.method != http.MethodGet {
		s.body, s.kind = []byte(e.json), "application/json"
	}
	params := []string{}
	name := func(header, param, value string) {
		switch {
		case value == "":
		case e.proxied.Verify == proxy.ByHeader || param == "":
			s.header.Set(header, value)
		default:
			params = append(params, param+"="+strings.ReplaceAll(value, " ", "%20"))
		}
	}
	name("erupt", "_erupt", x.full)
	name("eruptParent", "_eruptParent", x.parent)
	name("drillSourceErupt", "", x.source)
	name("drill", "", x.drill)
	if x.query != "" {
		params = append(params, x.query)
	}
	if len(params) > 0 {
		s.target += "?" + strings.Join(params, "&")
	}
	s.header = with(s.header, x.more)
	return s
}

// named are the endpoints of nodes that carry the name of a page.
func named(t testing.TB) []endpoint {
	return slices.DeleteFunc(endpoints(t), func(e endpoint) bool { return e.surface != onProxy || e.erupt == "" })
}

// F18, erupt-wire 10.1, 10.5: a page opens its own data and nothing else, however the request names it.
func wrongNames(t *testing.T, a *arena) {
	const own, secret = "orders.Allowed", "orders.Secret"
	twice := func(name string, values ...string) http.Header {
		return http.Header{http.CanonicalHeaderKey(name): values}
	}
	tests := map[string]struct {
		about
		who  string
		want []int
	}{
		"another page in the path":            {about{path: secret, full: own}, clerk, []int{400}},
		"a local name in the path":            {about{path: "Secret", full: own}, clerk, []int{400}},
		"the own local name in the path":      {about{path: "Allowed", full: own}, clerk, []int{400}},
		"another page in the header":          {about{path: own, full: secret}, clerk, []int{400}},
		"no name beside the path":             {about{path: secret}, clerk, []int{400, 403}},
		"another page":                        {about{path: secret, full: secret}, clerk, []int{403}},
		"another page in another case":        {about{path: "orders.SECRET", full: "orders.SECRET"}, clerk, []int{403}},
		"the node in another case":            {about{path: "ORDERS.Allowed", full: "ORDERS.Allowed"}, clerk, []int{503}},
		"another node":                        {about{path: "stock.Allowed", full: "stock.Allowed"}, clerk, []int{403}},
		"no node":                             {about{path: "ghost.Allowed", full: "ghost.Allowed"}, clerk, []int{503}},
		"packages before the name":            {about{path: "orders.a.b.Secret", full: "orders.a.b.Secret"}, clerk, []int{403}},
		"packages that look like a node":      {about{path: "stock.orders.Allowed", full: "stock.orders.Allowed"}, clerk, []int{403}},
		"nothing after the dot":               {about{path: "orders.", full: "orders."}, clerk, []int{400, 404, 503}},
		"nothing before the dot":              {about{path: ".Allowed", full: ".Allowed"}, clerk, []int{400, 503}},
		"dots only":                           {about{path: "..", full: ".."}, clerk, []int{400}},
		"a blank in the name":                 {about{path: "orders.Allowed%20", full: "orders.Allowed "}, clerk, []int{400, 403}},
		"letters beyond ASCII":                {about{path: "orders.All%C3%B6wed", full: "orders.All\xc3\xb6wed"}, clerk, []int{400}},
		"a name as long as a book":            {about{path: "orders." + strings.Repeat("A", 4000), full: "orders." + strings.Repeat("A", 4000)}, clerk, []int{400}},
		"the name twice":                      {about{path: own, full: own, more: twice("erupt", own, secret)}, clerk, []int{400}},
		"the session twice":                   {about{path: own, full: own, more: twice("token", "A", "B")}, "", []int{400}},
		"the parent twice":                    {about{path: own, full: own, more: twice("eruptParent", own, secret)}, clerk, []int{400}},
		"the drill source twice":              {about{path: own, full: own, more: twice("drillSourceErupt", own, secret)}, clerk, []int{400}},
		"header and parameter differ":         {about{path: own, full: own, more: twice("erupt", secret), query: "_erupt=" + own}, clerk, []int{400}},
		"the parameter twice":                 {about{path: own, query: "_erupt=" + own + "&_erupt=" + secret}, clerk, []int{400}},
		"the parameter twice, once encoded":   {about{path: own, query: "_erupt=" + own + "&%5ferupt=" + secret}, clerk, []int{400}},
		"a parent on another node":            {about{path: secret, full: secret, parent: "stock.Allowed"}, clerk, []int{403}},
		"a parent of the server":              {about{path: secret, full: secret, parent: "CloudNode"}, clerk, []int{403}},
		"a parent nobody holds":               {about{path: own, full: own, parent: secret}, clerk, []int{403}},
		"a parent without that child":         {about{path: secret, full: secret, parent: own}, clerk, []int{403}},
		"a drill from a page not held":        {about{path: own, full: own, source: secret, drill: "lines"}, clerk, []int{403}},
		"a drill from another node":           {about{path: own, full: own, source: "stock.Allowed", drill: "lines"}, clerk, []int{403}},
		"a drill that leads elsewhere":        {about{path: own, full: own, source: own, drill: "lines"}, clerk, []int{403}},
		"a drill from a page of the server":   {about{path: own, full: own, source: "CloudNode", drill: "lines"}, clerk, []int{403}},
		"nobody, with the node's own secret":  {about{path: own, full: own, more: http.Header{"Access-Token": {a.access["orders"]}}}, nobody, []int{401}},
		"nobody, with the secret as session":  {about{path: own, full: own, more: http.Header{"Token": {a.access["orders"]}}}, nobody, []int{401}},
		"a made-up session beside the cookie": {about{path: own, full: own, more: http.Header{"Token": {strings.Repeat("x", 22)}, "Cookie": {a.cookies[clerk]}}}, nobody, []int{401}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := a.at(t)
			for _, e := range named(t) {
				s := e.about(tt.who, tt.about)
				a.refused(s, a.fire(s), tt.want...)
			}
			// The one thing that may be asked is what the page that the clerk holds consists of.
			for _, s := range a.reached() {
				if s.Method != http.MethodGet || s.Path != "/erupt-api/build/Allowed" {
					t.Errorf("the node was asked %s %s", s.Method, s.Path)
				}
			}
			a.forget()
		})
	}
}

// F18, erupt-wire 10.1.4: functions need their own code, and a session in a query counts only where frames ask.
func functionsWithoutCode(t *testing.T, a *arena) {
	own := about{path: "orders.Allowed", full: "orders.Allowed"}
	for _, e := range named(t) {
		t.Run(e.method+" "+e.pattern, func(t *testing.T) {
			a := a.at(t)
			if e.proxied.Function != proxy.None {
				s := e.about(clerk, own)
				a.refused(s, a.fire(s), http.StatusForbidden)
			}
			if e.proxied.Verify == proxy.ByHeader {
				s := e.about(nobody, own)
				s.target += "?_token=" + a.sessions[admin]
				a.refused(s, a.fire(s), http.StatusUnauthorized)
			}
			a.untouched("a function without its code")
		})
	}
}

// F18, A20, erupt-wire 10.5: what does reach a node says who asks in our words, whatever the browser said.
func forgedHeadersStayBehind(t *testing.T, a *arena) {
	forged := http.Header{
		"User": {base64.StdEncoding.EncodeToString([]byte(`{"uid":1,"account":"root","name":"root"}`))}, "Access-Token": {"forged"},
		"Authorization": {"Bearer forged"}, "Proxy-Authorization": {"Basic forged"}, "Cookie": {a.cookies[guest] + "; other=forged"},
		"X-Forwarded-For": {"6.6.6.6"}, "X-Real-Ip": {"6.6.6.6"}, "Forwarded": {"for=6.6.6.6"}, "X-Forwarded-Host": {"evil.example"},
		"X-Forwarded-Proto": {"https"}, "X-Forwarded-Prefix": {"/evil"}, "X-Original-Url": {"/evil"}, "X-Rewrite-Url": {"/evil"},
		"X-Http-Method-Override": {"DELETE"}, "X-Request-Id": {"forged-by-the-browser"}, "Te": {"trailers"}, "Connection": {"keep-alive, lang"},
		"Keep-Alive": {"timeout=1"}, "Expect": {""}, "Accept-Encoding": {"gzip"},
	}
	for _, e := range named(t) {
		t.Run(e.method+" "+e.pattern, func(t *testing.T) {
			a := a.at(t)
			s := e.about(admin, about{path: "orders.Secret", full: "orders.Secret", more: forged, query: "a=%3B;b&_token=" + a.sessions[admin]})
			g := a.fire(s)
			asked := a.reached()
			a.forget()
			if g.status != http.StatusOK || len(asked) != 1 {
				t.Fatalf("= %d, the node was asked %d times, want 200 and once: %s", g.status, len(asked), digest(g.body))
			}
			a.honest(asked[0])
			if want := strings.Replace(e.target, "orders.Secret", "Secret", 1); asked[0].Path != want || asked[0].Method != e.method {
				t.Errorf("the node was asked %s %s, want %s %s", asked[0].Method, asked[0].Path, e.method, want)
			}
		})
	}
}

// honest checks what a node was told.
func (a *arena) honest(s testbed.Seen) {
	a.t.Helper()
	h := s.Header
	for _, name := range []string{
		"Cookie", "Authorization", "Proxy-Authorization", "X-Real-Ip", "Forwarded", "X-Forwarded-Prefix", "X-Original-Url", "X-Rewrite-Url",
		"X-Http-Method-Override", "Te", "Keep-Alive", "Expect", "Accept-Encoding", "Origin", "Eruptparent",
	} {
		if h.Get(name) != "" {
			a.t.Errorf("the node got %s: %s", name, h.Get(name))
		}
	}
	for name, want := range map[string]string{
		"Access-Token": a.access["orders"], "Erupt": "Secret", "X-Forwarded-For": "127.0.0.1", "X-Forwarded-Proto": "http",
		"X-Forwarded-Host": strings.TrimPrefix(a.URL, "http://"),
	} {
		if got := h.Values(name); len(got) != 1 || got[0] != want {
			a.t.Errorf("the node got %s: %q, want %q", name, got, want)
		}
	}
	var user struct{ Account string }
	raw, err := base64.StdEncoding.DecodeString(h.Get("User"))
	if err != nil || json.Unmarshal(raw, &user) != nil || user.Account != "erupt" {
		a.t.Errorf("the node got the user %q", raw)
	}
	if h.Get("X-Request-Id") == "forged-by-the-browser" {
		a.t.Error("the node got the browser's request id")
	}
	for _, secret := range []string{a.sessions[admin], "forged", "6.6.6.6", "evil"} {
		for name, values := range h {
			if strings.Contains(strings.Join(values, ","), secret) {
				a.t.Errorf("the node got %s: %q", name, values)
			}
		}
		if strings.Contains(s.Query, secret) {
			a.t.Errorf("the node got the query %s", s.Query)
		}
	}
	if !strings.Contains(s.Query, "a=%3B;b") { // S50
		a.t.Errorf("the node got the query %q, want the rest of it byte for byte", s.Query)
	}
}
