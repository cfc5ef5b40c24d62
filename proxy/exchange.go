package proxy

import (
	"context"
	"errors"
	"net/http"
	"time"

	"eruptcloud/nodeagent/wire"
)

// exchange is one request on its way to a node, the same for browsers and for callers in the process.
type exchange struct {
	p         *Proxy
	endpoint  *Endpoint
	route     *route
	user      User
	target    Target
	method    string
	from      string // address of the client
	requestID string
	scheme    string // as the browser sees this server
	host      string

	started  time.Time
	answered time.Time // when the node's answer began
	upload   *upload
	tried    []Attempt
	answer   answer
	status   int   // of the node's answer, 0 if none was passed on
	raw      bool  // leave a build model as the node wrote it
	quiet    bool  // nothing for the record
	streams  bool  // counted as an open stream
	failure  error // nil if the node's answer was passed on whole
	refused  bool  // the last location could not be connected to
	place    place // where it is counted as in flight

	transport transport // nil: the proxy's usual one
	rest      []shelf   // further nodes to look for a file
}

func (e *exchange) via() transport {
	if e.transport != nil {
		return e.transport
	}
	return e.p.transport
}

// RoundTrip asks the locations of a node, and where a file is looked for, those of further nodes.
func (e *exchange) RoundTrip(out *http.Request) (*http.Response, error) {
	if len(e.rest) > 0 {
		return e.look(out)
	}
	return e.round(out)
}

// round asks one location after the other. Only a location that could not be connected to leads to the next, with the
// body unread and the client still there; whatever happens after a connection is final, since the node may have done the
// work (A15).
func (e *exchange) round(out *http.Request) (*http.Response, error) {
	for i := range e.target.Upstreams {
		up := &e.target.Upstreams[i]
		ask, err := e.aimAt(out, up)
		if err != nil {
			return nil, err
		}
		start := e.p.o.Now()
		if e.leave(); e.endpoint != logEndpoint && !e.p.loads.enter(e, e.target.Node, up.Location, e.p.o.MaxOpen) {
			if e.tried = append(e.tried, Attempt{Location: up.Location, Error: busy}); i < len(e.target.Upstreams)-1 {
				continue // nothing was sent
			}
			return nil, Fail(NodeNotReady, "'%s' has as many requests open as it may have", e.target.Node)
		}
		e.upload.begin()
		res, err := e.via().RoundTrip(ask)
		e.note(up, err, start)
		if err == nil {
			e.answered = e.p.o.Now()
			if err = e.upload.wait(out.Context()); err != nil {
				_ = res.Body.Close() // nobody will read it
				return nil, err
			}
			if !e.misses(res) || i == len(e.target.Upstreams)-1 {
				return res, nil
			}
			e.pass(res) // the next instance has a disk of its own
			continue
		}
		var dead *dialError
		if ctx := out.Context(); !errors.As(err, &dead) || ctx.Err() != nil {
			return nil, err
		} else if dead.dead {
			e.p.o.Directory.Evict(context.WithoutCancel(ctx), e.target.Node, up.Location)
		}
		if i == len(e.target.Upstreams)-1 || e.upload.touched() {
			return nil, err
		}
		e.p.metrics.failovers.WithLabelValues(e.target.Node).Inc()
	}
	return nil, Fail(NodeNotReady, noInstance, e.target.Node)
}

// aimAt makes the request for one location. The first request is a shallow copy; what a failed dial might still look at
// is never written to again.
func (e *exchange) aimAt(out *http.Request, up *Upstream) (*http.Request, error) {
	to, err := e.p.bases.of(up.Location)
	if err != nil {
		return nil, err
	}
	ask := out.WithContext(&attempt{Context: out.Context()})
	u := *out.URL
	to.aim(&u, e.route.path, e.route.rawPath, e.route.query)
	ask.URL, ask.Host = &u, ""
	if len(e.tried) > 0 {
		ask.Header = out.Header.Clone()
	}
	ask.Header[headerAccess] = []string{up.Token}
	return ask, nil
}

func (e *exchange) note(up *Upstream, err error, start time.Time) {
	tried := Attempt{Location: up.Location, Took: e.p.o.Now().Sub(start)}
	var dead *dialError
	e.refused = false
	switch {
	case errors.As(err, &dead):
		e.refused, tried.Error = true, dead.reason
	case err != nil:
		tried.Error = shorten(err.Error(), maxMessage) // a node's bytes may be in it
	}
	e.tried = append(e.tried, tried)
}

// dress sets the headers that tell the node who asks for what. header already is what may pass of the sender's.
func (e *exchange) dress(header http.Header) {
	v := make([]string, 0, 9)
	put := func(key, value string) {
		v = append(v, value)
		header[key] = v[len(v)-1 : len(v) : len(v)]
	}
	w := &e.route.wish
	if w.Erupt != "" && e.endpoint.index >= 0 {
		put(headerErupt, w.Erupt)
		if w.Parent != "" {
			put(headerParent, w.Parent)
		}
		if w.DrillSource != "" {
			put(headerDrillSource, w.DrillSource)
		}
	}
	token := e.user.Delegated
	if e.target.RawSession {
		token = e.user.Token
	}
	if token != "" {
		put(headerToken, token)
	}
	if !w.Log && e.user.User != (wire.User{}) { // nobody asks for a public file
		put(headerUser, userHeader(&e.user.User))
	}
	if e.from != "" {
		put("X-Forwarded-For", e.from)
	}
	if e.host != "" {
		put("X-Forwarded-Host", e.host)
		put("X-Forwarded-Proto", e.scheme)
	}
	if e.requestID != "" {
		put(headerRequestID, e.requestID)
	}
}

// location is where the request went last.
func (e *exchange) location() string {
	if len(e.tried) == 0 {
		return ""
	}
	return e.tried[len(e.tried)-1].Location
}

const noInstance = "'%s' has no available instance"

// explain turns a failed round trip into a failure for people. Locations stay out of the text: they are in Tried.
func (e *exchange) explain(ctx context.Context, err error) *Failure {
	f := e.kindOf(ctx, err)
	f.Tried, f.Retried = e.tried, len(e.tried) > 1
	return f
}

func (e *exchange) kindOf(ctx context.Context, err error) *Failure {
	var known *Failure
	var dead *dialError
	var large *http.MaxBytesError
	read := e.upload.failed()
	switch {
	case errors.As(err, &known):
		c := *known
		return &c
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Fail(UpstreamTimeout, "'%s' did not answer in time", e.target.Node).Because(err)
	case ctx.Err() != nil, read != nil && clientLeft(read):
		return Fail(ClientGone, "the client left").Because(err)
	case errors.As(read, &large):
		return tooLarge(e.endpoint, large.Limit).Because(read)
	case read != nil:
		return Fail(Invalid, "the request body cannot be read").Because(read)
	case errors.As(err, &dead):
		return Fail(UpstreamUnreachable, "no instance of '%s' can be reached", e.target.Node).Because(err)
	case isTimeout(err):
		return Fail(UpstreamTimeout, "'%s' did not answer in time", e.target.Node).Because(err)
	default:
		return Fail(UpstreamUnreachable, "the connection to '%s' broke before it answered", e.target.Node).Because(err)
	}
}
