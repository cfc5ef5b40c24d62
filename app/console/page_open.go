package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/buildmodel"
	"eruptcloud/app/fault"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// opened is a page of a node that the viewer may see: what stands around it, and its model if the node gave it.
type opened struct {
	views.PageHead
	model   *buildmodel.Model
	problem *views.PageProblem
	tree    bool // its menu says that it is a tree
	named   bool // it has a menu
	groups  []int64
}

// open reads which page the address means, checks the viewer's right, and asks the node for the page's model. A node that
// cannot be asked is no error: the page then says so in the place of the table.
func (v *nodeViews) open(c *gin.Context) (*opened, error) {
	full := c.Param("page")
	node, erupt, ok := v.caller.ResolveErupt(full)
	if !ok {
		return nil, fault.New(fault.NotFound, "no node has a page '%s'", full)
	}
	full = node + "." + erupt
	groups, err := v.groupsOf(c.Request.Context(), node)
	if err != nil {
		return nil, err
	}
	if err := permit(c, node, full, groups); err != nil {
		if v.explains(c, node) { // the gate says the same, and what it says is kept to be looked at
			_, _ = v.call(c, proxy.Call{Full: full, Path: "build/{e}"})
		}
		return nil, err
	}
	all, err := v.pagesOf(c.Request.Context(), viewer(c))
	if err != nil {
		return nil, err
	}
	o := &opened{groups: groups, PageHead: views.PageHead{
		Full: full, Title: erupt, Node: node, NodeLabel: node, Nodes: sideOf(all, node, full), NodeCount: len(all), Said: pageSaid(c),
	}}
	for _, n := range all {
		o.Pages += len(n.Pages)
		if n.Name == node {
			o.NodeLabel = n.Label()
		}
	}
	if m, ok := viewer(c).Values[strings.ToLower(full)]; ok && (m.Type == "table" || m.Type == "tree") {
		o.Title, o.tree, o.named = cmp.Or(m.Name, erupt), m.Type == "tree", true
	}
	return o, v.fetch(c, o)
}

// groupsOf returns the group of a node and all above it.
func (v *nodeViews) groupsOf(ctx context.Context, node string) ([]int64, error) {
	all, err := v.nodes.All(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		if n.Name == node {
			return v.chain(n.GroupID), nil
		}
	}
	return nil, nil
}

// permit returns fault.Forbidden unless the viewer holds code for a node in these groups (D21).
func permit(c *gin.Context, node, code string, groups []int64) error {
	if viewer(c).HoldsIn(code, groups) {
		return nil
	}
	return fault.New(fault.Forbidden, "for the node %s this needs the permission %s", node, code)
}

// may is permit for a function of the page.
func (o *opened) may(c *gin.Context, function proxy.Function) error {
	return permit(c, o.Node, o.Full+"@"+string(function), o.groups)
}

// fetch asks for the model. Only missing rights and the like are errors.
func (v *nodeViews) fetch(c *gin.Context, o *opened) error {
	answer, err := v.call(c, proxy.Call{Full: o.Full, Path: "build/{e}"})
	if err != nil {
		o.problem, err = v.problem(c, o, err)
		return err
	}
	if r, refused := buildmodel.Refused(answer.Status, answer.Body); refused {
		o.problem = refusedBy(o, answer.Status, r)
		return nil
	}
	m, err := buildmodel.Parse(answer.Body)
	if err != nil {
		o.problem = &views.PageProblem{Code: "unreadable", State: views.StateDown, Title: views.Sayf("page.problem.unreadable", "node", o.NodeLabel), Retry: v.here(c)}
		return nil
	}
	o.model, o.Desc = m, m.Desc
	if !o.named && m.Title != "" {
		o.Title = m.Title
		v.called(o.Full, m.Title)
		for _, n := range o.Nodes {
			for i := range n.Pages {
				if n.Pages[i].Current {
					n.Pages[i].Title = m.Title
				}
			}
		}
	}
	o.Source = v.source(o.Node, answer)
	o.Source.Rights = rightsOf(v.power(c, o))
	return nil
}

// power is what the viewer may do: what the node says, and no more than the viewer's own codes give.
func (v *nodeViews) power(c *gin.Context, o *opened) buildmodel.Power {
	p, who := o.model.Power, viewer(c)
	holds := func(function proxy.Function) bool { return who.HoldsIn(o.Full+"@"+string(function), o.groups) }
	p.Add = p.Add && holds(proxy.Add)
	p.Edit = p.Edit && holds(proxy.Edit)
	p.Delete = p.Delete && holds(proxy.Delete)
	p.View = p.View && (holds(proxy.ViewDetail) || holds(proxy.Edit))
	p.Export = p.Export && holds(proxy.Export)
	p.Import = p.Import && holds(proxy.Importable)
	return p
}

func rightsOf(p buildmodel.Power) []string {
	var out []string
	for _, r := range []struct {
		name string
		has  bool
	}{{"query", p.Query}, {"view", p.View}, {"add", p.Add}, {"edit", p.Edit}, {"delete", p.Delete}, {"export", p.Export}, {"import", p.Import}} {
		if r.has {
			out = append(out, r.name)
		}
	}
	return out
}

// source tells who answered.
func (v *nodeViews) source(node string, a *proxy.Answer) views.PageSource {
	s := views.PageSource{Instance: a.Instance, Address: a.Location, Took: a.Took}
	if in, ok := v.view.View().ByLocation(node, a.Location); ok {
		s.Instance = cmp.Or(s.Instance, in.ID)
		if in.Node != nil {
			s.Version = in.Node.Version
		}
	}
	return s
}

// problem turns a failed call into a panel. What is wrong with the request itself, or with the viewer's rights, stays an error.
func (v *nodeViews) problem(c *gin.Context, o *opened, err error) (*views.PageProblem, error) {
	kind := proxy.KindOf(err)
	p := &views.PageProblem{Code: string(kind), State: views.StateDown, Retry: v.here(c)}
	switch kind {
	case proxy.NodeNotReady:
		p.State, p.Title = views.StateOffline, views.Sayf("page.problem.offline", "node", o.NodeLabel)
	case proxy.UpstreamUnreachable:
		p.Title, p.Message = views.Sayf("page.problem.unreachable", "node", o.NodeLabel), spoken(c, err)
	case proxy.UpstreamTimeout:
		p.Title = views.Sayf("page.problem.timeout", "node", o.NodeLabel)
	default:
		return nil, err
	}
	return p, nil
}

// refusedBy is the panel for a node that answers but gives no page.
func refusedBy(o *opened, status int, r buildmodel.Result) *views.PageProblem {
	p := &views.PageProblem{Code: "refused", State: views.StateSlow, Title: views.Sayf("page.problem.refused", "node", o.NodeLabel), Message: r.Message}
	if status == http.StatusNotFound {
		p.Code, p.Title = "not_hosted", views.Sayf("page.problem.not_hosted", "node", o.NodeLabel, "page", o.Full)
	}
	return p
}

// spoken is what a failed call says for people, in their language.
func spoken(c *gin.Context, err error) string {
	lang := views.FrameOf(c.Request.Context()).Lang
	var f *proxy.Failure
	if errors.As(err, &f) {
		return views.Translate(lang, f.Format, f.Args...)
	}
	e := fault.Of(err)
	return views.Translate(lang, e.Format, e.Args...)
}

// here is the address of the page that was asked for, below the base path.
func (v *nodeViews) here(c *gin.Context) string {
	return views.BackPath(views.FrameOf(c.Request.Context()).Path)
}

// status of a page with a problem: programs and monitors shall not take it for success. A part of a page goes where it was asked
// for, which it would not with an error's status.
func (o *opened) status(c *gin.Context) int {
	if o.problem == nil || isFragment(c) {
		return http.StatusOK
	}
	switch o.problem.Code {
	case string(proxy.UpstreamTimeout):
		return http.StatusGatewayTimeout
	case string(proxy.NodeNotReady):
		return http.StatusServiceUnavailable
	case "not_hosted":
		return http.StatusNotFound
	}
	return http.StatusBadGateway
}

// pageSaid is the toast for what the request before this one did.
func pageSaid(c *gin.Context) string {
	switch word := c.Query("said"); word {
	case "added", "saved", "deleted":
		return views.T(c.Request.Context(), "page.said."+word)
	}
	return ""
}
