package console

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
)

// crew is commerce with people in every state.
func crew() *world {
	w := commerce()
	w.users = append(w.users,
		access.User{ID: 3, Account: "new", Name: "An account called new", Enabled: true, Created: now, PasswordSet: now},
		access.User{ID: 6, Account: "due", Name: "Due", Enabled: true, Admin: true, Created: now},
		access.User{ID: 4, Account: "locked", Name: "Locked", Created: now},
		access.User{ID: 5, Account: "over", Name: "Over", Enabled: true, ExpiresAt: now.Add(-time.Hour), Created: now, PasswordSet: now, RoleCodes: []string{"team", "off"}},
	)
	w.roles = append(w.roles,
		access.Role{ID: 2, Code: "new", Name: "A role called new", Enabled: true},
		access.Role{ID: 3, Code: "team", Name: "Team", Enabled: true, ReadOnly: true, Groups: []int64{2}, Menus: []int64{2, 3, 4}},
		access.Role{ID: 4, Code: "off", Name: "Off", Menus: []int64{2}},
	)
	w.menus = append(w.menus,
		access.Menu{ID: 4, Code: "EruptUser", Name: "User Management", Type: "table", Value: "EruptUser", Status: access.MenuOpen},
		access.Menu{ID: 5, Code: "new", Name: "A menu called new", Status: access.MenuOpen},
	)
	return w
}

func TestThingsCalledNewCanBeOpened(t *testing.T) {
	s := newSite(t, crew())
	for list, name := range map[string]string{"/console/users": "new", "/console/roles": "A role called new", "/console/menus": "A menu called new"} {
		d := parse(t, s.get(list).must(t, 200))
		var link string
		for _, a := range d.Find("td a.open").EachIter() {
			if href := a.AttrOr("href", ""); strings.HasPrefix(href, list+"/new") {
				link = href
			}
		}
		page := parse(t, s.get(link).must(t, 200))
		if got := text1(page, "h1"); got != name {
			t.Errorf("%s leads to %q, want %q", link, got, name)
		}
		if action := page.Find("form.card[data-unsaved]").AttrOr("action", ""); action != list+"/new" {
			t.Errorf("%s posts to %q", link, action)
		}
		if got := parse(t, s.get(list+"/new").must(t, 200)).Find("[data-unsaved]").AttrOr("action", ""); got != list {
			t.Errorf("%s/new posts to %q, want a new one", list, got)
		}
	}
	s.login("reader", false, access.CodeUsers)
	s.as("reader", http.MethodGet, "/console/users/new?item=1", nil).must(t, 200)
	s.as("reader", http.MethodGet, "/console/users/new", nil).must(t, 403)
}

func TestUsersShowWhatTheyAre(t *testing.T) { // D21
	s := newSite(t, crew())
	d := parse(t, s.get("/console/users").must(t, 200))
	for account, want := range map[string]string{"locked": "Locked", "over": "Expired", "admin": "Administrator", "lin\\.wei": "2 h ago"} {
		if got := text1(d, "#user-"+account); !includes(got, want) {
			t.Errorf("%s: %q, want %q", account, got, want)
		}
	}
	if got := text1(d, "#user-admin"); !includes(got, "1 open") {
		t.Errorf("the open session of the admin is missing: %q", got)
	}
	d = parse(t, s.get("/console/users?state=locked").must(t, 200))
	if d.Find("[data-testid=user-row]").Length() != 1 || d.Find(".chips [aria-current]").AttrOr("href", "") != "/console/users" {
		t.Error("the filter does not select, or cannot be taken away")
	}
	d = parse(t, s.get("/console/users?state=online").must(t, 200))
	if d.Find("[data-testid=user-row]").Length() != 1 || d.Find("#user-admin").Length() != 1 {
		t.Error("those online are not the admin")
	}
	if body := s.get("/console/users?q=nobody-at-all").must(t, 200); parse(t, body).Find("[data-testid=empty] a").Length() != 1 {
		t.Error("nothing found, and no way out")
	}
}

func TestRightsAreExplained(t *testing.T) { // D21: what, where, and because of which role
	s := newSite(t, crew())
	d := parse(t, s.get("/console/users/over").must(t, 200))
	rights := d.Find("[data-testid=rights]")
	if got := strings.Join(strings.Fields(rights.Find("li").Text()), " "); got != "See nodes in Commerce because of Team" {
		t.Errorf("rights = %q", got)
	}
	if got := rights.Text(); !includes(got, "cannot log in") || !includes(got, "Off is disabled") {
		t.Errorf("notes = %q", got)
	}
	role := parse(t, s.get("/console/roles/team").must(t, 200))
	if got := text1(role, "[data-testid=idle]"); !includes(got, "2 rights") || !includes(got, "See users") || !includes(got, "access tokens") {
		t.Errorf("what does not count = %q", got)
	}
	if got := text1(role, "[data-testid=holders]"); !includes(got, "over") {
		t.Errorf("who has it = %q", got)
	}
	if !role.Find("[name=group][value='2']").Is("[checked]") || role.Find("[name=group][value='1']").Is("[checked]") || !role.Find("[name=readonly]").Is("[checked]") {
		t.Error("the limits are not those of the role")
	}
	clone := parse(t, s.get("/console/roles/new?from=team").must(t, 200))
	if !clone.Find("[name=group][value='2']").Is("[checked]") || !clone.Find("[name=menu][value=CloudNode]").Is("[checked]") || clone.Find("#f-code").AttrOr("value", "") != "" {
		t.Error("a clone is no copy")
	}
}

func TestARoleIsNeverWidenedByAnIncompleteForm(t *testing.T) { // D21
	s := newSite(t, crew())
	s.post("/console/roles/team", url.Values{"name": {"Team"}, "sort": {"0"}, "enabled": {"1"}}).must(t, 400)
	body := s.post("/console/roles/team", url.Values{"name": {"Team"}, "sort": {"0"}, "enabled": {"1"}, "reach": {"groups"}}).must(t, 422)
	if got := text1(parse(t, body), "#e-groups"); !includes(got, "at least one group") {
		t.Errorf("limited to nothing: %q", got)
	}
}

func TestFormsShowWhyAClerkCannotClimb(t *testing.T) { // S59
	s := newSite(t, crew())
	s.login("clerk", false, access.CodeUsers, access.CodeUsers+"@EDIT", access.CodeRoles, access.CodeRoles+"@EDIT", "CloudNode")
	d := parse(t, s.as("clerk", http.MethodGet, "/console/users/lin.wei", nil).must(t, 200))
	if !d.Find("[name=role][value=team]").Is("[disabled]") || d.Find("[name=role][value=ops]").Is("[disabled]") || !includes(text1(d, "[data-testid=roles]"), "roles that you hold") {
		t.Error("a role that he does not hold can be ticked, or one that the user has cannot be kept, or the reason is missing")
	}
	d = parse(t, s.as("clerk", http.MethodGet, "/console/roles/ops", nil).must(t, 200))
	if !d.Find("[type=checkbox][name=menu][value=EruptRole]").Is("[disabled]") && !d.Find("[type=checkbox][name=menu][value=token]").Is("[disabled]") {
		t.Error("a menu that he does not hold can be ticked")
	}
	d = parse(t, s.as("clerk", http.MethodGet, "/console/users/admin", nil).must(t, 200))
	if d.Find("[data-testid=lock], [data-testid=reset], [data-testid=user-form] button").Length() != 0 || !includes(d.Find(".notice").Text(), "only an administrator") {
		t.Error("an administrator's page offers a clerk to change it")
	}
	s.as("clerk", http.MethodPost, "/console/users/admin/logout", url.Values{}).must(t, 403)
}

func TestAPasswordOfSomebodyElseOpensNothing(t *testing.T) { // S89: reset, shown once, changed at the next login
	s := newSite(t, crew())
	s.post("/console/users/lin.wei/password", nil).must(t, 400)
	body := s.post("/console/users/lin.wei/password", url.Values{"confirm": {"1"}}).must(t, 200)
	if secret := text1(parse(t, body), "#new-secret"); len(secret) != 20 {
		t.Errorf("new password %q", secret)
	}
	if last := s.audit[len(s.audit)-1]; last.Action != "password.reset" || last.Subject != "lin.wei" || len(last.Params) != 0 {
		t.Errorf("trail = %+v", last)
	}
	s.login("due", true) // holds everything, and its password was made by somebody else
	for path, want := range map[string]string{"/console/users?q=x": "/console/me/password?next=%2Fconsole%2Fusers%3Fq%3Dx", "/console/me": "/console/me/password?next=%2Fconsole%2Fme"} {
		a := s.as("due", http.MethodGet, path, nil)
		if a.Code != 303 || a.Header().Get("Location") != want {
			t.Errorf("%s: %d to %q, want %q", path, a.Code, a.Header().Get("Location"), want)
		}
	}
	a := s.as("due", http.MethodPost, "/console/nodes/ledger/delete", url.Values{"confirm": {"ledger"}})
	if a.Code != 303 || len(s.nodes) != 8 {
		t.Errorf("a change went through: %d", a.Code)
	}
	script := func(r *http.Request) { r.Header.Set("Accept", "application/json") }
	s.as("due", http.MethodGet, "/console/users", nil, script).must(t, 403)
	d := parse(t, s.as("due", http.MethodGet, "/console/me/password?next=/console/users", nil).must(t, 200))
	if d.Find("[data-testid=first-password] [name=next]").AttrOr("value", "") != "/console/users" || d.Find("nav").Length() != 0 {
		t.Error("the page loses the way back, or shows where one cannot go")
	}
	form := url.Values{"old": {"right"}, "new": {"abcdefgh1"}, "again": {"abcdefgh2"}, "first": {"1"}, "next": {"/console/users"}}
	if body := s.as("due", http.MethodPost, "/console/me/password", form).must(t, 422); parse(t, body).Find("[data-testid=first-password] #e-again").Length() != 1 {
		t.Error("the refusal leaves the page")
	}
	form.Set("again", "abcdefgh1")
	if got := s.as("due", http.MethodPost, "/console/me/password", form).Header().Get("Location"); got != "/console/users?said=password" {
		t.Errorf("after the change: %q", got)
	}
}

func TestSessionsEndOneByOne(t *testing.T) { // U63
	s := newSite(t, crew())
	one := s.sessions["admin"]
	d := parse(t, s.get("/console/me").must(t, 200))
	if d.Find("[data-testid=session]").AttrOr("data-id", "") != one.ID() || d.Find("[data-testid=session] button").Length() != 0 {
		t.Error("a session is not named by its id, or the present one can be ended by mistake")
	}
	s.post("/console/me/logout-others", nil).must(t, 303)
	if _, alive := s.sessions["admin"]; !alive {
		t.Error("the session that asked has ended")
	}
	s.login("lin.wei", false)
	other := s.sessions["lin.wei"]
	s.post("/console/users/lin.wei/logout", url.Values{"session": {other.ID()}}).must(t, 303)
	if _, alive := s.sessions["lin.wei"]; alive {
		t.Error("the session of another account goes on")
	}
	s.post("/console/users/lin.wei/logout", url.Values{"session": {"gone"}}).must(t, 404)
}

func TestAuditIsSearchedByItsWords(t *testing.T) { // D21
	w := crew()
	w.audit[0].Before, w.audit[0].Params = json.RawMessage(`{"name":"Old","sort":"1"}`), json.RawMessage(`{"name":"New","sort":"1"}`)
	s := newSite(t, w)
	s.get("/console/audit?"+url.Values{"q": {"修改节点"}, "from": {"2026-11-30T18:00"}, "to": {"2026-12-01"}, "outcome": {"failed"}, "action": {"node.update"}}.Encode()).must(t, 200)
	f := w.searched[len(w.searched)-1]
	if len(f.Words) != 1 || f.Words[0] != "node.update" || f.Outcome != "failed" || f.Action != "node.update" ||
		!f.From.Equal(time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC)) || !f.To.Equal(time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("asked for %+v", f)
	}
	zone := func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "ec_zone", Value: "Asia%2FShanghai"}) }
	s.get("/console/audit?from=2026-12-01T08:00", zone).must(t, 200)
	if f := w.searched[len(w.searched)-1]; !f.From.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("a time of Shanghai is %v", f.From)
	}
	d := parse(t, s.get("/console/audit/7").must(t, 200))
	if got := strings.Join(strings.Fields(text1(d, "[data-testid=changes] tbody tr")), " "); got != "nameOldNew" {
		t.Errorf("the change reads %q", got)
	}
	drawer := s.get("/console/audit/7", htmx("drawer")).must(t, 200)
	if !includes(drawer, `role="dialog"`) || includes(drawer, "<html") || !includes(drawer, "REQ1") || !includes(drawer, "/console/nodes/order-service") {
		t.Error("the drawer is no part of a page, or leaves out the request id or the way to the subject")
	}
	s.get("/console/audit/99").must(t, 404)
	s.get("/console/audit/x").must(t, 404)
}

// hostileCells are what exports must carry unharmed, and how they arrive.
var hostileCells = map[string]string{
	"00367901234567890323": "00367901234567890323", "9007199254740993": "9007199254740993", "1.10": "1.10", "-0.02": "-0.02",
	`=HYPERLINK("http://evil","x")`: `'=HYPERLINK("http://evil","x")`, "+1": "'+1", "@cmd": "'@cmd", "two\nlines\r\n": "two\nlines\r\n",
	"😀, \"quoted\"": "😀, \"quoted\"", strings.Repeat("长", 40_000): strings.Repeat("长", 40_000),
}

func TestExportsCarryWhatIsThere(t *testing.T) { // S94
	w := crew()
	w.audit = nil
	for cell := range hostileCells {
		w.audit = append(w.audit, access.Entry{At: now, Account: cell, Subject: cell, Action: "UPDATE | a.B", OK: true})
	}
	s := newSite(t, w)
	rows := func(path string, opts ...func(*http.Request)) [][]string {
		a := s.get(path, opts...)
		body := a.must(t, 200)
		all, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(body, "\ufeff"))).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return all
	}
	got := rows("/console/audit.csv?q=anything")
	if len(got) != len(hostileCells)+1 {
		t.Fatalf("%d rows", len(got))
	}
	for i, row := range got[1:] {
		// A reader of CSV takes \r\n within quotes for \n.
		if want := strings.ReplaceAll(hostileCells[w.audit[i].Account], "\r\n", "\n"); row[1] != want || row[6] != want {
			t.Errorf("%.40q arrives as %.40q and %.40q", w.audit[i].Account, row[1], row[6])
		}
	}
	for zone, want := range map[string]string{"UTC": "2026-12-01T06:32:05Z", "Asia%2FShanghai": "2026-12-01T14:32:05+08:00"} {
		if got := rows("/console/audit.csv", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "ec_zone", Value: zone}) }); got[1][0] != want {
			t.Errorf("%s: %s, want %s", zone, got[1][0], want)
		}
	}
	users := rows("/console/users.csv?state=locked")
	if len(users) != 2 || users[1][0] != "locked" || !includes(users[1][5], "Locked") {
		t.Errorf("users = %q", users)
	}
	s.login("guest", false)
	for _, path := range []string{"/console/users.csv", "/console/audit.csv", "/console/logins.csv"} {
		s.as("guest", http.MethodGet, path, nil).must(t, 403)
	}
}

func TestPeoplePagesHaveTwins(t *testing.T) { // U80
	s := newSite(t, crew())
	for path, want := range map[string]string{
		"/console/users": `"account":"lin.wei"`, "/console/users/over": `"code":"CloudNode","groups":["commerce"],"roles":["team"]`,
		"/console/roles": `"readOnly":true,"groups":["commerce"]`, "/console/roles/team": `"users":1`, "/console/menus": `"code":"EruptUser"`,
		"/console/menus/token": `"value":"cloud_access_token_permission"`, "/console/audit": `"requestId":"REQ1"`, "/console/audit/7": `"action":"node.update"`,
		"/console/me": `"current":true`, "/console/logins": `"items":[]`,
	} {
		a := s.get(path, func(r *http.Request) { r.Header.Set("Accept", "application/json") })
		if body := a.must(t, 200); !includes(body, want) || !json.Valid([]byte(body)) || includes(body, `"token":`) {
			t.Errorf("%s = %.300s, want %s", path, body, want)
		}
	}
}

func TestMenusMoveAmongThoseBesideThem(t *testing.T) {
	w := crew()
	s := newSite(t, w)
	order := func() (codes []string) {
		for _, m := range menuTree(w.menus) {
			if m.depth == 0 {
				codes = append(codes, m.Code)
			}
		}
		return codes
	}
	if got := strings.Join(order(), " "); got != "$NodeManager EruptUser new" {
		t.Fatalf("order = %s", got)
	}
	s.post("/console/menus/new/move", url.Values{"to": {"up"}}).must(t, 303)
	if got := strings.Join(order(), " "); got != "$NodeManager new EruptUser" {
		t.Errorf("after up: %s", got)
	}
	s.post("/console/menus/$NodeManager/move", url.Values{"to": {"up"}}).must(t, 303)
	if got := strings.Join(order(), " "); got != "$NodeManager new EruptUser" {
		t.Errorf("the first one went up: %s", got)
	}
	s.post("/console/menus/new/move", url.Values{"to": {"sideways"}}).must(t, 400)
}

func TestLoginSaysWhatIsWrong(t *testing.T) { // S89
	w := crew()
	s := newSite(t, w)
	a := s.as("", http.MethodPost, "/console/login", url.Values{"account": {"locked"}, "password": {"x"}})
	d := parse(t, a.must(t, 429))
	if a.Header().Get("Retry-After") != "600" || d.Find(".notice.is-slow [data-testid=login-error]").Length() != 1 {
		t.Error("too many tries do not say for how long")
	}
	if d := parse(t, s.as("", http.MethodGet, "/console/login?next=/console/audit", nil).must(t, 200)); !includes(text1(d, "[data-testid=next]"), "/console/audit") || d.Find("[data-testid=first-run]").Length() != 0 {
		t.Error("the page does not say where a login leads, or takes the server for a new one")
	}
	w.fresh = true
	if d := parse(t, s.as("", http.MethodGet, "/console/login", nil).must(t, 200)); d.Find("[data-testid=first-run] li").Length() != 3 {
		t.Error("a new installation does not say what comes next")
	}
	if got := s.post("/console/look", url.Values{"zone": {"Asia/Shanghai"}, "back": {"/console/me?said=saved"}}); got.Code != 303 || !includes(got.Header().Get("Set-Cookie"), "Asia%2FShanghai") {
		t.Errorf("zone: %d %q", got.Code, got.Header().Get("Set-Cookie"))
	}
	s.post("/console/look", url.Values{"zone": {"../../etc/passwd"}}).must(t, 400)
}
