package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"
)

// S56, S57: TLS ends at a proxy that writes its own Host. With the one setting that names the proxy every form of the console
// is taken from the outer address and from no other, and nothing tells the inner one.
func TestHostileBehindARewritingProxy(t *testing.T) {
	t.Parallel()
	a := newArena(t, "EC_SERVER_TRUSTED_PROXIES=127.0.0.1")
	inner, err := url.Parse(a.URL)
	if err != nil {
		t.Fatal(err)
	}
	outer := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(inner) // the Host is the inner one
		r.SetXForwarded()
		body, _ := io.ReadAll(r.In.Body) // whole, as proxies that buffer do: a refusal comes before a body is read
		r.Out.Body, r.Out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}})
	t.Cleanup(outer.Close)
	roots := x509.NewCertPool()
	roots.AddCert(outer.Certificate())
	s, within, direct := *a.server, a.server, a.client
	s.URL = outer.URL
	a.server = &s
	t.Cleanup(func() { a.server, a.client = within, direct })
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	a.client = &http.Client{Transport: transport, Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a.cookies[admin] = a.enter(admin, adminPassword)
	b := &bench{arena: a}
	for _, e := range endpoints(t) {
		if e.surface != onConsole {
			continue
		}
		if e.method == http.MethodGet {
			if strings.HasSuffix(e.pattern, "/events") && !strings.Contains(e.pattern, ":") {
				continue // a stream
			}
			g := a.fire(e.shot(admin))
			var head bytes.Buffer
			_ = g.header.Write(&head)
			if bytes.Contains(g.body, []byte(inner.Host)) || strings.Contains(head.String(), inner.Host) {
				t.Errorf("%s tells the inner address %s", e.pattern, inner.Host)
			}
			continue
		}
		e := b.harmless(e, right{codes: []string{"x"}})
		if strings.HasSuffix(e.pattern, "/logout") || strings.Contains(e.pattern, "/me/logout") || e.pattern == "/console/me/password" {
			e.form = "session=none" // would end the session that asks
			if e.pattern != "/console/me/logout-one" {
				continue
			}
		}
		for name, own := range map[string]http.Header{
			"an old browser": {"Origin": {outer.URL}}, "a browser": {"Origin": {outer.URL}, "Sec-Fetch-Site": {"same-origin"}},
		} {
			s := e.shot(admin)
			s.header.Del("Sec-Fetch-Site")
			s.header = with(s.header, own)
			if g := a.fire(s); g.status == http.StatusForbidden || g.status == http.StatusUnauthorized && !strings.HasPrefix(e.pattern, "/console/login") {
				t.Errorf("%s %s from the outer address by %s = %d %s", e.method, e.pattern, name, g.status, digest(g.body))
			} else if to := g.header.Get("Location"); to != "" && !strings.HasPrefix(to, "/console") {
				t.Errorf("%s %s leads to %q", e.method, e.pattern, to)
			}
		}
		for name, foreign := range map[string]string{"another site": "https://evil.example", "the inner address": inner.String()} {
			s := e.shot(admin)
			s.header.Del("Sec-Fetch-Site")
			s.header = with(s.header, http.Header{"Origin": {foreign}})
			if g := a.fire(s); g.status != http.StatusForbidden {
				t.Errorf("%s %s from %s = %d, want 403", e.method, e.pattern, name, g.status)
			}
		}
	}
}

// S61, S62, U63: after the end of a session a part of a page leads to the login as a whole page, and back to where one was;
// and no answer that anybody got is kept by the browser.
func TestHostileAfterTheEnd(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	all := endpoints(t)
	for _, e := range all { // while it lasts
		if e.surface != onConsole || e.method != http.MethodGet || e.pattern == "/console/events" {
			continue
		}
		g := a.fire(e.shot(admin))
		if kept := g.header.Get("Cache-Control"); !strings.Contains(kept, "no-store") {
			t.Errorf("%s may be kept by the browser: Cache-Control %q", e.pattern, kept)
		}
	}
	shown := a.fire(shot{method: http.MethodPost, target: "/console/nodes/orders/token", form: url.Values{}, who: admin, by: byCookie, header: fragment(), mayShow: []string{a.access["orders"]}})
	if kept := shown.header.Get("Cache-Control"); shown.status != http.StatusOK || !strings.Contains(kept, "no-store") {
		t.Errorf("the token is shown with %d and Cache-Control %q", shown.status, kept)
	}
	left := a.fire(shot{method: http.MethodPost, target: "/console/logout", who: admin, by: byCookie, header: browser()})
	if clear := left.header.Get("Clear-Site-Data"); !strings.Contains(clear, `"cache"`) || !strings.Contains(clear, `"storage"`) {
		t.Errorf("the logout clears %q of the browser", clear)
	}
	for _, e := range all {
		if e.surface != onConsole || stated()[e.method+" "+e.pattern].open {
			continue
		}
		s := e.shot(admin) // with the cookie of the session that has ended
		s.header = with(fragment(), http.Header{"Hx-Current-Url": {a.URL + "/console/nodes?q=here"}})
		g := a.fire(s)
		to, ok := strings.CutPrefix(g.header.Get("HX-Redirect"), "/console/login")
		if !ok || g.status == http.StatusOK && len(g.body) > 0 && bytes.Contains(g.body, []byte("<form")) {
			t.Errorf("%s %s as a part of a page = %d, leads to %q: %s", e.method, e.pattern, g.status, g.header.Get("HX-Redirect"), digest(g.body))
		} else if !strings.Contains(to, url.QueryEscape("/console/nodes?q=here")) {
			t.Errorf("%s %s leads to the login, and then back to %q", e.method, e.pattern, to)
		}
		if e.method == http.MethodGet {
			s.header = browser()
			if g := a.fire(s); g.status != http.StatusSeeOther || !strings.Contains(g.header.Get("Location"), "/console/login") {
				t.Errorf("%s after the logout = %d %q, want the login", e.pattern, g.status, g.header.Get("Location"))
			}
		}
	}
}
