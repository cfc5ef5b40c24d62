package registry_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/memstore"
)

var terms = registry.Terms{Interval: 15 * time.Second, Duration: 10 * time.Minute}

// inTime runs a test with one running registry on a fresh store, on synctest's clock.
func inTime(t *testing.T, test func(t *testing.T, r *registry.Registry, s *flaky)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &flaky{Store: memstore.New(time.Now)}
		test(t, start(t, registry.Options{Store: s, Lease: terms}), s)
	})
}

// start runs a registry until the test ends.
func start(t *testing.T, o registry.Options) *registry.Registry {
	t.Helper()
	r := registry.New(o)
	run(t, r.Run)
	if err := r.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// run runs a Run method until the test ends and reports its error.
func run(t *testing.T, f func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run = %v, want nil", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func describe(node, id string, locations ...string) registry.Instance {
	return registry.Instance{
		Key: registry.Key{ID: id}, NodeName: node, Locations: locations,
		Node: &registry.NodeDetail{Version: "2.2.0", Erupts: []string{"Customer"}, Token: "t"},
	}
}

func register(t *testing.T, r *registry.Registry, in registry.Instance) (registry.Instance, bool) {
	t.Helper()
	got, added, err := r.Register(t.Context(), in)
	if err != nil {
		t.Fatalf("Register(%s of %s at %v): %v", in.ID, in.NodeName, in.Locations, err)
	}
	return got, added
}

// routed lists the locations of a node's instances that are up, sorted.
func routed(v *registry.View, node string) []string {
	all := []string{}
	for _, in := range v.Node(node) {
		if in.Status == registry.Up {
			all = append(all, in.Locations...)
		}
	}
	slices.Sort(all)
	return all
}

func want(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// flaky is a store that can be down, lose its data or its log, and counts its writes.
type flaky struct {
	registry.Store
	mu            sync.Mutex
	down          bool
	gap           error
	puts, renews  atomic.Int64
	interruptions chan struct{}
}

func (f *flaky) broken() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return fault.New(fault.Unavailable, "down")
	}
	return nil
}

func (f *flaky) inner() registry.Store {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Store
}

// setDown makes each call fail, or work again.
func (f *flaky) setDown(down bool) {
	f.mu.Lock()
	f.down = down
	f.mu.Unlock()
	f.interrupt()
}

// lose replaces the store by an empty one.
func (f *flaky) lose() {
	f.mu.Lock()
	f.Store, f.gap = memstore.New(time.Now), registry.ErrStoreLost
	f.mu.Unlock()
	f.interrupt()
}

// forget makes the follower take a new snapshot, after work was done behind its back.
func (f *flaky) forget(work func(registry.Store)) {
	f.setDown(true)
	synctest.Wait()
	work(f.inner())
	f.mu.Lock()
	f.gap = registry.ErrLogGap
	f.mu.Unlock()
	f.setDown(false)
}

func (f *flaky) interrupt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.interruptions != nil {
		close(f.interruptions)
		f.interruptions = nil
	}
}

func (f *flaky) Put(ctx context.Context, in registry.Instance, until time.Time) (registry.Seq, error) {
	if err := f.broken(); err != nil {
		return 0, err
	}
	f.puts.Add(1)
	return f.inner().Put(ctx, in, until)
}

func (f *flaky) Renew(ctx context.Context, k registry.Key, until time.Time) error {
	if err := f.broken(); err != nil {
		return err
	}
	f.renews.Add(1)
	return f.inner().Renew(ctx, k, until)
}

func (f *flaky) Remove(ctx context.Context, k registry.Key, why registry.Reason, by time.Time) (registry.Seq, error) {
	if err := f.broken(); err != nil {
		return 0, err
	}
	return f.inner().Remove(ctx, k, why, by)
}

func (f *flaky) Snapshot(ctx context.Context) ([]registry.Instance, registry.Seq, error) {
	if err := f.broken(); err != nil {
		return nil, 0, err
	}
	return f.inner().Snapshot(ctx)
}

func (f *flaky) Expired(ctx context.Context, o registry.Origin, now time.Time, limit int) ([]registry.Key, error) {
	if err := f.broken(); err != nil {
		return nil, err
	}
	return f.inner().Expired(ctx, o, now, limit)
}

func (f *flaky) Follow(ctx context.Context, seq registry.Seq, apply func([]registry.Change)) error {
	if err := f.broken(); err != nil {
		return err
	}
	f.mu.Lock()
	gap, inner := f.gap, f.Store
	f.gap = nil
	stop := make(chan struct{})
	f.interruptions = stop
	f.mu.Unlock()
	if gap != nil {
		return gap
	}
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- inner.Follow(following, seq, apply) }()
	select {
	case <-stop:
		cancel()
		<-done
		return f.broken() // nil: called again
	case err := <-done:
		return err
	}
}

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}
