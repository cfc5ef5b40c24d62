package restapi_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
)

// drainExamples are the examples of the document about drains, tokens and events; instance i1 of orders is the only one.
func drainExamples(big string) []example {
	const one, of = "/api/v1/nodes/{nodeName}/instances/{instanceId}/drain", "/api/v1/nodes/orders/instances/"
	const node, token = "/api/v1/nodes/{nodeName}/drain", "/api/v1/nodes/{nodeName}/token"
	const events, nodeEvents, use = "/api/v1/events", "/api/v1/nodes/{nodeName}/events", "/api/v1/nodes/{nodeName}/token-use"
	return []example{
		{"GET " + one, of + "i1/drain", "", 200}, {"GET " + one, of + "nosuch/drain", "", 404},
		{"PUT " + one, of + "i1/drain", `{"reason":"release"}`, 409}, {"PUT " + one, of + "i1/drain", `{"why":1}`, 400},
		{"PUT " + one, of + "i1/drain", big, 413}, {"PUT " + one, of + "nosuch/drain", "", 404}, {"PUT " + one, of + "i1/drain?force=maybe", "", 400},
		{"PUT " + one, of + "i1/drain?force=true", `{"reason":"release"}`, 200}, {"GET " + one, of + "i1/drain", "", 200},
		{"GET /api/v1/nodes/{nodeName}/instances", "/api/v1/nodes/orders/instances", "", 200},
		{"DELETE " + one, of + "i1/drain", "", 204}, {"DELETE " + one, of + "i1/drain", "", 404},
		{"GET " + node, "/api/v1/nodes/orders/drain", "", 200}, {"GET " + node, "/api/v1/nodes/nosuch/drain", "", 404},
		{"PUT " + node, "/api/v1/nodes/orders/drain", "", 409}, {"PUT " + node, "/api/v1/nodes/nosuch/drain", "", 404},
		{"PUT " + node, "/api/v1/nodes/orders/drain", `{"force":1}`, 400}, {"PUT " + node, "/api/v1/nodes/orders/drain", big, 413},
		{"PUT " + node, "/api/v1/nodes/orders/drain", `{"force":true}`, 200},
		{"DELETE " + node, "/api/v1/nodes/orders/drain", "", 204}, {"DELETE " + node, "/api/v1/nodes/orders/drain", "", 404},
		{"DELETE " + token + "/old", "/api/v1/nodes/orders/token/old", "", 404},
		{"POST " + token + "/rotate", "/api/v1/nodes/orders/token/rotate", "", 200}, {"POST " + token + "/rotate", "/api/v1/nodes/nosuch/token/rotate", "", 404},
		{"POST " + token + "/rotate", "/api/v1/nodes/orders/token/rotate", "", 409},
		{"GET " + use, "/api/v1/nodes/orders/token-use", "", 200}, {"GET " + use, "/api/v1/nodes/nosuch/token-use", "", 404},
		{"DELETE " + token + "/old", "/api/v1/nodes/orders/token/old", "", 204},
		{"GET " + use, "/api/v1/nodes/orders/token-use", "", 200},
		{"GET " + nodeEvents, "/api/v1/nodes/orders/events?kind=drained,undrained&pageSize=2", "", 200},
		{"GET " + nodeEvents, "/api/v1/nodes/nosuch/events", "", 404}, {"GET " + nodeEvents, "/api/v1/nodes/orders/events?page=0", "", 400},
		{"GET " + events, "/api/v1/events?node=orders&from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00%2B08:00&before=99&instance=i1", "", 200},
		{"GET " + events, "/api/v1/events?from=yesterday", "", 400}, {"GET " + events, "/api/v1/events?before=x", "", 400},
	}
}

type drainAnswer struct {
	InstanceID string   `json:"instanceId"`
	Locations  []string `json:"locations"`
	State      string   `json:"state"`
	InFlight   int      `json:"inFlight"`
	Streams    int      `json:"streams"`
	Oldest     *string  `json:"oldest"`
	Known      bool     `json:"known"`
	SafeToStop bool     `json:"safeToStop"`
	Drain      *struct {
		Reason, Account string
		Created         *string
	} `json:"drain"`
}

// TestDrainAnInstance: out of routing at once, safe to stop when no replica has anything in flight (D12).
func TestDrainAnInstance(t *testing.T) {
	w := newWorld(t)
	w.register(t, "orders", "i1", "2.0.4", "http://10.0.0.1:8080")
	w.register(t, "orders", "i2", "2.0.4", "http://10.0.0.2:8080")
	w.doings.loads["http://10.0.0.1:8080"] = fleet.InFlight{Count: 3, Streams: 1, Oldest: start, Known: true}
	const target = "/api/v1/nodes/orders/instances/i1/drain"
	ask := func() (d drainAnswer) {
		t.Helper()
		w.get(t, target, &d)
		return d
	}
	if d := ask(); d.State != "up" || d.InFlight != 3 || d.SafeToStop || d.Drain != nil {
		t.Errorf("before: %+v", d)
	}
	for range 2 {
		if res := w.do("PUT", target, `{"reason":"release"}`, "root"); res.Code != 200 {
			t.Fatalf("answered %d %s", res.Code, res.Body)
		}
	}
	d := ask()
	if d.State != "draining" || d.InFlight != 3 || d.Streams != 1 || d.Oldest == nil || !d.Known || d.SafeToStop || d.Drain == nil ||
		d.Drain.Reason != "release" || d.Drain.Account != "erupt" {
		t.Errorf("while it works: %+v", d)
	}
	w.doings.loads["http://10.0.0.1:8080"] = fleet.InFlight{Count: 0, Known: false}
	if d := ask(); d.SafeToStop {
		t.Errorf("safe to stop while a replica has not told: %+v", d)
	}
	w.doings.loads["http://10.0.0.1:8080"] = fleet.InFlight{Known: true}
	if d := ask(); !d.SafeToStop {
		t.Errorf("nothing in flight: %+v", d)
	}
	var list struct {
		Items []struct {
			InstanceID string          `json:"instanceId"`
			State      string          `json:"state"`
			Drain      json.RawMessage `json:"drain"`
		}
	}
	if err := json.Unmarshal(w.do("GET", "/api/v1/nodes/orders/instances", "", "root").Body.Bytes(), &list); err != nil ||
		list.Items[0].State != "draining" || string(list.Items[1].Drain) != "null" {
		t.Errorf("the list shows %+v, %v", list, err)
	}
	if res := w.do("DELETE", target, "", "root"); res.Code != 204 {
		t.Fatalf("answered %d %s", res.Code, res.Body)
	}
	if d := ask(); d.State != "up" || d.Drain != nil {
		t.Errorf("after it was called off: %+v", d)
	}
	if got := w.kinds(); !slices.Equal(got, []string{"drained orders i1 by erupt", "undrained orders i1 by erupt"}) {
		t.Errorf("history %q, want each once", got)
	}
	if last := w.audit[len(w.audit)-1]; last.Action != "instance.undrain" || last.Subject != "orders" || !last.OK {
		t.Errorf("audit %+v", last)
	}
}

// TestTheLastRoutedInstanceNeedsForce: held, draining and disabled ones do not count as what is left.
func TestTheLastRoutedInstanceNeedsForce(t *testing.T) {
	put := func(w *world, id, body string) int {
		return w.do("PUT", "/api/v1/nodes/orders/instances/"+id+"/drain", body, "root").Code
	}
	fresh := func() *world {
		w := newWorld(t)
		w.register(t, "orders", "i1", "2.0.4", "http://10.0.0.1:8080")
		w.register(t, "orders", "i2", "2.0.4", "http://10.0.0.2:8080")
		return w
	}
	w := fresh()
	if a, b := put(w, "i1", ""), put(w, "i2", ""); a != 200 || b != 409 {
		t.Errorf("one after the other: %d and %d, want 200 and 409", a, b)
	}
	if got := put(w, "i1", ""); got != 200 {
		t.Errorf("the same once more: %d, want 200", got)
	}
	if got := put(w, "i2", `{"force":true}`); got != 200 {
		t.Errorf("by force: %d", got)
	}
	w = fresh()
	w.held["http://10.0.0.2:8080"] = fleet.Hold{Node: "orders", Location: "http://10.0.0.2:8080"}
	if a, b := put(w, "i1", ""), put(w, "i2", ""); a != 409 || b != 200 {
		t.Errorf("beside a held one: %d, and the held one itself: %d; want 409 and 200", a, b)
	}
	w = fresh()
	n := w.nodes["orders"]
	n.Enabled = false
	w.nodes["orders"] = n
	if got := put(w, "i1", ""); got != 200 {
		t.Errorf("of a disabled node: %d, want 200", got)
	}
	w = fresh()
	if res := w.do("PUT", "/api/v1/nodes/orders/drain", "", "root"); res.Code != 409 || len(w.doings.drains) != 0 {
		t.Errorf("all of a node: %d, drains %v; want 409 and none", res.Code, w.doings.drains)
	}
	if res := w.do("PUT", "/api/v1/nodes/orders/drain?force=true", "", "root"); res.Code != 200 || len(w.doings.drains) != 2 {
		t.Errorf("all of a node by force: %d, drains %v", res.Code, w.doings.drains)
	}
	var all struct {
		Instances  []drainAnswer
		Away       []string
		InFlight   int
		Streams    int
		Oldest     *string
		Known      bool
		SafeToStop bool
	}
	w.doings.loads["http://10.0.0.2:8080"] = fleet.InFlight{Count: 2, Oldest: start, Known: true}
	if w.get(t, "/api/v1/nodes/orders/drain", &all); len(all.Instances) != 2 || all.InFlight != 2 || all.SafeToStop || all.Oldest == nil {
		t.Errorf("the node is at %+v", all)
	}
	delete(w.doings.loads, "http://10.0.0.2:8080")
	if w.get(t, "/api/v1/nodes/orders/drain", &all); !all.SafeToStop || all.InFlight != 0 {
		t.Errorf("the node is at %+v, want it safe to stop", all)
	}
	if res := w.do("DELETE", "/api/v1/nodes/orders/drain", "", "root"); res.Code != 204 || len(w.doings.drains) != 0 {
		t.Errorf("called off: %d, drains %v", res.Code, w.doings.drains)
	}
}

// TestADrainEndsAlsoWhileItsInstanceIsAway: its row would wait for it.
func TestADrainEndsAlsoWhileItsInstanceIsAway(t *testing.T) {
	w := newWorld(t)
	w.doings.drains["i9"] = fleet.Drain{Node: "orders", Instance: "i9", Account: "lin"}
	if res := w.do("DELETE", "/api/v1/nodes/orders/instances/i9/drain", "", "root"); res.Code != 204 || len(w.doings.drains) != 0 {
		t.Errorf("answered %d, drains %v", res.Code, w.doings.drains)
	}
}

func TestTokenUse(t *testing.T) {
	w := newWorld(t)
	for id, age := range map[string]fleet.TokenAge{"i1": fleet.TokenOld, "i2": fleet.TokenCurrent} {
		if _, _, err := w.registry.Register(t.Context(), registry.Instance{
			Key: registry.Key{App: "ORDERS", ID: id}, NodeName: "orders", Locations: []string{"http://" + id}, Node: &registry.NodeDetail{Token: string(age)},
		}); err != nil {
			t.Fatal(err)
		}
	}
	w.doings.refused = []fleet.Refusal{{Node: "orders", Address: "10.0.0.7", Reason: fleet.WrongToken, Since: start, Last: start.Add(time.Minute), Count: 4}, {Node: "stock"}}
	if res := w.do("POST", "/api/v1/nodes/orders/token/rotate", "", "root"); res.Code != 200 ||
		!strings.Contains(res.Body.String(), `"accessToken":"ROTATED012345678","oldUntil":"2026-07-02T12:00:00.000Z"`) || res.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("rotation answered %d %s", res.Code, res.Body)
	}
	body := w.do("GET", "/api/v1/nodes/orders/token-use", "", "root").Body.String()
	for _, want := range []string{
		`"rotated":"2026-07-01T12:00:00.000Z","rotatedBy":"lin"`, `{"instanceId":"i1","location":"http://i1","token":"old","since":"2026-07-01T12:00:00.000Z"}`, `"token":"current"`,
		`"refused":[{"address":"10.0.0.7","reason":"wrong token","since":"2026-07-01T12:00:00.000Z","last":"2026-07-01T12:01:00.000Z","count":4}]`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the answer lacks %s: %s", want, body)
		}
	}
	if res := w.do("DELETE", "/api/v1/nodes/orders/token/old", "", "root"); res.Code != 204 || w.doings.old {
		t.Errorf("end of the grace: %d", res.Code)
	}
	if got := w.kinds(); !slices.Equal(got, []string{"rotated orders  by erupt", "grace_ended orders  by erupt"}) {
		t.Errorf("history %q", got)
	}
	for _, e := range w.audit {
		if strings.Contains(string(e.Params), "ROTATED") {
			t.Errorf("the trail holds the token: %+v", e)
		}
	}
}

func codes(all ...string) map[string]access.Menu {
	out := map[string]access.Menu{}
	for _, c := range all {
		out[strings.ToLower(c)] = access.Menu{}
	}
	return out
}

// TestRightsByGroup: who holds codes in a group's tree acts there and nowhere else; what he may not see answers 403 with the
// code, and is left out of lists (D21).
func TestRightsByGroup(t *testing.T) {
	all := []string{access.CodeNodes, access.CodeNodes + "@ADD", access.CodeNodes + "@EDIT", access.CodeNodes + "@DELETE", access.CodeManageNodes, access.CodeViewToken,
		access.CodeGroups, access.CodeGroups + "@ADD", access.CodeGroups + "@EDIT", access.CodeGroups + "@DELETE"}
	fresh := func() *world {
		w := newWorld(t)
		scopes := map[string][]int64{}
		for _, c := range all {
			scopes[strings.ToLower(c)] = []int64{2} // de, which lies in eu
		}
		w.sessions["german"] = access.Session{Account: "german", Values: codes(all...), Scopes: scopes}
		w.nodes["shop"] = fleet.Node{Name: "shop", Group: "de", GroupID: 2, Enabled: true}
		w.groups["berlin"] = fleet.Group{ID: 4, Code: "berlin", ParentID: 2}
		w.nodes["cafe"] = fleet.Node{Name: "cafe", Group: "berlin", GroupID: 4, Enabled: true}
		for _, node := range []string{"orders", "stock", "shop"} {
			w.register(t, node, "i1", "1", "http://"+node)
		}
		w.doings.events = []history.Event{{ID: 1, Node: "orders"}, {ID: 2, Node: "cafe"}, {ID: 3, Node: "deleted"}}
		return w
	}
	const instance = "/instances/i1"
	for _, request := range []string{
		"GET /nodes/orders", "PATCH /nodes/orders", "DELETE /nodes/orders", "GET /nodes/orders/instances", "DELETE /nodes/orders" + instance,
		"PUT /nodes/orders" + instance + "/hold", "DELETE /nodes/orders" + instance + "/hold", "GET /nodes/orders/holds", "DELETE /nodes/orders/holds?location=x",
		"PUT /nodes/orders" + instance + "/drain?force=true", "GET /nodes/orders" + instance + "/drain", "DELETE /nodes/orders" + instance + "/drain",
		"PUT /nodes/orders/drain?force=true", "GET /nodes/orders/drain", "DELETE /nodes/orders/drain", "POST /nodes/orders/token/rotate",
		"DELETE /nodes/orders/token/old", "GET /nodes/orders/token-use", "GET /nodes/orders/events", "GET /nodes/stock",
		"GET /groups/eu", "PATCH /groups/eu", "DELETE /groups/eu",
	} {
		w := fresh()
		method, path, _ := strings.Cut(request, " ")
		body := ""
		if method == "PATCH" {
			body = `{"name":"X"}`
		}
		res := w.do(method, "/api/v1"+path, body, "german")
		if res.Code != 403 || !strings.Contains(res.Body.String(), "this needs the permission") {
			t.Errorf("%s outside of his tree: %d %s, want 403 with the code", request, res.Code, res.Body)
		}
		if w.doings.old || len(w.doings.drains)+len(w.held) > 0 || len(w.registry.View().All()) != 3 || w.nodes["orders"].Display != "Orders" {
			t.Errorf("%s outside of his tree changed something", request)
		}
		inside := strings.NewReplacer("/orders", "/shop", "/stock", "/cafe", "/eu", "/berlin").Replace(path)
		if res := fresh().do(method, "/api/v1"+inside, body, "german"); res.Code == 403 {
			t.Errorf("%s %s in his tree: 403 %s", method, inside, res.Body)
		}
	}
	bodies := map[string]struct {
		request, body string
		status        int
	}{
		"a node in his tree":            {"POST /nodes", `{"nodeName":"new","group":"berlin"}`, 201},
		"a node in no group":            {"POST /nodes", `{"nodeName":"new"}`, 403},
		"a node in another group":       {"POST /nodes", `{"nodeName":"new","group":"eu"}`, 403},
		"a node in a group of no one":   {"POST /nodes", `{"nodeName":"new","group":"nosuch"}`, 403},
		"moving a node within":          {"PATCH /nodes/shop", `{"group":"berlin"}`, 200},
		"moving a node out":             {"PATCH /nodes/shop", `{"group":"eu"}`, 403},
		"moving a node beside all":      {"PATCH /nodes/shop", `{"group":null}`, 403},
		"staying is no move":            {"PATCH /nodes/shop", `{"group":"de","name":"X"}`, 200},
		"moving a foreign node in":      {"PATCH /nodes/orders", `{"group":"de"}`, 403},
		"a group in his tree":           {"POST /groups", `{"code":"bonn","parent":"de"}`, 201},
		"a group at the root":           {"POST /groups", `{"code":"bonn"}`, 403},
		"a group elsewhere":             {"POST /groups", `{"code":"bonn","parent":"eu"}`, 403},
		"moving a group out":            {"PATCH /groups/berlin", `{"parent":"eu"}`, 403},
		"moving a group to the root":    {"PATCH /groups/berlin", `{"parent":null}`, 403},
		"the root of his tree, renamed": {"PATCH /groups/de", `{"name":"Deutschland","parent":"eu"}`, 200},
	}
	for name, tt := range bodies {
		method, path, _ := strings.Cut(tt.request, " ")
		if res := fresh().do(method, "/api/v1"+path, tt.body, "german"); res.Code != tt.status {
			t.Errorf("%s: %d %s, want %d", name, res.Code, res.Body, tt.status)
		}
	}
	for target, want := range map[string]string{
		"/nodes": "cafe shop", "/nodes?pageSize=1&page=2": "shop", "/nodes?state=up": "shop", "/nodes?group=eu": "", "/groups": "berlin de", "/events": "cafe",
		"/events?node=orders": "",
	} {
		var list struct {
			Items []struct{ NodeName, Code string }
			Total int
		}
		if err := json.Unmarshal(fresh().do("GET", "/api/v1"+target, "", "german").Body.Bytes(), &list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range list.Items {
			got = append(got, i.NodeName+i.Code)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s shows %q, want %q", target, got, want)
		}
	}
}

// TestNobodyMovesHimselfRights: a move must not give whoever makes it a right for what he moves (D21).
func TestNobodyMovesHimselfRights(t *testing.T) {
	for name, request := range map[string]string{"a node": "/nodes/orders", "a group": "/groups/us"} {
		for limited, want := range map[bool]int{true: 403, false: 200} {
			w := newWorld(t)
			w.groups["us"] = fleet.Group{ID: 5, Code: "us"}
			s := access.Session{Account: "mover", Values: codes(access.CodeNodes, access.CodeNodes+"@EDIT", access.CodeGroups, access.CodeGroups+"@EDIT", access.CodeViewToken)}
			if limited {
				s.Scopes = map[string][]int64{strings.ToLower(access.CodeViewToken): {2}}
			}
			w.sessions["mover"] = s
			body := `{"group":"de"}`
			if name == "a group" {
				body = `{"parent":"de"}`
			}
			if res := w.do("PATCH", "/api/v1"+request, body, "mover"); res.Code != want || limited && !strings.Contains(res.Body.String(), access.CodeViewToken) {
				t.Errorf("%s into the tree where he sees tokens, limited %t: %d %s, want %d", name, limited, res.Code, res.Body, want)
			}
		}
	}
}

// TestWhatIsAwayIsNotSafeToStop: an instance that an admin, a failed probe or a restart of the server took out of the registry
// while it drains may still work (D12).
func TestWhatIsAwayIsNotSafeToStop(t *testing.T) {
	w := newWorld(t)
	w.register(t, "orders", "i1", "2.0.4", "http://10.0.0.1:8080")
	w.doings.loads["http://10.0.0.1:8080"] = fleet.InFlight{Count: 2, Known: true}
	const target = "/api/v1/nodes/orders/drain"
	if res := w.do("PUT", target, `{"force":true}`, "root"); res.Code != 200 || !strings.Contains(res.Body.String(), `"away":[]`) {
		t.Fatalf("answered %d %s", res.Code, res.Body)
	}
	if res := w.do("DELETE", "/api/v1/nodes/orders/instances/i1", "", "root"); res.Code != 204 {
		t.Fatalf("answered %d %s", res.Code, res.Body)
	}
	var got struct {
		Away              []string
		Known, SafeToStop bool
	}
	get := func() {
		t.Helper()
		if err := json.Unmarshal(w.do("GET", target, "", "root").Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
	}
	if get(); got.SafeToStop || got.Known || !slices.Equal(got.Away, []string{"i1"}) {
		t.Errorf("removed while it drains: %+v, want it away and not safe", got)
	}
	clear(w.doings.drains)
	if get(); !got.SafeToStop || len(got.Away) > 0 {
		t.Errorf("once the drain has ended: %+v", got)
	}
}
