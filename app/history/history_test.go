package history_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"eruptcloud/app/database"
	"eruptcloud/app/history"
	"eruptcloud/app/testbed"
)

func TestMain(m *testing.M) {
	// the testbed waits for its servers, which live as long as we do
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("eruptcloud/app/testbed.start.func1"))
}

var start = time.Date(2026, 3, 1, 10, 2, 0, 123456000, time.UTC)

// write records events and waits until they are written, which the end of Run does.
func write(t *testing.T, h *history.History, events ...history.Event) {
	t.Helper()
	for _, e := range events {
		h.Record(e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, h *history.History, f history.Filter) ([]string, int) {
	t.Helper()
	events, total, err := h.List(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range events {
		out = append(out, e.Node+" "+string(e.Kind)+" "+e.Instance)
	}
	return out, total
}

func TestEventsComeBackAsTheyWere(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		h := history.New(history.Options{DB: db, Now: func() time.Time { return start }})
		want := history.Event{
			Node: "orders", Instance: "i1", Location: "http://10.0.0.1:8080", Kind: history.Drained, Reason: "发布 🙂\nsecond line",
			Account: "lin", Version: "2.0.4",
		}
		write(t, h, want, history.Event{Kind: history.Held}, history.Event{Node: "x", Kind: history.Left, At: start.Add(time.Second), Reason: "a\x1b[31m\u202eb"})
		got, total, err := h.List(t.Context(), history.Filter{})
		if err != nil || total != 2 {
			t.Fatalf("List = %+v, %d, %v; want two: an event of no node is none", got, total, err)
		}
		want.ID, want.At = got[1].ID, start
		if got[1] != want {
			t.Errorf("event %+v, want %+v", got[1], want)
		}
		if got[0].Reason != "a[31mb" || !got[0].At.Equal(start.Add(time.Second)) {
			t.Errorf("event %+v, want its reason without what deceives", got[0])
		}
	})
}

// TestOnlyTheNewestAreKept: of each node and of all (S83).
func TestOnlyTheNewestAreKept(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		h := history.New(history.Options{DB: db, PerNode: 3, InAll: 7, OfEach: 1})
		for i := range 5 {
			write(t, h, history.Event{Node: "a", Kind: history.Registered, Instance: fmt.Sprint("i", i)})
		}
		if got, total := list(t, h, history.Filter{Node: "a"}); total != 3 || got[0] != "a registered i4" || got[2] != "a registered i2" {
			t.Errorf("%d of one node: %q, want the three newest", total, got)
		}
		for i := range 6 {
			write(t, h, history.Event{Node: fmt.Sprint("n", i), Kind: history.Left})
		}
		if got, total := list(t, h, history.Filter{}); total != 7 || got[0] != "n5 left " || got[6] != "a registered i4" {
			t.Errorf("%d in all: %q, want the seven newest", total, got)
		}
		// A batch that is larger than a bound loses its own oldest.
		h = history.New(history.Options{DB: db, PerNode: 3, InAll: 12})
		var many []history.Event
		for i := range 10 {
			many = append(many, history.Event{Node: "b", Kind: history.Changed, Instance: fmt.Sprint("i", i)})
		}
		write(t, h, many...)
		if got, total := list(t, h, history.Filter{Node: "b"}); total != 3 || got[0] != "b changed i9" {
			t.Errorf("%d of one batch: %q, want its three newest", total, got)
		}
	})
}

// TestQuietNodesKeepTheirLastEvents: nodes that flap push out one another's events, not the last ones of nodes that are still; and
// however many names there are, the table ends (S83).
func TestQuietNodesKeepTheirLastEvents(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		h := history.New(history.Options{DB: db, PerNode: 50, InAll: 100, OfEach: 5})
		for i := range 8 {
			write(t, h, history.Event{Node: "quiet", Kind: history.Registered, Instance: fmt.Sprint("i", i)})
		}
		for round := range 30 {
			var batch []history.Event
			for i := range 10 {
				batch = append(batch, history.Event{Node: fmt.Sprint("flaps", i), Kind: history.Changed, Instance: fmt.Sprint(round)})
			}
			write(t, h, batch...)
		}
		if got, total := list(t, h, history.Filter{Node: "quiet"}); total != 5 || got[0] != "quiet registered i7" {
			t.Errorf("%d of the node that is still: %q, want its last five", total, got)
		}
		if _, total := list(t, h, history.Filter{}); total > 110 {
			t.Errorf("%d in all, want the bound and a tenth at most", total)
		}
		if got, _ := list(t, h, history.Filter{Node: "flaps3"}); got[0] != "flaps3 changed 29" {
			t.Errorf("the newest of a node that flaps is %q", got[0])
		}
		var many []history.Event
		for i := range 700 {
			many = append(many, history.Event{Node: fmt.Sprint("name", i), Kind: history.Created})
		}
		write(t, h, many...)
		if _, total := list(t, h, history.Filter{}); total > 310 {
			t.Errorf("%d events of ever new names, want three times the bound at most", total)
		}
	})
}

func TestFilters(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		h := history.New(history.Options{DB: db})
		write(t, h,
			history.Event{Node: "a", Instance: "i1", Kind: history.Registered, Location: "http://10.0.0.1:80", At: start},
			history.Event{Node: "a", Instance: "i2", Kind: history.Registered, At: start.Add(1 * time.Minute)},
			history.Event{Node: "b", Instance: "i1", Kind: history.Left, Reason: "Said 100% goodbye", At: start.Add(2 * time.Minute)},
			history.Event{Node: "c", Instance: "i9", Kind: history.Held, Account: "Lin", At: start.Add(3 * time.Minute)},
		)
		all, _, err := h.List(t.Context(), history.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		tests := map[string]struct {
			f     history.Filter
			want  []string
			total int
		}{
			"a node":              {history.Filter{Node: "a"}, []string{"a registered i2", "a registered i1"}, 2},
			"any of some nodes":   {history.Filter{Nodes: []string{"a", "c"}, PageSize: 2}, []string{"c held i9", "a registered i2"}, 3},
			"no node at all":      {history.Filter{Nodes: []string{}}, nil, 0},
			"one of those only":   {history.Filter{Node: "b", Nodes: []string{"a"}}, nil, 0},
			"an instance":         {history.Filter{Instance: "i1"}, []string{"b left i1", "a registered i1"}, 2},
			"kinds":               {history.Filter{Kinds: []history.Kind{history.Held, history.Left}}, []string{"c held i9", "b left i1"}, 2},
			"a word, any case":    {history.Filter{Query: "GOODBYE"}, []string{"b left i1"}, 1},
			"a sign that matches": {history.Filter{Query: "100% g"}, []string{"b left i1"}, 1},
			"a sign that doesn't": {history.Filter{Query: "1%0"}, nil, 0},
			"an account":          {history.Filter{Query: "lin"}, []string{"c held i9"}, 1},
			"an address":          {history.Filter{Query: "10.0.0.1"}, []string{"a registered i1"}, 1},
			"a time":              {history.Filter{From: start.Add(time.Minute), To: start.Add(3 * time.Minute)}, []string{"b left i1", "a registered i2"}, 2},
			"before an event":     {history.Filter{Before: all[1].ID}, []string{"a registered i2", "a registered i1"}, 2},
			"the second page":     {history.Filter{Page: 2, PageSize: 3}, []string{"a registered i1"}, 4},
			"past the end":        {history.Filter{Page: 9, PageSize: 3}, nil, 4},
		}
		for name, tt := range tests {
			if got, total := list(t, h, tt.f); !slices.Equal(got, tt.want) || total != tt.total {
				t.Errorf("%s: %q of %d, want %q of %d", name, got, total, tt.want, tt.total)
			}
		}
	})
}

// TestRecordNeverWaits: a queue that nobody empties loses events instead of holding up who records them.
func TestRecordNeverWaits(t *testing.T) {
	h := history.New(history.Options{DB: testbed.SQLite(t)})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 10_000 {
			h.Record(history.Event{Node: strings.Repeat("n", 300), Instance: fmt.Sprint(i), Kind: history.Changed})
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("Record waits")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		// what fits the queue is the first of them
		got, total := list(t, h, history.Filter{PageSize: 1})
		if total == history.PerNode && strings.HasSuffix(got[0], " changed 4095") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d events of one node are kept, the newest is %q; want %d and the last that fitted the queue", total, got, history.PerNode)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestRunWritesMeanwhile: events are there without the end of Run.
func TestRunWritesMeanwhile(t *testing.T) {
	h := history.New(history.Options{DB: testbed.SQLite(t)})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	h.Record(history.Event{Node: "a", Kind: history.Rotated})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, total := list(t, h, history.Filter{}); total == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the event was not written")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
