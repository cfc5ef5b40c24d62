package main

import (
	"context"
	"fmt"
	"time"
)

const (
	idleInstances = 200
	idleTime      = 15 * time.Second // one beat of each
)

// measureIdle lets 200 instances beat and looks at what that costs the server.
func (r *rig) measureIdle(ctx context.Context, t *table) error {
	address := func(i int) (string, string) { return fmt.Sprintf("i%d", i), fmt.Sprintf("%s/i%d", r.node.URL, i) }
	for i := range idleInstances {
		id, at := address(i)
		if err := r.register(ctx, r.server, id, at); err != nil {
			return err
		}
	}
	before, err := r.server.cpu()
	if err != nil {
		return err
	}
	start := time.Now()
	tick := time.NewTicker(idleTime / idleInstances)
	defer tick.Stop()
	for i := range idleInstances {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		id, at := address(i)
		if err := r.register(ctx, r.server, id, at); err != nil {
			return err
		}
	}
	after, err := r.server.cpu()
	if err != nil {
		return err
	}
	t.add(row{
		what: fmt.Sprintf("idle with %d instances that beat, CPU a second", idleInstances), ours: float64((after - before).Milliseconds()) / time.Since(start).Seconds(),
		base: 1000, unit: "ms", against: "one core", limit: 0.05, aim: 0.02,
	})
	return nil
}

// measureStart stops the server and starts it anew on its file, until the first page is there.
func (r *rig) measureStart(ctx context.Context, t *table) error {
	r.server.stop()
	var all []float64
	for range 3 {
		start := time.Now()
		p, err := r.serve(ctx)
		if err != nil {
			return err
		}
		r.server = p
		if _, err := get(ctx, p.URL+"/console/login"); err != nil {
			return err
		}
		all = append(all, float64(time.Since(start).Milliseconds()))
		p.stop()
	}
	r.server = nil
	t.add(row{what: "start to the first page, existing SQLite file", ours: median(all), base: 1000, unit: "ms", against: "a second", limit: 1})
	return nil
}
