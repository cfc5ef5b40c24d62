package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Caller is the way to nodes for callers inside the process: the same gate, choice of location, failover, headers and
// eviction as for a browser (A24). It keeps nothing: models are fetched when asked for, data always.
type Caller struct{ p *Proxy }

// Caller returns the in-process caller.
func (p *Proxy) Caller() *Caller { return &Caller{p} }

// Call is one request of an in-process caller.
type Call struct {
	Full   string      // full erupt name, "node.Erupt"
	Node   string      // only without Full: the node of a template page or a file
	Method string      // default GET
	Path   string      // pattern of an endpoint below /erupt-api, such as "data/{e}/{id}"
	Params []string    // plain texts for {f} and {id}, in order; for ** one per segment
	Query  url.Values  // goes out encoded
	Header http.Header // filtered like a browser's; drill, drillValue and drillSourceErupt go here
	Body   io.Reader   // JSON unless Header has a content type
	Token  string      // session token
	Parent string      // full name of the page that authorises Full; empty: Full itself

	Location  string // only this location; empty: the next in turn, with failover
	Limit     int64  // of the answer in bytes, for Do; default 8 MiB, 16 MiB for build models
	Address   string // of the person's browser, for the record
	RequestID string
}

// Answer is what a node said, whatever its status.
type Answer struct {
	Status   int
	Header   http.Header
	Body     []byte
	Location string // who answered
	Instance string
	Took     time.Duration
}

// Stream is an Answer whose body has not been read. Close it.
type Stream struct {
	Answer
	Body io.ReadCloser // hides Answer.Body
}

// maxData bounds an answer that is read whole, in bytes.
const maxData = 8 << 20

// ResolveErupt splits a full name. ok is false for a name of the server's own or of a node without profile, and for one
// that no node could have given.
func (c *Caller) ResolveErupt(full string) (node, erupt string, ok bool) {
	if checkKey(full) != nil {
		return "", "", false
	}
	node, erupt, ok = SplitRouteKey(full, c.p.o.Directory.Known)
	return node, erupt, ok && checkErupt(erupt) == nil
}

// Names lists the full names of all erupts that nodes offer at this moment; nil if the directory does not know them.
func (c *Caller) Names() []string {
	if l, ok := c.p.o.Directory.(Lister); ok {
		return l.Names()
	}
	return nil
}

// Do sends a call and reads the answer. An answer with another status than 200 is no error; a *Failure is.
func (c *Caller) Do(ctx context.Context, call Call) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.p.o.ConnectTimeout+2*c.p.o.RequestTimeout)
	defer cancel()
	e, out, err := c.prepare(ctx, &call)
	if err != nil {
		return nil, err
	}
	limit := call.Limit
	if limit <= 0 {
		limit = maxData
		if e.endpoint.kind == kindBuild {
			limit = maxBuild
		}
	}
	return c.p.whole(e, out, limit)
}

// Open sends a call and leaves the answer's body to the caller, for files. There is no time limit but ctx.
func (c *Caller) Open(ctx context.Context, call Call) (*Stream, error) {
	e, out, err := c.prepare(ctx, &call)
	if err != nil {
		return nil, err
	}
	res, err := c.p.send(e, out)
	if err != nil {
		return nil, err
	}
	s := &Stream{Answer: e.said(res), Body: &streamed{ReadCloser: res.Body, e: e}}
	return s, nil
}

// streamed finishes its exchange when it is closed.
type streamed struct {
	io.ReadCloser
	e    *exchange
	done bool
}

func (s *streamed) Close() error {
	err := s.ReadCloser.Close()
	if !s.done {
		s.done = true
		s.e.finish()
	}
	return err
}

// prepare checks a call like a browser's request and makes the request for the node.
func (c *Caller) prepare(ctx context.Context, call *Call) (*exchange, *http.Request, error) {
	rt, err := c.route(call)
	if err != nil {
		return nil, nil, err
	}
	said := &verdict{}
	if err := c.admit(ctx, call, rt, said); err != nil {
		c.p.metrics.count(rt.wish.Node, failedCode(err))
		c.p.traces.keep(&rt.wish, c.p.refused(said, call.Method, rt.path, call.RequestID, err))
		return nil, nil, err
	}
	e := &exchange{
		p: c.p, endpoint: rt.endpoint, route: rt, user: said.user, target: said.target, method: call.Method,
		from: call.Address, requestID: call.RequestID, started: c.p.o.Now(),
	}
	if err := e.check(ctx, call); err != nil {
		return nil, nil, err
	}
	out, err := e.request(ctx, call.Header, call.Body)
	return e, out, err
}

func (c *Caller) admit(ctx context.Context, call *Call, rt *route, said *verdict) error {
	if call.Location == "" {
		return c.p.judge(ctx, &rt.wish, said, c.p.o.Directory.Lookup)
	}
	return c.p.judge(ctx, &rt.wish, said, func(node string) (Target, error) { return c.p.pinned(node, call.Location) })
}

// pinned returns the target with one location only.
func (p *Proxy) pinned(node, location string) (Target, error) {
	if l, ok := p.o.Directory.(Locator); ok {
		return l.At(node, location)
	}
	target, err := p.o.Directory.Lookup(node)
	if err != nil {
		return Target{}, err
	}
	for i, up := range target.Upstreams {
		if up.Location == location {
			target.Upstreams = target.Upstreams[i : i+1 : i+1]
			return target, nil
		}
	}
	return Target{}, Fail(NodeNotReady, "'%s' has no instance at %s", node, location)
}

// request makes the request for the node, without the location.
func (e *exchange) request(ctx context.Context, header http.Header, body io.Reader) (*http.Request, error) {
	out, err := http.NewRequestWithContext(ctx, e.method, "http://node/", body)
	if err != nil {
		return nil, Fail(Invalid, "the call is not possible").Because(err)
	}
	if header != nil {
		out.Header = header.Clone()
	}
	e.p.headers.filter(out.Header, false)
	setDefault(out.Header, "Accept", "application/json, text/plain, */*")
	setDefault(out.Header, "User-Agent", "eruptcloud")
	if out.Body != nil && out.Body != http.NoBody {
		setDefault(out.Header, "Content-Type", "application/json")
		e.upload = &upload{body: out.Body, whole: e.route.body, keep: e.keepsParams(out.Header)}
		out.Body, out.GetBody = e.upload, nil
	}
	e.dress(out.Header)
	return out, nil
}

func setDefault(h http.Header, key, value string) {
	if _, ok := h[key]; !ok {
		h[key] = []string{value}
	}
}

// send forwards an exchange of the process. On failure it is finished.
func (p *Proxy) send(e *exchange, out *http.Request) (*http.Response, error) {
	res, err := e.RoundTrip(out)
	if err == nil {
		if err = e.receive(res); err != nil || res.StatusCode == http.StatusSwitchingProtocols {
			_ = res.Body.Close() // its bytes are of no use
			err = errors.Join(err, errIfSwitched(res))
		}
	}
	if err != nil {
		f := e.explain(out.Context(), err)
		e.failure, e.answer, e.status = f, answer{}, 0
		e.finish()
		return nil, f
	}
	return res, nil
}

func errIfSwitched(res *http.Response) error {
	if res.StatusCode == http.StatusSwitchingProtocols {
		return errors.New("the node switched protocols unasked")
	}
	return nil
}

// whole forwards an exchange and reads its answer.
func (p *Proxy) whole(e *exchange, out *http.Request, limit int64) (*Answer, error) {
	res, err := p.send(e, out)
	if err != nil {
		return nil, err
	}
	defer e.finish()
	defer func() { _ = res.Body.Close() }() // read to its end or given up
	said := e.said(res)
	if said.Body, err = readLimited(res.Body, res.ContentLength, limit); err == nil {
		said.Took = p.o.Now().Sub(e.started)
		return &said, nil
	}
	f := Fail(UpstreamUnreachable, "the answer of '%s' broke off", e.target.Node).Because(err)
	switch {
	case errors.Is(err, errTooLong):
		f = Fail(UpstreamUnreachable, "the answer of '%s' is larger than %d MiB", e.target.Node, (limit+1<<20-1)>>20)
	case out.Context().Err() != nil:
		f = e.explain(out.Context(), err)
	}
	f.Tried = e.tried
	e.failure = f
	return nil, f
}

func (e *exchange) said(res *http.Response) Answer {
	a := Answer{Status: res.StatusCode, Header: res.Header, Location: e.location(), Took: e.answered.Sub(e.started)}
	for _, up := range e.target.Upstreams {
		if up.Location == a.Location {
			a.Instance = up.Instance
		}
	}
	return a
}
