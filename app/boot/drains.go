package boot

import (
	"context"
	"log/slog"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/loop"
	"eruptcloud/app/registry"
)

// drainKeeper ends drains whose instances have left. It runs on the leader.
type drainKeeper struct {
	drains drainRows
	view   func() *registry.View
	now    func() time.Time
	left   chan departed
	absent map[fleet.Drain]time.Time // since when the instance of a drain is not registered, as this replica saw it
}

// drainRows are the drains (fleet.Drains).
type drainRows interface {
	All() []fleet.Drain
	Draining(node, instance string) (fleet.Drain, bool)
	Forget(ctx context.Context, node, instance string) error
}

type departed struct {
	node, instance string
	at             time.Time
}

const (
	// absentFor is how long an instance may be away before its drain ends: one that a failed probe removed, or an admin, comes
	// back with its next beat, and must not be routed to then.
	absentFor     = 10 * time.Minute
	drainInterval = time.Minute
)

func newDrainKeeper(d drainRows, view func() *registry.View, now func() time.Time) *drainKeeper {
	return &drainKeeper{drains: d, view: view, now: now, left: make(chan departed, 256), absent: map[fleet.Drain]time.Time{}}
}

// hear is a listener of the registry. What does not fit the queue is found by the next round.
func (k *drainKeeper) hear(changes []registry.Change) {
	for _, c := range changes {
		if c.Action != registry.Deleted || !forGood(c.Reason) {
			continue
		}
		if _, drains := k.drains.Draining(c.In.NodeName, c.In.ID); !drains {
			continue
		}
		select {
		case k.left <- departed{c.In.NodeName, c.In.ID, c.At}:
		default:
		}
	}
}

// forGood reports whether the process has ended: it said goodbye, fell silent for a whole lease, or another one has its
// address.
func forGood(why registry.Reason) bool {
	return why == registry.Leave || why == registry.Expiry || why == registry.Replaced
}

// Run ends drains until ctx ends.
func (k *drainKeeper) Run(ctx context.Context) error {
	ticks := time.NewTicker(drainInterval)
	defer ticks.Stop()
	clear(k.absent)
	for {
		select {
		case <-ctx.Done():
			return nil
		case d := <-k.left:
			loop.Once(ctx, "drains", func(ctx context.Context) error { return k.end(ctx, d) })
		case <-ticks.C:
			loop.Once(ctx, "drains", k.round)
		}
	}
}

func (k *drainKeeper) end(ctx context.Context, d departed) error {
	// The news may have waited while another replica led: a drain that is younger is for who came after.
	drain, ok := k.drains.Draining(d.node, d.instance)
	if !ok || drain.Created.After(d.at) {
		return nil
	}
	slog.InfoContext(ctx, "a drained instance has left", "node", d.node, "instance", d.instance)
	return k.drains.Forget(ctx, d.node, d.instance)
}

// round ends the drains of instances that have not been registered for ten minutes.
func (k *drainKeeper) round(ctx context.Context) error {
	view, now := k.view(), k.now()
	missing := map[fleet.Drain]time.Time{}
	for _, d := range k.drains.All() {
		if registered(view, d) {
			continue
		}
		since, known := k.absent[d]
		if !known {
			since = now
		}
		if now.Sub(since) < absentFor {
			missing[d] = since
			continue
		}
		slog.InfoContext(ctx, "a drained instance has not come back", "node", d.Node, "instance", d.Instance)
		if err := k.drains.Forget(ctx, d.Node, d.Instance); err != nil {
			return err
		}
	}
	k.absent = missing
	return nil
}

func registered(v *registry.View, d fleet.Drain) bool {
	for _, in := range v.Node(d.Node) {
		if in.ID == d.Instance {
			return true
		}
	}
	return false
}
