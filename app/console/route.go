package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

func (p *pages) mountRoute(root *gin.RouterGroup) {
	p.route(root, http.MethodGet, "/nodes/:node"+views.TabRoute, p.nodeRoute, access.CodeNodes)
	p.route(root, http.MethodGet, "/requests/:id", p.findRequest, access.CodeNodes)
}

// nodeRoute handles GET /console/nodes/:node/route?id=&outcome=: where the last requests of a node went and why, and with dry=1
// a dry run of one (D11). It is about the requests through this replica.
func (p *pages) nodeRoute(c *gin.Context) error {
	n, err := p.nodePage(c, views.TabRoute)
	if err != nil {
		return err
	}
	node := n.state.node
	n.head.Instance = limitedText(c.Query("instance"), 255)
	m := views.RouteModel{NodeHead: n.head, Counts: map[views.RouteOutcome]int{}, Outcome: outcomeOf(c.Query("outcome"))}
	traces := p.Traces.Traces(node.Name, 0)
	id := c.Query("id")
	for _, t := range traces {
		shown := traceFor(viewer(c), t)
		if m.Instance != "" && !shown.Tried(m.Instance) {
			continue
		}
		m.Kept++
		m.Counts[shown.Outcome()]++
		if m.Outcome == "" || shown.Outcome() == m.Outcome {
			m.Traces = append(m.Traces, shown)
		}
		if id != "" && t.ID == id && m.Shown == nil {
			m.Shown = &shown
		}
	}
	m.Form = routeForm(c, n)
	switch {
	case c.Query("dry") != "":
		t, err := p.dryRun(c, node.Name, m.Form)
		if err != nil {
			m.Form.Error = message(views.FrameOf(c.Request.Context()).Lang, err)
		} else {
			m.Shown = &t
		}
	case id != "" && m.Shown == nil:
		m.Missing = limitedText(id, 80)
	case m.Shown == nil && len(m.Traces) > 0:
		m.Shown = &m.Traces[0]
	}
	return web.Twin(c, routeDocumentOf(m), views.RoutePage(m), views.RouteTable, views.NodeHeadFragment, views.SideFragment, views.NavNodesFragment)
}

// findRequest handles GET /console/requests/:id: leads to the way of a request whose node one need not know.
func (p *pages) findRequest(c *gin.Context) error {
	all, err := p.Nodes.All(c.Request.Context())
	if err != nil {
		return err
	}
	id, sees := c.Param("id"), p.sees(c, access.CodeNodes)
	for _, n := range all {
		if sees(n.GroupID) && slices.ContainsFunc(p.Traces.Traces(n.Name, 0), func(t proxy.Trace) bool { return t.ID == id }) {
			return web.Redirect(c, views.NodePath(n.Name, views.TabRoute), "id", id)
		}
	}
	return fault.New(fault.NotFound, "this replica keeps no request of that id")
}

func outcomeOf(text string) views.RouteOutcome {
	if o := views.RouteOutcome(text); slices.Contains(views.RouteOutcomes, o) {
		return o
	}
	return ""
}

func routeForm(c *gin.Context, n nodePage) views.RouteForm {
	f := views.RouteForm{
		Method: strings.ToUpper(c.DefaultQuery("method", http.MethodGet)), Path: limitedText(c.Query("path"), 1000), Page: c.Query("page"),
		Action: c.DefaultQuery("action", "build"), As: limitedText(strings.TrimSpace(c.Query("as")), 64), Admin: viewer(c).Admin,
	}
	erupts := n.state.erupts()
	f.Pages = erupts[:min(len(erupts), maxListedPages)]
	return f
}

// dryRun decides about a request that nobody sends.
func (p *pages) dryRun(c *gin.Context, node string, f views.RouteForm) (views.RouteTrace, error) {
	token := viewer(c).Token
	if f.As != "" && f.As != viewer(c).Account {
		if !viewer(c).Admin {
			return views.RouteTrace{}, fault.New(fault.Forbidden, "only administrators may ask with the rights of others")
		}
		sessions, err := p.Sessions.Of(c.Request.Context(), f.As)
		if err != nil {
			return views.RouteTrace{}, err
		}
		if len(sessions) == 0 {
			return views.RouteTrace{}, fault.New(fault.Invalid, "%q is not signed in, so there are no rights to ask with", f.As)
		}
		token = sessions[0].Token
	}
	method, path := f.Method, f.Path
	if f.Page != "" {
		method, path = actionOf(f.Action, node+"."+f.Page)
	}
	if path == "" {
		return views.RouteTrace{}, fault.New(fault.Invalid, "a dry run needs a page or a path")
	}
	erupt := ""
	if f.Page != "" {
		erupt = node + "." + f.Page
	}
	t := p.Traces.Explain(c.Request.Context(), token, method, path, erupt, "")
	if t.Node != "" && !strings.EqualFold(t.Node, node) {
		return views.RouteTrace{}, fault.New(fault.Invalid, "the path belongs to another node, not to %q", node)
	}
	return routeTrace(t), nil
}

// actionOf is the request that a page sends for an action.
func actionOf(action, full string) (method, path string) {
	name := url.PathEscape(full)
	switch action {
	case "table":
		return http.MethodPost, "/erupt-api/data/table/" + name
	case "add":
		return http.MethodPost, "/erupt-api/data/modify/" + name
	case "edit":
		return http.MethodPut, "/erupt-api/data/modify/" + name
	case "delete":
		return http.MethodDelete, "/erupt-api/data/modify/" + name + "/1"
	}
	return http.MethodGet, "/erupt-api/build/" + name
}

// traceFor is a trace as the viewer may see it: who asked for what is told of others only to those who may read the operation log,
// where it stands as well.
func traceFor(v *access.Session, t proxy.Trace) views.RouteTrace {
	out := routeTrace(t)
	if v.Admin || v.Holds(access.CodeAudit) || strings.EqualFold(v.Account, t.Decision.Account) {
		return out
	}
	out.Anonymous = true
	// The words of a refusal, and the code that it asks for, name the page; those of a failure may quote the address.
	out.Account, out.Path, out.Required, out.Because = "", "", "", ""
	if out.Message != "" {
		out.Message = strings.ToLower(http.StatusText(out.Status))
	}
	return out
}

// routeTrace is a trace as people see it.
func routeTrace(t proxy.Trace) views.RouteTrace {
	out := views.RouteTrace{
		ID: t.ID, At: t.At, Node: t.Node, Method: t.Method, Path: t.Path, Function: string(t.Function), Account: t.Decision.Account,
		Allowed: t.Decision.Allowed, Required: t.Decision.Required, Because: t.Decision.Because, Total: len(t.Candidates) + t.More,
		Status: t.Status, Failed: t.Failure != "", ClientLeft: t.Failure == proxy.ClientGone, Message: t.Message, Retry: t.Retry,
		Waited: t.Waited, Took: t.Took, Dry: t.Dry, Own: t.Own,
	}
	names := instanceNames(t.Candidates)
	left := map[string]proxy.Candidate{}
	for _, c := range t.Candidates {
		left[c.Location] = c
		if c.Standing == proxy.Routed {
			out.Routed++
		}
	}
	order := 0
	for _, a := range t.Tried {
		order++
		hop := views.RouteHop{
			Name: nameOf(names, a.Location), Location: a.Location, Order: order, Tried: true, Error: a.Error, Took: a.Took,
			Taken: a.Location == t.Location && order == len(t.Tried),
		}
		if hop.Taken {
			out.Answered = hop.Name
		}
		out.Hops = append(out.Hops, hop)
		delete(left, a.Location)
	}
	for _, c := range t.Candidates {
		if _, open := left[c.Location]; !open {
			continue
		}
		hop := views.RouteHop{Name: nameOf(names, c.Location), Location: c.Location, Standing: string(c.Standing), Why: c.Why, By: c.By, Since: c.Since}
		if c.Standing == proxy.Routed {
			order++
			hop.Order = order
			if t.Dry && out.Answered == "" && t.Decision.Allowed && t.Failure == "" {
				hop.Taken, out.Answered = true, hop.Name
			}
		}
		out.Hops = append(out.Hops, hop)
	}
	return out
}

// instanceNames are the instances by location.
func instanceNames(all []proxy.Candidate) map[string]string {
	out := make(map[string]string, len(all))
	for _, c := range all {
		out[c.Location] = c.Instance
	}
	return out
}

func nameOf(names map[string]string, location string) string {
	if name := names[location]; name != "" {
		return name
	}
	if u, err := url.Parse(location); err == nil && u.Host != "" {
		return u.Host
	}
	return location
}
