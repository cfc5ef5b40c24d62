package nodeapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/nodeapi"
	"eruptcloud/app/probe"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/nodeagent/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is everything behind the API, in memory.
type world struct {
	mu        sync.Mutex
	nodes     map[string]fleet.Node
	tokens    map[string]string
	groups    map[string]fleet.Group
	effective map[string]fleet.Effective
	sessions  map[string]access.Session
	live      map[string]registry.Instance // by id
	results   map[string]probe.Result      // by location; missing: all well
	removed   []string
	drained   map[string]time.Time
	triggered []string
	seen      []string
	audit     []access.Entry
	wishes    []nodeapi.LogWish
	calls     []string // in order
	broken    error    // what every store answers
	panics    bool
	lax       bool // tokens are not compared, as the settings may have it
	hangs     bool // until the caller's deadline
	hook      error
	now       time.Time
	count     int // of registered instances, as the bound sees it
	refusals  *fleet.Refusals
	events    []history.Event
	log       bytes.Buffer
	reg       *prometheus.Registry
	handler   http.Handler
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, fmt.Sprintf(format, args...))
	if w.panics {
		panic("broken inside")
	}
}

func (w *world) Authenticate(ctx context.Context, name, token string) (fleet.Node, error) {
	w.note("authenticate %s", name)
	if w.hangs {
		<-ctx.Done()
		return fleet.Node{}, ctx.Err()
	}
	if w.broken != nil {
		return fleet.Node{}, w.broken
	}
	n, ok := w.nodes[name]
	if !ok {
		return fleet.Node{}, fault.New(fault.NotFound, "NodeName: '%s' not found", name)
	}
	if w.tokens[name] != token && !w.lax {
		return fleet.Node{}, fault.New(fault.Unauthenticated, "%s Access token invalid", name)
	}
	return n, nil
}

func (w *world) AuthenticateStrict(ctx context.Context, name, token string) (fleet.Node, error) {
	n, err := w.Authenticate(ctx, name, token)
	if err == nil && w.tokens[name] != token {
		return fleet.Node{}, fault.New(fault.Unauthenticated, "%s Access token invalid", name)
	}
	return n, err
}

func (w *world) Effective(_ context.Context, name string) (fleet.Effective, error) {
	return w.effective[name], w.broken
}

func (w *world) MarkSeen(_ context.Context, name string) error {
	if w.broken != nil {
		return w.broken
	}
	w.seen = append(w.seen, name)
	n := w.nodes[name]
	n.FirstSeen = w.now
	w.nodes[name] = n
	return nil
}

func (w *world) Cached(name string) (fleet.Node, bool) {
	n, ok := w.nodes[name]
	return n, ok
}

func (w *world) ByCode(_ context.Context, code string) (fleet.Group, error) {
	g, ok := w.groups[code]
	if !ok {
		return g, fault.New(fault.NotFound, "no group has the code %q", code)
	}
	return g, w.broken
}

func (w *world) Chain(id int64) []int64 {
	if id == 0 {
		return nil
	}
	return []int64{id}
}

func (w *world) Register(_ context.Context, in registry.Instance) (registry.Instance, bool, error) {
	w.note("register %s", in.ID)
	if w.broken != nil {
		return in, false, w.broken
	}
	_, known := w.live[in.ID]
	w.live[in.ID] = in
	return in, !known, nil
}

func (w *world) RemoveLocations(_ context.Context, node string, locations []string, why registry.Reason) ([]string, error) {
	w.note("remove %s %s", node, why)
	var gone []string
	for id, in := range w.live {
		for _, l := range locations {
			if in.NodeName == node && slices.Contains(in.Locations, l) {
				delete(w.live, id)
				gone = append(gone, l)
			}
		}
	}
	w.removed = append(w.removed, locations...)
	return gone, w.broken
}

func (w *world) Drain(_ context.Context, node string, locations []string, until time.Time) error {
	w.note("drain %s", node)
	for _, l := range locations {
		w.drained[l] = until
	}
	return w.broken
}

func (w *world) Handshake(ctx context.Context, location, node string) probe.Result {
	w.note("probe %s", location)
	if _, ok := ctx.Deadline(); !ok {
		panic("a probe without a deadline")
	}
	if r, ok := w.results[location]; ok {
		return r
	}
	return probe.Result{OK: true}
}

func (w *world) Trigger(node string) { w.triggered = append(w.triggered, node) }

func (w *world) Check(ctx context.Context, token string, codes ...string) (access.Session, []bool, error) {
	w.note("session")
	if w.hangs {
		<-ctx.Done()
		return access.Session{}, nil, ctx.Err()
	}
	if w.broken != nil {
		return access.Session{}, nil, w.broken
	}
	in, ok := w.sessions[token]
	if !ok {
		return in, nil, fault.New(fault.Unauthenticated, "the session has ended")
	}
	held := make([]bool, len(codes))
	for i, c := range codes {
		_, held[i] = in.Values[strings.ToLower(c)]
	}
	return in, held, nil
}

func (w *world) Get(ctx context.Context, token string, codes ...string) (access.Session, []bool, error) {
	return w.Check(ctx, token, codes...)
}

// Open takes handles of the form d1_NODE_TOKEN.
func (w *world) Open(handle, node string) (string, error) {
	token, ok := strings.CutPrefix(handle, "d1_"+node+"_")
	if !ok {
		return "", errors.New("not for this node")
	}
	return token, nil
}

func (w *world) ReadLog(_ context.Context, wish nodeapi.LogWish) ([]wire.LogLine, error) {
	w.wishes = append(w.wishes, wish)
	if wish.Node == "stock" {
		return nil, fault.New(fault.NodeNotReady, "'%s' has no available instance", wish.Node)
	}
	return []wire.LogLine{{Content: "started", Num: 1}}, nil
}

func (w *world) Record(e access.Entry) { w.audit = append(w.audit, e) }

func (w *world) RegisterNode(_ context.Context, in wire.NodeInfo, _ *http.Request) error {
	w.note("hook register %s", in.NodeName)
	return w.hook
}

func (w *world) RemoveNode(_ context.Context, node string, _ *http.Request) error {
	w.note("hook remove %s", node)
	return w.hook
}

// eventLog is the world as the history.
type eventLog world

func (l *eventLog) Record(e history.Event) { l.events = append(l.events, e) }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		nodes:     map[string]fleet.Node{"orders": {Name: "orders", Enabled: true, Config: "{\"limit\": 5}", Group: "eu"}},
		tokens:    map[string]string{"orders": "SECRET0123456789"},
		groups:    map[string]fleet.Group{"eu": {Code: "eu", Config: `{"region":"eu"}`}},
		effective: map[string]fleet.Effective{"orders": {JSON: `{"limit":5,"region":"eu"}`, Revision: "r7"}},
		sessions: map[string]access.Session{"tok": {Token: "tok", UserID: 12, Account: "lin", Name: "Lin Yu", Org: "D-01", Roles: []string{"sales"},
			Values: map[string]access.Menu{"orders.customer": {}, "orders.customer@add": {}, "orders.customer@view_detail": {}}}},
		live: map[string]registry.Instance{}, results: map[string]probe.Result{}, drained: map[string]time.Time{},
		now: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC), reg: prometheus.NewRegistry(),
	}
	log := slog.New(slog.NewJSONHandler(&w.log, nil))
	now := func() time.Time { return w.now }
	w.refusals = fleet.NewRefusals(now)
	shell, err := web.New(web.Options{Sessions: w, CookieKeys: [][]byte{make([]byte, 32), make([]byte, 16)}, Logger: log, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	_, err = nodeapi.Mount(shell, nodeapi.Options{
		Nodes: w, Groups: w, Registry: w, Prober: w, Survival: w, Sessions: w, Delegates: w, Logs: w, Audit: w, Hook: w,
		Instance: func(k registry.Key) (registry.Instance, bool) {
			in, ok := w.live[k.ID]
			return in, ok && in.App == k.App
		},
		Count: func(string) int { return w.count }, Refusals: w.refusals, History: (*eventLog)(w),
		Logger: log, Metrics: w.reg, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.handler = shell.Handler()
	return w
}

// do sends a request; headers are pairs.
func (w *world) do(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return rec
}

func registration(change ...string) string {
	body := `{"instanceId":"kQzTbW","version":"2.0.4","nodeName":"orders","accessToken":"SECRET0123456789","nodeAddress":["http://10.0.3.17:8081/shop/"],"eruptModules":["erupt-jpa"],"erupts":["Customer"]}`
	for i := 0; i+1 < len(change); i += 2 {
		if !strings.Contains(body, change[i]) {
			panic("nothing to change: " + change[i])
		}
		body = strings.Replace(body, change[i], change[i+1], 1)
	}
	return body
}

func (w *world) register(body string) *httptest.ResponseRecorder {
	return w.do("POST", "/erupt-cloud-api/register-node", body, "Content-Type", "application/json;charset=UTF-8")
}

func read(r io.Reader) string {
	b, err := io.ReadAll(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
