package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"eruptcloud/app/fault"
	"eruptcloud/app/web"
)

func TestLoginLeadsBackToWhereOneWas(t *testing.T) { // U80, S61
	s := newSite(t, commerce())
	a := s.as("", http.MethodGet, "/console/nodes?state=off&q=a", nil)
	a.must(t, 303)
	to := a.Header().Get("Location")
	if to != "/console/login?next=%2Fconsole%2Fnodes%3Fstate%3Doff%26q%3Da" {
		t.Fatalf("a stranger is sent to %q", to)
	}
	doc := parse(t, s.as("", http.MethodGet, to, nil).must(t, 200))
	next := doc.Find("[name=next]").AttrOr("value", "")
	a = s.as("", http.MethodPost, "/console/login", url.Values{"account": {"admin"}, "password": {"right"}, "next": {next}})
	a.must(t, 303)
	if got := a.Header().Get("Location"); got != "/console/nodes?state=off&q=a" {
		t.Errorf("after the login: %q", got)
	}
	c := a.Result().Cookies()
	if i := slices.IndexFunc(c, func(c *http.Cookie) bool { return c.Name == "ec_test" }); i < 0 || !c[i].HttpOnly || c[i].SameSite != http.SameSiteLaxMode || strings.Contains(c[i].Value, "admin") {
		t.Errorf("session cookie = %+v", c)
	}
	for _, evil := range []string{"https://evil.example/", "//evil.example", "/console/../../x", "/console/logout", "javascript:alert(1)"} {
		a := s.as("", http.MethodPost, "/console/login", url.Values{"account": {"admin"}, "password": {"right"}, "next": {evil}})
		if got := a.Header().Get("Location"); got != "/console/" {
			t.Errorf("next=%s leads to %q", evil, got)
		}
	}
}

func TestWrongAndLockedLoginsSayWhatToDo(t *testing.T) { // F8
	s := newSite(t, commerce())
	a := s.as("", http.MethodPost, "/console/login", url.Values{"account": {"admin"}, "password": {"wrong-PW"}, "next": {"/console/nodes"}})
	doc := parse(t, a.must(t, 401))
	if got := text1(doc, "[data-testid=login-error]"); got != "Account or password is wrong" {
		t.Errorf("message = %q", got)
	}
	if doc.Find("#account").AttrOr("value", "") != "admin" || doc.Find("[name=next]").AttrOr("value", "") != "/console/nodes" || includes(a.body, "wrong-PW") {
		t.Error("account and way back must stay, the password must not")
	}
	a = s.as("", http.MethodPost, "/console/login", url.Values{"account": {"locked"}, "password": {"x"}}, chinese)
	if got := text1(parse(t, a.must(t, 429)), "[data-testid=login-error]"); !includes(got, "10") || includes(got, "too many") {
		t.Errorf("locked, in Chinese: %q", got)
	}
}

func TestAnEndedSessionSendsFragmentsToTheLogin(t *testing.T) { // S61, U63
	s := newSite(t, commerce())
	cookie := s.cookie("admin")
	delete(s.sessions, "admin")
	with := func(r *http.Request) {
		r.AddCookie(cookie)
		r.Header.Set("HX-Current-URL", "http://example.com/console/nodes/ledger?x=1")
	}
	for _, path := range []string{"/console/nodes", "/console/nodes/ledger", logPath, logPath + "/lines?instance=i-1&offset=3"} {
		a := s.as("", http.MethodGet, path, nil, htmx("nodes-list"), with)
		if got := a.Header().Get("HX-Redirect"); a.Code != 401 || got != "/console/login?next=%2Fconsole%2Fnodes%2Fledger%3Fx%3D1" || a.body != "" {
			t.Errorf("%s: %d, HX-Redirect %q, body %q", path, a.Code, got, a.body)
		}
	}
	json := func(r *http.Request) { r.AddCookie(cookie); r.Header.Set("Accept", "application/json") }
	s.as("", http.MethodGet, "/console/changes?v=0", nil, json).must(t, 401)
}

func TestLogoutEndsTheSessionAndCleansTheBrowser(t *testing.T) { // S62
	s := newSite(t, commerce())
	a := s.post("/console/logout", nil)
	a.must(t, 303)
	if _, alive := s.sessions["admin"]; alive || a.Header().Get("Location") != "/console/login" || !includes(a.Header().Get("Clear-Site-Data"), "storage") {
		t.Errorf("after the logout: alive %v, %v", alive, a.Header())
	}
	if a := s.as("", http.MethodGet, "/console/logout", nil); a.Code != 405 && a.Code != 404 {
		t.Errorf("GET of the logout = %d: a link must not log out", a.Code)
	}
}

func TestPagesAreNeverCached(t *testing.T) { // S62, S78
	s := newSite(t, commerce())
	for _, path := range []string{"/console/nodes", "/console/nodes/ledger", "/console/users", "/console/me", "/console/login", "/console/nodes/nobody"} {
		if got := s.get(path).Header().Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s: Cache-Control = %q, want no-store", path, got)
		}
	}
}

func TestLookIsRememberedAndReturns(t *testing.T) { // U71
	s := newSite(t, commerce())
	a := s.as("", http.MethodPost, "/console/look", url.Values{"lang": {"zh"}, "theme": {"dark"}, "header": {"short"}, "side": {"evil"}, "back": {"/console/login?next=%2Fconsole%2Fnodes"}})
	a.must(t, 303)
	if got := a.Header().Get("Location"); got != "/console/login?next=%2Fconsole%2Fnodes" {
		t.Errorf("Location = %q", got)
	}
	got := map[string]string{}
	for _, c := range a.Result().Cookies() {
		got[c.Name] = c.Value
	}
	if len(got) != 3 || got[web.LangCookie] != "zh" || got[web.ThemeCookie] != "dark" || got[web.HeaderCookie] != "short" {
		t.Errorf("cookies = %v", got)
	}
	if got := s.as("", http.MethodPost, "/console/look", url.Values{"lang": {"zh"}, "back": {"https://evil.example"}}).Header().Get("Location"); got != "/console/" {
		t.Errorf("an open redirect to %q", got)
	}
	doc := parse(t, s.get("/console/nodes?q=x", chinese).must(t, 200))
	if doc.Find("html").AttrOr("lang", "") != "zh-CN" || doc.Find(`.tools [name=back]`).AttrOr("value", "") != "/console/nodes?q=x" {
		t.Error("the switch loses the page")
	}
}

func TestOwnPasswordAndLogins(t *testing.T) { // F8
	s := newSite(t, commerce())
	page := s.get("/console/me").must(t, 200)
	if !includes(page, "Firefox 140") || !includes(page, "10.0.0.9") || strings.Count(page, ">admin<") > 4 {
		t.Error("the logins are missing")
	}
	form := url.Values{"old": {"right"}, "new": {"abcdefgh1"}, "again": {"abcdefgh2"}}
	if got := text1(parse(t, s.post("/console/me/password", form).must(t, 422)), "#e-again"); got != "the two new passwords differ" {
		t.Errorf("message = %q", got)
	}
	form.Set("again", "abcdefgh1")
	form.Set("old", "wrong")
	if body := s.post("/console/me/password", form).must(t, 422); text1(parse(t, body), "#e-old") == "" || includes(body, "abcdefgh1") {
		t.Error("a wrong password gets no message, or the page repeats a password")
	}
	form.Set("old", "right")
	s.post("/console/me/password", form).must(t, 303)
	s.post("/console/me/logout-all", nil).must(t, 303)
	if len(s.sessions) != 0 {
		t.Error("the logins go on")
	}
}

func TestHomeLeadsToTheFirstPageOneMaySee(t *testing.T) {
	s := newSite(t, commerce())
	s.login("guest", false)
	for account, want := range map[string]string{"admin": "/console/nodes", "guest": "/console/pages"} {
		if got := s.as(account, http.MethodGet, "/console/", nil).Header().Get("Location"); got != want {
			t.Errorf("%s starts at %q, want %q", account, got, want)
		}
	}
	doc := parse(t, s.as("guest", http.MethodGet, "/console/me", nil).must(t, 200))
	if got := strings.Join(strings.Fields(doc.Find("#nav").Text()), " "); got != "Pages" {
		t.Errorf("navigation of a guest = %q", got)
	}
}

func TestUsersRolesAndAudit(t *testing.T) { // F8
	s := newSite(t, commerce())
	doc := parse(t, s.get("/console/users").must(t, 200))
	if got := text1(doc, "#user-lin\\.wei"); !includes(got, "林薇") || !includes(got, "Operators") {
		t.Errorf("row = %q", got)
	}
	s.post("/console/users", url.Values{"account": {"new"}, "name": {"New"}, "password": {"longenough"}, "enabled": {"1"}, "role": {"ops"}}).must(t, 303)
	s.fail = fault.New(fault.Invalid, "some fields need correction").Field("password", "needs at least 8 characters")
	body := s.post("/console/users", url.Values{"account": {"x"}, "password": {"short-pw"}}).must(t, 422)
	if got := text1(parse(t, body), "#e-password"); got != "needs at least 8 characters" || includes(body, "short-pw") {
		t.Errorf("message = %q", got)
	}
	s.fail = nil
	role := parse(t, s.get("/console/roles/ops").must(t, 200))
	if !role.Find(`[name=menu][value=CloudNode]`).Is("[checked]") || role.Find(`[name=menu][value=token]`).Is("[checked]") {
		t.Error("the role's menus are not those given")
	}
	s.post("/console/roles/ops", url.Values{"name": {"Ops"}, "sort": {"x"}, "reach": {"all"}}).must(t, 422)
	s.post("/console/roles", url.Values{"code": {"r"}, "name": {"R"}, "enabled": {"1"}}).must(t, 303)
	self := s.get("/console/users/admin").must(t, 200)
	if parse(t, self).Find("[data-testid=delete]").Length() != 0 {
		t.Error("one may delete oneself")
	}
	audit := parse(t, s.get("/console/audit?account=lin.wei").must(t, 200))
	if got := text1(audit, "[data-testid=audit-row]"); !includes(got, "Change node") || !includes(got, "order-service") {
		t.Errorf("audit row = %q", got)
	}
	s.get("/console/audit?from=yesterday").must(t, 422)
	s.get("/console/audit?at=77").must(t, 200)
}

func TestGroupsFormATree(t *testing.T) { // A26
	s := newSite(t, commerce())
	doc := parse(t, s.get("/console/groups").must(t, 200))
	if got := strings.Join(strings.Fields(doc.Find("[data-testid=group-row] .open").Text()), " "); got != "CommercePromotionsPayments" && got != "Commerce Promotions Payments" {
		t.Errorf("order = %q", got)
	}
	form := parse(t, s.get("/console/groups/commerce").must(t, 200))
	if form.Find(`[name=parent] option[value=promo]`).Length() != 0 || form.Find(`[name=parent] option[value=payments]`).Length() != 1 {
		t.Error("a group can be moved below itself, or nowhere")
	}
	if got := text1(form, "[data-testid=delete] .body"); !includes(got, "3 nodes and 1 group.") {
		t.Errorf("why it cannot be deleted: %q", got)
	}
	if got := parse(t, s.get("/console/groups/promo").must(t, 200)).Find(`[name=parent] option[selected]`).AttrOr("value", ""); got != "commerce" {
		t.Errorf("parent of promo = %q", got)
	}
	s.post("/console/groups", url.Values{"code": {"new"}, "name": {"New"}, "parent": {"promo"}}).must(t, 303)
	s.post("/console/groups/promo", url.Values{"name": {"Promo"}, "parent": {""}}).must(t, 303)
	s.fail = fault.New(fault.Conflict, "group %q still has %d nodes and %d groups in it; move them first", "promo", 2, 0)
	if body := s.post("/console/groups/promo/delete", nil, chinese).must(t, 409); !includes(body, "请先移走") {
		t.Error("the refusal is not in Chinese")
	}
}
