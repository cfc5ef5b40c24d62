package console

import (
	"context"
	"sync"
	"time"
)

// onceBook lets one filled-in form act once: a second sending of the same form, by a double click or a reload, waits for the
// first and gets its outcome.
type onceBook struct {
	now func() time.Time
	mu  sync.Mutex
	all map[string]*onceEntry
}

type onceEntry struct {
	done    chan struct{}
	until   time.Time
	outcome any
	err     error
}

// Bounds of the book.
const (
	onceLife = 10 * time.Minute
	onceMax  = 300 // a refused form is kept with what was typed
)

func newOnceBook(now func() time.Time) *onceBook {
	return &onceBook{now: now, all: map[string]*onceEntry{}}
}

// do runs act for the first request with key and gives its outcome to all. An empty key is nobody's form: it always runs.
func (b *onceBook) do(ctx context.Context, key string, act func() (any, error)) (any, error) {
	if key == "" {
		return act()
	}
	e, first := b.enter(key)
	if !first {
		select {
		case <-e.done:
			return e.outcome, e.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	finished := false
	defer func() {
		if !finished { // act panicked: nobody may wait for ever, and another try is fine
			b.forget(key)
		}
		close(e.done)
	}()
	e.err = context.Canceled
	e.outcome, e.err = act()
	finished = true
	if e.err != nil {
		b.forget(key)
	}
	return e.outcome, e.err
}

func (b *onceBook) enter(key string) (e *onceEntry, first bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if e, ok := b.all[key]; ok && now.Before(e.until) {
		return e, false
	}
	if len(b.all) >= onceMax {
		b.sweep(now)
	}
	e = &onceEntry{done: make(chan struct{}), until: now.Add(onceLife)}
	b.all[key] = e
	return e, true
}

// sweep makes room: what is over goes, and if nothing is, the oldest.
func (b *onceBook) sweep(now time.Time) {
	var oldest string
	var at time.Time
	for k, e := range b.all {
		if !now.Before(e.until) {
			delete(b.all, k)
		} else if oldest == "" || e.until.Before(at) {
			oldest, at = k, e.until
		}
	}
	if len(b.all) >= onceMax {
		delete(b.all, oldest)
	}
}

func (b *onceBook) forget(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, key)
}
