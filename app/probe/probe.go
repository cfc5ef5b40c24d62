// Package probe asks one instance one question and says in plain words what came of it.
package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"eruptcloud/app/netguard"
	"eruptcloud/nodeagent/wire"
)

// The layers at which a handshake can fail, from the bottom up. Policy is ours: the address may not be asked.
const (
	DNS      = "dns"
	Connect  = "connect"
	TLS      = "tls"
	HTTP     = "http"
	Identity = "identity"
	Policy   = "policy"
)

// maxBody bounds what is read of an answer; a node's name has at most 64 bytes.
const maxBody = 1 << 10

// Options configures a Prober.
type Options struct {
	Policy  *netguard.Policy
	Timeout time.Duration // of a whole handshake; zero: 1 s (A7)
	// AcceptBlank takes an empty body for the right name: nodes of erupt 1.10 and 1.11 answer so.
	AcceptBlank bool
	// TLS is for https locations, such as issuers of one's own; nil: the system's.
	TLS *tls.Config
}

// Result is what one handshake showed.
type Result struct {
	OK    bool
	Layer string // of a failure, else empty
	Err   error  // in plain words, for people; it wraps the cause
	// Unsure: the failure says nothing about the instance. Our own resolver, descriptors or scheduling were at fault.
	Unsure  bool
	Latency time.Duration
	Address string // the address and port that answered, or was tried last; empty if none was
	Status  int    // HTTP status; zero if there was no answer
	Blank   bool   // accepted without a name (AcceptBlank)
	// Instance and Version are what our own agents say in headers; empty from others.
	Instance, Version string
}

// Prober sends handshakes. It keeps no connection between them.
type Prober struct {
	client  *http.Client
	timeout time.Duration
	blank   bool
}

// New returns a Prober.
func New(o Options) *Prober {
	if o.Timeout <= 0 {
		o.Timeout = time.Second
	}
	transport := &http.Transport{
		Proxy:                  nil, // the environment's proxy would answer in the instance's place
		DialContext:            limited(o.Policy.DialContext, o.Timeout),
		TLSHandshakeTimeout:    o.Timeout,
		DisableKeepAlives:      true, // each probe asks the way anew, and a connection of its own is never retried
		DisableCompression:     true,
		MaxResponseHeaderBytes: 16 << 10,
		TLSClientConfig:        o.TLS.Clone(),
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only: one connection, one request
	}
	return &Prober{
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		timeout: o.Timeout, blank: o.AcceptBlank,
	}
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// limited gives each dial a deadline of its own: a transport lets a dial go on after its request has ended, and one into
// a black hole would stay for minutes.
func limited(dial dialer, limit time.Duration) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return dial(ctx, network, address)
	}
}

// Handshake asks for location's health once (GET {location}/node-health) and wants node, exactly, for an answer (A5).
// Location is canonical.
func (p *Prober) Handshake(ctx context.Context, location, node string) Result {
	start := time.Now()
	tracked := &progress{}
	probeCtx, cancel := context.WithTimeout(httptrace.WithClientTrace(ctx, tracked.trace()), p.timeout)
	defer cancel()
	r := p.ask(probeCtx, location, node, tracked)
	r.Latency = time.Since(start)
	r.Address, _ = tracked.address.Load().(string)
	if !r.OK && (ctx.Err() != nil || r.Latency > 2*p.timeout) {
		r.Unsure = true // the caller gave up, or this process was stopped while it waited
	}
	return r
}

func (p *Prober) ask(ctx context.Context, location, node string, tracked *progress) Result {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, location+wire.HealthPath, http.NoBody)
	if err != nil {
		return failed(HTTP, "the location is no URL", err)
	}
	req.Header.Set("User-Agent", "erupt-cloud-probe")
	req.Header.Set("Accept", "*/*")
	resp, err := p.client.Do(req)
	if err != nil {
		return explain(err, tracked, p.timeout)
	}
	defer func() { _ = resp.Body.Close() }()
	r := Result{
		Status: resp.StatusCode, Instance: clip(resp.Header.Get(wire.HeaderInstance)), Version: clip(resp.Header.Get(wire.HeaderAgentVersion)),
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return r.fail(HTTP, statusWords(resp.StatusCode), nil)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return r.fail(HTTP, "the answer broke off", err)
	}
	switch {
	case string(body) == node:
		r.OK = true
	case len(body) == 0 && p.blank:
		r.OK, r.Blank = true, true
	case len(body) == 0:
		return r.fail(Identity, fmt.Sprintf("answered without a name, expected %q", node), nil)
	case len(body) > maxBody:
		return r.fail(Identity, fmt.Sprintf("answered with more than %d bytes instead of the name %q", maxBody, node), nil)
	default:
		return r.fail(Identity, fmt.Sprintf("another service answers there: %q, expected %q", clip(string(body)), node), nil)
	}
	return r
}

func failed(layer, words string, cause error) Result { return Result{}.fail(layer, words, cause) }

func (r Result) fail(layer, words string, cause error) Result {
	r.Layer, r.Err = layer, &failure{words, cause}
	return r
}

// failure is plain words with a cause that stays available to errors.Is and errors.As.
type failure struct {
	words string
	cause error
}

func (f *failure) Error() string { return f.words }
func (f *failure) Unwrap() error { return f.cause }

func statusWords(status int) string {
	if status >= 300 && status <= 399 {
		return fmt.Sprintf("answered with a redirect (%d), which is not followed", status)
	}
	return fmt.Sprintf("answered with status %d", status)
}

// clip shortens what a stranger sent to what fits into a line of a log.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// progress records how far a request came; its hooks run on the transport's goroutines.
type progress struct {
	stage   atomic.Int32
	address atomic.Value // string
}

const (
	resolving = iota
	connecting
	securing
	asking
)

func (p *progress) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		ConnectStart:      func(_, addr string) { p.stage.Store(connecting); p.address.Store(addr) },
		TLSHandshakeStart: func() { p.stage.Store(securing) },
		GotConn: func(info httptrace.GotConnInfo) {
			p.stage.Store(asking)
			p.address.Store(info.Conn.RemoteAddr().String())
		},
	}
}

func timedOut(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}
