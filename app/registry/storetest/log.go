package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"eruptcloud/app/registry"
)

// follow collects the changes after seq until enough says so; ten seconds without them fail the test.
func follow(t *testing.T, s registry.Store, seq registry.Seq, enough func([]registry.Change) bool) []registry.Change {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var all []registry.Change
	err := s.Follow(ctx, seq, func(batch []registry.Change) {
		all = append(all, batch...)
		if enough(all) {
			cancel()
		}
	})
	if err != nil {
		t.Fatalf("Follow(%d): %v", seq, err)
	}
	if !enough(all) {
		t.Fatalf("Follow(%d) gave only %v", seq, all)
	}
	return all
}

func atLeast(n int) func([]registry.Change) bool {
	return func(all []registry.Change) bool { return len(all) >= n }
}

func followOrder(t *testing.T, o Opened) {
	var want []registry.Seq
	for i := range 20 {
		want = append(want, put(t, o.Store, instance("A", fmt.Sprint(i)), base))
	}
	log := follow(t, o.Store, 0, atLeast(20))
	var got []registry.Seq
	for _, c := range log {
		got = append(got, c.Seq)
		if c.Action != registry.Added || c.In.Rev != c.Seq || c.At.IsZero() {
			t.Errorf("entry %+v, want Added, the revision equal to the position, and a time", c)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("positions (-put +followed):\n%s", diff)
	}
}

func followOther(t *testing.T, o Opened) {
	ctx, cancel := context.WithCancel(t.Context())
	alive, got := make(chan struct{}), make(chan registry.Change, 10)
	var once sync.Once
	done := make(chan error, 1)
	go func() {
		done <- o.Other.Follow(ctx, 0, func(batch []registry.Change) {
			once.Do(func() { close(alive) }) // a call without changes: it is there and waits
			for _, c := range batch {
				got <- c
			}
		})
	}()
	<-alive
	seq := put(t, o.Store, instance("A", "1"), base)
	if c := <-got; c.Seq != seq {
		t.Errorf("followed position %d, want %d", c.Seq, seq)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Follow at its context's end = %v, want nil", err)
	}
}

func followFrom(t *testing.T, o Opened) {
	put(t, o.Store, instance("A", "1"), base)
	_, at := snapshot(t, o.Store)
	second := put(t, o.Store, instance("A", "2"), base)
	log := follow(t, o.Store, at, atLeast(1))
	if len(log) != 1 || log[0].Seq != second {
		t.Errorf("after position %d came %v, want only %d", at, log, second)
	}
}

func trimmedLog(t *testing.T, o Opened) {
	at := put(t, o.Store, instance("A", "1"), base)
	put(t, o.Store, instance("A", "2"), base)
	put(t, o.Store, instance("A", "3"), base)
	o.Trim()
	put(t, o.Store, instance("A", "4"), base)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := o.Store.Follow(ctx, at, func(batch []registry.Change) {
		if len(batch) > 0 {
			t.Errorf("Follow across a gap gave %v", batch)
		}
	})
	if !errors.Is(err, registry.ErrLogGap) || errors.Is(err, registry.ErrStoreLost) {
		t.Errorf("Follow from a position that the log has lost = %v, want ErrLogGap and no loss of data", err)
	}
	all, now := snapshot(t, o.Store)
	if len(all) != 4 {
		t.Errorf("snapshot after the gap has %d instances, want 4", len(all))
	}
	seq := put(t, o.Store, instance("A", "5"), base)
	if log := follow(t, o.Store, now, atLeast(1)); log[0].Seq != seq {
		t.Errorf("following goes on with %v, want %d", log, seq)
	}
}

func lostData(t *testing.T, o Opened) {
	if o.Lose == nil {
		t.Log("this store ends with its process")
		return
	}
	put(t, o.Store, instance("A", "1"), base)
	_, at := snapshot(t, o.Store)
	lost := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return o.Store.Follow(ctx, at, func(batch []registry.Change) {
			if len(batch) > 0 {
				t.Errorf("Follow after a loss gave %v", batch)
			}
		})
	}
	o.Lose()
	if err := lost(); !errors.Is(err, registry.ErrStoreLost) {
		t.Errorf("Follow after a loss = %v, want ErrStoreLost", err)
	}
	if err := o.Store.Renew(t.Context(), registry.Key{App: "A", ID: "1"}, base); !errors.Is(err, registry.ErrNoLease) {
		t.Errorf("Renew after a loss = %v, want ErrNoLease", err)
	}
	put(t, o.Other, instance("A", "2"), base)
	if err := lost(); !errors.Is(err, registry.ErrStoreLost) {
		t.Errorf("Follow after a loss and a write = %v, want ErrStoreLost", err)
	}
	if all, _ := snapshot(t, o.Store); len(all) != 1 {
		t.Errorf("snapshot after the loss has %v, want what was written since", all)
	}
}

func garbled(t *testing.T, o Opened) {
	if o.Garble == nil {
		t.Log("this store keeps no text")
		return
	}
	in := instance("A", "1")
	in.Rev = put(t, o.Store, in, base)
	put(t, o.Store, instance("A", "2"), base)
	o.Garble(in.Key)
	if all, _ := snapshot(t, o.Store); len(all) != 1 {
		t.Errorf("snapshot has %v, want the readable instance", all)
	}
	in.Rev = 0
	_, err := o.Store.Put(t.Context(), in, base)
	var stale *registry.StaleError
	if errors.As(err, &stale) { // its revision can be read: overwrite that
		if stale.Found {
			t.Errorf("Put over garbage found %+v", stale.Current)
		}
		in.Rev = stale.Current.Rev
		put(t, o.Store, in, base)
	} else if err != nil {
		t.Fatal(err)
	}
	if all, _ := snapshot(t, o.Store); len(all) != 2 {
		t.Errorf("snapshot has %v, want both", all)
	}
}

func snapshotAndLog(t *testing.T, o Opened) {
	const apps, ids = 4, 25
	var wg sync.WaitGroup
	for a := range apps {
		wg.Go(func() {
			for i := range ids {
				in := instance(fmt.Sprintf("APP%d", a), fmt.Sprint(i))
				if _, err := o.Store.Put(t.Context(), in, base); err != nil {
					t.Error(err)
				}
				if i%5 == 4 {
					if _, err := o.Store.Remove(t.Context(), in.Key, registry.Leave, time.Time{}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all, at := snapshot(t, o.Other)
	wg.Wait()
	want, last := snapshot(t, o.Store)
	if at < last {
		for _, c := range follow(t, o.Other, at, func(log []registry.Change) bool { return len(log) > 0 && log[len(log)-1].Seq >= last }) {
			if c.Action == registry.Deleted {
				delete(all, c.In.Key)
			} else if all[c.In.Key].Rev < c.Seq {
				all[c.In.Key] = c.In
			}
		}
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("snapshot at %d and the log up to %d (-stored +followed):\n%s", at, last, diff)
	}
}
