package console

import (
	"context"
	"slices"
	"strings"
	"sync"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/views"
)

// board keeps how each node was judged, for all viewers together: of two thousand nodes a change concerns one. What a viewer may
// see is chosen from it, never kept in it. Whatever it hands out is shared: nobody changes it.
type board struct {
	mu     sync.Mutex
	number uint64 // of the fleet's memory that the profiles are from; 0: of none
	view   *registry.View
	states []*nodeState
}

// judged judges all nodes as they are now.
func (p *pages) judged(ctx context.Context) ([]*nodeState, error) {
	if p.Fresh == nil {
		nodes, err := p.Nodes.All(ctx)
		if err != nil {
			return nil, err
		}
		return judgeBy(nodes, p.Registry.View(), p.orders()), nil
	}
	number, err := p.Fresh(ctx)
	if err != nil {
		return nil, err
	}
	return p.board.judge(number, p.Registry.View(), p.orders(), func() ([]fleet.Node, error) { return p.Nodes.All(fleet.FromMemory(ctx)) })
}

// judge returns the states of all nodes in view. all reads the profiles, at least as new as number says.
func (b *board) judge(number uint64, view *registry.View, o orders, all func() ([]fleet.Node, error)) ([]*nodeState, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if number != b.number || b.states == nil {
		nodes, err := all()
		if err != nil {
			return nil, err
		}
		b.number, b.view, b.states = number, view, judgeBy(nodes, view, o)
		return b.states, nil
	}
	left := departuresOf(view)
	var next []*nodeState // a copy as soon as one differs: others read the present one
	for i, s := range b.states {
		if view == b.view && !s.moves(o) {
			continue
		}
		instances := view.Node(s.node.Name)
		if same(instances, s.from) && !s.moves(o) {
			continue
		}
		if next == nil {
			next = slices.Clone(b.states)
		}
		next[i] = judge(s.node, instances, o, left)
	}
	b.view = view
	if next != nil {
		b.states = next
	}
	return b.states, nil
}

// same reports whether two lists of instances are one: views share what did not change.
func same(a, b []registry.Instance) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// moves reports whether a state can change although neither profile nor registration does: what draining instances work on, who
// shows a wrong token, and for how long one remembers why the last instance left.
func (s *nodeState) moves(o orders) bool {
	if s.kind == views.StateOffline || len(s.refused) > 0 || s.leaves {
		return true
	}
	return len(o.refused) > 0 && len(o.refused[strings.ToUpper(s.node.Name)]) > 0
}

// departuresOf finds the last departure of an app that the registry still remembers; it looks through them when it is first asked.
func departuresOf(v *registry.View) func(app string) *registry.Change {
	all := sync.OnceValue(func() map[string]*registry.Change {
		out, recent := map[string]*registry.Change{}, v.Recent()
		for i := range recent {
			if recent[i].Action == registry.Deleted {
				out[recent[i].In.App] = &recent[i]
			}
		}
		return out
	})
	return func(app string) *registry.Change { return all()[app] }
}
