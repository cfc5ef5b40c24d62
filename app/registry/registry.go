package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"eruptcloud/app/fault"
	"eruptcloud/app/loop"
)

// Times of a Registry.
const (
	ownEntryWait   = 200 * time.Millisecond // how long a writer waits until the table has what it wrote
	tidyInterval   = 5 * time.Second
	writeErrorLife = time.Minute // how long a failed write counts as degraded if nobody writes since
)

// DefaultLease are a node's terms unless Options says otherwise (A1, A2).
var DefaultLease = Terms{Interval: 15 * time.Second, Duration: 10 * time.Minute}

// EntryWriter keeps a copy of each node's state in the form that others may read (A10).
type EntryWriter interface {
	// Write stores node as it is in v, unless a newer view was written; a node without locations has no entry. beats are
	// locations of an instance that beat just now.
	Write(ctx context.Context, node string, v *View, beats ...string) error
	// Touch renews the entry's time to live. ErrNoEntry if there is none, or it lacks one of beats.
	Touch(ctx context.Context, node string, beats ...string) error
	// Drop deletes the entry.
	Drop(ctx context.Context, node string) error
	// Wrong returns those of nodes whose entry is missing, unreadable or names other locations than v (A12: one read).
	Wrong(ctx context.Context, nodes []string, v *View) ([]string, error)
}

// Options configures a Registry.
type Options struct {
	Store   Store
	Lease   Terms // of nodes; zero: DefaultLease
	Now     func() time.Time
	Metrics prometheus.Registerer // may be nil
	Entries EntryWriter           // may be nil
}

// Registry is the store, this replica's copy of it and the rules for both.
type Registry struct {
	store   Store
	lease   Terms
	clock   func() time.Time
	entries EntryWriter
	table   *Table
	brake   *Brake
	metrics *metrics
	ready   chan struct{}

	notify     sync.Mutex // keeps the calls of listeners in the order of the table's changes
	mu         sync.Mutex
	listeners  []func([]Change)
	conflicted []func(Conflict)
	health     health
}

// health is what the last calls to the store showed.
type health struct {
	follow  error // why following ended, nil while it goes on
	heard   time.Time
	write   error
	writeAt time.Time
}

// New returns a Registry; nothing happens before Run.
func New(o Options) *Registry {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Lease.Interval <= 0 {
		o.Lease.Interval = DefaultLease.Interval
	}
	if o.Lease.Duration <= 0 {
		o.Lease.Duration = DefaultLease.Duration
	}
	r := &Registry{
		store: o.Store, lease: o.Lease, clock: o.Now, entries: o.Entries, table: NewTable(o.Now), ready: make(chan struct{}),
		brake: NewBrake(o.Lease.Duration, o.Now),
	}
	r.metrics = newMetrics(o.Metrics, r)
	return r
}

// Run keeps the table equal to the store until ctx ends.
func (r *Registry) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.replicate(ctx) })
	group.Go(func() error {
		return loop.Every(ctx, "registry tidy", tidyInterval, tidyInterval, func(context.Context) error {
			r.change(r.table.Tidy)
			return nil
		})
	})
	return group.Wait()
}

// replicate follows the store. Where it cannot go on from where it was, it takes a snapshot.
func (r *Registry) replicate(ctx context.Context) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 100*time.Millisecond, 2*time.Second
	filled, lost := false, false
	for ctx.Err() == nil {
		if !filled {
			all, seq, err := r.store.Snapshot(ctx)
			if err != nil {
				r.followFailed(ctx, err)
				wait(ctx, pause.NextBackOff())
				continue
			}
			r.change(func() []Change { return r.table.Replace(all, seq, lost) })
			r.heard()
			r.becomeReady()
			filled, lost = true, false
		}
		err := r.store.Follow(ctx, r.View().Seq(), func(batch []Change) {
			r.change(func() []Change { return r.table.Apply(batch) })
			r.heard()
			pause.Reset()
		})
		switch {
		case err == nil:
			continue
		case errors.Is(err, ErrLogGap):
			filled, lost = false, lost || errors.Is(err, ErrStoreLost)
			slog.WarnContext(ctx, "taking a new snapshot of the registry", "reason", err)
		default:
			r.followFailed(ctx, err)
			wait(ctx, pause.NextBackOff())
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// change changes the table and tells listeners, outside the table's lock but in order.
func (r *Registry) change(work func() []Change) {
	r.notify.Lock()
	defer r.notify.Unlock()
	changes := work()
	if len(changes) == 0 {
		return
	}
	r.mu.Lock()
	listeners := r.listeners
	r.mu.Unlock()
	for _, f := range listeners {
		r.tell(f, changes)
	}
}

// tell keeps a listener's panic from ending replication.
func (r *Registry) tell(f func([]Change), changes []Change) {
	defer func() {
		if p := recover(); p != nil {
			slog.Error("a listener of the registry panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	f(changes)
}

// Listen adds a listener that is called after each change of the table, in order, outside any lock that readers or
// writers need. It must not block: the next change waits for it.
func (r *Registry) Listen(f func([]Change)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners = append(r.listeners[:len(r.listeners):len(r.listeners)], f)
}

// ListenConflicts adds a listener that hears when this replica begins to refuse the beats of an instance because another one
// has its address. It must not block.
func (r *Registry) ListenConflicts(f func(Conflict)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conflicted = append(r.conflicted[:len(r.conflicted):len(r.conflicted)], f)
}

// WaitReady waits until the table has had its first snapshot.
func (r *Registry) WaitReady(ctx context.Context) error {
	select {
	case <-r.ready:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the registry's first snapshot: %w", errors.Join(ctx.Err(), r.Degraded()))
	}
}

func (r *Registry) becomeReady() {
	select {
	case <-r.ready:
	default:
		close(r.ready)
	}
}

// View returns the present state. It never waits.
func (r *Registry) View() *View { return r.table.View() }

// Brake returns what stops removals while everything seems to fail at once.
func (r *Registry) Brake() *Brake { return r.brake }

// Lease returns the terms of nodes.
func (r *Registry) Lease() Terms { return r.lease }

// now is the time as it is stored: microseconds, without a monotonic part, in UTC.
func (r *Registry) now() time.Time { return r.clock().UTC().Truncate(time.Microsecond) }

// await waits until the table has applied seq, at most 200 ms: whoever gets an answer finds what it asked for in the view.
func (r *Registry) await(ctx context.Context, seq Seq) *View {
	limit := time.NewTimer(ownEntryWait)
	defer limit.Stop()
	for {
		v, next := r.table.state()
		if v.Seq() >= seq {
			return v
		}
		select {
		case <-next:
		case <-limit.C:
			return r.View()
		case <-ctx.Done():
			return r.View()
		}
	}
}

// Degraded returns why the store cannot be used, nil if it can. Reading goes on from the table meanwhile.
func (r *Registry) Degraded() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.health.follow != nil {
		return r.health.follow
	}
	if r.health.write != nil && r.clock().Sub(r.health.writeAt) < writeErrorLife {
		return r.health.write
	}
	return nil
}

func (r *Registry) heard() {
	r.mu.Lock()
	recovered := r.health.follow != nil
	if recovered {
		r.health.write = nil // it failed in the outage that has just ended
	}
	r.health.follow, r.health.heard = nil, r.clock()
	r.mu.Unlock()
	if recovered {
		slog.Info("the registry's store answers again")
	}
}

func (r *Registry) followFailed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	first := r.health.follow == nil
	r.health.follow = err
	r.mu.Unlock()
	if first {
		slog.WarnContext(ctx, "the registry's store does not answer; routing goes on from memory", "error", err)
	}
}

// wrote records the outcome of a write; it returns err.
func (r *Registry) wrote(err error) error {
	failed := fault.Is(err, fault.Unavailable)
	if err != nil && !failed {
		return err // stale, no lease, called off: the store answered or was not asked
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.health.write = nil
	if failed {
		r.health.write, r.health.writeAt = err, r.clock()
	}
	return err
}
