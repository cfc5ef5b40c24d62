package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"eruptcloud/nodeagent/wire"
)

const (
	registrars = 4    // connections that register
	answerSize = 4096 // bytes of a table's answer
	// Nodes and instances that register in turns: a server may take too many beats of one for an attack.
	fleetNodes, fleetEach = 20, 10
)

// contestant is one of the two servers.
type contestant struct {
	*process
	table    *client // proxied table queries
	register *client // registrations of the node, each with its health probe
	queries  side
	beats    side
}

// besideJava measures ours and the original in turns: each has a MariaDB database, a Redis for sessions and leases, the same small
// node behind it, and gets the same load. The JVM runs with its default compilers and collector and has the whole load
// of the warm-up before anything counts.
func besideJava(ctx context.Context, t *table, s *settings, dir string) error {
	r, err := newJavaRig(ctx, s, dir)
	if err != nil {
		return err
	}
	defer r.close()
	both := []*contestant{r.original, r.ours}
	for _, c := range both {
		if err := c.warmUp(ctx, s.warm); err != nil {
			return fmt.Errorf("warming up %s: %w", c.name(), err)
		}
	}
	for range s.rounds {
		for _, c := range both {
			if err := c.queries.turn(ctx, connections, s.slice); err != nil {
				return err
			}
		}
		for _, c := range both {
			if err := c.beats.turn(ctx, registrars, s.slice); err != nil {
				return err
			}
		}
	}
	if err := r.report(t); err != nil {
		return err
	}
	fmt.Printf("the JVM had %s of each load before the first measurement; then %d turns of %s each\n", s.warm, s.rounds, s.slice)
	t.print(os.Stdout)
	if t.over {
		return errOver
	}
	return nil
}

// warmUp lets a server have both loads, so that nothing is measured that only happens once.
func (c *contestant) warmUp(ctx context.Context, d time.Duration) error {
	if _, err := c.table.load(ctx, connections, d); err != nil {
		return err
	}
	_, err := c.register.load(ctx, registrars, d)
	return err
}

// turn is one slice of load on a side.
func (s *side) turn(ctx context.Context, n int, d time.Duration) error {
	before, err := s.process.cpu()
	if err != nil {
		return err
	}
	took, err := s.client.load(ctx, n, d)
	if err != nil {
		return fmt.Errorf("load on %s: %w", s.process.name(), err)
	}
	after, err := s.process.cpu()
	if err != nil {
		return err
	}
	s.cpu, s.requests = s.cpu+after-before, s.requests+len(took)
	s.rate = append(s.rate, float64(len(took))/d.Seconds())
	s.p50 = append(s.p50, float64(quantile(took, 0.50).Microseconds()))
	s.p99 = append(s.p99, float64(quantile(took, 0.99).Microseconds()))
	return nil
}

// report makes the rows: what ours takes of what the original takes.
func (r *javaRig) report(t *table) error {
	kinds := []struct {
		name         string
		ours, theirs *side
	}{
		{"proxied table query", &r.ours.queries, &r.original.queries},
		{"registration", &r.ours.beats, &r.original.beats},
	}
	for _, k := range kinds {
		t.add(row{what: k.name + ", server CPU", ours: k.ours.perRequest(), base: k.theirs.perRequest(), unit: "µs", against: "Java", limit: 0.2})
		t.add(row{
			what: k.name + ", rate", ours: median(k.ours.rate), base: median(k.theirs.rate), paired: paired(k.ours.rate, k.theirs.rate),
			unit: "/s", against: "Java", limit: 1, atLeast: true,
		})
		t.add(row{what: k.name + ", p50", ours: median(k.ours.p50), base: median(k.theirs.p50), paired: paired(k.ours.p50, k.theirs.p50), unit: "µs", against: "Java", limit: 1})
		t.add(row{what: k.name + ", p99", ours: median(k.ours.p99), base: median(k.theirs.p99), paired: paired(k.ours.p99, k.theirs.p99), unit: "µs", against: "Java", limit: 1})
	}
	ours, err := r.ours.resident()
	if err != nil {
		return err
	}
	theirs, err := r.original.resident()
	if err != nil {
		return err
	}
	t.add(row{what: "resident memory after the load", ours: ours / (1 << 20), base: theirs / (1 << 20), unit: "MiB", against: "Java", limit: 0.2})
	return nil
}

func fleetNode(i int) string { return fmt.Sprintf("bench-%02d", i) }

// registrations are what the instances send at each beat, one node after the other; token returns that of a node.
func registrations(address string, token func(node string) string) ([]string, error) {
	var all []string
	for i := range fleetNodes * fleetEach {
		name := fleetNode(i % fleetNodes)
		raw, err := json.Marshal(wire.NodeInfo{
			InstanceID: fmt.Sprintf("inst%02d", i/fleetNodes), Version: "1.12.23", NodeName: name, AccessToken: token(name),
			NodeAddress:  []string{fmt.Sprintf("%s/%s/i%d", address, name, i/fleetNodes)},
			EruptModules: []string{"erupt-jpa", "erupt-tpl"}, Erupts: []string{"Customer", "Product", "Purchase", "Region", "Warehouse"},
		})
		if err != nil {
			return nil, err
		}
		all = append(all, string(raw))
	}
	return all, nil
}

// fromMany dials from one loopback address after the other, as a fleet does, so that no limit for one address is measured.
func fromMany() *http.Transport {
	var n atomic.Int64
	return &http.Transport{
		DisableCompression: true, MaxIdleConnsPerHost: connections,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+n.Add(1)%200))}}
			return d.DialContext(ctx, network, address)
		},
	}
}
