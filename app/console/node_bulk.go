package console

import (
	"fmt"
	"slices"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// maxBulk is how many nodes one action may concern: the largest page.
const maxBulk = 500

// bulkAction does one thing to one node.
type bulkAction struct {
	code string // permission that it needs, for each node by itself
	do   func(c *gin.Context, n fleet.Node) error
}

func (p *pages) bulkActions(c *gin.Context) map[string]bulkAction {
	edit := access.CodeNodes + "@EDIT"
	return map[string]bulkAction{
		"enable":  {edit, func(c *gin.Context, n fleet.Node) error { return p.switchNode(c, n, true) }},
		"disable": {edit, func(c *gin.Context, n fleet.Node) error { return p.switchNode(c, n, false) }},
		"hold":    {access.CodeManageNodes, p.holdNode},
		"drain":   {access.CodeManageNodes, p.drainNode},
		"move":    {edit, func(c *gin.Context, n fleet.Node) error { return p.moveNode(c, n, text(c, "group")) }},
	}
}

// bulkNodes handles POST /console/nodes/bulk: one action on several nodes, each with its own rights and its own outcome. That
// some fail stops none of the others.
func (p *pages) bulkNodes(c *gin.Context) error {
	action := c.PostForm("action")
	act, ok := p.bulkActions(c)[action]
	if !ok {
		return fault.New(fault.Invalid, "the form is not complete").Field("action", "is missing")
	}
	names := slices.Compact(slices.Sorted(slices.Values(c.PostFormArray("node"))))
	switch {
	case len(names) == 0:
		return fault.New(fault.Invalid, "no node is selected")
	case len(names) > maxBulk:
		return fault.New(fault.Invalid, "at most %d nodes at a time", maxBulk)
	}
	if action == "move" { // refused at once: it would fail for each of them
		if err := p.mayPlace(c, act.code, text(c, "group")); err != nil {
			return err
		}
	}
	m := views.BulkResult{Action: action, Back: web.SafeNext(c.PostForm("back"))}
	lang := views.FrameOf(c.Request.Context()).Lang
	for _, name := range names {
		n, err := p.Nodes.ByName(c.Request.Context(), name)
		if err == nil {
			err = p.may(c, act.code, n)
		}
		if err == nil {
			err = act.do(c, n)
		}
		if err != nil {
			m.Failed = append(m.Failed, views.BulkFailure{Node: name, Message: message(lang, err)})
			continue
		}
		m.Done = append(m.Done, name)
	}
	return web.Twin(c, m, views.BulkPage(m), views.BulkFragment)
}

// holdNode holds every address of a node's instances.
func (p *pages) holdNode(c *gin.Context, n fleet.Node) error {
	all := p.Registry.View().Node(n.Name)
	if len(all) == 0 {
		return fault.New(fault.Conflict, "no instance is registered")
	}
	for _, in := range all {
		if err := p.hold(c, n.Name, in, text(c, "reason-hold")); err != nil {
			return err
		}
	}
	return nil
}

// moveNode puts a node into another group; both groups must be the viewer's.
func (p *pages) moveNode(c *gin.Context, n fleet.Node, group string) error {
	if n.Group == group {
		return nil
	}
	if err := p.mayMove(c, n.GroupID, group, refuseNode(n)); err != nil {
		return err
	}
	_, err := p.Nodes.Update(c.Request.Context(), n.Name, fleet.NodePatch{Group: &group, By: viewer(c).Account})
	return p.record(c, "node.update", n.Name, err)
}

// drainNode orders all instances of a node out of routing.
func (p *pages) drainNode(c *gin.Context, n fleet.Node) error {
	if p.Drains == nil {
		return fault.New(fault.Unavailable, "this server cannot drain")
	}
	all := p.Registry.View().Node(n.Name)
	if len(all) == 0 {
		return fault.New(fault.Conflict, "no instance is registered")
	}
	for _, in := range all {
		if err := p.drain(c, n.Name, in.ID, text(c, "reason-drain")); err != nil {
			return err
		}
	}
	return nil
}

// drain orders one instance out of routing and records it.
func (p *pages) drain(c *gin.Context, node, instance, reason string) error {
	if _, ok := p.Drains.Draining(node, instance); ok {
		return nil
	}
	_, err := p.Drains.Start(c.Request.Context(), fleet.Drain{
		Node: node, Instance: instance, Reason: reason, Account: viewer(c).Account, Created: p.Now(),
	})
	if err := p.record(c, "instance.drain", fmt.Sprintf("%s %s", node, instance), err); err != nil {
		return err
	}
	p.tell(history.Event{Node: node, Instance: instance, Kind: history.Drained, Reason: reason, Account: viewer(c).Account})
	return nil
}
