package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"eruptcloud/app/registry"
)

func putIsStored(t *testing.T, o Opened) {
	in := instance("A", "1")
	seq := put(t, o.Store, in, base)
	all, at := snapshot(t, o.Other)
	if got := all[in.Key]; got.Rev != seq || at != seq || seq == 0 {
		t.Errorf("stored at revision %d, snapshot at %d, want both %d and not 0", got.Rev, at, seq)
	}
	if got := end(t, o.Store, in.Key); !got.Equal(base) {
		t.Errorf("lease ends at %s, want %s", got, base)
	}
}

func fieldsSurvive(t *testing.T, o Opened) {
	at := base.Add(123456 * time.Microsecond)
	in := registry.Instance{
		Key: registry.Key{App: "ORDER-SERVICE", ID: "kQzTbW"}, NodeName: "order-service", Origin: registry.OriginNode,
		Locations: []string{"http://10.0.0.1:1", "http://[fe80::1%25eth0]:2/x"}, Status: registry.OutOfService, Override: registry.Down,
		Action: registry.Added, Lease: registry.Terms{Interval: 15 * time.Second, Duration: 10 * time.Minute},
		Registered: at, Up: at.Add(1e6), Updated: at.Add(2e6), Dirty: at.Add(3e6), Claimed: at.Add(4e6),
		Moved: &registry.Move{From: []string{"http://h"}, At: at},
		Node: &registry.NodeDetail{
			Version: "2.2.0", Addresses: []string{"http://10.0.0.1:1"}, Modules: []string{}, Erupts: []string{"<订单>", "a\"b"},
			Resources: map[string][]string{"flow": {"approve"}}, Extra: map[string]json.RawMessage{"x": json.RawMessage(`{"a":9007199254740993}`)},
			Token: "ab", Peer: "10.0.0.1",
		},
		Foreign: map[string]json.RawMessage{"zone": json.RawMessage(`"b"`)},
	}
	in.Rev = put(t, o.Store, in, base)
	all, _ := snapshot(t, o.Other)
	if diff := cmp.Diff(in, all[in.Key]); diff != "" {
		t.Errorf("snapshot differs (-put +got):\n%s", diff)
	}
	log := follow(t, o.Other, 0, atLeast(1))
	if diff := cmp.Diff(in, log[0].In); diff != "" {
		t.Errorf("log differs (-put +got):\n%s", diff)
	}
	empty := registry.Instance{Key: registry.Key{App: "B", ID: "1"}, Origin: registry.OriginEureka, Action: registry.Added}
	empty.Rev = put(t, o.Store, empty, base)
	all, _ = snapshot(t, o.Other)
	if diff := cmp.Diff(empty, all[empty.Key], cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("an instance without anything differs (-put +got):\n%s", diff)
	}
}

func stalePut(t *testing.T, o Opened) {
	in := instance("A", "1")
	first := put(t, o.Store, in, base)
	in.Rev = first
	in.Status = registry.Down
	second := put(t, o.Other, in, base)
	if second <= first {
		t.Errorf("second put at %d, want after %d", second, first)
	}
	for _, rev := range []registry.Seq{0, first} {
		in.Rev = rev
		var stale *registry.StaleError
		if _, err := o.Store.Put(t.Context(), in, base); !errors.As(err, &stale) || !stale.Found || stale.Current.Rev != second || stale.Current.Status != registry.Down {
			t.Errorf("Put at revision %d = %v, want a StaleError with revision %d", rev, err, second)
		}
	}
	missing := instance("A", "2")
	missing.Rev = first
	var stale *registry.StaleError
	if _, err := o.Store.Put(t.Context(), missing, base); !errors.As(err, &stale) || stale.Found || stale.Current.Rev != 0 {
		t.Errorf("Put of a revision of nothing = %v, want a StaleError that found nothing", err)
	}
}

func putKeepsLease(t *testing.T, o Opened) {
	in := instance("A", "1")
	in.Rev = put(t, o.Store, in, base)
	in.Locations, in.Action = nil, registry.Modified
	put(t, o.Store, in, time.Time{})
	if got := end(t, o.Store, in.Key); !got.Equal(base) {
		t.Errorf("lease ends at %s, want as before at %s", got, base)
	}
	var stale *registry.StaleError
	if _, err := o.Store.Put(t.Context(), instance("A", "2"), time.Time{}); !errors.As(err, &stale) || stale.Found {
		t.Errorf("Put without a time where nothing is = %v, want a StaleError", err)
	}
}

func renewMoves(t *testing.T, o Opened) {
	in := instance("A", "1")
	seq := put(t, o.Store, in, base)
	if err := o.Other.Renew(t.Context(), in.Key, base.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := end(t, o.Store, in.Key); !got.Equal(base.Add(time.Minute)) {
		t.Errorf("lease ends at %s, want a minute after %s", got, base)
	}
	if _, at := snapshot(t, o.Store); at != seq {
		t.Errorf("a renewal moved the log from %d to %d", seq, at)
	}
	if err := o.Store.Renew(t.Context(), registry.Key{App: "A", ID: "2"}, base); !errors.Is(err, registry.ErrNoLease) {
		t.Errorf("Renew of nothing = %v, want ErrNoLease", err)
	}
}

func removeOnce(t *testing.T, o Opened) {
	in := instance("A", "1")
	put(t, o.Store, in, base)
	if _, err := o.Other.Remove(t.Context(), in.Key, registry.Admin, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Store.Remove(t.Context(), in.Key, registry.Leave, time.Time{}); !errors.Is(err, registry.ErrNoLease) {
		t.Errorf("second Remove = %v, want ErrNoLease", err)
	}
	if err := o.Store.Renew(t.Context(), in.Key, base); !errors.Is(err, registry.ErrNoLease) {
		t.Errorf("Renew after Remove = %v, want ErrNoLease", err)
	}
	if got := end(t, o.Store, in.Key); !got.IsZero() {
		t.Errorf("a removed lease ends at %s, want the zero time", got)
	}
	all, _ := snapshot(t, o.Store)
	if len(all) != 0 {
		t.Errorf("snapshot still has %v", all)
	}
	log := follow(t, o.Store, 0, atLeast(2))
	last := log[len(log)-1]
	if len(log) != 2 || last.Action != registry.Deleted || last.Reason != registry.Admin || len(last.In.Locations) != 1 {
		t.Errorf("log is %+v, want an entry that tells who was removed and why", log)
	}
	put(t, o.Store, in, base) // and the key is free again
}

func renewBeatsExpiry(t *testing.T, o Opened) {
	in := instance("A", "1")
	put(t, o.Store, in, base)
	if err := o.Store.Renew(t.Context(), in.Key, base.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Store.Remove(t.Context(), in.Key, registry.Expiry, base.Add(time.Second)); !errors.Is(err, registry.ErrNoLease) {
		t.Errorf("Remove by expiry of a renewed lease = %v, want ErrNoLease", err)
	}
	if _, err := o.Store.Remove(t.Context(), in.Key, registry.Expiry, base.Add(time.Minute)); err != nil {
		t.Errorf("Remove of a lease that had run out: %v", err)
	}
}

func expiredByOrigin(t *testing.T, o Opened) {
	for i := range 5 {
		in := instance("A", fmt.Sprint(i))
		if i == 4 {
			in.Origin = registry.OriginEureka
		}
		put(t, o.Store, in, base.Add(time.Duration(i)*time.Second))
	}
	list := func(origin registry.Origin, at time.Time, limit int) int {
		keys, err := o.Other.Expired(t.Context(), origin, at, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if got := end(t, o.Store, k); got.After(at) {
				t.Errorf("%v is listed as ended at %s although its lease ends at %s", k, at, got)
			}
		}
		return len(keys)
	}
	got := []int{
		list(registry.OriginNode, base.Add(-1), 10), list(registry.OriginNode, base, 10), list(registry.OriginNode, base.Add(time.Hour), 10),
		list(registry.OriginNode, base.Add(time.Hour), 2), list(registry.OriginEureka, base.Add(time.Hour), 10),
	}
	if diff := cmp.Diff([]int{0, 1, 4, 2, 1}, got); diff != "" {
		t.Errorf("ended leases (-want +got):\n%s", diff)
	}
}

func renewalsCount(t *testing.T, o Opened) {
	in := instance("A", "1")
	put(t, o.Store, in, base)
	before := time.Now()
	for range 3 {
		if err := o.Store.Renew(t.Context(), in.Key, base); err != nil {
			t.Fatal(err)
		}
	}
	count := func(origin registry.Origin, at time.Time) int {
		n, err := o.Other.Renewals(t.Context(), origin, at)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	got := count(registry.OriginNode, before.Add(time.Minute))
	if after := time.Now(); after.Unix()/60 != before.Unix()/60 { // the minute ended meanwhile
		got += count(registry.OriginNode, after.Add(time.Minute))
	}
	if got != 3 || count(registry.OriginEureka, before.Add(time.Minute)) != 0 {
		t.Errorf("counted %d renewals of nodes in their minute, want 3, and none of the other origin", got)
	}
}

func oneWinner(t *testing.T, o Opened) {
	in := instance("A", "1")
	put(t, o.Store, in, base)
	const writers, rounds = 8, 10
	var wg sync.WaitGroup
	var mu sync.Mutex
	wins := map[registry.Seq]bool{}
	for w := range writers {
		store := o.Store
		if w%2 == 1 {
			store = o.Other
		}
		wg.Go(func() {
			mine := in
			for won := 0; won < rounds; {
				seq, err := store.Put(t.Context(), mine, base)
				var stale *registry.StaleError
				switch {
				case errors.As(err, &stale):
					mine = stale.Current
				case err != nil:
					t.Error(err)
					return
				default:
					mu.Lock()
					wins[seq] = true
					mu.Unlock()
					won++
				}
			}
		})
	}
	wg.Wait()
	log := follow(t, o.Store, 0, atLeast(1+writers*rounds))
	if len(log) != 1+writers*rounds || len(wins) != writers*rounds {
		t.Errorf("%d writes won at %d positions and left %d log entries, want %d, %d and %d", writers*rounds, len(wins), len(log),
			writers*rounds, writers*rounds, 1+writers*rounds)
	}
}

func endedContext(t *testing.T, o Opened) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := instance("A", "1")
	_, putErr := o.Store.Put(ctx, in, base)
	_, _, snapErr := o.Store.Snapshot(ctx)
	if putErr == nil || snapErr == nil || o.Store.Renew(ctx, in.Key, base) == nil {
		t.Error("a call with an ended context succeeded")
	}
	if all, _ := snapshot(t, o.Store); len(all) != 0 {
		t.Errorf("an ended call stored %v", all)
	}
	if err := o.Store.Follow(ctx, 0, func([]registry.Change) {}); err != nil {
		t.Errorf("Follow with an ended context = %v, want nil", err)
	}
}

func oddKeys(t *testing.T, o Opened) {
	for _, k := range []registry.Key{
		{App: "A", ID: "x@10.0.0.5:8081_shop"}, {App: "A:B", ID: "a b"}, {App: "订单", ID: "编号"}, {App: "A{1}", ID: "*?[a]\\\n\r"}, {App: "A", ID: "1\x00"},
	} {
		in := instance(k.App, k.ID)
		in.Key = k
		put(t, o.Store, in, base)
		all, _ := snapshot(t, o.Other)
		if _, ok := all[k]; !ok {
			t.Errorf("snapshot lacks %q", k)
		}
		if keys, err := o.Store.Expired(t.Context(), registry.OriginNode, base, 10); err != nil || len(keys) != 1 || keys[0] != k {
			t.Errorf("Expired = %q, %v, want %q", keys, err, k)
		}
		if _, err := o.Store.Remove(t.Context(), k, registry.Leave, base); err != nil {
			t.Errorf("Remove(%q): %v", k, err)
		}
	}
}
