package eruptapi_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"eruptcloud/app/access"
	"eruptcloud/app/eruptapi"
	"eruptcloud/app/fault"
)

// ask sends a request and returns its answer as a map.
func (s *stage) ask(do, body, token string) (int, map[string]any) {
	s.t.Helper()
	r := &recorded{Do: do, Body: body, With: map[string]string{"token": token}}
	if token == "" {
		r.With = nil
	}
	w := s.handler(r)
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		s.t.Fatalf("%s answered %d %s", do, w.Code, w.Body)
	}
	return w.Code, got
}

func TestSecondFactorOfErupt23(t *testing.T) { // erupt-wire 3.3, 3.4
	s := newStage(t, "2.0")
	token := s.login("plain", "klartext")
	has := func(what string, got map[string]any, want ...any) {
		t.Helper()
		for i := 0; i+1 < len(want); i += 2 {
			if fmt.Sprint(got[want[i].(string)]) != fmt.Sprint(want[i+1]) {
				t.Errorf("%s: %v is %v, want %v: %v", what, want[i], got[want[i].(string)], want[i+1], got)
			}
		}
	}
	_, got := s.ask("GET /erupt-api/mfa/status", "", token)
	has("before", got, "enable", true, "bound", false, "recoveryCodeCount", 0)
	_, got = s.ask("POST /erupt-api/mfa/enroll", `{}`, token)
	has("enroll", got, "success", true, "status", "SUCCESS")
	data, _ := got["data"].(map[string]any)
	secret, uri := fmt.Sprint(data["secret"]), fmt.Sprint(data["uri"])
	if !strings.HasPrefix(uri, "otpauth://totp/") || len(strings.Split(secret, " ")) != 8 || len(data) != 2 {
		t.Fatalf("enrolled with %v", data)
	}
	code := func(steps int) string {
		c, err := totp.GenerateCode(strings.ReplaceAll(secret, " ", ""), time.Now().Add(time.Duration(steps)*30*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	_, got = s.ask("POST /erupt-api/mfa/enroll-confirm", `{"code":"000000"}`, token)
	has("a wrong code", got, "success", false, "status", "ERROR")
	_, got = s.ask("POST /erupt-api/mfa/enroll-confirm", `{"code":"`+code(0)+`"}`, token)
	codes, _ := got["data"].([]any)
	if len(codes) != 10 {
		t.Fatalf("confirmed with %v", got)
	}
	_, got = s.ask("GET /erupt-api/mfa/status", "", token)
	has("after", got, "bound", true, "recoveryCodeCount", 10)

	login := `{"account":"plain","pwd":"` + encode("klartext") + `","verifyCode":null,"verifyCodeMark":null}`
	_, got = s.ask("POST /erupt-api/login", login, "")
	has("the first step", got, "pass", false, "mfaRequired", true, "token", "<nil>", "account", "plain")
	ticket := fmt.Sprint(got["mfaTicket"])
	if len(ticket) != 22 {
		t.Errorf("the ticket is %q, want 22 characters", ticket)
	}
	if status, _ := s.ask("GET /erupt-api/userinfo", "", ticket); status != 401 {
		t.Errorf("a ticket opens: %d", status)
	}
	_, got = s.ask("POST /erupt-api/login-mfa", `{"mfaTicket":"`+ticket+`","code":"`+code(0)+`"}`, "")
	has("a code that was used", got, "pass", false, "mfaRequired", true, "mfaTicket", ticket)
	_, got = s.ask("POST /erupt-api/login-mfa", `{"mfaTicket":"`+ticket+`","code":"`+code(1)+`"}`, "")
	has("the second step", got, "pass", true, "mfaRequired", false, "account", "plain")
	token = fmt.Sprint(got["token"])
	_, got = s.ask("POST /erupt-api/login-mfa", `{"mfaTicket":"`+ticket+`","code":123456}`, "")
	has("a ticket again", got, "pass", false, "mfaRequired", false, "mfaTicket", "<nil>")
	_, got = s.ask("POST /erupt-api/mfa/recovery-codes", fmt.Sprintf(`{"code":%q}`, codes[0]), token)
	if fresh, _ := got["data"].([]any); len(fresh) != 10 {
		t.Errorf("new codes: %v", got)
	} else {
		codes = fresh
	}
	_, got = s.ask("POST /erupt-api/mfa/unbind", fmt.Sprintf(`{"pwd":%q,"code":%q}`, encode("nope"), codes[1]), token)
	has("removing with a wrong password", got, "success", false)
	_, got = s.ask("POST /erupt-api/mfa/unbind", fmt.Sprintf(`{"pwd":%q,"code":%q}`, encode("klartext"), codes[1]), token)
	has("removing", got, "success", true)
	_, got = s.ask("POST /erupt-api/login", login, "")
	has("the password alone", got, "pass", true)
}

func TestOwnProfile(t *testing.T) {
	p := newPeople(t)
	p.user.Avatar = "https://example.org/a.png"
	if w := p.do("POST", "/erupt-api/profile", `{"name":"Lin","avatar":"https://example.org/a.png"}`, "token", "lin-token"); !strings.Contains(w.Body.String(), `"success":true`) {
		t.Errorf("answered %s", w.Body)
	}
	if len(p.patches) != 1 || *p.patches[0].Name != "Lin" || p.patches[0].Avatar != nil || p.patches[0].By.Account != "lin" {
		t.Errorf("changed %+v, want the name alone: the picture is the same", p.patches)
	}
	if w := p.do("POST", "/erupt-api/profile/avatar", "", "token", "lin-token"); !strings.Contains(w.Body.String(), `"success":false`) {
		t.Errorf("an upload answered %s", w.Body)
	}
	for path, body := range map[string]string{"profile": `{"name":"x"}`, "profile/avatar": "", "verify-pwd": `{"pwd":"x"}`, "mfa/status": ""} {
		method := "POST"
		if body == "" && path == "mfa/status" {
			method = "GET"
		}
		if w := p.do(method, "/erupt-api/"+path, body); w.Code != 401 && w.Code != 404 {
			t.Errorf("%s without a session answered %d", path, w.Code)
		}
	}
}

func TestVerifyPassword(t *testing.T) {
	p := newPeople(t)
	for pwd, want := range map[string]string{encode("grün+1"): `"success":true`, "grün+1": `"success":true`, encode("x"): `"success":false`} {
		if w := p.do("POST", "/erupt-api/verify-pwd", `{"pwd":"`+pwd+`"}`, "token", "lin-token"); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s answered %d %s, want %s", pwd, w.Code, w.Body, want)
		}
	}
	p.refuse = fault.New(fault.TooMany, "too many failed attempts; try again in %d minutes", 10).Retry(10 * time.Minute)
	if w := p.do("POST", "/erupt-api/verify-pwd", `{"pwd":"x"}`, "token", "lin-token"); w.Header().Get("Retry-After") != "600" || !strings.Contains(w.Body.String(), `"success":false`) {
		t.Errorf("locked, it answered %s", w.Body)
	}
	p.refuse = nil
	limited := 0
	for range 60 {
		if w := p.do("POST", "/erupt-api/verify-pwd", `{"pwd":"x"}`, "token", "lin-token"); w.Code == 429 {
			limited++
		}
	}
	if limited < 25 {
		t.Errorf("of 60 tries at once %d were refused", limited)
	}
}

func TestMenuFlush(t *testing.T) { // since erupt 2.2
	p := newPeople(t)
	p.do("GET", "/erupt-api/menu", "", "token", "lin-token")
	if p.renewed != 0 {
		t.Error("each menu rebuilds the session")
	}
	if w := p.do("GET", "/erupt-api/menu?flush=true", "", "token", "lin-token"); w.Code != 200 || p.renewed != 1 {
		t.Errorf("answered %d, rebuilt %d times", w.Code, p.renewed)
	}
}

func TestChangePasswordOfErupt1(t *testing.T) { // erupt-1.12: a GET
	p := newPeople(t)
	q := url.Values{"pwd": {encode("old+1")}, "newPwd": {encode("new&1")}, "newPwd2": {encode("new&1")}}
	if w := p.do("GET", "/erupt-api/change-pwd?"+q.Encode(), "", "token", "lin-token"); !strings.Contains(w.Body.String(), `"success":true`) || len(p.changed) != 1 || p.changed[0] != "lin old+1 new&1" {
		t.Errorf("answered %s, changed %q", w.Body, p.changed)
	}
	if strings.Contains(p.log.String(), "old") || strings.Contains(p.log.String(), q.Get("pwd")) {
		t.Errorf("the log holds the password: %s", &p.log)
	}
	if w := p.do("GET", "/erupt-api/change-pwd?"+q.Encode(), "", "Cookie", "token=lin-token"); w.Code != 401 {
		t.Errorf("with a cookie alone it answered %d: another site could send that", w.Code)
	}
}

func TestServerLog(t *testing.T) { // erupt-wire 2.9, 3.3
	lines := []eruptapi.LogLine{{Number: 41, Text: "one"}, {Number: 42, Text: "two <b>"}}
	var from, size int64
	p := newPeople(t, func(o *eruptapi.Options) {
		o.Log = func(f int64, s int) []eruptapi.LogLine {
			from, size = f, int64(s)
			if f == 42 {
				return lines[1:]
			}
			return lines
		}
	})
	holder := access.Session{Token: "ops-token", Account: "ops", Values: map[string]access.Menu{"erupt-log": {}}}
	scoped := holder
	scoped.Scopes = map[string][]int64{"erupt-log": {1}}
	p.sessions["ops-token"], p.sessions["scoped-token"] = holder, scoped
	get := func(query, token string) *httptest.ResponseRecorder {
		return p.do("GET", "/erupt-api/tool/erupt-log"+query, "", "token", token)
	}
	for token, want := range map[string]int{"ops-token": 200, "root-token": 200, "lin-token": 403, "scoped-token": 403, "nobody": 401, "": 401} {
		if w := get("?size=500", token); w.Code != want {
			t.Errorf("%q got %d %s, want %d", token, w.Code, w.Body, want)
		}
	}
	if w := get("?size=500&offset=7", "ops-token"); w.Body.String() != `[{"content":"one","num":41},{"content":"two \u003cb\u003e","num":42}]` || from != 7 || size != 500 {
		t.Errorf("answered %s for %d, %d", w.Body, from, size)
	}
	if w := get("?size=500&offset=42", "ops-token"); w.Body.String() != `[]` {
		t.Errorf("with nothing newer it answered %s", w.Body)
	}
	if get("?size=999999", "ops-token"); from != -1 || size != 1000 {
		t.Errorf("asked for %d from %d", size, from)
	}
	for _, bad := range []string{"?size=x", "?offset=-1", "?size=9999999999", "?offset=1e3"} {
		if w := get(bad, "ops-token"); w.Code != 400 {
			t.Errorf("%s answered %d", bad, w.Code)
		}
	}
}

func TestPicturesAreLimitedByAddress(t *testing.T) {
	s := newStage(t, "1.12")
	limited := 0
	for range 40 {
		if w := s.handler(&recorded{Do: "GET /erupt-api/code-img?mark=1"}); w.Code == 429 {
			limited++
		}
	}
	if limited < 5 {
		t.Errorf("of 40 pictures at once %d were refused", limited)
	}
}

func TestHostileMarks(t *testing.T) { // erupt-wire 10.8
	s := newStage(t, "1.12")
	for _, mark := range []string{"", "x", "1%0d%0aSET%20a%201", "*", "..%2f", strings.Repeat("1", 400), "%00"} {
		if w := s.handler(&recorded{Do: "GET /erupt-api/code-img?mark=" + mark}); w.Code != 400 {
			t.Errorf("mark %q answered %d", mark, w.Code)
		}
	}
	for _, body := range []string{
		`{"account":"erupt","pwd":"x","verifyCode":{"$ne":1},"verifyCodeMark":[1]}`, `{"account":"erupt","pwd":"x","verifyCode":true}`,
	} {
		if status, _ := s.ask("POST /erupt-api/login", body, ""); status != 400 {
			t.Errorf("%s answered %d", body, status)
		}
	}
}

// A program's secret is not enough to take over the account that it acts as.
func TestProgramsDoNotChangeTheirAccount(t *testing.T) {
	s := newStage(t, "2.0")
	made, secret, err := s.access.OpenAPIs.Create(t.Context(), access.NewOpenAPI{Name: "x", Account: "plain", Enabled: true, By: access.System})
	if err != nil {
		t.Fatal(err)
	}
	token, err := s.access.Tokens.Create(t.Context(), made.AppID, secret, access.Attempt{Address: "10.0.0.7"})
	if err != nil {
		t.Fatal(err)
	}
	for _, do := range []string{"change-pwd", "profile", "mfa/enroll", "mfa/enroll-confirm", "mfa/recovery-codes", "mfa/unbind"} {
		if code, got := s.ask("POST /erupt-api/"+do, `{"pwd":"klartext","newPwd":"another good 1","newPwd2":"another good 1","name":"x","code":"1"}`, token.Token); code != 403 {
			t.Errorf("%s answered %d %v", do, code, got)
		}
	}
}
