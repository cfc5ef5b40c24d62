package registry_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/app/registry"
)

// notes is an EntryWriter that remembers what it was told.
type notes struct {
	mu      sync.Mutex
	entries map[string][]string // node → its routed locations when last written
	calls   []string
	fails   bool
}

func (n *notes) note(call string) error {
	n.calls = append(n.calls, call)
	if n.fails {
		return errors.New("entries are down")
	}
	return nil
}

func (n *notes) Write(_ context.Context, node string, v *registry.View, _ ...string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.entries[node] = routed(v, node)
	return n.note("write " + node)
}

func (n *notes) Touch(_ context.Context, node string, _ ...string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.entries[node]; !ok {
		_ = n.note("touch " + node)
		return registry.ErrNoEntry
	}
	return n.note("touch " + node)
}

func (n *notes) Drop(context.Context, string) error { return nil }

func (n *notes) Wrong(_ context.Context, nodes []string, v *registry.View) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var wrong []string
	for _, node := range nodes {
		if !slices.Equal(n.entries[node], routed(v, node)) {
			wrong = append(wrong, node)
		}
	}
	return wrong, nil
}

func (n *notes) set(node string, locations ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.entries[node] = locations
}

func (n *notes) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	calls := n.calls
	n.calls = nil
	return calls
}

func TestNodeEntriesFollowTheRegistry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notes{entries: map[string][]string{}}
		r := start(t, registry.Options{Store: newStore(), Lease: terms, Entries: n})
		run(t, (&registry.Evictor{Registry: r}).Run)
		register(t, r, describe("order", "one", locA))
		want(t, "entry after a registration", n.entries["order"], []string{locA})
		n.take()
		register(t, r, describe("order", "one", locA))
		want(t, "calls of a beat", n.take(), []string{"touch order"})
		delete(n.entries, "order") // expired or evicted
		register(t, r, describe("order", "one", locA))
		want(t, "calls of a beat without an entry", n.take(), []string{"touch order", "write order"})
		register(t, r, describe("order", "two", locB))
		if _, err := r.RemoveLocations(t.Context(), "ORDER", []string{locA}, registry.Leave); err != nil {
			t.Fatal(err)
		}
		want(t, "entry after a removal", n.entries["order"], []string{locB})
		if err := r.Drain(t.Context(), "order", []string{locB}, time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		want(t, "entry after a drain", n.entries["order"], []string{})
		register(t, r, describe("order", "three", locC))
		time.Sleep(2 * terms.Duration)
		synctest.Wait()
		want(t, "entry after an expiry", n.entries["order"], []string{})
		n.fails = true
		register(t, r, describe("order", "four", locC)) // an entry that cannot be written refuses nobody
	})
}

// A12: the survey, with the patrol, puts right what was missed.
func TestSurvey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &notes{entries: map[string][]string{}}
		r := start(t, registry.Options{Store: newStore(), Lease: terms, Entries: n})
		register(t, r, describe("order", "one", locA))
		register(t, r, describe("stock", "one", locB))
		delete(n.entries, "stock")
		n.take()
		names := func(context.Context) ([]string, error) { return []string{"order", "stock"}, nil }
		run(t, (&registry.Surveyor{Registry: r, Names: names, Interval: 2 * time.Minute}).Run)
		synctest.Wait()
		want(t, "rewritten", n.take(), []string{"write stock"})
		n.set("order", "http://elsewhere")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		want(t, "rewritten", n.take(), []string{"write order"})
	})
}
