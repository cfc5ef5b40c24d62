package main

import (
	"context"
	"fmt"
	"time"
)

// side is one of the two proxies under a load.
type side struct {
	process  *process
	client   *client
	breaks   bool          // it may: a bare ReverseProxy sometimes closes a connection whose body it believes unread
	cpu      time.Duration // in all rounds
	requests int
	rate     []float64 // requests a second, by round
	p50, p99 []float64 // µs, by round
}

// perRequest returns µs.
func (s *side) perRequest() float64 {
	return float64(s.cpu.Microseconds()) / float64(max(s.requests, 1))
}

// paired returns the ratios of rounds that followed each other: what else runs on the machine hits both alike.
func paired(ours, bare []float64) []float64 {
	var all []float64
	for i := range min(len(ours), len(bare)) {
		all = append(all, ours[i]/bare[i])
	}
	return all
}

// measureProxy compares the server with the bare proxy on the same requests. The two take turns, so that noise hits both.
func (r *rig) measureProxy(ctx context.Context, t *table) error {
	for _, size := range sizes {
		ours := &side{process: r.server, client: newClient(r.server.URL, r.token, size)}
		bare := &side{process: r.bare, breaks: true, client: newClient(r.bare.URL, r.token, size)}
		profiled := r.profiles(ctx, size)
		for round := range r.rounds + 1 {
			for _, s := range []*side{bare, ours} {
				if err := s.round(ctx, r.slice, round > 0); err != nil { // the first warms up
					return err
				}
			}
		}
		if err := profiled(); err != nil {
			return err
		}
		rates, p99s := paired(ours.rate, bare.rate), paired(ours.p99, bare.p99)
		name := fmt.Sprintf("proxy, %d KiB", size>>10)
		cpu := row{what: name + ", CPU per request", ours: ours.perRequest(), base: bare.perRequest(), unit: "µs", against: "bare", limit: 1.6, aim: 1.25}
		if size > 1<<10 {
			cpu.limit, cpu.aim = 1.4, 1.15
		}
		t.add(cpu)
		t.add(row{
			what: fmt.Sprintf("%s, rate on %d connections", name, connections), ours: median(ours.rate), base: median(bare.rate), paired: rates,
			unit: "/s", against: "bare", limit: 0.70, aim: 0.85, atLeast: true,
		})
		t.add(row{what: name + ", p99", ours: median(ours.p99), base: median(bare.p99), paired: p99s, unit: "µs", against: "bare", limit: 1.5})
	}
	return r.measureLatency(ctx, t)
}

func (s *side) round(ctx context.Context, d time.Duration, counts bool) error {
	before, err := s.process.cpu()
	if err != nil {
		return err
	}
	took, err := s.client.load(ctx, connections, d)
	if err != nil && (!s.breaks || len(took) == 0) {
		return fmt.Errorf("load on %s: %w", s.process.name(), err)
	}
	after, err := s.process.cpu()
	if err != nil || !counts {
		return err
	}
	s.cpu, s.requests = s.cpu+after-before, s.requests+len(took)
	s.rate = append(s.rate, float64(len(took))/d.Seconds())
	s.p99 = append(s.p99, float64(quantile(took, 0.99).Microseconds()))
	return nil
}

// profiles begins a CPU profile of the server; what it returns waits for its end.
func (r *rig) profiles(ctx context.Context, size int) func() error {
	if r.profile == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	seconds := int((r.slice * time.Duration(2*r.rounds)).Seconds())
	go func() {
		done <- r.server.save(ctx, r.profile, fmt.Sprintf("cpu-%d.pb.gz", size), fmt.Sprintf("profile?seconds=%d", max(seconds, 1)))
	}()
	return func() error {
		if err := <-done; err != nil {
			return err
		}
		return r.server.save(ctx, r.profile, fmt.Sprintf("allocs-%d.pb.gz", size), "allocs")
	}
}

// measureLatency compares what each proxy adds to a direct request, on one connection.
func (r *rig) measureLatency(ctx context.Context, t *table) error {
	clients := []*client{
		newClient(r.node.URL, r.token, sizes[0]), newClient(r.bare.URL, r.token, sizes[0]), newClient(r.server.URL, r.token, sizes[0]),
	}
	p50 := make([][]float64, len(clients))
	for round := range r.rounds + 1 {
		for i, c := range clients {
			took, err := c.load(ctx, 1, r.slice/2)
			if err != nil && len(took) == 0 {
				return err
			}
			if round > 0 {
				p50[i] = append(p50[i], float64(quantile(took, 0.5).Nanoseconds())/1000)
			}
		}
	}
	direct := median(p50[0])
	t.add(row{
		what: "proxy, added p50 on one connection", ours: median(p50[2]) - direct, base: median(p50[1]) - direct, unit: "µs",
		against: "added by bare", limit: 2,
	})
	return nil
}
