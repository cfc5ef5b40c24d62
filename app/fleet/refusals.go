package fleet

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Why nodes are refused, as Refusal.Reason says it.
const (
	WrongToken   = "wrong token"
	NodeDisabled = "the node is disabled"
	NoSuchNode   = "no node has this name"
	TooOften     = "it beats too often" // some beats of it are accepted all the same
)

// Bounds of Refusals: who is refused chooses name and address freely.
const (
	maxRefusals        = 1000
	maxRefusalsPerNode = 20
	maxUnknownNames    = 100 // made-up names must not push out nodes that exist
	// refusalLife is how long a refusal is shown after its last beat: longer than any beat interval, so that it does not blink.
	refusalLife = 10 * time.Minute
	// tooOftenLife is how long a node that beats too often must keep to the rate before nothing is said of it any more.
	tooOftenLife = time.Minute
)

// Refusals remember, in this process alone, whose beats are refused and since when (S12).
type Refusals struct {
	now func() time.Time

	mu    sync.Mutex
	rows  map[refusalKey]*Refusal
	told  map[string]time.Time // node → when listeners last heard of it
	heard []func(Refusal)
}

type refusalKey struct{ node, address string }

// NewRefusals returns an empty memory; now is nil for the real time.
func NewRefusals(now func() time.Time) *Refusals {
	if now == nil {
		now = time.Now
	}
	return &Refusals{now: now, rows: map[refusalKey]*Refusal{}, told: map[string]time.Time{}}
}

// Listen adds somebody who hears when a node begins to be refused, at most once in ten minutes for each node. Of names that do
// not exist nobody hears: there is no end of them, and they must not make us forget of whom was told.
func (r *Refusals) Listen(heard func(Refusal)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, heard)
}

// Refused notes that a beat of node from address was refused.
func (r *Refusals) Refused(node, address, reason string) {
	r.mu.Lock()
	now := r.now()
	key := refusalKey{node, address}
	row := r.rows[key]
	if row == nil || now.Sub(row.Last) > refusalLife || row.Reason != reason {
		r.makeRoom(key, reason, now)
		row = &Refusal{Node: node, Address: address, Reason: reason, Since: now}
		r.rows[key] = row
	}
	row.Last, row.Count = now, row.Count+1
	tell := reason != NoSuchNode && now.Sub(r.told[node]) > refusalLife
	if tell {
		r.told[node] = now
	}
	copied, listeners := *row, r.heard
	r.mu.Unlock()
	if tell {
		for _, heard := range listeners {
			heard(copied)
		}
	}
}

// Accepted forgets what was refused of node from address: it registered.
func (r *Refusals) Accepted(node, address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.rows) == 0 {
		return
	}
	key := refusalKey{node, address}
	if row := r.rows[key]; row != nil && row.Reason == TooOften && r.now().Sub(row.Last) < tooOftenLife {
		return // one of the beats that fit
	}
	delete(r.rows, key)
}

// makeRoom drops what is over, and what was silent for longest where there is too much: of this node, of names that do not
// exist, or of all.
func (r *Refusals) makeRoom(key refusalKey, reason string, now time.Time) {
	delete(r.rows, key)
	var all, node, unknown tally
	for k, row := range r.rows {
		if now.Sub(row.Last) > refusalLife {
			delete(r.rows, k)
			continue
		}
		all.add(row)
		if k.node == key.node {
			node.add(row)
		}
		if row.Reason == NoSuchNode {
			unknown.add(row)
		}
	}
	switch {
	case node.count >= maxRefusalsPerNode:
		delete(r.rows, node.key())
	case reason == NoSuchNode && unknown.count >= maxUnknownNames:
		delete(r.rows, unknown.key())
	case all.count >= maxRefusals:
		delete(r.rows, all.key())
	}
	for node, at := range r.told {
		if now.Sub(at) > refusalLife {
			delete(r.told, node)
		}
	}
	if len(r.told) >= maxRefusals {
		clear(r.told)
	}
}

// tally counts rows and finds the one that was silent for longest.
type tally struct {
	count  int
	oldest *Refusal
}

func (t *tally) add(row *Refusal) {
	if t.count++; t.oldest == nil || row.Last.Before(t.oldest.Last) {
		t.oldest = row
	}
}

func (t *tally) key() refusalKey { return refusalKey{t.oldest.Node, t.oldest.Address} }

// Of returns the refusals of a node, the longest first.
func (r *Refusals) Of(node string) []Refusal {
	return r.choose(func(row *Refusal) bool { return row.Node == node })
}

// All returns all refusals by node, the longest first.
func (r *Refusals) All() []Refusal {
	return r.choose(func(*Refusal) bool { return true })
}

func (r *Refusals) choose(want func(*Refusal) bool) []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	var out []Refusal
	for _, row := range r.rows {
		if want(row) && now.Sub(row.Last) <= refusalLife {
			out = append(out, *row)
		}
	}
	slices.SortFunc(out, func(a, b Refusal) int {
		if c := strings.Compare(a.Node, b.Node); c != 0 {
			return c
		}
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(a.Address, b.Address)
	})
	return out
}
