package console

import (
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// holdInstance handles PUT /console/nodes/:node/hold: all addresses of an instance leave routing until they are lifted.
func (p *pages) holdInstance(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	name, id := node.Name, c.PostForm("instance")
	in, err := p.instance(name, id)
	if err != nil {
		return err
	}
	if err := p.hold(c, name, in, text(c, "reason")); err != nil {
		return err
	}
	return p.afterInstance(c, name, "held")
}

// hold keeps all addresses of an instance out of routing and records it.
func (p *pages) hold(c *gin.Context, name string, in registry.Instance, reason string) error {
	for _, l := range in.Locations {
		if h, ok := p.Holds.Held(name, l); ok && h.Reason == reason {
			continue
		}
		_, err := p.Holds.Set(c.Request.Context(), fleet.Hold{
			Node: in.NodeName, Location: l, Reason: reason, Account: viewer(c).Account, Created: p.Now(),
		})
		if err := p.record(c, "instance.hold", name+" "+l, err); err != nil {
			return err
		}
		p.tell(history.Event{Node: name, Instance: in.ID, Location: l, Kind: history.Held, Reason: reason, Account: viewer(c).Account})
	}
	return nil
}

// liftHold handles POST /console/nodes/:node/hold/lift.
func (p *pages) liftHold(c *gin.Context) error {
	if err := complete(c, "location"); err != nil {
		return err
	}
	node, err := p.nodeFor(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	name, location := node.Name, c.PostForm("location")
	err = p.Holds.Lift(c.Request.Context(), name, location, viewer(c).Account)
	faster := fault.Is(err, fault.NotFound)
	if faster {
		err = nil // the wish is fulfilled
	}
	if err := p.record(c, "instance.lift", name+" "+location, err); err != nil {
		return err
	}
	if !faster {
		lifted := history.Event{Node: name, Location: location, Kind: history.Lifted, Account: viewer(c).Account}
		if in, ok := p.Registry.View().ByLocation(name, location); ok {
			lifted.Instance = in.ID
		}
		p.tell(lifted)
	}
	return p.afterInstance(c, name, "lifted")
}

// removeInstance handles POST /console/nodes/:node/instances/remove. The page has said that a living instance returns.
func (p *pages) removeInstance(c *gin.Context) error {
	node, err := p.nodeFor(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	name, id := node.Name, c.PostForm("instance")
	in, err := p.instance(name, id)
	if err != nil {
		return err
	}
	err = p.Registry.Remove(c.Request.Context(), in.Key, registry.Admin)
	if err := p.record(c, "instance.remove", name+" "+id, err); err != nil {
		return err
	}
	// The registry tells of removals without a name, so who removes records it.
	removed := history.Event{Node: name, Instance: id, Kind: history.Removed, Account: viewer(c).Account}
	if len(in.Locations) > 0 {
		removed.Location = in.Locations[0]
	}
	if in.Node != nil {
		removed.Version = in.Node.Version
	}
	p.tell(removed)
	return p.afterInstance(c, name, "removed")
}

// instance finds a registered instance of a node.
func (p *pages) instance(node, id string) (registry.Instance, error) {
	all := p.Registry.View().Node(node)
	i := slices.IndexFunc(all, func(in registry.Instance) bool { return in.ID == id })
	if i < 0 {
		return registry.Instance{}, fault.New(fault.NotFound, "instance %q of %q is not registered any more", id, node)
	}
	return all[i], nil
}

// tell adds to the history of a node what somebody just did in the console.
func (p *pages) tell(e history.Event) {
	if p.History != nil {
		e.At = p.Now()
		p.History.Record(e)
	}
}

// afterInstance answers with the instance table, or leads back to the page that showed it.
func (p *pages) afterInstance(c *gin.Context, name, word string) error {
	if !isFragment(c) {
		return web.Redirect(c, views.NodePath(name, views.TabInstances), "said", word)
	}
	tab := views.TabInstances
	if u, err := url.Parse(c.GetHeader("HX-Current-URL")); err == nil {
		switch own := web.Base(c.Request) + "/console/nodes/" + name; u.Path {
		case own:
			tab = views.TabOverview
		case own + "/instance": // the page of one instance, which may be gone now
			if id := u.Query().Get("id"); word != "removed" {
				return web.Redirect(c, views.NodePath(name, "/instance"), "id", id, "said", word)
			}
			return web.Redirect(c, views.NodePath(name, tab), "said", word)
		}
	}
	n, err := p.nodePage(c, tab)
	if err != nil {
		return err
	}
	sayAloud(c, views.T(c.Request.Context(), "said."+word))
	return p.renderInstances(c, n)
}
