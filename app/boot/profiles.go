package boot

import (
	"context"
	"log/slog"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
)

// profileReader looks a profile up in memory.
type profileReader interface {
	Cached(name string) (fleet.Node, bool)
}

// instanceRemover ends leases.
type instanceRemover interface {
	View() *registry.View
	Remove(ctx context.Context, k registry.Key, why registry.Reason) error
}

// leavers takes the instances of nodes that were disabled or deleted out of the registry, and with them the node entries
// that others read: erupt goes on serving such a node until its entry ends.
type leavers struct {
	nodes    profileReader
	registry instanceRemover
	changed  chan string // names of changed profiles
}

func newLeavers(nodes profileReader, r instanceRemover) *leavers {
	return &leavers{nodes: nodes, registry: r, changed: make(chan string, 1024)}
}

// hear takes a change of the fleet; it never blocks. Routing asks the profile itself, so a lost name delays only the list.
func (l *leavers) hear(kind, id string) {
	if kind != "node" {
		return
	}
	select {
	case l.changed <- id:
	default:
		slog.Warn("too many profile changes at once: instances of a disabled node stay until their lease ends", "node", id)
	}
}

// Run works on changes until ctx ends.
func (l *leavers) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case name := <-l.changed:
			l.check(ctx, name)
		}
	}
}

func (l *leavers) check(ctx context.Context, name string) {
	if n, ok := l.nodes.Cached(name); ok && n.Enabled {
		return
	}
	for _, in := range l.registry.View().Node(name) {
		if err := l.registry.Remove(ctx, in.Key, registry.Admin); err != nil {
			slog.WarnContext(ctx, "an instance of a disabled or deleted node stays until its lease ends", "node", name, "instance", in.ID, "error", err)
		}
	}
}
