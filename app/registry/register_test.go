package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
)

const (
	locA = "http://10.0.0.1:8081"
	locB = "http://10.0.0.2:8081"
	locC = "http://10.0.0.3:8081"
)

func TestRegisteredIsRoutableAtOnce(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		in, added := register(t, r, describe("order", "one", locA))
		if !added || in.Rev == 0 || in.App != "ORDER" || in.Origin != registry.OriginNode || in.Status != registry.Up {
			t.Errorf("Register = %+v, %v, want an instance of ORDER that is up and new", in, added)
		}
		want(t, "routed", routed(r.View(), "order"), []string{locA})
		if got, ok := r.View().ByLocation("order", locA); !ok || got.ID != "one" {
			t.Errorf("ByLocation = %v %v, want instance one", got.Key, ok)
		}
	})
}

func TestBeatThatSaysNothingNewIsARenewal(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, s *flaky) {
		in := describe("order", "one", locA, locB)
		in.Node.Modules = []string{"b", "a"}
		register(t, r, in)
		before := r.View()
		time.Sleep(15 * time.Second)
		in.Locations, in.Node.Modules = []string{locB, locA}, []string{"a", "b"} // sets have no order
		in.Node.Peer = "10.9.9.9"
		_, added := register(t, r, in)
		if added || s.puts.Load() != 1 || s.renews.Load() != 1 || r.View() != before {
			t.Errorf("second beat: added %v, %d puts, %d renewals, view changed %v; want one put, one renewal and the same view",
				added, s.puts.Load(), s.renews.Load(), r.View() != before)
		}
		beats, err := r.LastHeartbeats(t.Context(), registry.Key{App: "ORDER", ID: "one"}, registry.Key{App: "X", ID: "y"})
		if err != nil || !beats[0].Equal(time.Now()) || !beats[1].IsZero() {
			t.Errorf("LastHeartbeats = %v, %v, want now and the zero time", beats, err)
		}
	})
}

func TestNewWordsReplaceTheOld(t *testing.T) {
	changes := map[string]func(in *registry.Instance){
		"version":   func(in *registry.Instance) { in.Node.Version = "2.3.0" },
		"erupts":    func(in *registry.Instance) { in.Node.Erupts = []string{"Customer", "Order"} },
		"token":     func(in *registry.Instance) { in.Node.Token = "u" },
		"resources": func(in *registry.Instance) { in.Node.Resources = map[string][]string{"flow": {"a"}} },
		"addresses": func(in *registry.Instance) { in.Locations = []string{locA, locB} },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, r *registry.Registry, s *flaky) {
				first, _ := register(t, r, describe("order", "one", locA))
				time.Sleep(time.Minute)
				in := describe("order", "one", locA)
				change(&in)
				second, added := register(t, r, in)
				if added || s.puts.Load() != 2 || second.Rev == first.Rev || !second.Registered.Equal(first.Registered) {
					t.Errorf("after a change: added %v, %d puts, registered %s; want a second put of the same registration", added, s.puts.Load(), second.Registered)
				}
				register(t, r, in)
				if s.puts.Load() != 2 {
					t.Errorf("the same words again led to %d puts, want 2", s.puts.Load())
				}
			})
		})
	}
}

// S2, A6: a restarted process reports its address under a new id.
func TestRestartLeavesNoGhost(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		register(t, r, describe("order", "old", locA))
		time.Sleep(time.Minute)
		register(t, r, describe("order", "new", locA))
		if all := r.View().Node("order"); len(all) != 1 || all[0].ID != "new" {
			t.Errorf("after a restart: %v, want the new instance alone", all)
		}
		last := r.View().Recent()
		if c := last[len(last)-1]; c.Action != registry.Deleted || c.Reason != registry.Replaced || c.In.ID != "old" {
			t.Errorf("last change is %s of %s (%s), want the old instance replaced", c.Action, c.In.ID, c.Reason)
		}
	})
}

// S3: two living processes behind one address. The later one has it, the other hears why, and they never alternate.
func TestTwoInstancesAtOneAddress(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, s *flaky) {
		register(t, r, describe("order", "one", locA))
		time.Sleep(5 * time.Second)
		register(t, r, describe("order", "two", locA))
		puts := s.puts.Load()
		for range 100 {
			time.Sleep(10 * time.Second)
			_, _, err := r.Register(t.Context(), describe("order", "one", locA))
			if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), locA) || !strings.Contains(err.Error(), "two") {
				t.Fatalf("beat of the first = %v, want a conflict that names address and holder", err)
			}
			if c := r.Conflicts("order"); len(c) != 1 || c[0].ID != "one" || c[0].Holder.ID != "two" || c[0].Location != locA {
				t.Fatalf("Conflicts = %+v, want one behind two", c)
			}
			time.Sleep(5 * time.Second)
			register(t, r, describe("order", "two", locA))
		}
		if all := r.View().Node("order"); len(all) != 1 || all[0].ID != "two" || s.puts.Load() != puts {
			t.Errorf("after 100 beats of both: %v and %d writes, want the second alone and none", all, s.puts.Load()-puts)
		}
		if _, err := r.RemoveLocations(t.Context(), "order", []string{locA}, registry.Leave); err != nil {
			t.Fatal(err)
		}
		if _, added := register(t, r, describe("order", "one", locA)); !added {
			t.Error("the first cannot register after the second left")
		}
		time.Sleep(time.Minute)
		if c := r.Conflicts("order"); len(c) != 0 {
			t.Errorf("Conflicts after the second left = %+v, want none", c)
		}
	})
}

func TestPartOfAnAddressListIsTaken(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, s *flaky) {
		register(t, r, describe("order", "one", locA, locB))
		time.Sleep(time.Second)
		register(t, r, describe("order", "two", locA))
		for range 3 {
			time.Sleep(15 * time.Second)
			register(t, r, describe("order", "one", locA, locB))
			register(t, r, describe("order", "two", locA))
		}
		one, _ := r.View().Instance(registry.Key{App: "ORDER", ID: "one"})
		two, _ := r.View().Instance(registry.Key{App: "ORDER", ID: "two"})
		want(t, "locations of the first", one.Locations, []string{locB})
		want(t, "locations of the second", two.Locations, []string{locA})
		if s.puts.Load() != 3 {
			t.Errorf("%d puts, want 3: two registrations and one loss", s.puts.Load())
		}
		if err := r.Remove(t.Context(), two.Key, registry.Leave); err != nil {
			t.Fatal(err)
		}
		one, _ = register(t, r, describe("order", "one", locA, locB))
		want(t, "locations of the first after the second left", one.Locations, []string{locA, locB})
	})
}

// S4: one process, the same id, another address.
func TestMovedInstance(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		register(t, r, describe("order", "one", "http://host:8081"))
		time.Sleep(time.Minute)
		in, added := register(t, r, describe("order", "one", "http://10.0.0.5:8081"))
		if added || in.Moved == nil || in.Moved.From[0] != "http://host:8081" {
			t.Errorf("after a move: added %v, moved %+v, want one instance that knows where it was", added, in.Moved)
		}
		want(t, "routed", routed(r.View(), "order"), []string{"http://10.0.0.5:8081"})
		time.Sleep(terms.Duration) // long after, it may go back
		register(t, r, describe("order", "one", "http://host:8081"))
		want(t, "routed after it moved back", routed(r.View(), "order"), []string{"http://host:8081"})
	})
}

// S3: two processes with one configured id and an address each.
func TestTwoProcessesWithOneID(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, s *flaky) {
		beat := func() {
			register(t, r, describe("order", "same", locA))
			time.Sleep(7 * time.Second)
			register(t, r, describe("order", "same", locB))
			time.Sleep(8 * time.Second)
		}
		beat() // the second looks like a move
		beat() // the first came back: they are two
		puts := s.puts.Load()
		for range 100 {
			beat()
			want(t, "routed", routed(r.View(), "order"), []string{locA, locB})
		}
		if s.puts.Load() != puts {
			t.Errorf("%d writes in 100 quiet beats, want none", s.puts.Load()-puts)
		}
		var ids []string
		for _, in := range r.View().Node("order") {
			ids = append(ids, in.ID)
		}
		slices.Sort(ids)
		want(t, "ids", ids, []string{"same", "same@10.0.0.1:8081"})
		if _, err := r.RemoveLocations(t.Context(), "order", []string{locA}, registry.Leave); err != nil {
			t.Fatal(err)
		}
		want(t, "routed after one left", routed(r.View(), "order"), []string{locB})
	})
}

// S6: one address under two nodes.
func TestOneAddressTwoNodes(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		register(t, r, describe("order", "one", locA))
		register(t, r, describe("stock", "one", locA))
		if _, err := r.RemoveLocations(t.Context(), "order", []string{locA}, registry.Leave); err != nil {
			t.Fatal(err)
		}
		want(t, "routed of order", routed(r.View(), "order"), []string{})
		want(t, "routed of stock", routed(r.View(), "stock"), []string{locA})
	})
}

func TestClaimsOfReplicasWhoseClocksDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flaky{Store: newStore()}
		ahead := start(t, registry.Options{Store: s, Lease: terms, Now: func() time.Time { return time.Now().Add(time.Hour) }})
		right := start(t, registry.Options{Store: s, Lease: terms})
		register(t, ahead, describe("order", "old", locA))
		synctest.Wait()
		register(t, right, describe("order", "new", locA))
		synctest.Wait()
		if _, _, err := ahead.Register(t.Context(), describe("order", "old", locA)); !fault.Is(err, fault.Conflict) {
			t.Errorf("beat of the replaced instance = %v, want a conflict whatever the clocks say", err)
		}
	})
}

func TestRegistrationWithoutAddressIsInvalid(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		for _, in := range []registry.Instance{describe("order", "one"), describe("order", "", locA)} {
			if _, _, err := r.Register(t.Context(), in); !fault.Is(err, fault.Invalid) {
				t.Errorf("Register(%q, %v) = %v, want invalid", in.ID, in.Locations, err)
			}
		}
	})
}

func TestOldestFirst(t *testing.T) {
	inTime(t, func(t *testing.T, r *registry.Registry, _ *flaky) {
		for i := range 5 {
			register(t, r, describe("order", fmt.Sprint(9-i), fmt.Sprintf("http://10.0.0.%d", i)))
			time.Sleep(time.Second)
		}
		var ids []string
		for _, in := range r.View().Node("Order") {
			ids = append(ids, in.ID)
		}
		want(t, "order of instances", ids, []string{"9", "8", "7", "6", "5"})
	})
}
