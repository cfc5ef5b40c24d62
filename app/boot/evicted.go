package boot

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"eruptcloud/app/registry"
	"eruptcloud/proxy"
)

// Bounds of what is remembered of evicted locations.
const (
	evictedFor = 5 * time.Minute
	maxEvicted = 1024
)

// evictedLocations remember for some minutes which locations refused a connection: they have left the registry, and whoever
// asks why a request did not go there should learn it all the same (D11).
type evictedLocations struct {
	now   func() time.Time
	count atomic.Int32 // of all, so that a request costs nothing while there is none
	mu    sync.Mutex
	all   []evictedLocation // oldest first
}

type evictedLocation struct {
	node, instance, location string
	at                       time.Time
}

// note remembers a location; of two evictions of one location the last counts.
func (e *evictedLocations) note(node, instance, location string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = slices.DeleteFunc(e.all, func(o evictedLocation) bool {
		return o.node == node && o.location == location
	})
	if len(e.all) >= maxEvicted {
		e.all = slices.Delete(e.all, 0, 1)
	}
	e.all = append(e.all, evictedLocation{node, instance, location, e.now()})
	e.count.Store(int32(len(e.all)))
}

// hear takes changes of the registry, so that every replica knows what one of them evicted.
func (e *evictedLocations) hear(changes []registry.Change) {
	for _, c := range changes {
		if c.Action == registry.Deleted && c.Reason == registry.Failover {
			for _, location := range c.In.Locations {
				e.note(c.In.NodeName, c.In.ID, location)
			}
		}
	}
}

// add appends a node's evicted locations that have not come back.
func (e *evictedLocations) add(skipped []proxy.Candidate, node string, view func() *registry.View) []proxy.Candidate {
	if e.count.Load() == 0 {
		return skipped
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	over := e.now().Add(-evictedFor)
	e.all = slices.DeleteFunc(e.all, func(o evictedLocation) bool { return o.at.Before(over) })
	e.count.Store(int32(len(e.all)))
	for _, o := range e.all {
		if o.node != node {
			continue
		}
		if _, back := view().ByLocation(node, o.location); !back {
			skipped = append(skipped, proxy.Candidate{Location: o.location, Instance: o.instance, Standing: proxy.Evicted, Since: o.at})
		}
	}
	return skipped
}
