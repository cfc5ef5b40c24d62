package console

import (
	"slices"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/history"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// startDrain handles POST /console/nodes/:node/drain: an instance, or without one all of them, leaves routing and finishes what
// it works on (D12).
func (p *pages) startDrain(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	if p.Drains == nil {
		return fault.New(fault.Unavailable, "this server cannot drain")
	}
	state := judgeBy(oneNode(node), p.Registry.View(), p.orders())[0]
	chosen := state.instances
	if id := c.PostForm("instance"); id != "" {
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(i instanceState) bool { return i.ID != id })
		if len(chosen) == 0 {
			return fault.New(fault.NotFound, "instance %q of %q is not registered any more", id, node.Name)
		}
	}
	leaving := 0
	for _, i := range chosen {
		if i.kind == views.StateUp {
			leaving++
		}
	}
	// The page says so before; who was overtaken by somebody else has not read it.
	if leaving == state.up && leaving > 0 && c.PostForm("last") != "1" {
		return fault.New(fault.Conflict, "nothing would be left in routing of %s; load the page again", node.Name)
	}
	for _, i := range chosen {
		if err := p.drain(c, node.Name, i.ID, text(c, "reason")); err != nil {
			return err
		}
	}
	return p.afterInstance(c, node.Name, "draining")
}

// endDrain handles POST /console/nodes/:node/drain/end: the instance takes requests again.
func (p *pages) endDrain(c *gin.Context) error {
	if err := complete(c, "instance"); err != nil {
		return err
	}
	node, err := p.nodeFor(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	if p.Drains == nil {
		return fault.New(fault.Unavailable, "this server cannot drain")
	}
	id := c.PostForm("instance")
	err = p.Drains.End(c.Request.Context(), node.Name, id, viewer(c).Account)
	faster := fault.Is(err, fault.NotFound) // it has left, or somebody called it off already
	if faster {
		err = nil
	}
	if err := p.record(c, "instance.undrain", node.Name+" "+id, err); err != nil {
		return err
	}
	if !faster {
		p.tell(history.Event{Node: node.Name, Instance: id, Kind: history.Undrained, Account: viewer(c).Account})
	}
	return p.afterInstance(c, node.Name, "undrained")
}

// nodeDrains handles GET /console/nodes/:node/drains: the panel alone, asked for every two seconds while something drains.
func (p *pages) nodeDrains(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeNodes)
	if err != nil {
		return err
	}
	state := judgeBy(oneNode(node), p.Registry.View(), p.orders())[0]
	m := views.NodeDrains{Drains: p.drainViews(state)}
	m.NodeRow = views.NodeRow{Name: node.Name, Up: state.up, Total: len(state.instances), Can: p.can(c, node.GroupID)}
	return web.Render(c, views.DrainPanel(m), views.NodeDrainsFragment)
}

// drainViews are the draining instances of a node, those that still work on something first.
func (p *pages) drainViews(s *nodeState) []views.DrainView {
	var out []views.DrainView
	for _, i := range s.instances {
		if d := p.drainView(i); d != nil {
			out = append(out, *d)
		}
	}
	slices.SortStableFunc(out, func(a, b views.DrainView) int { return b.Count - a.Count })
	return out
}

// drainView is nil unless the instance drains.
func (p *pages) drainView(i instanceState) *views.DrainView {
	if i.kind != views.StateDraining {
		return nil
	}
	d := views.DrainView{
		Instance: i.ID, Measured: p.Loads != nil, Known: i.load.Known, Count: i.load.Count, Streams: i.load.Streams, Oldest: i.load.Oldest,
		Since: i.Updated,
	}
	if i.drain != nil {
		d.Ordered, d.Reason, d.Account, d.Since = true, i.drain.Reason, i.drain.Account, i.drain.Created
	}
	return &d
}
