package e2e

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"eruptcloud/app/testbed"
)

// schema is how all tables of a database are made but ours, which an adoption adds.
func schema(t *testing.T, db *sql.DB) string {
	t.Helper()
	rows, err := db.Query("SELECT table_name, column_name, column_type, is_nullable, column_default, extra, collation_name FROM information_schema.columns " +
		"WHERE table_schema = DATABASE() AND table_name NOT LIKE 'e\\_cloud\\_%\\_%' AND table_name <> 'e_upms_role_extra' " +
		"UNION ALL SELECT table_name, index_name, column_name, non_unique, '', '', '' FROM information_schema.statistics WHERE table_schema = DATABASE() AND " +
		"table_name NOT LIKE 'e\\_cloud\\_%\\_%' AND table_name <> 'e_upms_role_extra' ORDER BY 1, 2, 3")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		cells := make([]sql.NullString, 7)
		into := make([]any, len(cells))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, cells)
	}
	if out.Len() == 0 {
		t.Fatal("no tables")
	}
	return out.String()
}

// cellOf reads one value past the server.
func cellOf(t *testing.T, db *sql.DB, query string, args ...any) string {
	t.Helper()
	var v sql.NullString
	if err := db.QueryRow(query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v.String
}

// visitor is a browser without script: it keeps cookies and follows redirects.
type visitor struct {
	t      *testing.T
	server *server
	client *http.Client
}

func (s *server) visitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, s, &http.Client{Jar: jar, Timeout: patience}}
}

// page returns a page of the console.
func (v *visitor) page(path string) string {
	v.t.Helper()
	resp, err := v.client.Get(v.server.URL + path)
	return v.answer(path, resp, err)
}

// sends sends a form and returns the page behind it.
func (v *visitor) sends(path string, form url.Values) string {
	v.t.Helper()
	resp, err := v.client.PostForm(v.server.URL+path, form)
	return v.answer(path, resp, err)
}

func (v *visitor) answer(path string, resp *http.Response, err error) string {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		v.t.Fatalf("%s = %d %v: %s", path, resp.StatusCode, err, tail(string(body), 2000))
	}
	return string(body)
}

// TestAdoptedInstallation is the way of somebody who has erupt 1.12 and moves in beside it (erupt-wire 6, 3.4; A24).
func TestAdoptedInstallation(t *testing.T) {
	dsn := testbed.EruptDatabase(t, "1.12")
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	before := schema(t, db)
	env := []string{"EC_DATABASE_DRIVER=mysql", "EC_DATABASE_DSN=" + dsn, "EC_SERVER_DATA_DIR=" + t.TempDir(), "EC_OPS_LISTEN=off"}

	adopt(t, env)
	s := launch(t, t.TempDir(), env)
	s.await("kept as MD5 without salt", patience)
	if n := cellOf(t, db, "SELECT COUNT(*) FROM e_upms_menu"); n != "74" {
		t.Errorf("%s menus after the start, want the 74 that were there", n)
	}
	adminMovesIn(t, s, db)
	nodeComes(t, s, db)
	if stdout, stderr, code := command(t, env, "init-menus"); code != 0 || stdout != "2 menus added\n" { // one that 2.0 has beside those of 1.12, and ours
		t.Errorf("init-menus = %d %s%s", code, stdout, stderr)
	}
	if stdout, stderr, code := command(t, env, "admin", "create", "boss"); code != 0 || !strings.Contains(stdout, "boss is an administrator") {
		t.Errorf("admin create = %d %s%s", code, stdout, stderr)
	}
	if form := cellOf(t, db, "SELECT CONCAT(LENGTH(password), HEX(is_md5), HEX(is_admin)) FROM e_upms_user WHERE account = 'boss'"); form != "3211" {
		t.Errorf("the password of a new administrator is kept as %s, want an MD5 hash", form)
	}

	lin := s.visitor(t)
	if page := lin.sends("/console/login", url.Values{"account": {"lin"}, "password": {"lin-pass-1"}}); !strings.Contains(page, "Lin Yu") {
		t.Errorf("lin is not logged in:\n%s", tail(page, 2000))
	}
	if page := lin.page("/console/nodes"); !strings.Contains(page, "pay") {
		t.Error("lin does not see the new node")
	}
	if code := s.stop(patience); code != 0 {
		t.Errorf("the server ended with code %d", code)
	}
	leave(t, env)
	if after := schema(t, db); after != before {
		t.Errorf("the schema is\n%s\nwant\n%s", after, before)
	}
	if _, stderr, code := command(t, env, "serve", "--listen", "127.0.0.1:0"); code != 3 || !strings.Contains(stderr, "--adopt") {
		t.Errorf("serve after leaving = %d %s, want 3 and the way", code, stderr)
	}
}

func adopt(t *testing.T, env []string) {
	t.Helper()
	steps := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"serve", "--listen", "127.0.0.1:0"}, 3, "migrate --adopt"},
		{[]string{"migrate"}, 3, "migrate --adopt"},
		{[]string{"migrate", "--leave", "--yes"}, 3, "no tables of an erupt installation"},
		{[]string{"migrate", "--adopt", "--dry-run"}, 0, "not touched: e_cloud_node, "},
		{[]string{"migrate"}, 3, "migrate --adopt"},
		{[]string{"migrate", "--adopt"}, 0, "applied 0001_init.sql"},
		{[]string{"migrate", "--adopt"}, 0, "nothing to do"},
		{[]string{"migrate"}, 0, "nothing to do"},
		{[]string{"migrate", "--adopt", "--leave"}, 2, "neither"},
	}
	for _, step := range steps {
		stdout, stderr, code := command(t, env, step.args...)
		if code != step.code || !strings.Contains(stdout+stderr, step.want) {
			t.Fatalf("%v = %d %s%s, want %d and %q", step.args, code, stdout, stderr, step.code, step.want)
		}
	}
}

func leave(t *testing.T, env []string) {
	t.Helper()
	if _, stderr, code := command(t, env, "migrate", "--leave"); code != 2 || !strings.Contains(stderr, "--yes") {
		t.Errorf("--leave alone = %d %s, want 2", code, stderr)
	}
	if stdout, stderr, code := command(t, env, "migrate", "--leave", "--yes"); code != 0 || !strings.Contains(stdout, "dropped e_cloud_migration") {
		t.Errorf("--leave --yes = %d %s%s", code, stdout, stderr)
	}
}

// adminMovesIn: the administrator logs in with what the Java server knows, and chooses the password that he never had.
func adminMovesIn(t *testing.T, s *server, db *sql.DB) {
	t.Helper()
	admin := s.visitor(t)
	admin.sends("/console/login", url.Values{"account": {"erupt"}, "password": {"erupt"}})
	admin.sends("/console/me/password", url.Values{"old": {"erupt"}, "new": {adminPassword}, "again": {adminPassword}, "next": {"/console/nodes"}, "first": {"1"}})
	if page := admin.page("/console/nodes"); !strings.Contains(page, "shop") || !strings.Contains(page, "old.name") {
		t.Errorf("the nodes of the installation are not listed:\n%s", tail(page, 3000))
	}
	if n := cellOf(t, db, "SELECT COUNT(*) FROM e_upms_user WHERE account = 'erupt' AND password = MD5(?) AND is_md5 = b'1' AND reset_pwd_time IS NOT NULL", adminPassword); n != "1" {
		t.Error("the new password is not one that erupt 1.12 reads")
	}
	for path, want := range map[string]string{
		"/console/me": `data-testid="weak-passwords"`, "/console/users/new": `data-testid="weak-passwords"`, "/console/users": "Account not unique",
	} {
		if page := admin.page(path); !strings.Contains(page, want) {
			t.Errorf("%s does not say %s", path, want)
		}
	}
	s.Token = s.login("erupt", adminPassword)
}

// nodeComes: a node that was made here registers as a Java node does, with the token that the table holds.
func nodeComes(t *testing.T, s *server, db *sql.DB) {
	t.Helper()
	shown := s.node("pay")
	token := cellOf(t, db, "SELECT access_token FROM e_cloud_node WHERE node_name = 'pay'")
	if token != shown {
		t.Errorf("the table holds %q, want the token %q as it is", token, shown)
	}
	for name, token := range map[string]string{"pay": token, "shop": "7H2KQ9ZX4M1CVB0P"} {
		fake := testbed.NewFakeNode(t, name)
		body := fmt.Sprintf(`{"instanceId":"kQzTbW","version":"1.12.23","nodeName":%q,"accessToken":%q,"nodeAddress":[%q],"eruptModules":["erupt-jpa"],"erupts":["Customer"]}`,
			name, token, fake.URL())
		resp, raw := s.call(http.MethodPost, "/erupt-cloud-api/register-node", strings.NewReader(body), http.Header{"Content-Type": {"application/json;charset=UTF-8"}, "Token": nil})
		if resp.StatusCode != http.StatusOK || len(raw) > 0 {
			t.Fatalf("%s registers: %d %s, want 200 without a body", name, resp.StatusCode, raw)
		}
		s.awaitInstances(name, 1, patience)
	}
	resp, raw := s.call(http.MethodGet, "/erupt-cloud-api/node-config/shop", nil, http.Header{"Access-Token": {"7H2KQ9ZX4M1CVB0P"}})
	if resp.StatusCode != http.StatusOK || string(raw) != `{"limit": 5, "text": "grün €"}` {
		t.Errorf("the config of shop = %d %s", resp.StatusCode, raw)
	}
}
