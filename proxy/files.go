package proxy

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
)

// A file of a node is asked for by a path that does not say whose it is: the original's front ends know one server and put
// no name before "/erupt-attachment/2026-11-29/a.png" (erupt-wire 3.6). With _node the node is known; without it a Finder
// says which nodes may have the file, and they are asked in turn. Instances with disks of their own are asked in turn, too.

// Finder is a Gate that knows where a file may lie whose address names no node.
type Finder interface {
	// Where lists the nodes that may be asked for a file, likeliest first, each with the user as whom: those of which the
	// session may open a page, and those whose files are public. A *Failure with Unauthenticated without a session, unless
	// there are public ones.
	Where(ctx context.Context, w Wish) ([]Place, error)
	// Found notes which node had it; it returns at once.
	Found(w Wish)
}

// Place is a node that may be asked for a file.
type Place struct {
	Node string
	As   User
}

// place to look in: a node that is ready.
type shelf struct {
	target Target
	user   User
}

// What Attempt.Error says of locations that were reached, or could have been.
const (
	missing = "has no such file"
	busy    = "has as many requests open as it may have"
)

// maxSearch bounds the locations that are asked for one file.
const maxSearch = 16

// OwnFiles is the first segment of the paths of files that the server itself keeps; no node is asked for them.
const OwnFiles = "_server"

// search makes the exchange of a visit that looks for a file. If no node can be asked, it is answered.
func (p *Proxy) search(w http.ResponseWriter, r *http.Request, v *visit) bool {
	rt, said := &v.route, &verdict{}
	places, err := p.o.Gate.(Finder).Where(r.Context(), rt.wish)
	if err != nil {
		p.refuse(w, r, rt, said, err)
		return false
	}
	shelves, err := p.shelves(places)
	if err != nil {
		p.refuse(w, r, rt, said, err)
		return false
	}
	said.allowed, said.user, said.target = true, shelves[0].user, shelves[0].target
	rt.wish.Node = said.target.Node
	scheme, host := p.o.External(r)
	p.begin(w, r, v, said, scheme, host)
	v.rest = shelves[1:]
	return true
}

// judgeSearch decides about a search without sending anything: it tells of the node that would be asked first.
func (p *Proxy) judgeSearch(ctx context.Context, w *Wish, said *verdict) error {
	places, err := p.o.Gate.(Finder).Where(ctx, *w)
	if err != nil {
		return err
	}
	if len(places) == 0 {
		return Fail(NotFound, "there is no such file")
	}
	w.Node, said.user, said.allowed = places[0].Node, places[0].As, true
	said.target, err = p.peek(w.Node)
	return err
}

// shelves are the places that can be asked. The failure says what keeps the only or likeliest place from it.
func (p *Proxy) shelves(places []Place) ([]shelf, error) {
	var found []shelf
	var failed error
	left := maxSearch
	for _, place := range places {
		target, err := p.o.Directory.Lookup(place.Node)
		if err == nil && len(target.Upstreams) == 0 {
			err = Fail(NodeNotReady, noInstance, place.Node)
		}
		if err != nil {
			if failed == nil {
				failed = err
			}
			continue
		}
		if len(target.Upstreams) > left {
			target.Upstreams = target.Upstreams[:left:left]
		}
		left -= len(target.Upstreams)
		if found = append(found, shelf{target, place.As}); left == 0 {
			break
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case failed != nil:
		return nil, failed
	}
	return nil, Fail(NotFound, "there is no such file")
}

// misses reports whether an answer says that a location does not have the file.
func (e *exchange) misses(res *http.Response) bool {
	return res.StatusCode == http.StatusNotFound && e.endpoint.kind == kindAttachment
}

// pass gives up a location without the file; its page about what is missing is of no use.
func (e *exchange) pass(res *http.Response) {
	_ = res.Body.Close()
	e.tried[len(e.tried)-1].Error = missing
}

// turn goes on to the next place. The headers before may still be looked at by a failed dial, so they are not written to.
func (e *exchange) turn(header http.Header) http.Header {
	next := e.rest[0]
	e.rest = e.rest[1:]
	e.target, e.user, e.route.wish.Node = next.target, next.user, next.target.Node
	header = header.Clone()
	e.dress(header)
	return header
}

// look is RoundTrip for an exchange with more than one place to look in.
func (e *exchange) look(out *http.Request) (*http.Response, error) {
	header := out.Header
	var unreached error // of a place that may have the file
	for {
		ask := out
		if len(e.tried) > 0 {
			ask = out.WithContext(out.Context())
			ask.Header = header
		}
		res, err := e.round(ask)
		var dead *dialError
		switch {
		case err == nil && !(e.misses(res) && len(e.rest) > 0):
			if e.misses(res) && unreached != nil {
				_ = res.Body.Close() // who has the file may be the one that cannot be reached
				return nil, unreached
			}
			return res, nil
		case err == nil:
			e.pass(res)
		case len(e.rest) == 0 || out.Context().Err() != nil || !errors.As(err, &dead):
			return nil, err
		default:
			unreached = err
		}
		header = e.turn(header)
	}
}

// callback is a name that a page may give to a JSONP answer: UEditor's own are letters, digits and underscores.
var callback = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]{0,63}$`)

// checkCallback refuses a JSONP callback that is more than a name: a node writes it before its answer, and what is no name
// could be a script of its own.
func checkCallback(raw string) error {
	if !strings.Contains(raw, "callback") && strings.IndexByte(raw, '%') < 0 {
		return nil
	}
	seen := false
	for pair := range strings.SplitSeq(raw, "&") {
		key, value := cutPair(pair)
		if key != "callback" {
			continue
		}
		if seen {
			return Fail(Invalid, "the parameter '%s' is repeated", key)
		}
		if seen = true; value != "" && !callback.MatchString(value) {
			return Fail(Invalid, "the parameter '%s' is no name of a function", key)
		}
	}
	return nil
}
