package web_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/web"
	"eruptcloud/views"
)

func unescape(p string) (string, error) { return url.PathUnescape(p) }

func TestBasePathByEachWayToMountIt(t *testing.T) { // S18, S57, S87
	tests := map[string]struct {
		base, target string
		headers      []string
		want         string // base path of links | path
	}{
		"none":                                   {"", "/console/x", nil, "|/console/x"},
		"prefix passed on":                       {"/ops/fleet", "/ops/fleet/console/x", nil, "/ops/fleet|/console/x"},
		"prefix stripped":                        {"/ops/fleet", "/console/x", nil, "/ops/fleet|/console/x"},
		"stripped, named in a header":            {"/ops/fleet", "/console/x", []string{"X-Forwarded-Prefix", "/ops/fleet"}, "/ops/fleet|/console/x"},
		"passed on, named in a header":           {"/ops/fleet", "/ops/fleet/console/x", []string{"X-Forwarded-Prefix", "/ops/fleet/"}, "/ops/fleet|/console/x"},
		"only the header knows it":               {"", "/console/x", []string{"X-Forwarded-Prefix", "/ops"}, "/ops|/console/x"},
		"outer prefix stripped, ours passed on":  {"/fleet", "/fleet/console/x", []string{"X-Forwarded-Prefix", "/ops"}, "/ops/fleet|/console/x"},
		"header that leads elsewhere is ignored": {"/fleet", "/console/x", []string{"X-Forwarded-Prefix", "//evil.test"}, "/fleet|/console/x"},
		"header with markup is ignored":          {"", "/console/x", []string{"X-Forwarded-Prefix", `/"><script>`}, "|/console/x"},
		"similar name is no prefix":              {"/fleet", "/fleets/console/x", nil, "/fleet|/fleets/console/x"},
		"slashes are collapsed before":           {"/fleet", "//fleet//console///x", nil, "/fleet|/console/x"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newShell(t, base(tt.base), proxies)
			var got string
			f.Front(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got = views.FrameOf(r.Context()).Base + "|" + r.URL.Path
			})).ServeHTTP(httptest.NewRecorder(), request("GET", tt.target, tt.headers...))
			if got != tt.want {
				t.Errorf("%s with %v was served as %q, want %q", tt.target, tt.headers, got, tt.want)
			}
		})
	}
}

func TestPrefixFromAnUntrustedPeerIsIgnored(t *testing.T) { // S87
	f := newShell(t)
	w := f.do("GET", "/", "X-Forwarded-Prefix", "/evil", "X-Forwarded-Host", "evil.test", "X-Forwarded-Proto", "https")
	if loc := w.Header().Get("Location"); w.Code != http.StatusSeeOther || loc != "/console/" {
		t.Errorf("GET / answered %d to %q, want 303 to /console/", w.Code, loc)
	}
}

func TestRedirectsCarryNoInnerAddress(t *testing.T) { // S57
	f := newShell(t, base("/ops/fleet"), proxies)
	w := f.do("GET", "/ops/fleet", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "outer.test:8443")
	if loc := w.Header().Get("Location"); loc != "/ops/fleet/console/" {
		t.Errorf("Location is %q, want a path below the prefix", loc)
	}
}

func TestSlashesAreCollapsedWithoutDecoding(t *testing.T) {
	tests := map[string]string{ // target → escaped path that the router sees
		"//erupt-cloud-api/register-node": "/erupt-cloud-api/register-node",
		"/a///b//":                        "/a/b/",
		"/a/%2F/b":                        "/a/%2F/b",
		"/a%2F%2Fb":                       "/a%2F%2Fb",
		"/a/../b":                         "/a/../b",
		"/a/%2e%2e//b":                    "/a/%2e%2e/b",
		"/a//%E4%BD%A0":                   "/a/%E4%BD%A0",
		"/a;x=1//b":                       "/a;x=1/b",
	}
	for target, want := range tests {
		f := newShell(t)
		var got string
		f.Front(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.URL.EscapedPath() })).
			ServeHTTP(httptest.NewRecorder(), request("GET", target))
		if got != want {
			t.Errorf("%s reached the router as %q, want %q", target, got, want)
		}
	}
}

func request(method, target string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, "http://fleet.test/", nil)
	if err := setTarget(r, target); err != nil {
		panic(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestBasePathsThatCannotWorkAreRefused(t *testing.T) {
	for _, bad := range []string{"fleet", "/", "/fleet/", "/a//b", "/a/../b", "/a b", "/console", "/api/x", "/a%2Fb", `/"x`} {
		if _, err := web.New(web.Options{BasePath: bad, Sessions: memorySessions{}, CookieKeys: keys()}); err == nil {
			t.Errorf("New accepted the base path %q, want an error that says why", bad)
		}
	}
}

func keys() [][]byte {
	return [][]byte{[]byte(strings.Repeat("k", 32)), []byte(strings.Repeat("e", 16))}
}

func TestRequestIDs(t *testing.T) {
	tests := map[string]struct {
		sent    string
		trusted bool
		taken   bool
	}{
		"from a trusted proxy":          {"abcdef-0123", true, true},
		"from anybody":                  {"abcdef-0123", false, false},
		"too short to be one":           {"abc", true, false},
		"with a line break in disguise": {"abcdef\\n0123", true, false},
		"too long":                      {strings.Repeat("a", 65), true, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newShell(t)
			if tt.trusted {
				f = newShell(t, proxies)
			}
			w := f.do("GET", "/nowhere", "X-Request-Id", tt.sent)
			id := w.Header().Get("X-Request-Id")
			if (id == tt.sent) != tt.taken || len(id) < 8 {
				t.Errorf("answered with id %q to %q, taken over: want %t", id, tt.sent, tt.taken)
			}
			if e := envelope(t, w); e.RequestID != id || !strings.Contains(f.log.String(), id) {
				t.Errorf("envelope names %q and the log holds it: %t; want %q in both", e.RequestID, strings.Contains(f.log.String(), id), id)
			}
		})
	}
}

func TestClientAddressComesFromTrustedProxiesOnly(t *testing.T) { // S54
	tests := map[string]struct {
		trusted bool
		lines   []string
		want    string
	}{
		"nobody trusted":                     {false, []string{"203.0.113.9"}, "192.0.2.1"},
		"one proxy":                          {true, []string{"203.0.113.9"}, "203.0.113.9"},
		"forged first hop":                   {true, []string{"10.9.9.9, 203.0.113.9"}, "203.0.113.9"},
		"chain of trusted proxies":           {true, []string{"203.0.113.9, 192.0.2.7"}, "203.0.113.9"},
		"two header lines":                   {true, []string{"203.0.113.9", "192.0.2.7"}, "203.0.113.9"},
		"with a port":                        {true, []string{"203.0.113.9:4711"}, "203.0.113.9"},
		"version 6":                          {true, []string{"[2001:db8::5]:4711"}, "2001:db8::5"},
		"not an address: the last known hop": {true, []string{"evil, 192.0.2.8"}, "192.0.2.8"},
		"all trusted":                        {true, []string{"192.0.2.9"}, "192.0.2.9"},
		"nothing forwarded":                  {true, nil, "192.0.2.1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newShell(t)
			if tt.trusted {
				f = newShell(t, proxies)
			}
			f.Engine().GET("/ip", func(c *gin.Context) { c.String(200, web.ClientIP(c.Request)) })
			var headers []string
			for _, l := range tt.lines {
				headers = append(headers, "X-Forwarded-For", l)
			}
			if got := f.do("GET", "/ip", headers...).Body.String(); got != tt.want {
				t.Errorf("client of %q is %s, want %s", tt.lines, got, tt.want)
			}
		})
	}
}

func TestCrossSiteWrites(t *testing.T) { // S56
	tests := map[string]struct {
		proxied bool
		method  string
		headers []string
		want    int
	}{
		"same origin":                        {false, "POST", []string{"Origin", "http://fleet.test"}, 200},
		"program without either header":      {false, "POST", nil, 200},
		"another site":                       {false, "POST", []string{"Origin", "http://evil.test"}, 403},
		"another site, told by the browser":  {false, "POST", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"a sibling domain":                   {false, "POST", []string{"Sec-Fetch-Site", "same-site", "Origin", "http://x.fleet.test"}, 403},
		"opaque origin":                      {false, "POST", []string{"Origin", "null"}, 403},
		"reading is free":                    {false, "GET", []string{"Origin", "http://evil.test", "Sec-Fetch-Site", "cross-site"}, 200},
		"host rewritten by a trusted proxy":  {true, "POST", []string{"Origin", "https://outer.test", "X-Forwarded-Host", "outer.test", "X-Forwarded-Proto", "https"}, 200},
		"forwarded host with default port":   {true, "POST", []string{"Origin", "https://outer.test", "X-Forwarded-Host", "outer.test:443", "X-Forwarded-Proto", "https"}, 200},
		"another site through that proxy":    {true, "POST", []string{"Origin", "https://evil.test", "X-Forwarded-Host", "outer.test", "X-Forwarded-Proto", "https"}, 403},
		"forged host from an untrusted peer": {false, "POST", []string{"Origin", "https://evil.test", "X-Forwarded-Host", "evil.test"}, 403},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newShell(t)
			if tt.proxied {
				f = newShell(t, proxies)
			}
			f.Engine().Any("/x", text("done"))
			if w := f.do(tt.method, "/x", tt.headers...); w.Code != tt.want {
				t.Errorf("%s with %q answered %d, want %d", tt.method, tt.headers, w.Code, tt.want)
			}
		})
	}
}

func TestSecurityHeaders(t *testing.T) { // S60
	tests := map[string]string{
		"/console/nowhere":    "default-src 'self'",
		"/api/v1/nowhere":     "default-src 'none'",
		"/erupt-api/tpl/x":    "sandbox ",
		"/erupt-attachment/x": "sandbox ",
	}
	for target, policy := range tests {
		h := newShell(t).do("GET", target).Header()
		if csp := h.Get("Content-Security-Policy"); !strings.HasPrefix(csp, policy) || !strings.Contains(csp, "frame-ancestors") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s has the policy %q, want one that begins with %q, names frame-ancestors and allows nothing unsafe", target, csp, policy)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") == "" {
			t.Errorf("%s lacks nosniff or a referrer policy: %v", target, h)
		}
	}
}

func TestPanics(t *testing.T) {
	f := newShell(t)
	f.Engine().GET("/api/v1/early", func(*gin.Context) { panic("secret of the stack") })
	f.Engine().GET("/api/v1/late", func(c *gin.Context) { c.String(200, "half"); c.Writer.Flush(); panic("x") })
	f.Engine().GET("/api/v1/abort", func(c *gin.Context) { c.String(200, "half"); c.Writer.Flush(); panic(http.ErrAbortHandler) })
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	client := srv.Client()
	res, err := client.Get(srv.URL + "/api/v1/early")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode != 500 || strings.Contains(string(body), "stack") || !strings.Contains(f.log.String(), "secret of the stack") {
		t.Errorf("a panic answered %d %s; want 500 without its cause, which belongs in the log", res.StatusCode, body)
	}
	for _, path := range []string{"/api/v1/late", "/api/v1/abort"} {
		res, err := client.Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = io.ReadAll(res.Body); err == nil {
			t.Errorf("%s: a half answer arrived as a whole one, want a broken transfer", path)
		}
		res.Body.Close()
	}
	client.CloseIdleConnections()
}

func TestPathTricksAreRefusedLikeThePlainPath(t *testing.T) { // S59
	f := newShell(t)
	admin := f.Engine().Group("/api/v1", f.RequireHeader("EruptUser"))
	admin.GET("/users", text("all users"))
	for _, target := range []string{"/api/v1/users", "/api/v1/users/", "/api/v1/users;x", "/api/v1//users", "/API/v1/users",
		"/api/v1/./users", "/api/v1/%75sers", "/api/v1/x/../users", "/api/v1/users%00", "/api/v1/users?token=lin-token&_token=lin-token"} {
		for _, h := range [][]string{nil, {"User-Agent", "Nacos-Server"}, {"user", "eyJ1aWQiOjF9"}, {"erupt", "EruptUser", "Access-Token", "x"},
			{"X-HTTP-Method-Override", "GET"}, {"X-Original-URL", "/livez"}} {
			if w := f.do("GET", target, h...); w.Code != 401 && w.Code != 404 {
				t.Errorf("GET %s with %v answered %d %s, want 401 or 404", target, h, w.Code, w.Body)
			}
		}
	}
}

func TestAccessLogHoldsNoSecrets(t *testing.T) {
	f := newShell(t)
	f.Engine().GET("/erupt-api/x", text("ok"))
	f.do("GET", "/erupt-api/x?_token=SEKRET1&a=b&Access-Token=SEKRET2&p%77d=SEKRET3&%zz=SEKRET4", "token", "SEKRET5", "Cookie", "s=SEKRET6", "Authorization", "Bearer SEKRET7")
	if log := f.log.String(); strings.Contains(log, "SEKRET") || !strings.Contains(log, "a=b") || !strings.Contains(log, "_token=***") {
		t.Errorf("the access log must show the query without its secrets, got %s", log)
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	f := newShell(t)
	f.Engine().GET("/api/v1/x", text("ok"))
	if e := envelope(t, f.do("GET", "/api/v1/nowhere")); e.Status != 404 || e.Code != "not_found" || e.Path != "/api/v1/nowhere" || e.Fields == nil {
		t.Errorf("an unknown path answered %+v, want the envelope of not_found", e)
	}
	w := f.do("POST", "/api/v1/x")
	if e := envelope(t, w); e.Status != 405 || e.Code != "method_not_allowed" || w.Header().Get("Allow") != "GET" {
		t.Errorf("a wrong method answered %+v, Allow %q; want 405 and the methods that exist", e, w.Header().Get("Allow"))
	}
}

func TestLongAddressesAreRefused(t *testing.T) {
	if w := newShell(t).do("GET", "/api/v1/"+strings.Repeat("a", 17<<10)); w.Code != 400 {
		t.Errorf("a target of 17 KiB answered %d, want 400", w.Code)
	}
}

func TestParam(t *testing.T) {
	tests := map[string]string{
		"/api/v1/x/plain/y": "plain", "/api/v1/x/a%2Fb/y": "a/b", "/api/v1/x/a+b/y": "a+b", "/api/v1/x/a+b%2Fc/y": "a+b/c",
		"/api/v1/x/%25/y": "%", "/api/v1/x/%E4%BD%A0/y": "你", "/fleet/api/v1//x/a%20b/y": "a b",
	}
	for target, want := range tests {
		f := newShell(t, base("/fleet"))
		got := ""
		f.Engine().GET("/api/v1/x/:id/y", func(c *gin.Context) { got = web.Param(c, "id") })
		if f.do("GET", target); got != want {
			t.Errorf("%s: id is %q, want %q", target, got, want)
		}
	}
}

func FuzzFrontPaths(f *testing.F) {
	for _, seed := range []string{"/", "//a//b", "/ops/fleet/x", "/ops/fleet", "/%2F%2f//", "/a/..//b", "/ops//fleet/;x", "/%E4%BD%A0//"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		path, err := url.PathUnescape(target)
		if err != nil || !strings.HasPrefix(target, "/") || strings.ContainsAny(target, "?# \x00\r\n\t") {
			return
		}
		s := newShell(t, base("/ops/fleet"))
		r := httptest.NewRequest("GET", "http://fleet.test/", nil)
		r.URL.Path, r.URL.RawPath = path, target
		sent := r.URL.EscapedPath()
		called := false
		s.Front(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			called = true
			got := r.URL.EscapedPath()
			if strings.Contains(got, "//") || !strings.HasPrefix(got, "/") {
				t.Errorf("%q reached the router as %q, want one leading slash and no double ones", sent, got)
			}
			// Nothing but slashes and the base path may be lost, and nothing may be decoded.
			squeeze := func(p string) string { return strings.ReplaceAll(p, "/", "") }
			if a := squeeze(got); a != squeeze(sent) && a != strings.Replace(squeeze(sent), "opsfleet", "", 1) {
				t.Errorf("%q became %q", sent, got)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
		if !called && len(sent) < 4<<10 {
			t.Errorf("%q never reached the router", sent)
		}
	})
}

func TestNothingFollowsAChunkedRequest(t *testing.T) { // RFC 9112, 6.1
	f := newShell(t)
	f.Engine().POST("/api/v1/x", func(c *gin.Context) { c.Status(http.StatusNoContent) })
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	const smuggled = "POST /api/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
	fmt.Fprintf(conn, "POST /api/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", 5+len(smuggled), smuggled)
	all, err := io.ReadAll(conn) // to its end: the server closes
	if n := strings.Count(string(all), "HTTP/1.1 204"); err != nil || n != 1 {
		t.Errorf("%d answers, %v, want one and a closed connection:\n%s", n, err, all)
	}
}
