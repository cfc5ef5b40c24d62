package proxy

import (
	"fmt"
	"net/http"
	"strings"
)

// route reads a call as Proxy.route reads a request.
func (c *Caller) route(call *Call) (*route, error) {
	if call.Method == "" {
		call.Method = http.MethodGet
	}
	e, err := endpointOf(call.Method, call.Path)
	if err != nil {
		return nil, err
	}
	w := Wish{Token: call.Token, Function: e.Function, Write: e.Write}
	if e.index < 0 {
		w.Node = call.Node
		if !c.p.o.Directory.Known(w.Node) {
			return nil, Fail(NodeNotReady, "'%s' node not ready", w.Node)
		}
	} else if err := c.named(call, &w); err != nil {
		return nil, err
	}
	path, err := fill(e, w.Erupt, call.Params)
	if err != nil {
		return nil, err
	}
	if e.index < 0 && e.kind == kindTemplate {
		w.Template = path.below(len(e.words) - 1)
	} else if e.index < 0 {
		w.Attachment = path.below(len(e.words) - 1)
	}
	rt := &route{endpoint: e, wish: w, query: call.Query.Encode()}
	rt.path, rt.rawPath = path.join(-1, "")
	return rt, nil
}

func (c *Caller) named(call *Call, w *Wish) error {
	if err := checkKey(call.Full); err != nil {
		return err
	}
	var ok bool
	if w.Node, w.Erupt, ok = SplitRouteKey(call.Full, c.p.o.Directory.Known); !ok {
		return Fail(NodeNotReady, "'%s' node not ready", leftOf(call.Full))
	}
	if err := checkErupt(w.Erupt); err != nil {
		return err
	}
	a := asked{r: &http.Request{Header: call.Header.Clone()}, e: &Endpoint{Verify: ByHeader}}
	if a.r.Header == nil {
		a.r.Header = http.Header{}
	}
	a.r.Header.Set(headerParent, call.Parent)
	return c.p.related(&a, w)
}

// endpointOf finds a pattern of the table.
func endpointOf(method, pattern string) (*Endpoint, error) {
	pattern = strings.TrimPrefix(pattern, "/")
	if !strings.HasPrefix(pattern, "erupt-") {
		pattern = "erupt-api/" + pattern
	}
	for _, e := range endpoints {
		if e.Pattern == pattern && e.allows(method) && !e.Local() {
			return e, nil
		}
	}
	return nil, Fail(NotFound, "nodes have no such endpoint").Because(fmt.Errorf("%s %s", method, pattern))
}

// fill puts the texts of a call into a pattern.
func fill(e *Endpoint, erupt string, params []string) (address, error) {
	a := address{escaped: true}
	add := func(text string) error {
		if a.n == maxSegments || strings.IndexByte(text, '/') >= 0 {
			return Fail(Invalid, "the path contains an encoded slash")
		}
		a.plain[a.n] = text
		a.n++
		return checkSegment(text)
	}
	for _, word := range e.words {
		text := word
		switch word {
		case "{e}":
			if text = erupt; e.taken[erupt] != nil {
				return a, Fail(Invalid, "an erupt cannot be called '%s'", erupt)
			}
		case "{f}", "{id}":
			if len(params) == 0 {
				return a, Fail(Invalid, "the path contains an empty segment")
			}
			if text, params = params[0], params[1:]; word == "{f}" && !isCode(text) {
				return a, Fail(Invalid, "the path contains a name that no field or code can have")
			}
		case "**":
			for ; len(params) > 0; params = params[1:] {
				if err := add(params[0]); err != nil {
					return a, err
				}
			}
			continue
		}
		if err := add(text); err != nil {
			return a, err
		}
	}
	return a, nil
}
