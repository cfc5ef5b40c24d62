package registry

import (
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxReplaced bounds the memory for instances whose addresses others took.
const maxReplaced = 10_000

// Table is this replica's copy of the store: always exactly what the log says up to the view's position, besides
// instances that the store lost.
type Table struct {
	now  func() time.Time
	view atomic.Pointer[View]

	mu          sync.Mutex           // orders changes; readers take the view
	published   chan struct{}        // closed when the next view is out
	unconfirmed map[Key]time.Time    // until when what the store lost is kept
	replaced    map[Key]*replacement // who lost all addresses to a newer instance and may not know it
	left        map[Key]departure    // who was removed in the last minutes
	filled      bool
}

type departure struct {
	why Reason
	at  time.Time
}

// replacement remembers an instance's claim after it was removed, as long as it keeps beating.
type replacement struct {
	in      Instance
	seen    time.Time
	refused time.Time // when its last beat was refused here
	holder  Key
	address string
}

// NewTable returns an empty table.
func NewTable(now func() time.Time) *Table {
	t := &Table{
		now: now, published: make(chan struct{}),
		unconfirmed: map[Key]time.Time{}, replaced: map[Key]*replacement{}, left: map[Key]departure{},
	}
	t.view.Store(&View{now: now, all: &lazily[[]Instance]{}})
	return t
}

// View returns the present state. It never waits.
func (t *Table) View() *View { return t.view.Load() }

// Apply carries out entries of the log, in order, as one new view. It returns those that changed something.
func (t *Table) Apply(changes []Change) []Change {
	if len(changes) == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.View().edit()
	var done []Change
	for _, c := range changes {
		if c, ok := t.apply(e, c); ok {
			done = append(done, c)
		}
		e.next.seq = max(e.next.seq, c.Seq)
	}
	t.publish(e, done)
	return done
}

func (t *Table) apply(e *edit, c Change) (Change, bool) {
	k := c.In.Key
	if c.Action != Deleted {
		in := c.In
		in.Rev, in.Unconfirmed = c.Seq, false
		if !e.put(&in) {
			return c, false
		}
		c.In = in
		delete(t.unconfirmed, k)
		delete(t.replaced, k)
		return c, true
	}
	t.left[k] = departure{c.Reason, t.now()}
	old := e.drop(k, c.Seq)
	if old == nil {
		return c, false
	}
	c.In = *old
	delete(t.unconfirmed, k)
	if c.Reason == Replaced {
		t.remember(*old)
	}
	return c, true
}

// remember keeps the claim of an instance that lost all its addresses; nil if there are too many of them.
func (t *Table) remember(in Instance) *replacement {
	r, ok := t.replaced[in.Key]
	if !ok {
		if len(t.replaced) >= maxReplaced {
			return nil
		}
		r = &replacement{}
		t.replaced[in.Key] = r
	}
	r.in, r.seen = in, t.now()
	return r
}

// Replace takes over a snapshot and returns how it differs from what was there. After a loss of the store's data
// (lost), instances that the snapshot lacks stay, unconfirmed, until their leases must have ended.
func (t *Table) Replace(all []Instance, seq Seq, lost bool) []Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	old, now := t.View(), t.now()
	e := (&View{now: t.now}).edit()
	e.next.seq, e.next.recent = seq, old.recent
	var diff []Change
	for _, in := range all {
		before, had := old.Instance(in.Key)
		in.Unconfirmed = false
		e.put(&in)
		switch {
		case !had:
			diff = append(diff, Change{Seq: seq, At: now, Action: Added, In: in})
		case before.Rev != in.Rev || before.Unconfirmed:
			diff = append(diff, Change{Seq: seq, At: now, Action: Modified, In: in})
		}
		delete(t.unconfirmed, in.Key)
	}
	for _, before := range old.All() {
		if a := e.next.app(before.App); a != nil {
			if _, still := a.find(before.ID); still {
				continue
			}
		}
		if until, kept := t.keepLost(before, lost, now); kept {
			t.unconfirmed[before.Key] = until
			before.Unconfirmed = true
			e.put(&before)
			continue
		}
		delete(t.unconfirmed, before.Key)
		diff = append(diff, Change{Seq: seq, At: now, Action: Deleted, Reason: Expiry, In: before})
	}
	if !t.filled {
		t.filled = true
		t.publish(e, nil) // what was there before this replica started is no recent change
		return diff
	}
	t.publish(e, diff)
	return diff
}

// keepLost decides on an instance that the store no longer has. Its lease ended at most one duration after the store
// last had it, whichever replica renewed it.
func (t *Table) keepLost(in Instance, lost bool, now time.Time) (time.Time, bool) {
	if until, already := t.unconfirmed[in.Key]; already {
		return until, until.After(now)
	}
	if !lost || in.Draining() {
		return time.Time{}, false
	}
	return now.Add(in.Lease.Duration), true
}

// Tidy drops what the store lost and nobody confirmed in time, and what is too old to be recent.
func (t *Table) Tidy() []Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, v := t.now(), t.View()
	var gone []Change
	e := v.edit()
	for k, until := range t.unconfirmed {
		if until.After(now) {
			continue
		}
		delete(t.unconfirmed, k)
		if old := e.drop(k, v.seq); old != nil {
			gone = append(gone, Change{Seq: v.seq, At: now, Action: Deleted, Reason: Expiry, In: *old})
		}
	}
	for k, r := range t.replaced {
		if now.Sub(r.seen) > r.in.Lease.Duration {
			delete(t.replaced, k)
		}
	}
	for k, d := range t.left {
		if now.Sub(d.at) > recentWindow {
			delete(t.left, k)
		}
	}
	if len(gone) > 0 || len(since(v.recent, now.Add(-recentWindow))) < len(v.recent) {
		t.publish(e, gone)
	}
	return gone
}

// publish makes e the table's view. Older views keep their recent changes: the slice only grows behind what they see.
func (t *Table) publish(e *edit, changes []Change) {
	from := t.now().Add(-recentWindow)
	e.next.recent = append(since(e.next.recent, from), changes...)
	t.view.Store(e.done())
	close(t.published)
	t.published = make(chan struct{})
}

// state returns the view and a channel that is closed when it is no longer the latest.
func (t *Table) state() (*View, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.View(), t.published
}

// claimOf returns what an instance reported before a newer one took all its addresses. Asking keeps the memory alive.
func (t *Table) claimOf(k Key) (Instance, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.replaced[k]
	if !ok {
		return Instance{}, false
	}
	r.seen = t.now()
	return r.in, true
}

// refused remembers that in's beat was refused because holder has its address, and reports whether that is news.
func (t *Table) refused(in Instance, holder Key, address string) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.remember(in)
	if r == nil {
		return false
	}
	first = r.refused.IsZero() || r.holder != holder
	if first {
		slog.Warn("two instances report one address", "node", in.NodeName, "refused", in.ID, "holder", holder.ID, "location", address)
	}
	r.refused, r.holder, r.address = t.now(), holder, address
	return first
}

// leftBy returns why k was last removed within the last minutes, empty if it was not.
func (t *Table) leftBy(k Key) Reason {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left[k].why
}

// conflicts lists the refusals of one app since a time.
func (t *Table) conflicts(app string, from time.Time) []Conflict {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Conflict
	for k, r := range t.replaced {
		if k.App == app && r.refused.After(from) {
			all = append(all, Conflict{Key: k, NodeName: r.in.NodeName, Holder: r.holder, Location: r.address, At: r.refused})
		}
	}
	slices.SortFunc(all, func(a, b Conflict) int { return a.At.Compare(b.At) })
	return all
}
