package fleet

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"eruptcloud/ent"
)

// shortWhile is how old a list may be that is shown while somebody else reads the database.
const shortWhile = 5 * time.Second

// missTTL is how long a name that the database does not know is refused without asking again.
const missTTL = 2 * time.Second

// current returns the memory, filled if it is still empty.
func (f *Fleet) current(ctx context.Context) (*snapshot, error) {
	if s := f.snapshot.Load(); s != nil {
		return s, nil
	}
	if err := f.Load(ctx); err != nil {
		return nil, err
	}
	return f.snapshot.Load(), nil
}

// fresh returns the memory for a list that people look at: rows that another process wrote without telling, such as the
// command line, shall be there at once. If the database does not answer, what is known is better than nothing. While somebody
// else reads it and what is known is seconds old, nobody waits: with many open pages each answer would take as long as reading
// the whole database.
func (f *Fleet) fresh(ctx context.Context) (*snapshot, error) {
	if OnlyMemory(ctx) {
		return f.current(ctx)
	}
	if s := f.snapshot.Load(); s != nil && (len(f.loading) == 0 || f.age() >= shortWhile) {
		soon, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		if err := f.refresh(soon, time.Second); err != nil && ctx.Err() == nil {
			slog.WarnContext(ctx, "fleet: the list may be old", "error", err)
		}
	}
	return f.current(ctx)
}

type memoryKey struct{}

// FromMemory returns a context in which lists are what the memory holds: an open page that heard of a change asks again, and the
// memory had the change before. What other processes write without telling it is in them with the next refresh.
func FromMemory(ctx context.Context) context.Context {
	return context.WithValue(ctx, memoryKey{}, true)
}

// OnlyMemory reports whether ctx is one of FromMemory.
func OnlyMemory(ctx context.Context) bool { return ctx.Value(memoryKey{}) != nil }

// Fresh makes the memory as new as a list needs it, and returns a number that is another one as soon as the memory holds something
// different. What is read after that is at least so new.
func (f *Fleet) Fresh(ctx context.Context) (uint64, error) {
	s, err := f.fresh(ctx)
	if err != nil {
		return 0, err
	}
	return s.number, nil
}

// age is the time since the last full read.
func (f *Fleet) age() time.Duration { return f.clock().Sub(time.Unix(0, f.refreshed.Load())) }

// lock makes the caller the only one who changes the memory: a reader of the database that is overtaken by another must not
// put older rows back.
func (f *Fleet) lock(ctx context.Context) error {
	select {
	case f.loading <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *Fleet) unlock() { <-f.loading }

// refresh reads everything, unless somebody did so less than maxAge ago, and tells the listeners what was different.
func (f *Fleet) refresh(ctx context.Context, maxAge time.Duration) error {
	if err := f.lock(ctx); err != nil {
		return err
	}
	changes, err := f.refreshLocked(ctx, maxAge)
	f.unlock()
	f.tell(changes)
	return err
}

func (f *Fleet) refreshLocked(ctx context.Context, maxAge time.Duration) ([]change, error) {
	old := f.snapshot.Load()
	if old != nil && f.age() < maxAge {
		return nil, nil
	}
	if old == nil {
		old = (&snapshot{}).index()
	}
	next := &snapshot{}
	at := f.clock()
	err := f.db.InSnapshot(ctx, func(ctx context.Context, tx *ent.Tx) (err error) {
		if next.groups, err = readGroups(ctx, tx, old.groups); err != nil {
			return err
		}
		if next.nodes, err = f.readProfiles(ctx, tx, old.nodes); err != nil {
			return err
		}
		if next.holds, err = readHolds(ctx, tx); err != nil {
			return err
		}
		next.drains, err = readDrains(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.refreshed.Store(at.UnixNano())
	for name, p := range next.nodes {
		if was := old.nodes[name]; p.tokenError != "" && (was == nil || was.tokenError != p.tokenError) {
			slog.WarnContext(ctx, "fleet: node cannot be authenticated", "node", name, "error", p.tokenError)
		}
	}
	return f.install(old, next), nil
}

// install puts next in place, if it is different, and returns the differences.
func (f *Fleet) install(old, next *snapshot) []change {
	next.index()
	changes := differences(old, next)
	if now := f.snapshot.Load(); len(changes) > 0 || now == nil {
		next.number = 1
		if now != nil {
			next.number = now.number + 1
		}
		f.snapshot.Store(next)
	}
	for _, c := range changes {
		if c.Kind == kindNode {
			f.misses.forget(c.ID)
		}
	}
	return changes
}

// reload reads one thing again.
func (f *Fleet) reload(ctx context.Context, c change) error {
	if err := f.lock(ctx); err != nil {
		return err
	}
	changes, err := f.reloadLocked(ctx, c)
	f.unlock()
	f.tell(changes)
	return err
}

func (f *Fleet) reloadLocked(ctx context.Context, c change) ([]change, error) {
	old := f.snapshot.Load()
	if old == nil {
		return f.refreshLocked(ctx, 0)
	}
	next := &snapshot{
		nodes: maps.Clone(old.nodes), groups: maps.Clone(old.groups), holds: maps.Clone(old.holds), drains: maps.Clone(old.drains),
	}
	err := f.db.InSnapshot(ctx, func(ctx context.Context, tx *ent.Tx) error {
		switch c.Kind {
		case kindNode:
			return f.reloadNode(ctx, tx, next, c.ID)
		case kindGroup:
			// Groups are few, and one that moved changes what others inherit.
			groups, err := readGroups(ctx, tx, old.groups)
			next.groups = groups
			return err
		case kindDrain:
			drains, err := readDrains(ctx, tx)
			next.drains = drains
			return err
		default:
			holds, err := readHolds(ctx, tx)
			next.holds = holds
			return err
		}
	})
	if err != nil {
		return nil, err
	}
	return f.install(old, next), nil
}

// reloadNode puts one node into next. A group that it names and next does not know is read too: its own message may come later.
func (f *Fleet) reloadNode(ctx context.Context, tx *ent.Tx, next *snapshot, name string) error {
	p, err := f.readProfile(ctx, tx, name)
	switch {
	case ent.IsNotFound(err):
		delete(next.nodes, name)
		f.misses.add(name)
		if next.holds, err = readHolds(ctx, tx); err == nil { // they went with it
			next.drains, err = readDrains(ctx, tx)
		}
		return err
	case err != nil:
		return err
	}
	next.nodes[name] = p
	if p.Group != "" && next.groups[p.Group] == nil {
		next.groups, err = readGroups(ctx, tx, next.groups)
	}
	return err
}

// misses remembers names that the database does not know.
type misses struct {
	mu    sync.Mutex
	until map[string]time.Time
	ttl   time.Duration
	now   func() time.Time
}

// maxMisses bounds the memory that made-up names may take.
const maxMisses = 4096

func newMisses(ttl time.Duration, now func() time.Time) *misses {
	return &misses{until: map[string]time.Time{}, ttl: ttl, now: now}
}

func (m *misses) has(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now().Before(m.until[name])
}

func (m *misses) add(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.until) >= maxMisses {
		clear(m.until)
	}
	m.until[name] = m.now().Add(m.ttl)
}

func (m *misses) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.until, name)
}
