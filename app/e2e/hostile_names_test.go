package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

// S36, S37: what a database compares, cuts or cannot store as people write it. On MariaDB, which is the stricter one: SQLite
// takes any bytes, and the bent paths have been there.
func TestHostileNamesOnMariaDB(t *testing.T) {
	t.Parallel()
	s := serve(t, []string{"EC_LOG_LEVEL=debug", "EC_DATABASE_DRIVER=mysql", "EC_DATABASE_DSN=" + testbed.MariaDB(t), "EC_DATABASE_MIGRATE=true"})
	a := &arena{
		server: s, t: t, fired: new(atomic.Int64), sessions: map[string]string{admin: s.Token}, cookies: map[string]string{},
		client: &http.Client{Timeout: 20 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	a.secrets = []string{s.node("orders"), s.Token, adminPassword}
	a.cookies[admin] = a.enter(admin, adminPassword)
	t.Cleanup(func() { a.checkLog(t) })
	names := []string{
		"\xff\xfe", "a\x00b", "\x00", "😀", "订单服务", "Bestellung-Ä", "ﬁ", "e\u0301", "orders ", " orders", "ORDERS", "orders\t", strings.Repeat("n", 300), strings.Repeat("😀", 300),
		"' OR '1'='1", `" OR ""="`, `\`, `\'`, "%", "_", "orders%", "a;DROP TABLE e_cloud_node;--", "1e999", "-1", "0", "null", "..", ".", "a/b", "a\\b", "#", "?", "&", "=", "+", ",", "@", ":", "*", "{}", "[]", "$ne", "\u202eorders", "\u200borders",
	}
	for _, e := range endpoints(t) {
		if e.surface != onREST && e.surface != onConsole && e.surface != onNodeAPI || !strings.Contains(e.pattern, ":") {
			continue
		}
		t.Run(e.method+" "+e.pattern, func(t *testing.T) {
			a := a.at(t)
			for _, name := range names {
				s := e.shot(admin)
				s.header.Del("Accept")
				parts := strings.Split(e.pattern, "/")
				for i, part := range parts {
					if strings.HasPrefix(part, ":") {
						parts[i] = url.PathEscape(name)
					}
				}
				s.target = strings.Join(parts, "/") + queries[e.pattern]
				g := a.fire(s)
				if g.status >= http.StatusInternalServerError || g.status < http.StatusBadRequest && e.surface == onREST && e.method != http.MethodGet {
					t.Errorf("%q: %s %.120s = %d %s", name, s.method, s.target, g.status, digest(g.body))
				}
			}
		})
	}
	for _, name := range names {
		for _, target := range []string{"/api/v1/nodes?q=", "/api/v1/nodes?group=", "/api/v1/users?q=", "/api/v1/nodes?state=", "/api/v1/nodes?enabled="} {
			g := a.fire(shot{method: http.MethodGet, target: target + url.QueryEscape(name), who: admin})
			if g.status >= http.StatusInternalServerError {
				t.Errorf("%s%q = %d %s", target, name, g.status, digest(g.body))
			}
		}
		for _, target := range []string{"/console/users?q=", "/console/audit?q=", "/console/audit?account=", "/console/audit?subject=", "/console/nodes?q="} {
			g := a.fire(shot{method: http.MethodGet, target: target + url.QueryEscape(name), who: admin, by: byCookie, header: browser()})
			if g.status >= http.StatusInternalServerError {
				t.Errorf("%s%q = %d %s", target, name, g.status, digest(g.body))
			}
		}
		a.create(name)
	}
	if t.Failed() {
		return
	}
	var nodes struct{ Total int }
	a.must(http.MethodGet, "/api/v1/nodes", nil, http.StatusOK, &nodes)
	t.Logf("%d nodes in the end", nodes.Total)
}

// create tries to make something of a hostile name: it is refused by a stated rule, or usable everywhere.
func (a *arena) create(name string) {
	a.t.Helper()
	for kind, body := range map[string]map[string]any{
		"nodes":  {"nodeName": name, "name": name},
		"groups": {"code": name, "name": name},
		"roles":  {"code": name, "name": name},
		"users":  {"account": name, "name": name, "password": "plain-horse-80"},
	} {
		s := shot{method: http.MethodPost, target: "/api/v1/" + kind, body: mustJSON(a.t, body), kind: jsonKind, who: admin}
		g := a.fire(s)
		if g.status != http.StatusCreated {
			a.refused(s, g, http.StatusBadRequest, http.StatusConflict)
			continue
		}
		target := "/api/v1/" + kind + "/" + url.PathEscape(name)
		for _, s := range []shot{
			{method: http.MethodGet, target: target}, {method: http.MethodPatch, target: target, body: []byte(`{"name":"renamed"}`), kind: jsonKind}, {method: http.MethodDelete, target: target},
		} {
			s.who = admin
			if g := a.fire(s); g.status >= http.StatusBadRequest {
				a.t.Errorf("%s %q was made, but %s %s = %d %s", kind, name, s.method, target, g.status, g.body)
			}
		}
	}
}

// S54: what proxies forward counts from those that the operator named, and from nobody else.
func TestForgedForwarding(t *testing.T) {
	t.Parallel()
	forged := http.Header{
		"X-Forwarded-For": {"6.6.6.6, 9.9.9.9"}, "X-Real-Ip": {"6.6.6.6"}, "Forwarded": {"for=6.6.6.6"}, "X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"fleet.example"},
	}
	for name, tt := range map[string]struct {
		env     []string
		address string
		secure  bool
	}{
		"from anybody":         {nil, "127.0.0.1", false},
		"from a trusted proxy": {[]string{"EC_SERVER_TRUSTED_PROXIES=127.0.0.0/8"}, "9.9.9.9", true},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArena(t, tt.env...)
			g := a.fire(shot{
				method: http.MethodPost, target: "/console/login", header: with(browser(), forged), form: url.Values{"account": {"erupt"}, "password": {adminPassword}},
			})
			if got := strings.Contains(g.header.Get("Set-Cookie"), "Secure"); g.status != http.StatusSeeOther || got != tt.secure {
				t.Errorf("login = %d, Set-Cookie: %s", g.status, g.header.Get("Set-Cookie"))
			}
			a.fire(shot{method: http.MethodDelete, target: "/api/v1/nodes/stock", who: admin, header: forged})
			var trail string
			eventually(t, 10*time.Second, func() bool {
				trail = strings.Join(append(a.column(t.Context(), "SELECT * FROM e_upms_operate_log"), a.column(t.Context(), "SELECT * FROM e_upms_login_log")...), "\n")
				return strings.Contains(trail, "node.delete")
			}, func() string { return fmt.Sprintf("the trail has no end: %s", trail) })
			if !strings.Contains(trail, tt.address) || strings.Contains(trail, "6.6.6.6") {
				t.Errorf("the trail does not name %s:\n%s", tt.address, trail)
			}
		})
	}
}
