package registry

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"eruptcloud/app/fault"
)

// maxTries bounds how often a write is computed again because another replica was faster.
const maxTries = 32

// Conflict is a registration that was refused because another instance of the node reported its address later.
type Conflict struct {
	Key      // who was refused
	NodeName string
	Holder   Key
	Location string
	At       time.Time
}

// stored is what the store answered about a key that the table does not show yet.
type stored struct {
	in    Instance
	found bool
}

// decision is what a registration leads to.
type decision struct {
	old    Instance
	found  bool // old is registered
	next   Instance
	same   bool // next is stored already: only its lease is renewed
	claims Claims
}

// Register registers an instance of a node, or renews its lease if it says what it said before. in has App or NodeName,
// ID, Locations as reported (canonical, probed) and Node. It returns the instance as it is now and whether it is new.
//
// fault.Conflict: another instance of the node reported all these addresses later. fault.Unavailable: the store is down.
func (r *Registry) Register(ctx context.Context, in Instance) (_ Instance, added bool, err error) {
	if in.App == "" {
		in.App = in.NodeName
	}
	in = tidied(in)
	if in.Lease == (Terms{}) {
		in.Lease = r.lease
	}
	if in.ID == "" || len(in.Locations) == 0 {
		return in, false, fault.New(fault.Invalid, "a registration needs an instance id and at least one address")
	}
	faster := map[Key]stored{}
	for range maxTries {
		d := r.decide(in, faster)
		now := r.now()
		switch {
		case len(d.claims.Kept) == 0:
			r.metrics.beat("conflict")
			return in, false, r.refuse(ctx, d)
		case d.same && d.next.Draining():
			return d.old, false, nil // its lease ends when its drain does
		case d.same:
			err := r.wrote(r.store.Renew(ctx, d.next.Key, now.Add(d.next.Lease.Duration)))
			if errors.Is(err, ErrNoLease) { // the table is behind, or the store lost it
				d.old.Unconfirmed = true
				faster[d.next.Key] = stored{d.old, true}
				continue
			}
			if err != nil {
				r.metrics.beat("unavailable")
				return in, false, err
			}
			r.metrics.beat("renewed")
			r.brake.OK(d.next.Locations...)
			r.touchEntry(ctx, d.next.NodeName, d.next.Locations...)
			return d.old, false, nil
		}
		seq, err := r.put(ctx, d.next, now.Add(d.next.Lease.Duration), faster)
		if errors.Is(err, errFaster) {
			continue
		}
		if err != nil {
			r.metrics.beat("unavailable")
			return in, false, err
		}
		return r.registered(ctx, d, seq)
	}
	return in, false, fault.New(fault.Unavailable, "too many writers change instance %s at once", in.ID).Retry(time.Second)
}

// decide computes what in leads to, from the table and what the store said about entries that the table does not show.
func (r *Registry) decide(in Instance, faster map[Key]stored) decision {
	v, now := r.View(), r.now()
	key, old, found := identify(in, func(k Key) (Instance, bool) {
		if s, ok := faster[k]; ok {
			return s.in, s.found
		}
		return v.Instance(k)
	}, now, in.Lease.Duration)
	in.Key = key
	d := decision{old: old, found: found, next: Merge(old, found, in, now)}
	newClaim := !found || !sameSet(old.addresses(), in.addresses())
	if !found {
		if was, ok := r.table.claimOf(key); ok && sameSet(was.addresses(), in.addresses()) {
			d.next.Claimed, newClaim = was.Claimed, false
		}
	}
	if !newClaim && found && sameSet(old.Locations, in.Locations) && !v.contested(in.App) {
		d.next.Locations, d.claims.Kept = old.Locations, old.Locations // the everyday beat
	} else {
		others := v.Node(in.App)
		if newClaim {
			d.next.Claimed = afterAll(d.next, others)
		}
		d.claims = Resolve(d.next, others)
		d.next.Locations = d.claims.Kept
	}
	d.same = found && len(d.claims.Losers) == 0 && Same(old, d.next)
	return d
}

// errFaster tells that another replica changed the entry; what it stored is in the map of the caller.
var errFaster = errors.New("another writer was faster")

func (r *Registry) put(ctx context.Context, next Instance, until time.Time, faster map[Key]stored) (Seq, error) {
	seq, err := r.store.Put(ctx, next, until)
	var stale *StaleError
	if errors.As(err, &stale) {
		faster[next.Key] = stored{stale.Current, stale.Found}
		return 0, errFaster
	}
	return seq, r.wrote(err)
}

// registered finishes a registration that changed something: others lose what it claims, the table catches up.
func (r *Registry) registered(ctx context.Context, d decision, seq Seq) (Instance, bool, error) {
	d.next.Rev = seq
	for _, loser := range d.claims.Losers {
		at, err := r.yield(ctx, loser, d.next)
		if err != nil { // both have the address until the next beat settles it
			slog.WarnContext(ctx, "cannot take an address from an older instance", "node", loser.NodeName, "instance", loser.ID, "error", err)
		}
		seq = max(seq, at)
	}
	r.metrics.beat("registered")
	r.brake.OK(d.next.Locations...)
	added := d.next.Action == Added
	if left := r.table.leftBy(d.next.Key); added && left != "" && left != Leave {
		// One that an admin or the patrol removed and that lives comes back with its next beat, and the log says so (S9).
		slog.InfoContext(ctx, "instance registered again", "node", d.next.NodeName, "instance", d.next.ID, "removed_by", left)
	} else if d.next.Moved != nil && (d.old.Moved == nil || !d.old.Moved.At.Equal(d.next.Moved.At)) {
		slog.InfoContext(ctx, "instance moved", "node", d.next.NodeName, "instance", d.next.ID, "from", d.next.Moved.From, "to", d.next.Locations)
	}
	r.settle(ctx, d.next.NodeName, seq, d.next.Locations...)
	return d.next, added, nil
}

// yield takes from an older instance what the newer one claims.
func (r *Registry) yield(ctx context.Context, loser, winner Instance) (Seq, error) {
	if len(loser.Locations) == 0 {
		slog.InfoContext(ctx, "instance replaced", "node", loser.NodeName, "instance", loser.ID, "by", winner.ID)
		return r.removeOne(ctx, loser, Replaced)
	}
	loser.Action, loser.Updated = Modified, r.now()
	seq, err := r.put(ctx, loser, time.Time{}, map[Key]stored{})
	if errors.Is(err, errFaster) {
		return 0, nil // it beat just now and decided itself
	}
	return seq, err
}

// refuse answers an instance whose addresses all belong to others. It does not stay registered: an address is shown once.
func (r *Registry) refuse(ctx context.Context, d decision) error {
	location := d.next.addresses()[0]
	holder := d.claims.Lost[location]
	if d.found {
		seq, err := r.removeOne(ctx, d.old, Replaced)
		if err != nil {
			return err
		}
		r.settle(ctx, d.next.NodeName, seq)
	}
	refused := d.next
	refused.Locations = nil
	if r.table.refused(refused, holder, location) {
		r.mu.Lock()
		listeners := r.conflicted
		r.mu.Unlock()
		for _, f := range listeners {
			f(Conflict{Key: refused.Key, NodeName: refused.NodeName, Holder: holder, Location: location, At: r.now()})
		}
	}
	return fault.New(fault.Conflict, "%s is in use by instance %s of this node, which reported it later; give each instance an address of its own", location, holder.ID)
}

// Conflicts lists the instances of a node whose beats this replica refused within the last two intervals because another
// instance has their address.
func (r *Registry) Conflicts(node string) []Conflict {
	return r.table.conflicts(tidied(Instance{Key: Key{App: node}}).App, r.clock().Add(-2*r.lease.Interval-time.Second))
}
