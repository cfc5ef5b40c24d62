package proxy

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// judge is a fakeGate that names its rules.
type judge struct{ *fakeGate }

func (judge) Required(w Wish) string { return w.Node + "." + w.Erupt }

// peeking is a fakeDirectory that can be asked without a turn.
type peeking struct{ *fakeDirectory }

func (d peeking) Peek(node string) (Target, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.nodes[node]
	if !ok {
		return Target{}, Fail(NodeNotReady, "'%s' node not ready", node)
	}
	found := *t
	found.Upstreams = Peek(d.cursors.Of(node), t.Upstreams)
	return found, nil
}

func (d peeking) Candidates(string) ([]Candidate, bool) { return nil, true }

// newTracedRig is a rig whose gate and directory explain themselves.
func newTracedRig(t *testing.T) *rig {
	return newRig(t, func(o *Options) {
		o.Gate, o.Directory = judge{o.Gate.(*fakeGate)}, peeking{o.Directory.(*fakeDirectory)}
		o.RequestID = func(_ http.ResponseWriter, r *http.Request) string { return r.Header.Get("X-Request-Id") }
	})
}

// lastTrace waits for the newest trace: it is kept when the exchange ends, which the client may learn before.
func (r *rig) lastTrace(node string, n int) Trace {
	r.t.Helper()
	waitUntil(r.t, "the trace is kept", func() bool { return len(r.proxy.Traces(node, 0)) == n })
	return r.proxy.Traces(node, 1)[0]
}

func TestTraceOfAnAnswer(t *testing.T) { // D11
	dead, node := deadAddress(t), newFakeNode(t, nil)
	rig := newTracedRig(t)
	rig.dir.set("shop", dead, node.URL)
	held := Candidate{Location: "http://held", Instance: "i9", Standing: Held, Why: "disk", By: "lin"}
	rig.dir.nodes["shop"].Skipped = []Candidate{held}
	rig.get("/erupt-api/data/shop.Customer/7?secret=hidden", "shop.Customer", "X-Request-Id", "r1")
	got := rig.lastTrace("shop", 1)
	if got.ID != "r1" || got.Path != "/erupt-api/data/shop.Customer/7" || got.Method != "GET" || got.Erupt != "Customer" || got.Function != ViewDetail {
		t.Errorf("what was asked: %+v", got)
	}
	if want := (Decision{Allowed: true, Account: "lin", Required: "shop.Customer"}); got.Decision != want {
		t.Errorf("decision %+v, want %+v", got.Decision, want)
	}
	if len(got.Candidates) != 3 || got.Candidates[0].Location != dead || got.Candidates[1].Standing != Routed || got.Candidates[2] != held {
		t.Errorf("candidates %+v, want the two that take requests in their order, then the held one", got.Candidates)
	}
	if len(got.Tried) != 2 || got.Tried[0].Error != "connection refused" || got.Tried[1].Error != "" || got.Retry != RetryRefused {
		t.Errorf("tried %+v, retry %q", got.Tried, got.Retry)
	}
	if got.Location != node.URL || got.Status != 200 || got.Failure != "" || got.Waited <= 0 || got.Took < got.Waited {
		t.Errorf("outcome: %+v", got)
	}
	if text := fmt.Sprintf("%+v", rig.proxy.Traces("shop", 0)); strings.Contains(text, "hidden") || strings.Contains(text, sessionToken) ||
		strings.Contains(text, accessToken) || strings.Contains(text, delegatedToken) {
		t.Errorf("a trace tells secrets: %s", text)
	}
}

func TestTraceSaysWhyItWasNotTriedElsewhere(t *testing.T) { // D11, A15
	slow := newFakeNode(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	good := newFakeNode(t, nil)
	tests := map[string]struct {
		locations []string
		want      Retry
		failure   Kind
		status    int
	}{
		"the first answered":      {[]string{good.URL, slow.URL}, RetryAnswered, "", 200},
		"it broke after the send": {[]string{slow.URL, good.URL}, RetrySent, UpstreamUnreachable, 502},
		"nobody could be reached": {[]string{deadAddress(t), deadAddress(t)}, RetryNoneLeft, UpstreamUnreachable, 502},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rig := newTracedRig(t)
			rig.dir.set("shop", tt.locations...)
			rig.post("/erupt-api/data/table/shop.Customer", "shop.Customer", "{}")
			got := rig.lastTrace("shop", 1)
			if got.Retry != tt.want || got.Failure != tt.failure || got.Status != tt.status || (got.Message == "") != (tt.failure == "") {
				t.Errorf("retry %q, failure %q, status %d, message %q; want %q, %q, %d", got.Retry, got.Failure, got.Status, got.Message, tt.want, tt.failure, tt.status)
			}
		})
	}
}

func TestTraceOfABodyThatIsGone(t *testing.T) {
	e := &exchange{tried: []Attempt{{}}, refused: true, upload: &upload{}, target: Target{Upstreams: make([]Upstream, 2)}}
	if got := e.retry(); got != "" {
		t.Errorf("with an unread body and a location left: %q, want nothing: the client left", got)
	}
	e.upload.read.Store(true)
	if got := e.retry(); got != RetryBodyRead {
		t.Errorf("with a body half read: %q, want %q", got, RetryBodyRead)
	}
}

func TestTraceOfRefusals(t *testing.T) { // D11
	rig := newTracedRig(t)
	rig.dir.set("shop")
	rig.dir.nodes["shop"].Skipped = []Candidate{{Location: "http://d", Standing: Draining}}
	rig.do(rig.request("GET", "/erupt-api/data/tree/shop.Customer", "shop.Customer", nil, "token", "wrong"))
	rig.gate.decide = func(w Wish) error {
		if w.Function == Add {
			f := Fail(Forbidden, "this needs the permission %s", "shop.Customer@ADD")
			f.Required = "shop.Customer@ADD"
			return f
		}
		return nil
	}
	rig.post("/erupt-api/data/modify/shop.Customer", "shop.Customer", "{}")
	rig.get("/erupt-api/data/tree/shop.Customer", "shop.Customer")
	rig.get("/erupt-api/data/tree/shop.Customer", "shop.Customer", "eruptParent", "other.Page")
	rig.get("/erupt-api/data/tree/nobody.Customer", "nobody.Customer")
	all := rig.proxy.Traces("shop", 0)
	if len(all) != 4 {
		t.Fatalf("%d traces, want 4: %+v", len(all), all)
	}
	want := []struct {
		status   int
		allowed  bool
		required string
	}{{403, false, "shop.Customer"}, {503, true, "shop.Customer"}, {403, false, "shop.Customer@ADD"}, {401, false, "shop.Customer"}}
	for i, w := range want {
		got := all[i]
		if got.Status != w.status || got.Decision.Allowed != w.allowed || got.Decision.Required != w.required || (got.Decision.Because == "") != w.allowed || got.Retry != "" {
			t.Errorf("trace %d: status %d, decision %+v, retry %q; want %+v", i, got.Status, got.Decision, got.Retry, w)
		}
	}
	if len(all[1].Candidates) != 1 || all[1].Candidates[0].Standing != Draining {
		t.Errorf("candidates of what was not ready: %+v, want the draining one", all[1].Candidates)
	}
	if got := rig.proxy.Traces("nobody", 0); len(got) != 0 {
		t.Errorf("a name that no profile has is remembered: %+v", got)
	}
}

func TestTracesAreBounded(t *testing.T) {
	rig := newTracedRig(t)
	entry := traced{path: "/" + strings.Repeat("x", 10<<10), index: -1, routed: make([]Upstream, 40), skipped: make([]Candidate, 3)}
	for n := range 3 * maxTraced {
		for range 2 {
			rig.proxy.traces.keep(&Wish{Node: fmt.Sprint("n", n), Token: "t"}, entry)
		}
		rig.proxy.traces.keep(&Wish{Node: "often"}, entry)
	}
	if n := len(rig.proxy.traces.nodes); n != maxTraced {
		t.Errorf("traces of %d nodes, want %d", n, maxTraced)
	}
	all := rig.proxy.Traces("often", 0)
	if len(all) != maxTraces {
		t.Fatalf("%d traces of one node, want %d", len(all), maxTraces)
	}
	if got := all[0]; len(got.Path) > maxTracePath+3 || len(got.Candidates) != maxCandidates || got.More != 11 {
		t.Errorf("a trace with a path of %d bytes, %d candidates and %d more; want it bounded", len(got.Path), len(got.Candidates), got.More)
	}
	if got := rig.proxy.Traces("n0", 0); got != nil {
		t.Errorf("the node that was asked for longest ago is kept: %v", got)
	}
}

func TestTracesAreNewestFirst(t *testing.T) {
	rig := newTracedRig(t)
	for i := range maxTraces + 7 {
		rig.proxy.traces.keep(&Wish{Node: "shop"}, traced{id: fmt.Sprint(i), index: -1})
	}
	all := rig.proxy.Traces("shop", 3)
	for i, want := range []string{"56", "55", "54"} {
		if all[i].ID != want {
			t.Errorf("trace %d is %s, want %s", i, all[i].ID, want)
		}
	}
}

func TestExplain(t *testing.T) { // D11: a dry run
	node := newFakeNode(t, nil)
	rig := newTracedRig(t)
	rig.dir.rotates = true
	rig.dir.set("shop", node.URL, "http://second")
	rig.gate.decide = func(w Wish) error {
		if w.Write {
			return Fail(Forbidden, "this needs the permission %s", "shop.Customer@ADD")
		}
		return nil
	}
	tests := map[string]struct {
		as, method, path, erupt, parent string
		status                          int
		allowed, own                    bool
	}{
		"what may be":          {sessionToken, "GET", "/erupt-api/data/tree/shop.Customer?x=1", "", "", 0, true, false},
		"with a header":        {sessionToken, "GET", "/erupt-api/data/tree/shop.Customer", "shop.Customer", "shop.Order", 0, true, false},
		"another name":         {sessionToken, "GET", "/erupt-api/data/tree/shop.Customer", "shop.Order", "", 400, false, false},
		"no session":           {"wrong", "GET", "/erupt-api/data/tree/shop.Customer", "", "", 401, false, false},
		"no right":             {sessionToken, "POST", "/erupt-api/data/modify/shop.Customer", "", "", 403, false, false},
		"a parent of others":   {sessionToken, "GET", "/erupt-api/data/tree/shop.Customer", "", "crm.X", 403, false, false},
		"unknown node":         {sessionToken, "GET", "/erupt-api/data/tree/crm.Customer", "", "", 503, false, false},
		"unknown method":       {sessionToken, "PATCH", "/erupt-api/data/tree/shop.Customer", "shop.Customer", "", 405, false, false},
		"the server's own":     {sessionToken, "GET", "/erupt-api/menu", "", "", 0, true, true},
		"no path":              {sessionToken, "GET", "data", "", "", 400, false, false},
		"an address":           {sessionToken, "GET", "http://evil/erupt-api/data/tree/shop.Customer", "", "", 400, false, false},
		"a template":           {sessionToken, "GET", "/erupt-api/tpl/a.html?_node=shop", "", "", 0, true, false},
		"what is not encoded":  {sessionToken, "GET", "/erupt-api/data/tree/%zz", "", "", 400, false, false},
		"an encoded separator": {sessionToken, "GET", "/erupt-api/data/tree/a%2fb", "", "", 400, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := rig.proxy.Explain(t.Context(), tt.as, tt.method, tt.path, tt.erupt, tt.parent)
			if got.Status != tt.status || got.Decision.Allowed != tt.allowed || got.Own != tt.own || !got.Dry || (got.Failure == "") != (tt.status == 0) {
				t.Errorf("Explain = %+v, want status %d, allowed %v, own %v", got, tt.status, tt.allowed, tt.own)
			}
			if tt.allowed && !tt.own && (len(got.Candidates) != 2 || got.Candidates[0].Location != node.URL) {
				t.Errorf("candidates %+v, want both, the next in turn first", got.Candidates)
			}
			if strings.Contains(got.Path, "?") {
				t.Errorf("path %q has a query", got.Path)
			}
		})
	}
	if n := len(node.requests()); n != 0 {
		t.Errorf("the node got %d requests, want none", n)
	}
	if got := rig.proxy.Traces("shop", 0); len(got) != 0 {
		t.Errorf("dry runs are kept: %+v", got)
	}
	rig.get("/erupt-api/data/tree/shop.Customer", "shop.Customer")
	if n := len(node.requests()); n != 1 {
		t.Errorf("the first request after the dry runs went elsewhere: they turned the rotation")
	}
}

func TestExplainAsksNoNodeForItsModel(t *testing.T) {
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	if _, err := rig.proxy.Caller().Fetch(context.WithValue(t.Context(), dryKey{}, true), "shop", "Customer", User{}); err == nil {
		t.Error("a model was fetched in a dry run")
	}
	if n := len(node.requests()); n != 0 {
		t.Errorf("the node got %d requests, want none", n)
	}
}

// waitUntil waits for what another goroutine does after the client has its answer.
func waitUntil(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); !ok(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// BenchmarkTrace is what a trace costs a request: budget 400 ns, no allocation.
func BenchmarkTrace(b *testing.B) {
	p := newRig(b).proxy
	rt := &route{endpoint: endpoints[0], wish: Wish{Node: "shop", Erupt: "Customer"}, path: "/erupt-api/build/Customer"}
	e := &exchange{p: p, endpoint: endpoints[0], route: rt, started: time.Now(), target: Target{Node: "shop", Upstreams: make([]Upstream, 3)}}
	b.ReportAllocs()
	for b.Loop() {
		p.traces.keep(&rt.wish, e.traced())
	}
}
