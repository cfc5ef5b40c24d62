package registry

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"eruptcloud/app/fault"
)

// Remove ends an instance's lease; that there is none is no error. An instance that lives returns with its next beat.
func (r *Registry) Remove(ctx context.Context, k Key, why Reason) error {
	in, ok := r.View().Instance(k)
	if !ok {
		in = Instance{Key: k}
	}
	seq, err := r.removeOne(ctx, in, why)
	if err != nil {
		return err
	}
	if seq > 0 {
		r.brake.Forget(in.Locations...)
		r.logRemoval(ctx, in, in.Locations, why)
	}
	r.settle(ctx, in.NodeName, seq)
	return nil
}

// removeOne removes what is registered, or what the store lost and this replica still has. Zero if there was nothing.
func (r *Registry) removeOne(ctx context.Context, in Instance, why Reason) (Seq, error) {
	if in.Unconfirmed {
		// The other replicas keep it too and learn from the log alone, so it goes into the log once more.
		in.Rev, in.Action = 0, Added
		_, err := r.put(ctx, in, r.now(), map[Key]stored{})
		if errors.Is(err, errFaster) {
			return 0, nil // it registered again
		}
		if err != nil {
			return 0, err
		}
	}
	seq, err := r.store.Remove(ctx, in.Key, why, time.Time{})
	if errors.Is(err, ErrNoLease) {
		return 0, nil
	}
	if r.wrote(err) != nil {
		return 0, err
	}
	r.metrics.removed(why)
	return seq, nil
}

// RemoveLocations takes locations from the instances of a node; an instance that has none left is removed. Unknown
// locations are no error. It returns those that were removed: for Patrol and Failover the brake may refuse some.
func (r *Registry) RemoveLocations(ctx context.Context, node string, locations []string, why Reason) (removed []string, err error) {
	if why == Patrol || why == Failover {
		r.brake.Failed(locations...)
		locations = r.brake.Ask(locations...)
	} else {
		r.brake.Forget(locations...)
	}
	var last Seq
	for _, in := range r.View().Node(node) {
		node = in.NodeName // its own spelling
		if !overlap(in.Locations, locations) {
			continue
		}
		gone, seq, takeErr := r.take(ctx, in, locations, why)
		if takeErr != nil {
			err = takeErr
			break
		}
		removed, last = append(removed, gone...), max(last, seq)
	}
	if last > 0 {
		r.settle(ctx, node, last)
	}
	return removed, err
}

// take removes locations from one instance, or the instance with its last one.
func (r *Registry) take(ctx context.Context, in Instance, locations []string, why Reason) ([]string, Seq, error) {
	faster := map[Key]stored{}
	for range maxTries {
		left := without(in.Locations, locations)
		gone := without(in.Locations, left)
		if len(gone) == 0 {
			return nil, 0, nil
		}
		if len(left) == 0 {
			seq, err := r.removeOne(ctx, in, why)
			if err == nil && seq > 0 {
				r.logRemoval(ctx, in, gone, why)
			}
			return gone, seq, err
		}
		next := in
		next.Locations, next.Action, next.Updated = left, Modified, r.now()
		if in.Unconfirmed {
			next.Rev, next.Action = 0, Added
		}
		seq, err := r.put(ctx, next, r.keepLease(in), faster)
		if errors.Is(err, errFaster) {
			now, found := faster[in.Key].in, faster[in.Key].found
			if !found {
				return nil, 0, nil
			}
			in = now
			continue
		}
		if err == nil {
			r.logRemoval(ctx, in, gone, why)
		}
		return gone, seq, err
	}
	return nil, 0, fault.New(fault.Unavailable, "too many writers change instance %s at once", in.ID).Retry(time.Second)
}

// keepLease is the end of lease for a change that is no beat: as it is, or a full one for what the store has lost.
func (r *Registry) keepLease(in Instance) time.Time {
	if in.Unconfirmed {
		return r.now().Add(in.Lease.Duration)
	}
	return time.Time{}
}

// logRemoval leaves out the reasons of which whoever decided on them knows more: the goodbye and the failed probe.
func (r *Registry) logRemoval(ctx context.Context, in Instance, gone []string, why Reason) {
	if why == Leave || why == Patrol {
		return
	}
	slog.InfoContext(ctx, "removed from the registry", "node", in.NodeName, "instance", in.ID, "locations", gone, "reason", why)
}

// Drain takes the instances at locations out of routing at once and lets their leases end at until. An instance that has
// other locations too only loses these. Unknown locations are no error.
func (r *Registry) Drain(ctx context.Context, node string, locations []string, until time.Time) error {
	if !until.After(r.now()) {
		_, err := r.RemoveLocations(ctx, node, locations, Leave)
		return err
	}
	r.brake.Forget(locations...)
	var last Seq
	for _, in := range r.View().Node(node) {
		node = in.NodeName
		if !overlap(in.Locations, locations) || in.Draining() {
			continue
		}
		seq, err := r.drainOne(ctx, in, locations, until)
		if err != nil {
			return err
		}
		last = max(last, seq)
	}
	if last > 0 {
		r.settle(ctx, node, last)
	}
	return nil
}

func (r *Registry) drainOne(ctx context.Context, in Instance, locations []string, until time.Time) (Seq, error) {
	faster := map[Key]stored{}
	for range maxTries {
		if len(without(in.Locations, locations)) > 0 {
			_, seq, err := r.take(ctx, in, locations, Leave)
			return seq, err
		}
		next := in
		next.Status, next.Action, next.Updated, next.Unconfirmed = OutOfService, Modified, r.now(), false
		if in.Unconfirmed {
			next.Rev, next.Action = 0, Added
		}
		seq, err := r.put(ctx, next, until, faster)
		if !errors.Is(err, errFaster) {
			return seq, err
		}
		now := faster[in.Key]
		if !now.found || now.in.Draining() {
			return 0, nil
		}
		in = now.in
	}
	return 0, fault.New(fault.Unavailable, "too many writers change instance %s at once", in.ID).Retry(time.Second)
}

// LastHeartbeats returns when each instance last beat, the zero time for one without a lease.
func (r *Registry) LastHeartbeats(ctx context.Context, keys ...Key) ([]time.Time, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	ends, err := r.store.Ends(ctx, keys...)
	if err != nil {
		return nil, err
	}
	v := r.View()
	for i, k := range keys {
		if ends[i].IsZero() {
			continue
		}
		in, ok := v.Instance(k)
		switch {
		case !ok:
			ends[i] = ends[i].Add(-r.lease.Duration)
		case in.Draining():
			ends[i] = in.Updated // its lease ends with its drain; its goodbye was the last that it said
		default:
			ends[i] = ends[i].Add(-in.Lease.Duration)
		}
	}
	return ends, nil
}
