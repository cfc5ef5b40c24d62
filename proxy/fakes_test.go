package proxy

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"eruptcloud/nodeagent/wire"
)

const (
	sessionToken   = "session-of-lin"
	delegatedToken = "d1_lin"
	accessToken    = "AT-0001"
)

// fakeDirectory knows nodes by name. An evicted location stays listed unless drop is set, so that tests see what the
// proxy alone does.
type fakeDirectory struct {
	mu      sync.Mutex
	nodes   map[string]*Target
	cursors Cursors
	evicted []string
	drop    bool
	rotates bool
}

func (d *fakeDirectory) Known(node string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.nodes[node] != nil
}

func (d *fakeDirectory) Lookup(node string) (Target, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, ok := d.nodes[node]
	if !ok {
		return Target{}, Fail(NodeNotReady, "'%s' node not ready", node)
	}
	found := *t
	if d.rotates {
		found.Upstreams = Rotate(d.cursors.Of(node), t.Upstreams)
	}
	return found, nil
}

func (d *fakeDirectory) Evict(_ context.Context, node, location string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.evicted = append(d.evicted, node+" "+location)
	if d.drop {
		t := *d.nodes[node]
		t.Upstreams = slices.DeleteFunc(slices.Clone(t.Upstreams), func(u Upstream) bool { return u.Location == location })
		d.nodes[node] = &t
	}
}

func (d *fakeDirectory) evictions() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.evicted)
}

func (d *fakeDirectory) set(node string, locations ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := &Target{Node: node}
	for i, l := range locations {
		t.Upstreams = append(t.Upstreams, Upstream{Location: l, Instance: "i" + string(rune('1'+i)), Token: accessToken})
	}
	d.nodes[node] = t
}

// fakeGate admits the session token, unless decide says otherwise.
type fakeGate struct {
	mu     sync.Mutex
	wishes []Wish
	decide func(Wish) error
	user   wire.User
}

func (g *fakeGate) Admit(_ context.Context, w Wish) (User, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.Token != sessionToken {
		return User{}, Fail(Unauthenticated, "sign in first")
	}
	g.wishes = append(g.wishes, w)
	if g.decide != nil {
		if err := g.decide(w); err != nil {
			return User{}, err
		}
	}
	return User{User: g.user, Token: sessionToken, Delegated: delegatedToken}, nil
}

func (g *fakeGate) last() Wish {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.wishes) == 0 {
		return Wish{}
	}
	return g.wishes[len(g.wishes)-1]
}

type fakeRecorder struct {
	mu      sync.Mutex
	more    *sync.Cond
	entries []Entry
}

func (r *fakeRecorder) Record(e Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	r.more.Broadcast()
}

// wait returns once there are n entries.
func (r *fakeRecorder) wait(n int) []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.entries) < n {
		r.more.Wait()
	}
	return slices.Clone(r.entries)
}

func (r *fakeRecorder) all() []Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.entries)
}

// seen is a request as a fake node got it.
type seen struct {
	Method, Target, Host string
	Header               http.Header
	Body                 []byte
	Length               int64
	Encoding             []string
	Trailer              http.Header
}

// fakeNode is a real listener that keeps what it was asked.
type fakeNode struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []seen
	answer http.HandlerFunc
}

func newFakeNode(t testing.TB, answer http.HandlerFunc) *fakeNode {
	t.Helper()
	n := &fakeNode{answer: answer}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n.mu.Lock()
		n.asked = append(n.asked, seen{
			r.Method, r.RequestURI, r.Host, r.Header.Clone(), body, r.ContentLength, r.TransferEncoding, r.Trailer,
		})
		n.mu.Unlock()
		if n.answer == nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"ok":true}`)
			return
		}
		n.answer(w, r)
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *fakeNode) requests() []seen {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.asked)
}

func (n *fakeNode) only(t testing.TB) seen {
	t.Helper()
	all := n.requests()
	if len(all) != 1 {
		t.Fatalf("the node got %d requests, want one: %+v", len(all), all)
	}
	return all[0]
}

// rig is a proxy behind a real server, with everything around it faked.
type rig struct {
	t        testing.TB
	dir      *fakeDirectory
	gate     *fakeGate
	recorder *fakeRecorder
	proxy    *Proxy
	server   *httptest.Server
	client   *http.Client
	failures chan *Failure
	local    []string
	mu       sync.Mutex
}

func newRig(t testing.TB, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{
		t: t, dir: &fakeDirectory{nodes: map[string]*Target{}}, recorder: &fakeRecorder{}, failures: make(chan *Failure, 1024),
		gate: &fakeGate{user: wire.User{UID: 12, Account: "lin", Name: "Lin Yu"}},
	}
	o := Options{
		Directory: r.dir, Gate: r.gate, Recorder: r.recorder, Fail: r.fail,
		Local: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			r.mu.Lock()
			r.local = append(r.local, q.URL.Path)
			r.mu.Unlock()
			w.Header().Set("X-Local", "1")
			w.WriteHeader(http.StatusTeapot)
		}),
	}
	r.recorder.more = sync.NewCond(&r.recorder.mu)
	for _, c := range change {
		c(&o)
	}
	var err error
	if r.proxy, err = New(o); err != nil {
		t.Fatal(err)
	}
	r.server = httptest.NewServer(r.proxy)
	r.client = &http.Client{Transport: &http.Transport{DisableCompression: true}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		r.server.Close()
		r.proxy.Close()
	})
	return r
}

// fail answers with the kind, as the server's envelope would.
func (r *rig) fail(w http.ResponseWriter, _ *http.Request, err error) {
	f := &Failure{Kind: Broken, Format: err.Error()}
	if k, ok := asFailure(err); ok {
		f = k
	}
	select {
	case r.failures <- f:
	default:
	}
	status := map[Kind]int{
		Invalid: 400, Unauthenticated: 401, Forbidden: 403, NotFound: 404, MethodNotAllowed: 405, TooLarge: 413,
		NodeNotReady: 503, UpstreamUnreachable: 502, UpstreamTimeout: 504, ClientGone: 499, Broken: 500,
	}[f.Kind]
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": string(f.Kind), "message": f.Message()})
}

func asFailure(err error) (*Failure, bool) {
	for err != nil {
		if f, ok := err.(*Failure); ok {
			return f, true
		}
		u, ok := err.(interface{ Unwrap() error })
		if !ok {
			return nil, false
		}
		err = u.Unwrap()
	}
	return nil, false
}

func (r *rig) locals() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.local)
}

// failure waits for what Options.Fail was called with.
func (r *rig) failure() *Failure {
	r.t.Helper()
	select {
	case f := <-r.failures:
		return f
	case <-time.After(30 * time.Second):
		r.t.Fatal("nothing failed")
		return nil
	}
}

type reply struct {
	Status int
	Header http.Header
	Body   string
}

// request makes a browser's request with session and erupt name.
func (r *rig) request(method, target, erupt string, body io.Reader, headers ...string) *http.Request {
	r.t.Helper()
	req, err := http.NewRequest(method, r.server.URL+target, body)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("token", sessionToken)
	if erupt != "" {
		req.Header.Set("erupt", erupt)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

func (r *rig) do(req *http.Request) reply {
	r.t.Helper()
	res, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatalf("read the answer: %v", err)
	}
	return reply{res.StatusCode, res.Header, string(body)}
}

func (r *rig) get(target, erupt string, headers ...string) reply {
	r.t.Helper()
	return r.do(r.request(http.MethodGet, target, erupt, nil, headers...))
}

func (r *rig) post(target, erupt, body string, headers ...string) reply {
	r.t.Helper()
	return r.do(r.request(http.MethodPost, target, erupt, strings.NewReader(body), append([]string{"Content-Type", "application/json"}, headers...)...))
}

// raw sends bytes as they are, for what no client library would send.
func (r *rig) raw(text string) reply {
	r.t.Helper()
	conn := r.dial()
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		r.t.Fatal(err)
	}
	return readReply(r.t, conn)
}
