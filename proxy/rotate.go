package proxy

import (
	"sync"
	"sync/atomic"
)

// Cursor is the place of one node's rotation. The zero value starts with the first location.
type Cursor struct{ turns atomic.Uint64 }

// Rotate returns items in the order in which they should be tried: the next in turn is the choice, the others follow as
// candidates for failover, and none is lost. A full turn of the cursor comes back to the start. One item stays where it is
// and turns nothing (A13).
func Rotate[T any](c *Cursor, items []T) []T {
	switch len(items) {
	case 0:
		return nil
	case 1:
		return items
	}
	first := int((c.turns.Add(1) - 1) % uint64(len(items)))
	turned := make([]T, 0, len(items))
	return append(append(turned, items[first:]...), items[:first]...)
}

// Peek returns items as the next Rotate will, and turns nothing.
func Peek[T any](c *Cursor, items []T) []T {
	if len(items) < 2 {
		return items
	}
	first := int(c.turns.Load() % uint64(len(items)))
	turned := make([]T, 0, len(items))
	return append(append(turned, items[first:]...), items[:first]...)
}

// Cursors holds a cursor for each node. One for all would starve an instance when two nodes take turns.
type Cursors struct{ all sync.Map }

// Of returns the node's cursor.
func (c *Cursors) Of(node string) *Cursor {
	if found, ok := c.all.Load(node); ok {
		return found.(*Cursor)
	}
	found, _ := c.all.LoadOrStore(node, new(Cursor))
	return found.(*Cursor)
}
