// Package storetest is the contract of registry.Store as tests: every store passes all of them.
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

// Opened is one fresh store with what a test can do to it.
type Opened struct {
	Store registry.Store
	Other registry.Store // the same data as another replica sees it
	Trim  func()         // makes the log forget all that it has
	Lose  func()         // loses all data behind the store's back; nil if it cannot
	// Garble makes what is stored of k unreadable; nil if that cannot happen.
	Garble func(k registry.Key)
}

// Run runs the contract. open is called once for each test.
func Run(t *testing.T, open func(t *testing.T) Opened) {
	tests := map[string]func(t *testing.T, o Opened){
		"a put is stored with its log position":            putIsStored,
		"every field survives":                             fieldsSurvive,
		"a put of an older revision is refused":            stalePut,
		"a put without a time leaves the lease alone":      putKeepsLease,
		"a renewal moves the end of a lease":               renewMoves,
		"a removal is logged once":                         removeOnce,
		"a renewal wins over an expiry":                    renewBeatsExpiry,
		"one origin's ended leases are listed":             expiredByOrigin,
		"renewals are counted by origin and minute":        renewalsCount,
		"follow gives the log in order":                    followOrder,
		"follow gives what another replica writes":         followOther,
		"follow goes on from a position":                   followFrom,
		"a trimmed log is a gap":                           trimmedLog,
		"lost data is a loss":                              lostData,
		"an unreadable instance is absent until rewritten": garbled,
		"of writers at once one wins each revision":        oneWinner,
		"a snapshot and the log after it give all":         snapshotAndLog,
		"a call whose context has ended changes nothing":   endedContext,
		"no letter of an id or app is special":             oddKeys,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

var base = time.Date(2026, 7, 20, 9, 15, 2, 0, time.UTC)

func instance(app, id string) registry.Instance {
	return registry.Instance{
		Key: registry.Key{App: app, ID: id}, NodeName: "n", Origin: registry.OriginNode, Action: registry.Added, Status: registry.Up,
		Locations: []string{"http://10.0.0.1:1/" + id},
	}
}

func put(t *testing.T, s registry.Store, in registry.Instance, until time.Time) registry.Seq {
	t.Helper()
	seq, err := s.Put(t.Context(), in, until)
	if err != nil {
		t.Fatalf("Put(%v): %v", in.Key, err)
	}
	return seq
}

func snapshot(t *testing.T, s registry.Store) (map[registry.Key]registry.Instance, registry.Seq) {
	t.Helper()
	all, seq, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatalf("Snapshot: %v", err)
	}
	byKey := map[registry.Key]registry.Instance{}
	for _, in := range all {
		byKey[in.Key] = in
	}
	if len(byKey) != len(all) {
		t.Errorf("Snapshot returned %d instances under %d keys", len(all), len(byKey))
	}
	return byKey, seq
}

func end(t *testing.T, s registry.Store, k registry.Key) time.Time {
	t.Helper()
	ends, err := s.Ends(t.Context(), k)
	if err != nil || len(ends) != 1 {
		t.Fatalf("Ends(%v) = %v, %v", k, ends, err)
	}
	return ends[0]
}

// follow collects changes after seq until enough says so, or two seconds went by without them.
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
		t.Skip("this store ends with its process")
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
		t.Skip("this store keeps no text")
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
