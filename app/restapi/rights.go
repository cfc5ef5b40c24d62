package restapi

import (
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/web"
)

// Rights by group (D21): the route asks whether the session holds a code at all, these ask whether it holds it for the thing
// itself. Items answer 403 with the code that is missing, lists leave out.

// may returns fault.Forbidden unless the session holds code for the node.
func (a *api) may(c *gin.Context, code string, n fleet.Node) error {
	if a.holds(c, code, n.GroupID) {
		return nil
	}
	return refuseNode(n)(code)
}

// mayGroup returns fault.Forbidden unless the session holds code for the group; a zero id is the place beside all groups.
func (a *api) mayGroup(c *gin.Context, code string, id int64, name string) error {
	if a.holds(c, code, id) {
		return nil
	}
	if name == "" {
		name = "-"
	}
	return fault.New(fault.Forbidden, "for the group %s this needs the permission %s", name, code)
}

// mayIn is mayGroup for a group that a request names. One that does not exist is in nobody's tree.
func (a *api) mayIn(c *gin.Context, code, group string) error {
	if !scoped(c, code) {
		return nil // whether it exists is for the write to say
	}
	if group == "" {
		return a.mayGroup(c, code, 0, "")
	}
	g, err := a.o.Groups.ByCode(c.Request.Context(), group)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return a.mayGroup(c, code, g.ID, group)
}

// mayMove is mayIn for a node or a group that lies in the group from: who moves it must not gain a right for it by that (D21).
func (a *api) mayMove(c *gin.Context, code string, from int64, to string, refuse func(code string) error) error {
	if err := a.mayIn(c, code, to); err != nil || to == "" {
		return err
	}
	g, err := a.o.Groups.ByCode(c.Request.Context(), to)
	if fault.Is(err, fault.NotFound) {
		return nil // for the write to say
	} else if err != nil {
		return err
	}
	if gained := web.SessionFrom(c).Gains(a.o.Groups.Chain(from), a.o.Groups.Chain(g.ID)); gained != "" {
		return refuse(gained)
	}
	return nil
}

func refuseNode(n fleet.Node) func(code string) error {
	return func(code string) error {
		return fault.New(fault.Forbidden, "for the node %s this needs the permission %s", n.Name, code)
	}
}

func refuseGroup(g fleet.Group) func(code string) error {
	return func(code string) error {
		return fault.New(fault.Forbidden, "for the group %s this needs the permission %s", g.Code, code)
	}
}

func (a *api) holds(c *gin.Context, code string, group int64) bool {
	return web.SessionFrom(c).HoldsIn(code, a.o.Groups.Chain(group))
}

// scoped reports whether the session holds code in parts of the group tree only.
func scoped(c *gin.Context, code string) bool {
	s := web.SessionFrom(c)
	_, limited := s.Scopes[strings.ToLower(code)]
	return limited && !s.Admin
}

// nodeFor returns the node that the path names if the session holds code for it.
func (a *api) nodeFor(c *gin.Context, code string) (fleet.Node, error) {
	n, err := a.o.Nodes.ByName(c.Request.Context(), web.Param(c, "nodeName"))
	if err != nil {
		return fleet.Node{}, err
	}
	return n, a.may(c, code, n)
}

// groupFor returns the group that the path names if the session holds code for it.
func (a *api) groupFor(c *gin.Context, code string) (fleet.Group, error) {
	g, err := a.o.Groups.ByCode(c.Request.Context(), web.Param(c, "code"))
	if err != nil {
		return fleet.Group{}, err
	}
	return g, a.mayGroup(c, code, g.ID, g.Code)
}
