package boot

import (
	"context"
	"sync"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
)

// navCounts are the numbers beside the navigation, which stand on every page, as they were counted last.
type navCounts struct {
	mu          sync.Mutex
	number      uint64 // of the fleet's memory
	view        *registry.View
	nodes, down int
}

// counts are the numbers beside the navigation: profiles, and those of them that should run and have no instance. One that
// drains or is held is not down: somebody wants it so.
func (s *Server) counts(ctx context.Context) (nodes, down int) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	number, err := s.domain.Fleet.Fresh(ctx)
	if err != nil {
		return 0, 0
	}
	view, c := s.registry.View(), &s.nav
	c.mu.Lock()
	defer c.mu.Unlock()
	if number == c.number && view == c.view {
		return c.nodes, c.down
	}
	err = s.domain.Fleet.Nodes.Each(ctx, func(n *fleet.Node) {
		nodes++
		if n.Enabled && !n.FirstSeen.IsZero() && len(view.Node(n.Name)) == 0 {
			down++
		}
	})
	if err != nil {
		return 0, 0
	}
	c.number, c.view, c.nodes, c.down = number, view, nodes, down
	return nodes, down
}
