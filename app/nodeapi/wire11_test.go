package nodeapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"eruptcloud/app/fleet"
	"eruptcloud/app/probe"
)

// The conformance list of erupt-wire 11, items 1 to 4, without other processes. What real nodes of 1.12 and 2.0 sent is played byte
// by byte in TestRecordedRequestsOfRealNodes; here the dialects stand side by side, also those that no real node is at hand for.

const hutool = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/75.0.3770.142 Safari/537.36 Hutool"

// dialect is how nodes of a version register.
type dialect struct {
	version, path, kind, agent string
	extra                      string // further fields of the body
}

var dialects = []dialect{
	{"1.10.6", "/erupt-cloud-api/register-node", "application/json;charset=UTF-8", hutool, ""},
	{"1.11.7", "/erupt-cloud-api/register-node", "application/json;charset=UTF-8", hutool, ""},
	{"1.12.18", "/erupt-cloud-api/register-node", "application/json;charset=UTF-8", hutool, ""},
	{"1.12.23", "//erupt-cloud-api/register-node", "application/json;charset=UTF-8", hutool, ""},
	{"2.0.4", "//erupt-cloud-api/register-node", "application/json;charset=UTF-8", hutool, ""},
	{"2.1.1", "/erupt-cloud-api/register-node", "application/json;charset=UTF-8", hutool, `"resources":{"flow":["leave","order"]},`},
	{"2.2.0", "/erupt-cloud-api/register-node", "text/plain;charset=UTF-8", "Java-http-client/17", `"resources":{},`},
	{"2.3.0", "/erupt-cloud-api/register-node", "application/json", "Java-http-client/21", `"resources":{"claw":["a"],"monitor":[]},"novel":{"x":null},"another":[1.0]`},
	{"9.0.0", "/erupt-cloud-api/register-node", "", "", `"resources":null,"locations":null,"registerTime":null`},
}

func (d dialect) body(change ...string) string {
	extra := strings.TrimSuffix(d.extra, ",")
	if extra != "" {
		extra += ","
	}
	return registration(append([]string{`"version":"2.0.4"`, extra + `"version":"` + d.version + `"`}, change...)...)
}

func (d dialect) send(w *world, body string) (int, string) {
	r, _ := http.NewRequest("POST", "http://fleet.test/", strings.NewReader(body))
	r.URL.Path = d.path
	for name, value := range map[string]string{
		"Content-Type": d.kind, "User-Agent": d.agent, "Accept": "text/html,application/json,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	res := serve(w, r)
	if kind := res.Header().Get("Content-Type"); strings.Contains(kind, "html") || res.Header().Get("Location") != "" {
		return res.Code, "HTML or a redirect: " + kind
	}
	return res.Code, res.Body.String()
}

func TestWire11_01Registration(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.version, func(t *testing.T) {
			tests := map[string]struct {
				body   string
				before func(*world)
				status int
				says   string
			}{
				"good":                            {d.body(), nil, 200, ""},
				"nulls for what it does not have": {d.body(`["erupt-jpa"]`, "null", `["Customer"]`, "null"), nil, 200, ""},
				"empty lists":                     {d.body(`["erupt-jpa"]`, "[]", `["Customer"]`, "[]"), nil, 200, ""},
				"unknown node":                    {d.body(`"orders"`, `"nosuch"`), nil, 404, "NodeName: 'nosuch' not found"},
				"bad token":                       {d.body("SECRET0123456789", "WRONG"), nil, 401, "orders Access token invalid"},
				"no token":                        {d.body(`"SECRET0123456789"`, "null"), nil, 401, "orders Access token invalid"},
				"disabled":                        {d.body(), func(w *world) { w.nodes["orders"] = fleet.Node{Name: "orders"} }, 500, "orders prohibiting the registration"},
				"unreachable": {d.body(), func(w *world) {
					w.results["http://10.0.3.17:8081/shop"] = probe.Result{Layer: probe.Connect, Err: errors.New("refused")}
				}, 502, "Unable to establish a connection with http://10.0.3.17:8081/shop"},
				"metadata service": {d.body("http://10.0.3.17:8081/shop/", "http://u@169.254.169.254/"), nil, 400, "user information"},
			}
			for name, tt := range tests {
				w := newWorld(t)
				if tt.before != nil {
					tt.before(w)
				}
				status, body := d.send(w, tt.body)
				if status != tt.status || tt.says == "" && body != "" || !strings.Contains(unquote(body), tt.says) {
					t.Errorf("%s: answered %d %q, want %d with %q", name, status, body, tt.status, tt.says)
				}
				if (len(w.live) == 1) != (tt.status == 200) {
					t.Errorf("%s: afterwards %d instances are known", name, len(w.live))
				}
			}
			w := newWorld(t)
			d.send(w, d.body())
			in := w.live["kQzTbW"]
			if in.Node.Version != d.version || !reflect.DeepEqual(in.Locations, []string{"http://10.0.3.17:8081/shop"}) {
				t.Errorf("kept %+v at %v", in.Node, in.Locations)
			}
			clear(w.live) // the store was flushed: the next beat brings it back
			if status, _ := d.send(w, d.body()); status != 200 || len(w.live) != 1 {
				t.Errorf("after a flush: %d, %d instances", status, len(w.live))
			}
		})
	}
}

func TestWire11_02Shutdown(t *testing.T) {
	tests := map[string]struct {
		form      string
		live      int // instances that stay
		triggered int
		drained   bool
	}{
		"up to 2.0: without locations":  {who, 2, 1, false},
		"2.1: with one":                 {who + "&locations=http%3A%2F%2Fa%2F", 1, 0, false},
		"with several, and one unknown": {who + "&locations=http%3A%2F%2Fa%2C+http%3A%2F%2Fb%2Chttp%3A%2F%2Fc", 0, 0, false},
		"with an unknown one":           {who + "&locations=http%3A%2F%2Fc", 2, 0, false},
		"with blank ones":               {who + "&locations=+", 2, 1, false},
		"ours: it drains first":         {who + "&locations=http%3A%2F%2Fa&drain=30000", 2, 0, true},
	}
	for name, tt := range tests {
		for _, path := range []string{"", "/"} {
			w := newWorld(t)
			w.register(registration("http://10.0.3.17:8081/shop/", "http://a"))
			w.register(registration("http://10.0.3.17:8081/shop/", "http://b", "kQzTbW", "other1"))
			w.triggered = nil
			r, _ := http.NewRequest("POST", "http://fleet.test/", strings.NewReader(tt.form))
			r.URL.Path = path + "/erupt-cloud-api/remove-instance-node"
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded;charset=UTF-8")
			res := serve(w, r)
			if res.Code != 200 || res.Body.Len() != 0 || len(w.live) != tt.live || len(w.triggered) != tt.triggered || (len(w.drained) > 0) != tt.drained {
				t.Errorf("%s: answered %d %s; %d instances stay, checks %v, drains %v", name, res.Code, res.Body, len(w.live), w.triggered, w.drained)
			}
		}
	}
}

// A node's application sees each of these bodies as its config, whatever the status.
func TestWire11_03Config(t *testing.T) {
	const text = "{\"a\": 1, \"text\": \"配置 é <b>\"}\nline two"
	for _, d := range dialects {
		token := []string{"Access-Token", "SECRET0123456789"}
		query := ""
		if strings.HasPrefix(d.version, "1.10") {
			token, query = nil, "?accessToken=SECRET0123456789"
		}
		for _, ask := range []struct {
			endpoint, query string
			headers         []string
			config, group   string
			want            string
		}{
			{"node-config/orders", query, token, text, "", text},
			{"node-config/orders", query, token, "", "", ""},
			{"node-config/nosuch", query, token, text, "", ""},
			{"node-config/orders", "", []string{"Access-Token", "WRONG"}, text, "", ""},
			{"node-config/orders", "", nil, text, "", ""},
			{"node-group-config/orders", query, token, "", text, text},
			{"node-group-config/orders", "?Access-Token=SECRET0123456789", token, "", text, text},
			{"node-group-config/orders", "?Access-Token=SECRET0123456789", nil, "", text, text},
			{"node-group-config/orders", "?Access-Token=WRONG", nil, "", text, ""},
			{"node-group-config/orders", query, token, "", "", ""},
		} {
			w := newWorld(t)
			w.nodes["orders"] = fleet.Node{Name: "orders", Enabled: true, Config: ask.config, Group: "g"}
			w.groups["g"] = fleet.Group{Config: ask.group}
			res := w.do("GET", "/erupt-cloud-api/"+ask.endpoint+ask.query, "", append(ask.headers, "User-Agent", d.agent)...)
			if res.Code != 200 || res.Body.String() != ask.want {
				t.Errorf("%s %s%s: the application sees %d %q, want %q", d.version, ask.endpoint, ask.query, res.Code, res.Body, ask.want)
			}
			if strings.Contains(w.log.String(), "SECRET0123456789") {
				t.Errorf("the log holds the token: %s", &w.log)
			}
		}
	}
}

// A node grants what is missing in the answer: an expired session must show no buttons and write nothing.
func TestWire11_04Power(t *testing.T) {
	flags := []string{"add", "edit", "delete", "viewDetails", "export", "importable"}
	for name, tt := range map[string]struct {
		token string
		want  string
	}{
		"valid":   {"d1_orders_tok", "add viewDetails"},
		"expired": {"d1_orders_gone", ""}, "missing": {"", ""}, "the session's own": {"tok", ""}, "of another node": {"d1_stock_tok", ""},
	} {
		w := newWorld(t)
		res := w.do("GET", "//erupt-cloud-api/erupt-power?nodeName=orders&eruptName=Customer", "", "token", tt.token)
		var got map[string]any
		if err := json.Unmarshal(res.Body.Bytes(), &got); err != nil || res.Code != 200 {
			t.Fatalf("%s: answered %d %s", name, res.Code, res.Body)
		}
		for _, f := range flags {
			if want := strings.Contains(" "+tt.want+" ", " "+f+" "); fmt.Sprint(got[f]) != fmt.Sprint(want) {
				t.Errorf("%s: %s is %v, want %t", name, f, got[f], want)
			}
		}
	}
}
