package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options are the parts that a Proxy is made of.
type Options struct {
	Directory Directory
	Gate      Gate
	Recorder  Recorder                                        // may be nil
	Local     http.Handler                                    // answers what is the server's own
	Fail      func(http.ResponseWriter, *http.Request, error) // answers a *Failure

	Dial           func(ctx context.Context, network, addr string) (net.Conn, error) // nil: a plain dialer
	TLS            *tls.Config                                                       // for https locations; nil: the system's roots
	ConnectTimeout time.Duration                                                     // default 5 s
	RequestTimeout time.Duration                                                     // until an answer begins, after the body is sent; default 30 s
	MaxUpload      int64                                                             // bytes of a request body, 0: no limit
	MaxOpen        int                                                               // requests that one location works on at a time, 0: no limit

	HeaderPolicy string   // PolicyCopied (default) or PolicyListed
	ExtraHeaders []string // passed to nodes beside those of the policy
	OwnCookies   []string // names of cookies that no node sees, even if Cookie is an extra header

	CookieToken func(*http.Request) string // session token in the cookie; may be nil
	FileToken   func(*http.Request) string // session token in any cookie that may ask for files; nil: CookieToken
	// OnPage is told, before the answer, of a page that a front end opened with its session's token in a header; may be nil.
	OnPage       func(w http.ResponseWriter, r *http.Request, token, node string)
	NoQueryToken bool                                                // a session token in the query does not count, not even where frames and pictures ask
	ClientIP     func(*http.Request) string                          // address of the client; nil: the peer
	External     func(*http.Request) (scheme, host string)           // how the browser sees the server; nil: as it came
	RequestID    func(w http.ResponseWriter, r *http.Request) string // nil: the header X-Request-Id of the answer

	Registerer prometheus.Registerer // may be nil
	Now        func() time.Time
}

// Proxy forwards what is meant for nodes and passes the rest to Options.Local.
type Proxy struct {
	o         Options
	headers   headerPolicy
	transport transport
	waiting   transport // for what stays open: its connections hold less memory
	bases     bases
	metrics   *metrics
	loads     loads
	traces    traces
	pool      sync.Pool // of *visit
	linger    time.Duration
	stalled   time.Duration
}

// transport is what the proxy needs of *http.Transport.
type transport interface {
	http.RoundTripper
	CloseIdleConnections()
}

// New returns a Proxy. It fails if a part is missing or a setting makes no sense.
func New(o Options) (*Proxy, error) {
	if o.Directory == nil || o.Gate == nil || o.Local == nil || o.Fail == nil {
		return nil, errors.New("proxy: Directory, Gate, Local and Fail are needed")
	}
	setDefaults(&o)
	p := &Proxy{o: o, linger: halfOpen, stalled: stalled}
	var err error
	if p.headers, err = newHeaderPolicy(&o); err != nil {
		return nil, err
	}
	if p.metrics, err = newMetrics(o.Registerer); err != nil {
		return nil, err
	}
	p.transport, p.waiting = newTransport(&p.o, 0), newTransport(&p.o, waitingBuffer)
	p.pool.New = func() any { return newVisit(p) }
	return p, nil
}

func setDefaults(o *Options) {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 5 * time.Second
	}
	if o.RequestTimeout <= 0 {
		o.RequestTimeout = 30 * time.Second
	}
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ClientIP == nil {
		o.ClientIP = peerOf
	}
	if o.External == nil {
		o.External = asItCame
	}
	if o.RequestID == nil {
		o.RequestID = func(w http.ResponseWriter, _ *http.Request) string { return w.Header().Get(headerRequestID) }
	}
}

func peerOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}

func asItCame(r *http.Request) (scheme, host string) {
	if r.TLS != nil {
		return "https", r.Host
	}
	return "http", r.Host
}

// Close ends idle connections. Requests under way end with their contexts.
func (p *Proxy) Close() {
	p.transport.CloseIdleConnections()
	p.waiting.CloseIdleConnections()
}

// ServeHTTP answers below /erupt-api and /erupt-attachment. What it stands on while a node streams is small on purpose: the
// stack of a stream that waits for hours is most of what that stream costs.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := p.prepare(w, r)
	if v == nil {
		return
	}
	v.serve(w, r)
	p.pool.Put(v) // not after a panic: the answer's body may still be read
}

// prepare reads a request and answers all that goes to no node; then it returns nil.
func (p *Proxy) prepare(w http.ResponseWriter, r *http.Request) *visit {
	v := p.pool.Get().(*visit)
	err := p.read(r, &v.route)
	switch {
	case err != nil:
		if len(v.route.offered) > 0 {
			w.Header().Set("Allow", strings.Join(v.route.offered, ", "))
		}
		p.refuse(w, r, &v.route, nil, err)
	case v.route.endpoint == nil:
		p.pool.Put(v)
		p.o.Local.ServeHTTP(w, r)
		return nil
	case v.route.unknown != "":
		p.refuse(w, r, &v.route, nil, p.unknownNode(r.Context(), &v.route))
	case v.route.search:
		if p.search(w, r, v) {
			return v
		}
	case p.check(w, r, v):
		return v
	}
	p.pool.Put(v)
	return nil
}

// read is route into a place of the caller's.
//
//go:noinline
func (p *Proxy) read(r *http.Request, rt *route) (err error) {
	*rt, err = p.route(r)
	return err
}

// unknownNode answers for a node that no profile has; without a session nobody learns that (A16).
func (p *Proxy) unknownNode(ctx context.Context, rt *route) error {
	if _, err := p.o.Gate.Admit(ctx, Wish{Token: rt.wish.Token}); err != nil && KindOf(err) == Unauthenticated {
		return err
	}
	return Fail(NodeNotReady, "'%s' node not ready", rt.unknown)
}

// check decides whether a visit goes to its node; if not, it is answered.
func (p *Proxy) check(w http.ResponseWriter, r *http.Request, v *visit) bool {
	rt, said := &v.route, &verdict{}
	if limit := p.bodyLimit(rt.endpoint); limit > 0 && r.ContentLength > limit {
		p.refuse(w, r, rt, said, tooLarge(rt.endpoint, limit))
		return false
	}
	scheme, host := p.o.External(r)
	if (rt.endpoint.kind == kindExcel || p.socketByCookie(r, rt)) && !sameSite(r, scheme, host) {
		p.refuse(w, r, rt, said, Fail(Forbidden, "illegal cross-site request"))
		return false
	}
	if err := p.judge(r.Context(), &rt.wish, said, p.o.Directory.Lookup); err != nil {
		p.refuse(w, r, rt, said, err)
		return false
	}
	if err := p.inspect(r, rt, said.user); err != nil {
		p.refuse(w, r, rt, said, err)
		return false
	}
	p.begin(w, r, v, said, scheme, host)
	return true
}

// begin makes the exchange of a visit that goes to a node.
func (p *Proxy) begin(w http.ResponseWriter, r *http.Request, v *visit, said *verdict, scheme, host string) {
	rt, e := &v.route, &v.exchange
	*e = exchange{}
	e.p, e.endpoint, e.route, e.user, e.target, e.method = p, rt.endpoint, rt, said.user, said.target, r.Method
	e.from, e.requestID, e.scheme, e.host, e.started = p.o.ClientIP(r), p.o.RequestID(w, r), scheme, host, p.o.Now()
	e.transport = p.transport
	if rt.upgrade || acceptsEvents(r) {
		e.transport = p.waiting
	}
}

// acceptsEvents reports whether a request asks for an event stream, as browsers' EventSource does.
func acceptsEvents(r *http.Request) bool {
	accept := r.Header["Accept"]
	return len(accept) == 1 && strings.HasPrefix(accept[0], "text/event-stream")
}

// verdict is what gate and directory said about a wish.
type verdict struct {
	user    User
	allowed bool // the gate let it through
	target  Target
}

// judge asks the gate, then the directory, in the order in which callers learn of refusals: 401, 403, not ready.
func (p *Proxy) judge(ctx context.Context, w *Wish, v *verdict, lookup func(string) (Target, error)) (err error) {
	if v.user, err = p.o.Gate.Admit(ctx, *w); err != nil {
		return err
	}
	v.allowed = true
	if v.target, err = lookup(w.Node); err != nil {
		return err
	}
	if len(v.target.Upstreams) == 0 {
		return Fail(NodeNotReady, noInstance, w.Node)
	}
	return nil
}

// refuse answers without a node. said is nil if nobody was asked.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, rt *route, said *verdict, err error) {
	p.metrics.count(rt.wish.Node, failedCode(err))
	if rt.wish.Node != "" {
		p.traces.keep(&rt.wish, p.refused(said, r.Method, r.URL.Path, p.o.RequestID(w, r), err))
	}
	p.o.Fail(w, r, err)
}

// socketByCookie reports whether a WebSocket is asked for in the name of a cookie. Browsers let any page open one, and add
// the cookie; a page that knows the token itself may have another origin, as the sandboxed pages of nodes do.
func (p *Proxy) socketByCookie(r *http.Request, rt *route) bool {
	return rt.upgrade && p.o.CookieToken != nil && rt.wish.Token == p.o.CookieToken(r)
}

// sameSite reports whether no page of another site asks. Nodes make this check for downloads; since they never see an
// Origin of ours, it is made here (erupt-wire 3.7).
func sameSite(r *http.Request, scheme, host string) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(plainHost(u.Scheme, u.Host), plainHost(scheme, host))
}

// plainHost cuts the port that goes without saying.
func plainHost(scheme, host string) string {
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}
