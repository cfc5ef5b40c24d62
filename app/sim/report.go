package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// Event is one line of what a crowd reports: what it does to the server, so that a checker can tell it from what the server
// does by itself.
type Event struct {
	At       time.Time `json:"at"`
	Event    string    `json:"event"`              // start, begin, end, change, surprise, summary
	Fault    Fault     `json:"fault,omitempty"`    // of begin and end
	Node     string    `json:"node,omitempty"`     // who does it
	Instance string    `json:"instance,omitempty"` // its id at that moment
	Location string    `json:"location,omitempty"` // its address
	Other    string    `json:"other,omitempty"`    // node or address that it pretends to be
	For      string    `json:"for,omitempty"`      // how long it will last
	Version  string    `json:"version,omitempty"`
	Skew     string    `json:"skew,omitempty"` // of its clock
	Status   int       `json:"status,omitempty"`
	Error    string    `json:"error,omitempty"`
	Counts   *Counts   `json:"counts,omitempty"`
}

// The events.
const (
	EventStart    = "start"    // an instance exists from now on
	EventBegin    = "begin"    // a fault begins
	EventEnd      = "end"      // a fault is over
	EventSurprise = "surprise" // a request to a node without faults failed
	EventSummary  = "summary"  // the last line
)

// Counts sum up a run.
type Counts struct {
	Faults  map[Fault]int  `json:"faults"`
	Changes int            `json:"changes"`
	Visits  map[string]int `json:"visits"` // by status, or "failed"
}

// reporter writes events as JSON lines.
type reporter struct {
	mu     sync.Mutex
	out    *json.Encoder
	counts Counts
}

func newReporter(w io.Writer) *reporter {
	if w == nil {
		w = io.Discard
	}
	return &reporter{out: json.NewEncoder(w), counts: Counts{Faults: map[Fault]int{}, Visits: map[string]int{}}}
}

func (r *reporter) report(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.At.IsZero() {
		e.At = time.Now().UTC()
	}
	if e.Event == EventBegin {
		r.counts.Faults[e.Fault]++
	}
	_ = r.out.Encode(e) // whoever reads it may have gone
}

func (r *reporter) changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Changes++
}

func (r *reporter) visited(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	word := "failed"
	if status > 0 {
		word = fmt.Sprint(status)
	}
	r.counts.Visits[word]++
}

func (r *reporter) summary() {
	r.mu.Lock()
	counts := r.counts
	r.mu.Unlock()
	r.report(Event{Event: EventSummary, Counts: &counts})
}
