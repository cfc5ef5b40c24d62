package proxy

import (
	"context"
	"net/http"
	"net/url"
	"slices"
)

// Traces returns the last requests for a node through this process, the newest first: those that were forwarded, once they
// ended, and those that were refused. limit bounds how many, 0 for all that are kept (50 for a node, 500 nodes).
func (p *Proxy) Traces(node string, limit int) []Trace {
	p.traces.mu.RLock()
	r := p.traces.nodes[node]
	p.traces.mu.RUnlock()
	if r == nil {
		return nil
	}
	r.mu.Lock()
	kept := append(slices.Clone(r.kept[r.next:]), r.kept[:r.next]...) // oldest first
	r.mu.Unlock()
	if limit > 0 && len(kept) > limit {
		kept = kept[len(kept)-limit:]
	}
	all := make([]Trace, 0, len(kept))
	for i := range slices.Backward(kept) {
		all = append(all, p.trace(&kept[i]))
	}
	return all
}

// trace makes what people read of what was kept.
func (p *Proxy) trace(t *traced) Trace {
	out := Trace{
		ID: t.id, At: t.at, Node: t.wish.Node, Erupt: t.wish.Erupt, Method: t.method, Path: t.path, Function: t.wish.Function,
		Write: t.wish.Write, Candidates: candidates(t.routed, t.skipped), More: t.more, Tried: slices.Clone(t.tried),
		Status: t.status, Failure: t.failure, Message: t.message, Retry: t.retry, Waited: t.waited, Took: t.took,
		Decision: Decision{Allowed: t.allowed, Account: t.account, Required: t.required, Because: t.because},
	}
	if t.index >= 0 {
		out.Path = named(t.path, t.index, t.wish.Node)
	}
	if t.answered && len(t.tried) > 0 {
		out.Location = t.tried[len(t.tried)-1].Location
	}
	if judge, ok := p.o.Gate.(Judge); ok && out.Decision.Required == "" {
		out.Decision.Required = judge.Required(t.wish)
	}
	return out
}

// candidates puts those that take requests before the others.
func candidates(routed []Upstream, skipped []Candidate) []Candidate {
	all := make([]Candidate, 0, len(routed)+len(skipped))
	for _, up := range routed {
		all = append(all, Candidate{Location: up.Location, Instance: up.Instance, Standing: Routed})
	}
	return append(all, skipped...)
}

type dryKey struct{}

// Dry reports whether ctx belongs to a dry run: whoever decides in it must ask no node.
func Dry(ctx context.Context) bool { return ctx.Value(dryKey{}) != nil }

// Explain decides about a request like ServeHTTP, with the same reading, gate and directory, but sends nothing and turns no
// rotation. as is the session token that it would carry. path begins with /erupt-api/ or /erupt-attachment/ and may have a
// query; erupt is the full erupt name in the header, by default the one in the path; parent is the full name of the page that
// authorises it, or empty. What is wrong with the request is the Failure of the trace.
func (p *Proxy) Explain(ctx context.Context, as, method, path, erupt, parent string) Trace {
	said, rt, err := &verdict{}, route{}, error(nil)
	r, err := asRequest(context.WithValue(ctx, dryKey{}, true), as, method, path, erupt, parent)
	if err == nil {
		rt, err = p.route(r)
	}
	switch {
	case err != nil:
	case rt.endpoint == nil:
		return Trace{At: p.o.Now(), Method: method, Path: shorten(r.URL.Path, maxTracePath), Decision: Decision{Allowed: true}, Dry: true, Own: true}
	case rt.unknown != "":
		rt.wish.Node = rt.unknown
		err = p.unknownNode(r.Context(), &rt)
	case rt.search:
		err = p.judgeSearch(r.Context(), &rt.wish, said)
	default:
		err = p.judge(r.Context(), &rt.wish, said, p.peek)
	}
	shown := path
	if r != nil {
		shown = r.URL.Path
	}
	kept := traced{
		at: p.o.Now(), method: method, path: shown, index: -1, account: said.user.Account, allowed: said.allowed,
		routed: said.target.Upstreams, skipped: said.target.Skipped,
	}
	if err != nil {
		kept = p.refused(said, method, shown, "", err)
	}
	kept.wish, kept.path = rt.wish, cutPath(shown)
	kept.bound()
	out := p.trace(&kept)
	out.Dry = true
	return out
}

// peek asks a directory that can answer without a turn. Any other one is not asked.
func (p *Proxy) peek(node string) (Target, error) {
	if e, ok := p.o.Directory.(Explainer); ok {
		return e.Peek(node)
	}
	return Target{}, Fail(NodeNotReady, noInstance, node)
}

// asRequest makes the request that a dry run decides about.
func asRequest(ctx context.Context, as, method, path, erupt, parent string) (*http.Request, error) {
	u, err := url.ParseRequestURI(path)
	if err != nil || u.Host != "" || u.Path == "" {
		return nil, Fail(Invalid, "the path must begin with a slash").Because(err)
	}
	r := (&http.Request{Method: method, URL: u, Header: http.Header{}}).WithContext(ctx)
	if erupt == "" {
		erupt = nameIn(method, u)
	}
	for key, value := range map[string]string{headerToken: as, headerErupt: erupt, headerParent: parent} {
		if value != "" {
			r.Header.Set(key, value)
		}
	}
	return r, nil
}

// nameIn returns the erupt name in a path, empty if none belongs there.
func nameIn(method string, u *url.URL) string {
	path, err := parsePath(u.EscapedPath())
	if err != nil {
		return ""
	}
	if e, _ := match(method, path.segments()); e != nil && e.index >= 0 && e.Verify == ByHeader {
		return path.plain[e.index]
	}
	return ""
}
