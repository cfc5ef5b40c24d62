package proxy

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	node := newFakeNode(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "Broken") {
			w.WriteHeader(500)
		}
	})
	rig := newRig(t, func(o *Options) { o.Registerer = registry })
	rig.dir.set("shop", deadAddress(t), node.URL)
	rig.get("/erupt-api/data/tree/shop.X", "shop.X")
	rig.get("/erupt-api/data/tree/shop.Broken", "shop.Broken")
	rig.get("/erupt-api/data/tree/shop.X", "shop.X", "token", "x")
	for i := range 50 { // nobody can make labels
		rig.get(fmt.Sprintf("/erupt-api/data/tree/ghost%d.X", i), fmt.Sprintf("ghost%d.X", i))
		rig.get(fmt.Sprintf("/erupt-api/tpl/x?_node=ghost%d", i), "")
	}
	rig.get("/erupt-api/data/tree/shop.X;", "shop.X")
	want := `
# HELP ec_proxy_failovers_total Requests that went on to another location because one could not be connected to.
# TYPE ec_proxy_failovers_total counter
ec_proxy_failovers_total{node="shop"} 2
# HELP ec_proxy_requests_total Requests for nodes by node and answer; cut: the node broke off, 499: the client left.
# TYPE ec_proxy_requests_total counter
ec_proxy_requests_total{code="200",node="shop"} 1
ec_proxy_requests_total{code="400",node=""} 1
ec_proxy_requests_total{code="401",node="shop"} 1
ec_proxy_requests_total{code="500",node="shop"} 1
ec_proxy_requests_total{code="503",node=""} 100
# HELP ec_proxy_streams Open answers of unknown length and upgraded connections.
# TYPE ec_proxy_streams gauge
ec_proxy_streams 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "ec_proxy_failovers_total", "ec_proxy_requests_total", "ec_proxy_streams"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(rig.proxy.metrics.seconds); n != 1 {
		t.Errorf("%d series of ec_proxy_seconds", n)
	}
	if _, err := New(Options{Directory: rig.dir, Gate: rig.gate, Local: http.NotFoundHandler(), Fail: rig.fail, Registerer: registry}); err == nil {
		t.Error("the same metrics are registered twice without an error")
	}
}

func TestRecord(t *testing.T) {
	node := newFakeNode(t, nil)
	rig := newRig(t, func(o *Options) { o.ClientIP = func(*http.Request) string { return "203.0.113.9" } })
	rig.dir.set("shop", node.URL)
	body := `{"name":"x","password":"p1","apiToken" : "t\"1","inner":{"pwd":123,"client_secret":["s"]},"tokens":null,"tokenInfo":{"a":"s"}}`
	rig.post("/erupt-api/data/modify/shop.Customer/update?_token=leak", "shop.Customer", body)
	e := rig.recorder.wait(1)[0]
	if e.User.Account != "lin" || e.Address != "203.0.113.9" || e.Method != "POST" || e.Path != "/erupt-api/data/modify/shop.Customer/update" ||
		e.Wish.Function != Edit || e.Status != 200 || e.Error != "" || e.Location != node.URL {
		t.Errorf("record %+v", e)
	}
	want := `{"name":"x","password":"***","apiToken" : "***","inner":{"pwd":"***","client_secret":"***"},"tokens":"***","tokenInfo":"***"}`
	if string(e.Params) != want {
		t.Errorf("params %s, want %s", e.Params, want)
	}
	if string(node.only(t).Body) != body {
		t.Error("the body was changed on its way")
	}
	rig.post("/erupt-api/data/table/shop.Customer", "shop.Customer", `{"a":1}`)
	rig.post("/erupt-api/file/upload/shop.Customer/photo", "shop.Customer", "bytes", "Content-Type", "multipart/form-data; boundary=x")
	for _, e := range rig.recorder.wait(3)[1:] {
		if e.Params != nil {
			t.Errorf("%s keeps %q", e.Path, e.Params)
		}
	}
	rig.post("/erupt-api/data/modify/shop.Customer", "shop.Customer", `{"a":"`+strings.Repeat("x", 2*maxParams)+`"}`)
	if n := len(rig.recorder.wait(4)[3].Params); n != maxParams {
		t.Errorf("%d bytes of a long body are kept, want %d", n, maxParams)
	}
}

func TestSecretsInCutTexts(t *testing.T) {
	tests := map[string]string{
		`{"password":"abc`:       `{"password":"***"`,
		`{"password":"abc\`:      `{"password":"***"`,
		`{"password":`:           `{"password":`,
		`{"PassWord":"a","b":1}`: `{"PassWord":"***","b":1}`,
		`{"b":"password"}`:       `{"b":"password"}`,
		`[{"token":true}]`:       `[{"token":"***"}]`,
	}
	for text, want := range tests {
		if got := string((&upload{sample: []byte(text)}).params()); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}
