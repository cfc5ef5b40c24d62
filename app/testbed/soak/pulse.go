package main

import (
	"context"
	"sync"
	"time"
)

// pulse notices when this machine has no time for its processes: then probes fail although nothing is wrong.
type pulse struct {
	mu    sync.Mutex
	late  []time.Time
	worst time.Duration
}

const (
	pulseEvery = 100 * time.Millisecond
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
		if lag := now.Sub(last) - pulseEvery; lag > pulseLate {
			p.mu.Lock()
			p.late = append(p.late, now)
			p.worst = max(p.worst, lag)
			p.mu.Unlock()
		}
		last = now
	}
}

// starved reports whether a pulse was late within the ten seconds before or the two after a moment.
func (p *pulse) starved(at time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.late {
		if d := at.Sub(l); d > -2*time.Second && d < 10*time.Second {
			return true
		}
	}
	return false
}

func (p *pulse) state() (late int, worst time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.late), p.worst
}
