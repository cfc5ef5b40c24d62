// Package storetest is the contract of registry.Store as tests: every store passes all of them.
package storetest

import (
	"testing"
	"time"

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
