package e2e

import (
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"eruptcloud/app/testbed"
)

// java112 is a real server of erupt 1.12 as somebody with a session there sees it.
type java112 struct{ *server }

// enters logs in as the front end of 1.12 does.
func (j java112) enters(account, password string) bool {
	j.t.Helper()
	j.Token = ""
	q := url.Values{"account": {account}, "pwd": {md5hex(md5hex(password) + account)}, "verifyCode": {"null"}, "verifyCodeMark": {"null"}}
	_, raw := j.call(http.MethodGet, "/erupt-api/login?"+q.Encode(), nil, nil)
	var out struct {
		Pass  bool
		Token string
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		j.t.Fatalf("login of %s at the Java server: %s", account, raw)
	}
	j.Token = out.Token
	return out.Pass
}

// thrice is what erupt's front end makes of a password.
func thrice(password string) string {
	for range 3 {
		password = base64.StdEncoding.EncodeToString([]byte(password))
	}
	return password
}

// saves writes a row of a class of the Java server's own.
func (j java112) saves(class, path string, row map[string]any) {
	j.t.Helper()
	resp, raw := j.call(http.MethodPost, "/erupt-api/data/modify/"+class+path, row, http.Header{"Erupt": {class}})
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(raw), `"success":true`) {
		j.t.Fatalf("the Java server does not save %v: %d %s", row, resp.StatusCode, raw)
	}
}

// sameServer is a DSN of the database behind db, which is in the mariadbd of the tests.
func sameServer(t *testing.T, db *sql.DB) string {
	t.Helper()
	where, err := mysql.ParseDSN(testbed.MariaDB(t))
	if err != nil {
		t.Fatal(err)
	}
	where.DBName = cellOf(t, db, "SELECT DATABASE()")
	return where.FormatDSN()
}

// TestJavaServerGoesOnBesideUs: both work on one database at once, each with every row that the other writes, and the Java server
// goes on when we have left (erupt-wire 6, 3.4, 11 item 10).
func TestJavaServerGoesOnBesideUs(t *testing.T) {
	o := original(t)
	dsn, before := sameServer(t, o.db), schema(t, o.db)
	s := adopted(t, dsn, testbed.Redis(t))
	s.Token = s.login("erupt", "erupt")
	theirs := java112{&server{process: o.process, URL: o.URL}}

	s.must(http.MethodPost, "/api/v1/roles", map[string]any{"code": "ops", "name": "Operators", "menus": []string{"$NodeManager", "CloudNode", "CloudNode@EDIT"}}, http.StatusCreated, nil)
	s.must(http.MethodPost, "/api/v1/users", map[string]any{"account": "nova", "name": "Nova Lee", "password": "nova-pass-1", "roles": []string{"ops"}}, http.StatusCreated, nil)
	token := s.node("pay")
	theyUseOurs(t, theirs, token)
	theyChange(t, theirs, o.db)
	weUseTheirs(t, s, token)

	s.must(http.MethodDelete, "/api/v1/users/nova", nil, http.StatusNoContent, nil)
	s.must(http.MethodDelete, "/api/v1/roles/ops", nil, http.StatusNoContent, nil)
	if theirs.enters("nova", "nova-pass-2") {
		t.Error("a user who was deleted here still logs in there")
	}
	if code := s.stop(patience); code != 0 {
		t.Errorf("the server ended with code %d", code)
	}
	env := []string{"EC_DATABASE_DRIVER=mysql", "EC_DATABASE_DSN=" + dsn, "EC_SERVER_DATA_DIR=" + s.Data}
	leave(t, env)
	if after := schema(t, o.db); after != before {
		t.Errorf("the schema is\n%s\nwant\n%s", after, before)
	}
	if !theirs.enters("erupt", "erupt") {
		t.Fatal("the administrator does not log in at the Java server after we have left")
	}
	for _, class := range []string{"EruptUser", "EruptRole", "CloudNode", "EruptLoginLog", "EruptOperateLog"} {
		resp, raw := theirs.call(http.MethodPost, "/erupt-api/data/table/"+class, map[string]any{"pageIndex": 1, "pageSize": 50}, http.Header{"Erupt": {class}})
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(raw), `"list":[`) {
			t.Errorf("the Java server's list of %s = %d %.500s", class, resp.StatusCode, raw)
		}
	}
}

// theyUseOurs: the user, role and node that were made here are good there.
func theyUseOurs(t *testing.T, theirs java112, token string) {
	t.Helper()
	if !theirs.enters("nova", "nova-pass-1") {
		t.Fatal("a user who was made here does not log in at the Java server")
	}
	resp, raw := theirs.call(http.MethodGet, "/erupt-api/menu", nil, nil)
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(raw), `"CloudNode"`) || strings.Contains(string(raw), "EruptUser") {
		t.Errorf("her menu there = %d %s", resp.StatusCode, raw)
	}
	fake := testbed.NewFakeNode(t, "pay")
	body := fmt.Sprintf(`{"instanceId":"kQzTbW","version":"1.12.23","nodeName":"pay","accessToken":%q,"nodeAddress":[%q],"eruptModules":["erupt-jpa"],"erupts":["Customer"]}`,
		token, fake.URL())
	resp, raw = theirs.call(http.MethodPost, "/erupt-cloud-api/register-node", strings.NewReader(body), http.Header{"Content-Type": {"application/json"}})
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a node that was made here registers there: %d %s", resp.StatusCode, raw)
	}
}

// theyChange writes through the Java server: a node of ours, a user and a password.
func theyChange(t *testing.T, theirs java112, db *sql.DB) {
	t.Helper()
	var id int64
	if err := db.QueryRow("SELECT id FROM e_cloud_node WHERE node_name = 'pay'").Scan(&id); err != nil {
		t.Fatal(err)
	}
	theirs.saves("CloudNode", "/update", map[string]any{"id": id, "nodeName": "pay", "name": "Payments", "status": true, "duty": "erupt|nova", "config": `{"theirs":1}`})
	resp, raw := theirs.call(http.MethodGet, "/erupt-api/change-pwd?"+url.Values{
		"account": {"nova"}, "pwd": {thrice("nova-pass-1")}, "newPwd": {thrice("nova-pass-2")}, "newPwd2": {thrice("nova-pass-2")},
	}.Encode(), nil, nil)
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(raw), `"SUCCESS"`) {
		t.Errorf("she changes her password there: %d %s", resp.StatusCode, raw)
	}
	if !theirs.enters("erupt", "erupt") {
		t.Fatal("the administrator does not log in at the Java server")
	}
	theirs.saves("EruptUser", "", map[string]any{
		"account": "lin", "name": "Lin Yu", "status": true, "isAdmin": false, "isMd5": true, "passwordA": "secret-1", "passwordB": "secret-1", "roles": []any{},
	})
}

// weUseTheirs: what they wrote is good here.
func weUseTheirs(t *testing.T, s *server, token string) {
	t.Helper()
	var node struct{ Name string }
	eventually(t, time.Minute, func() bool {
		s.must(http.MethodGet, "/api/v1/nodes/pay", nil, http.StatusOK, &node)
		return node.Name == "Payments"
	}, func() string { return fmt.Sprintf("the node is still %+v", node) })
	if resp, raw := s.call(http.MethodGet, "/erupt-cloud-api/node-config/pay", nil, http.Header{"Access-Token": {token}}); string(raw) != `{"theirs":1}` {
		t.Errorf("the config that they gave it = %d %s", resp.StatusCode, raw)
	}
	admin := s.Token
	s.login("lin", "secret-1")
	s.login("nova", "nova-pass-2")
	s.Token = admin
}
