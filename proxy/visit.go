package proxy

import (
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
)

// visit is a browser's exchange. ReverseProxy does what is the same for every proxy: hop-by-hop headers, flushing,
// trailers, upgrades, aborts; exchange does what is ours below it. A visit is used again and again.
type visit struct {
	exchange
	rp     httputil.ReverseProxy
	route  route
	pace   paced
	outer  http.ResponseWriter // as the server made it
	w      http.ResponseWriter // as ReverseProxy sees it
	r      *http.Request
	tunnel *tunnel
	events bool // the answer is an event stream
}

// noLog takes what ReverseProxy has to say: what breaks off is counted and recorded by finish.
var noLog = log.New(io.Discard, "", 0)

func newVisit(p *Proxy) *visit {
	v := &visit{}
	v.rp = httputil.ReverseProxy{
		Rewrite: v.rewrite, Transport: &v.exchange, ModifyResponse: v.modify, ErrorHandler: v.fail, BufferPool: v,
		ErrorLog: noLog,
	}
	return v
}

// serve forwards one request. It panics with http.ErrAbortHandler when an answer breaks off, so that the client sees a
// broken transfer and never a short success.
func (v *visit) serve(w http.ResponseWriter, r *http.Request) {
	v.pace = paced{w, v.p.stalled}
	v.outer, v.w, v.r, v.tunnel, v.events = w, &v.pace, r, nil, false
	if v.route.upgrade {
		v.w = &hijacker{ResponseWriter: w, visit: v}
	}
	whole := false
	defer func() {
		gone := r.Context().Err() != nil || v.answer.err == nil // else the node broke off
		if !whole && gone && v.tunnel == nil && v.failure == nil {
			v.failure = Fail(ClientGone, "the client left")
			v.answer.err = nil
		}
		v.finish()
		v.outer, v.w, v.r, v.pace.ResponseWriter, v.route.body, v.upload = nil, nil, nil, nil, nil, nil
	}()
	v.rp.ServeHTTP(v.w, r)
	whole = true
	if v.streams && v.tunnel == nil {
		v.pace.extend() // the last write may be long ago, and net/http has yet to write the end
	}
}

// rewrite makes the request for the node out of a copy of the browser's.
func (v *visit) rewrite(pr *httputil.ProxyRequest) {
	out := pr.Out
	v.p.headers.filter(out.Header, v.route.upgrade)
	v.dress(out.Header)
	out.Trailer = nil
	if out.Body != nil {
		v.upload = &upload{body: out.Body, whole: v.route.body, limit: v.p.bodyLimit(v.endpoint), keep: v.keepsParams(out.Header)}
		out.Body = v.upload
	}
}

// keepsParams reports whether the body goes on record: what a write says, but no files.
func (e *exchange) keepsParams(h http.Header) bool {
	return e.p.o.Recorder != nil && !e.quiet && e.route.wish.Write && strings.Contains(h.Get("Content-Type"), "json")
}

// trickle is the length past which an answer is flushed at each write, in bytes. A shorter one costs one write in all.
const trickle = 256 << 10

func (v *visit) modify(res *http.Response) error {
	if err := v.receive(res); err != nil {
		return err
	}
	v.streams = res.ContentLength < 0 && v.method != http.MethodHead
	if res.StatusCode == http.StatusSwitchingProtocols {
		v.streams = true
		if body, ok := res.Body.(io.ReadWriteCloser); ok {
			v.tunnel = newTunnel(body, v.p.linger)
			res.Body = v.tunnel
		}
	}
	if v.streams {
		v.stream()
		v.p.metrics.streams.Inc()
	}
	v.rp.FlushInterval = 0
	if res.ContentLength > trickle {
		v.rp.FlushInterval = -1
	}
	v.events = strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	v.protect(res.Header)
	if v.endpoint.kind == kindBuild && res.StatusCode == http.StatusOK && v.p.o.OnPage != nil && len(v.r.Header[headerToken]) > 0 {
		v.p.o.OnPage(v.w, v.r, v.user.Token, v.target.Node)
	}
	return nil
}

// Without an origin of its own, what a node serves reaches neither our cookies nor our pages.
const foreignPolicy = "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads; frame-ancestors 'self'"

// protect makes the node's headers win over those that middleware has set, and adds the two that no answer of a node goes
// without.
func (v *visit) protect(node http.Header) {
	h := v.w.Header()
	for key := range node {
		delete(h, key)
	}
	if _, ok := node["Content-Type"]; !ok {
		h["Content-Type"] = nil // else net/http would guess one
	}
	if h.Get("Content-Security-Policy") == "" {
		h.Set("Content-Security-Policy", foreignPolicy)
	}
	if h.Get("X-Content-Type-Options") == "" {
		h.Set("X-Content-Type-Options", "nosniff")
	}
}

// fail answers when the node did not.
func (v *visit) fail(_ http.ResponseWriter, out *http.Request, err error) {
	f := v.explain(out.Context(), err)
	v.failure, v.answer, v.status = f, answer{}, 0
	v.p.o.Fail(v.outer, v.r, f)
}

// Sizes of copy buffers: an event stream waits for hours with its buffer in hand, and needs little.
const (
	bulkBuffer  = 32 << 10
	eventBuffer = 512
)

var (
	bulkBuffers  = sync.Pool{New: func() any { return new([bulkBuffer]byte) }}
	eventBuffers = sync.Pool{New: func() any { return new([eventBuffer]byte) }}
)

// Get implements httputil.BufferPool.
func (v *visit) Get() []byte {
	if v.events {
		return eventBuffers.Get().(*[eventBuffer]byte)[:]
	}
	return bulkBuffers.Get().(*[bulkBuffer]byte)[:]
}

// Put implements httputil.BufferPool.
func (v *visit) Put(b []byte) {
	if len(b) == eventBuffer {
		eventBuffers.Put((*[eventBuffer]byte)(b))
		return
	}
	bulkBuffers.Put((*[bulkBuffer]byte)(b))
}
