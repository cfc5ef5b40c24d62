package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/dict"
)

func jsonOnly(r *http.Request) { r.Header.Set("Accept", "application/json") }

func TestOrgPages(t *testing.T) {
	s := newSite(t, office(t))
	d := document(t, s.get("/console/orgs").must(t, 200))
	if rows := strings.Join(texts(d.Find("[data-testid=org-row] td.a")), ","); rows != "Group,The north,南方" {
		t.Errorf("rows %q", rows)
	}
	if d.Find("#org-north td.d1").Length() != 1 || d.Find(`#org-north a[href="/console/users?org=north"]`).Length() != 1 || d.Find(`.side [aria-current=page][href="/console/orgs"]`).Length() != 1 {
		t.Error("the tree, the way to the users or the side list is wrong")
	}
	if got := s.post("/console/orgs", url.Values{"code": {"harbour"}, "name": {"Harbour"}, "parent": {"south"}, "sort": {"1"}}); got.Code != 303 || got.Header().Get("Location") != "/console/orgs?said=created" {
		t.Fatalf("creating answered %d", got.Code)
	}
	if e := s.lastEntry(); e.Action != "org.create" || e.Subject != "harbour" || !includes(string(e.Params), `"parent":"south"`) {
		t.Errorf("trail %+v", e)
	}
	page := document(t, s.get("/console/orgs/south").must(t, 200))
	if page.Find(`#f-parent option[value=south], #f-parent option[value=harbour]`).Length() != 0 {
		t.Error("an organisation can be put below itself")
	}
	if text := page.Find("[data-testid=delete]").Text(); !includes(text, "One organisation lies below it") || page.Find("[data-testid=delete-sure]").Length() != 0 {
		t.Errorf("one with others below it can be deleted: %q", text)
	}
	v := formValues(page.Find("[data-testid=org-form]"))
	v.Set("parent", "harbour")
	if bad := s.post("/console/orgs/south", v); bad.Code != 422 || document(t, bad.body).Find("#e-parent").Length() != 1 || s.lastEntry().OK {
		t.Errorf("below itself answered %d", bad.Code)
	}
	for name, c := range map[string]struct{ field, value string }{"sort": {"sort", "x"}, "code": {"code", "a b"}, "taken": {"code", "NORTH"}} {
		v := url.Values{"code": {"fine"}, "name": {"Fine"}, "parent": {""}, "sort": {""}}
		v.Set(c.field, c.value)
		if bad := s.post("/console/orgs", v); bad.Code != 422 && bad.Code != 409 || document(t, bad.body).Find("#e-"+c.field).Length() != 1 {
			t.Errorf("%s: answered %d without a message at the field", name, bad.Code)
		}
	}
	s.post("/console/orgs/north/move", url.Values{"to": {"down"}}).must(t, 303)
	if rows := strings.Join(texts(document(t, s.get("/console/orgs").body).Find("[data-testid=org-row] td.a")), ","); rows != "Group,南方,Harbour,The north" {
		t.Errorf("after moving: %q", rows)
	}
	s.post("/console/orgs/north/delete", url.Values{}).must(t, 409)
	s.post("/console/orgs/harbour/delete", url.Values{}).must(t, 303)
	s.get("/console/orgs/harbour").must(t, 404)
	s.post("/console/orgs/north", url.Values{"name": {"x"}}).must(t, 400)
	if body := s.get("/console/orgs?q=nowhere").must(t, 200); document(t, body).Find("[data-testid=empty]").Length() != 1 {
		t.Error("nothing found, and nothing said")
	}
}

func TestPostPages(t *testing.T) {
	s := newSite(t, office(t))
	s.post("/console/posts", url.Values{"code": {"head"}, "name": {""}, "weight": {"1"}}).must(t, 303)
	d := document(t, s.get("/console/posts").must(t, 200))
	if rows := strings.Join(texts(d.Find("[data-testid=post-row] td.a")), ","); rows != "head,Lead,Clerk" {
		t.Errorf("rows %q", rows)
	}
	if page := document(t, s.get("/console/posts/lead").must(t, 200)); page.Find("[data-testid=delete-sure]").Length() != 0 || !includes(page.Find("[data-testid=delete]").Text(), "One user holds it") {
		t.Error("a post that somebody holds can be deleted")
	}
	if bad := s.post("/console/posts/lead", url.Values{"name": {"Lead"}, "weight": {"99999999999"}}); bad.Code != 422 || document(t, bad.body).Find("#e-weight").Length() != 1 {
		t.Errorf("a weight beyond its column answered %d", bad.Code)
	}
	s.post("/console/posts/lead", url.Values{"name": {"Leader"}, "weight": {"2"}}).must(t, 303)
	s.post("/console/posts/lead/delete", url.Values{}).must(t, 409)
	s.post("/console/posts/head/delete", url.Values{}).must(t, 303)
	if e := s.lastEntry(); e.Action != "post.delete" || e.Subject != "head" || !e.OK {
		t.Errorf("trail %+v", e)
	}
}

func TestUsersAreGivenAPlace(t *testing.T) { // erupt-wire 5.7
	s := newSite(t, office(t))
	d := document(t, s.get("/console/users").must(t, 200))
	if got := d.Find("#user-lin\\.wei").Text(); !includes(got, "The north · Lead") {
		t.Errorf("the list leaves out where somebody belongs: %q", got)
	}
	for q, want := range map[string]string{"org=group": "lin.wei", "post=lead": "lin.wei", "org=south": "", "org=gone": ""} {
		d := document(t, s.get("/console/users?"+q).must(t, 200))
		if got := strings.Join(texts(d.Find("[data-testid=user-row] td.a")), ","); got != want {
			t.Errorf("%s shows %q", q, got)
		}
	}
	form := document(t, s.get("/console/users/lin.wei").must(t, 200)).Find("[data-testid=user-form]")
	v := formValues(form)
	if v.Get("org") != "north" || v.Get("post") != "lead" || v.Get("home") != "" {
		t.Errorf("the form holds %v", v)
	}
	v.Set("org", "")
	bad := s.post("/console/users/lin.wei", v)
	if bad.Code != 422 || text1(document(t, bad.body), "#e-org") != "must be set when a post is set" {
		t.Errorf("a post without an organisation answered %d", bad.Code)
	}
	v.Set("org", "south")
	v.Set("home", "$home")
	s.post("/console/users/lin.wei", v).must(t, 303)
	if e := s.lastEntry(); !includes(string(e.Before), `"org":"north"`) || !includes(string(e.Params), `"org":"south"`) {
		t.Errorf("trail %s → %s", e.Before, e.Params)
	}
	u, err := s.upms.Users.ByAccount(t.Context(), "lin.wei")
	if err != nil || u.OrgCode != "south" || u.HomeCode != "$home" {
		t.Errorf("lin.wei = %+v, %v", u, err)
	}
	s.post("/console/users/lin.wei", url.Values{"name": {"林薇"}, "enabled": {"1"}}).must(t, 303)
	if u, _ = s.upms.Users.ByAccount(t.Context(), "lin.wei"); u.OrgCode != "south" || u.PostCode != "lead" {
		t.Errorf("a form without these fields took them away: %+v", u)
	}
}

func TestDictPages(t *testing.T) {
	s := newSite(t, office(t))
	got := s.post("/console/dicts", url.Values{"code": {"colour"}, "name": {"Colours"}, "remark": {""}})
	if got.Code != 303 || got.Header().Get("Location") != "/console/dicts/colour?said=created" {
		t.Fatalf("creating answered %d to %s", got.Code, got.Header().Get("Location"))
	}
	d := document(t, s.get("/console/dicts?order=name").must(t, 200))
	if rows := strings.Join(texts(d.Find("[data-testid=dict-row] td.a")), ","); rows != "colour,level" || d.Find("th[aria-sort]").Length() != 1 {
		t.Errorf("rows %q", rows)
	}
	page := document(t, s.get("/console/dicts/colour").must(t, 200))
	if page.Find("[data-testid=no-items]").Length() != 1 || page.Find("[data-testid=import]").Length() != 1 {
		t.Error("a dictionary without items does not say what to do")
	}
	item := url.Values{"code": {"red"}, "name": {"Red"}, "value": {"#f00"}, "sort": {"1"}, "remark": {""}}
	s.post("/console/dicts/colour/items", item).must(t, 303)
	if e := s.lastEntry(); e.Action != "item.create" || e.Subject != "colour" {
		t.Errorf("trail %+v", e)
	}
	if bad := s.post("/console/dicts/colour/items", item); bad.Code != 409 || document(t, bad.body).Find("#e-code").Length() != 1 || document(t, bad.body).Find(`#f-value[value="#f00"]`).Length() != 1 {
		t.Errorf("an item twice answered %d", bad.Code)
	}
	page = document(t, s.get("/console/dicts/colour").must(t, 200))
	link := page.Find("[data-testid=item-row] a.open").AttrOr("href", "")
	item.Set("name", "Crimson")
	s.post(link, item).must(t, 303)
	if body := s.get(link).must(t, 200); !includes(body, "Crimson") {
		t.Error("an item was not changed")
	}
	s.post("/console/dicts/level"+strings.TrimPrefix(link, "/console/dicts/colour"), item).must(t, 404)
	s.post(link+"/delete", url.Values{}).must(t, 303)
	s.get(link).must(t, 404)
	if text := document(t, s.get("/console/dicts/level").body).Find("[data-testid=delete]").Text(); !includes(text, "Its 2 items are deleted with it") {
		t.Errorf("deleting says %q", text)
	}
	s.login("reader", false, access.CodeDicts, access.CodeDicts+"@DELETE")
	s.as("reader", http.MethodPost, "/console/dicts/level/delete", url.Values{}).must(t, 403) // its items are EruptDictItem's
	s.post("/console/dicts/level/delete", url.Values{}).must(t, 303)
	if e := s.lastEntry(); e.Action != "dict.delete" || !includes(string(e.Before), `"items":2`) {
		t.Errorf("trail %+v", e)
	}
}

// upload sends a file in a form of parts.
func (s *site) upload(path, name, content string) answer {
	s.t.Helper()
	var body bytes.Buffer
	m := multipart.NewWriter(&body)
	f, err := m.CreateFormFile("file", name)
	if err == nil {
		_, err = f.Write([]byte(content))
	}
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, path, &body)
	r.Header.Set("Content-Type", m.FormDataContentType())
	r.Header.Set("Accept", "text/html")
	r.AddCookie(s.cookie("admin"))
	rec := httptest.NewRecorder()
	s.http.ServeHTTP(rec, r)
	return answer{rec, rec.Body.String()}
}

func TestItemsAreImportedAndExported(t *testing.T) { // S94
	s := newSite(t, office(t))
	for _, lang := range []string{"en", "zh"} {
		var opts []func(*http.Request)
		if lang == "zh" {
			opts = append(opts, chinese)
		}
		out := s.get("/console/dicts/level/items.csv", opts...).must(t, 200)
		if !includes(out, "'=1+1") {
			t.Errorf("a formula is exported as it is: %q", out)
		}
		got := s.upload("/console/dicts/level/import", "level.csv", out)
		if got.Code != 303 || got.Header().Get("Location") != "/console/dicts/level?added=0&changed=0&same=2" {
			t.Errorf("%s: what was exported is imported with %d to %s", lang, got.Code, got.Header().Get("Location"))
		}
	}
	got := s.post("/console/dicts/level/import", url.Values{"text": {"value;code\n9;gold\n\n7;new"}})
	if got.Code != 303 || !includes(got.Header().Get("Location"), "added=1&changed=1&same=0") {
		t.Fatalf("answered %d to %s", got.Code, got.Header().Get("Location"))
	}
	if text := text1(document(t, s.get(got.Header().Get("Location")).body), "[data-testid=imported]"); !includes(text, "1 added, 1 changed, 0 as before") {
		t.Errorf("it says %q", text)
	}
	if e := s.lastEntry(); e.Action != "dict.import" || !includes(string(e.Params), `"added":1`) {
		t.Errorf("trail %+v", e)
	}
	for text, want := range map[string]string{
		"": "choose a file", "name,value\nx,y": "must name the columns", "code\n\"x": "row 1 is no CSV", "code,order\nx,one": "row 1: the order must be", "code\nx\nx": "rows 1 and 2 have the same code",
		"code,value\nx," + strings.Repeat("v", 256): "row 1: value has more than 255",
	} {
		bad := s.post("/console/dicts/level/import", url.Values{"text": {text}})
		if bad.Code != 422 || !includes(text1(document(t, bad.body), "#e-file"), want) {
			t.Errorf("%.20q answered %d, %q", text, bad.Code, text1(document(t, bad.body), "#e-file"))
		}
	}
	for text, want := range map[string]string{"code,value\na,1\n,2": "第 2 行：编码必填", "code,value\na," + strings.Repeat("v", 256): "第 1 行：值超过 255 个字符", "code\na\na": "第 1 行与第 2 行的编码同为"} {
		if bad := s.post("/console/dicts/level/import", url.Values{"text": {text}}, chinese); bad.Code != 422 || !includes(bad.body, want) {
			t.Errorf("%.20q answered %d without %q", text, bad.Code, want)
		}
	}
	if bad := s.upload("/console/dicts/level/import", "x.csv", "code\n\xff"); bad.Code != 422 {
		t.Errorf("bytes that are no text answered %d", bad.Code)
	}
	if n := document(t, s.get("/console/dicts/level").body).Find("[data-testid=item-row]").Length(); n != 3 {
		t.Errorf("%d items after refused imports, want 3", n)
	}
	big := []dict.ItemWish{}
	for i := range 600 {
		big = append(big, dict.ItemWish{Code: fmt.Sprint("n", i)})
	}
	if _, err := s.upms.dicts.Import(t.Context(), "level", big, "x"); err != nil {
		t.Fatal(err)
	}
	d := document(t, s.get("/console/dicts/level").must(t, 200))
	if n := d.Find("[data-testid=item-row]").Length(); n != shownItems || !includes(d.Find("[data-testid=items]").Text(), "103 more items") {
		t.Errorf("%d items are shown of 603", n)
	}
	if n := document(t, s.get("/console/dicts/level?q=n599").body).Find("[data-testid=item-row]").Length(); n != 1 {
		t.Errorf("a search shows %d items", n)
	}
}

func TestOpenAPIPages(t *testing.T) {
	s := newSite(t, office(t))
	made := s.post("/console/open-api", url.Values{"name": {"Billing"}, "account": {"lin.wei"}, "minutes": {"30"}, "enabled": {"1"}})
	page := document(t, made.must(t, 200))
	secret := text1(page, "#new-secret")
	path := page.Find("[data-testid=openapi-form]").AttrOr("action", "")
	appid := strings.TrimPrefix(path, "/console/open-api/")
	if _, err := s.upms.OpenAPIs.Verify(t.Context(), appid, secret); err != nil {
		t.Fatalf("the secret that is shown does not work: %v", err)
	}
	if made.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("the answer with the secret may be kept: %q", made.Header().Get("Cache-Control"))
	}
	if e := s.lastEntry(); e.Action != "openapi.create" || e.Subject != appid || includes(string(e.Params), secret) {
		t.Errorf("trail %+v", e)
	}
	for _, again := range []string{path, "/console/open-api", "/console/open-api.csv"} {
		if body := s.get(again).must(t, 200); includes(body, secret) {
			t.Errorf("%s shows the secret again", again)
		}
	}
	if err := s.upms.store.Create(t.Context(), access.Session{Token: "ERAAAAAAAAAAAAAAAAAAAAAAAA", Account: "lin.wei", Created: now}, 1e12); err != nil {
		t.Fatal(err)
	}
	if err := s.upms.OpenAPIs.Began(t.Context(), appid, "ERAAAAAAAAAAAAAAAAAAAAAAAA"); err != nil {
		t.Fatal(err)
	}
	d := document(t, s.get(path).must(t, 200))
	if d.Find("[data-testid=end-token]").Length() != 1 || !includes(d.Find("[data-testid=example]").Text(), "appid="+appid) || includes(d.Text(), "ERAAAA") {
		t.Error("the page does not offer to end the token, or shows it")
	}
	s.post(path+"/end", url.Values{}).must(t, 303)
	if document(t, s.get(path).must(t, 200)).Find("[data-testid=end-token]").Length() != 0 {
		t.Error("the token goes on")
	}
	s.post(path+"/secret", url.Values{}).must(t, 400)
	next := text1(document(t, s.post(path+"/secret", url.Values{"confirm": {"1"}}).must(t, 200)), "#new-secret")
	if _, err := s.upms.OpenAPIs.Verify(t.Context(), appid, secret); err == nil || next == secret {
		t.Error("the old secret still works")
	}
	for field, value := range map[string]string{"minutes": "x", "account": "nobody", "name": ""} {
		v := url.Values{"name": {"Billing"}, "account": {"lin.wei"}, "minutes": {"30"}}
		v.Set(field, value)
		if bad := s.post(path, v); bad.Code != 422 || document(t, bad.body).Find("#e-"+field).Length() != 1 {
			t.Errorf("%s: answered %d without a message at the field", field, bad.Code)
		}
	}
	if d := document(t, s.get("/console/users/lin.wei").must(t, 200)); text1(d, "#user-programs a") != "1 open API acts as this account" {
		t.Errorf("the page of the user says %q", d.Find("#user-programs").Text())
	}
	moved := text1(document(t, s.post(path, url.Values{"name": {"Billing"}, "account": {"admin"}, "minutes": {"30"}, "enabled": {"1"}}).must(t, 200)), "#new-secret")
	if _, err := s.upms.OpenAPIs.Verify(t.Context(), appid, moved); err != nil || moved == next {
		t.Errorf("linked anew it shows the secret %q: %v", moved, err)
	}
	s.login("reader", false, access.CodeOpenAPI, access.CodeOpenAPI+"@ADD", access.CodeOpenAPI+"@EDIT")
	if bad := s.as("reader", http.MethodPost, "/console/open-api", url.Values{"name": {"x"}, "account": {"admin"}, "minutes": {""}}); bad.Code != 403 || document(t, bad.body).Find("#e-account").Length() != 1 {
		t.Errorf("a way in as an administrator answered %d", bad.Code)
	}
	s.post(path+"/delete", url.Values{}).must(t, 303)
	s.get(path).must(t, 404)
}

func TestOnlinePage(t *testing.T) {
	s := newSite(t, office(t))
	d := document(t, s.get("/console/online").must(t, 200))
	if rows := strings.Join(texts(d.Find("[data-testid=online-row] td.p2")), ","); rows != "Administrator,林薇,林薇" {
		t.Errorf("rows %q", rows)
	}
	own := d.Find(`tr[data-account=admin]`)
	if own.Find("[data-testid=this]").Length() != 1 || own.Find("[data-testid=end]").Length() != 0 {
		t.Error("the viewer's own session is not marked, or can be ended by mistake")
	}
	first := d.Find(`tr[data-account="lin.wei"]`).First()
	id := strings.TrimPrefix(first.AttrOr("id", ""), "session-")
	if !includes(first.Text(), "End all 2") || includes(d.Text(), "one") && d.Find("#session-one").Length() > 0 {
		t.Errorf("row %q", first.Text())
	}
	s.post("/console/online/lin.wei/end", url.Values{}).must(t, 400)
	s.post("/console/online/lin.wei/end", url.Values{"session": {id}}).must(t, 303)
	if e := s.lastEntry(); e.Action != "session.end" || e.Subject != "lin.wei" {
		t.Errorf("trail %+v", e)
	}
	s.post("/console/online/lin.wei/end", url.Values{"session": {id}}).must(t, 404)
	s.login("reader", false, access.CodeOnline, access.CodeOnline+"@DELETE")
	s.as("reader", http.MethodPost, "/console/online/admin/end", url.Values{"all": {"1"}}).must(t, 403)
	officer, role := access.System, access.NewRole{Code: "orgs", Enabled: true, Menus: []string{access.CodeOrgs}, By: access.System}
	if _, err := s.upms.Roles.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	if _, err := s.upms.Users.Update(t.Context(), "lin.wei", access.UserPatch{Roles: &[]string{"orgs"}, By: officer}); err != nil {
		t.Fatal(err)
	}
	s.login("reader", false, access.CodeUsers, access.CodeUsers+"@EDIT")
	s.as("reader", http.MethodPost, "/console/users/lin.wei/logout", url.Values{}).must(t, 403) // by either address
	s.post("/console/online/lin.wei/end", url.Values{"all": {"1"}}).must(t, 303)
	if body := s.get("/console/online?q=lin").must(t, 200); document(t, body).Find("[data-testid=empty]").Length() != 1 {
		t.Error("sessions go on")
	}
	s.login("watcher", false, access.CodeOnline)
	if document(t, s.as("watcher", http.MethodGet, "/console/online", nil).must(t, 200)).Find("[data-testid=end]").Length() != 0 {
		t.Error("who may not end sessions is offered it")
	}
}

func TestUPMSPagesHaveTwinsAndExports(t *testing.T) { // U80, U81
	s := newSite(t, office(t))
	for path, want := range map[string]string{
		"/console/orgs": `"parent":"group"`, "/console/orgs/north": `"users":1`, "/console/posts": `"weight":5`, "/console/posts/lead": `"users":1`,
		"/console/dicts": `"count":2`, "/console/dicts/level": `"value":"-2"`, "/console/open-api": `"items":[]`, "/console/online": `"current":true`,
		"/console/users": `"org":"The north"`,
	} {
		if body := s.get(path, jsonOnly).must(t, 200); !includes(body, want) || !json.Valid([]byte(body)) {
			t.Errorf("%s = %.300s, want %s", path, body, want)
		}
	}
	for path, want := range map[string]string{
		"/console/orgs.csv": "north,The north,group,1,1", "/console/posts.csv?q=lead": "lead,Lead,5,1", "/console/dicts.csv": "level,Levels,2,of customers,,2026-12-01",
		"/console/online.csv?q=lin": "lin.wei,林薇,", "/console/open-api.csv": "App id", "/console/users.csv": "The north,Lead",
	} {
		if body := s.get(path).must(t, 200); !includes(body, want) {
			t.Errorf("%s = %.300s, want %s", path, body, want)
		}
	}
}

func TestUPMSRights(t *testing.T) {
	s := newSite(t, office(t))
	s.post("/console/dicts", url.Values{"code": {"bare"}, "name": {"Without items"}}).must(t, 303)
	open := url.Values{}
	calls := map[string]string{
		"GET /console/orgs": "EruptOrg", "GET /console/orgs.csv": "EruptOrg", "GET /console/orgs/new": "EruptOrg@ADD", "POST /console/orgs": "EruptOrg@ADD",
		"GET /console/orgs/north": "EruptOrg", "POST /console/orgs/north": "EruptOrg@EDIT", "POST /console/orgs/north/move": "EruptOrg@EDIT", "POST /console/orgs/north/delete": "EruptOrg@DELETE",
		"GET /console/posts": "EruptPost", "POST /console/posts": "EruptPost@ADD", "POST /console/posts/lead": "EruptPost@EDIT", "POST /console/posts/lead/delete": "EruptPost@DELETE",
		"GET /console/dicts": "EruptDict", "POST /console/dicts": "EruptDict@ADD", "POST /console/dicts/level": "EruptDict@EDIT", "POST /console/dicts/bare/delete": "EruptDict@DELETE",
		"GET /console/dicts.csv": "EruptDict@EXPORT", "GET /console/dicts/level/items.csv": "EruptDictItem@EXPORT", "POST /console/dicts/level/items": "EruptDictItem@ADD", "POST /console/dicts/level/import": "EruptDictItem@IMPORTABLE",
		"POST /console/dicts/level/items/1": "EruptDictItem@EDIT", "POST /console/dicts/level/items/1/delete": "EruptDictItem@DELETE",
		"GET /console/open-api": "EruptOpenApi", "GET /console/open-api.csv": "EruptOpenApi", "GET /console/posts.csv": "EruptPost", "POST /console/open-api": "EruptOpenApi@ADD", "POST /console/open-api/es1/secret": "EruptOpenApi@EDIT", "POST /console/open-api/es1/end": "EruptOpenApi@EDIT",
		"POST /console/open-api/es1/delete": "EruptOpenApi@DELETE", "GET /console/online": "EruptOnline", "GET /console/online.csv": "EruptOnline@EXPORT", "POST /console/online/lin.wei/end": "EruptOnline@DELETE",
	}
	s.login("clerk", false, "EruptDict@DELETE")
	s.as("clerk", http.MethodPost, "/console/dicts/level/delete", url.Values{"confirm": {"1"}}).must(t, http.StatusForbidden) // its items would go too
	for call, right := range calls {
		method, path, _ := strings.Cut(call, " ")
		for _, code := range []string{"EruptOrg", "EruptPost", "EruptDict", "EruptDictItem", "EruptOpenApi", "EruptOnline"} {
			for _, function := range []string{"", "@ADD", "@EDIT", "@DELETE", "@EXPORT", "@IMPORTABLE"} {
				s.login("clerk", false, code+function)
				form := open
				if method == http.MethodGet {
					form = nil
				}
				if got := s.as("clerk", method, path, form); (got.Code != http.StatusForbidden) != (code+function == right) {
					t.Errorf("%s with %s answered %d, want it open exactly for %s", call, code+function, got.Code, right)
				}
			}
		}
	}
	s = newSite(t, office(t))
	s.login("peeper", false, access.CodeDicts)
	if body := s.as("peeper", http.MethodGet, "/console/dicts/level", nil).must(t, 200); includes(body, "formula") {
		t.Error("items are shown to somebody who may see dictionaries alone")
	}
	if body := s.as("peeper", http.MethodGet, "/console/dicts/level", nil, jsonOnly).must(t, 200); includes(body, "formula") {
		t.Error("the twin shows them")
	}
}

// erupt-wire 5.3, 5.5: what has a button for its export is exported by those alone who hold it; others do not see it.
func TestExportsTakeTheirRight(t *testing.T) {
	s := newSite(t, office(t))
	for _, tt := range []struct {
		page, export string
		sees, takes  []string // the codes of the page, and of which one is enough
	}{
		{"/console/dicts", "/console/dicts.csv", []string{"EruptDict"}, []string{"EruptDict@EXPORT"}},
		{"/console/dicts/level", "/console/dicts/level/items.csv", []string{"EruptDict", "EruptDictItem"}, []string{"EruptDictItem@EXPORT"}},
		{"/console/online", "/console/online.csv", []string{"EruptOnline"}, []string{"EruptOnline@EXPORT"}},
		{"/console/audit", "/console/audit.csv", []string{"EruptOperateLog"}, []string{"EruptOperateLog@EXPORT"}},
		{"/console/logins", "/console/logins.csv", []string{"EruptLoginLog"}, []string{"EruptLoginLog@EXPORT", "EruptOperateLog@EXPORT"}},
		{"/console/orgs", "/console/orgs.csv", []string{"EruptOrg"}, nil}, // the page's own right is enough
		{"/console/posts", "/console/posts.csv", []string{"EruptPost"}, nil},
	} {
		shown := func(codes ...string) bool {
			s.login("clerk", false, codes...)
			d := document(t, s.as("clerk", http.MethodGet, tt.page, nil).must(t, 200))
			return d.Find(`[data-testid=export][href^="`+tt.export+`"]`).Length() == 1
		}
		if got, status := shown(tt.sees...), s.as("clerk", http.MethodGet, tt.export, nil).Code; got != (tt.takes == nil) || (status == 200) != (tt.takes == nil) {
			t.Errorf("%s with %v: shown %v, answered %d", tt.export, tt.sees, got, status)
		}
		for _, right := range tt.takes {
			if got, status := shown(append(tt.sees, right)...), s.as("clerk", http.MethodGet, tt.export, nil).Code; !got || status != 200 {
				t.Errorf("%s with %s: shown %v, answered %d, want it open", tt.export, right, got, status)
			}
		}
	}
}

func TestUPMSPagesAreReachedByThoseWhoHoldThem(t *testing.T) {
	s := newSite(t, office(t))
	for code, path := range map[string]string{
		access.CodeOrgs: "/console/orgs", access.CodePosts: "/console/posts", access.CodeDicts: "/console/dicts", access.CodeOpenAPI: "/console/open-api",
		access.CodeOnline: "/console/online", access.CodeLogins: "/console/logins", access.CodeServerLog: "/console/server-log",
	} {
		s.login("clerk", false, code)
		d := document(t, s.as("clerk", http.MethodGet, path, nil).must(t, 200))
		if d.Find(`#nav a[href="`+path+`"][aria-current=page]`).Length() != 1 || d.Find(`.side a[href="`+path+`"][aria-current=page]`).Length() != 1 || d.Find(".side a").Length() != 1 {
			t.Errorf("who holds %s alone is not led to %s, or elsewhere too", code, path)
		}
		if body := s.as("clerk", http.MethodGet, "/console/palette?q=>go", nil).must(t, 200); !includes(body, path) {
			t.Errorf("the palette does not lead to %s", path)
		}
		s.login("guest", false)
		if body := s.as("guest", http.MethodGet, "/console/palette?q=>go", nil).must(t, 200); includes(body, path) {
			t.Errorf("the palette leads everybody to %s", path)
		}
	}
}

// Several pages become menus of their types at once, and roles get them.
func TestSeveralPagesAreOffered(t *testing.T) { // F14
	w, f := warehouse(t)
	w.roles = append(w.roles, access.Role{Code: "sales", Name: "Sales", Enabled: true, MenuCodes: []string{"CloudNode"}})
	s := newPageSite(t, w, f)
	form := document(t, s.get("/console/menus").must(t, 200)).Find("[data-testid=offer-many]")
	if form.Find(`[name=page][value="shop.Customer"]`).Length() != 1 || form.Find("[name=role][value=sales]").Length() != 1 || form.Find(`button[formaction="/console/pages/shop.Customer/offer"]`).Length() != 1 {
		t.Fatal("the list of menus does not offer several pages, or for no role")
	}
	action := form.AttrOr("action", "")
	s.post(action, url.Values{}).must(t, 400)
	var names []string
	for _, box := range form.Find("[name=page]").EachIter() {
		names = append(names, box.AttrOr("value", ""))
	}
	got := s.post(action, url.Values{"page": names[:2], "as-" + names[1]: {"tree"}, "as-" + names[0]: {"odd"}, "role": {"sales"}})
	if got.Code != 303 || got.Header().Get("Location") != "/console/menus?said=offered" {
		t.Fatalf("answered %d to %s", got.Code, got.Header().Get("Location"))
	}
	made := s.menus[len(s.menus)-2:]
	if made[0].Value != names[0] || made[0].Type != "table" || made[1].Value != names[1] || made[1].Type != "tree" {
		t.Errorf("made %+v", made)
	}
	if r := s.roles[len(s.roles)-1]; len(r.MenuCodes) != 3 {
		t.Errorf("the role holds %v", r.MenuCodes)
	}
	if e := s.lastEntry(); e.Action != "role.update" || e.Subject != "sales" {
		t.Errorf("trail %+v", e)
	}
	s.post(action, url.Values{"page": {"shop.Nosuch"}}).must(t, 404)
	w.login("clerk", false, "EruptMenu@ADD")
	s.as("clerk", http.MethodPost, action, url.Values{"page": names[:1], "role": {"sales"}}).must(t, 403)
}

func TestMenusOfUnknownTypesAreShownAsSuch(t *testing.T) { // erupt-wire 5.2
	w := commerce()
	w.menus = append(w.menus, access.Menu{ID: 9, Code: "odd", Name: "Odd", Type: "hologram", Value: "x", Param: `{"a":1}`, Status: access.MenuOpen})
	s := newSite(t, w)
	row := document(t, s.get("/console/menus").must(t, 200)).Find("[data-code=odd]")
	if !row.HasClass("dim") || row.Find("[data-testid=unsupported]").Length() != 1 {
		t.Error("a menu that leads nowhere looks like one that does")
	}
	page := document(t, s.get("/console/menus/odd").must(t, 200))
	v := formValues(page.Find("[data-testid=menu-form]"))
	if v.Get("type") != "hologram" || v.Get("param") != `{"a":1}` {
		t.Errorf("the form holds %v", v)
	}
	for _, kind := range []string{"table", "tree", "form", "button", "api", "link", "newWindow", "selfWindow", "fill", "router", "tpl", "mtpl", "bi", "cube"} {
		if page.Find("#f-type option[value="+kind+"]").Length() != 1 {
			t.Errorf("the type %s cannot be chosen", kind)
		}
	}
}
