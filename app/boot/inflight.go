package boot

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"eruptcloud/app/cluster"
	"eruptcloud/app/fleet"
	"eruptcloud/app/loop"
	"eruptcloud/app/registry"
	"eruptcloud/proxy"
)

const (
	topicInFlight = "inflight"
	tellInterval  = time.Second
	believedFor   = 5 * time.Second
	maxTold       = 4096 // locations in one message
)

// openRequests is what this replica's proxy has open.
type openRequests interface {
	InFlightAt(node, location string) proxy.InFlight
}

// replicas is what loads asks about the others.
type replicas interface {
	ID() string
	Replicas() []string
}

// loads sum over the replicas what instances work on. Each replica tells the others about the instances that drain, for whom
// else nobody waits (D12). It implements console.Loads.
type loads struct {
	open   openRequests
	drains instanceDrains
	view   func() *registry.View
	member replicas
	bus    cluster.Bus
	now    func() time.Time

	mu   sync.Mutex
	told map[string]report // by replica
	met  map[string]bool   // replicas that were live once: what they told is old news when they are no more
}

// report is what one replica told last.
type report struct {
	at    time.Time // when it came
	loads map[nodeLocation]told
}

type nodeLocation struct{ node, location string }

// told is one location in a message. Clocks differ: ages travel, not times.
type told struct {
	Node     string `json:"n"`
	Location string `json:"l"`
	Count    int    `json:"c,omitempty"`
	Streams  int    `json:"s,omitempty"`
	OldestMS int64  `json:"o,omitempty"`
}

// message is what a replica tells once a second while an instance drains; it lists all that do, also with nothing in flight.
type message struct {
	Replica string `json:"r"`
	Loads   []told `json:"v"`
}

// InFlight sums over all replicas what the locations of an instance work on. Known is false while a live replica has not
// told its number in the last seconds, as always while the instance does not drain and there are several replicas.
func (l *loads) InFlight(node string, locations []string) fleet.InFlight {
	sum := fleet.InFlight{Known: true}
	for _, location := range locations {
		in := l.open.InFlightAt(node, location)
		add(&sum, in.Count, in.Streams, in.Oldest)
	}
	live := l.member.Replicas()
	l.mu.Lock()
	defer l.mu.Unlock()
	self, now := false, l.now()
	for _, id := range append(l.newcomers(live, now), live...) {
		if id == l.member.ID() {
			self = true
			continue
		}
		r, ok := l.told[id]
		if !ok || now.Sub(r.at) > believedFor {
			sum.Known = false
			continue
		}
		for _, location := range locations {
			in, ok := r.loads[nodeLocation{node, location}]
			if !ok {
				sum.Known = false
				continue
			}
			oldest := time.Time{}
			if in.Count > 0 {
				oldest = r.at.Add(-time.Duration(in.OldestMS) * time.Millisecond)
			}
			add(&sum, in.Count, in.Streams, oldest)
		}
	}
	sum.Known = sum.Known && self // before its first sign of life a replica knows nobody
	return sum
}

// newcomers are replicas that told something but do not show among the live ones yet, which takes some seconds: they may have
// requests open all the same. The caller holds the lock.
func (l *loads) newcomers(live []string, now time.Time) (ids []string) {
	if l.met == nil || len(l.met) > 1000 {
		l.met = map[string]bool{}
	}
	for _, id := range live {
		l.met[id] = true
	}
	for id, r := range l.told {
		if !l.met[id] && now.Sub(r.at) <= believedFor {
			ids = append(ids, id)
		}
	}
	return ids
}

func add(sum *fleet.InFlight, count, streams int, oldest time.Time) {
	sum.Count += count
	sum.Streams += streams
	if !oldest.IsZero() && (sum.Oldest.IsZero() || oldest.Before(sum.Oldest)) {
		sum.Oldest = oldest
	}
}

// Run tells and listens until ctx ends.
func (l *loads) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if err := l.bus.Subscribe(ctx, topicInFlight, l.hear); err != nil {
			slog.ErrorContext(ctx, "what other replicas work on is not heard any more", "error", err)
		}
	})
	loop.Once(ctx, "in flight", l.greet)
	return loop.Every(ctx, "in flight", tellInterval, tellInterval, l.tellOnce)
}

// greet tells the others that this replica is there, before they see its first sign of life.
func (l *loads) greet(ctx context.Context) error {
	raw, err := json.Marshal(message{Replica: l.member.ID(), Loads: l.draining()})
	if err != nil {
		return err
	}
	return l.bus.Publish(ctx, topicInFlight, raw)
}

// tellOnce publishes what draining instances work on. A replica without company has nobody to tell.
func (l *loads) tellOnce(ctx context.Context) error {
	if len(l.member.Replicas()) < 2 {
		return nil
	}
	m := message{Replica: l.member.ID(), Loads: l.draining()}
	if len(m.Loads) == 0 {
		return nil
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return l.bus.Publish(ctx, topicInFlight, raw)
}

// draining lists what the draining instances work on here.
func (l *loads) draining() []told {
	var out []told
	now := l.now()
	for _, in := range l.view().All() {
		if in.Origin != registry.OriginNode {
			continue
		}
		if _, ordered := l.drains.Draining(in.NodeName, in.ID); !ordered && !in.Draining() {
			continue
		}
		for _, location := range in.Locations {
			if len(out) == maxTold {
				return out
			}
			open := l.open.InFlightAt(in.NodeName, location)
			t := told{Node: in.NodeName, Location: location, Count: open.Count, Streams: open.Streams}
			if open.Count > 0 {
				t.OldestMS = max(now.Sub(open.Oldest).Milliseconds(), 0)
			}
			out = append(out, t)
		}
	}
	return out
}

// hear takes what a replica told. A lost message is made good by the next one.
func (l *loads) hear(raw []byte) {
	var m message
	if raw == nil || json.Unmarshal(raw, &m) != nil || m.Replica == l.member.ID() || m.Replica == "" {
		return
	}
	r := report{at: l.now(), loads: make(map[nodeLocation]told, len(m.Loads))}
	for _, t := range m.Loads {
		r.loads[nodeLocation{t.Node, t.Location}] = t
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told == nil {
		l.told = map[string]report{}
	}
	for id, old := range l.told {
		if r.at.Sub(old.at) > believedFor {
			delete(l.told, id)
		}
	}
	l.told[m.Replica] = r
}
