package proxy

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of what is remembered for traces. Names and paths come from anybody.
const (
	maxTraces     = 50  // of a node
	maxTraced     = 500 // nodes; the one that was asked for longest ago goes first
	maxCandidates = 32  // of one request
	maxTracePath  = 256 // bytes
	maxMessage    = 300 // bytes
)

// traces are the last requests of each node, in memory. A request costs a look-up and a copy into a slot of its node's ring.
type traces struct {
	mu    sync.RWMutex
	nodes map[string]*ring
	turn  atomic.Uint64 // counts requests, to tell which node was asked for last
}

type ring struct {
	turn atomic.Uint64 // of the last request
	mu   sync.Mutex
	kept []traced
	next int // slot that is written next, once all are in use
}

// traced is what is kept of one request; a Trace is made of it for who reads it. The slices are shared with nobody who writes.
type traced struct {
	id       string
	at       time.Time
	wish     Wish // without token
	method   string
	path     string
	index    int // segment of path that the node's name is put before, -1 for none
	account  string
	allowed  bool
	required string // missing code
	because  string
	routed   []Upstream
	skipped  []Candidate
	more     int
	tried    []Attempt
	answered bool // the last location answered
	status   int
	failure  Kind
	message  string
	retry    Retry
	waited   time.Duration
	took     time.Duration
}

// keep takes what became of a wish.
func (t *traces) keep(w *Wish, entry traced) {
	entry.wish = *w
	entry.wish.Token = ""
	entry.path, entry.id = cutPath(entry.path), shorten(entry.id, maxMessage)
	entry.bound()
	r := t.of(w.Node)
	r.turn.Store(t.turn.Add(1))
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kept) < maxTraces {
		r.kept = append(r.kept, entry)
		return
	}
	r.kept[r.next] = entry
	r.next = (r.next + 1) % maxTraces
}

func (t *traces) of(node string) *ring {
	t.mu.RLock()
	r := t.nodes[node]
	t.mu.RUnlock()
	if r != nil {
		return r
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.nodes[node]; r != nil {
		return r
	}
	if t.nodes == nil {
		t.nodes = map[string]*ring{}
	}
	if len(t.nodes) >= maxTraced {
		t.forgetOldest()
	}
	r = new(ring)
	r.turn.Store(t.turn.Load())
	t.nodes[strings.Clone(node)] = r
	return r
}

// Forget drops what is remembered of a node that does not exist any more.
func (p *Proxy) Forget(node string) {
	p.traces.mu.Lock()
	defer p.traces.mu.Unlock()
	delete(p.traces.nodes, node)
}

func (t *traces) forgetOldest() {
	oldest, least := "", uint64(1<<64-1)
	for node, r := range t.nodes {
		if turn := r.turn.Load(); turn < least {
			oldest, least = node, turn
		}
	}
	delete(t.nodes, oldest)
}

// bound keeps what a large node would make of one request small.
func (e *traced) bound() {
	if n := len(e.routed); n > maxCandidates {
		e.more, e.routed = n-maxCandidates, append([]Upstream(nil), e.routed[:maxCandidates]...)
	}
	if left := maxCandidates - len(e.routed); len(e.skipped) > left {
		e.more += len(e.skipped) - left
		e.skipped = append([]Candidate(nil), e.skipped[:left]...)
	}
}

// cutPath keeps neither a long path nor the long text that a short one was a part of.
func cutPath(path string) string {
	if len(path) <= maxTracePath {
		return path
	}
	return shorten(path, maxTracePath)
}

// shorten returns at most limit bytes of s, with a sign that there was more.
func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// traced says what became of an exchange.
func (e *exchange) traced() traced {
	t := traced{
		id: e.requestID, at: e.started, method: e.method, path: e.route.path, index: e.endpoint.index, account: e.user.Account,
		allowed: true, routed: e.target.Upstreams, skipped: e.target.Skipped, tried: e.tried, status: e.status,
		took: e.p.o.Now().Sub(e.started),
	}
	if !e.answered.IsZero() {
		t.answered, t.waited = true, e.answered.Sub(e.started)
	}
	switch {
	case e.failure != nil:
		t.fail(e.failure)
	case e.answer.err != nil:
		t.failure, t.message = UpstreamUnreachable, "the answer broke off: "+shorten(e.answer.err.Error(), maxMessage)
	}
	t.retry = e.retry()
	return t
}

// retry says why the last location was the last.
func (e *exchange) retry() Retry {
	switch {
	case len(e.tried) == 0:
		return ""
	case !e.answered.IsZero() && len(e.tried) > 1 && e.tried[0].Error == missing:
		return RetryMissing
	case !e.answered.IsZero() && len(e.tried) > 1:
		return RetryRefused
	case !e.answered.IsZero():
		return RetryAnswered
	case !e.refused:
		return RetrySent
	case e.upload.touched():
		return RetryBodyRead
	case len(e.tried) == len(e.target.Upstreams):
		return RetryNoneLeft
	default:
		return "" // the client left meanwhile
	}
}

// refused says why a request went nowhere.
func (p *Proxy) refused(said *verdict, method, path, id string, err error) traced {
	t := traced{id: id, at: p.o.Now(), method: method, path: path, index: -1}
	if said != nil {
		t.account, t.allowed, t.routed, t.skipped = said.user.Account, said.allowed, said.target.Upstreams, said.target.Skipped
	}
	t.fail(err)
	if !t.allowed {
		t.because = t.message
		var f *Failure
		if errors.As(err, &f) {
			t.required = f.Required
		}
	}
	return t
}

func (t *traced) fail(err error) {
	t.failure, t.message = KindOf(err), err.Error()
	var f *Failure
	if errors.As(err, &f) {
		t.message = f.Message()
	}
	t.message = shorten(t.message, maxMessage)
	if t.status == 0 {
		t.status, _ = strconv.Atoi(failedCode(err)) // all are numbers
	}
}
