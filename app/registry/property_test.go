package registry_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"eruptcloud/app/registry"
)

// step is one thing that happens to a fleet of a few instances and addresses behind two replicas.
type step struct {
	Kind      string
	Replica   int
	ID        string
	Locations []string
	Lag       bool // the next step does not wait until both replicas know of this one
}

func steps() *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			Kind:      rapid.SampledFrom([]string{"beat", "beat", "beat", "leave", "patrol", "drain", "remove", "pass", "forget"}).Draw(t, "kind"),
			Replica:   rapid.IntRange(0, 1).Draw(t, "replica"),
			ID:        rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "id"),
			Locations: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{locA, locB, locC}), 1, 3, rapid.ID).Draw(t, "locations"),
			Lag:       rapid.Bool().Draw(t, "lag"),
		}
	}), 1, 40)
}

// Whatever happens, two replicas that follow one store show the same, it is what the store has, and after everybody
// has beaten no address has two owners.
func TestReplicasAgree(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		history := steps().Draw(rt, "steps")
		var wrong string
		synctest.Test(t, func(t *testing.T) { wrong = play(t, history) })
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

func play(t *testing.T, history []step) string {
	store := newStore()
	views := []*flaky{{Store: store}, {Store: store}}
	var replicas []*registry.Registry
	ctx, cancel := context.WithCancel(t.Context())
	defer synctest.Wait()
	defer cancel()
	for _, v := range views {
		r := registry.New(registry.Options{Store: v, Lease: terms})
		go func() { _ = r.Run(ctx) }()
		replicas = append(replicas, r)
	}
	go func() { _ = (&registry.Evictor{Registry: replicas[0]}).Run(ctx) }()
	synctest.Wait()
	for _, s := range history {
		perform(ctx, replicas[s.Replica], views[s.Replica], s)
		if !s.Lag {
			synctest.Wait()
		}
	}
	synctest.Wait()
	if wrong := disagreement(ctx, store, replicas); wrong != "" {
		return wrong
	}
	for range 2 { // a beat may have been decided before the replica knew of the others
		for i, in := range replicas[0].View().Node("n") {
			_, _, _ = replicas[i%2].Register(ctx, describe("n", in.ID, in.Node.Addresses...)) // a conflict is an answer
			synctest.Wait()
		}
	}
	owners := map[string]string{}
	for _, in := range replicas[1].View().Node("n") {
		for _, l := range in.Locations {
			if other, taken := owners[l]; taken {
				return fmt.Sprintf("%s belongs to %s and %s", l, other, in.ID)
			}
			owners[l] = in.ID
		}
		if len(in.Locations) == 0 {
			return fmt.Sprintf("%s is registered without a location", in.ID)
		}
	}
	return disagreement(ctx, store, replicas)
}

func perform(ctx context.Context, r *registry.Registry, f *flaky, s step) {
	switch s.Kind {
	case "beat":
		_, _, _ = r.Register(ctx, describe("n", s.ID, s.Locations...)) // a conflict is an answer
	case "leave":
		_, _ = r.RemoveLocations(ctx, "n", s.Locations, registry.Leave)
	case "patrol":
		_, _ = r.RemoveLocations(ctx, "n", s.Locations[:1], registry.Patrol)
	case "drain":
		_ = r.Drain(ctx, "n", s.Locations, time.Now().Add(30*time.Second))
	case "remove":
		_ = r.Remove(ctx, registry.Key{App: "N", ID: s.ID}, registry.Admin)
	case "pass":
		time.Sleep(time.Duration(len(s.Locations)) * 4 * time.Minute)
	case "forget":
		f.forget(func(registry.Store) {})
		time.Sleep(5 * time.Second)
	}
}

func disagreement(ctx context.Context, store registry.Store, replicas []*registry.Registry) string {
	all, seq, err := store.Snapshot(ctx)
	if err != nil {
		return err.Error()
	}
	slices.SortFunc(all, func(a, b registry.Instance) int { return slices.Compare([]string{a.App, a.ID}, []string{b.App, b.ID}) })
	for i, r := range replicas {
		v := r.View()
		if d := cmp.Diff(all, slices.Clone(v.All())); d != "" && len(all)+len(v.All()) > 0 {
			return fmt.Sprintf("replica %d at %d differs from the store at %d (-store +replica):\n%s", i, v.Seq(), seq, d)
		}
		if v.Seq() != seq {
			return fmt.Sprintf("replica %d is at %d, the store at %d", i, v.Seq(), seq)
		}
	}
	return ""
}
