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

	HeaderPolicy string   // PolicyCopied (default) or PolicyListed
	ExtraHeaders []string // passed to nodes beside those of the policy
	OwnCookies   []string // names of cookies that no node sees, even if Cookie is an extra header

	CookieToken func(*http.Request) string                          // session token in the cookie; may be nil
	ClientIP    func(*http.Request) string                          // address of the client; nil: the peer
	External    func(*http.Request) (scheme, host string)           // how the browser sees the server; nil: as it came
	RequestID   func(w http.ResponseWriter, r *http.Request) string // nil: the header X-Request-Id of the answer

	Registerer prometheus.Registerer // may be nil
	Now        func() time.Time
}

// Proxy forwards what is meant for nodes and passes the rest to Options.Local.
type Proxy struct {
	o         Options
	headers   headerPolicy
	transport transport
	bases     bases
	metrics   *metrics
	loads     loads
	traces    traces
	pool      sync.Pool // of *visit
	linger    time.Duration
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
	p := &Proxy{o: o, linger: halfOpen}
	var err error
	if p.headers, err = newHeaderPolicy(&o); err != nil {
		return nil, err
	}
	if p.metrics, err = newMetrics(o.Registerer); err != nil {
		return nil, err
	}
	p.transport = newTransport(&p.o)
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
func (p *Proxy) Close() { p.transport.CloseIdleConnections() }

// ServeHTTP answers below /erupt-api and /erupt-attachment.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt, err := p.route(r)
	switch {
	case err != nil:
		if len(rt.offered) > 0 {
			w.Header().Set("Allow", strings.Join(rt.offered, ", "))
		}
		p.refuse(w, r, &rt, verdict{}, err)
	case rt.endpoint == nil:
		p.o.Local.ServeHTTP(w, r)
	case rt.unknown != "":
		p.refuse(w, r, &rt, verdict{}, p.unknownNode(r.Context(), &rt))
	default:
		p.forward(w, r, rt)
	}
}

// unknownNode answers for a node that no profile has; without a session nobody learns that (A16).
func (p *Proxy) unknownNode(ctx context.Context, rt *route) error {
	if _, err := p.o.Gate.Admit(ctx, Wish{Token: rt.wish.Token}); err != nil && KindOf(err) == Unauthenticated {
		return err
	}
	return Fail(NodeNotReady, "'%s' node not ready", rt.unknown)
}

// forward checks a request and sends it to its node.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, rt route) {
	if p.o.MaxUpload > 0 && r.ContentLength > p.o.MaxUpload {
		p.refuse(w, r, &rt, verdict{}, Fail(TooLarge, "the upload is larger than %d bytes", p.o.MaxUpload))
		return
	}
	scheme, host := p.o.External(r)
	if (rt.endpoint.kind == kindExcel || p.socketByCookie(r, &rt)) && !sameSite(r, scheme, host) {
		p.refuse(w, r, &rt, verdict{}, Fail(Forbidden, "illegal cross-site request"))
		return
	}
	said, err := p.admit(r.Context(), &rt.wish)
	if err != nil {
		p.refuse(w, r, &rt, said, err)
		return
	}
	v := p.pool.Get().(*visit)
	v.route = rt
	v.exchange = exchange{
		p: p, endpoint: rt.endpoint, route: &v.route, user: said.user, target: said.target, method: r.Method,
		from: p.o.ClientIP(r), requestID: p.o.RequestID(w, r), scheme: scheme, host: host, started: p.o.Now(),
	}
	v.serve(w, r)
	p.pool.Put(v) // not after a panic: the answer's body may still be read
}

// verdict is what gate and directory said about a wish.
type verdict struct {
	user    User
	allowed bool // the gate let it through
	target  Target
}

// admit asks the gate, then the directory, in the order in which callers learn of refusals: 401, 403, not ready.
func (p *Proxy) admit(ctx context.Context, w *Wish) (verdict, error) {
	return p.judge(ctx, w, p.o.Directory.Lookup)
}

func (p *Proxy) judge(ctx context.Context, w *Wish, lookup func(string) (Target, error)) (v verdict, err error) {
	if v.user, err = p.o.Gate.Admit(ctx, *w); err != nil {
		return v, err
	}
	v.allowed = true
	if v.target, err = lookup(w.Node); err != nil {
		return v, err
	}
	if len(v.target.Upstreams) == 0 {
		return v, Fail(NodeNotReady, noInstance, w.Node)
	}
	return v, nil
}

// refuse answers without a node.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, rt *route, said verdict, err error) {
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
