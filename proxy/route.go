package proxy

import (
	"net/http"
	"strings"
)

// route is what a request asks for, made of validated parts only.
type route struct {
	endpoint *Endpoint // nil: the server answers itself
	wish     Wish
	unknown  string // node that no profile has; nothing else is set then but the token
	path     string // on the node, decoded
	rawPath  string // on the node, encoded where that differs
	query    string // on the node, as it goes out
	body     []byte // whole, if it was checked
	upgrade  bool   // a WebSocket is asked for, and may be
	search   bool   // a file is asked for whose node nobody names
	offered  []string
}

// asked is a request while it is being read.
type asked struct {
	r    *http.Request
	path address
	q    query
	e    *Endpoint
}

// route reads a request. A route without endpoint and without error is the server's own; one with an error says as much as
// was understood.
func (p *Proxy) route(r *http.Request) (route, error) {
	a := asked{r: r}
	var err error
	if a.path, err = parsePath(r.URL.EscapedPath()); err != nil {
		return route{}, err
	}
	if a.q, err = parseQuery(r.URL.RawQuery); err != nil {
		return route{}, err
	}
	if err := checkHeaders(r); err != nil {
		return route{}, err
	}
	e, offered := match(r.Method, a.path.segments())
	switch a.e = e; {
	case e != nil && e.Local():
		return route{}, nil
	case e != nil && e.index < 0:
		return p.routeByNode(&a)
	case e != nil:
		return p.routeByName(&a)
	case !isDotted(r.Header.Get(headerErupt)) && !isDotted(a.q.erupt):
		return route{}, nil
	case offered != nil:
		return route{offered: offered}, Fail(MethodNotAllowed, "nodes do not take %s here", r.Method)
	default: // comments on a record among them, which are not offered
		return route{}, Fail(NotFound, "nodes have no such endpoint")
	}
}

// checkHeaders refuses identity that is given twice or in two ways.
func checkHeaders(r *http.Request) error {
	for _, name := range identityHeaders {
		if len(r.Header[name]) > 1 {
			return Fail(Invalid, "the header '%s' is repeated", strings.ToLower(name))
		}
	}
	if len(r.TransferEncoding) > 0 && r.Header["Content-Length"] != nil {
		return Fail(Invalid, "the body has both a length and a transfer encoding")
	}
	return nil
}

// routeByName reads a request for an erupt.
func (p *Proxy) routeByName(a *asked) (route, error) {
	inPath := a.path.plain[a.e.index]
	if a.e.Pattern == htmlField && !isDotted(inPath) && a.q.node != "" {
		inPath = a.q.node + "." + inPath
	}
	name, err := a.name(inPath)
	if err != nil {
		return route{}, err
	}
	if !isDotted(name) && !isDotted(inPath) {
		return route{}, nil
	}
	if err := checkKey(name); err != nil {
		return route{}, err
	}
	if !strings.EqualFold(name, inPath) {
		return route{}, Fail(Invalid, "the path and the erupt name must be the same")
	}
	token := p.tokenOf(a)
	node, erupt, ok := SplitRouteKey(name, p.o.Directory.Known)
	if !ok {
		return route{endpoint: a.e, unknown: leftOf(name), wish: Wish{Token: token}}, nil
	}
	rt := route{endpoint: a.e, wish: Wish{
		Token: token, Node: node, Erupt: erupt, Function: a.e.Function, Write: a.e.Write,
	}}
	if err := a.checkName(erupt, node); err != nil {
		return rt, err
	}
	if err := p.related(a, &rt.wish); err != nil {
		return rt, err
	}
	if a.e.jsonp {
		if err := checkCallback(a.q.raw); err != nil {
			return rt, err
		}
	}
	rt.path, rt.rawPath = a.path.join(a.e.index, erupt)
	rt.query = a.q.forNode(erupt, rt.wish.Parent)
	rt.upgrade = a.wantsSocket()
	return rt, nil
}

// name returns the full erupt name. Parameters count on endpoints that are made for them only: a header cannot be set by
// another site's page.
func (a *asked) name(inPath string) (string, error) {
	header := a.r.Header.Get(headerErupt)
	if a.e.Verify == ByHeader {
		if a.q.hasErupt && a.q.erupt != "" && !strings.EqualFold(a.q.erupt, header) {
			return "", Fail(Invalid, "the header 'erupt' and the parameter '_erupt' differ")
		}
		return header, nil
	}
	switch {
	case a.q.erupt != "" && header != "" && !strings.EqualFold(a.q.erupt, header):
		return "", Fail(Invalid, "the header 'erupt' and the parameter '_erupt' differ")
	case a.q.erupt != "":
		return a.q.erupt, nil
	case header == "" && a.e.Pattern == htmlField: // its permission is by the path alone
		return inPath, nil
	}
	return header, nil
}

// checkName refuses names that would turn the rebuilt path into another endpoint's, and segments that are no codes.
func (a *asked) checkName(erupt, node string) error {
	if err := checkErupt(erupt); err != nil {
		return err
	}
	if a.e.taken[erupt] != nil {
		return Fail(Invalid, "an erupt cannot be called '%s'", erupt)
	}
	if a.q.hasNode && a.e.kind == kindTemplate && a.q.node != "" && a.q.node != node {
		return Fail(Invalid, "the parameter '_node' and the erupt name differ")
	}
	for i, word := range a.e.words {
		if word == "{f}" && !isCode(a.path.plain[i]) {
			return Fail(Invalid, "the path contains a name that no field or code can have")
		}
	}
	return nil
}

func isCode(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) && s[i] != '.' {
			return false
		}
	}
	return true
}

// related reads the page that authorises the erupt and the page that a drill starts from. Both must be on its node: a
// right on one node says nothing about another (erupt-wire 10.1).
func (p *Proxy) related(a *asked, w *Wish) error {
	parent := a.r.Header.Get(headerParent)
	if a.e.Verify == ByParam && a.q.parent != "" {
		parent = a.q.parent
	}
	if parent != "" {
		erupt, err := p.sameNode(parent, w.Node)
		if err != nil {
			return err
		}
		if !strings.EqualFold(erupt, w.Erupt) {
			w.Parent = erupt
		}
	}
	w.Drill = a.r.Header.Get(headerDrill)
	if source := a.r.Header.Get(headerDrillSource); source != "" {
		erupt, err := p.sameNode(source, w.Node)
		if err != nil {
			return err
		}
		w.DrillSource = erupt
	}
	return nil
}

func (p *Proxy) sameNode(name, node string) (erupt string, err error) {
	if err := checkKey(name); err != nil {
		return "", err
	}
	at, erupt, ok := SplitRouteKey(name, p.o.Directory.Known)
	if !ok || at != node {
		return "", Fail(Forbidden, "'%s' is not on the node '%s'", name, node)
	}
	return erupt, checkErupt(erupt)
}

// routeByNode reads a request for a template page or a file: the node is named by _node, without it the server's own is
// meant (A19).
func (p *Proxy) routeByNode(a *asked) (route, error) {
	if a.q.node == "" {
		return p.routeBySearch(a)
	}
	if err := checkKey(a.q.node); err != nil {
		return route{}, err
	}
	w := Wish{Token: p.tokenOf(a)}
	if !p.o.Directory.Known(a.q.node) {
		return route{endpoint: a.e, unknown: a.q.node, wish: w}, nil
	}
	w.Node = a.q.node
	below := a.path.below(len(a.e.words) - 1)
	if a.e.kind == kindTemplate {
		w.Template = below
	} else if w.Attachment = below; a.q.erupt != "" { // the page that shows the file
		erupt, err := p.sameNode(a.q.erupt, w.Node)
		if err != nil {
			return route{}, err
		}
		w.Erupt = erupt
	}
	rt := route{endpoint: a.e, wish: w, query: a.q.forNode(w.Erupt, ""), upgrade: a.wantsSocket()}
	rt.path, rt.rawPath = a.path.join(-1, "")
	return rt, nil
}

// routeBySearch reads a request for a file without the name of a node. What the server keeps itself is its own.
func (p *Proxy) routeBySearch(a *asked) (route, error) {
	if _, ok := p.o.Gate.(Finder); !ok || a.e.kind != kindAttachment || a.path.plain[len(a.e.words)-1] == OwnFiles {
		return route{}, nil
	}
	rt := route{endpoint: a.e, search: true, query: a.q.forNode("", "")}
	rt.wish = Wish{Token: p.tokenOf(a), Attachment: a.path.below(len(a.e.words) - 1)}
	rt.path, rt.rawPath = a.path.join(-1, "")
	return rt, nil
}

// wantsSocket reports whether a WebSocket is asked for where one may be: on template pages that name their node.
func (a *asked) wantsSocket() bool {
	return a.e.kind == kindTemplate && a.q.node != "" && asksWebSocket(a.r)
}

// tokenOf returns the session token: header, then cookie; where frames ask, also the parameter.
func (p *Proxy) tokenOf(a *asked) string {
	if t := strings.TrimSpace(a.r.Header.Get(headerToken)); t != "" {
		return t
	}
	if a.e.Verify == ByParam && a.q.token != "" && !p.o.NoQueryToken {
		return a.q.token
	}
	if a.e.kind == kindAttachment && p.o.FileToken != nil {
		return p.o.FileToken(a.r)
	}
	if p.o.CookieToken != nil {
		return p.o.CookieToken(a.r)
	}
	return ""
}
