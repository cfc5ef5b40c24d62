package boot

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/memstore"
)

// drainTable is fleet.Drains in memory.
type drainTable struct {
	mu   sync.Mutex
	rows map[string]fleet.Drain
}

func (d *drainTable) start(drain fleet.Drain) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rows == nil {
		d.rows = map[string]fleet.Drain{}
	}
	d.rows[drain.Instance] = drain
}

func (d *drainTable) All() []fleet.Drain {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.rows))
}

func (d *drainTable) Draining(_, instance string) (fleet.Drain, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	drain, ok := d.rows[instance]
	return drain, ok
}

func (d *drainTable) Forget(_ context.Context, _, instance string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.rows, instance)
	return nil
}

func (d *drainTable) instances() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.rows))
}

func instanceOf(id, location string) registry.Instance {
	return registry.Instance{
		Key: registry.Key{App: "ORDERS", ID: id}, NodeName: "orders", Locations: []string{location},
		Node: &registry.NodeDetail{Version: "2.0.4"},
	}
}

// TestDrainsEndWithTheirInstance: a goodbye ends a drain at once; an instance that a failed probe or an admin took out may be
// back with its next beat and drains on then, as long as that comes within ten minutes (D12).
func TestDrainsEndWithTheirInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := registry.New(registry.Options{Store: memstore.New(time.Now)})
		drains := &drainTable{}
		keeper := newDrainKeeper(drains, r.View, time.Now)
		r.Listen(keeper.hear)
		go func() { _ = r.Run(ctx) }()
		go func() { _ = keeper.Run(ctx) }()
		if err := r.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
		enter := func(id, location string) {
			t.Helper()
			if _, _, err := r.Register(ctx, instanceOf(id, location)); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			if got := drains.instances(); !slices.Equal(got, want) {
				t.Errorf("%s: drains of %q, want %q", when, got, want)
			}
		}
		for id, location := range map[string]string{"left": "http://a", "probed": "http://b", "admin": "http://c", "moved": "http://d", "stays": "http://e"} {
			enter(id, location)
			drains.start(fleet.Drain{Node: "orders", Instance: id, Created: time.Now()})
		}
		time.Sleep(time.Second)
		remove := func(location string, why registry.Reason) {
			t.Helper()
			if _, err := r.RemoveLocations(ctx, "orders", []string{location}, why); err != nil {
				t.Fatal(err)
			}
		}
		remove("http://a", registry.Leave)
		remove("http://b", registry.Patrol)
		remove("http://c", registry.Admin)
		enter("new", "http://d") // another process at the address of "moved"
		expect("at once", "admin", "probed", "stays")
		time.Sleep(9 * time.Minute)
		enter("probed", "http://b")
		enter("stays", "http://e")
		expect("after nine minutes", "admin", "probed", "stays")
		time.Sleep(3 * time.Minute)
		expect("after twelve", "probed", "stays")
		cancel()
		synctest.Wait()
	})
}

// TestALateNewsSparesAYoungerDrain: news of a departure that waited while another replica led is not for who came after.
func TestALateNewsSparesAYoungerDrain(t *testing.T) {
	now := time.Now()
	drains := &drainTable{}
	drains.start(fleet.Drain{Node: "orders", Instance: "i1", Created: now})
	keeper := newDrainKeeper(drains, nil, time.Now)
	if err := keeper.end(t.Context(), departed{"orders", "i1", now.Add(-time.Minute)}); err != nil || len(drains.instances()) != 1 {
		t.Errorf("an older departure ended it: %v, %v", drains.instances(), err)
	}
	if err := keeper.end(t.Context(), departed{"orders", "i1", now.Add(time.Minute)}); err != nil || len(drains.instances()) != 0 {
		t.Errorf("a later departure did not end it: %v, %v", drains.instances(), err)
	}
}
