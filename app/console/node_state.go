package console

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/views"
)

// nodeState judges one node from its profile, its instances and its holds. Every page and fragment goes through here, so
// that no two of them differ (S16).
type nodeState struct {
	node      fleet.Node
	instances []instanceState
	up        int // instances in routing
	kind      views.StateKind
	rank      int              // of kind, among the worst first
	left      *registry.Change // the last departure, if it was within the registry's memory and nobody is left
	refused   []fleet.Refusal  // who shows a wrong token for it at present
	leaves    bool             // an instance is draining
	runs      []views.VersionCount
	from      []registry.Instance // what it was judged by
	hay       func() string       // what a search looks through
}

type instanceState struct {
	registry.Instance
	kind  views.StateKind // up, draining or held
	holds []fleet.Hold
	drain *fleet.Drain // an admin's order to leave; nil: none
	load  InFlight     // what a draining instance still works on
}

// held answers whether a location of a node is held.
type held func(node, location string) (fleet.Hold, bool)

// orders answer from memory what people want of instances, and how far it has come. All but held may be nil.
type orders struct {
	held     held
	draining func(node, instance string) (fleet.Drain, bool)
	load     func(node string, locations []string) InFlight
	refused  map[string][]fleet.Refusal // by node, in upper case
}

// orders are those of this moment.
func (p *pages) orders() orders {
	o := orders{held: p.Holds.Held}
	if p.Drains != nil {
		o.draining = p.Drains.Draining
	}
	if p.Loads != nil {
		o.load = p.Loads.InFlight
	}
	if p.Refusals != nil {
		o.refused = map[string][]fleet.Refusal{}
		for _, r := range p.Refusals.All() {
			if r.Reason != fleet.WrongToken {
				continue // that a node is disabled is said already
			}
			name := strings.ToUpper(r.Node)
			o.refused[name] = append(o.refused[name], r)
		}
	}
	return o
}

// judge says how a node is: up if one instance is in routing; held if all are held; draining if all are leaving.
func judge(n fleet.Node, instances []registry.Instance, o orders, left func(app string) *registry.Change) *nodeState {
	s := &nodeState{node: n, instances: make([]instanceState, 0, len(instances)), from: instances}
	if len(o.refused) > 0 {
		s.refused = o.refused[strings.ToUpper(n.Name)]
	}
	s.hay = sync.OnceValue(s.text)
	drains, holds := 0, 0
	for _, in := range instances {
		i := judgeInstance(n.Name, in, o)
		switch i.kind {
		case views.StateUp:
			s.up++
		case views.StateDraining:
			drains++
		case views.StateHeld:
			holds++
		}
		s.instances = append(s.instances, i)
	}
	s.leaves, s.runs = drains > 0, versionsOf(instances)
	switch {
	case !n.Enabled:
		s.kind = views.StateDisabled
	case s.up > 0:
		s.kind = views.StateUp
	case drains > 0 && holds == 0:
		s.kind = views.StateDraining
	case drains+holds > 0:
		s.kind = views.StateHeld
	case n.FirstSeen.IsZero():
		s.kind = views.StateNever
	default:
		s.kind, s.left = views.StateOffline, nil
		if left != nil {
			s.left = left(strings.ToUpper(n.Name))
		}
	}
	s.rank = s.kind.Rank()
	return s
}

// judgeInstance says how an instance is. It is draining when it said so itself or an admin did (D12), and held when none of its
// addresses may be routed to.
func judgeInstance(node string, in registry.Instance, o orders) instanceState {
	i := instanceState{Instance: in, kind: views.StateUp}
	for _, l := range in.Locations {
		if h, ok := o.held(node, l); ok {
			i.holds = append(i.holds, h)
		}
	}
	if o.draining != nil {
		if d, ok := o.draining(node, in.ID); ok {
			i.drain = &d
		}
	}
	switch {
	case in.Status == registry.OutOfService || i.drain != nil:
		i.kind = views.StateDraining
		if o.load != nil {
			i.load = o.load(node, in.Locations)
		}
	case len(i.holds) > 0 && len(i.holds) == len(in.Locations):
		i.kind = views.StateHeld
	}
	return i
}

// judgeAll judges all nodes from one view by their holds alone.
func judgeAll(nodes []fleet.Node, v *registry.View, held held) []*nodeState {
	return judgeBy(nodes, v, orders{held: held})
}

// judgeBy judges all nodes from one view.
func judgeBy(nodes []fleet.Node, v *registry.View, o orders) []*nodeState {
	left := departuresOf(v)
	out := make([]*nodeState, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, judge(n, v.Node(n.Name), o, left))
	}
	return out
}

// versions are those of the node's instances.
func (s *nodeState) versions() []views.VersionCount { return s.runs }

func versionsOf(instances []registry.Instance) []views.VersionCount {
	if len(instances) == 1 && instances[0].Node != nil && instances[0].Node.Version != "" {
		return []views.VersionCount{{Version: instances[0].Node.Version, Count: 1}}
	}
	var all []string
	for _, i := range instances {
		if i.Node != nil {
			all = append(all, i.Node.Version)
		}
	}
	return views.CountVersions(all)
}

// erupts are the names of the pages that the node's instances host, in order.
func (s *nodeState) erupts() []string {
	var all []string
	for _, i := range s.instances {
		if i.Node != nil {
			all = append(all, i.Node.Erupts...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// only is the node as if it had that one of its instances.
func (s *nodeState) only(id string) *nodeState {
	one := *s
	one.instances = nil
	for _, i := range s.instances {
		if i.ID == id {
			one.instances = append(one.instances, i)
		}
	}
	return &one
}

// resources are what the node's instances announce beside pages and modules, by name: nodes of 2.1 and later do.
func (s *nodeState) resources() []views.Resource {
	all := map[string][]string{}
	for _, i := range s.instances {
		if i.Node != nil {
			for name, values := range i.Node.Resources {
				all[name] = append(all[name], values...)
			}
		}
	}
	out := make([]views.Resource, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		slices.Sort(all[name])
		values := slices.Compact(all[name])
		out = append(out, views.Resource{Name: name, Values: values[:min(len(values), maxListedPages)]})
	}
	return out
}

func (s *nodeState) modules() []string {
	var all []string
	for _, i := range s.instances {
		if i.Node != nil {
			all = append(all, i.Node.Modules...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// held is how many instances are held.
func (s *nodeState) held() (n int) {
	for _, i := range s.instances {
		if i.kind == views.StateHeld {
			n++
		}
	}
	return n
}

// leaving is how many instances drain.
func (s *nodeState) leaving() (n int) {
	for _, i := range s.instances {
		if i.kind == views.StateDraining {
			n++
		}
	}
	return n
}

// verdict says in a few words what is wrong with a node; empty if nothing is. What nobody wanted comes before what somebody
// ordered.
func (s *nodeState) verdict() views.Say {
	switch {
	case s.kind == views.StateDisabled:
		return views.Sayf("verdict.disabled")
	case len(s.refused) > 0:
		return s.refusal()
	case s.kind == views.StateNever:
		return views.Sayf("verdict.never", "ago", views.Since{Time: s.node.Created})
	case s.kind == views.StateOffline && s.left != nil:
		return s.departure()
	case s.kind == views.StateOffline:
		return views.Sayf("verdict.off")
	}
	if say := s.heldVerdict(); !say.Empty() {
		return say
	}
	return s.drainVerdict()
}

// refusal tells who shows a wrong token, since when (S12).
func (s *nodeState) refusal() views.Say {
	first := s.refused[0]
	for _, r := range s.refused[1:] {
		if r.Since.Before(first.Since) {
			first = r
		}
	}
	if more := len(s.refused) - 1; more > 0 {
		return views.Sayf("verdict.refused_many", "ago", views.Since{Time: first.Since}, "address", first.Address, "count", more, "n", more)
	}
	return views.Sayf("verdict.refused", "ago", views.Since{Time: first.Since}, "address", first.Address)
}

func (s *nodeState) heldVerdict() views.Say {
	holds, total := 0, len(s.instances)
	var first fleet.Hold
	for _, i := range s.instances {
		if i.kind == views.StateHeld {
			if holds++; holds == 1 {
				first = i.holds[0]
			}
		}
	}
	switch {
	case holds > 0 && first.Reason != "":
		return views.Sayf("verdict.held", "n", holds, "total", total, "who", first.Account, "why", first.Reason)
	case holds > 0:
		return views.Sayf("verdict.held_bare", "n", holds, "total", total, "who", first.Account)
	}
	return views.Say{}
}

// drainVerdict tells how far the draining instances are: what they work on, for how long at most, or that they may be stopped.
func (s *nodeState) drainVerdict() views.Say {
	drains, total := 0, len(s.instances)
	sum := InFlight{Known: true}
	for _, i := range s.instances {
		if i.kind == views.StateDraining {
			drains++
			sum = together(sum, i.load)
		}
	}
	switch {
	case drains == 0:
		return views.Say{}
	case sum.Count > 0 && sum.Oldest.IsZero():
		return views.Sayf("verdict.draining_some", "n", drains, "total", total, "count", sum.Count, "requests", sum.Count)
	case sum.Count > 0:
		return views.Sayf("verdict.draining_work", "n", drains, "total", total, "count", sum.Count, "requests", sum.Count, "age", views.Age{Time: sum.Oldest})
	case sum.Known:
		return views.Sayf("verdict.draining_safe", "n", drains, "total", total)
	}
	return views.Sayf("verdict.draining", "n", drains, "total", total)
}

// together is the work of two instances.
func together(f, g InFlight) InFlight {
	f.Count += g.Count
	f.Streams += g.Streams
	f.Known = f.Known && g.Known
	if f.Oldest.IsZero() || !g.Oldest.IsZero() && g.Oldest.Before(f.Oldest) {
		f.Oldest = g.Oldest
	}
	return f
}

// departure tells how the last instance left.
func (s *nodeState) departure() views.Say {
	if s.left == nil {
		return views.Say{}
	}
	ago := views.Since{Time: s.left.At}
	switch s.left.Reason {
	case registry.Leave:
		return views.Sayf("verdict.left.leave", "ago", ago)
	case registry.Patrol:
		return views.Sayf("verdict.left.patrol", "ago", ago)
	case registry.Failover:
		return views.Sayf("verdict.left.failover", "ago", ago)
	case registry.Admin:
		return views.Sayf("verdict.left.admin", "ago", ago)
	}
	return views.Sayf("verdict.left.expiry", "ago", ago)
}

// row is the node as lists show it.
func (s *nodeState) row(groupName string, beat time.Time) views.NodeRow {
	v := s.versions()
	return views.NodeRow{
		Name: s.node.Name, Display: s.node.Display, Group: s.node.Group, GroupName: groupName, State: s.kind,
		Verdict: s.verdict(), Up: s.up, Total: len(s.instances), Versions: v, Beat: beat, Enabled: s.node.Enabled,
		HasLog: len(v) > 0, Addresses: s.addresses(4),
	}
}

// addresses are those of its instances, at most so many.
func (s *nodeState) addresses(most int) (out []string) {
	for _, i := range s.instances {
		for _, l := range i.Locations {
			if len(out) == most {
				return out
			}
			out = append(out, l)
		}
	}
	return out
}

// keys are the registry's names of the node's instances.
func (s *nodeState) keys() []registry.Key {
	out := make([]registry.Key, 0, len(s.instances))
	for _, i := range s.instances {
		out = append(out, i.Key)
	}
	return out
}
