// Package reach judges whether the server can reach each instance of a node.
package reach

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"eruptcloud/app/loop"
	"eruptcloud/app/probe"
	"eruptcloud/app/registry"
)

// Terms of the survival check.
const (
	tries          = 2
	betweenTries   = 200 * time.Millisecond
	holdingPause   = 5 * time.Second  // between rounds while the brake holds: it lets go by what the next round finds
	triggeredPause = 10 * time.Second // between rounds that leaving nodes asked for
	// A replica owns nothing before its first sign of life: its first rounds come every second until they find something.
	settling      = 15 * time.Second
	settlingPause = time.Second
)

// Handshaker sends one probe.
type Handshaker interface {
	Handshake(ctx context.Context, location, node string) probe.Result
}

// Owner tells which keys this replica works on.
type Owner interface{ Owns(key string) bool }

// SurvivalOptions configures a Survival.
type SurvivalOptions struct {
	Registry *registry.Registry
	Names    func(context.Context) ([]string, error) // nodes in the database; nil: all that are registered
	Probe    Handshaker
	Member   Owner
	Interval time.Duration // zero: 2 min (A1)
	Workers  int           // probes at once; zero: 64
	Now      func() time.Time
	Metrics  prometheus.Registerer // may be nil
}

// Survival is the patrol (A14): it probes every location of every live node and removes those that do not answer. It
// renews nothing: an instance that answers but has stopped beating leaves when its lease ends.
type Survival struct {
	SurvivalOptions
	pace    registry.Pace
	seconds *prometheus.HistogramVec

	started time.Time
	settled bool // a round had something to probe

	wake      chan struct{} // size one: triggers coalesce
	mu        sync.Mutex
	triggered map[string]bool
}

// NewSurvival returns a Survival.
func NewSurvival(o SurvivalOptions) *Survival {
	if o.Interval <= 0 {
		o.Interval = 2 * time.Minute
	}
	if o.Workers <= 0 {
		o.Workers = 64
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Survival{
		SurvivalOptions: o, pace: registry.Pace{Interval: o.Interval, Now: o.Now}, seconds: newSeconds(o.Metrics),
		wake: make(chan struct{}, 1), triggered: map[string]bool{},
	}
}

// Trigger asks for a check of the node's instances now, and of all others after it. It returns at once.
func (s *Survival) Trigger(node string) {
	s.mu.Lock()
	s.triggered[node] = true
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run patrols until ctx ends: at once, then every interval after the end of the last round, and when triggered.
func (s *Survival) Run(ctx context.Context) error {
	if err := s.Registry.WaitReady(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	s.started = time.Now()
	var ended time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.wake:
			for _, node := range s.takeTriggered() {
				loop.Once(ctx, "survival of one node", func(ctx context.Context) error { return s.Check(ctx, node) })
			}
			timer.Reset(max(0, min(triggeredPause, s.pause())-time.Since(ended)))
		case <-timer.C:
			s.regain(ctx)
			loop.Once(ctx, "survival", s.roundOnce)
			s.pace.Lost() // the count starts anew: a long round is no lost time
			ended = time.Now()
			timer.Reset(s.pause())
		}
	}
}

func (s *Survival) takeTriggered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var nodes []string
	for node := range s.triggered {
		nodes = append(nodes, node)
	}
	clear(s.triggered)
	return nodes
}

func (s *Survival) pause() time.Duration {
	if s.Registry.Brake().State().Holding {
		return min(holdingPause, s.Interval)
	}
	if !s.settled && time.Since(s.started) < settling {
		return min(settlingPause, s.Interval)
	}
	return s.Interval
}

// regain waits one beat after this process lost time: what it did not hear meanwhile is on its way.
func (s *Survival) regain(ctx context.Context) {
	if !s.pace.Lost() {
		return
	}
	slog.WarnContext(ctx, "the survival check lost time and waits one beat", "beat", s.Registry.Lease().Interval)
	timer := time.NewTimer(s.Registry.Lease().Interval)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// target is one location to probe, of the instance as it was when the round began.
type target struct {
	in       registry.Instance
	location string
}

// finding is a location that did not answer.
type finding struct {
	target
	asked  time.Time
	result probe.Result
}

// roundOnce probes what this replica owns.
func (s *Survival) roundOnce(ctx context.Context) error {
	var targets []target
	for _, in := range s.live(ctx) {
		if s.Member.Owns(in.App + "/" + in.ID) {
			targets = append(targets, targetsOf(in)...)
		}
	}
	s.settled = s.settled || len(targets) > 0
	return s.conclude(ctx, s.probeAll(ctx, targets))
}

// Check probes one node's instances now, whoever owns them, and removes those that do not answer.
func (s *Survival) Check(ctx context.Context, node string) error {
	var targets []target
	for _, in := range s.Registry.View().Node(node) {
		targets = append(targets, targetsOf(in)...)
	}
	return s.conclude(ctx, s.probeAll(ctx, targets))
}

// live returns the instances of nodes that are in the database. Without its answer all that are registered are probed:
// the patrol must not depend on it.
func (s *Survival) live(ctx context.Context) []registry.Instance {
	v := s.Registry.View()
	if s.Names != nil {
		names, err := s.Names(ctx)
		if err == nil {
			var all []registry.Instance
			for _, name := range names {
				all = append(all, v.Node(name)...)
			}
			return all
		}
		if ctx.Err() != nil {
			return nil // the server stops, perhaps before it began: not worth a word
		}
		slog.WarnContext(ctx, "the survival check goes on without the list of nodes", "error", err)
	}
	var all []registry.Instance
	for _, in := range v.All() {
		if in.Origin == registry.OriginNode {
			all = append(all, in)
		}
	}
	return all
}

// targetsOf leaves out what drains: it has said that it stops, and its lease ends by itself.
func targetsOf(in registry.Instance) []target {
	if in.Draining() {
		return nil
	}
	targets := make([]target, len(in.Locations))
	for i, l := range in.Locations {
		targets[i] = target{in, l}
	}
	return targets
}

// probeAll returns the locations that did not answer. Those of which nothing can be said are not among them.
func (s *Survival) probeAll(ctx context.Context, targets []target) []finding {
	var mu sync.Mutex
	var dead []finding
	var workers errgroup.Group
	workers.SetLimit(s.Workers)
	for _, t := range targets {
		workers.Go(func() error {
			asked := s.Now()
			r := s.probe(ctx, t)
			if r.OK {
				s.Registry.Brake().OK(t.location)
			} else if !r.Unsure {
				mu.Lock()
				dead = append(dead, finding{t, asked, r})
				mu.Unlock()
			}
			return nil
		})
	}
	_ = workers.Wait() // no worker fails
	return dead
}

func (s *Survival) probe(ctx context.Context, t target) probe.Result {
	var r probe.Result
	for try := range tries {
		if try > 0 {
			timer := time.NewTimer(betweenTries)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return probe.Result{Unsure: true}
			}
		}
		r = s.Probe.Handshake(ctx, t.location, t.in.NodeName)
		s.seconds.WithLabelValues("survival", resultLabel(r)).Observe(r.Latency.Seconds())
		if r.OK {
			return r
		}
	}
	if ctx.Err() != nil {
		r.Unsure = true
	}
	return r
}

// conclude removes what did not answer. The brake hears of all of it before the first removal.
func (s *Survival) conclude(ctx context.Context, dead []finding) error {
	if ctx.Err() != nil || len(dead) == 0 {
		return nil
	}
	dead = s.current(dead)
	byNode := map[string][]string{}
	for _, f := range dead {
		byNode[f.in.NodeName] = append(byNode[f.in.NodeName], f.location)
		s.Registry.Brake().Failed(f.location)
	}
	var failed error
	gone := map[string]bool{}
	for node, locations := range byNode {
		removed, err := s.Registry.RemoveLocations(ctx, node, locations, registry.Patrol)
		for _, l := range removed {
			gone[node+" "+l] = true
		}
		if err != nil {
			failed = err
			break
		}
	}
	for _, f := range dead {
		if gone[f.in.NodeName+" "+f.location] {
			slog.InfoContext(ctx, "instance does not answer and is removed", "node", f.in.NodeName, "instance", f.in.ID, "location", f.location,
				"layer", f.result.Layer, "error", f.result.Err)
		}
	}
	return failed
}

// current leaves out what changed while it was probed: who registered again, or beat through this replica, is alive.
func (s *Survival) current(dead []finding) []finding {
	v := s.Registry.View()
	var still []finding
	for _, f := range dead {
		now, ok := v.ByLocation(f.in.NodeName, f.location)
		if ok && now.Key == f.in.Key && now.Rev == f.in.Rev && !s.Registry.Brake().LastOK(f.location).After(f.asked) {
			still = append(still, f)
		}
	}
	return still
}
