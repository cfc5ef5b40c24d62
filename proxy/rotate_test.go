package proxy

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestRotate(t *testing.T) { // A13: none, one, several
	tests := map[string]struct {
		items []string
		want  [][]string
	}{
		"none": {nil, [][]string{nil, nil}},
		"one":  {[]string{"a"}, [][]string{{"a"}, {"a"}, {"a"}}},
		"two":  {[]string{"a", "b"}, [][]string{{"a", "b"}, {"b", "a"}, {"a", "b"}}},
		"three": {[]string{"a", "b", "c"}, [][]string{
			{"a", "b", "c"}, {"b", "c", "a"}, {"c", "a", "b"}, {"a", "b", "c"}, // a full turn comes back to the start
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var c Cursor
			before := slices.Clone(tt.items)
			for turn, want := range tt.want {
				if got := Rotate(&c, tt.items); !slices.Equal(got, want) {
					t.Errorf("turn %d: %v, want %v", turn, got, want)
				}
			}
			if !slices.Equal(tt.items, before) {
				t.Errorf("the items are now %v", tt.items)
			}
		})
	}
}

func TestRotateLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfDistinct(rapid.IntRange(0, 50), rapid.ID).Draw(t, "items")
		turns := rapid.IntRange(0, 100).Draw(t, "turns")
		var c Cursor
		for range turns {
			Rotate(&c, items)
		}
		got := Rotate(&c, items)
		if len(items) > 1 && got[0] != items[turns%len(items)] {
			t.Errorf("after %d turns of %v the choice is %d", turns, items, got[0])
		}
		if a, b := slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(items)); !slices.Equal(a, b) {
			t.Errorf("%v became %v", items, got)
		}
	})
}

// Two nodes that take turns do not starve an instance (deviation 3), and concurrent requests are spread evenly.
func TestCursors(t *testing.T) {
	var all Cursors
	items := []string{"a", "b"}
	for turn := range 4 {
		for _, node := range []string{"shop", "bank"} {
			if got := Rotate(all.Of(node), items)[0]; got != items[turn%2] {
				t.Errorf("turn %d of %s: %s", turn, node, got)
			}
		}
	}
	var mu sync.Mutex
	chosen := map[string]int{}
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 100 {
				got := Rotate(all.Of("shop"), items)[0]
				mu.Lock()
				chosen[got]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if chosen["a"] != 500 || chosen["b"] != 500 {
		t.Errorf("chosen %v, want 500 each", chosen)
	}
}

func TestRoundRobinThroughTheProxy(t *testing.T) {
	a, b := newFakeNode(t, nil), newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.rotates = true
	rig.dir.set("shop", a.URL, b.URL)
	for range 10 {
		rig.get("/erupt-api/data/tree/shop.X", "shop.X")
	}
	if na, nb := len(a.requests()), len(b.requests()); na != 5 || nb != 5 {
		t.Errorf("asked %d and %d times, want 5 each", na, nb)
	}
}
