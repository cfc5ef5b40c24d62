package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Idle connections end before any usual server ends them, so that a request seldom meets a closing one (S44).
const maxIdle = 4 * time.Second

const (
	maxIdlePerLocation = 256
	maxAnswerHeaders   = 256 << 10
	maxKnownLocations  = 4096
)

// dialError says that no connection came about, so that the node's application cannot have seen the request. It is the
// only error that leads to the next location (A15).
type dialError struct {
	reason string // for people
	dead   bool   // the location is to blame; false while only its name could not be looked up
	cause  error
}

func (e *dialError) Error() string { return e.reason + ": " + e.cause.Error() }
func (e *dialError) Unwrap() error { return e.cause }

// notReached returns err as a *dialError if it is one of the four that prove that nobody was reached: refused, unknown
// host, no route, connect timeout. err comes from a dialer, bare or wrapped.
func notReached(err error, timedOut bool) (*dialError, bool) {
	var name *net.DNSError
	switch {
	case errors.As(err, &name): // first, since a resolver that is silent also is a timeout
		return &dialError{reason: "unknown host", dead: name.IsNotFound, cause: err}, true
	case errors.Is(err, syscall.ECONNREFUSED):
		return &dialError{reason: "connection refused", dead: true, cause: err}, true
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return &dialError{reason: "no route", dead: true, cause: err}, true
	case timedOut, isTimeout(err):
		return &dialError{reason: "connect timeout", dead: true, cause: err}, true
	}
	return nil, false
}

// isTimeout reports whether something in err's chain is a timeout; some wrappers answer for themselves and say no.
func isTimeout(err error) bool {
	for err != nil {
		if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
			return true
		}
		err = errors.Unwrap(err)
	}
	return false
}

// dialer opens connections for the transport. Its context is detached from the request by net/http: a client that leaves
// does not end it, so an error that it returns is never the client's.
func dialer(dial func(context.Context, string, string) (net.Conn, error), timeout time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		conn, err := dial(limited, network, addr)
		if err == nil {
			return conn, nil
		}
		if dead, ok := notReached(err, limited.Err() != nil && ctx.Err() == nil); ok {
			return nil, dead
		}
		return nil, err
	}
}

// errAskedTwice ends net/http's own repetitions.
var errAskedTwice = errors.New("the connection broke twice before an answer began")

// attempt is the context of one request to one location. It counts how often net/http asks: a GET or HEAD whose reused
// connection died before the answer began may go out once more, net/http itself would go on while it finds old connections.
// And it hides the trace of ReverseProxy, which would pass informational answers of the node on unfiltered.
type attempt struct {
	context.Context
	asked atomic.Int32
}

func (a *attempt) Value(key any) any {
	v := a.Context.Value(key)
	if _, ok := v.(*httptrace.ClientTrace); ok {
		return nil
	}
	return v
}

// countAttempt is the transport's Proxy function, the one place that net/http passes each time it is about to send. There
// never is a proxy.
func countAttempt(r *http.Request) (*url.URL, error) {
	a, ok := r.Context().(*attempt)
	if ok && a.asked.Add(1) > 2 && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		return nil, errAskedTwice
	}
	return nil, nil
}

// waitingBuffer is what a connection that waits for a node keeps ready in each direction, in bytes.
const waitingBuffer = 512

// newTransport returns a transport; buffer are the bytes of its connections' buffers, 0 for net/http's own size.
func newTransport(o *Options, buffer int) *http.Transport {
	return &http.Transport{
		ReadBufferSize:         buffer,
		WriteBufferSize:        buffer,
		Proxy:                  countAttempt,
		DialContext:            dialer(o.Dial, o.ConnectTimeout),
		TLSClientConfig:        o.TLS,
		TLSHandshakeTimeout:    o.ConnectTimeout,
		ResponseHeaderTimeout:  o.RequestTimeout,
		DisableCompression:     true, // what the node sends is passed on as it is
		MaxIdleConnsPerHost:    maxIdlePerLocation,
		IdleConnTimeout:        maxIdle,
		MaxResponseHeaderBytes: maxAnswerHeaders,
	}
}

// bases remembers the parsed form of locations.
type bases struct {
	known atomic.Pointer[map[string]*base]
}

type base struct{ scheme, host, path, rawPath string }

// of parses a location. Java nodes may report one with a trailing slash, which must not double the next one.
func (b *bases) of(location string) (*base, error) {
	old := b.known.Load()
	if old != nil {
		if found, ok := (*old)[location]; ok {
			return found, nil
		}
	}
	u, err := url.Parse(strings.TrimRight(location, "/"))
	if err != nil {
		return nil, fmt.Errorf("location %q: %w", location, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("location %q is no plain http or https address", location)
	}
	found := &base{scheme: u.Scheme, host: u.Host, path: u.Path, rawPath: u.EscapedPath()}
	next := map[string]*base{location: found}
	if old != nil && len(*old) < maxKnownLocations {
		for k, v := range *old {
			next[k] = v
		}
	}
	b.known.CompareAndSwap(old, &next) // whoever loses parses again
	return found, nil
}

// aim points u at a path below a location.
func (b *base) aim(u *url.URL, path, rawPath, query string) {
	u.Scheme, u.Host, u.Opaque, u.User, u.Fragment, u.RawFragment = b.scheme, b.host, "", nil, "", ""
	u.Path, u.RawPath, u.RawQuery, u.ForceQuery = b.path+path, "", query, false
	if rawPath == "" && b.path == b.rawPath {
		return
	}
	if rawPath == "" {
		rawPath = path
	}
	u.RawPath = b.rawPath + rawPath
}
