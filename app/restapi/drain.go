package restapi

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
	"eruptcloud/app/web"
)

// drainState is how far an instance is on its way out of routing (D12).
type drainState struct {
	InstanceID string   `json:"instanceId"`
	Locations  []string `json:"locations"`
	State      string   `json:"state"`
	InFlight   int      `json:"inFlight"`   // open requests, through all replicas
	Streams    int      `json:"streams"`    // those of them that may stay open for hours
	Oldest     *string  `json:"oldest"`     // when the oldest of them began
	Known      bool     `json:"known"`      // whether all replicas have told their number
	SafeToStop bool     `json:"safeToStop"` // draining, and nothing in flight
	Drain      *drain   `json:"drain"`      // null: nobody ordered it
}

// drain says who ordered it.
type drain struct {
	Reason  string  `json:"reason"`
	Account string  `json:"account"`
	Created *string `json:"created"`
}

// nodeDrain is the same for all instances of a node.
type nodeDrain struct {
	Instances  []drainState `json:"instances"`
	Away       []string     `json:"away"` // ids of draining instances that are not registered now, but may be back
	InFlight   int          `json:"inFlight"`
	Streams    int          `json:"streams"`
	Oldest     *string      `json:"oldest"`
	Known      bool         `json:"known"`
	SafeToStop bool         `json:"safeToStop"` // of every instance, and none is away
}

type drainWish struct {
	Reason string `json:"reason"`
	Force  bool   `json:"force,omitempty"` // also when no other instance takes requests
}

func readDrainWish(c *gin.Context) (w drainWish, err error) {
	if c.Request.ContentLength != 0 {
		if err := body(c, &w); err != nil {
			return w, err
		}
	}
	if text := c.Query("force"); text != "" {
		if w.Force, err = strconv.ParseBool(text); err != nil {
			return w, fault.New(fault.Invalid, "force must be true or false").Field("force", "must be true or false")
		}
	}
	return w, nil
}

// startDrain handles PUT …/instances/{instanceId}/drain.
func (a *api) startDrain(c *gin.Context) error {
	w, err := readDrainWish(c)
	if err != nil {
		return err
	}
	n, in, err := a.find(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	err = a.drainThese(c, n, []registry.Instance{in}, w)
	if err := a.audit(c, "instance.drain", n.Name, map[string]any{"instanceId": in.ID, "reason": w.Reason, "force": w.Force}, err); err != nil {
		return err
	}
	return answer(c, http.StatusOK, a.drainOf(n.Name, in))
}

// drainThese orders instances of a node out of routing. fault.Conflict if nothing that takes requests would be left and the
// wish does not say force; then nothing is changed.
func (a *api) drainThese(c *gin.Context, n fleet.Node, these []registry.Instance, w drainWish) error {
	a.draining.Lock() // or two scripts that each drain one of two instances both see the other
	defer a.draining.Unlock()
	if !w.Force && a.lastRouted(n, these) {
		return fault.New(fault.Conflict, "no other instance of node %q takes requests; force drains all the same", n.Name)
	}
	by := actor(c).Account
	for _, in := range these {
		_, already := a.o.Drains.Draining(n.Name, in.ID)
		d, err := a.o.Drains.Start(c.Request.Context(), fleet.Drain{Node: n.Name, Instance: in.ID, Reason: w.Reason, Account: by})
		if err != nil {
			return err
		}
		if !already {
			a.happened(c, history.Event{Node: n.Name, Instance: in.ID, Kind: history.Drained, Reason: d.Reason}, in)
		}
	}
	return nil
}

// lastRouted reports whether some of these instances take requests and no other instance of the node does.
func (a *api) lastRouted(n fleet.Node, these []registry.Instance) bool {
	among := func(in registry.Instance) bool {
		return slices.ContainsFunc(these, func(o registry.Instance) bool { return o.Key == in.Key })
	}
	last := false
	for _, in := range a.o.Registry.View().Node(n.Name) {
		if !n.Enabled || a.instanceState(n.Name, in) != up {
			continue
		}
		if !among(in) {
			return false
		}
		last = true
	}
	return last
}

// getDrain handles GET …/instances/{instanceId}/drain.
func (a *api) getDrain(c *gin.Context) error {
	n, in, err := a.find(c, access.CodeNodes)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, a.drainOf(n.Name, in))
}

// endDrain handles DELETE …/instances/{instanceId}/drain. The instance need not be registered at this moment.
func (a *api) endDrain(c *gin.Context) error {
	n, err := a.nodeFor(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	id := web.Param(c, "instanceId")
	err = a.endThese(c, n.Name, id)
	if err := a.audit(c, "instance.undrain", n.Name, map[string]any{"instanceId": id}, err); err != nil {
		return err
	}
	return gone(c)
}

func (a *api) endThese(c *gin.Context, node string, instances ...string) error {
	for _, id := range instances {
		err := a.o.Drains.End(c.Request.Context(), node, id, actor(c).Account)
		if fault.Is(err, fault.NotFound) && len(instances) > 1 {
			continue // somebody was faster, or it has left; the others still drain
		} else if err != nil {
			return err
		}
		in, _ := a.instance(node, id)
		a.happened(c, history.Event{Node: node, Instance: id, Kind: history.Undrained}, in)
	}
	return nil
}

// drainNode handles PUT /api/v1/nodes/{nodeName}/drain: all instances that are registered now.
func (a *api) drainNode(c *gin.Context) error {
	w, err := readDrainWish(c)
	if err != nil {
		return err
	}
	n, err := a.nodeFor(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	all := a.o.Registry.View().Node(n.Name)
	err = a.drainThese(c, n, all, w)
	if err := a.audit(c, "node.drain", n.Name, map[string]any{"instances": len(all), "reason": w.Reason, "force": w.Force}, err); err != nil {
		return err
	}
	return a.answerNodeDrain(c, n.Name, all)
}

// getNodeDrain handles GET /api/v1/nodes/{nodeName}/drain.
func (a *api) getNodeDrain(c *gin.Context) error {
	n, err := a.nodeFor(c, access.CodeNodes)
	if err != nil {
		return err
	}
	return a.answerNodeDrain(c, n.Name, a.o.Registry.View().Node(n.Name))
}

// endNodeDrain handles DELETE /api/v1/nodes/{nodeName}/drain: every drain of the node, also of instances that are away.
func (a *api) endNodeDrain(c *gin.Context) error {
	n, err := a.nodeFor(c, access.CodeManageNodes)
	if err != nil {
		return err
	}
	all, err := a.o.Drains.Of(c.Request.Context(), n.Name)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fault.New(fault.NotFound, "no instance of node %q is draining by order", n.Name)
	}
	ids := make([]string, len(all))
	for i, d := range all {
		ids[i] = d.Instance
	}
	err = a.endThese(c, n.Name, ids...)
	if err := a.audit(c, "node.undrain", n.Name, map[string]any{"instances": ids}, err); err != nil {
		return err
	}
	return gone(c)
}

func (a *api) drainOf(node string, in registry.Instance) drainState {
	load := a.o.Loads.InFlight(node, in.Locations)
	out := drainState{
		InstanceID: in.ID, Locations: orEmpty(in.Locations), State: a.instanceState(node, in),
		InFlight: load.Count, Streams: load.Streams, Oldest: when(load.Oldest), Known: load.Known, Drain: a.orderOf(node, in.ID),
	}
	out.SafeToStop = out.State == draining && load.Known && load.Count == 0
	return out
}

func (a *api) orderOf(node, instance string) *drain {
	d, ok := a.o.Drains.Draining(node, instance)
	if !ok {
		return nil
	}
	return &drain{Reason: d.Reason, Account: d.Account, Created: when(d.Created)}
}

// answerNodeDrain tells how far these instances of a node are. What an admin, a failed probe or a restart of the server took
// out of the registry may still work, and nobody counts on what: it is away, not gone, until its drain ends.
func (a *api) answerNodeDrain(c *gin.Context, node string, all []registry.Instance) error {
	drains, err := a.o.Drains.Of(c.Request.Context(), node)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, a.nodeDrainOf(node, all, drains))
}

func (a *api) nodeDrainOf(node string, all []registry.Instance, drains []fleet.Drain) nodeDrain {
	out := nodeDrain{Instances: []drainState{}, Away: []string{}, Known: true, SafeToStop: true}
	var oldest time.Time
	for _, d := range drains {
		if _, here := a.instance(node, d.Instance); !here {
			out.Away, out.Known, out.SafeToStop = append(out.Away, d.Instance), false, false
		}
	}
	for _, in := range all {
		d := a.drainOf(node, in)
		out.Instances = append(out.Instances, d)
		out.InFlight, out.Streams = out.InFlight+d.InFlight, out.Streams+d.Streams
		out.Known, out.SafeToStop = out.Known && d.Known, out.SafeToStop && d.SafeToStop
		if at := a.o.Loads.InFlight(node, in.Locations).Oldest; !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	out.Oldest = when(oldest)
	return out
}
