package nodeapi_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"eruptcloud/app/fault"
	"eruptcloud/app/probe"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
)

func TestRegister(t *testing.T) { // A2, A6
	w := newWorld(t)
	res := w.register(registration())
	if res.Code != 200 || res.Body.Len() != 0 {
		t.Fatalf("answered %d %q, want 200 and an empty body", res.Code, res.Body)
	}
	if h := res.Header(); h.Get(wire.HeaderHeartbeat) != "15000" || h.Get(wire.HeaderConfigRevision) != "r7" {
		t.Errorf("headers %v, want the interval in ms and the config revision", h)
	}
	in := w.live["kQzTbW"]
	if in.App != "ORDERS" || in.NodeName != "orders" || in.Origin != registry.OriginNode || in.Status != registry.Up ||
		!slices.Equal(in.Locations, []string{"http://10.0.3.17:8081/shop"}) {
		t.Errorf("registered %+v", in)
	}
	if d := in.Node; d.Version != "2.0.4" || d.Peer != "192.0.2.1" || len(d.Token) != 64 || strings.Contains(d.Token, "SECRET") {
		t.Errorf("detail %+v, want version, peer and the token's hash", d)
	}
	if len(w.seen) != 1 {
		t.Errorf("first registration noted %d times, want once", len(w.seen))
	}
	w.register(registration())
	if got := testutil.ToFloat64(counter(t, w)); got != 2 {
		t.Errorf("heartbeats_total{ok} is %v, want 2", got)
	}
	if log := w.log.String(); strings.Count(log, "instance registered") != 1 || strings.Contains(log, "SECRET") {
		t.Errorf("log must name the new instance once and no token: %s", log)
	}
}

func counter(t *testing.T, w *world) testCounter {
	t.Helper()
	return testCounter{w}
}

// TestOrderOfRefusals: the order is erupt's and operators read it from the node's log (A3, A4, A5; erupt-wire 1.1, 1.8).
func TestOrderOfRefusals(t *testing.T) {
	const unreachable = "http://10.0.3.17:8081/shop"
	tests := map[string]struct {
		body    string
		before  func(*world)
		status  int
		code    fault.Code
		message string
		after   string // last call before the refusal
	}{
		"unknown node": {registration("orders", "nosuch"), nil, 404, fault.NotFound, "NodeName: 'nosuch' not found", "authenticate nosuch"},
		"wrong token":  {registration("SECRET0123456789", "WRONG"), nil, 401, fault.Unauthenticated, "orders Access token invalid", "authenticate orders"},
		"token null":   {registration(`"SECRET0123456789"`, "null"), nil, 401, fault.Unauthenticated, "orders Access token invalid", "authenticate orders"},
		"disabled": {registration(), func(w *world) { n := w.nodes["orders"]; n.Enabled = false; w.nodes["orders"] = n },
			500, fault.RegistrationProhibited, "orders prohibiting the registration", "authenticate orders"},
		"hook refuses": {registration(), func(w *world) { w.hook = errors.New("frozen until Monday") }, 403, fault.Forbidden, "frozen until Monday", "hook register orders"},
		"unreachable": {registration(), func(w *world) {
			w.results[unreachable] = probe.Result{Layer: probe.Connect, Err: errors.New("connection refused: nothing listens at 10.0.3.17:8081")}
		}, 502, fault.UpstreamUnreachable, "Unable to establish a connection with " + unreachable + " (connect: connection refused", "probe " + unreachable},
		"store down": {registration(), func(w *world) {
			w.broken = fault.New(fault.Unavailable, "the registry cannot be written").Retry(time.Second)
		}, 503, fault.Unavailable, "cannot be written", "authenticate orders"},
		"metadata service":   {registration("http://10.0.3.17:8081/shop/", "http://user@169.254.169.254/"), nil, 400, fault.Invalid, "user information", "authenticate orders"},
		"no address":         {registration(`["http://10.0.3.17:8081/shop/"]`, "[]"), nil, 400, fault.Invalid, "nodeAddress names no address", ""},
		"address is missing": {registration(`"nodeAddress":["http://10.0.3.17:8081/shop/"],`, ""), nil, 400, fault.Invalid, "nodeAddress names no address", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if tt.before != nil {
				tt.before(w)
			}
			res := w.register(tt.body)
			var e web.Envelope
			if err := json.Unmarshal(res.Body.Bytes(), &e); err != nil {
				t.Fatalf("answer %d %q is no envelope: %v", res.Code, res.Body, err)
			}
			if res.Code != tt.status || e.Status != tt.status || e.Code != string(tt.code) || !strings.Contains(e.Message, tt.message) {
				t.Errorf("answered %d %+v, want %d %s with %q", res.Code, e, tt.status, tt.code, tt.message)
			}
			if last := lastOf(w.calls); last != tt.after {
				t.Errorf("stopped after %q, want after %q", last, tt.after)
			}
			if len(w.live) != 0 {
				t.Errorf("a refused registration left %v", w.live)
			}
		})
	}
}

func lastOf(calls []string) string {
	if len(calls) == 0 {
		return ""
	}
	return calls[len(calls)-1]
}

// TestTheFailingAddressAndLayerAreNamed: S5. The first in the order reported is named, though all are asked at once.
func TestTheFailingAddressAndLayerAreNamed(t *testing.T) {
	w := newWorld(t)
	w.results["http://b:1"] = probe.Result{Layer: probe.DNS, Err: errors.New(`the server cannot resolve the name "b"`)}
	w.results["http://c:1"] = probe.Result{Layer: probe.Connect, Err: errors.New("refused")}
	res := w.register(registration(`"http://10.0.3.17:8081/shop/"`, `"http://a:1","http://b:1","http://c:1"`))
	if res.Code != 502 || res.Header().Get(wire.HeaderLayer) != "dns" || !strings.Contains(res.Body.String(), "http://b:1 (dns: the server cannot resolve") {
		t.Errorf("answered %d, layer %q, %s", res.Code, res.Header().Get(wire.HeaderLayer), res.Body)
	}
}

// TestARegistrationReadsNothingForTheNode: S58, an answer of something else must not come back through us.
func TestARegistrationReadsNothingForTheNode(t *testing.T) {
	w := newWorld(t)
	w.results["http://10.0.3.17:8081/shop"] = probe.Result{Layer: probe.Identity, Err: errors.New(`another service answers there: "aws-secret-key", expected "orders"`)}
	res := w.register(registration())
	if res.Code != 502 || strings.Contains(res.Body.String(), "aws-secret") || !strings.Contains(w.log.String(), "aws-secret") {
		t.Errorf("answered %d %s; the foreign answer belongs in our log only", res.Code, res.Body)
	}
}

func TestTwoInstancesBehindOneAddress(t *testing.T) { // S3
	w := newWorld(t)
	w.results["http://10.0.3.17:8081/shop"] = probe.Result{OK: true, Instance: "other"}
	res := w.register(registration())
	if res.Code != 502 || !strings.Contains(res.Body.String(), "another instance of the node answers there") {
		t.Errorf("answered %d %s, want a refusal that says why", res.Code, res.Body)
	}
}

func TestUnreadableRegistrations(t *testing.T) { // F18
	many := func(n int) string {
		return `["` + strings.Repeat(`x","`, n-1) + `x"]`
	}
	long := strings.Repeat("é", 256)
	tests := map[string]struct {
		body   string
		status int
		want   string
	}{
		"broken JSON":              {`{"nodeName":`, 400, "not JSON"},
		"nothing":                  {``, 400, "not JSON"},
		"null":                     {`null`, 400, "null"},
		"a key twice":              {`{"nodeName":"orders","nodeName":"stock"}`, 400, "twice"},
		"no UTF-8":                 {"{\"nodeName\":\"\xff\"}", 400, "not UTF-8"},
		"an array":                 {`[]`, 400, "no JSON object"},
		"empty object":             {`{}`, 400, "nodeName is missing"},
		"no instance id":           {registration(`"instanceId":"kQzTbW",`, ""), 400, "instanceId is missing"},
		"number as name":           {registration(`"orders"`, "5"), 400, "nodeName has the wrong type"},
		"text as addresses":        {registration(`["http://10.0.3.17:8081/shop/"]`, `"http://a"`), 400, "nodeAddress has the wrong type"},
		"17 addresses":             {registration(`["http://10.0.3.17:8081/shop/"]`, many(17)), 413, "more than 16 addresses"},
		"5001 erupts":              {registration(`["Customer"]`, many(5001)), 413, "more than 5000 names"},
		"1001 modules":             {registration(`["erupt-jpa"]`, many(1001)), 413, "more than 1000 names"},
		"name of 256":              {registration(`"Customer"`, `"`+long+`"`), 413, "erupts: more than 255 characters"},
		"instance id of 256":       {registration(`kQzTbW`, long), 413, "instanceId: more than 255 characters"},
		"control characters":       {registration(`kQzTbW`, `a\u0000b`), 400, "instanceId holds control characters"},
		"line break in a name":     {registration(`Customer`, `a\r\nX: y`), 400, "erupts holds control characters"},
		"writing turned around":    {registration(`Customer`, `a\u202eb`), 400, "erupts holds control characters"},
		"control in a resource":    {registration(`"erupts"`, `"resources":{"fl\u0007ow":[]},"erupts"`), 400, "resources holds control characters"},
		"resources of 65 KiB":      {registration(`"erupts"`, `"resources":{"flow":["`+strings.Repeat("a", 65<<10)+`"]},"erupts"`), 413, "resources: more than 65536 bytes"},
		"foreign field of 257 KiB": {registration(`"erupts"`, `"novel":"`+strings.Repeat("a", 257<<10)+`","erupts"`), 413, "unknown fields"},
		"body over 1 MiB":          {registration(`"erupts"`, `"novel":"`+strings.Repeat("a", 1<<20)+`","erupts"`), 413, "larger than 1048576 bytes"},
		"deep nesting":             {`{"nodeName":` + strings.Repeat("[", 20_000), 400, "not JSON"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			res := w.register(tt.body)
			if res.Code != tt.status || !strings.Contains(res.Body.String(), tt.want) {
				t.Errorf("answered %d %.300s, want %d with %q", res.Code, res.Body, tt.status, tt.want)
			}
			if len(w.calls) != 0 {
				t.Errorf("reached %v, want nothing behind the door", w.calls)
			}
		})
	}
}

func TestForeignFieldsAreKeptAndOursIgnored(t *testing.T) { // A2, A6, erupt-wire 10.3.5
	w := newWorld(t)
	res := w.register(registration(`"erupts"`, `"registerTime":"1999-01-01T00:00:00.000","locations":["http://evil"],"resources":{"flow":["approve"]},"novel":{"a":1},"erupts"`))
	in := w.live["kQzTbW"]
	if res.Code != 200 || len(in.Locations) != 1 || in.Locations[0] != "http://10.0.3.17:8081/shop" {
		t.Fatalf("answered %d, locations %v; what a node says of the server's own fields must not count", res.Code, in.Locations)
	}
	want := map[string]json.RawMessage{"novel": json.RawMessage(`{"a":1}`)}
	if !reflect.DeepEqual(in.Node.Extra, want) || in.Node.Resources["flow"][0] != "approve" {
		t.Errorf("kept %v and %v, want %v and the resources", in.Node.Extra, in.Node.Resources, want)
	}
}

func TestAnyContentTypeAndPathOfTheJavaClient(t *testing.T) { // erupt-wire 1.0
	for _, target := range []string{"/erupt-cloud-api/register-node", "//erupt-cloud-api/register-node", "/erupt-cloud-api//register-node"} {
		for _, kind := range []string{"application/json;charset=UTF-8", "text/plain", "", "application/octet-stream"} {
			w := newWorld(t)
			r, _ := http.NewRequest("POST", "http://fleet.test", strings.NewReader("\xef\xbb\xbf"+registration()))
			r.URL.Path = target
			r.Header.Set("Content-Type", kind)
			if res := serve(w, r); res.Code != 200 {
				t.Errorf("%s as %q answered %d %s, want 200", target, kind, res.Code, res.Body)
			}
		}
	}
}

func TestRepeatedAddressesAreProbedOnce(t *testing.T) {
	w := newWorld(t)
	w.register(registration(`"http://10.0.3.17:8081/shop/"`, `"http://A:80","http://a/","http://a"`))
	if got := w.live["kQzTbW"].Locations; !slices.Equal(got, []string{"http://a"}) {
		t.Errorf("locations %v, want the one that all three mean", got)
	}
}

// TestABusyInstanceIsHeldBackAlone: S14.
func TestABusyInstanceIsHeldBackAlone(t *testing.T) {
	w := newWorld(t)
	refused := 0
	for range 200 {
		w.now = w.now.Add(5 * time.Millisecond)
		if res := w.register(registration()); res.Code == 429 {
			refused++
			if res.Header().Get("Retry-After") == "" || !strings.Contains(res.Body.String(), `"code":"too_many"`) {
				t.Fatalf("a refusal without when to come back: %v %s", res.Header(), res.Body)
			}
		}
	}
	if refused < 160 {
		t.Errorf("of 200 beats in a second %d were refused, want all but some thirty", refused)
	}
	for i := range 50 {
		if res := w.register(registration("kQzTbW", fmt.Sprintf("other%d", i))); res.Code != 200 {
			t.Fatalf("another instance from the same address was answered %d, want 200", res.Code)
		}
	}
}

func TestLoopbackFromElsewhereIsWarnedOf(t *testing.T) {
	tests := map[string]bool{"http://127.0.0.1:8080": true, "http://localhost:8080": true, "http://[::1]:8080": true, "http://10.0.0.1:8080": false}
	for address, want := range tests {
		w := newWorld(t)
		w.register(registration("http://10.0.3.17:8081/shop/", address))
		if got := strings.Contains(w.log.String(), "loopback"); got != want {
			t.Errorf("%s: warned %t, want %t", address, got, want)
		}
	}
}

func TestAHookSeesTheRegistration(t *testing.T) { // A4: before the probes
	w := newWorld(t)
	w.register(registration())
	want := []string{"authenticate orders", "hook register orders", "probe http://10.0.3.17:8081/shop", "register kQzTbW"}
	if !slices.Equal(w.calls, want) {
		t.Errorf("calls %q, want %q", w.calls, want)
	}
}

// TestAnswersWithinSeconds: an old node's heartbeat thread waits without a timeout (erupt-wire 1.0).
func TestAnswersWithinSeconds(t *testing.T) {
	calls := map[string]struct {
		ask    func(*world) *httptest.ResponseRecorder
		status int
		body   string
	}{
		"register": {func(w *world) *httptest.ResponseRecorder { return w.register(registration()) }, 503, `"code":"unavailable"`},
		"leave":    {func(w *world) *httptest.ResponseRecorder { return w.leave(who) }, 503, `"code":"unavailable"`},
		"config": {func(w *world) *httptest.ResponseRecorder {
			return w.do("GET", "/erupt-cloud-api/node-config/orders", "", "Access-Token", "x")
		}, 200, ""},
		"power": {func(w *world) *httptest.ResponseRecorder {
			return w.do("GET", "/erupt-cloud-api/erupt-power?nodeName=orders&eruptName=Customer", "", "token", "d1_orders_tok")
		}, 200, noPower},
		"user": {func(w *world) *httptest.ResponseRecorder {
			return w.do("GET", "/erupt-cloud-api/userinfo/orders", "", "token", "d1_orders_tok")
		}, 200, ""},
	}
	for name, tt := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.hangs = true
				began := time.Now()
				res := tt.ask(w)
				if took := time.Since(began); took > 5*time.Second || res.Code != tt.status || !strings.Contains(res.Body.String(), tt.body) {
					t.Errorf("answered %d %s after %s, want %d within 5 s", res.Code, res.Body, took, tt.status)
				}
			})
		})
	}
}
