package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

type sessionT = access.Session

// signIn lets a shell write its cookie and returns it.
func signIn(t *testing.T, f *fixture, headers ...string) *http.Cookie {
	t.Helper()
	f.Engine().POST("/console/login", f.Handle(func(c *gin.Context) error {
		if err := f.WriteSession(c, "lin-token"); err != nil {
			return err
		}
		c.Status(http.StatusNoContent)
		return nil
	}))
	got := f.do("POST", "/console/login", headers...).Result().Cookies()
	if len(got) != 1 {
		t.Fatalf("login set %d cookies, want one", len(got))
	}
	return got[0]
}

func TestSessionCookie(t *testing.T) { // S18, S54, S88
	tests := map[string]struct {
		change  func(*web.Options)
		headers []string
		path    string
		secure  bool
	}{
		"plain http at the root":      {func(*web.Options) {}, nil, "/", false},
		"below a base path":           {base("/ops/fleet"), nil, "/ops/fleet", false},
		"https said by the proxy":     {proxies, []string{"X-Forwarded-Proto", "https"}, "/", true},
		"https said by anybody":       {func(*web.Options) {}, []string{"X-Forwarded-Proto", "https"}, "/", false},
		"always":                      {func(o *web.Options) { o.SecureCookie = web.SecureAlways }, nil, "/", true},
		"prefix named by the proxy":   {proxies, []string{"X-Forwarded-Prefix", "/b"}, "/b", false},
		"never, even through a proxy": {func(o *web.Options) { proxies(o); o.SecureCookie = web.SecureNever }, []string{"X-Forwarded-Proto", "https"}, "/", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := signIn(t, newShell(t, tt.change), tt.headers...)
			if c.Path != tt.path || c.Secure != tt.secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode {
				t.Errorf("cookie is %v, want path %s, secure %t, HttpOnly and SameSite=Lax", c, tt.path, tt.secure)
			}
			if strings.Contains(c.Value, "lin") {
				t.Errorf("cookie %q shows the token, want it sealed", c.Value)
			}
		})
	}
}

func TestTwoInstallationsOnOneHost(t *testing.T) { // S88
	one := newShell(t)
	other := newShell(t, func(o *web.Options) { o.CookieKeys[0] = []byte(strings.Repeat("o", 32)) })
	a, b := signIn(t, one), signIn(t, other)
	if a.Name == b.Name {
		t.Errorf("both installations call their cookie %s, want names of their own", a.Name)
	}
	same := newShell(t, func(o *web.Options) { o.CookieKeys[0] = []byte(strings.Repeat("o", 32)); o.CookieName = a.Name })
	foreign := signIn(t, same)
	r := request("GET", "/console/x")
	r.AddCookie(foreign) // the same name from another path of the host, sent first
	r.AddCookie(a)
	if got := one.CookieToken(r); got != "lin-token" {
		t.Errorf("with a foreign cookie of the same name before ours the token is %q, want ours", got)
	}
	if w := one.serve(r); len(w.Result().Cookies()) != 0 {
		t.Errorf("the answer touches cookies: %v", w.Result().Cookies())
	}
}

func TestCookieTokenOfForgeries(t *testing.T) {
	f := newShell(t)
	c := signIn(t, f)
	for _, value := range []string{"", "lin-token", c.Value + "x", c.Value[1:], strings.Repeat("A", 8000)} {
		r := request("GET", "/")
		r.AddCookie(&http.Cookie{Name: c.Name, Value: value})
		if got := f.CookieToken(r); got != "" {
			t.Errorf("cookie %.20q gave the token %q, want none", value, got)
		}
	}
}

func TestKeysAreChecked(t *testing.T) {
	for name, k := range map[string][][]byte{"none": nil, "odd": {make([]byte, 32)}, "short": {make([]byte, 31), make([]byte, 16)}, "no AES size": {make([]byte, 32), make([]byte, 20)}} {
		if _, err := web.New(web.Options{Sessions: memorySessions{}, CookieKeys: k}); err == nil {
			t.Errorf("%s: New accepted the cookie keys, want an error", name)
		}
	}
}

func console(f *fixture, codes ...string) {
	g := f.Engine().Group("/console", f.RequireCookie(codes...))
	show := func(c *gin.Context) {
		v := views.FrameOf(c.Request.Context())
		c.String(200, "%s %t %s", v.Account, views.May(c.Request.Context(), "CLOUDNODE"), web.SessionFrom(c).Name)
	}
	g.GET("/nodes", show)
	g.POST("/nodes", show)
}

func TestRequireCookie(t *testing.T) {
	f := newShell(t)
	console(f, "CloudNode", "Other")
	c := signIn(t, f)
	cookie := c.Name + "=" + c.Value
	if w := f.do("GET", "/console/nodes", "Cookie", cookie); w.Code != 200 || w.Body.String() != "lin true Lin Yu" {
		t.Errorf("with a session the page answered %d %q, want 200 and the viewer", w.Code, w.Body)
	}
	if w := f.do("GET", "/console/nodes", "token", "lin-token"); w.Code == 200 {
		t.Errorf("a header opened the console: %d", w.Code)
	}
	missing := newShell(t)
	console(missing, "EruptUser")
	if w := missing.do("GET", "/console/nodes", "Cookie", cookie); w.Code != 403 {
		t.Errorf("without the code the page answered %d, want 403", w.Code)
	}
}

// TestEndedSessions: S61 and U63: never a login page inside a table cell, and always a way back.
func TestEndedSessions(t *testing.T) {
	const page = "text/html"
	tests := map[string]struct {
		method, target string
		headers        []string
		status         int
		header, next   string
	}{
		"page keeps its deep link": {"GET", "/ops/fleet/console/nodes?state=offline&page=2", []string{"Accept", page}, 303, "Location", "/console/nodes?state=offline&page=2"},
		"fragment goes back to its page": {"GET", "/ops/fleet/console/nodes", []string{"HX-Request", "true", "HX-Current-URL", "https://fleet.test/ops/fleet/console/nodes/a?tab=log"},
			401, "HX-Redirect", "/console/nodes/a?tab=log"},
		"form goes back to the page that showed it": {"POST", "/ops/fleet/console/nodes", []string{"Accept", page, "Referer", "http://fleet.test/ops/fleet/console/nodes/new"}, 303, "Location", "/console/nodes/new"},
		"page of another site":                      {"POST", "/ops/fleet/console/nodes", []string{"Accept", page, "Referer", "https://evil.test/phish"}, 303, "Location", "/console/"},
		"program":                                   {"GET", "/ops/fleet/console/nodes", []string{"Accept", "application/json"}, 401, "", ""},
		"event stream":                              {"GET", "/ops/fleet/console/nodes", []string{"Accept", "text/event-stream"}, 401, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := newShell(t, base("/ops/fleet"))
			console(f)
			w := f.do(tt.method, tt.target, tt.headers...)
			want := ""
			if tt.header != "" {
				want = "/ops/fleet/console/login?" + url.Values{"next": {tt.next}}.Encode()
			}
			if got := w.Header().Get(tt.header); w.Code != tt.status || got != want {
				t.Errorf("answered %d, %s %q; want %d %q", w.Code, tt.header, got, tt.status, want)
			}
			if strings.Contains(w.Body.String(), "<form") {
				t.Errorf("the answer holds a form: %s", w.Body)
			}
		})
	}
}

func TestStoreOutageIsNoLogout(t *testing.T) {
	f := newShell(t, func(o *web.Options) { o.Sessions = brokenSessions{} })
	console(f)
	c := signIn(t, f)
	if w := f.do("GET", "/console/nodes", "Cookie", c.Name+"="+c.Value, "Accept", "text/html"); w.Code != 503 {
		t.Errorf("without its store the console answered %d, want 503 and no login page", w.Code)
	}
}

type brokenSessions struct{}

func (brokenSessions) Get(context.Context, string, ...string) (access.Session, []bool, error) {
	return access.Session{}, nil, fault.New(fault.Unavailable, "sessions cannot be read").Because(errors.New("redis"))
}

func TestSafeNext(t *testing.T) {
	tests := map[string]string{
		"/console/nodes?x=1":    "/console/nodes?x=1",
		"/console":              "/console",
		"":                      "/console/",
		"//evil.test/console/":  "/console/",
		"/console//evil.test":   "/console/",
		"https://evil.test":     "/console/",
		`/console/\evil.test`:   "/console/",
		"/console/../evil":      "/console/",
		"/console/%2e%2e/x":     "/console/",
		"/consolex":             "/console/",
		"/console/login?next=x": "/console/",
		"/console/logout":       "/console/",
		"/api/v1/nodes":         "/console/",
		"javascript:alert(1)":   "/console/",
		"/console/a\r\nX: y":    "/console/",
	}
	for raw, want := range tests {
		if got := web.SafeNext(raw); got != want {
			t.Errorf("SafeNext(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestRequireHeader(t *testing.T) {
	f := newShell(t)
	f.Engine().GET("/api/v1/me", f.RequireHeader(), func(c *gin.Context) { c.String(200, web.SessionFrom(c).Account) })
	cookie := signIn(t, f)
	tests := map[string]struct {
		headers []string
		want    int
	}{
		"token":          {[]string{"token", "lin-token"}, 200},
		"bearer":         {[]string{"Authorization", "bearer lin-token"}, 200},
		"basic":          {[]string{"Authorization", "Basic lin-token"}, 401},
		"unknown":        {[]string{"token", "x"}, 401},
		"nothing":        {nil, 401},
		"only a cookie":  {[]string{"Cookie", cookie.Name + "=" + cookie.Value}, 401},
		"query instead":  {[]string{"X", "y"}, 401},
		"unknown bearer": {[]string{"Authorization", "Bearer "}, 401},
	}
	for name, tt := range tests {
		w := f.do("GET", "/api/v1/me?_token=lin-token&token=lin-token", tt.headers...)
		if w.Code != tt.want || (w.Code == 401) != (w.Header().Get("WWW-Authenticate") == "Bearer") {
			t.Errorf("%s: answered %d with %q, want %d", name, w.Code, w.Header().Get("WWW-Authenticate"), tt.want)
		}
	}
	if !strings.Contains(f.log.String(), `"account":"lin"`) {
		t.Error("the access log does not name the account")
	}
}

func TestClearSession(t *testing.T) {
	f := newShell(t, base("/fleet"))
	f.Engine().POST("/console/logout", func(c *gin.Context) { f.ClearSession(c); c.Status(204) })
	c := f.do("POST", "/console/logout").Result().Cookies()
	if len(c) != 1 || c[0].MaxAge >= 0 || c[0].Path != "/fleet" || c[0].Value != "" {
		t.Errorf("logout answered with %v, want our cookie ended on its own path", c)
	}
}

func TestAuditEntry(t *testing.T) {
	f := newShell(t)
	var e access.Entry
	f.Engine().POST("/api/v1/x", f.RequireHeader(), func(c *gin.Context) { e = web.AuditEntry(c, "node.create", "a") })
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, request("POST", "/api/v1/x?pwd=SEKRET", "token", "lin-token"))
	if e.Account != "lin" || e.User != "Lin Yu" || e.Address != "192.0.2.1" || e.Method != "POST" || e.URL != "/api/v1/x?pwd=***" || e.RequestID != w.Header().Get("X-Request-Id") {
		t.Errorf("audit entry is %+v", e)
	}
}
