package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

const (
	sharedToken = "7H2KQ9ZX4M1CVB0P"
	shopEntry   = "erupt-cloud:node:shop"
)

// erupt-wire 11, item 10: MariaDB and Redis shared with a Java server of 2.2. The Java server is played here: it writes what
// erupt-wire 7.1 and 7.2 say, field by field, and reads nothing that it would not understand.
func TestErupt11_10Sharing(t *testing.T) {
	s := &javaSite{newAdoptedSite(t, "2.3", "EC_CLOUD_SERVER_SHARE_NAMESPACE=true")}
	t.Run("a session made there", s.sessionMadeThere)
	t.Run("a session made here", s.sessionMadeHere)
	t.Run("node entries", s.nodeEntries)
	t.Run("the database", s.database)
}

// javaSite is an adopted site as the Java server beside ours sees it.
type javaSite struct{ *adoptedSite }

// javaMenu is a menu as a Java server keeps it in a session, its fields in its order (erupt-wire 7.2).
type javaMenu struct {
	Name       string    `json:"name"`
	Status     *int      `json:"status"`
	ParentMenu *javaMenu `json:"parentMenu"`
	Type       *string   `json:"type"`
	Value      *string   `json:"value"`
	Sort       *int      `json:"sort"`
	Icon       *string   `json:"icon"`
	Code       string    `json:"code"`
	Param      *string   `json:"param"`
	CreateBy   *string   `json:"createBy"`
	CreateTime *string   `json:"createTime"`
	UpdateBy   *string   `json:"updateBy"`
	UpdateTime *string   `json:"updateTime"`
	ID         int64     `json:"id"`
}

// javaUser is the user of a session (erupt-wire 1.6).
type javaUser struct {
	ID         int64    `json:"id"`
	Account    string   `json:"account"`
	Username   string   `json:"username"`
	Org        *string  `json:"org"`
	Post       *string  `json:"post"`
	SuperAdmin bool     `json:"superAdmin"`
	Roles      []string `json:"roles"`
	TenantID   *string  `json:"tenantId"`
}

var sessionKinds = []string{"token", "user", "menu-view", "menu-value-map"}

func (s *javaSite) sessionMadeThere(t *testing.T) {
	const token, left = "aZ3kaZ3kaZ3kaZ3kaZ3kaZ", 99 * time.Minute
	ctx := t.Context()
	menu := func(id int, name, value, parent string) string {
		return fmt.Sprintf(`{"name":%q,"status":1,"parentMenu":%s,"type":"table","value":%q,"sort":100,"icon":"","code":"c%d","param":null,"createBy":null,`+
			`"createTime":"2026-07-20T09:15:02.118","updateBy":null,"updateTime":null,"id":%d}`, name, parent, value, id, id)
	}
	page := menu(201, "Customers", "shop.Customer", "null")
	for kind, value := range map[string]string{
		"token": "lin", "user": `{"id":2,"account":"lin","username":"Lin Yu","org":"D-01","post":"ENG","superAdmin":false,"roles":["sales"],"tenantId":null}`,
		"menu-view": `[{"id":201,"code":"aB3dE5gH","name":"Customers","type":"table","value":"shop.Customer","icon":"","pid":null}]`,
	} {
		s.client.Set(ctx, "erupt-auth:"+kind+":"+token, value, left)
	}
	s.client.HSet(ctx, "erupt-auth:menu-value-map:"+token, "shop.customer", page, "shop.customer@edit", menu(203, "EDIT", "shop.Customer@EDIT", page))
	s.client.Expire(ctx, "erupt-auth:menu-value-map:"+token, left)

	lin := s.server.as(token)
	if resp, raw := lin.call(http.MethodGet, "/erupt-api/userinfo", nil, nil); resp.StatusCode != http.StatusOK || !strings.Contains(string(raw), `"nickname":"Lin Yu"`) || !strings.Contains(string(raw), `"org":"D-01"`) {
		t.Errorf("userinfo = %d %s", resp.StatusCode, raw)
	}
	for code, want := range map[string]string{"shop.Customer@EDIT": "true", "shop.Customer@DELETE": "false", "EruptUser": "false"} {
		if resp, raw := lin.call(http.MethodGet, "/erupt-api/erupt-permission/"+code, nil, nil); string(raw) != want {
			t.Errorf("%s = %d %s, want %s", code, resp.StatusCode, raw, want)
		}
	}
	for _, kind := range sessionKinds {
		if got := s.client.TTL(ctx, "erupt-auth:"+kind+":"+token).Val(); got <= left-time.Minute || got > left {
			t.Errorf("%s lives %s after it was used here, want %s as before", kind, got, left)
		}
	}
	lin.must(http.MethodGet, "/erupt-api/logout", nil, http.StatusOK, nil)
	for _, kind := range sessionKinds {
		if s.client.Exists(ctx, "erupt-auth:"+kind+":"+token).Val() != 0 {
			t.Errorf("after the logout here the Java server still has %s", kind)
		}
	}
}

func (s *javaSite) sessionMadeHere(t *testing.T) {
	ctx := t.Context()
	in := s.posts(caller(t, "127.0.0.21"), "lin", "lin-pass-1")
	key := func(kind string) string { return "erupt-auth:" + kind + ":" + in.Token }
	if got := s.client.Get(ctx, key("token")).Val(); got != "lin" {
		t.Errorf("a Java server reads the account %q", got)
	}
	var user javaUser
	exactly(t, s.client.Get(ctx, key("user")).Val(), &user)
	if user.ID != 2 || user.Username != "Lin Yu" || *user.Org != "D-01" || user.SuperAdmin || !slices.Contains(user.Roles, "sales") {
		t.Errorf("a Java server reads the user %+v", user)
	}
	type seen struct {
		ID    int64   `json:"id"`
		Code  string  `json:"code"`
		Name  string  `json:"name"`
		Type  *string `json:"type"`
		Value *string `json:"value"`
		Icon  *string `json:"icon"`
		PID   *int64  `json:"pid"`
	}
	var view []seen
	exactly(t, s.client.Get(ctx, key("menu-view")).Val(), &view)
	if !slices.ContainsFunc(view, func(m seen) bool { return m.ID == 201 && *m.Value == "shop.Customer" && m.Code == "aB3dE5gH" }) {
		t.Errorf("a Java server reads the menus %+v", view)
	}
	values := s.client.HGetAll(ctx, key("menu-value-map")).Val()
	for _, want := range []string{"shop.customer", "shop.customer@add", "shop.customer@edit"} {
		if values[want] == "" {
			t.Errorf("a Java server does not find %s among %q", want, slices.Sorted(maps.Keys(values)))
		}
	}
	if values["shop.customer@delete"] != "" {
		t.Error("a Java server finds a right that lin does not have")
	}
	for value, text := range values {
		var m javaMenu
		exactly(t, text, &m)
		if m.Value == nil || strings.ToLower(*m.Value) != value || strings.Contains(value, "@") && m.ParentMenu == nil {
			t.Errorf("a Java server reads %s under %s", text, value)
		}
	}
	for _, kind := range sessionKinds {
		if left := s.client.TTL(ctx, key(kind)).Val(); left < 5*time.Minute || (left-s.client.TTL(ctx, key("token")).Val()).Abs() > 2*time.Second {
			t.Errorf("%s lives %s, which is not as long as the others", kind, left)
		}
	}
	lin := s.server.as(in.Token)
	lin.must(http.MethodGet, "/erupt-api/userinfo", nil, http.StatusOK, nil)
	for _, kind := range sessionKinds { // the logout of the Java server
		s.client.Del(ctx, key(kind))
	}
	eventually(t, patience, func() bool {
		resp, _ := lin.call(http.MethodGet, "/erupt-api/userinfo", nil, nil)
		return resp.StatusCode == http.StatusUnauthorized
	}, func() string { return "a session that ended at the Java server goes on here" })
}

// exactly decodes what has the fields of v, all of them, in its order and no other.
func exactly(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("a Java server cannot read %q: %v", text, err)
	}
	var again strings.Builder
	out := json.NewEncoder(&again)
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSuffix(again.String(), "\n"); got != text {
		t.Errorf("a Java server would write\n%s\nand finds\n%s", got, text)
	}
}

// javaEntry has the fields of a node's entry, in the order of a server of 2.1 or later (erupt-wire 7.1).
type javaEntry struct {
	RegisterTime string              `json:"registerTime"`
	Locations    []string            `json:"locations"`
	InstanceID   string              `json:"instanceId"`
	Version      string              `json:"version"`
	NodeName     string              `json:"nodeName"`
	AccessToken  *string             `json:"accessToken"`
	NodeAddress  []string            `json:"nodeAddress"`
	EruptModules []string            `json:"eruptModules"`
	Erupts       []string            `json:"erupts"`
	Resources    map[string][]string `json:"resources"`
}

// reads is the first half of what Java does with an entry, writes the second: it locks nothing.
func (s *javaSite) reads(t *testing.T) (e javaEntry) {
	t.Helper()
	if text := s.client.Get(t.Context(), shopEntry).Val(); text != "" {
		exactly(t, text, &e)
	}
	return e
}

func (s *javaSite) writes(t *testing.T, e javaEntry) {
	t.Helper()
	if len(e.Locations) == 0 {
		s.client.Del(t.Context(), shopEntry)
		return
	}
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.Set(t.Context(), shopEntry, raw, 10*time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
}

func (s *javaSite) nodeEntries(t *testing.T) {
	s.server.Token = s.posts(caller(t, "127.0.0.22"), "erupt", "erupt").Token
	settings := testbed.EruptSettings{Name: "shop", Version: "2.2.0", Token: sharedToken, Server: s.server.URL}
	there, here := testbed.NewEruptNode(t, settings), testbed.NewEruptNode(t, settings)

	// Written there, read here.
	token := sharedToken
	beats := func() {
		e := s.reads(t)
		if !slices.Contains(e.Locations, there.URL()) {
			e.Locations = append(e.Locations, there.URL())
		}
		s.writes(t, javaEntry{
			RegisterTime: time.Now().Format("2006-01-02T15:04:05.000"), Locations: e.Locations, InstanceID: there.Instance, Version: "2.2.0", NodeName: "shop",
			AccessToken: &token, NodeAddress: []string{there.URL()}, EruptModules: []string{"erupt-jpa"}, Erupts: []string{"Customer"},
		})
	}
	beats()
	if in := s.server.awaitInstances("shop", 1, patience)[0]; in.Location != there.URL() || in.InstanceID != there.Instance || in.Version != "2.2.0" {
		t.Errorf("what registered there is %+v here", in)
	}
	if status, raw := s.server.table(t, "shop.Customer"); status != http.StatusOK || !strings.Contains(raw, "Customer 1") {
		t.Errorf("a page of what registered there = %d %.300s", status, raw)
	}
	if seen := there.Requests("/erupt-api/data/table/Customer"); len(seen) == 0 || seen[0].Header.Get("Access-Token") != sharedToken {
		t.Errorf("the node was asked %d times, want once with its token", len(seen))
	}

	// Written here, read there.
	if answer, err := here.Register(); err != nil || answer.Status != http.StatusOK {
		t.Fatalf("registration = %d %s %v", answer.Status, answer.Body, err)
	}
	s.server.awaitInstances("shop", 2, patience)
	eventually(t, patience, func() bool { return len(s.reads(t).Locations) == 2 }, func() string { return fmt.Sprintf("a Java server reads %+v", s.reads(t)) })
	e := s.reads(t)
	if !slices.Contains(e.Locations, there.URL()) || !slices.Contains(e.Locations, here.URL()) || e.NodeName != "shop" || e.AccessToken == nil || *e.AccessToken != sharedToken {
		t.Errorf("a Java server reads %+v", e)
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000", e.RegisterTime); err != nil {
		t.Errorf("a Java server cannot read the time %q", e.RegisterTime)
	}
	if left := s.client.TTL(t.Context(), shopEntry).Val(); left <= 0 {
		t.Errorf("the entry lives %s", left)
	}
	beats() // and goes on with it

	// Leaving on either side.
	if answer, err := here.Remove(); err != nil || answer.Status != http.StatusOK {
		t.Fatalf("removal = %d %s %v", answer.Status, answer.Body, err)
	}
	s.server.awaitInstances("shop", 1, patience)
	eventually(t, patience, func() bool { return slices.Equal(s.reads(t).Locations, []string{there.URL()}) }, func() string { return fmt.Sprintf("after a node left here a Java server reads %+v", s.reads(t)) })
	s.writes(t, javaEntry{})
	s.server.awaitInstances("shop", 0, patience)

	// Alone, ours writes the whole entry.
	if answer, err := here.Register(); err != nil || answer.Status != http.StatusOK {
		t.Fatalf("registration = %d %s %v", answer.Status, answer.Body, err)
	}
	eventually(t, patience, func() bool { return len(s.reads(t).Locations) == 1 }, func() string { return fmt.Sprintf("a Java server reads %+v", s.reads(t)) })
	if e := s.reads(t); e.InstanceID != here.Instance || e.Version != "2.2.0" || !slices.Equal(e.NodeAddress, []string{here.URL()}) ||
		!slices.Equal(e.Erupts, []string{"Customer", "PriceForm"}) || !slices.Equal(e.EruptModules, []string{"erupt-jpa", "erupt-tpl"}) ||
		!slices.Equal(e.Resources["flow"], []string{"approve-order", "审批"}) {
		t.Errorf("a Java server reads %+v", e)
	}
}

// database: rows that one writes the other goes by. Nodes are read anew for every list that somebody looks at, and every half
// minute without that.
func (s *javaSite) database(t *testing.T) {
	const rotated = "NEWTOKEN0000000A"
	if _, err := s.db.Exec("UPDATE e_cloud_node SET access_token = ?, config = ?, update_by = 'Lin Yu', update_time = NOW(6) WHERE node_name = 'shop'", rotated, `{"limit": 6}`); err != nil {
		t.Fatal(err)
	}
	status, config := 0, ""
	eventually(t, patience, func() bool {
		s.server.must(http.MethodGet, "/api/v1/nodes", nil, http.StatusOK, nil)
		resp, raw := s.server.call(http.MethodGet, "/erupt-cloud-api/node-config/shop", nil, http.Header{"Access-Token": {rotated}})
		status, config = resp.StatusCode, string(raw)
		return status == http.StatusOK && config == `{"limit": 6}`
	}, func() string {
		return fmt.Sprintf("with the token and the configuration that a Java server wrote the answer is %d %q", status, config)
	})
	s.server.must(http.MethodPatch, "/api/v1/nodes/shop", map[string]any{"name": "Shop of both"}, http.StatusOK, nil)
	if got := cellOf(t, s.db, "SELECT CONCAT_WS('|', name, access_token, config, HEX(status), cloud_node_group_id, duty) FROM e_cloud_node WHERE node_name = 'shop'"); got != `Shop of both|`+rotated+`|{"limit": 6}|1|1|["erupt","lin"]` {
		t.Errorf("after an edit here a Java server reads %s", got)
	}
	if _, err := s.db.Exec("UPDATE e_upms_user SET status = b'0' WHERE account = 'oldlin'"); err != nil {
		t.Fatal(err)
	}
	if in := s.posts(caller(t, "127.0.0.23"), "oldlin", "oldl-pass-1"); in.Pass {
		t.Error("whom a Java server disabled is let in")
	}
}
