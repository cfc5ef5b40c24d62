package eruptapi_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"go.uber.org/goleak"

	"eruptcloud/app/access"
	"eruptcloud/app/eruptapi"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// people is who may log in, in memory.
type people struct {
	sessions  map[string]access.Session
	user      access.User
	encoded   bool // clients must encode passwords
	attempts  []access.Attempt
	refuse    error
	changed   []string
	loggedOut []string
	renewed   int
	patches   []access.UserPatch
	log       bytes.Buffer
	handler   http.Handler
}

func (p *people) Attempt(_ context.Context, a access.Attempt) (access.Session, error) {
	p.attempts = append(p.attempts, a)
	if p.refuse != nil {
		return access.Session{}, p.refuse
	}
	if a.Account != "lin" || a.Password != "grün+1" {
		return access.Session{}, fault.New(fault.Unauthenticated, "account or password is wrong")
	}
	return p.sessions["lin-token"], nil
}

func (p *people) AttemptDigest(ctx context.Context, a access.Attempt) (access.Session, error) {
	if a.Password != "9d69da3522f792dd05fcdd606980cf2f" {
		return access.Session{}, fault.New(fault.Unauthenticated, "account or password is wrong")
	}
	return p.sessions["lin-token"], nil
}

func (p *people) DecodeTransfer(pwd string) (string, error) {
	if !p.encoded {
		return pwd, nil
	}
	for range 3 {
		raw, err := base64.StdEncoding.DecodeString(pwd)
		if err != nil {
			return "", fault.New(fault.Invalid, "not encoded")
		}
		pwd = string(raw)
	}
	return url.QueryUnescape(pwd)
}

func encode(plain string) string {
	plain = url.QueryEscape(plain)
	for range 3 {
		plain = base64.StdEncoding.EncodeToString([]byte(plain))
	}
	return plain
}

func (p *people) Get(_ context.Context, token string, _ ...string) (access.Session, []bool, error) {
	s, ok := p.sessions[token]
	if !ok {
		return s, nil, fault.New(fault.Unauthenticated, "the session has ended")
	}
	return s, nil, nil
}

func (p *people) Check(ctx context.Context, token string, codes ...string) (access.Session, []bool, error) {
	s, _, err := p.Get(ctx, token)
	held := make([]bool, len(codes))
	for i, c := range codes {
		_, held[i] = s.Values[strings.ToLower(c)]
	}
	s.Menus, s.Values = nil, nil
	return s, held, err
}

func (p *people) Logout(_ context.Context, token string) error {
	p.loggedOut = append(p.loggedOut, token)
	return nil
}

func (p *people) Renew(context.Context, string) error { p.renewed++; return nil }

func (p *people) VerifyPassword(_ context.Context, _, password string) error {
	if p.refuse != nil {
		return p.refuse
	}
	if password != "grün+1" {
		return fault.New(fault.Invalid, "the present password is wrong")
	}
	return nil
}

func (p *people) Update(_ context.Context, account string, patch access.UserPatch) (access.User, error) {
	p.patches = append(p.patches, patch)
	return p.user, p.refuse
}

func (p *people) ByAccount(context.Context, string) (access.User, error) { return p.user, nil }

func (p *people) ChangePassword(ctx context.Context, account, old, new string) error {
	if p.refuse != nil {
		return p.refuse
	}
	p.changed = append(p.changed, account+" "+old+" "+new)
	return nil
}

// open takes handles of the form d2_NODE_TOKEN.
func (p *people) open(handle string) (token, node string, err error) {
	rest, ok := strings.CutPrefix(handle, "d2_")
	node, token, named := strings.Cut(rest, "_")
	if !ok || !named {
		return "", "", fault.New(fault.Unauthenticated, "not a handle")
	}
	return token, node, nil
}

// chain knows shop in group 1, which lies below 10, orders in group 2 and lonely in none.
func chain(node string) ([]int64, bool) {
	groups, ok := map[string][]int64{"shop": {1, 10}, "orders": {2}, "lonely": nil}[strings.ToLower(node)]
	return groups, ok
}

func newPeople(t *testing.T, change ...func(*eruptapi.Options)) *people {
	t.Helper()
	p := &people{encoded: true, sessions: map[string]access.Session{
		"lin-token": {Token: "lin-token", UserID: 12, Account: "lin", Name: "Lin Yu", Org: "D-01", Roles: []string{"sales"},
			Expires: time.Date(2026, 7, 1, 13, 40, 0, 5e6, time.UTC),
			Menus: []access.Menu{{ID: 1, Code: "m", Name: "Manager"}, {ID: 2, Code: "CloudNode", Name: "Nodes", Type: "table", Value: "CloudNode", Parent: 1},
				{ID: 3, Code: "b", Name: "ADD", Type: "button", Value: "CloudNode@ADD", Parent: 2}, {ID: 4, Code: "c", Name: "Customers", Type: "table", Value: "shop.Customer", Icon: "fa fa-user"}},
			Values: map[string]access.Menu{"shop.customer": {}, "shop.customer@add": {}}},
		"root-token": {Token: "root-token", Account: "erupt", Name: "erupt", Admin: true},
	}}
	p.user = access.User{Account: "lin", HomeMenu: 4, PasswordSet: time.Unix(1, 0)}
	shell, err := web.New(web.Options{BasePath: "/fleet", Sessions: p, CookieKeys: [][]byte{make([]byte, 32), make([]byte, 16)},
		Logger: slog.New(slog.NewTextHandler(&p.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	o := eruptapi.Options{Login: p, Sessions: p, Users: p, OpenDelegate: p.open, Chain: chain,
		App: eruptapi.App{Locales: []string{"en-US", "zh-CN"}, ResetPwd: true, CaptchaAfter: 2}, TransferEncrypt: true, Version: "1.2.3", Zone: time.FixedZone("", 8*3600), Fail: shell.Fail, Now: func() time.Time { return time.Unix(0, 0) }}
	for _, c := range change {
		c(&o)
	}
	shell.Engine().Any("/erupt-api/*path", gin.WrapH(eruptapi.New(o)))
	p.handler = shell.Handler()
	return p
}

func (p *people) do(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w
}

func TestLogin(t *testing.T) { // A33, erupt-wire 3.4
	const refused = `{"pass":false,"resetPwd":false,"useVerifyCode":false,"reason":"account or password is wrong","token":null,"expire":null,"mfaRequired":false,"mfaTicket":null,"account":null}`
	const passed = `{"pass":true,"resetPwd":false,"useVerifyCode":false,"reason":null,"token":"lin-token","expire":"2026-07-01T21:40:00.005","mfaRequired":false,"mfaTicket":null,"account":"lin"}`
	tests := map[string]struct {
		body   string
		status int
		want   string
	}{
		"as the front end sends it": {`{"account":"lin","pwd":"` + encode("grün+1") + `","verifyCode":null,"verifyCodeMark":null}`, 200, passed},
		"as a script sends it":      {`{"account":"lin","pwd":"grün+1"}`, 200, passed},
		"wrong password":            {`{"account":"lin","pwd":"` + encode("x") + `"}`, 200, refused},
		"unknown account":           {`{"account":"nobody","pwd":"` + encode("x") + `"}`, 200, refused},
		"no account":                {`{"pwd":"WlVFOVBRPT0="}`, 200, refused},
		"nothing":                   {`{}`, 200, refused},
		"broken JSON":               {`{"account":`, 400, `"code":"invalid"`},
		"an array":                  {`[]`, 400, `"code":"invalid"`},
		"number as password":        {`{"account":"lin","pwd":12345}`, 400, `"code":"invalid"`},
		"over 64 KiB":               {`{"account":"` + strings.Repeat("a", 65<<10) + `"}`, 413, `"code":"too_large"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPeople(t)
			w := p.do("POST", "/erupt-api/login", tt.body, "User-Agent", "test")
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("answered %d %s, want %d %s", w.Code, w.Body, tt.status, tt.want)
			}
			if w.Header().Get("Set-Cookie") != "" || strings.Contains(p.log.String(), "grün") {
				t.Errorf("cookie %q, log %s; want no cookie and no password", w.Header().Get("Set-Cookie"), &p.log)
			}
			if len(p.attempts) == 1 && (p.attempts[0].Address != "192.0.2.1" || p.attempts[0].Agent != "test") {
				t.Errorf("attempt %+v lacks address or agent", p.attempts[0])
			}
		})
	}
}

func TestLoginTellsWhetherThePasswordIsTheUsersOwn(t *testing.T) {
	p := newPeople(t)
	p.user.PasswordSet = time.Time{}
	if w := p.do("POST", "/erupt-api/login", `{"account":"lin","pwd":"grün+1"}`); !strings.Contains(w.Body.String(), `"resetPwd":true`) {
		t.Errorf("answered %s, want resetPwd", w.Body)
	}
}

func TestLockedLogin(t *testing.T) {
	p := newPeople(t)
	p.refuse = fault.New(fault.TooMany, "too many failed attempts; try again in %d minutes", 10).Retry(10 * time.Minute)
	w := p.do("POST", "/erupt-api/login", `{"account":"lin","pwd":"grün+1"}`)
	if w.Code != 200 || w.Header().Get("Retry-After") != "600" || !strings.Contains(w.Body.String(), `"reason":"too many failed attempts; try again in 10 minutes"`) {
		t.Errorf("answered %d %s, Retry-After %q", w.Code, w.Body, w.Header().Get("Retry-After"))
	}
	p.refuse = fault.New(fault.Unavailable, "the database does not answer")
	if w := p.do("POST", "/erupt-api/login", `{"account":"lin","pwd":"grün+1"}`); w.Code != 503 {
		t.Errorf("with the store down a login answered %d %s, want 503", w.Code, w.Body)
	}
}

func TestLoginIsLimitedByAddress(t *testing.T) {
	p := newPeople(t)
	for i := range 31 {
		w := p.do("POST", "/erupt-api/login", `{}`)
		if limited := w.Code == 429; limited != (i == 30) {
			t.Fatalf("login %d answered %d, want the 31st at once refused", i+1, w.Code)
		}
	}
	if len(p.attempts) != 30 {
		t.Errorf("%d passwords were checked, want 30", len(p.attempts))
	}
}

func TestLoginOfErupt1(t *testing.T) { // erupt-1.12: only against MD5 passwords
	const target = "/erupt-api/login?account=lin&verifyCode=null&verifyCodeMark=null&pwd=9d69da3522f792dd05fcdd606980cf2f"
	p := newPeople(t)
	if w := p.do("GET", target, ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"pass":false`) || !strings.Contains(w.Body.String(), "MD5") {
		t.Errorf("answered %d %s, want a refusal that says why", w.Code, w.Body)
	}
	if strings.Contains(p.log.String(), "9d69da") {
		t.Errorf("the digest, which is as good as the password, is in the log: %s", &p.log)
	}
	p = newPeople(t, func(o *eruptapi.Options) { o.Digest = p })
	if w := p.do("GET", target, ""); !strings.Contains(w.Body.String(), `"token":"lin-token"`) {
		t.Errorf("with MD5 passwords it answered %s, want a session", w.Body)
	}
	if w := p.do("GET", "/erupt-api/login", ""); !strings.Contains(w.Body.String(), `"pass":false`) {
		t.Errorf("without anything it answered %s", w.Body)
	}
}

func TestLogout(t *testing.T) {
	p := newPeople(t)
	for _, method := range []string{"GET", "POST"} {
		p.loggedOut = nil
		w := p.do(method, "/erupt-api/logout", "", "token", "lin-token")
		if w.Code != 200 || len(p.loggedOut) != 1 || w.Body.String() != `{"data":null,"message":null,"success":true,"status":"SUCCESS","promptWay":"MESSAGE"}` {
			t.Errorf("%s answered %d %s, ended %v", method, w.Code, w.Body, p.loggedOut)
		}
	}
	if w := p.do("GET", "/erupt-api/logout?_token=lin-token", "", "Cookie", "token=lin-token"); w.Code != 401 {
		t.Errorf("without the header it answered %d, want 401: a link must not log anybody out", w.Code)
	}
}

func TestAmbiguousLoginsAreRefused(t *testing.T) {
	for _, body := range []string{`{"account":"root","account":"lin","pwd":"x"}`, "{\"account\":\"l\xff\",\"pwd\":\"x\"}"} {
		if w := newPeople(t).do("POST", "/erupt-api/login", body); w.Code != 400 || !strings.Contains(w.Body.String(), `"code":"invalid"`) {
			t.Errorf("%q answered %d %s, want 400", body, w.Code, w.Body)
		}
	}
}

func TestSessionEndpointsNeedASession(t *testing.T) {
	p := newPeople(t)
	for _, target := range []string{"userinfo", "menu", "logout", "erupt-permission/x"} {
		for _, token := range []string{"", "gone", "d2_shop_lin-token"} {
			if token == "d2_shop_lin-token" && target == "erupt-permission/x" {
				continue // the one that nodes may call
			}
			w := p.do("GET", "/erupt-api/"+target, "", "token", token, "Accept", "text/html,application/json")
			if w.Code != 401 || !strings.Contains(w.Body.String(), `"status":401`) {
				t.Errorf("%s with token %q answered %d %s, want 401 and the envelope", target, token, w.Code, w.Body)
			}
		}
	}
}

func TestUserInfo(t *testing.T) {
	p := newPeople(t)
	const want = `{"avatar":null,"indexMenuType":"table","indexMenuValue":"shop.Customer","nickname":"Lin Yu","org":"D-01","post":null,"resetPwd":false,"roles":["sales"]}`
	if w := p.do("GET", "/erupt-api/userinfo", "", "token", "lin-token"); w.Code != 200 || w.Body.String() != want {
		t.Errorf("answered %d %s, want %s", w.Code, w.Body, want)
	}
	p.user.HomeMenu = 99 // taken away since
	if w := p.do("GET", "/erupt-api/userinfo", "", "token", "root-token"); !strings.Contains(w.Body.String(), `"indexMenuValue":null`) || !strings.Contains(w.Body.String(), `"roles":[]`) {
		t.Errorf("answered %s, want no home and an empty list", w.Body)
	}
}

func TestMenu(t *testing.T) {
	w := newPeople(t).do("GET", "/fleet/erupt-api/menu", "", "token", "lin-token")
	const want = `[{"id":1,"code":"m","name":"Manager","type":null,"value":null,"icon":null,"pid":null},` +
		`{"id":2,"code":"CloudNode","name":"Nodes","type":"newWindow","value":"/fleet/console/nodes","icon":null,"pid":1},` +
		`{"id":3,"code":"b","name":"ADD","type":"button","value":"CloudNode@ADD","icon":null,"pid":2},` +
		`{"id":4,"code":"c","name":"Customers","type":"table","value":"shop.Customer","icon":"fa fa-user","pid":null}]`
	if w.Code != 200 || w.Body.String() != want {
		t.Errorf("answered %d %s, want %s", w.Code, w.Body, want)
	}
	if w := newPeople(t).do("GET", "/erupt-api/menu?flush=true", "", "token", "root-token"); w.Body.String() != "[]" {
		t.Errorf("without menus it answered %s, want []", w.Body)
	}
}

// TestMenuLeavesOutWhatIsNowhere: erupt's own classes have no page on this server, only nodes' and the console's have.
func TestMenuLeavesOutWhatIsNowhere(t *testing.T) {
	p := newPeople(t)
	s := p.sessions["lin-token"]
	s.Menus = nil
	for i, value := range []string{"EruptNotice", "EruptJob", "EruptWidget"} {
		id := int64(10 + 2*i)
		s.Menus = append(s.Menus, access.Menu{ID: id, Code: value, Name: value, Type: "table", Value: value, Parent: 1},
			access.Menu{ID: id + 1, Code: value + "@ADD", Name: "ADD", Type: "button", Value: value + "@ADD", Parent: id})
	}
	s.Menus = append(s.Menus, access.Menu{ID: 90, Code: "erupt-log", Name: "Log", Type: "tpl", Value: "erupt-log", Parent: 1},
		access.Menu{ID: 1, Code: "folder", Name: "Folder"},
		access.Menu{ID: 91, Code: "EruptMenu", Name: "Menus", Type: "tree", Value: "EruptMenu", Parent: 1},
		access.Menu{ID: 92, Code: "docs", Name: "Docs", Type: "link", Value: "https", Parent: 10}, // below one that is left out
		access.Menu{ID: 93, Code: "t", Name: "T", Type: "tpl", Value: "Page.html?_node=shop"},
		access.Menu{ID: 94, Code: "r", Name: "R", Type: "tree", Value: "shop.Region", Parent: 1})
	p.sessions["lin-token"] = s
	const want = `[{"id":90,"code":"erupt-log","name":"Log","type":"newWindow","value":"/fleet/console/server-log","icon":null,"pid":1},` +
		`{"id":1,"code":"folder","name":"Folder","type":null,"value":null,"icon":null,"pid":null},` +
		`{"id":91,"code":"EruptMenu","name":"Menus","type":"newWindow","value":"/fleet/console/menus","icon":null,"pid":1},` +
		`{"id":92,"code":"docs","name":"Docs","type":"link","value":"https","icon":null,"pid":1},` +
		`{"id":93,"code":"t","name":"T","type":"tpl","value":"Page.html?_node=shop","icon":null,"pid":null},` +
		`{"id":94,"code":"r","name":"R","type":"tree","value":"shop.Region","icon":null,"pid":1}]`
	if w := p.do("GET", "/fleet/erupt-api/menu", "", "token", "lin-token"); w.Code != 200 || w.Body.String() != want {
		t.Errorf("answered %d %s,\nwant %s", w.Code, w.Body, want)
	}
}

func TestPermission(t *testing.T) { // A29, erupt-wire 1.7
	tests := map[string]struct{ code, token, want string }{
		"held":                      {"shop.Customer", "lin-token", "true"},
		"in another case":           {"SHOP.customer", "lin-token", "true"},
		"a function":                {"shop.Customer@ADD", "lin-token", "true"},
		"escaped":                   {"shop%2ECustomer%40ADD", "lin-token", "true"},
		"not held":                  {"shop.Customer@DELETE", "lin-token", "false"},
		"asked by a node":           {"shop.Customer", "d2_shop_lin-token", "true"},
		"asked by another node":     {"shop.Customer", "d2_orders_lin-token", "true"},
		"admin":                     {"anything", "root-token", "true"},
		"not held, asked by a node": {"other", "d2_shop_lin-token", "false"},
	}
	for name, tt := range tests {
		w := newPeople(t).do("GET", "//erupt-api/erupt-permission/"+tt.code, "", "token", tt.token)
		if w.Code != 200 || w.Body.String() != tt.want {
			t.Errorf("%s: answered %d %s, want %s", name, w.Code, w.Body, tt.want)
		}
	}
	for _, token := range []string{"d2_lin-token", "d2_shop_gone", "d2_", "d2_" + strings.Repeat("x", 300)} {
		if w := newPeople(t).do("GET", "/erupt-api/erupt-permission/x", "", "token", token); w.Code != 401 {
			t.Errorf("handle %.20s answered %d, want 401", token, w.Code)
		}
	}
}

// D21: what is held for some groups is held at their nodes only.
func TestPermissionForGroups(t *testing.T) {
	p := newPeople(t)
	s := p.sessions["lin-token"]
	s.Values = map[string]access.Menu{"shop.customer": {}, "orders.customer": {}, "lonely.x": {}, "report.html": {}, "cloudnode": {}}
	s.Scopes = map[string][]int64{"shop.customer": {10}, "orders.customer": {10}, "lonely.x": {10}, "report.html": {10}, "cloudnode": {10}}
	p.sessions["lin-token"] = s
	tests := map[string]struct{ code, token, want string }{
		"a page below his group":                {"shop.Customer", "lin-token", "true"},
		"a page in another group":               {"orders.Customer", "lin-token", "false"},
		"a page in no group":                    {"lonely.X", "lin-token", "false"},
		"its own page, asked by a node":         {"shop.Customer", "d2_shop_lin-token", "true"},
		"its own page, asked by another node":   {"orders.Customer", "d2_orders_lin-token", "false"},
		"another's page, asked by a node":       {"orders.Customer", "d2_shop_lin-token", "false"},
		"a template, asked by a node":           {"report.html", "d2_shop_lin-token", "true"},
		"a template, asked by another node":     {"report.html", "d2_orders_lin-token", "false"},
		"a template, asked by an unknown node":  {"report.html", "d2_ghost_lin-token", "false"},
		"a template, asked by a nameless node":  {"report.html", "d2__lin-token", "false"},
		"of no node":                            {"CloudNode", "lin-token", "true"},
		"of no node, asked by a node elsewhere": {"CloudNode", "d2_orders_lin-token", "false"},
		"admin":                                 {"orders.Customer", "root-token", "true"},
	}
	for name, tt := range tests {
		w := p.do("GET", "/erupt-api/erupt-permission/"+tt.code, "", "token", tt.token)
		if w.Code != 200 || w.Body.String() != tt.want {
			t.Errorf("%s: answered %d %s, want %s", name, w.Code, w.Body, tt.want)
		}
	}
}

func TestMenuLeavesOutWhatIsHeldElsewhere(t *testing.T) { // D21
	p := newPeople(t)
	s := p.sessions["lin-token"]
	s.Menus, s.Scopes = nil, map[string][]int64{}
	for i, value := range []string{"shop.Customer", "orders.Customer", "orders.Free", "Page.html?_node=shop", "Other.html?_node=orders", "gone.X"} {
		kind := map[bool]string{true: "tpl", false: "table"}[strings.Contains(value, "html")]
		s.Menus = append(s.Menus, access.Menu{ID: int64(10 + 2*i), Code: fmt.Sprint("m", i), Name: "m", Type: kind, Value: value},
			access.Menu{ID: int64(11 + 2*i), Code: fmt.Sprint("b", i), Name: "b", Type: "button", Value: value + "@ADD", Parent: int64(10 + 2*i)})
		if code, _, _ := strings.Cut(strings.ToLower(value), "?"); code != "orders.free" {
			s.Scopes[code], s.Scopes[code+"@add"] = []int64{10}, []int64{10}
		}
	}
	p.sessions["lin-token"] = s
	w := p.do("GET", "/erupt-api/menu", "", "token", "lin-token")
	for code, want := range map[string]bool{"m0": true, "b0": true, "m1": false, "b1": false, "m2": true, "b2": true, "m3": true, "m4": false, "b4": false, "m5": true} {
		if got := strings.Contains(w.Body.String(), `"code":"`+code+`"`); got != want {
			t.Errorf("the menu %s is there: %v, want %v in %s", code, got, want, w.Body)
		}
	}
}

func TestChangePassword(t *testing.T) {
	const ok = `{"data":null,"message":null,"success":true,"status":"SUCCESS","promptWay":"MESSAGE"}`
	body := func(a, b, c string) string { return fmt.Sprintf(`{"pwd":%q,"newPwd":%q,"newPwd2":%q}`, a, b, c) }
	tests := map[string]struct {
		body    string
		refuse  error
		status  int
		want    string
		changed string
	}{
		"as the front end sends it": {body(encode("alt"), encode("neu+1"), encode("neu+1")), nil, 200, ok, "lin alt neu+1"},
		"as a script sends it":      {body("alt", "neu", "neu"), nil, 200, ok, "lin alt neu"},
		"mixed stays as it is":      {body(encode("alt"), "neu", "neu"), nil, 200, ok, "lin " + encode("alt") + " neu"},
		"new ones differ":           {body(encode("alt"), encode("a"), encode("b")), nil, 200, `"message":"the new passwords differ","success":false,"status":"ERROR"`, ""},
		"old one wrong":             {body("x", "neu", "neu"), fault.New(fault.Invalid, "the present password is wrong"), 200, `"message":"the present password is wrong","success":false`, ""},
		"store down":                {body("x", "neu", "neu"), fault.New(fault.Unavailable, "no store"), 503, `"code":"unavailable"`, ""},
		"broken":                    {`{`, nil, 400, `"code":"invalid"`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPeople(t)
			p.refuse = tt.refuse
			w := p.do("POST", "/erupt-api/change-pwd", tt.body, "token", "lin-token")
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) || strings.Join(p.changed, "") != tt.changed {
				t.Errorf("answered %d %s, changed %q; want %d %s, %q", w.Code, w.Body, p.changed, tt.status, tt.want, tt.changed)
			}
		})
	}
	if w := newPeople(t).do("POST", "/erupt-api/change-pwd", body("a", "b", "b")); w.Code != 401 {
		t.Errorf("without a session it answered %d, want 401", w.Code)
	}
}

func TestPublicEndpoints(t *testing.T) {
	p := newPeople(t)
	if w := p.do("GET", "/erupt-api/version", ""); w.Code != 200 || w.Body.String() != "1.2.3" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		t.Errorf("version answered %d %s as %s", w.Code, w.Body, w.Header().Get("Content-Type"))
	}
	w := p.do("GET", "/erupt-api/erupt-app", "")
	for _, part := range []string{`"pwdTransferEncrypt":true`, `"locales":["en-US","zh-CN"]`, `"version":"1.2.3"`} {
		if w.Code != 200 || !strings.Contains(w.Body.String(), part) {
			t.Errorf("erupt-app answered %d %s, want %s", w.Code, w.Body, part)
		}
	}
}

func TestWhatIsNotHere(t *testing.T) {
	p := newPeople(t)
	for _, target := range []string{"/erupt-api/", "/erupt-api/code-img", "/erupt-api/build/EruptUser", "/erupt-api/login/", "/erupt-api/LOGIN",
		"/erupt-api/erupt-permission/", "/erupt-api/erupt-permission/a/b", "/erupt-api/x/../version", "/erupt-api/%76ersion", "/erupt-api/version;x"} {
		if w := p.do("GET", target, "", "token", "lin-token", "Accept", "text/html"); w.Code != 404 || !strings.Contains(w.Body.String(), `"code":"not_found"`) {
			t.Errorf("%s answered %d %s, want 404 and the envelope", target, w.Code, w.Body)
		}
	}
	w := p.do("DELETE", "/erupt-api/login", "")
	if w.Code != 405 || w.Header().Get("Allow") != "GET, POST" {
		t.Errorf("DELETE login answered %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}
