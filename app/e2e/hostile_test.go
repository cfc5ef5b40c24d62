package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

// The people of an arena, each with less than the one before.
const (
	admin  = "admin"  // holds everything
	clerk  = "clerk"  // holds the page orders.Allowed and none of its functions
	guest  = "guest"  // may log in
	nobody = "nobody" // has no session
)

const staffPassword = "plain-horse-77"

// arena is a running server with two nodes that remember what reaches them, and people with fewer and fewer rights. Whatever
// is sent through fire is checked for leaks.
type arena struct {
	*server
	t             testing.TB // of the subtest that runs
	orders, stock *testbed.FakeNode
	access        map[string]string // node → access token
	sessions      map[string]string // who → session token
	cookies       map[string]string // who → Cookie header of the console
	client        *http.Client
	db            *sql.DB
	secrets       []string // that must never be seen in an answer or in the log
	fired         *atomic.Int64
}

// F18, on one server from beginning to end: whatever is sent to it, the next attack finds it as it was.
func TestHostile(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	for _, attack := range []struct {
		name string
		do   func(*testing.T, *arena)
	}{
		{"identity", forgedIdentity}, {"names", wrongNames}, {"functions", functionsWithoutCode}, {"headers to nodes", forgedHeadersStayBehind},
		{"methods", otherMethods}, {"paths", bentPaths}, {"same paths", samePathInOtherWords}, {"documents", malformedDocuments}, {"forms", malformedForms}, {"sizes", oversized},
		{"sockets", rawSockets}, {"other sites writing", otherSitesWriting}, {"other sites reading", otherSitesReading}, {"ways back", waysBack},
		{"sessions", sessionsEnd}, {"trail", noSecretsInTheTrail}, {"logins", manyLogins},
	} {
		t.Run(attack.name, func(t *testing.T) { attack.do(t, a.at(t)) })
	}
}

// S18, S59: behind a base path nothing else is possible.
func TestHostileBelowABasePath(t *testing.T) {
	t.Parallel()
	a := newArena(t, "EC_SERVER_BASE_PATH=/ops/fleet")
	t.Run("identity", func(t *testing.T) { forgedIdentity(t, a.at(t)) })
	t.Run("paths", func(t *testing.T) { bentPaths(t, a.at(t)) })
	t.Run("ways back", func(t *testing.T) { waysBack(t, a.at(t)) })
}

// newArena starts one. env are settings beside the harness's own.
func newArena(t *testing.T, env ...string) *arena {
	t.Helper()
	s := serve(t, append([]string{"EC_LOG_LEVEL=debug"}, env...))
	a := &arena{
		server: s, t: t, fired: new(atomic.Int64), access: map[string]string{}, sessions: map[string]string{admin: s.Token}, cookies: map[string]string{},
		client: &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{MaxIdleConnsPerHost: 8, DisableCompression: true}, Timeout: 30 * time.Second,
		},
	}
	t.Cleanup(a.client.CloseIdleConnections)
	a.open(t)
	a.orders, a.stock = a.join("orders"), a.join("stock")
	a.hire()
	a.secrets = append(a.secrets, adminPassword, staffPassword)
	for _, m := range []map[string]string{a.access, a.sessions} {
		for _, secret := range m {
			a.secrets = append(a.secrets, secret)
		}
	}
	a.forget()
	t.Cleanup(func() {
		a.t = t
		a.must(http.MethodGet, "/readyz", nil, http.StatusOK, nil) // whatever was done to it
		a.checkLog(t)
	})
	return a
}

// at returns the arena as a subtest uses it.
func (a *arena) at(t testing.TB) *arena {
	b := *a
	b.t = t
	return &b
}

// open connects to the server's own database, to read only.
func (a *arena) open(t testing.TB) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(a.Data, "control.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	a.db = db
	t.Cleanup(func() { _ = db.Close() })
}

// join creates a node's record and registers a fake node under it.
func (a *arena) join(name string) *testbed.FakeNode {
	a.t.Helper()
	f := testbed.NewFakeNode(a.t, name)
	a.access[name] = a.node(name)
	for page, model := range map[string]string{"Allowed": allowedModel, "Secret": secretModel} {
		f.Handle("GET /erupt-api/build/"+page, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, model)
		})
	}
	if status, body := a.register(registration(name, a.access[name], f.URL())); status != http.StatusOK {
		a.t.Fatalf("registration of %s = %d %s", name, status, body)
	}
	return f
}

func registration(name, token string, addresses ...string) map[string]any {
	return map[string]any{
		"instanceId": "ABCDEF", "version": "2.0.4", "nodeName": name, "accessToken": token, "nodeAddress": addresses,
		"eruptModules": []string{"erupt-jpa"}, "erupts": []string{"Allowed", "Secret", "Item", "Line"},
	}
}

func (a *arena) register(body any) (int, string) {
	a.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	got := a.fire(shot{method: http.MethodPost, target: "/erupt-cloud-api/register-node", body: raw, kind: "application/json"})
	return got.status, string(got.body)
}

// hire makes clerk and guest, and logs everybody in.
func (a *arena) hire() {
	a.t.Helper()
	a.must(http.MethodPost, "/api/v1/menus", map[string]any{"code": "pageAllowed", "name": "orders.Allowed", "type": "table", "value": "orders.Allowed"}, http.StatusCreated, nil)
	a.must(http.MethodPost, "/api/v1/roles", map[string]any{"code": "clerks", "name": "Clerks", "menus": []string{"pageAllowed"}}, http.StatusCreated, nil)
	a.must(http.MethodPost, "/api/v1/groups", map[string]any{"code": "east", "name": "East"}, http.StatusCreated, nil)
	for who, roles := range map[string][]string{clerk: {"clerks"}, guest: {}} {
		a.hires(who, who, staffPassword, map[string]any{"roles": roles})
		a.sessions[who] = a.login(who, staffPassword)
	}
	for who, password := range map[string]string{admin: adminPassword, clerk: staffPassword, guest: staffPassword} {
		a.cookies[who] = a.enter(who, password)
	}
}

// enter logs into the console and returns the Cookie header that it gave.
func (a *arena) enter(who, password string) string {
	a.t.Helper()
	account := who
	if who == admin {
		account = "erupt"
	}
	got := a.fire(shot{method: http.MethodPost, target: "/console/login", form: url.Values{"account": {account}, "password": {password}}})
	if got.status != http.StatusSeeOther || got.header.Get("Set-Cookie") == "" {
		a.t.Fatalf("console login of %s = %d %s", who, got.status, got.body)
	}
	return cookieOf(got.header)
}

func cookieOf(h http.Header) string {
	cookie, _, _ := strings.Cut(h.Get("Set-Cookie"), ";")
	return cookie
}

// forget empties the memories of the nodes.
func (a *arena) forget() {
	a.orders.Forget()
	a.stock.Forget()
}

// reached returns what the nodes were asked, without the server's own questions about their health.
func (a *arena) reached() []testbed.Seen {
	all := append(a.orders.Requests(), a.stock.Requests()...)
	return slices.DeleteFunc(all, func(s testbed.Seen) bool { return s.Path == "/node-health" })
}

// untouched fails if a node was asked anything.
func (a *arena) untouched(what string) {
	a.t.Helper()
	for _, s := range a.reached() {
		a.t.Errorf("%s: the node was asked %s %s?%s", what, s.Method, s.Path, s.Query)
	}
	a.forget()
}

// state is everything that people and nodes could have changed: all tables but those of the logs, and who is alive.
func (a *arena) state() string {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	tables := a.column(ctx, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('sqlite_sequence', 'e_upms_operate_log', 'e_cloud_operate_extra', 'e_upms_login_log', 'e_cloud_node_event') ORDER BY name`)
	var all strings.Builder
	for _, table := range tables {
		fmt.Fprintf(&all, "%s: %s\n", table, strings.Join(a.column(ctx, `SELECT * FROM "`+table+`"`), "\n"))
	}
	for _, node := range []string{"orders", "stock"} {
		for _, in := range a.instances(node) {
			fmt.Fprintf(&all, "%s %s %v %s %s %s\n", node, in.InstanceID, in.Locations, in.Version, in.State, in.Hold)
		}
	}
	return all.String()
}

// column returns each row of a query as one text.
func (a *arena) column(ctx context.Context, query string) []string {
	a.t.Helper()
	rows, err := a.db.QueryContext(ctx, query)
	if err != nil {
		a.t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		a.t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			a.t.Fatal(err)
		}
		out = append(out, strings.Trim(fmt.Sprintf("%v", values), "[]"))
	}
	if err := rows.Err(); err != nil {
		a.t.Fatal(err)
	}
	return out
}

// unchanged runs do and fails if the state is another one afterwards.
func (a *arena) unchanged(what string, do func()) {
	a.t.Helper()
	before := a.state()
	do()
	if after := a.state(); after != before {
		a.t.Errorf("%s changed something:\n%s", what, firstDifference(before, after))
	}
}

func firstDifference(before, after string) string {
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	for i := range max(len(old), len(now)) {
		var o, n string
		if i < len(old) {
			o = old[i]
		}
		if i < len(now) {
			n = now[i]
		}
		if o != n {
			return fmt.Sprintf("before: %.600s\nafter:  %.600s", o, n)
		}
	}
	return ""
}

// digest shortens a text for a message.
func digest(b []byte) string {
	if len(b) <= 300 {
		return string(b)
	}
	sum := sha256.Sum256(b)
	return fmt.Sprintf("%s… (%d bytes, %s)", bytes.ToValidUTF8(b[:300], nil), len(b), hex.EncodeToString(sum[:4]))
}
