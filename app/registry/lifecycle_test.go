package registry_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/memstore"
)

func newStore() registry.Store { return memstore.New(time.Now) }

// A8, A11: exactly the named locations leave, unknown ones are no error, routing ends with the answer.
func TestRemoveLocations(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		register(t, r, describe("order", "one", locA, locB))
		register(t, r, describe("order", "two", locC))
		gone, err := r.RemoveLocations(t.Context(), "order", []string{locA, "http://nobody"}, registry.Leave)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "removed", gone, []string{locA})
		want(t, "routed", routed(r.View(), "order"), []string{locB, locC})
		gone, err = r.RemoveLocations(t.Context(), "order", []string{locA, locB}, registry.Admin)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "removed", gone, []string{locB})
		if all := r.View().Node("order"); len(all) != 1 || all[0].ID != "two" {
			t.Errorf("left are %v, want the second instance", all)
		}
		if gone, err := r.RemoveLocations(t.Context(), "absent", []string{locA}, registry.Leave); err != nil || len(gone) != 0 {
			t.Errorf("RemoveLocations of an absent node = %v, %v", gone, err)
		}
		if err := r.Remove(t.Context(), registry.Key{App: "ORDER", ID: "one"}, registry.Admin); err != nil {
			t.Errorf("Remove of an absent instance = %v, want nil", err)
		}
	})
}

func TestDrain(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		run(t, (&registry.Evictor{Registry: r}).Run)
		register(t, r, describe("order", "one", locA, locB))
		register(t, r, describe("order", "two", locC))
		if err := r.Drain(t.Context(), "order", []string{locA, locB}, time.Now().Add(30*time.Second)); err != nil {
			t.Fatal(err)
		}
		want(t, "routed", routed(r.View(), "order"), []string{locC})
		if in, ok := r.View().ByLocation("order", locA); !ok || !in.Draining() {
			t.Errorf("the drained instance is %+v, want it shown as draining", in)
		}
		register(t, r, describe("order", "one", locA, locB)) // a beat that was on its way
		want(t, "routed after a late beat", routed(r.View(), "order"), []string{locC})
		time.Sleep(36 * time.Second)
		if in, ok := r.View().ByLocation("order", locA); ok {
			t.Errorf("after its drain ended the instance is still %+v", in)
		}
		if c := last(r); c.Reason != registry.Leave {
			t.Errorf("a drained instance left by %q, want %q", c.Reason, registry.Leave)
		}
		if _, added := register(t, r, describe("order", "one", locA, locB)); !added {
			t.Error("after its drain an instance with the same id cannot register")
		}
		want(t, "routed after a new start", routed(r.View(), "order"), []string{locA, locB, locC})
	})
}

func TestDrainOfSomeLocationsRemovesThem(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		register(t, r, describe("order", "one", locA, locB))
		if err := r.Drain(t.Context(), "order", []string{locA, "http://nobody"}, time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		want(t, "routed", routed(r.View(), "order"), []string{locB})
		if err := r.Drain(t.Context(), "order", []string{locB}, time.Now()); err != nil { // no time: leaves at once
			t.Fatal(err)
		}
		if all := r.View().All(); len(all) != 0 {
			t.Errorf("left are %v, want none", all)
		}
	})
}

func last(r *registry.Registry) registry.Change {
	recent := r.View().Recent()
	if len(recent) == 0 {
		return registry.Change{}
	}
	return recent[len(recent)-1]
}

func TestRecentEndsAfterThreeMinutes(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		register(t, r, describe("order", "one", locA))
		time.Sleep(2 * time.Minute)
		register(t, r, describe("order", "two", locB))
		time.Sleep(61 * time.Second)
		if got := r.View().Recent(); len(got) != 1 || got[0].In.ID != "two" {
			t.Errorf("after three minutes recent are %v, want the second registration", got)
		}
	})
}

// S1, A2: a lease that is not renewed ends, once.
func TestLeaseEnds(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		run(t, (&registry.Evictor{Registry: r}).Run)
		var deleted int
		r.Listen(func(changes []registry.Change) {
			for _, c := range changes {
				if c.Action == registry.Deleted {
					deleted++
				}
			}
		})
		register(t, r, describe("order", "one", locA))
		for range 60 {
			register(t, r, describe("order", "two", locB))
			time.Sleep(15 * time.Second)
		}
		synctest.Wait()
		want(t, "routed", routed(r.View(), "order"), []string{locB})
		if deleted != 1 || last(r).Reason == registry.Patrol {
			t.Errorf("%d removals, want one", deleted)
		}
	})
}

// A clock that jumps, a process that was stopped, a store that was down, a new leader: nobody who lives is evicted (S10, S71).
func TestNobodyIsEvictedAfterLostTime(t *testing.T) {
	var ahead atomic.Int64
	tests := map[string]func(r *registry.Registry, s *flaky, startEvictor func()){
		"the clock jumps": func(_ *registry.Registry, _ *flaky, start func()) {
			start()
			time.Sleep(time.Minute)
			ahead.Store(int64(time.Hour))
		},
		"the store is down longer than a lease": func(_ *registry.Registry, s *flaky, start func()) {
			start()
			time.Sleep(time.Minute)
			s.setDown(true)
			time.Sleep(time.Hour)
			s.setDown(false)
			time.Sleep(3 * time.Second) // the follower is back
		},
		"all servers were off longer than a lease": func(_ *registry.Registry, _ *flaky, start func()) {
			time.Sleep(time.Hour)
			start()
		},
	}
	for name, disturb := range tests {
		t.Run(name, func(t *testing.T) {
			ahead.Store(0)
			synctest.Test(t, func(t *testing.T) {
				s := &flaky{Store: newStore()}
				r := start(t, registry.Options{Store: s, Lease: terms, Now: func() time.Time { return time.Now().Round(0).Add(time.Duration(ahead.Load())) }})
				register(t, r, describe("order", "alive", locA))
				register(t, r, describe("order", "dead", locB))
				disturb(r, s, func() { run(t, (&registry.Evictor{Registry: r}).Run) })
				time.Sleep(14 * time.Second)
				want(t, "routed before the next beat", routed(r.View(), "order"), []string{locA, locB})
				register(t, r, describe("order", "alive", locA))
				time.Sleep(20 * time.Second)
				want(t, "routed after it", routed(r.View(), "order"), []string{locA})
			})
		})
	}
}

// S11: the store is empty after a restart; everybody is back after one beat, and until then routing goes on.
func TestLostStore(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, s *flaky) {
		register(t, r, describe("order", "beats", locA))
		register(t, r, describe("order", "dead", locB))
		register(t, r, describe("order", "patrolled", locC))
		s.lose()
		synctest.Wait()
		want(t, "routed after the loss", routed(r.View(), "order"), []string{locA, locB, locC})
		in, _ := r.View().ByLocation("order", locA)
		if !in.Unconfirmed {
			t.Error("what the store lost is not marked unconfirmed")
		}
		time.Sleep(15 * time.Second)
		if _, added := register(t, r, describe("order", "beats", locA)); !added {
			t.Error("the first beat after the loss did not register again")
		}
		if in, _ := r.View().ByLocation("order", locA); in.Unconfirmed {
			t.Error("still unconfirmed after a beat")
		}
		other := start(t, registry.Options{Store: s, Lease: terms})
		if _, err := r.RemoveLocations(t.Context(), "order", []string{locC}, registry.Patrol); err != nil {
			t.Fatal(err)
		}
		want(t, "routed after the patrol", routed(r.View(), "order"), []string{locA, locB})
		want(t, "routed by a new replica", routed(other.View(), "order"), []string{locA})
		time.Sleep(terms.Duration)
		want(t, "routed when the last lease must have ended", routed(r.View(), "order"), []string{locA})
	})
}

func TestUnconfirmedLeavesEveryReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, other := &flaky{Store: newStore()}, &flaky{}
		other.Store = s.Store
		one, two := start(t, registry.Options{Store: s, Lease: terms}), start(t, registry.Options{Store: other, Lease: terms})
		register(t, one, describe("order", "a", locA))
		synctest.Wait()
		s.lose()
		other.mu.Lock()
		other.Store, other.gap = s.Store, registry.ErrStoreLost
		other.mu.Unlock()
		other.interrupt()
		synctest.Wait()
		want(t, "routed by the second after the loss", routed(two.View(), "order"), []string{locA})
		if err := one.Remove(t.Context(), registry.Key{App: "ORDER", ID: "a"}, registry.Admin); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want(t, "routed by the first", routed(one.View(), "order"), []string{})
		want(t, "routed by the second", routed(two.View(), "order"), []string{})
	})
}

// A gap in the log is closed by a snapshot, and listeners hear of what they missed (S70).
func TestLogGap(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, s *flaky) {
		register(t, r, describe("order", "leaves", locA))
		register(t, r, describe("order", "stays", locB))
		var heard []string
		r.Listen(func(changes []registry.Change) {
			for _, c := range changes {
				heard = append(heard, fmt.Sprintf("%s %s", c.Action, c.In.ID))
			}
		})
		s.forget(func(inner registry.Store) {
			if _, err := inner.Remove(t.Context(), registry.Key{App: "ORDER", ID: "leaves"}, registry.Leave, time.Time{}); err != nil {
				t.Fatal(err)
			}
			in := describe("order", "comes", locC)
			in.App, in.Origin, in.Status, in.Action = "ORDER", registry.OriginNode, registry.Up, registry.Added
			if _, err := inner.Put(t.Context(), in, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		want(t, "heard", heard, []string{"ADDED comes", "DELETED leaves"})
		want(t, "routed", routed(r.View(), "order"), []string{locB, locC})
	})
}

// S71: while the store is down routing goes on, writes fail at once, and all is well again in seconds.
func TestStoreDown(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, s *flaky) {
		register(t, r, describe("order", "one", locA))
		if err := r.Degraded(); err != nil {
			t.Errorf("Degraded = %v, want nil", err)
		}
		s.setDown(true)
		synctest.Wait()
		before := time.Now()
		_, _, err := r.Register(t.Context(), describe("order", "one", locA))
		if !fault.Is(err, fault.Unavailable) || time.Since(before) > 0 {
			t.Errorf("Register with the store down = %v after %s, want unavailable at once", err, time.Since(before))
		}
		if r.Degraded() == nil {
			t.Error("Degraded = nil with the store down")
		}
		want(t, "routed", routed(r.View(), "order"), []string{locA})
		time.Sleep(2 * time.Minute)
		s.setDown(false)
		time.Sleep(5 * time.Second)
		register(t, r, describe("order", "one", locA))
		if err := r.Degraded(); err != nil {
			t.Errorf("Degraded after recovery = %v, want nil", err)
		}
	})
}

func TestWaitReadySaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flaky{Store: newStore(), down: true}
		r := registry.New(registry.Options{Store: s})
		run(t, r.Run)
		synctest.Wait()
		ctx, cancel := contextFor(t, time.Minute)
		defer cancel()
		if err := r.WaitReady(ctx); !fault.Is(err, fault.Unavailable) {
			t.Errorf("WaitReady with the store down = %v, want the store's error", err)
		}
	})
}

func TestListenerThatPanicsStopsNothing(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		r.Listen(func([]registry.Change) { panic(errors.New("broken")) })
		heard := 0
		r.Listen(func(changes []registry.Change) { heard += len(changes) })
		register(t, r, describe("order", "one", locA))
		register(t, r, describe("order", "two", locB))
		synctest.Wait()
		if heard != 2 {
			t.Errorf("the other listener heard of %d changes, want 2", heard)
		}
	})
}
