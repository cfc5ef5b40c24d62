package restapi_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
)

type page[T any] struct {
	Items []T
	Total int
}

type nodeT struct {
	NodeName, Name, State string
	Group, Version        *string
	Enabled               bool
	Instances             int
	Erupts                []string
	AccessToken           *string
}

type holdT struct {
	Reason, Account, Created string
	Locations                []string
}

type instanceT struct {
	InstanceID, Location, State string
	Locations                   []string
	Version                     *string
	LastHeartbeat, Registered   *string
	Hold                        *holdT
	Drain                       *struct{ Reason, Account, Created string }
}

func names(p page[nodeT]) string {
	var out []string
	for _, n := range p.Items {
		out = append(out, n.NodeName)
	}
	return strings.Join(out, " ")
}

func TestNodeStates(t *testing.T) {
	a, b := "http://10.0.0.1:8080", "http://10.0.0.2:8080"
	hold := func(w *world, locations ...string) {
		for _, l := range locations {
			w.held[l] = fleet.Hold{Node: "orders", Location: l}
		}
	}
	drain := func(t *testing.T, w *world, locations ...string) {
		if err := w.registry.Drain(t.Context(), "orders", locations, start.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		setUp func(*testing.T, *world)
		want  string
	}{
		"two instances":           {func(*testing.T, *world) {}, "up"},
		"one of two held":         {func(_ *testing.T, w *world) { hold(w, a) }, "up"},
		"both held":               {func(_ *testing.T, w *world) { hold(w, a, b) }, "held"},
		"both drain":              {func(t *testing.T, w *world) { drain(t, w, a, b) }, "draining"},
		"one drains, one up":      {func(t *testing.T, w *world) { drain(t, w, a) }, "up"},
		"one drains, one held":    {func(t *testing.T, w *world) { drain(t, w, a); hold(w, b) }, "held"},
		"hold of another node":    {func(_ *testing.T, w *world) { w.held[a] = fleet.Hold{Node: "stock"}; w.held[b] = w.held[a] }, "up"},
		"disabled beats the rest": {func(_ *testing.T, w *world) { w.nodes["orders"] = fleet.Node{Name: "orders"} }, "disabled"},
		"gone":                    {func(t *testing.T, w *world) { mustRemove(t, w, a, b) }, "offline"},
		"gone and never seen here": {func(t *testing.T, w *world) {
			mustRemove(t, w, a, b)
			w.nodes["orders"] = fleet.Node{Name: "orders", Enabled: true}
		}, "never_seen"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.register(t, "orders", "i1", "2.0.3", a)
			w.register(t, "orders", "i2", "2.0.4", b)
			tt.setUp(t, w)
			var n nodeT
			if w.get(t, "/api/v1/nodes/orders", &n); n.State != tt.want {
				t.Errorf("state %q, want %q", n.State, tt.want)
			}
			var list page[nodeT]
			if w.get(t, "/api/v1/nodes?state="+tt.want, &list); !strings.Contains(names(list), "orders") || list.Total != len(list.Items) {
				t.Errorf("not found by its state: %+v", list)
			}
		})
	}
}

func mustRemove(t *testing.T, w *world, locations ...string) {
	t.Helper()
	if _, err := w.registry.RemoveLocations(t.Context(), "orders", locations, "leave"); err != nil {
		t.Fatal(err)
	}
}

func TestNode(t *testing.T) {
	w := newWorld(t)
	w.register(t, "orders", "i1", "2.0.3", "http://10.0.0.1:8080")
	w.register(t, "orders", "i2", "2.0.4", "http://10.0.0.2:8080")
	var n nodeT
	w.get(t, "/api/v1/nodes/orders", &n)
	if n.Name != "Orders" || *n.Group != "eu" || !n.Enabled || n.Instances != 2 || !slices.Equal(n.Erupts, []string{"Customer", "Order"}) || n.AccessToken != nil {
		t.Errorf("node %+v", n)
	}
	var idle nodeT
	if w.get(t, "/api/v1/nodes/stock", &idle); idle.Group != nil || idle.Version != nil || idle.Erupts == nil || idle.State != "never_seen" {
		t.Errorf("node without instances %+v", idle)
	}
}

func TestListsOfNodes(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		n := fmt.Sprintf("x%02d", i)
		w.nodes[n] = fleet.Node{Name: n, Enabled: i%2 == 0}
	}
	tests := map[string]struct {
		query string
		count int
		total int
		first string
	}{
		"usual page":              {"", 20, 32, "orders"},
		"second page":             {"?page=2", 12, 32, "x18"},
		"past the end":            {"?page=3", 0, 32, ""},
		"far past the end":        {"?page=1000000&pageSize=500", 0, 32, ""},
		"largest page":            {"?pageSize=500", 32, 32, "orders"},
		"search":                  {"?q=x0", 10, 10, "x00"},
		"disabled":                {"?enabled=false&pageSize=500", 15, 15, "x01"},
		"by group":                {"?group=eu", 1, 1, "orders"},
		"by state, second page":   {"?state=disabled&page=2&pageSize=10", 5, 15, "x21"},
		"by state, past the end":  {"?state=disabled&page=9", 0, 15, ""},
		"by state and search":     {"?state=never_seen&q=x1", 5, 5, "x10"},
		"nothing in such a state": {"?state=draining", 0, 0, ""},
	}
	for name, tt := range tests {
		var got page[nodeT]
		w.get(t, "/api/v1/nodes"+tt.query, &got)
		first := ""
		if len(got.Items) > 0 {
			first = got.Items[0].NodeName
		}
		if got.Items == nil || len(got.Items) != tt.count || got.Total != tt.total || first != tt.first {
			t.Errorf("%s: %d items of %d from %q, want %d of %d from %q", name, len(got.Items), got.Total, first, tt.count, tt.total, tt.first)
		}
	}
	for _, query := range []string{"?page=x", "?pageSize=501", "?enabled=perhaps", "?state=UP"} {
		if res := w.do("GET", "/api/v1/nodes"+query, "", "root"); res.Code != 400 || !strings.Contains(res.Body.String(), `"fields":{"`) {
			t.Errorf("%s answered %d %s, want 400 that names the parameter", query, res.Code, res.Body)
		}
	}
}

func TestCreateNode(t *testing.T) {
	w := newWorld(t)
	res := w.do("POST", "/fleet/api/v1/nodes", `{"nodeName":"pay","name":"Payments","group":"eu"}`, "root")
	if res.Code != 201 || res.Header().Get("Location") != "/fleet/api/v1/nodes/pay" || !strings.Contains(res.Body.String(), `"accessToken":"GENERATED0123456"`) {
		t.Errorf("answered %d, Location %q, %s", res.Code, res.Header().Get("Location"), res.Body)
	}
	if n := w.nodes["pay"]; !n.Enabled || n.Group != "eu" || n.Display != "Payments" {
		t.Errorf("created %+v", n)
	}
	res = w.do("POST", "/api/v1/nodes", `{"nodeName":"own","accessToken":"MYOWNTOKEN","enabled":false}`, "root")
	if res.Code != 201 || !strings.Contains(res.Body.String(), `"accessToken":"MYOWNTOKEN"`) || w.nodes["own"].Enabled {
		t.Errorf("with a token of one's own answered %d %s", res.Code, res.Body)
	}
	if body := w.do("GET", "/api/v1/nodes/own", "", "root").Body.String(); strings.Contains(body, "TOKEN") {
		t.Errorf("reading shows the token: %s", body)
	}
	for _, e := range w.audit {
		if strings.Contains(string(e.Params), "TOKEN") || strings.Contains(w.log.String(), "MYOWN") {
			t.Errorf("the trail or the log holds a token: %s", e.Params)
		}
	}
}

func TestPatchChangesWhatItNames(t *testing.T) {
	tests := map[string]struct {
		body string
		want fleet.Node
	}{
		"name only":        {`{"name":"X"}`, fleet.Node{Display: "X", Group: "eu", Enabled: true}},
		"null clears":      {`{"group":null}`, fleet.Node{Display: "Orders", Enabled: true}},
		"empty clears":     {`{"group":""}`, fleet.Node{Display: "Orders", Enabled: true}},
		"another group":    {`{"group":"de","enabled":false}`, fleet.Node{Display: "Orders", Group: "de"}},
		"false is a value": {`{"enabled":false}`, fleet.Node{Display: "Orders", Group: "eu"}},
	}
	for name, tt := range tests {
		w := newWorld(t)
		res := w.do("PATCH", "/api/v1/nodes/orders", tt.body, "root")
		n := w.nodes["orders"]
		if res.Code != 200 || n.Display != tt.want.Display || n.Group != tt.want.Group || n.Enabled != tt.want.Enabled {
			t.Errorf("%s: answered %d, node %+v, want %+v", name, res.Code, n, tt.want)
		}
	}
	for name, body := range map[string]string{"nothing": `{}`, "unknown": `{"nam":"X"}`, "the id": `{"nodeName":"x"}`, "derived": `{"state":"up"}`,
		"wrong type": `{"group":5}`, "wrong type in a text": `{"name":false}`, "the token": `{"accessToken":"x"}`, "array": `[]`} {
		w := newWorld(t)
		if res := w.do("PATCH", "/api/v1/nodes/orders", body, "root"); res.Code != 400 || w.nodes["orders"].Display != "Orders" || len(w.audit) != 0 {
			t.Errorf("%s: %s answered %d %s, want 400 and no change", name, body, res.Code, res.Body)
		}
	}
}

func TestInstances(t *testing.T) {
	w := newWorld(t)
	w.register(t, "orders", "a/b c+d", "2.0.4", "http://10.0.0.1:8080", "http://10.0.0.1:8081")
	const item = "/api/v1/nodes/orders/instances/a%2Fb%20c+d"
	var list page[instanceT]
	w.get(t, "/api/v1/nodes/orders/instances", &list)
	in := list.Items[0]
	if list.Total != 1 || in.InstanceID != "a/b c+d" || in.Location != "http://10.0.0.1:8080" || len(in.Locations) != 2 || in.State != "up" || in.Hold != nil ||
		*in.Version != "2.0.4" || *in.Registered != "2026-07-01T12:00:00.000Z" || *in.LastHeartbeat != "2026-07-01T12:00:00.000Z" {
		t.Errorf("instance %+v", in)
	}
	if res := w.do("PUT", item+"/hold", `{"reason":"memory leak"}`, "root"); res.Code != 200 || !strings.Contains(res.Body.String(), `"reason":"memory leak","account":"erupt","created":"2026-07-01T12:00:00.000Z"`) {
		t.Errorf("hold answered %d %s", res.Code, res.Body)
	}
	if res := w.do("PUT", item+"/hold", `{"reason":"another"}`, "root"); res.Code != 200 || !strings.Contains(res.Body.String(), "memory leak") {
		t.Errorf("the same hold again answered %d %s, want the one that is there", res.Code, res.Body)
	}
	w.get(t, "/api/v1/nodes/orders/instances", &list)
	if in := list.Items[0]; in.State != "held" || in.Hold == nil || len(in.Hold.Locations) != 2 {
		t.Errorf("held instance %+v", in)
	}
	delete(w.held, "http://10.0.0.1:8081")
	w.get(t, "/api/v1/nodes/orders/instances", &list)
	if in := list.Items[0]; in.State != "up" || in.Hold == nil {
		t.Errorf("with one of two locations held: %+v, want up, and the hold shown", in)
	}
	if res := w.do("DELETE", item+"/hold", "", "root"); res.Code != 204 || len(w.held) != 0 {
		t.Errorf("lifting the rest answered %d %s, %v left", res.Code, res.Body, w.held)
	}
	if res := w.do("PUT", item+"/hold", "", "root"); res.Code != 200 {
		t.Errorf("a hold without a body answered %d %s, want 200: a reason is no must", res.Code, res.Body)
	}
	if res := w.do("DELETE", item, "", "root"); res.Code != 204 || len(w.registry.View().Node("orders")) != 0 {
		t.Errorf("removing answered %d %s, %v left", res.Code, res.Body, w.registry.View().Node("orders"))
	}
	if len(w.held) != 2 {
		t.Errorf("removing an instance lifted its hold: %v", w.held)
	}
}

func TestInstancesOfOneNodeOnly(t *testing.T) {
	w := newWorld(t)
	w.register(t, "stock", "i9", "2", "http://10.0.0.9:1")
	for _, method := range []string{"DELETE", "PUT"} {
		target := "/api/v1/nodes/orders/instances/i9"
		if method == "PUT" {
			target += "/hold"
		}
		if res := w.do(method, target, "", "root"); res.Code != 404 || len(w.registry.View().Node("stock")) != 1 {
			t.Errorf("%s of another node's instance answered %d %s", method, res.Code, res.Body)
		}
	}
}

func TestGroups(t *testing.T) {
	w := newWorld(t)
	var g struct {
		Code, Name, Remark string
		Parent             *string
	}
	if w.get(t, "/api/v1/groups/de", &g); g.Parent == nil || *g.Parent != "eu" {
		t.Errorf("group %+v, want its parent's code", g)
	}
	if res := w.do("PATCH", "/api/v1/groups/de", `{"parent":null}`, "root"); res.Code != 200 || !strings.Contains(res.Body.String(), `"parent":null`) {
		t.Errorf("making it a root answered %d %s", res.Code, res.Body)
	}
	if res := w.do("POST", "/api/v1/groups", `{"code":"fr","parent":"eu"}`, "root"); res.Code != 201 || !strings.Contains(res.Body.String(), `"parent":"eu"`) {
		t.Errorf("creating answered %d %s", res.Code, res.Body)
	}
}

func TestUsers(t *testing.T) {
	w := newWorld(t)
	res := w.do("POST", "/api/v1/users", `{"account":"an@b.c","password":"SECRET-PASSWORD","roles":["clerk"]}`, "root")
	if res.Code != 201 || res.Header().Get("Location") != "/fleet/api/v1/users/an@b.c" || strings.Contains(res.Body.String(), "SECRET") || !w.users["an@b.c"].Enabled {
		t.Errorf("answered %d, Location %q, %s", res.Code, res.Header().Get("Location"), res.Body)
	}
	if res := w.do("PATCH", "/api/v1/users/lin", `{"password":"SECRET-PASSWORD","roles":[]}`, "root"); res.Code != 200 || !strings.Contains(res.Body.String(), `"roles":[]`) {
		t.Errorf("answered %d %s", res.Code, res.Body)
	}
	for _, e := range w.audit {
		if strings.Contains(string(e.Params), "SECRET") {
			t.Errorf("the trail holds a password: %s", e.Params)
		}
	}
	want := access.Actor{Account: "erupt", Admin: true}
	for _, by := range w.actors {
		if by != want {
			t.Errorf("changed in the name of %+v, want %+v", by, want)
		}
	}
}

func TestRoles(t *testing.T) {
	w := newWorld(t)
	res := w.do("POST", "/api/v1/roles", `{"code":"x y","name":"X","menus":["m1"],"sort":3}`, "root")
	if res.Code != 201 || res.Header().Get("Location") != "/fleet/api/v1/roles/x%20y" {
		t.Errorf("answered %d, Location %q", res.Code, res.Header().Get("Location"))
	}
	if res := w.do("GET", "/api/v1/roles/x%20y", "", "root"); res.Code != 200 || res.Body.String() != `{"code":"x y","name":"X","sort":3,"enabled":true,"menus":["m1"],"readOnly":false,"groups":[]}` {
		t.Errorf("answered %d %s", res.Code, res.Body)
	}
}

// D21: a role is limited by flag and by codes of groups.
func TestRoleLimits(t *testing.T) {
	w := newWorld(t)
	res := w.do("POST", "/api/v1/roles", `{"code":"r","readOnly":true,"groups":["de","eu"]}`, "root")
	if want := `"readOnly":true,"groups":["de","eu"]}`; res.Code != 201 || !strings.Contains(res.Body.String(), want) || w.roles["r"].Groups[0] != 2 {
		t.Errorf("answered %d %s, want %s; kept %+v", res.Code, res.Body, want, w.roles["r"])
	}
	r := w.roles["r"]
	r.Groups = append(r.Groups, 77) // deleted since
	w.roles["r"] = r
	if res := w.do("GET", "/api/v1/roles", "", "root"); !strings.Contains(res.Body.String(), `"groups":["de","eu","#77"]`) {
		t.Errorf("answered %s, want the group that is gone too", res.Body)
	}
	if res := w.do("PATCH", "/api/v1/roles/r", `{"readOnly":false,"groups":[]}`, "root"); res.Code != 200 || !strings.Contains(res.Body.String(), `"readOnly":false,"groups":[]`) {
		t.Errorf("answered %d %s", res.Code, res.Body)
	}
	for method, target := range map[string]string{"POST": "/api/v1/roles", "PATCH": "/api/v1/roles/r"} {
		body := map[string]string{"POST": `{"code":"s","groups":["ghost"]}`, "PATCH": `{"groups":["ghost"]}`}[method]
		if res := w.do(method, target, body, "root"); res.Code != 400 && res.Code != 422 || !strings.Contains(res.Body.String(), `"groups":"no group has the code`) {
			t.Errorf("%s of a role for no group answered %d %s", method, res.Code, res.Body)
		}
	}
}

func TestMenus(t *testing.T) {
	w := newWorld(t)
	res := w.do("POST", "/api/v1/menus", `{"code":"orders.Customer","name":"Customers","type":"table","value":"orders.Customer"}`, "root")
	if res.Code != 201 || res.Header().Get("Location") != "/fleet/api/v1/menus/orders.Customer" || w.menus["orders.Customer"].Status != access.MenuOpen {
		t.Errorf("answered %d, Location %q: %+v", res.Code, res.Header().Get("Location"), w.menus["orders.Customer"])
	}
	const want = `{"code":"page","name":"Page","type":"table","value":"orders.Page","parent":"stuck","status":"hidden","sort":null,"icon":null}`
	if res := w.do("GET", "/api/v1/menus/page", "", "root"); res.Code != 200 || res.Body.String() != want {
		t.Errorf("answered %d %s, want %s", res.Code, res.Body, want)
	}
	if res := w.do("PATCH", "/api/v1/menus/page", `{"parent":null,"status":"disabled"}`, "root"); res.Code != 200 || w.menus["page"].ParentCode != "" || w.menus["page"].Status != access.MenuDisabled {
		t.Errorf("answered %d %s", res.Code, res.Body)
	}
	for _, body := range []string{`{"status":"odd"}`, `{"status":1}`, `{"code":"x"}`} {
		if res := w.do("PATCH", "/api/v1/menus/page", body, "root"); res.Code != 400 || !strings.Contains(res.Body.String(), `"message"`) {
			t.Errorf("%s answered %d %s, want 400", body, res.Code, res.Body)
		}
	}
	if by := w.actors[0]; by != (access.Actor{Account: "erupt", Admin: true}) {
		t.Errorf("changed in the name of %+v", by)
	}
}

// TestRights: the same codes as the pages, each for its own calls and no other (F4).
func TestRights(t *testing.T) {
	calls := map[string]string{ // call → the one code that opens it
		"GET /api/v1/nodes": "CloudNode", "POST /api/v1/nodes": "CloudNode@ADD", "GET /api/v1/nodes/orders": "CloudNode",
		"PATCH /api/v1/nodes/orders": "CloudNode@EDIT", "DELETE /api/v1/nodes/orders": "CloudNode@DELETE", "GET /api/v1/nodes/orders/instances": "CloudNode",
		"DELETE /api/v1/nodes/orders/instances/i1": "cloud_node_manager_permission", "PUT /api/v1/nodes/orders/instances/i1/hold": "cloud_node_manager_permission",
		"DELETE /api/v1/nodes/orders/instances/i1/hold": "cloud_node_manager_permission",
		"GET /api/v1/nodes/orders/holds":                "CloudNode", "DELETE /api/v1/nodes/orders/holds": "cloud_node_manager_permission",
		"PUT /api/v1/nodes/orders/instances/i1/drain": "cloud_node_manager_permission", "GET /api/v1/nodes/orders/instances/i1/drain": "CloudNode",
		"DELETE /api/v1/nodes/orders/instances/i1/drain": "cloud_node_manager_permission", "PUT /api/v1/nodes/orders/drain": "cloud_node_manager_permission",
		"GET /api/v1/nodes/orders/drain": "CloudNode", "DELETE /api/v1/nodes/orders/drain": "cloud_node_manager_permission",
		"POST /api/v1/nodes/orders/token/rotate": "CloudNode@EDIT", "DELETE /api/v1/nodes/orders/token/old": "CloudNode@EDIT",
		"GET /api/v1/nodes/orders/config": "CloudNode", "PUT /api/v1/nodes/orders/config": "CloudNode@EDIT",
		"GET /api/v1/groups/eu/config": "CloudNodeGroup", "PUT /api/v1/groups/eu/config": "CloudNodeGroup@EDIT",
		"GET /api/v1/nodes/orders/token-use": "CloudNode", "GET /api/v1/nodes/orders/events": "CloudNode", "GET /api/v1/events": "CloudNode",
		"GET /api/v1/groups": "CloudNodeGroup", "POST /api/v1/groups": "CloudNodeGroup@ADD", "GET /api/v1/groups/eu": "CloudNodeGroup", "PATCH /api/v1/groups/eu": "CloudNodeGroup@EDIT",
		"DELETE /api/v1/groups/eu": "CloudNodeGroup@DELETE",
		"GET /api/v1/users":        "EruptUser", "POST /api/v1/users": "EruptUser@ADD", "GET /api/v1/users/lin": "EruptUser", "PATCH /api/v1/users/lin": "EruptUser@EDIT",
		"DELETE /api/v1/users/lin": "EruptUser@DELETE",
		"GET /api/v1/roles":        "EruptRole", "POST /api/v1/roles": "EruptRole@ADD", "GET /api/v1/roles/clerk": "EruptRole", "PATCH /api/v1/roles/clerk": "EruptRole@EDIT",
		"DELETE /api/v1/roles/clerk": "EruptRole@DELETE",
		"GET /api/v1/dicts":          "EruptDict", "GET /api/v1/dicts/level/items": "EruptDictItem",
		"GET /api/v1/menus": "EruptMenu", "POST /api/v1/menus": "EruptMenu@ADD", "GET /api/v1/menus/page": "EruptMenu", "PATCH /api/v1/menus/page": "EruptMenu@EDIT",
		"DELETE /api/v1/menus/page": "EruptMenu@DELETE",
	}
	w := newWorld(t)
	if routes := len(w.shell.Engine().Routes()) - 1; routes != len(calls) {
		t.Errorf("%d routes besides the document, %d rows here: each needs one", routes, len(calls))
	}
	for call, right := range calls {
		method, target, _ := strings.Cut(call, " ")
		for _, code := range slices.Compact(slices.Sorted(maps.Values(calls))) {
			w.sessions["s"] = access.Session{Account: "s", Values: map[string]access.Menu{strings.ToLower(code): {}}}
			if strings.HasSuffix(call, "/rotate") { // it shows a token, and needs the right to see one besides
				if res := w.do(method, target, "", "s"); res.Code != 403 {
					t.Errorf("%s with %s alone answered %d", call, code, res.Code)
				}
				w.sessions["s"].Values[access.CodeViewToken] = access.Menu{}
			}
			res := w.do(method, target, "!", "s") // a body that nobody accepts: only the door is tried
			if open := res.Code != 403; open != (code == right) {
				t.Errorf("%s with %s answered %d, want it open exactly for %s", call, code, res.Code, right)
			}
			if res.Code == 204 {
				w = newWorld(t)
			}
		}
	}
}

// TestEveryChangeIsInTheTrail: also those that fail.
func TestEveryChangeIsInTheTrail(t *testing.T) {
	w := newWorld(t)
	w.register(t, "orders", "i1", "2", "http://10.0.0.1:1")
	steps := []struct {
		method, target, body, action, subject string
		ok                                    bool
	}{
		{"POST", "nodes", `{"nodeName":"pay"}`, "node.create", "pay", true},
		{"POST", "nodes", `{"nodeName":"pay"}`, "node.create", "pay", false},
		{"PATCH", "nodes/pay", `{"name":"P"}`, "node.update", "pay", true},
		{"DELETE", "nodes/pay", "", "node.delete", "pay", true},
		{"PUT", "nodes/orders/instances/i1/hold", `{"reason":"r"}`, "instance.hold", "orders", true},
		{"DELETE", "nodes/orders/instances/i1/hold", "", "instance.release", "orders", true},
		{"PUT", "nodes/orders/instances/i1/drain", "", "instance.drain", "orders", false},
		{"PUT", "nodes/orders/instances/i1/drain", `{"force":true}`, "instance.drain", "orders", true},
		{"DELETE", "nodes/orders/instances/i1/drain", "", "instance.undrain", "orders", true},
		{"PUT", "nodes/orders/drain", `{"force":true}`, "node.drain", "orders", true},
		{"DELETE", "nodes/orders/drain", "", "node.undrain", "orders", true},
		{"POST", "nodes/orders/token/rotate", "", "token.rotate", "orders", true},
		{"DELETE", "nodes/orders/token/old", "", "token.end_grace", "orders", true},
		{"DELETE", "nodes/orders/token/old", "", "token.end_grace", "orders", false},
		{"DELETE", "nodes/orders/instances/i1", "", "instance.remove", "orders", true},
		{"PUT", "nodes/orders/config", `{"baseRevision":0,"config":{"a":1}}`, "config.publish", "orders", true},
		{"PUT", "nodes/orders/config", `{"baseRevision":0,"config":{"a":1}}`, "config.publish", "orders", false},
		{"PUT", "groups/eu/config", `{"baseRevision":0,"config":null}`, "config.publish", "eu", true},
		{"POST", "groups", `{"code":"fr"}`, "group.create", "fr", true},
		{"PATCH", "groups/fr", `{"name":"F"}`, "group.update", "fr", true},
		{"DELETE", "groups/stuck", "", "group.delete", "stuck", false},
		{"POST", "users", `{"account":"an","password":"x"}`, "user.create", "an", true},
		{"PATCH", "users/an", `{"enabled":false}`, "user.update", "an", true},
		{"DELETE", "users/an", "", "user.delete", "an", true},
		{"POST", "roles", `{"code":"r"}`, "role.create", "r", true},
		{"PATCH", "roles/r", `{"sort":1}`, "role.update", "r", true},
		{"DELETE", "roles/r", "", "role.delete", "r", true},
		{"POST", "menus", `{"code":"m","name":"M"}`, "menu.create", "m", true},
		{"POST", "menus", `{"code":"n","name":"N","status":"odd"}`, "menu.create", "n", false},
		{"PATCH", "menus/m", `{"status":"disabled"}`, "menu.update", "m", true},
		{"DELETE", "menus/m", "", "menu.delete", "m", true},
	}
	for _, s := range steps {
		w.audit = nil
		w.do(s.method, "/api/v1/"+s.target, s.body, "root")
		if len(w.audit) != 1 {
			t.Errorf("%s %s left %d entries, want one", s.method, s.target, len(w.audit))
			continue
		}
		if e := w.audit[0]; e.Action != s.action || e.Subject != s.subject || e.OK != s.ok || e.Account != "erupt" || e.Address != "192.0.2.1" || (e.Error == "") != s.ok {
			t.Errorf("%s %s left %+v, want %s of %s, ok: %t", s.method, s.target, e, s.action, s.subject, s.ok)
		}
	}
	w.audit = nil
	for _, target := range []string{"nodes", "nodes/orders", "groups", "users", "roles", "menus"} {
		w.do("GET", "/api/v1/"+target, "", "root")
	}
	if len(w.audit) != 0 {
		t.Errorf("reading left %v", w.audit)
	}
}

func TestMarkupInAPathIsText(t *testing.T) {
	w := newWorld(t)
	res := w.do("GET", "/api/v1/nodes/%3Cimg%20src=x%3E", "", "root")
	if res.Code != 404 || res.Header().Get("Content-Type") != "application/json" || strings.Contains(res.Body.String(), "<img") {
		t.Errorf("answered %d %s as %s, want escaped JSON", res.Code, res.Body, res.Header().Get("Content-Type"))
	}
}
