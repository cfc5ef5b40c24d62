package nodeapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/nodeagent/wire"
)

// TestRawConfigNeverAnswersWithAnError: A29, erupt-wire 1.3 and 1.4: an error document would become the config.
func TestRawConfigNeverAnswersWithAnError(t *testing.T) {
	const good = "SECRET0123456789"
	down := func(w *world) { w.broken = fault.New(fault.Unavailable, "no store") }
	tests := map[string]struct {
		target, token string
		before        func(*world)
		want          string
	}{
		"the node's own":               {"node-config/orders", good, nil, `{"limit": 5}`},
		"its group's":                  {"node-group-config/orders", good, nil, `{"region":"eu"}`},
		"token in header and query":    {"node-group-config/orders?Access-Token=" + good, good, nil, `{"region":"eu"}`},
		"token in the query only":      {"node-group-config/orders?Access-Token=" + good, "", nil, `{"region":"eu"}`},
		"the header wins":              {"node-group-config/orders?Access-Token=" + good, "WRONG", nil, ""},
		"own config, query is nothing": {"node-config/orders?Access-Token=" + good, "", nil, ""},
		"token of 1.10":                {"node-config/orders?accessToken=" + good, "", nil, `{"limit": 5}`},
		"token of 1.10, group":         {"node-group-config/orders?accessToken=" + good, "", nil, `{"region":"eu"}`},
		"wrong token":                  {"node-config/orders", "WRONG", nil, ""},
		"no token":                     {"node-config/orders", "", nil, ""},
		"unknown node":                 {"node-config/nosuch", good, nil, ""},
		"store down":                   {"node-config/orders", good, down, ""},
		"group, store down":            {"node-group-config/orders", good, down, ""},
		"something breaks":             {"node-config/orders", good, func(w *world) { w.panics = true }, ""},
		"no config":                    {"node-config/orders", good, func(w *world) { w.nodes["orders"] = fleet.Node{Name: "orders"} }, ""},
		"no group":                     {"node-group-config/orders", good, func(w *world) { w.nodes["orders"] = fleet.Node{Name: "orders"} }, ""},
		"group is gone":                {"node-group-config/orders", good, func(w *world) { w.nodes["orders"] = fleet.Node{Name: "orders", Group: "x"} }, ""},
		"disabled still reads":         {"node-config/orders", good, func(w *world) { w.nodes["orders"] = fleet.Node{Name: "orders", Config: "{ü}"} }, "{ü}"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tt.before != nil {
				tt.before(w)
			}
			var headers []string
			if tt.token != "" {
				headers = []string{"Access-Token", tt.token}
			}
			res := w.do("GET", "/erupt-cloud-api/"+tt.target, "", headers...)
			if res.Code != 200 || res.Body.String() != tt.want {
				t.Errorf("answered %d %q, want 200 %q", res.Code, res.Body, tt.want)
			}
			if strings.Contains(w.log.String(), good) {
				t.Errorf("the log holds the token: %s", &w.log)
			}
		})
	}
}

func TestEffectiveConfig(t *testing.T) {
	w := newWorld(t)
	const target = "/erupt-cloud-api/effective-config/orders"
	res := w.do("GET", target, "", "Access-Token", "SECRET0123456789")
	tag := res.Header().Get("ETag")
	if res.Code != 200 || res.Body.String() != `{"limit":5,"region":"eu"}` || tag != `"r7"` || res.Header().Get(wire.HeaderConfigRevision) != "r7" {
		t.Fatalf("answered %d %s, tag %s", res.Code, res.Body, tag)
	}
	for _, h := range []string{tag, `"other", ` + tag, "W/" + tag, "*"} {
		if res := w.do("GET", target, "", "Access-Token", "SECRET0123456789", "If-None-Match", h); res.Code != 304 || res.Body.Len() != 0 {
			t.Errorf("If-None-Match %s answered %d %s, want 304 without a body", h, res.Code, res.Body)
		}
	}
	if res := w.do("GET", target, "", "Access-Token", "SECRET0123456789", "If-None-Match", `"r6"`); res.Code != 200 {
		t.Errorf("an old tag answered %d, want 200", res.Code)
	}
	for name, c := range map[string]struct {
		target, token string
		status        int
	}{"no token": {target, "", 401}, "wrong token": {target, "x", 401}, "unknown node": {"/erupt-cloud-api/effective-config/nosuch", "x", 404}} {
		res := w.do("GET", c.target, "", "Access-Token", c.token)
		if res.Code != c.status || !strings.Contains(res.Body.String(), `"code":`) {
			t.Errorf("%s: answered %d %s, want %d and an envelope", name, res.Code, res.Body, c.status)
		}
	}
}

// TestConfigWantsTheTokenAlways: A29: config holds secrets, so its token is compared also where that of a registration is not.
func TestConfigWantsTheTokenAlways(t *testing.T) {
	for path, refused := range map[string]int{"node-config/": 200, "node-group-config/": 200, "effective-config/": 401} {
		w := newWorld(t)
		w.lax = true
		if res := w.do("GET", "/erupt-cloud-api/"+path+"orders", "", "Access-Token", "WRONG"); res.Code != refused || strings.Contains(res.Body.String(), "limit") || strings.Contains(res.Body.String(), "region") {
			t.Errorf("%s answered %d %q to a wrong token, want %d without config", path, res.Code, res.Body, refused)
		}
	}
}

var powerKeys = []string{"add", "edit", "delete", "query", "viewDetails", "export", "importable", "print", "copy", "cellEdit", "ai", "comment", "revision"}

// TestPowerFailsClosed: erupt-wire 1.5: a node takes every key that is missing for true and does not look at the status.
func TestPowerFailsClosed(t *testing.T) {
	raw := func(w *world) { n := w.nodes["orders"]; n.RawSession = true; w.nodes["orders"] = n }
	const customer = "nodeName=orders&eruptName=Customer"
	tests := map[string]struct {
		query, token string
		before       func(*world)
		want         string // true keys
	}{
		"delegated token":             {customer, "d1_orders_tok", nil, "add query viewDetails print copy ai revision"},
		"another spelling of a class": {"nodeName=orders&eruptName=cUSTOMER", "d1_orders_tok", nil, "add query viewDetails print copy ai revision"},
		"class without a menu":        {"nodeName=orders&eruptName=Secret", "d1_orders_tok", nil, "print copy ai revision"},
		"admin":                       {customer, "d1_orders_root", nil, "add edit delete query viewDetails export importable print copy cellEdit ai revision"},
		"raw token where it may":      {customer, "tok", raw, "add query viewDetails print copy ai revision"},
		"raw token where it may not":  {customer, "tok", nil, ""},
		"no token":                    {customer, "", nil, ""},
		"no token, raw allowed":       {customer, "", raw, ""},
		"token of another node":       {customer, "d1_stock_tok", nil, ""},
		"expired session":             {customer, "d1_orders_gone", nil, ""},
		"unknown node":                {"nodeName=nosuch&eruptName=Customer", "d1_nosuch_tok", nil, ""},
		"node in another case":        {"nodeName=ORDERS&eruptName=Customer", "d1_orders_tok", nil, ""},
		"disabled node":               {customer, "d1_orders_tok", func(w *world) { w.nodes["orders"] = fleet.Node{Name: "orders"} }, ""},
		"no class":                    {"nodeName=orders", "d1_orders_tok", nil, ""},
		"no node":                     {"eruptName=Customer", "d1_orders_tok", nil, ""},
		"class with a function":       {"nodeName=orders&eruptName=Customer@ADD", "d1_orders_tok", nil, ""},
		"class with a dot":            {"nodeName=orders&eruptName=a.Customer", "d1_orders_tok", nil, ""},
		"store down":                  {customer, "d1_orders_tok", func(w *world) { w.broken = fault.New(fault.Unavailable, "no store") }, ""},
		"something breaks":            {customer, "d1_orders_tok", func(w *world) { w.panics = true }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.sessions["root"] = access.Session{Admin: true}
			if tt.before != nil {
				tt.before(w)
			}
			res := w.do("GET", "/erupt-cloud-api/erupt-power?"+tt.query, "", "token", tt.token)
			var got map[string]bool
			if err := json.Unmarshal(res.Body.Bytes(), &got); err != nil || res.Code != 200 || len(got) != len(powerKeys) {
				t.Fatalf("answered %d %s (%v), want 200 and all %d keys", res.Code, res.Body, err, len(powerKeys))
			}
			for _, k := range powerKeys {
				value, written := got[k]
				if want := strings.Contains(" "+tt.want+" ", " "+k+" "); !written || value != want {
					t.Errorf("%s is %t (written: %t), want %t", k, value, written, want)
				}
			}
		})
	}
}

func TestUserInfo(t *testing.T) { // erupt-wire 1.6
	tests := map[string]struct{ target, token, access, want string }{
		"known":                {"orders", "d1_orders_tok", "SECRET0123456789", `{"id":12,"account":"lin","username":"Lin Yu","org":"D-01","post":null,"superAdmin":false,"roles":["sales"],"tenantId":null}`},
		"admin without roles":  {"orders", "d1_orders_root", "SECRET0123456789", `{"id":1,"account":"erupt","username":"erupt","org":null,"post":null,"superAdmin":true,"roles":[],"tenantId":null}`},
		"expired":              {"orders", "d1_orders_gone", "SECRET0123456789", ""},
		"raw token":            {"orders", "tok", "SECRET0123456789", ""},
		"no session":           {"orders", "", "SECRET0123456789", ""},
		"wrong access token":   {"orders", "d1_orders_tok", "WRONG", ""},
		"no access token":      {"orders", "d1_orders_tok", "", ""},
		"unknown node":         {"nosuch", "d1_nosuch_tok", "SECRET0123456789", ""},
		"handle of other node": {"orders", "d1_stock_tok", "SECRET0123456789", ""},
	}
	for name, tt := range tests {
		w := newWorld(t)
		w.sessions["root"] = access.Session{UserID: 1, Account: "erupt", Name: "erupt", Admin: true}
		of11 := w.do("GET", "/erupt-cloud-api/userinfo"+tt.target, "", "token", tt.token, "Access-Token", tt.access)
		if of11.Code != 200 || of11.Body.String() != tt.want {
			t.Errorf("%s: to a node of 1.11 answered %d %s, want 200 %s", name, of11.Code, of11.Body, tt.want)
		}
		res := w.do("GET", "/erupt-cloud-api/userinfo/"+tt.target, "", "token", tt.token, "Access-Token", tt.access)
		if res.Code != 200 || res.Body.String() != tt.want {
			t.Errorf("%s: answered %d %s, want 200 %s", name, res.Code, res.Body, tt.want)
		}
	}
}
