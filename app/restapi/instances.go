package restapi

import (
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
)

// The states of nodes; instances have the first three.
const (
	up        = "up"
	held      = "held"
	draining  = "draining"
	offline   = "offline"
	disabled  = "disabled"
	neverSeen = "never_seen"
)

var states = []string{up, held, draining, offline, disabled, neverSeen}

// instance is one running process of a node.
type instance struct {
	InstanceID    string   `json:"instanceId"`
	Location      string   `json:"location"` // the first of Locations
	Locations     []string `json:"locations"`
	Version       *string  `json:"version"`
	State         string   `json:"state"`
	LastHeartbeat *string  `json:"lastHeartbeat"`
	Registered    *string  `json:"registered"`
	Hold          *hold    `json:"hold"`
	Drain         *drain   `json:"drain"`
}

// hold says who keeps an instance out of routing, and why.
type hold struct {
	Reason    string   `json:"reason"`
	Account   string   `json:"account"`
	Created   *string  `json:"created"`
	Locations []string `json:"locations"` // that are held
}

// listInstances handles GET /api/v1/nodes/{nodeName}/instances, oldest first.
func (a *api) listInstances(c *gin.Context) error {
	page, size, err := web.PageOf(c)
	if err != nil {
		return err
	}
	n, err := a.nodeFor(c, access.CodeNodes)
	if err != nil {
		return err
	}
	all := a.o.Registry.View().Node(n.Name)
	shown := cut(all, page, size)
	keys := make([]registry.Key, len(shown))
	for i, in := range shown {
		keys[i] = in.Key
	}
	beats, err := a.o.Registry.LastHeartbeats(c.Request.Context(), keys...)
	if err != nil {
		return err
	}
	items := make([]instance, len(shown))
	for i, in := range shown {
		items[i] = a.instanceOf(n.Name, in)
		items[i].LastHeartbeat = when(beats[i])
	}
	return answerList(c, items, len(all))
}

// removeInstance handles DELETE …/instances/{instanceId}. A living instance is back with its next heartbeat; a hold is what
// keeps it out.
func (a *api) removeInstance(c *gin.Context) error {
	n, in, err := a.find(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	err = a.o.Registry.Remove(c.Request.Context(), in.Key, registry.Admin)
	if err := a.audit(c, "instance.remove", n.Name, map[string]any{"instanceId": in.ID, "locations": in.Locations}, err); err != nil {
		return err
	}
	a.happened(c, history.Event{Node: n.Name, Instance: in.ID, Kind: history.Removed}, in)
	return gone(c)
}

// hold handles PUT …/instances/{instanceId}/hold. Holds are kept by location, since a Java node draws a new id at each
// start; one that exists stays as it is.
func (a *api) hold(c *gin.Context) error {
	var wish struct {
		Reason string `json:"reason"`
	}
	if c.Request.ContentLength != 0 {
		if err := body(c, &wish); err != nil {
			return err
		}
	}
	n, in, err := a.find(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	for _, l := range in.Locations {
		_, already := a.o.Holds.Held(n.Name, l)
		if _, err = a.o.Holds.Set(c.Request.Context(), fleet.Hold{Node: n.Name, Location: l, Reason: wish.Reason, Account: actor(c).Account}); err != nil {
			break
		}
		if !already {
			a.happened(c, history.Event{Node: n.Name, Instance: in.ID, Location: l, Kind: history.Held, Reason: wish.Reason}, in)
		}
	}
	params := map[string]any{"instanceId": in.ID, "locations": in.Locations, "reason": wish.Reason}
	if err := a.audit(c, "instance.hold", n.Name, params, err); err != nil {
		return err
	}
	return answer(c, 200, a.holdOf(n.Name, in))
}

// liftHold handles DELETE …/instances/{instanceId}/hold.
func (a *api) liftHold(c *gin.Context) error {
	n, in, err := a.find(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	lifted := 0
	for _, l := range in.Locations {
		switch err = a.o.Holds.Lift(c.Request.Context(), n.Name, l, actor(c).Account); {
		case err == nil:
			lifted++
			a.happened(c, history.Event{Node: n.Name, Instance: in.ID, Location: l, Kind: history.Lifted}, in)
		case fault.Is(err, fault.NotFound):
			err = nil // another location of the instance may be held
		}
		if err != nil {
			break
		}
	}
	if err == nil && lifted == 0 {
		return fault.New(fault.NotFound, "instance %q of node %q is not held", in.ID, n.Name)
	}
	if err := a.audit(c, "instance.release", n.Name, map[string]any{"instanceId": in.ID, "locations": in.Locations}, err); err != nil {
		return err
	}
	return gone(c)
}

// find returns the node and the instance that the path names, if the session holds code for them.
func (a *api) find(c *gin.Context, code string) (fleet.Node, registry.Instance, error) {
	n, err := a.nodeFor(c, code)
	if err != nil {
		return fleet.Node{}, registry.Instance{}, err
	}
	id := web.Param(c, "instanceId")
	in, ok := a.instance(n.Name, id)
	if !ok {
		return n, in, fault.New(fault.NotFound, "node %q has no instance %q", n.Name, id)
	}
	return n, in, nil
}

func (a *api) instance(node, id string) (registry.Instance, bool) {
	in, ok := a.o.Registry.View().Instance(registry.Key{App: strings.ToUpper(node), ID: id})
	return in, ok && in.Origin == registry.OriginNode
}

func (a *api) instanceOf(node string, in registry.Instance) instance {
	out := instance{
		InstanceID: in.ID, Locations: orEmpty(in.Locations), State: a.instanceState(node, in),
		Registered: when(in.Registered), Hold: a.holdOf(node, in), Drain: a.orderOf(node, in.ID),
	}
	if len(in.Locations) > 0 {
		out.Location = in.Locations[0]
	}
	if in.Node != nil {
		out.Version = orNull(in.Node.Version)
	}
	return out
}

// holdOf returns the hold of an instance, nil if none of its locations is held.
func (a *api) holdOf(node string, in registry.Instance) *hold {
	var out *hold
	for _, l := range in.Locations {
		h, ok := a.o.Holds.Held(node, l)
		if !ok {
			continue
		}
		if out == nil {
			out = &hold{Reason: h.Reason, Account: h.Account, Created: when(h.Created)}
		}
		out.Locations = append(out.Locations, l)
	}
	return out
}

// instanceState: an instance drains when it said so or an admin; it is held when nothing may be sent to any of its locations.
func (a *api) instanceState(node string, in registry.Instance) string {
	isHeld := func(l string) bool { _, ok := a.o.Holds.Held(node, l); return ok }
	_, ordered := a.o.Drains.Draining(node, in.ID)
	switch {
	case in.Status == registry.OutOfService, ordered:
		return draining
	case len(in.Locations) > 0 && !slices.ContainsFunc(in.Locations, func(l string) bool { return !isHeld(l) }):
		return held
	}
	return up
}

// nodeState: a node is up if one instance is; the worst of several does not hide the best.
func (a *api) nodeState(n fleet.Node, instances []registry.Instance) string {
	count := map[string]int{}
	for _, in := range instances {
		count[a.instanceState(n.Name, in)]++
	}
	switch {
	case !n.Enabled:
		return disabled
	case count[up] > 0:
		return up
	case count[held] > 0:
		return held
	case count[draining] > 0:
		return draining
	case n.FirstSeen.IsZero():
		return neverSeen
	}
	return offline
}
