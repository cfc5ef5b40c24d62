package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"eruptcloud/app/testbed"
)

// adoptedSite is a server on a database of erupt's, and the database past the server.
type adoptedSite struct {
	*eruptSite
	server *server
	db     *sql.DB
}

func newAdoptedSite(t *testing.T, version string, env ...string) *adoptedSite {
	t.Helper()
	a := &adoptedSite{eruptSite: newEruptSite(t, version)}
	db, err := sql.Open("mysql", strings.TrimPrefix(a.env[1], "EC_DATABASE_DSN="))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	a.db = db
	a.adopt()
	a.server = launch(t, t.TempDir(), append(slices.Clone(a.env), env...))
	return a
}

// caller is a client at an address of its own: tries are counted by address.
func caller(t *testing.T, address string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport, Timeout: patience}
}

// entry is the answer to a login.
type entry struct {
	Pass, MFARequired, UseVerifyCode bool
	Token, MFATicket, Reason         string
}

func (a *adoptedSite) asks(by *http.Client, method, path, body string) (out entry) {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.server.URL+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := by.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	v := visitor{t: a.t, server: a.server}
	if err := json.Unmarshal([]byte(v.answer(path, resp, nil)), &out); err != nil {
		a.t.Fatalf("%s answers no login: %v", path, err)
	}
	return out
}

// posts logs in as the front end of 2.0 does, gets as that of 1.12.
func (a *adoptedSite) posts(by *http.Client, account, password string) entry {
	a.t.Helper()
	body, err := json.Marshal(map[string]any{"account": account, "pwd": thrice(url.QueryEscape(password)), "verifyCode": nil, "verifyCodeMark": nil})
	if err != nil {
		a.t.Fatal(err)
	}
	return a.asks(by, http.MethodPost, "/erupt-api/login", string(body))
}

func (a *adoptedSite) gets(by *http.Client, account, password string) entry {
	a.t.Helper()
	q := url.Values{"account": {account}, "pwd": {md5hex(md5hex(password) + account)}, "verifyCode": {"null"}, "verifyCodeMark": {"null"}}
	return a.asks(by, http.MethodGet, "/erupt-api/login?"+q.Encode(), "")
}

// erupt-wire 11, item 9: login with MD5, plain, SHA512 with and without salt, flags that are null; bit columns; columns that are
// missing (1.12) and more than we know (2.3); a user with a second factor.
func TestErupt11_09Logins(t *testing.T) {
	for _, version := range testbed.EruptVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			a := newAdoptedSite(t, version)
			const kept = "SELECT SHA2(GROUP_CONCAT(CONCAT_WS('|', id, account, password, HEX(is_md5), HEX(status), HEX(is_admin), reset_pwd_time) ORDER BY id), 256) FROM e_upms_user"
			before, tables := cellOf(t, a.db, kept), schema(t, a.db)
			a.everyForm(version)
			a.bitsAndColumns(version)
			if version == "2.3" {
				a.secondFactor()
			}
			if after := cellOf(t, a.db, kept); after != before {
				t.Error("logins and edits changed what erupt reads of a password")
			}
			if after := schema(t, a.db); after != tables {
				t.Errorf("the schema is\n%s\nwant\n%s", after, tables)
			}
		})
	}
}

// digested are those whose password is kept as MD5 or as it is: what erupt 1.x sends can be computed from both.
var digested = map[string][]string{"1.12": {"erupt", "lin", "plain", "oldlin"}, "2.0": {"plain", "oldlin"}, "2.3": {"plain", "oldlin"}}

func (a *adoptedSite) everyForm(version string) {
	t := a.t
	t.Helper()
	two, one, wrong, people := caller(t, "127.0.0.2"), caller(t, "127.0.0.3"), caller(t, "127.0.0.4"), "127.0.0.5"
	for _, u := range testbed.EruptUsers(version) {
		in := a.posts(two, u.Account, u.Password)
		if in.Pass != u.Opens || in.Pass != (in.Token != "") {
			t.Errorf("%s (%s) at /erupt-api/login: %+v, want it to open: %v", u.Account, u.Why, in, u.Opens)
		}
		if in.Pass {
			if resp, raw := a.server.as(in.Token).call(http.MethodGet, "/erupt-api/userinfo", nil, nil); resp.StatusCode != http.StatusOK || !strings.Contains(string(raw), `"nickname":"`) {
				t.Errorf("userinfo of %s = %d %s", u.Account, resp.StatusCode, raw)
			}
		}
		if out := a.posts(wrong, u.Account, u.Password+"x"); out.Pass || out.MFARequired {
			t.Errorf("%s is let in with a wrong password: %+v", u.Account, out)
		}
		byDigest := slices.Contains(digested[version], u.Account)
		if out := a.gets(one, u.Account, u.Password); out.Pass != byDigest {
			t.Errorf("%s (%s) as the front end of 1.12 logs in: %+v, want %v", u.Account, u.Why, out, byDigest)
		}
	}
	for _, u := range testbed.EruptUsers(version) {
		v := visitor{t, a.server, caller(t, people)}
		resp, err := v.client.PostForm(a.server.URL+"/console/login", url.Values{"account": {u.Account}, "password": {u.Password}})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if inside := resp.Request.URL.Path != "/console/login"; inside != u.Opens {
			t.Errorf("%s (%s) in the console: %d at %s, want it to open: %v", u.Account, u.Why, resp.StatusCode, resp.Request.URL.Path, u.Opens)
		}
	}
	if out := a.posts(caller(t, "127.0.0.6"), "Lin Yu", "lin-pass-1"); out.Pass {
		t.Error("the name of somebody is taken for his account")
	}
}

// bitsAndColumns: what is kept in a bit is read and written as one, a column that is missing is said to be, and one that only
// erupt knows keeps its value.
func (a *adoptedSite) bitsAndColumns(version string) {
	t := a.t
	t.Helper()
	by := caller(t, "127.0.0.7")
	admin, plain := a.server.as(a.posts(by, "erupt", "erupt").Token), a.server.as(a.posts(by, "plain", "plain-pass-1").Token)
	if resp, raw := plain.call(http.MethodGet, "/api/v1/users", nil, nil); resp.StatusCode != http.StatusForbidden {
		t.Errorf("who is an administrator by null lists users: %d %s", resp.StatusCode, raw)
	}
	if version == "2.3" {
		if _, err := a.db.Exec("UPDATE e_upms_user SET tenant_id = 7 WHERE account = 'oldlin'"); err != nil {
			t.Fatal(err)
		}
	}
	state := func() string {
		return cellOf(t, a.db, "SELECT CONCAT_WS(' ', HEX(status), HEX(is_admin), HEX(is_md5), data_type) FROM e_upms_user, information_schema.columns "+
			"WHERE account = 'oldlin' AND table_schema = DATABASE() AND table_name = 'e_upms_user' AND column_name = 'status'")
	}
	for _, step := range []struct {
		enabled bool
		want    string
	}{{false, "0 0 1 bit"}, {true, "1 0 1 bit"}} {
		admin.must(http.MethodPatch, "/api/v1/users/oldlin", map[string]any{"enabled": step.enabled}, http.StatusOK, nil)
		if got := state(); got != step.want {
			t.Errorf("the bits of an account that is enabled: %v are %q, want %q", step.enabled, got, step.want)
		}
		if in := a.posts(by, "oldlin", "oldl-pass-1"); in.Pass != step.enabled {
			t.Errorf("an account that is enabled: %v: %+v", step.enabled, in)
		}
	}
	enrol, raw := plain.call(http.MethodPost, "/erupt-api/mfa/enroll", map[string]any{}, nil)
	switch {
	case version != "2.3":
		if !strings.Contains(string(raw), "this database cannot keep a second factor") {
			t.Errorf("a second factor without its columns = %d %s", enrol.StatusCode, raw)
		}
	case cellOf(t, a.db, "SELECT tenant_id FROM e_upms_user WHERE account = 'oldlin'") != "7":
		t.Error("an edit lost the tenant of a user")
	}
}

// secondFactor: whoever bound one needs it in the console and at /erupt-api; a program has a secret of its own.
func (a *adoptedSite) secondFactor() {
	t := a.t
	t.Helper()
	const secret, recovery = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "k7x2m9q4ab"
	code := func(ahead time.Duration) string {
		c, err := totp.GenerateCode(secret, time.Now().Add(ahead))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	addresses := 100
	fresh := func() *http.Client { // tries of one account from one address bring the picture up
		addresses++
		return caller(t, fmt.Sprintf("127.0.0.%d", addresses))
	}
	ticket := func() string {
		t.Helper()
		in := a.posts(fresh(), "factor", "mfa-pass-1")
		if in.Pass || in.Token != "" || !in.MFARequired || len(in.MFATicket) < 20 {
			t.Fatalf("the password alone = %+v, want a ticket", in)
		}
		return in.MFATicket
	}
	second := func(ticket, code string) entry {
		return a.asks(fresh(), http.MethodPost, "/erupt-api/login-mfa", `{"mfaTicket":"`+ticket+`","code":"`+code+`"}`)
	}
	first := ticket()
	if out := second(first, "000000"); out.Pass || out.Token != "" {
		t.Errorf("a wrong code = %+v", out)
	}
	used := code(0)
	in := second(first, used)
	if !in.Pass || in.Token == "" {
		t.Fatalf("the code of the authenticator = %+v", in)
	}
	if out := second(first, code(30*time.Second)); out.Pass {
		t.Error("a ticket opens twice")
	}
	if out := second(ticket(), used); out.Pass {
		t.Error("a code opens twice")
	}
	if out := second(ticket(), recovery); !out.Pass {
		t.Errorf("a recovery code = %+v", out)
	}
	if left := cellOf(t, a.db, "SELECT mfa_recovery_codes FROM e_upms_user WHERE account = 'factor'"); left != "[]" && left != "" {
		t.Errorf("the recovery code is still among %s", left)
	}
	if out := second(ticket(), recovery); out.Pass {
		t.Error("a recovery code opens twice")
	}

	v := visitor{t, a.server, caller(t, "127.0.0.9")}
	page := v.sends("/console/login", url.Values{"account": {"factor"}, "password": {"mfa-pass-1"}})
	_, rest, _ := strings.Cut(page, `name="ticket" value="`)
	shown, _, _ := strings.Cut(rest, `"`)
	if !strings.Contains(page, `data-testid="login-code-form"`) || shown == "" {
		t.Fatalf("the console does not ask for the code:\n%s", tail(page, 2000))
	}
	resp, err := v.client.Get(a.server.URL + "/console/me")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("before the code the console answers %d", resp.StatusCode)
	}
	if page := v.sends("/console/login/mfa", url.Values{"ticket": {shown}, "account": {"factor"}, "code": {code(30 * time.Second)}, "next": {"/console/me"}}); !strings.Contains(page, `data-testid="logout"`) {
		t.Errorf("with the code the console is closed:\n%s", tail(page, 2000))
	}

	if _, err := a.db.Exec("UPDATE e_open_api SET erupt_user_id = 20 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	program := func(secret string) (int, string) {
		resp, raw := a.server.as("").call(http.MethodGet, "/erupt-api/open-api/create-token?appid=Xa7Kd2mQ9zLp4RtB&secret="+secret, nil, nil)
		var out struct{ Data struct{ Token string } }
		_ = json.Unmarshal(raw, &out)
		return resp.StatusCode, out.Data.Token
	}
	for _, guess := range []string{"mfa-pass-1", code(0), ""} {
		if status, token := program(guess); status != http.StatusUnauthorized || token != "" {
			t.Errorf("a program with %q in place of its secret = %d", guess, status)
		}
	}
	status, token := program("S3cr3tOfReports0123456789abcdef00")
	if status != http.StatusOK || token == "" {
		t.Fatalf("a program with its secret = %d", status)
	}
	if _, raw := a.server.as(token).call(http.MethodPost, "/erupt-api/mfa/unbind", map[string]any{"pwd": thrice("mfa-pass-1"), "code": "000000"}, nil); strings.Contains(string(raw), `"success":true`) {
		t.Errorf("a program takes the second factor away without a code: %s", raw)
	}
	if left := cellOf(t, a.db, "SELECT CONCAT(HEX(mfa_enabled), ' ', mfa_secret) FROM e_upms_user WHERE account = 'factor'"); left != "1 "+secret {
		t.Errorf("the second factor became %q", left)
	}
}
