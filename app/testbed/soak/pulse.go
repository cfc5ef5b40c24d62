package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// pulse notices when this machine has no time for its processes: then probes fail although nothing is wrong, and answers are late
// whoever gives them.
type pulse struct {
	mu   sync.Mutex
	late []lateness
}

type lateness struct {
	at time.Time
	by time.Duration
}

const (
	pulseEvery = 50 * time.Millisecond
	pulseNoted = 5 * time.Millisecond
	pulseLate  = 300 * time.Millisecond
)

func (p *pulse) run(ctx context.Context) {
	ticker := time.NewTicker(pulseEvery)
	defer ticker.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := time.Now()
		p.note(now, now.Sub(last)-pulseEvery)
		last = now
	}
}

func (p *pulse) note(at time.Time, by time.Duration) {
	if by < pulseNoted {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = append(p.late, lateness{at, by})
}

// starved reports whether the machine had no time for long within the ten seconds before or the two after a moment.
func (p *pulse) starved(at time.Time) bool {
	return p.any(at.Add(-10*time.Second), at.Add(2*time.Second), pulseLate)
}

// steady reports whether the machine had time all along.
func (p *pulse) steady(from, to time.Time) bool {
	return !p.any(from.Add(-pulseEvery), to.Add(2*pulseEvery), pulseNoted)
}

func (p *pulse) any(from, to time.Time, least time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first, _ := slices.BinarySearchFunc(p.late, from, func(l lateness, t time.Time) int { return l.at.Compare(t) })
	for _, l := range p.late[first:] {
		if l.at.Add(-l.by).After(to) {
			return false
		}
		if l.by >= least {
			return true
		}
	}
	return false
}

func (p *pulse) state() (late int, worst time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.late {
		if l.by >= pulseLate {
			late++
		}
		worst = max(worst, l.by)
	}
	return late, worst
}
