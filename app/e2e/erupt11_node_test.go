package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

// erupt-wire 11, item 2: shutdown with and without locations, and the drain of nodes from 2.1 on.
func TestErupt11_02Shutdown(t *testing.T) {
	f := javaFarm(t)
	// The context path is part of what leaves; a node of 1.12 names nothing and no longer answers when it calls.
	f.javaTwo.term()
	for _, s := range f.both() {
		if left := s.awaitInstances(javaName, 1, patience); left[0].Location != f.javaOne.URL {
			t.Errorf("%s has %+v left, want %s", s.URL, left, f.javaOne.URL)
		}
	}
	for _, version := range played {
		n := f.playedNode(t, version)
		if answer, err := n.Register(); err != nil || answer.Status != http.StatusOK {
			t.Fatalf("%s: registration answered %d %s %v", version, answer.Status, answer.Body, err)
		}
		f.two.awaitInstances(n.Name, 1, patience)
		drains := version != "2.0.4"
		under := make(chan int, 1)
		if drains {
			go func() { under <- f.blocked(n.Name) }()
			eventually(t, patience, func() bool { return n.Count("/erupt-api/data/Customer/operator/block") == 1 }, func() string { return version + ": the request did not arrive" })
		}
		gone := make(chan testbed.Answer, 1)
		go func() {
			answer, _ := n.Shutdown()
			gone <- answer
		}()
		for _, s := range f.both() {
			s.awaitInstances(n.Name, 0, patience)
		}
		if drains {
			n.Unblock()
			if status := <-under; status != http.StatusOK {
				t.Errorf("%s: a request under way at the goodbye ended with %d, want 200", version, status)
			}
		}
		if answer := <-gone; answer.Status != http.StatusOK || answer.Body != "" {
			t.Errorf("%s: the goodbye was answered %d %q, want 200 and nothing", version, answer.Status, answer.Body)
		}
	}
}

// blocked sends a request to a played node that does not end by itself, and returns its status.
func (f *farm) blocked(node string) int {
	resp, _ := f.one.call(http.MethodPost, "/erupt-api/data/"+node+".Customer/operator/block", strings.NewReader(`{"ids":[],"param":null}`), http.Header{"Erupt": {node + ".Customer"}})
	return resp.StatusCode
}

// erupt-wire 11, item 3: node-config and node-group-config with UTF-8, empty, missing and with a bad token, as the node's
// application sees them.
func TestErupt11_03Config(t *testing.T) {
	f := javaFarm(t)
	const own, common = `{"greeting": "你好 grün €", "limit": 9007199254740993}`, `{"region": "欧洲", "nested": {"a": [1, 2.50]}}`
	var players []*testbed.EruptNode
	names := []string{javaName}
	for _, version := range played {
		n := f.playedNode(t, version)
		players, names = append(players, n), append(names, n.Name)
	}
	seen := func(what, wantOwn, wantCommon string) {
		t.Helper()
		for _, n := range []*javaNode{f.javaOne, f.javaTwo} {
			if a, b := n.get("/test/config", nil), n.get("/test/group-config", nil); a != wantOwn || b != wantCommon {
				t.Errorf("%s: the application reads %q and %q, want %q and %q", what, a, b, wantOwn, wantCommon)
			}
		}
		for _, n := range players {
			a, err := n.Config()
			b, err2 := n.GroupConfig()
			if a != wantOwn || b != wantCommon || err != nil || err2 != nil {
				t.Errorf("%s: %s reads %q and %q, %v %v; want %q and %q", what, n.Version, a, b, err, err2, wantOwn, wantCommon)
			}
		}
	}
	seen("nothing published, no group", "", "")
	f.one.must(http.MethodPost, "/api/v1/groups", map[string]any{"code": "halls", "name": "Halls"}, http.StatusCreated, nil)
	for _, name := range names {
		f.one.must(http.MethodPatch, "/api/v1/nodes/"+name, map[string]any{"group": "halls"}, http.StatusOK, nil)
	}
	seen("an empty group", "", "")
	f.two.publish("/api/v1/groups/halls/config", common)
	for _, name := range names {
		f.two.publish("/api/v1/nodes/"+name+"/config", own)
	}
	seen("published at the other replica", own, common)
	for _, version := range played {
		for what, token := range map[string]string{"a wrong token": "WRONG", "no token": ""} {
			n := testbed.NewEruptNode(t, testbed.EruptSettings{Name: javaName, Version: version, Token: token, Server: f.one.URL})
			a, err := n.Config()
			b, err2 := n.GroupConfig()
			if a != "" || b != "" || err != nil || err2 != nil {
				t.Errorf("%s, %s: the application reads %q and %q, %v %v; want nothing and no exception", version, what, a, b, err, err2)
			}
		}
	}
	for _, name := range names {
		f.one.publish("/api/v1/nodes/"+name+"/config", "null")
		f.one.must(http.MethodPatch, "/api/v1/nodes/"+name, map[string]any{"group": nil}, http.StatusOK, nil)
	}
	f.one.must(http.MethodDelete, "/api/v1/groups/halls", nil, http.StatusNoContent, nil)
	seen("taken back", "", "")
}

// lin makes a user who may see and edit customers, but not add or delete any, and returns his session.
func (f *farm) lin() string {
	f.Helper()
	if f.sessions["lin"] == "" {
		for _, value := range []string{"warehouse.Customer", "warehouse.Customer@EDIT"} {
			kind := map[bool]string{true: "button", false: "table"}[strings.Contains(value, "@")]
			f.one.must(http.MethodPost, "/api/v1/menus", map[string]any{"code": value, "name": value, "type": kind, "value": value}, http.StatusCreated, nil)
		}
		f.one.must(http.MethodPost, "/api/v1/roles", map[string]any{"code": "clerk", "name": "Clerk", "menus": []string{"warehouse.Customer", "warehouse.Customer@EDIT"}}, http.StatusCreated, nil)
		f.one.hires("lin", "Lin Yu 林", staffPassword, map[string]any{"roles": []string{"clerk"}})
	}
	f.sessions["lin"] = f.one.login("lin", staffPassword)
	return f.sessions["lin"]
}

// erupt-wire 11, item 4: erupt-power with valid, expired and missing tokens. A session that has ended shows no buttons at the
// node and cannot write there, whoever sends it.
func TestErupt11_04Power(t *testing.T) {
	f := javaFarm(t)
	lin := f.lin()
	header := http.Header{"erupt": {"warehouse.Customer"}, "token": {lin}}
	f.forgetAll()
	_, raw := f.two.call(http.MethodGet, "/erupt-api/build/warehouse.Customer", nil, header)
	var model struct{ Power map[string]bool }
	if err := json.Unmarshal(raw, &model); err != nil {
		t.Fatalf("build: %v %.300s", err, raw)
	}
	want := map[string]bool{"add": false, "edit": true, "delete": false, "export": false, "importable": false, "query": true}
	for flag, may := range want {
		if model.Power[flag] != may {
			t.Errorf("power of an editor has %s=%v, want %v", flag, model.Power[flag], may)
		}
	}
	handle := f.handle(t)
	if handle == lin || handle == "" {
		t.Errorf("the node was handed %q, want a token of its own", handle)
	}
	before := f.javaOne.rows("customer")
	for _, c := range []struct {
		path string
		body any
		want int
	}{
		{"/erupt-api/data/modify/warehouse.Customer", map[string]any{"name": "x", "level": "VIP"}, http.StatusForbidden},
		{"/erupt-api/data/modify/warehouse.Customer/delete", []int{9}, http.StatusForbidden},
		{"/erupt-api/data/modify/warehouse.Customer/update", map[string]any{"id": 9, "name": "Customer 9", "code": "C-0009", "level": "STD"}, http.StatusOK},
	} {
		if resp, raw := f.two.call(http.MethodPost, c.path, c.body, header); resp.StatusCode != c.want {
			t.Errorf("%s = %d %s, want %d", c.path, resp.StatusCode, raw, c.want)
		}
	}
	f.applicationSees(t, header, handle)
	f.buttonsOf(t)
	// The node itself, asked as the server asks it, with what it may still remember.
	f.one.must(http.MethodGet, "/erupt-api/userinfo", nil, http.StatusOK, nil)
	if resp, _ := f.one.call(http.MethodGet, "/erupt-api/logout", nil, http.Header{"token": {lin}}); resp.StatusCode != http.StatusOK {
		t.Fatalf("logout = %d", resp.StatusCode)
	}
	for _, n := range []*javaNode{f.javaOne, f.javaTwo} {
		for what, token := range map[string]string{"ended": handle, "unknown": "nonsense", "missing": ""} {
			eventually(t, patience, func() bool { return f.powerless(t, n, token) }, func() string { return "a session that is " + what + " has power at " + n.URL })
		}
	}
	if after := f.javaOne.rows("customer"); len(after) != len(before) {
		t.Errorf("%d rows became %d", len(before), len(after))
	}
}

// handle is the token that the newest request brought to a node.
func (f *farm) handle(t *testing.T) string {
	t.Helper()
	for _, n := range []*javaNode{f.javaOne, f.javaTwo} {
		var all []struct {
			URI     string
			Headers map[string][]string
		}
		n.get("/test/requests", &all)
		for _, r := range all {
			if strings.Contains(r.URI, "/erupt-api/") && len(r.Headers["token"]) == 1 {
				return r.Headers["token"][0]
			}
		}
	}
	return ""
}

// applicationSees compares what the application on the node hears of a user, in a request and with the token of one.
func (f *farm) applicationSees(t *testing.T, header http.Header, handle string) {
	t.Helper()
	_, raw := f.one.call(http.MethodPost, "/erupt-api/data/warehouse.Customer/operator/whoami", map[string]any{"ids": []int{}, "param": nil}, header)
	var out struct{ Message string }
	var heard struct {
		Header   struct{ Account, Name string }
		Userinfo struct {
			Account, Username string
			SuperAdmin        bool
			Roles             []string
		}
		Secret bool
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("whoami: %v %.300s", err, raw)
	}
	if err := json.Unmarshal([]byte(out.Message), &heard); err != nil {
		t.Fatalf("whoami: %v %.300s", err, raw)
	}
	if u := heard.Userinfo; heard.Header.Account != "lin" || heard.Header.Name != "Lin Yu 林" || u.Account != "lin" || u.Username != "Lin Yu 林" || u.SuperAdmin ||
		fmt.Sprint(u.Roles) != "[clerk]" || heard.Secret {
		t.Errorf("the application hears %+v", heard)
	}
	for _, n := range []*javaNode{f.javaOne, f.javaTwo} {
		if got := n.get("/test/userinfo?token="+handle, nil); !strings.Contains(got, `"account":"lin"`) {
			t.Errorf("userinfo by the node's token is %s", got)
		}
		for value, want := range map[string]string{"warehouse.Customer": "true", "WAREHOUSE.customer@edit": "true", "warehouse.Customer@ADD": "false", "warehouse.Ledger": "false"} {
			if got := n.get("/test/permission?token="+handle+"&value="+value, nil); got != want {
				t.Errorf("permission %s is %s, want %s", value, got, want)
			}
		}
	}
}

// buttonsOf looks at the page as lin sees it.
func (f *farm) buttonsOf(t *testing.T) {
	t.Helper()
	b := browse(t, f.two)
	b.login("lin", staffPassword)
	b.open("/console/pages/warehouse.Customer")
	b.shows(`[data-testid=view-row][data-id="8"]`)
	for _, button := range []string{"page-new", "page-delete", "page-export", "page-import"} {
		if b.eval(`Boolean(document.querySelector("[data-testid=`+button+`]")?.checkVisibility())`) == "true" {
			t.Errorf("an editor is offered %s", button)
		}
	}
	b.click(`[data-testid=view-row][data-id="8"] a`)
	b.shows("[data-testid=record-save]")
}

// powerless asks a node directly, as the server does; it reports whether the token gives no button and no write.
func (f *farm) powerless(t *testing.T, n *javaNode, token string) bool {
	t.Helper()
	_, raw := f.ask(n, token, http.MethodGet, "/erupt-api/build/Customer", "", "Customer")
	var model struct{ Power map[string]bool }
	if err := json.Unmarshal(raw, &model); err != nil {
		t.Fatalf("build at the node: %v %.300s", err, raw)
	}
	resp, _ := f.ask(n, token, http.MethodPost, "/erupt-api/data/modify/Customer", `{"name":"by nobody","level":"VIP"}`, "Customer")
	return resp.StatusCode == http.StatusInternalServerError && !model.Power["add"] && !model.Power["edit"] && !model.Power["delete"]
}

// ask sends a request to a node as the server does, with its access token and a user.
func (f *farm) ask(n *javaNode, token, method, path, body, erupt string) (*http.Response, []byte) {
	f.Helper()
	req, err := http.NewRequestWithContext(f.Context(), method, n.URL+path, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	user := base64.StdEncoding.EncodeToString([]byte(`{"uid":1,"account":"erupt","name":"erupt","tenantId":null}`))
	req.Header = http.Header{"Access-Token": {f.token}, "Erupt": {erupt}, "User": {user}, "Lang": {"en-US"}}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		req.Header.Set("token", token)
	}
	resp, err := (&http.Client{Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		f.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		f.Fatal(err)
	}
	return resp, raw
}

// publish gives a node or a group a configuration, null for none.
func (s *server) publish(path, config string) {
	s.t.Helper()
	var now struct{ Revision int64 }
	s.must(http.MethodGet, path, nil, http.StatusOK, &now)
	s.must(http.MethodPut, path, strings.NewReader(fmt.Sprintf(`{"baseRevision":%d,"config":%s}`, now.Revision, config)), http.StatusOK, nil)
}
