package registry

import (
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"sync"
	"time"
)

// The brake's terms (design: half of twenty or more within a minute).
const (
	brakeLeast  = 20
	brakeWindow = time.Minute
	// evidenceLife is how long a location counts as known without news: longer than two patrols.
	evidenceLife = 6 * time.Minute
)

// Brake refuses removals while so much fails at once that the server's own network is the likelier cause. With twenty or
// more known locations it holds once half of them failed within a minute. It lets go when a beat or probe of a host that
// has no failure succeeds after that moment, for then the way out is open and the loss is real; when fewer than half fail;
// and for each location after one lease time in any case.
type Brake struct {
	lease time.Duration
	now   func() time.Time

	mu      sync.Mutex
	known   map[string]*evidence
	hosts   map[string]int // host → its failed locations
	failed  int
	pruned  time.Time
	tripped time.Time       // when half had failed; zero: fewer have
	open    bool            // since tripped a host without failures answered
	answers map[string]bool // hosts on which something answered since tripped
	holding bool            // the last question was refused
}

type evidence struct {
	host    string
	heard   time.Time // last success or failure
	failing time.Time // last failure, zero after a success
	refused time.Time // first refusal of its removal, zero: none
}

// BrakeState explains a Brake.
type BrakeState struct {
	Holding       bool
	Since         time.Time // when half had failed
	Until         time.Time // when it lets go of the location that has waited longest
	Failed, Known int
	Waiting       []string // locations whose removal was refused
}

// String explains the state to people.
func (s BrakeState) String() string {
	if !s.Holding {
		return "not holding"
	}
	return fmt.Sprintf("%d of %d locations failed within a minute, which looks like the server's own network: nothing is removed until "+
		"another host answers, fewer fail, or %s", s.Failed, s.Known, s.Until.Format(time.RFC3339))
}

// NewBrake returns a Brake that delays a location by at most lease.
func NewBrake(lease time.Duration, now func() time.Time) *Brake {
	return &Brake{lease: lease, now: now, known: map[string]*evidence{}, hosts: map[string]int{}}
}

// OK notes that locations answered: a probe that succeeded, or a beat, which is accepted only after a probe.
func (b *Brake) OK(locations ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for _, l := range locations {
		e := b.evidence(l, now)
		b.clear(e)
		e.refused = time.Time{}
		if !b.tripped.IsZero() {
			b.answers[e.host] = true
			// This machine reaches itself without any network.
			b.open = b.open || b.hosts[e.host] == 0 && !loopback(e.host)
		}
	}
	b.judge(now)
}

// Failed notes that locations did not answer, before anybody asks whether they may be removed.
func (b *Brake) Failed(locations ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for _, l := range locations {
		e := b.evidence(l, now)
		if e.failing.IsZero() {
			b.failed++
			b.hosts[e.host]++
		}
		e.failing = now
	}
	b.judge(now)
}

// Forget drops what is known of locations that left by their own word or an admin's.
func (b *Brake) Forget(locations ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range locations {
		if e, ok := b.known[l]; ok {
			b.clear(e)
			delete(b.known, l)
		}
	}
	b.judge(b.now())
}

// Ask returns those of locations that may be removed now.
func (b *Brake) Ask(locations ...string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	b.judge(now)
	if b.tripped.IsZero() || b.open {
		return locations
	}
	var may []string
	for _, l := range locations {
		e := b.evidence(l, now)
		if e.refused.IsZero() {
			e.refused = now
		}
		if b.answers[e.host] || now.Sub(e.refused) >= b.lease {
			may = append(may, l)
			continue
		}
		if !b.holding {
			b.holding = true
			slog.Warn("removals are held back", "failed", b.failed, "known", len(b.known), "location", l)
		}
	}
	return may
}

// LastOK returns when location last answered this replica, the zero time if it did not since it last failed.
func (b *Brake) LastOK(location string) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.known[location]; ok && e.failing.IsZero() {
		return e.heard
	}
	return time.Time{}
}

// State explains what the brake does and why.
func (b *Brake) State() BrakeState {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.judge(b.now())
	s := BrakeState{Holding: b.holding, Since: b.tripped, Failed: b.failed, Known: len(b.known)}
	for l, e := range b.known {
		if e.refused.IsZero() {
			continue
		}
		s.Waiting = append(s.Waiting, l)
		if until := e.refused.Add(b.lease); s.Until.IsZero() || until.Before(s.Until) {
			s.Until = until
		}
	}
	return s
}

func (b *Brake) evidence(location string, now time.Time) *evidence {
	e, ok := b.known[location]
	if !ok {
		host := location
		if u, err := url.Parse(location); err == nil {
			host = u.Hostname()
		}
		e = &evidence{host: host}
		b.known[location] = e
	}
	e.heard = now
	return e
}

func (b *Brake) clear(e *evidence) {
	if e.failing.IsZero() {
		return
	}
	e.failing = time.Time{}
	b.failed--
	if b.hosts[e.host]--; b.hosts[e.host] <= 0 {
		delete(b.hosts, e.host)
	}
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// judge trips or releases the brake by what is known now.
func (b *Brake) judge(now time.Time) {
	if now.Sub(b.pruned) >= time.Second || now.Before(b.pruned) {
		b.prune(now)
	}
	mass := len(b.known) >= brakeLeast && 2*b.failed >= len(b.known)
	switch {
	case mass && b.tripped.IsZero():
		b.tripped, b.open, b.answers = now, false, map[string]bool{}
	case !mass && !b.tripped.IsZero():
		b.tripped = time.Time{}
	}
	if b.holding && (b.tripped.IsZero() || b.open) {
		b.holding = false
		for _, e := range b.known {
			e.refused = time.Time{}
		}
		slog.Info("removals are no longer held back", "failed", b.failed, "known", len(b.known))
	}
}

// prune lets failures end after a minute without a new one, and forgets locations without news.
func (b *Brake) prune(now time.Time) {
	b.pruned = now
	for l, e := range b.known {
		if !e.failing.IsZero() && now.Sub(e.failing) > brakeWindow {
			b.clear(e)
		}
		if now.Sub(e.heard) > evidenceLife {
			b.clear(e)
			delete(b.known, l)
		}
	}
}
