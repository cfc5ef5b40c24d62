package restapi

import (
	"context"
	"slices"
	"strconv"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
)

// node is a profile with what its instances are now.
type node struct {
	NodeName    string   `json:"nodeName"`
	Name        string   `json:"name"` // for people
	Group       *string  `json:"group"`
	Enabled     bool     `json:"enabled"`
	State       string   `json:"state"`
	Version     *string  `json:"version"`   // of the newest instance
	Instances   int      `json:"instances"` // how many
	Erupts      []string `json:"erupts"`    // names of the pages that they host
	AccessToken *string  `json:"accessToken,omitempty"`
}

type newNode struct {
	NodeName    string `json:"nodeName"`
	Name        string `json:"name"`
	Group       string `json:"group"`
	Enabled     *bool  `json:"enabled"` // true if left out
	AccessToken string `json:"accessToken"`
}

type nodePatch struct {
	Name    *string   `json:"name,omitempty"`
	Group   clearable `json:"group,omitzero"`
	Enabled *bool     `json:"enabled,omitempty"`
}

// listNodes handles GET /api/v1/nodes?q=&group=&enabled=&state=.
func (a *api) listNodes(c *gin.Context) error {
	page, size, err := web.PageOf(c)
	if err != nil {
		return err
	}
	f := fleet.NodeFilter{Query: c.Query("q"), Group: c.Query("group"), Page: page, PageSize: size}
	if text := c.Query("enabled"); text != "" {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fault.New(fault.Invalid, "enabled must be true or false").Field("enabled", "must be true or false")
		}
		f.Enabled = &on
	}
	if state := c.Query("state"); state != "" {
		if !slices.Contains(states, state) {
			return fault.New(fault.Invalid, "state must be one of %v", states).Field("state", "must be one of %v", states)
		}
		return a.listByState(c, f, state)
	}
	if scoped(c, access.CodeNodes) {
		return a.listByState(c, f, "")
	}
	profiles, total, err := a.o.Nodes.List(c.Request.Context(), f)
	if err != nil {
		return err
	}
	if (page-1)*size >= total {
		profiles = nil // the list itself shows its last page instead, which suits people
	}
	return answerList(c, a.nodesOf(profiles), total)
}

// listByState filters by what only the registry and the group tree know, so it has to look at all profiles.
func (a *api) listByState(c *gin.Context, f fleet.NodeFilter, state string) error {
	all, err := a.allNodes(c.Request.Context(), f)
	if err != nil {
		return err
	}
	nodes := slices.DeleteFunc(a.nodesOf(a.visible(c, all)), func(n node) bool { return state != "" && n.State != state })
	return answerList(c, cut(nodes, f.Page, f.PageSize), len(nodes))
}

func (a *api) allNodes(ctx context.Context, f fleet.NodeFilter) ([]fleet.Node, error) {
	var all []fleet.Node
	f.PageSize = web.MaxPageSize
	for f.Page = 1; ; f.Page++ {
		some, total, err := a.o.Nodes.List(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if len(some) == 0 || f.Page*f.PageSize >= total {
			return all, nil
		}
	}
}

func (a *api) getNode(c *gin.Context) error {
	n, err := a.nodeFor(c, access.CodeNodes)
	if err != nil {
		return err
	}
	return answer(c, 200, a.nodesOf([]fleet.Node{n})[0])
}

// createNode handles POST /api/v1/nodes; only its answer shows the access token.
func (a *api) createNode(c *gin.Context) error {
	var in newNode
	if err := body(c, &in); err != nil {
		return err
	}
	if err := a.mayIn(c, access.CodeNodes+"@ADD", in.Group); err != nil {
		return err
	}
	n, token, err := a.o.Nodes.Create(c.Request.Context(), fleet.NewNode{
		Name: in.NodeName, Display: in.Name, Group: in.Group, Token: in.AccessToken,
		Enabled: in.Enabled == nil || *in.Enabled, By: actor(c).Account,
	})
	in.AccessToken = "" // not for the trail
	if err := a.audit(c, "node.create", in.NodeName, in, named(err, nodeFields)); err != nil {
		return err
	}
	a.happened(c, history.Event{Node: n.Name, Kind: history.Created}, registry.Instance{})
	out := a.nodesOf([]fleet.Node{n})[0]
	out.AccessToken = &token
	return created(c, "nodes", n.Name, out)
}

func (a *api) patchNode(c *gin.Context) error {
	var in nodePatch
	if err := body(c, &in); err != nil {
		return err
	}
	if in.Name == nil && !in.Group.Set && in.Enabled == nil {
		return nothingToChange()
	}
	was, err := a.nodeFor(c, access.CodeNodes+"@EDIT")
	if err != nil {
		return err
	}
	if in.Group.Set && in.Group.Value != was.Group { // moving a node takes the right in both places
		if err := a.mayMove(c, access.CodeNodes+"@EDIT", was.GroupID, in.Group.Value, refuseNode(was)); err != nil {
			return err
		}
	}
	name := was.Name
	n, err := a.o.Nodes.Update(c.Request.Context(), name, fleet.NodePatch{
		Display: in.Name, Group: in.Group.pointer(), Enabled: in.Enabled, By: actor(c).Account,
	})
	if err := a.audit(c, "node.update", name, in, named(err, nodeFields)); err != nil {
		return err
	}
	if n.Enabled != was.Enabled {
		kind := history.Disabled
		if n.Enabled {
			kind = history.Enabled
		}
		a.happened(c, history.Event{Node: n.Name, Kind: kind}, registry.Instance{})
	}
	return answer(c, 200, a.nodesOf([]fleet.Node{n})[0])
}

func (a *api) deleteNode(c *gin.Context) error {
	n, err := a.nodeFor(c, access.CodeNodes+"@DELETE")
	if err != nil {
		return err
	}
	err = a.o.Nodes.Delete(c.Request.Context(), n.Name, actor(c).Account)
	if err := a.audit(c, "node.delete", n.Name, nil, err); err != nil {
		return err
	}
	a.happened(c, history.Event{Node: n.Name, Kind: history.Deleted}, registry.Instance{})
	return gone(c)
}

// nodesOf adds to profiles what their instances are, all from one view.
func (a *api) nodesOf(profiles []fleet.Node) []node {
	view := a.o.Registry.View()
	out := make([]node, len(profiles))
	for i, p := range profiles {
		instances := view.Node(p.Name)
		out[i] = node{
			NodeName: p.Name, Name: p.Display, Group: orNull(p.Group), Enabled: p.Enabled,
			State: a.nodeState(p, instances), Version: newest(instances), Instances: len(instances), Erupts: erupts(instances),
		}
	}
	return out
}

// newest returns the version of the instance that registered last.
func newest(instances []registry.Instance) *string {
	for i := len(instances) - 1; i >= 0; i-- {
		if d := instances[i].Node; d != nil {
			return orNull(d.Version)
		}
	}
	return nil
}

func erupts(instances []registry.Instance) []string {
	all := []string{}
	for _, in := range instances {
		if in.Node != nil {
			all = append(all, in.Node.Erupts...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
