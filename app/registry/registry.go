package registry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// EntryWriter keeps a copy of each node's state in the form that others may read (A10).
type EntryWriter interface {
	// Write stores node as it is in v, unless a newer view was written; a node without locations has no entry.
	Write(ctx context.Context, node string, v *View) error
	// Touch renews the entry's time to live. ErrNoEntry if there is none.
	Touch(ctx context.Context, node string) error
	// Drop deletes the entry.
	Drop(ctx context.Context, node string) error
}

// Options configures a Registry.
type Options struct {
	Store   Store
	Lease   Terms // of nodes; zero: 15 s and 10 min
	Now     func() time.Time
	Metrics prometheus.Registerer // may be nil
	Entries EntryWriter           // may be nil
}

// Registry is the store, this replica's copy of it and the rules for both.
type Registry struct{ view *View }

// New returns a Registry; nothing happens before Run.
func New(o Options) *Registry { return &Registry{view: &View{}} }

// Run keeps the table equal to the store until ctx ends.
func (r *Registry) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// WaitReady waits for the first snapshot.
func (r *Registry) WaitReady(ctx context.Context) error { return nil }

// View returns the present state.
func (r *Registry) View() *View { return r.view }

// Register registers an instance of a node or renews its lease.
func (r *Registry) Register(ctx context.Context, in Instance) (_ Instance, added bool, err error) {
	return in, false, nil
}

// Remove ends an instance's lease; that there is none is no error.
func (r *Registry) Remove(ctx context.Context, k Key, why Reason) error { return nil }

// RemoveLocations takes locations from the instances of a node.
func (r *Registry) RemoveLocations(ctx context.Context, node string, locations []string, why Reason) (removed []string, err error) {
	return nil, nil
}

// Drain takes the instances at locations out of routing and lets their leases end at until.
func (r *Registry) Drain(ctx context.Context, node string, locations []string, until time.Time) error {
	return nil
}

// LastHeartbeats returns when each instance last beat, the zero time for one without a lease.
func (r *Registry) LastHeartbeats(ctx context.Context, keys ...Key) ([]time.Time, error) {
	return make([]time.Time, len(keys)), nil
}

// Listen adds a listener that is called after each change of the table, in order, outside any lock.
func (r *Registry) Listen(f func([]Change)) {}

// Degraded returns why the store cannot be used, nil if it can.
func (r *Registry) Degraded() error { return nil }
