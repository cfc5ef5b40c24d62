package registry_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/app/registry"
)

func hosts(from, to int) []string {
	var all []string
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("http://10.0.0.%d:80", i))
	}
	return all
}

func newBrake() *registry.Brake { return registry.NewBrake(10*time.Minute, time.Now) }

func TestBrake(t *testing.T) {
	tests := map[string]struct {
		happens func(b *registry.Brake)
		ask     []string
		want    []string
	}{
		"fewer than half failed": {func(b *registry.Brake) {
			b.OK(hosts(0, 20)...)
			b.Failed(hosts(0, 9)...)
		}, hosts(0, 9), hosts(0, 9)},
		"half failed": {func(b *registry.Brake) {
			b.OK(hosts(0, 20)...)
			b.Failed(hosts(0, 10)...)
		}, hosts(0, 10), nil},
		"fewer than twenty known": {func(b *registry.Brake) {
			b.OK(hosts(0, 19)...)
			b.Failed(hosts(0, 19)...)
		}, hosts(0, 19), hosts(0, 19)},
		"another host answers afterwards: the loss is real": {func(b *registry.Brake) {
			b.OK(hosts(0, 20)...)
			b.Failed(hosts(0, 10)...)
			b.OK(hosts(15, 16)...)
		}, hosts(0, 10), hosts(0, 10)},
		"an answer before half had failed proves nothing": {func(b *registry.Brake) {
			b.Failed(hosts(0, 9)...)
			b.OK(hosts(10, 20)...)
			b.Failed(hosts(9, 10)...)
		}, hosts(0, 10), nil},
		"something answers on one of the failed hosts: only its own are free": {func(b *registry.Brake) {
			b.Failed(hosts(0, 20)...)
			b.OK("http://10.0.0.3:81")
		}, hosts(0, 20), hosts(3, 4)},
		"this machine answers itself: that proves nothing of the network": {func(b *registry.Brake) {
			b.Failed(hosts(0, 20)...)
			b.OK("http://127.0.0.1:81", "http://localhost:1", "http://[::1]:2")
		}, hosts(0, 20), nil},
		"half failed, but over more than a minute": {func(b *registry.Brake) {
			b.OK(hosts(0, 20)...)
			b.Failed(hosts(0, 9)...)
			time.Sleep(61 * time.Second)
			b.Failed(hosts(9, 12)...)
		}, hosts(0, 12), hosts(0, 12)},
		"those who left by their own word do not count": {func(b *registry.Brake) {
			b.OK(hosts(0, 30)...)
			b.Failed(hosts(0, 15)...)
			b.Forget(hosts(0, 5)...)
		}, hosts(5, 15), hosts(5, 15)},
		"those who recovered do not count": {func(b *registry.Brake) {
			b.Failed(hosts(0, 20)...)
			b.OK(hosts(0, 11)...)
		}, hosts(11, 20), hosts(11, 20)},
		"each location waits one lease at most": {func(b *registry.Brake) {
			b.Failed(hosts(0, 20)...)
			b.Ask(hosts(0, 1)...)
			for range 20 {
				time.Sleep(30 * time.Second)
				b.Failed(hosts(0, 20)...)
			}
		}, hosts(0, 20), hosts(0, 1)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBrake()
				tt.happens(b)
				want(t, "may be removed", b.Ask(tt.ask...), tt.want)
			})
		})
	}
}

// S20: the brake explains itself and ends by itself.
func TestBrakeExplainsItselfAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBrake()
		b.Failed(hosts(0, 20)...)
		tripped := time.Now()
		if s := b.State(); s.Holding {
			t.Errorf("State before anybody asked = %+v, want not holding", s)
		}
		b.Ask(hosts(0, 2)...)
		s := b.State()
		if !s.Holding || s.Failed != 20 || s.Known != 20 || !s.Since.Equal(tripped) || !s.Until.Equal(tripped.Add(10*time.Minute)) || len(s.Waiting) != 2 {
			t.Errorf("State = %+v, want what it holds, why and until when", s)
		}
		if s.String() == "" || s.String() == (registry.BrakeState{}).String() {
			t.Errorf("String = %q", s)
		}
		b.OK("http://10.1.1.1")
		if s := b.State(); s.Holding || len(s.Waiting) != 0 {
			t.Errorf("State after another host answered = %+v, want not holding", s)
		}
		time.Sleep(2 * time.Minute)
		want(t, "may be removed when all is quiet", b.Ask(hosts(0, 1)...), hosts(0, 1))
	})
}

func TestBrakeStopsEvictionAndPatrol(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		run(t, (&registry.Evictor{Registry: r}).Run)
		all := hosts(10, 40)
		for i, l := range all {
			register(t, r, describe("order", fmt.Sprint(i), l))
		}
		time.Sleep(terms.Duration - time.Minute)
		gone, err := r.RemoveLocations(t.Context(), "order", all, registry.Patrol)
		if err != nil || len(gone) != 0 {
			t.Errorf("the patrol removed %v (%v) although everything failed at once", gone, err)
		}
		time.Sleep(5 * time.Minute) // all leases have ended
		want(t, "routed while the brake holds", routed(r.View(), "order"), all)
		register(t, r, describe("stock", "1", "http://10.9.9.9"))
		time.Sleep(10 * time.Second)
		want(t, "routed after another host beat", routed(r.View(), "order"), []string{})
	})
}

func TestBrakeLetsGoAfterALease(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		run(t, (&registry.Evictor{Registry: r}).Run)
		all := hosts(10, 40)
		for i, l := range all {
			register(t, r, describe("order", fmt.Sprint(i), l))
		}
		time.Sleep(2*terms.Duration + time.Minute)
		want(t, "routed", routed(r.View(), "order"), []string{})
	})
}

// S21: locations that admins keep out of routing beat on, so one more loss is a small one.
func TestOneLossAmongManyLeaves(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		for i, l := range hosts(0, 30) {
			register(t, r, describe("order", fmt.Sprint(i), l))
		}
		gone, err := r.RemoveLocations(t.Context(), "order", hosts(3, 4), registry.Failover)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "removed", gone, hosts(3, 4))
	})
}
