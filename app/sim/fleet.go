// Package sim plays a fleet of nodes: real agents over real HTTP, with pages that look like a business, logs that flow, and an
// instance that stumbles now and then. It makes the demo worth looking at.
package sim

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"
)

// Spec says where the fleet belongs.
type Spec struct {
	Server string            // base URL of the control plane
	Tokens map[string]string // access token by node name
	// Seed makes the data; the same seed gives the same rows. Zero is a seed like any other.
	Seed uint64
	// StumbleEvery is the pause between two stumbles of the weak instance, StumbleFor how long one lasts. Defaults: 4 min, 20 s.
	StumbleEvery, StumbleFor time.Duration
	// LogEvery is about how often each instance logs. Default 1 s.
	LogEvery time.Duration
	// DrainTimeout and DrainSettle are those of the agents. Defaults: 2 s, 200 ms, so that Ctrl-C is quick.
	DrainTimeout, DrainSettle time.Duration
}

func (s Spec) complete() Spec {
	s.StumbleEvery = orDefault(s.StumbleEvery, 4*time.Minute)
	s.StumbleFor = orDefault(s.StumbleFor, 20*time.Second)
	s.LogEvery = orDefault(s.LogEvery, time.Second)
	s.DrainTimeout = orDefault(s.DrainTimeout, 2*time.Second)
	s.DrainSettle = orDefault(s.DrainSettle, 200*time.Millisecond)
	return s
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

// Fleet is the demo's nodes: crm twice, orders, warehouse.
type Fleet struct{ spec Spec }

// New returns a fleet; it starts nothing.
func New(spec Spec) *Fleet { return &Fleet{spec.complete()} }

// Run starts all instances and ends when ctx does, after each has left the control plane. An instance that cannot run ends all.
func (f *Fleet) Run(ctx context.Context) error {
	for _, n := range DemoNodes() {
		if f.spec.Tokens[n.Name] == "" {
			return fmt.Errorf("demo fleet: no access token for node %s", n.Name)
		}
	}
	uploads, err := os.MkdirTemp("", "eruptcloud-demo-files-")
	if err != nil {
		return fmt.Errorf("demo fleet: %w", err)
	}
	defer os.RemoveAll(uploads)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // the control plane is on this machine
	defer transport.CloseIdleConnections()

	shop := newShop(f.spec.Seed)
	instances, err := f.instances(shop, &http.Client{Transport: transport}, uploads)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for _, in := range instances {
		all.Go(func() {
			if err := in.run(ctx); err != nil {
				cancel(fmt.Errorf("demo instance %s: %w", in.label, err))
			}
		})
	}
	all.Wait()
	if cause := context.Cause(ctx); cause != nil && cause != ctx.Err() { //nolint:errorlint // the same value or ours
		return cause
	}
	return nil
}

// DemoNode is a node of the demo, as an admin would enter it.
type DemoNode struct {
	Name, Display, Remark string
	Group, GroupName      string // code and name of its group
	Config                string // JSON
	instances             int
}

// DemoNodes returns the records that the fleet needs on the server.
func DemoNodes() []DemoNode {
	return []DemoNode{
		{
			Name: "crm", Display: "客户关系 CRM", Group: "sales", GroupName: "销售 Sales", instances: 2,
			Remark: "two instances share their data; the second stumbles now and then",
			Config: "{\n  \"creditLimit\": 50000,\n  \"greeting\": \"您好 Hello\"\n}",
		},
		{
			Name: "orders", Display: "订单中心 Orders", Group: "sales", GroupName: "销售 Sales", instances: 1,
			Remark: "orders with items", Config: "{\n  \"currency\": \"CNY\",\n  \"maxItems\": 50\n}",
		},
		{
			Name: "warehouse", Display: "仓储 Warehouse", Group: "logistics", GroupName: "物流 Logistics", instances: 1,
			Remark: "a tree of places and what lies there", Config: "{\n  \"lowStock\": 20\n}",
		},
	}
}
