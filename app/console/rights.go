package console

import (
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/views"
)

// Rights by group (D21): the route table asks whether the viewer holds a code at all, these ask whether he holds it for the
// thing itself.

// may returns fault.Forbidden unless the viewer holds code for the node.
func (p *pages) may(c *gin.Context, code string, n fleet.Node) error {
	if p.holds(viewer(c), code, n.GroupID) {
		return nil
	}
	return fault.New(fault.Forbidden, "for the node %s this needs the permission %s", n.Name, code)
}

// mayGroup returns fault.Forbidden unless the viewer holds code for the group; nil is the place beside all groups.
func (p *pages) mayGroup(c *gin.Context, code string, g *fleet.Group) error {
	var id int64
	name := "-"
	if g != nil {
		id, name = g.ID, g.Code
	}
	if p.holds(viewer(c), code, id) {
		return nil
	}
	return fault.New(fault.Forbidden, "for the group %s this needs the permission %s", name, code)
}

// mayMove returns fault.Forbidden if moving a node or a group that lies in the group from into the group with the code to would
// give the viewer a right for it that he does not have now (D21). Whether he may change both is mayPlace's question.
func (p *pages) mayMove(c *gin.Context, from int64, to string, refuse func(code string) error) error {
	if !scoped(c) && len(viewer(c).Writes) == 0 || to == "" {
		return nil
	}
	g, err := p.Groups.ByCode(c.Request.Context(), to)
	if fault.Is(err, fault.NotFound) {
		return nil // for the domain to refuse
	} else if err != nil {
		return err
	}
	if gained := viewer(c).Gains(p.Groups.Chain(from), p.Groups.Chain(g.ID)); gained != "" {
		return refuse(gained)
	}
	return nil
}

func refuseNode(n fleet.Node) func(code string) error {
	return func(code string) error {
		const format = "for the node %s this needs the permission %s"
		return fault.New(fault.Forbidden, format, n.Name, code).Field("group", format, n.Name, code)
	}
}

func refuseGroup(g fleet.Group) func(code string) error {
	return func(code string) error {
		const format = "for the group %s this needs the permission %s"
		return fault.New(fault.Forbidden, format, g.Code, code).Field("parent", format, g.Code, code)
	}
}

// holds is the question without an answer in words: group is the id of a group, zero for none.
func (p *pages) holds(s *access.Session, code string, group int64) bool {
	return s.HoldsIn(code, p.Groups.Chain(group))
}

// visible are the nodes for which the viewer holds code.
func (p *pages) visible(c *gin.Context, code string, all []*nodeState) []*nodeState {
	if !endsSomewhere(c, code) {
		return all
	}
	sees := p.sees(c, code)
	out := make([]*nodeState, 0, len(all))
	for _, n := range all {
		if sees(n.node.GroupID) {
			out = append(out, n)
		}
	}
	return out
}

// endsSomewhere reports whether a code of the viewer counts in a part of the group tree only.
func endsSomewhere(c *gin.Context, code string) bool {
	s := viewer(c)
	_, limited := s.Scopes[strings.ToLower(code)]
	return limited && !s.Admin
}

// sees answers for what lies in a group whether the viewer holds code for it. Many nodes lie in few groups: each is looked up once.
func (p *pages) sees(c *gin.Context, code string) func(group int64) bool {
	if !endsSomewhere(c, code) {
		return func(int64) bool { return true }
	}
	s, groups := viewer(c), map[int64]bool{}
	return func(group int64) bool {
		may, known := groups[group]
		if !known {
			may = p.holds(s, code, group)
			groups[group] = may
		}
		return may
	}
}

// scoped reports whether some of the viewer's codes count in a part of the group tree only.
func scoped(c *gin.Context) bool {
	s := viewer(c)
	return !s.Admin && len(s.Scopes) > 0
}

// can answers for the buttons of one node whether the viewer holds a code for it; nil means wherever he holds it at all.
func (p *pages) can(c *gin.Context, group int64) func(code string) bool {
	if !scoped(c) {
		return nil
	}
	s, chain := viewer(c), p.Groups.Chain(group)
	return func(code string) bool { return s.HoldsIn(code, chain) }
}

// visibleGroups are the groups for which the viewer holds code.
func (p *pages) visibleGroups(c *gin.Context, code string, all []fleet.Group) []fleet.Group {
	if !endsSomewhere(c, code) {
		return all
	}
	s := viewer(c)
	out := make([]fleet.Group, 0, len(all))
	for _, g := range all {
		if p.holds(s, code, g.ID) {
			out = append(out, g)
		}
	}
	return out
}

// countVisible replaces the counts beside the navigation by those of what a limited viewer may see.
func (p *pages) countVisible(c *gin.Context) {
	if !scoped(c) {
		return
	}
	f := *views.FrameOf(c.Request.Context())
	f.Nodes, f.Down = 0, 0
	if viewer(c).Holds(access.CodeNodes) {
		states, _, err := p.fleet(c, access.CodeNodes)
		if err != nil {
			p.shell.Fail(c.Writer, c.Request, err)
			c.Abort()
			return
		}
		f.Nodes = len(states)
		for _, s := range states {
			if s.kind.Mark() == views.StateDown {
				f.Down++
			}
		}
	}
	c.Request = c.Request.WithContext(views.WithFrame(c.Request.Context(), f))
}
