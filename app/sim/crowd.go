package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"eruptcloud/nodeagent"
)

// CrowdSpec says what a crowd plays and against which server.
type CrowdSpec struct {
	Server    string // base URL of the control plane
	Nodes     int    // how many nodes. Default 300
	Instances int    // of each. Default 2
	Groups    int    // that the nodes lie in; zero: none
	Prefix    string // of their names. Default sim
	// Seed decides on everything that is drawn by lot: who has which fault when, versions, clocks.
	Seed uint64
	// Churn is the mean time between two faults of one instance, Last the mean time that one lasts. Churn zero: no faults.
	Churn, Last time.Duration
	Faults      []Fault // nil: all
	// Changes is how many instances a second report another version.
	Changes float64
	// Visits is how many requests a second go through the server to nodes.
	Visits   float64
	LogEvery time.Duration // of each instance; zero: nothing
	Ramp     time.Duration // in which all come
	// Records makes the nodes' records on the server and gives visitors a session. Nil: Tokens says it all.
	Records *Records
	Tokens  map[string]string // access tokens by node name
	Clean   bool              // remove the records at the end
	Report  io.Writer         // events as JSON lines
}

func (s CrowdSpec) complete() CrowdSpec {
	s.Server = strings.TrimRight(s.Server, "/")
	if s.Nodes <= 0 {
		s.Nodes = 300
	}
	if s.Instances <= 0 {
		s.Instances = 2
	}
	if s.Prefix == "" {
		s.Prefix = "sim"
	}
	if s.Faults == nil {
		s.Faults = AllFaults()
	}
	s.Last = orDefault(s.Last, 20*time.Second)
	return s
}

// Crowd is a fleet of hundreds of nodes with faults.
type Crowd struct {
	spec      CrowdSpec
	tokens    map[string]string
	actors    []*actor
	tickets   *nodeagent.MemSource
	transport *http.Transport
	*reporter
}

// NewCrowd returns a crowd, or what is wrong with the spec. It starts nothing.
func NewCrowd(spec CrowdSpec) (*Crowd, error) {
	spec = spec.complete()
	if u, err := url.Parse(spec.Server); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no address of a server, such as http://127.0.0.1:8080", spec.Server)
	}
	if spec.Records == nil && len(spec.Tokens) == 0 {
		return nil, errors.New("a crowd needs a login to make the nodes' records with, or the nodes' access tokens")
	}
	if spec.Visits > 0 && spec.Records == nil {
		return nil, errors.New("visits need a login")
	}
	return &Crowd{spec: spec, reporter: newReporter(spec.Report)}, nil
}

// Run makes the records, lets the crowd play until ctx ends, waits until everybody has left, and removes the records if asked.
func (c *Crowd) Run(ctx context.Context) (err error) {
	defer c.summary()
	if err := c.prepare(ctx); err != nil {
		return err
	}
	if c.spec.Clean && c.spec.Records != nil {
		defer func() {
			// also after a signal, and after a fault of ours
			err = errors.Join(err, c.spec.Records.remove(context.WithoutCancel(ctx), c.nodeNames(), c.groupCodes()))
		}()
	}
	if ctx.Err() != nil {
		return nil
	}
	c.transport = newTransport(64)
	defer c.transport.CloseIdleConnections()
	c.cast()
	return c.play(ctx)
}

// prepare learns the nodes' tokens.
func (c *Crowd) prepare(ctx context.Context) error {
	if c.spec.Records == nil {
		c.tokens = c.spec.Tokens
		return nil
	}
	tokens, err := c.spec.Records.make(ctx, c.nodeNames(), c.groupCodes())
	c.tokens = tokens
	if err != nil && ctx.Err() == nil {
		if c.spec.Clean {
			err = errors.Join(err, c.spec.Records.remove(context.WithoutCancel(ctx), c.nodeNames(), c.groupCodes()))
		}
		return err
	}
	return nil
}

// nodeNames are those that the spec counts, or those that it has tokens for.
func (c *Crowd) nodeNames() []string {
	if c.spec.Records == nil {
		return sortedKeys(c.spec.Tokens)
	}
	all := make([]string, c.spec.Nodes)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%04d", c.spec.Prefix, i+1)
	}
	return all
}

func (c *Crowd) groupCodes() []string {
	all := make([]string, c.spec.Groups)
	for i := range all {
		all[i] = fmt.Sprintf("%s-g%d", c.spec.Prefix, i+1)
	}
	return all
}

// cast gives every instance its part; nothing here depends on time or on the server.
func (c *Crowd) cast() {
	c.tickets = nodeagent.NewMemSource(makeTickets(c.lot(0))...)
	names := c.nodeNames()
	total := len(names) * c.spec.Instances
	for i, node := range names {
		version := versions[c.lot(1<<32+uint64(i)).IntN(len(versions))]
		for range c.spec.Instances {
			index := len(c.actors)
			lot := c.lot(uint64(index) + 1)
			a := &actor{crowd: c, node: node, index: index, traits: traitsOf(lot, version), random: c.lot(2<<32 + uint64(index))}
			a.plan = plan{random: lot, faults: c.spec.Faults, churn: c.spec.Churn, last: c.spec.Last, others: total - 1}
			c.actors = append(c.actors, a)
		}
	}
}

// lot returns random numbers that belong to one thing.
func (c *Crowd) lot(thing uint64) *rand.Rand {
	return rand.New(rand.NewPCG(c.spec.Seed, thing)) //nolint:gosec // a play, not a secret
}

// play runs all actors and what is beside them.
func (c *Crowd) play(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for i, a := range c.actors {
		start := c.spec.Ramp * time.Duration(i) / time.Duration(len(c.actors))
		all.Go(func() {
			if err := a.run(ctx, start); err != nil {
				cancel(err)
			}
		})
	}
	if c.spec.Changes > 0 {
		all.Go(func() { c.change(ctx) })
	}
	if c.spec.Visits > 0 {
		all.Go(func() { c.visit(ctx) })
	}
	all.Wait()
	if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() { //nolint:errorlint // the same value or ours
		return cause
	}
	return nil
}

// change lets instances report another version, Changes times a second, some of them at once where the server takes its time.
func (c *Crowd) change(ctx context.Context) {
	lot := c.lot(3 << 32)
	var open sync.WaitGroup
	defer open.Wait()
	slots := make(chan struct{}, 64)
	pause := time.Duration(float64(time.Second) / c.spec.Changes)
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		a := c.actors[lot.IntN(len(c.actors))]
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		open.Go(func() {
			defer func() { <-slots }()
			if a.update(ctx, n) {
				c.changed()
			}
		})
	}
}
