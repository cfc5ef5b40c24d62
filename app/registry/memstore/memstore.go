// Package memstore keeps leases in memory: the embedded mode's store, which starts empty with each process.
package memstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"eruptcloud/app/registry"
)

const (
	retention  = 5 * time.Minute // how far back the log reaches at least
	trimSlack  = time.Minute     // how much older its first entry may get, so that not each append copies
	followBeat = time.Second     // how often a quiet Follow says that it lives
	maxBatch   = 1000            // changes that one call of apply gets
)

// Store implements registry.Store.
type Store struct {
	now func() time.Time

	mu       sync.Mutex
	leases   map[registry.Key]*lease
	log      []registry.Change
	seq      registry.Seq
	trimmed  registry.Seq // the last position that is no longer in the log
	appended chan struct{}
	renewals map[renewal]int
}

type lease struct {
	in  registry.Instance
	end time.Time
}

type renewal struct {
	origin registry.Origin
	minute int64
}

// New returns an empty store.
func New(now func() time.Time) *Store {
	return &Store{now: now, leases: map[registry.Key]*lease{}, appended: make(chan struct{}), renewals: map[renewal]int{}}
}

// Put implements registry.Store.
func (s *Store) Put(ctx context.Context, in registry.Instance, until time.Time) (registry.Seq, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, found := s.leases[in.Key]
	switch {
	case found && l.in.Rev != in.Rev:
		return 0, &registry.StaleError{Current: l.in, Found: true}
	case !found && (in.Rev != 0 || until.IsZero()):
		return 0, &registry.StaleError{}
	case !found:
		l = &lease{}
		s.leases[in.Key] = l
	}
	in.Rev, in.Unconfirmed = s.append(registry.Change{Action: in.Action, In: in}), false
	l.in = in
	if !until.IsZero() {
		l.end = until
	}
	return in.Rev, nil
}

// Renew implements registry.Store.
func (s *Store) Renew(ctx context.Context, k registry.Key, until time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, found := s.leases[k]
	if !found {
		return registry.ErrNoLease
	}
	l.end = until
	minute := s.now().Unix() / 60
	if s.renewals[renewal{l.in.Origin, minute}]++; s.renewals[renewal{l.in.Origin, minute}] == 1 {
		for r := range s.renewals {
			if r.minute < minute-1 {
				delete(s.renewals, r)
			}
		}
	}
	return nil
}

// Remove implements registry.Store.
func (s *Store) Remove(ctx context.Context, k registry.Key, why registry.Reason, expiredBy time.Time) (registry.Seq, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, found := s.leases[k]
	if !found || !expiredBy.IsZero() && l.end.After(expiredBy) {
		return 0, registry.ErrNoLease
	}
	delete(s.leases, k)
	return s.append(registry.Change{Action: registry.Deleted, Reason: why, In: l.in}), nil
}

// append gives c its position and wakes the followers.
func (s *Store) append(c registry.Change) registry.Seq {
	s.seq++
	c.Seq, c.At = s.seq, s.now()
	if c.Action != registry.Deleted {
		c.In.Rev, c.In.Unconfirmed = s.seq, false
	}
	s.log = append(s.log, c)
	if old := c.At.Add(-retention); s.log[0].At.Before(old.Add(-trimSlack)) {
		keep := max(0, slices.IndexFunc(s.log, func(c registry.Change) bool { return !c.At.Before(old) }))
		s.trimmed = s.log[keep].Seq - 1
		s.log = slices.Clone(s.log[keep:]) // a slice of it would keep the whole array
	}
	close(s.appended)
	s.appended = make(chan struct{})
	return s.seq
}

// Snapshot implements registry.Store.
func (s *Store) Snapshot(ctx context.Context) ([]registry.Instance, registry.Seq, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]registry.Instance, 0, len(s.leases))
	for _, l := range s.leases {
		all = append(all, l.in)
	}
	return all, s.seq, nil
}

// Follow implements registry.Store.
func (s *Store) Follow(ctx context.Context, seq registry.Seq, apply func([]registry.Change)) error {
	beat := time.NewTimer(0)
	defer beat.Stop()
	for {
		batch, next, gap := s.after(seq)
		if gap {
			return registry.ErrLogGap
		}
		if len(batch) > 0 {
			apply(batch)
			seq = batch[len(batch)-1].Seq
			if ctx.Err() != nil {
				return nil
			}
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-next:
		case <-beat.C:
			apply(nil)
			beat.Reset(followBeat)
		}
	}
}

// after returns the changes after seq, or a channel that is closed when there is one.
func (s *Store) after(seq registry.Seq) (batch []registry.Change, next <-chan struct{}, gap bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq < s.trimmed || seq > s.seq {
		return nil, nil, true
	}
	i, _ := slices.BinarySearchFunc(s.log, seq+1, func(c registry.Change, want registry.Seq) int {
		return int(c.Seq) - int(want)
	})
	return slices.Clone(s.log[i:min(i+maxBatch, len(s.log))]), s.appended, false
}

// Expired implements registry.Store.
func (s *Store) Expired(ctx context.Context, o registry.Origin, now time.Time, limit int) ([]registry.Key, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []registry.Key
	for k, l := range s.leases {
		if len(keys) == limit {
			break
		}
		if l.in.Origin == o && !l.end.After(now) {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// Ends implements registry.Store.
func (s *Store) Ends(ctx context.Context, keys ...registry.Key) ([]time.Time, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ends := make([]time.Time, len(keys))
	for i, k := range keys {
		if l, ok := s.leases[k]; ok {
			ends[i] = l.end
		}
	}
	return ends, nil
}

// Renewals implements registry.Store.
func (s *Store) Renewals(ctx context.Context, o registry.Origin, now time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.renewals[renewal{o, now.Unix()/60 - 1}], nil
}
