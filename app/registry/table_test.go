package registry_test

import (
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/app/registry"
)

func atRev(id string, rev registry.Seq, location string) registry.Instance {
	in := at(id, noon, location)
	in.Rev, in.Origin, in.Status, in.Lease = rev, registry.OriginNode, registry.Up, terms
	return in
}

// A snapshot may be newer than its position says: the log behind it must not take the table back.
func TestTableNeverGoesBack(t *testing.T) {
	table := registry.NewTable(time.Now)
	table.Replace([]registry.Instance{atRev("a", 9, locB)}, 5, false)
	done := table.Apply([]registry.Change{
		{Seq: 6, Action: registry.Added, In: atRev("a", 6, locA)},
		{Seq: 7, Action: registry.Deleted, In: atRev("a", 6, locA)},
		{Seq: 9, Action: registry.Modified, In: atRev("a", 9, locB)},
	})
	if in, _ := table.View().Instance(registry.Key{App: "ORDER", ID: "a"}); in.Rev != 9 || table.View().Seq() != 9 || len(done) != 1 {
		t.Errorf("instance at revision %d, view at %d, %d changes; want 9, 9 and the last change", in.Rev, table.View().Seq(), len(done))
	}
}

func TestConfirmedBySnapshotStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := registry.NewTable(time.Now)
		a := atRev("a", 1, locA)
		table.Replace([]registry.Instance{a}, 1, false)
		table.Replace(nil, 2, true)
		if in, ok := table.View().Instance(a.Key); !ok || !in.Unconfirmed {
			t.Fatalf("after a loss: %+v %v, want the instance unconfirmed", in, ok)
		}
		if in := table.View().Node("order"); len(in) != 1 {
			t.Fatal("an unconfirmed instance is not routed to")
		}
		time.Sleep(time.Minute)
		a.Rev = 3
		table.Replace([]registry.Instance{a}, 3, false)
		time.Sleep(terms.Duration)
		gone := table.Tidy()
		if in, ok := table.View().Instance(a.Key); !ok || in.Unconfirmed || len(gone) != 0 {
			t.Errorf("a confirmed instance was dropped: %+v %v", in, gone)
		}
	})
}

func TestUnconfirmedSurvivesFurtherSnapshotsUntilItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := registry.NewTable(time.Now)
		a := atRev("a", 1, locA)
		table.Replace([]registry.Instance{a}, 1, false)
		table.Replace(nil, 2, true)
		time.Sleep(terms.Duration / 2)
		table.Replace(nil, 3, true) // a second loss grants no second lease
		if _, ok := table.View().Instance(a.Key); !ok {
			t.Error("dropped at the next snapshot, want it kept until its lease must have ended")
		}
		time.Sleep(terms.Duration / 2)
		if gone := table.Tidy(); len(gone) != 1 || gone[0].Action != registry.Deleted {
			t.Errorf("Tidy = %v, want the instance gone", gone)
		}
		if len(table.View().All()) != 0 {
			t.Error("still in the view")
		}
	})
}

func TestOldViewsStayAsTheyWere(t *testing.T) {
	table := registry.NewTable(time.Now)
	table.Apply([]registry.Change{{Seq: 1, At: time.Now(), Action: registry.Added, In: atRev("a", 1, locA)}})
	before := table.View()
	table.Apply([]registry.Change{{Seq: 2, At: time.Now(), Action: registry.Added, In: atRev("b", 2, locB)}})
	table.Apply([]registry.Change{{Seq: 3, At: time.Now(), Action: registry.Deleted, In: atRev("a", 1, locA)}})
	if len(before.All()) != 1 || len(before.Recent()) != 1 || len(before.Node("order")) != 1 || before.Seq() != 1 {
		t.Errorf("an old view changed: %v", before.All())
	}
	if got := table.View(); len(got.Recent()) != 3 || len(got.All()) != 1 {
		t.Errorf("new view: %v, recent %v", got.All(), got.Recent())
	}
}
