package console

import (
	"slices"
	"strings"
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
	left      *registry.Change // the last departure, if it was within the registry's memory and nobody is left
}

type instanceState struct {
	registry.Instance
	kind  views.StateKind // up, draining or held
	holds []fleet.Hold
}

// held answers whether a location of a node is held.
type held func(node, location string) (fleet.Hold, bool)

// judge says how a node is: up if one instance is in routing; held if all are held; draining if all are leaving.
func judge(n fleet.Node, instances []registry.Instance, held held, left *registry.Change) nodeState {
	s := nodeState{node: n}
	drains, holds := 0, 0
	for _, in := range instances {
		i := judgeInstance(n.Name, in, held)
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
		s.kind, s.left = views.StateOffline, left
	}
	return s
}

// judgeInstance says how an instance is. It is held when none of its addresses may be routed to.
func judgeInstance(node string, in registry.Instance, held held) instanceState {
	i := instanceState{Instance: in, kind: views.StateUp}
	for _, l := range in.Locations {
		if h, ok := held(node, l); ok {
			i.holds = append(i.holds, h)
		}
	}
	switch {
	case in.Status == registry.OutOfService:
		i.kind = views.StateDraining
	case len(i.holds) > 0 && len(i.holds) == len(in.Locations):
		i.kind = views.StateHeld
	}
	return i
}

// departures returns for each node (upper case) its last departure that the registry still remembers.
func departures(v *registry.View) map[string]*registry.Change {
	out := map[string]*registry.Change{}
	for _, c := range v.Recent() {
		if c.Action == registry.Deleted {
			out[c.In.App] = &c
		}
	}
	return out
}

// judgeAll judges all nodes from one view.
func judgeAll(nodes []fleet.Node, v *registry.View, held held) []nodeState {
	left := departures(v)
	out := make([]nodeState, 0, len(nodes))
	for _, n := range nodes {
		out = append(out, judge(n, v.Node(n.Name), held, left[strings.ToUpper(n.Name)]))
	}
	return out
}

// versions are those of the node's instances.
func (s nodeState) versions() []views.VersionCount {
	var all []string
	for _, i := range s.instances {
		if i.Node != nil {
			all = append(all, i.Node.Version)
		}
	}
	return views.CountVersions(all)
}

// erupts are the names of the pages that the node's instances host, in order.
func (s nodeState) erupts() []string {
	var all []string
	for _, i := range s.instances {
		if i.Node != nil {
			all = append(all, i.Node.Erupts...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s nodeState) modules() []string {
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
func (s nodeState) held() (n int) {
	for _, i := range s.instances {
		if i.kind == views.StateHeld {
			n++
		}
	}
	return n
}

// verdict says in a few words what is wrong with a node; empty if nothing is.
func (s nodeState) verdict() views.Say {
	total := len(s.instances)
	switch s.kind {
	case views.StateDisabled:
		return views.Sayf("verdict.disabled")
	case views.StateNever:
		return views.Sayf("verdict.never", "ago", views.Since{Time: s.node.Created})
	case views.StateOffline:
		if s.left != nil {
			return s.departure()
		}
		return views.Sayf("verdict.off")
	}
	holds, drains := 0, 0
	var first fleet.Hold
	for _, i := range s.instances {
		switch i.kind {
		case views.StateHeld:
			if holds++; holds == 1 {
				first = i.holds[0]
			}
		case views.StateDraining:
			drains++
		}
	}
	switch {
	case holds > 0 && first.Reason != "":
		return views.Sayf("verdict.held", "n", holds, "total", total, "who", first.Account, "why", first.Reason)
	case holds > 0:
		return views.Sayf("verdict.held_bare", "n", holds, "total", total, "who", first.Account)
	case drains > 0:
		return views.Sayf("verdict.draining", "n", drains, "total", total)
	}
	return views.Say{}
}

// departure tells how the last instance left.
func (s nodeState) departure() views.Say {
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
func (s nodeState) row(groupName string, beat time.Time) views.NodeRow {
	v := s.versions()
	return views.NodeRow{
		Name: s.node.Name, Display: s.node.Display, Group: s.node.Group, GroupName: groupName, State: s.kind,
		Verdict: s.verdict(), Up: s.up, Total: len(s.instances), Versions: v, Beat: beat, Enabled: s.node.Enabled,
		HasLog: len(v) > 0,
	}
}

// keys are the registry's names of the node's instances.
func (s nodeState) keys() []registry.Key {
	out := make([]registry.Key, 0, len(s.instances))
	for _, i := range s.instances {
		out = append(out, i.Key)
	}
	return out
}
