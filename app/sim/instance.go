package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"eruptcloud/nodeagent"
)

// instance is one process of a node, played by goroutines.
type instance struct {
	spec     Spec
	label    string // for logs and errors
	agent    *nodeagent.Agent
	log      *slog.Logger
	random   *rand.Rand
	stumbles bool
	sick     atomic.Bool // the health check fails while this is set
}

// instances makes one agent for each instance of the demo's nodes.
func (f *Fleet) instances(shop *shop, client *http.Client, uploads string) ([]*instance, error) {
	var all []*instance
	for _, n := range DemoNodes() {
		for i := range n.instances {
			in := &instance{
				spec: f.spec, label: fmt.Sprintf("%s-%d", n.Name, i+1), stumbles: n.Name == "crm" && i == 1,
				random: rand.New(rand.NewPCG(f.spec.Seed, uint64(len(all)+1))), //nolint:gosec // a play, not a secret
			}
			ring := nodeagent.NewLogRing(0)
			in.log = slog.New(ring.Handler(nil))
			agent, err := nodeagent.New(nodeagent.Config{
				NodeName: n.Name, AccessToken: f.spec.Tokens[n.Name], ServerAddresses: []string{f.spec.Server},
				Version: nodeagent.Version, Modules: []string{"demo-" + n.Name}, LogRing: ring, Logger: in.log, HTTPClient: client,
				DrainTimeout: f.spec.DrainTimeout, DrainSettle: f.spec.DrainSettle, UploadDir: uploads + "/" + n.Name, MaxUpload: 10 << 20,
				Healthy: in.healthy,
			})
			if err != nil {
				return nil, fmt.Errorf("demo instance %s: %w", in.label, err)
			}
			if err := agent.Host(shop.pages(n.Name)...); err != nil {
				return nil, fmt.Errorf("demo instance %s: %w", in.label, err)
			}
			agent.OnConfigChange(shop.configured(n.Name, in.log))
			in.agent = agent
			all = append(all, in)
		}
	}
	return all, nil
}

var errSick = errors.New("connection pool exhausted: 64 of 64 in use, 31 waiting")

func (in *instance) healthy(*http.Request) error {
	if in.sick.Load() {
		return errSick
	}
	return nil
}

// run serves, logs and stumbles until ctx ends.
func (in *instance) run(ctx context.Context) error {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	listener := newFlaky(inner)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var beside sync.WaitGroup
	beside.Go(func() { in.chatter(ctx) })
	if in.stumbles {
		beside.Go(func() { in.stumble(ctx, listener) })
	}
	err = in.agent.ServeListener(ctx, &http.Server{Handler: http.HandlerFunc(in.home)}, listener)
	cancel()
	beside.Wait()
	return err
}

func (in *instance) home(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, "%s, an instance of the demo fleet\n", in.label)
}

// stumble lets the instance fail again and again: by turns its port closes, and its health check fails.
func (in *instance) stumble(ctx context.Context, listener *flaky) {
	for n := 0; ; n++ {
		if !sleep(ctx, in.spec.StumbleEvery) {
			return
		}
		if n%2 == 0 {
			in.log.Error("out of file descriptors, accepting no connections", "limit", 1024, "open", 1024)
			listener.suspend()
		} else {
			in.log.Error("health check fails", "error", errSick)
			in.sick.Store(true)
		}
		resting := sleep(ctx, in.spec.StumbleFor)
		// Also when it is over: an instance leaves the way it came, with its port open.
		in.sick.Store(false)
		listener.resume()
		if !resting {
			return
		}
		in.log.Info("recovered", "after", in.spec.StumbleFor)
	}
}

// sleep waits for d; false means that ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
