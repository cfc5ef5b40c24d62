package proxy

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// loads count what locations work on. A request costs a look-up under a read lock and two short stays in the list of its own
// location; nothing is allocated for a location that is known.
type loads struct {
	mu  sync.RWMutex
	all map[loadKey]*load
}

type loadKey struct{ node, location string }

// load is what one location works on: the exchanges that are open, in the order in which they began.
type load struct {
	mu          sync.Mutex
	first, last *exchange
	count       int
	gone        bool // dropped from the table: whoever finds it looks again
	streams     atomic.Int32
}

// place is an exchange's own part of its location's list.
type place struct {
	at         *load // nil: not counted
	prev, next *exchange
	streaming  bool
}

// keptIdle is how many locations are kept before those that work on nothing are dropped; addresses come and go for ever.
const keptIdle = 1024

// enter counts e at a location until leave; false if the location works on most already, 0 for no limit.
func (l *loads) enter(e *exchange, node, location string, most int) bool {
	key := loadKey{node, location}
	for {
		l.mu.RLock()
		at := l.all[key]
		l.mu.RUnlock()
		if at == nil {
			at = l.add(key)
		}
		if known, room := at.push(e, most); known {
			return room
		}
	}
}

func (l *loads) add(key loadKey) *load {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := l.all[key]; at != nil {
		return at
	}
	if len(l.all) >= keptIdle {
		for k, old := range l.all {
			if old.dropIdle() {
				delete(l.all, k)
			}
		}
	}
	if l.all == nil {
		l.all = map[loadKey]*load{}
	}
	at := new(load)
	l.all[key] = at
	return at
}

func (at *load) dropIdle() bool {
	at.mu.Lock()
	defer at.mu.Unlock()
	at.gone = at.count == 0
	return at.gone
}

// push reports whether the location is still in the table, and then whether there was room.
func (at *load) push(e *exchange, most int) (known, room bool) {
	at.mu.Lock()
	defer at.mu.Unlock()
	switch {
	case at.gone:
		return false, false
	case most > 0 && at.count >= most:
		return true, false
	}
	e.place = place{at: at, prev: at.last}
	if at.last == nil {
		at.first = e
	} else {
		at.last.place.next = e
	}
	at.last = e
	at.count++
	return true, true
}

// leave ends the count of e at its location, if it is counted.
func (e *exchange) leave() {
	at := e.place.at
	if at == nil {
		return
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	prev, next := e.place.prev, e.place.next
	if prev == nil {
		at.first = next
	} else {
		prev.place.next = next
	}
	if next == nil {
		at.last = prev
	} else {
		next.place.prev = prev
	}
	at.count--
	if e.place.streaming {
		at.streams.Add(-1)
	}
	e.place = place{}
}

// stream counts e among the streams of its location, too.
func (e *exchange) stream() {
	if at := e.place.at; at != nil && !e.place.streaming {
		e.place.streaming = true
		at.streams.Add(1)
	}
}

// InFlight lists what the locations of a node work on at this moment through this process, calls of the process itself
// included: streams and upgraded connections count until they end. A location that works on nothing is left out, and so is
// the reading of logs, which would keep a location busy whose end somebody watches. Sorted by location.
func (p *Proxy) InFlight(node string) []InFlight {
	p.loads.mu.RLock()
	var found []InFlight
	for key, at := range p.loads.all {
		if key.node != node {
			continue
		}
		if in := at.state(); in.Count > 0 {
			in.Location = key.location
			found = append(found, in)
		}
	}
	p.loads.mu.RUnlock()
	slices.SortFunc(found, func(a, b InFlight) int { return strings.Compare(a.Location, b.Location) })
	return found
}

// InFlightAt is InFlight for one location.
func (p *Proxy) InFlightAt(node, location string) InFlight {
	p.loads.mu.RLock()
	at := p.loads.all[loadKey{node, location}]
	p.loads.mu.RUnlock()
	in := InFlight{}
	if at != nil {
		in = at.state()
	}
	in.Location = location
	return in
}

func (at *load) state() InFlight {
	at.mu.Lock()
	defer at.mu.Unlock()
	in := InFlight{Count: at.count, Streams: int(at.streams.Load())}
	if at.first != nil {
		in.Oldest = oldest(at.first)
	}
	return in
}

// oldest looks at all that are open: one that another location failed first began earlier than it came here.
func oldest(e *exchange) time.Time {
	since := e.started
	for e = e.place.next; e != nil; e = e.place.next {
		if e.started.Before(since) {
			since = e.started
		}
	}
	return since
}
