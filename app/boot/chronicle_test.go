package boot

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/memstore"
)

// eventTable is a history in memory.
type eventTable struct{ events []history.Event }

func (e *eventTable) Record(ev history.Event) { e.events = append(e.events, ev) }

func (e *eventTable) List(context.Context, history.Filter) ([]history.Event, int, error) {
	return slices.Clone(e.events), len(e.events), nil
}

// take returns what was recorded since the last call.
func (e *eventTable) take() (out []string) {
	for _, ev := range e.events {
		text := fmt.Sprintf("%s %s %s", ev.Kind, ev.Instance, ev.Location)
		if ev.Reason != "" {
			text += ": " + ev.Reason
		}
		out = append(out, text)
	}
	e.events = nil
	return out
}

// TestTheHistoryOfInstances: each thing that happens to one is there once, and a beat is nothing (S1, S9).
func TestTheHistoryOfInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := registry.New(registry.Options{Store: memstore.New(time.Now)})
		kept := &eventTable{}
		c := newChronicler(kept, time.Now)
		r.Listen(c.hear)
		r.ListenConflicts(c.conflict)
		go func() { _ = r.Run(ctx) }()
		go func() { _ = c.lead(ctx) }()
		if err := r.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		beat := func(id, location, version string) {
			t.Helper()
			in := instanceOf(id, location)
			in.Node.Version = version
			_, _, err := r.Register(ctx, in)
			if err != nil && id != "old" {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		remove := func(location string, why registry.Reason) {
			t.Helper()
			if _, err := r.RemoveLocations(ctx, "orders", []string{location}, why); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			if got := kept.take(); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		beat("i1", "http://a", "1.0")
		expect("it comes", "registered i1 http://a")
		beat("i1", "http://a", "1.0")
		expect("a beat")
		beat("i1", "http://a", "1.1")
		expect("another version", "changed i1 http://a: it reports another version")
		beat("i1", "http://b", "1.1")
		expect("another address", "changed i1 http://b: it reports other addresses")
		remove("http://b", registry.Patrol)
		expect("a failed probe", "unreached i1 http://b")
		beat("i1", "http://b", "1.1")
		expect("it is back", "registered i1 http://b: it beats again after it was removed")
		remove("http://b", registry.Admin)
		expect("an admin records that himself")
		beat("i1", "http://b", "1.1")
		expect("it is back again", "registered i1 http://b: it beats again after it was removed")
		if err := r.Drain(ctx, "orders", []string{"http://b"}, time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		expect("it drains by itself", "drained i1 http://b: the instance announced it")
		remove("http://b", registry.Leave)
		expect("it says goodbye", "left i1 http://b")
		beat("old", "http://c", "1")
		beat("new", "http://c", "1")
		expect("a newer one takes the address", "registered old http://c", "registered new http://c", "left old http://c: a newer instance reports its address")
		beat("old", "http://c", "1")
		beat("old", "http://c", "1")
		expect("the older one beats on", "conflict old http://c: another instance of the node reports its address")
		cancel()
		synctest.Wait()
	})
}

// TestANewLeaderMakesUpForTheOld: what nobody wrote is written, what is there is not written twice, and what a snapshot shows
// as new is no event.
func TestANewLeaderMakesUpForTheOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &eventTable{}
		old, next := newChronicler(kept, time.Now), newChronicler(kept, time.Now)
		came := func(id string, registered, at time.Time) {
			in := instanceOf(id, "http://"+id)
			in.Origin, in.Registered = registry.OriginNode, registered
			changes := []registry.Change{{At: at, Action: registry.Added, In: in}}
			old.hear(changes)
			next.hear(changes)
		}
		ctx, stopOld := context.WithCancel(t.Context())
		go func() { _ = old.lead(ctx) }()
		synctest.Wait()
		came("long-since", time.Now().Add(-time.Hour), time.Now())
		came("written", time.Now(), time.Now())
		stopOld()
		synctest.Wait()
		came("between", time.Now(), time.Now())
		ctx, stopNext := context.WithCancel(t.Context())
		go func() { _ = next.lead(ctx) }()
		synctest.Wait()
		came("after", time.Now(), time.Now())
		stopNext()
		synctest.Wait()
		want := []string{"registered written http://written", "registered between http://between", "registered after http://after"}
		if got := kept.take(); !slices.Equal(got, want) {
			t.Errorf("recorded %q, want %q", got, want)
		}
	})
}

func TestRefusalsAreHistoryOfNodesThatExist(t *testing.T) {
	kept := &eventTable{}
	c := newChronicler(kept, time.Now)
	c.refused(fleet.Refusal{Node: "orders", Address: "10.0.0.1", Reason: fleet.WrongToken})
	c.refused(fleet.Refusal{Node: "made-up", Address: "10.0.0.1", Reason: fleet.NoSuchNode})
	if got := kept.take(); !slices.Equal(got, []string{"refused  10.0.0.1: wrong token"}) {
		t.Errorf("recorded %q", got)
	}
}
