package fleet_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/app/testbed"
)

func TestGroupTree(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, c *clock) {
		root := mustGroup(t, f, fleet.NewGroup{Code: "root", Name: "Wurzel", Remark: "r", Config: `{"a":1}`, By: "li"})
		want := fleet.Group{ID: root.ID, Code: "root", Name: "Wurzel", Remark: "r", Config: `{"a":1}`, Revision: 1, Created: c.Now(), Updated: c.Now(), UpdatedBy: "li"}
		if root != want {
			t.Errorf("Create = %+v, want %+v", root, want)
		}
		mid := mustGroup(t, f, fleet.NewGroup{Code: "mid", Parent: "root"})
		leaf := mustGroup(t, f, fleet.NewGroup{Code: "leaf", Parent: "mid"})
		if mid.ParentID != root.ID || leaf.Parent != "mid" || leaf.Name != "leaf" {
			t.Errorf("tree %+v %+v, want leaf below mid below root", mid, leaf)
		}
		for _, parent := range []string{"root", "mid", "leaf"} {
			_, err := f.Groups.Update(t.Context(), "root", fleet.GroupPatch{Parent: &parent})
			wantFault(t, "root below "+parent, err, fault.Invalid, "itself or below it")
		}
		_, err := f.Groups.Update(t.Context(), "leaf", fleet.GroupPatch{Parent: ptr("nope")})
		wantFault(t, "an unknown parent", err, fault.Invalid, "nope")
		_, err = f.Groups.Create(t.Context(), fleet.NewGroup{Code: "x", Parent: "nope"})
		wantFault(t, "an unknown parent", err, fault.Invalid, "nope")
		_, err = f.Groups.Update(t.Context(), "nope", fleet.GroupPatch{})
		wantFault(t, "an unknown group", err, fault.NotFound, "nope")
		c.Advance(time.Minute)
		moved, err := f.Groups.Update(t.Context(), "leaf", fleet.GroupPatch{Parent: ptr("root"), Name: ptr(""), Remark: ptr("moved"), By: "wang"})
		if err != nil || moved.ParentID != root.ID || moved.Name != "leaf" || moved.Remark != "moved" || moved.UpdatedBy != "wang" || !moved.Updated.Equal(c.Now()) {
			t.Errorf("Update = %+v, %v", moved, err)
		}
		if read, err := f.Groups.ByCode(t.Context(), "leaf"); err != nil || read != moved {
			t.Errorf("ByCode = %+v, %v; want %+v", read, err, moved)
		}
		list, err := f.Groups.List(t.Context())
		if err != nil || len(list) != 3 || list[0].Code != "leaf" || list[0] != moved || list[2].Code != "root" {
			t.Errorf("List = %+v, %v; want the three by code", list, err)
		}
	})
}

func TestGroupsInUseStay(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		f, _ := open(t, db)
		mustGroup(t, f, fleet.NewGroup{Code: "root", Config: "{}"})
		mustGroup(t, f, fleet.NewGroup{Code: "leaf", Parent: "root"})
		mustNode(t, f, fleet.NewNode{Name: "n", Group: "leaf"})
		wantFault(t, "a parent", f.Groups.Delete(t.Context(), "root", "li"), fault.Conflict, `"root" still has a group in it; move it first`)
		wantFault(t, "a group with nodes", f.Groups.Delete(t.Context(), "leaf", "li"), fault.Conflict, `"leaf" still has a node in it; move it first`)
		mustNode(t, f, fleet.NewNode{Name: "m", Group: "leaf"})
		mustNode(t, f, fleet.NewNode{Name: "k", Group: "root"})
		wantFault(t, "a group with two nodes", f.Groups.Delete(t.Context(), "leaf", "li"), fault.Conflict, `"leaf" still has 2 nodes in it; move them first`)
		wantFault(t, "one of each", f.Groups.Delete(t.Context(), "root", "li"), fault.Conflict, `"root" still has a node and a group in it; move them first`)
		for _, name := range []string{"n", "m", "k"} {
			if err := f.Nodes.Delete(t.Context(), name, ""); err != nil {
				t.Fatal(err)
			}
		}
		for _, code := range []string{"leaf", "root"} {
			if err := f.Groups.Delete(t.Context(), code, "li"); err != nil {
				t.Fatal(err)
			}
		}
		wantFault(t, "deleted again", f.Groups.Delete(t.Context(), "root", "li"), fault.NotFound, "root")
		ctx := t.Context()
		if n := db.Client.Group.Query().CountX(ctx) + db.Client.GroupExtra.Query().CountX(ctx) + db.Client.ConfigRevision.Query().CountX(ctx); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// TestParallelMovesMakeNoCycle: each move is right by itself, all together would close a circle.
func TestParallelMovesMakeNoCycle(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, _ *clock) {
		const n = 6
		for i := range n {
			mustGroup(t, f, fleet.NewGroup{Code: fmt.Sprint("g", i)})
		}
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				_, err := f.Groups.Update(t.Context(), fmt.Sprint("g", i), fleet.GroupPatch{Parent: ptr(fmt.Sprint("g", (i+1)%n))})
				if err != nil && !fault.Is(err, fault.Invalid) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		groups, err := f.Groups.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		roots := 0
		for _, g := range groups {
			if g.ParentID == 0 {
				roots++
			}
		}
		if roots != 1 {
			t.Errorf("%d roots, want the one whose move was refused", roots)
		}
	})
}

// TestDeleteAgainstAssign: a group is deleted while a node moves into it; one of the two is refused.
func TestDeleteAgainstAssign(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, _ *clock) {
		mustNode(t, f, fleet.NewNode{Name: "n"})
		for i := range 10 {
			code := fmt.Sprint("g", i)
			mustGroup(t, f, fleet.NewGroup{Code: code})
			var moved, deleted error
			var wg sync.WaitGroup
			wg.Go(func() { _, moved = f.Nodes.Update(t.Context(), "n", fleet.NodePatch{Group: &code}) })
			wg.Go(func() { deleted = f.Groups.Delete(t.Context(), code, "") })
			wg.Wait()
			n, err := f.Nodes.ByName(t.Context(), "n")
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case moved == nil && fault.Is(deleted, fault.Conflict) && n.Group == code:
			case deleted == nil && fault.Is(moved, fault.Invalid) && n.Group != code:
			default:
				t.Errorf("moved: %v, deleted: %v, node in %q", moved, deleted, n.Group)
			}
		}
	})
}

func TestHolds(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, c *clock) {
		mustNode(t, f, fleet.NewNode{Name: "n"})
		want := fleet.Hold{Node: "n", Location: "http://10.0.0.1:8080/a", Reason: "slow disk", Account: "li", Created: c.Now()}
		got, err := f.Holds.Set(t.Context(), fleet.Hold{Node: "n", Location: want.Location, Reason: "slow disk", Account: "li"})
		if err != nil || got != want {
			t.Errorf("Set = %+v, %v; want %+v", got, err, want)
		}
		c.Advance(time.Minute)
		again, err := f.Holds.Set(t.Context(), fleet.Hold{Node: "n", Location: want.Location, Reason: "other", Account: "wang"})
		if err != nil || again != want {
			t.Errorf("set again: %+v, %v; want the hold that is there", again, err)
		}
		if _, err := f.Holds.Set(t.Context(), fleet.Hold{Node: "n", Location: "http://10.0.0.1:8080", Account: "li"}); err != nil {
			t.Fatal(err)
		}
		if held, ok := f.Holds.Held("n", want.Location); !ok || held != want {
			t.Errorf("Held = %+v, %v", held, ok)
		}
		if _, ok := f.Holds.Held("n", want.Location+" "); ok {
			t.Error("another location is held too")
		}
		of, err := f.Holds.Of(t.Context(), "n")
		if err != nil || len(of) != 2 || of[1] != want {
			t.Errorf("Of = %+v, %v; want both by location", of, err)
		}
		wantFault(t, "another spelling", f.Holds.Lift(t.Context(), "n", want.Location+" ", "li"), fault.NotFound, "is not held")
		if err := f.Holds.Lift(t.Context(), "n", want.Location, "li"); err != nil {
			t.Fatal(err)
		}
		wantFault(t, "lifted again", f.Holds.Lift(t.Context(), "n", want.Location, "li"), fault.NotFound, "is not held")
		if _, ok := f.Holds.Held("n", want.Location); ok {
			t.Error("still held")
		}
		_, err = f.Holds.Set(t.Context(), fleet.Hold{Node: "nobody", Location: "http://a", Account: "li"})
		wantFault(t, "an unknown node", err, fault.NotFound, "nobody")
		_, err = f.Holds.Set(t.Context(), fleet.Hold{Node: "n", Account: "li"})
		wantFault(t, "no location", err, fault.Invalid, "location")
	})
}

func TestParallelHolds(t *testing.T) {
	onEach(t, func(t *testing.T, f *fleet.Fleet, _ *clock) {
		mustNode(t, f, fleet.NewNode{Name: "n"})
		var mu sync.Mutex
		seen := map[fleet.Hold]bool{}
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				h, err := f.Holds.Set(t.Context(), fleet.Hold{Node: "n", Location: "http://a", Account: fmt.Sprint("e", i)})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				seen[h] = true
			})
		}
		wg.Wait()
		if of, err := f.Holds.Of(t.Context(), "n"); err != nil || len(of) != 1 || len(seen) != 1 {
			t.Errorf("%d holds, %d answers, %v; want one, and everybody told of it", len(of), len(seen), err)
		}
	})
}
