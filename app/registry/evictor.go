package registry

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"eruptcloud/app/loop"
)

// evictionBatch is how many leases one round may end.
const evictionBatch = 1000

// Evictor ends the leases of nodes that stopped beating (A2). On one replica only: boot wraps Run in AsLeader.
//
// It waits one and a half beats before it removes anything whenever living nodes may have been unable to renew or this
// process unable to see it: after it starts, after the store was down, after a stop of the process or a jump of the clock.
type Evictor struct {
	Registry *Registry
	Interval time.Duration // zero: 5 s

	pace   *Pace
	failed bool
	quiet  time.Time // monotonic; nothing is removed before
}

// Run evicts until ctx ends.
func (e *Evictor) Run(ctx context.Context) error {
	if e.Interval <= 0 {
		e.Interval = 5 * time.Second
	}
	e.pace = &Pace{Interval: e.Interval, Now: e.Registry.clock}
	e.failed, e.quiet = false, time.Now().Add(e.grace())
	return loop.Every(ctx, "evict nodes", e.Interval, e.Interval, e.evictOnce)
}

func (e *Evictor) grace() time.Duration { return e.Registry.lease.Interval * 3 / 2 }

func (e *Evictor) evictOnce(ctx context.Context) error {
	r, now := e.Registry, e.Registry.now()
	if e.pace.Lost() || e.failed {
		e.quiet = time.Now().Add(e.grace())
	}
	expired, err := r.store.Expired(ctx, OriginNode, now, evictionBatch)
	e.failed = err != nil
	if err != nil || time.Now().Before(e.quiet) {
		return err
	}
	return e.evict(ctx, expired, now)
}

func (e *Evictor) evict(ctx context.Context, expired []Key, now time.Time) error {
	r := e.Registry
	v := r.View()
	instances := make([]Instance, 0, len(expired))
	for _, k := range expired {
		in, ok := v.Instance(k)
		if !ok {
			in = Instance{Key: k}
		}
		if !in.Draining() {
			r.brake.Failed(in.Locations...) // all of them before the first question
		}
		instances = append(instances, in)
	}
	last := map[string]Seq{}
	for _, in := range instances {
		why := Leave // a drained instance ends as it announced
		if !in.Draining() {
			why = Expiry
			if len(in.Locations) > 0 && len(r.brake.Ask(in.Locations...)) < len(in.Locations) {
				continue
			}
		}
		seq, err := r.store.Remove(ctx, in.Key, why, now)
		if errors.Is(err, ErrNoLease) {
			continue // it beat just now
		}
		if r.wrote(err) != nil {
			e.failed = true
			return err
		}
		r.metrics.removed(why)
		slog.InfoContext(ctx, "lease ended", "node", in.NodeName, "instance", in.ID, "locations", in.Locations, "reason", why)
		last[in.NodeName] = max(last[in.NodeName], seq)
	}
	for node, seq := range last {
		r.settle(ctx, node, seq)
	}
	return nil
}
