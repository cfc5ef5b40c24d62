package boot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/memstore"
	"eruptcloud/proxy"
)

type someNodes struct {
	node   fleet.Node
	tokens []string
	held   map[string]bool
}

func (s someNodes) Cached(name string) (fleet.Node, bool) { return s.node, name == s.node.Name }
func (s someNodes) Tokens(string) []string                { return s.tokens }
func (s someNodes) Held(_, location string) (fleet.Hold, bool) {
	return fleet.Hold{}, s.held[location]
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// runningRegistry has two instances of crm, registered with an old and a new token.
func runningRegistry(t *testing.T) *registry.Registry {
	t.Helper()
	r := registry.New(registry.Options{Store: memstore.New(time.Now)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	if err := r.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	for i, token := range []string{"old", "new"} {
		id := string(rune('a' + i))
		_, _, err := r.Register(ctx, registry.Instance{
			Key: registry.Key{App: "CRM", ID: id}, NodeName: "crm", Origin: registry.OriginNode, Status: registry.Up,
			Locations: []string{"http://10.0.0.1:808" + id}, Node: &registry.NodeDetail{Version: "2.3." + id, Token: digest(token)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestLookup(t *testing.T) { // A13, A20
	r := runningRegistry(t)
	nodes := someNodes{node: fleet.Node{Name: "crm", Enabled: true}, tokens: []string{"new", "old"}, held: map[string]bool{}}
	d := newDirectory(nodes, nodes, r)
	seen := map[string]int{}
	for range 4 {
		target, err := d.Lookup("crm")
		if err != nil || len(target.Upstreams) != 2 {
			t.Fatalf("Lookup = %+v, %v; want two upstreams", target, err)
		}
		seen[target.Upstreams[0].Instance]++
		for _, u := range target.Upstreams {
			if want := map[string]string{"a": "old", "b": "new"}[u.Instance]; u.Token != want {
				t.Errorf("instance %s gets token %q, want the one that it registered with, %q", u.Instance, u.Token, want)
			}
		}
	}
	if seen["a"] != 2 || seen["b"] != 2 {
		t.Errorf("first choices %v, want each twice", seen)
	}
	nodes.held["http://10.0.0.1:808a"] = true
	if target, err := d.Lookup("crm"); err != nil || len(target.Upstreams) != 1 || target.Upstreams[0].Instance != "b" {
		t.Errorf("with a held location Lookup = %+v, %v; want the other one alone", target, err)
	}
	if target, err := d.At("crm", "http://10.0.0.1:808a"); err != nil || target.Upstreams[0].Token != "old" {
		t.Errorf("At(held location) = %+v, %v; want it, for its log", target, err)
	}
	nodes.held["http://10.0.0.1:808b"] = true
	if _, err := d.Lookup("crm"); proxy.KindOf(err) != proxy.NodeNotReady {
		t.Errorf("with all held Lookup = %v, want not ready", err)
	}
}

func TestLookupOfADisabledNode(t *testing.T) {
	nodes := someNodes{node: fleet.Node{Name: "crm"}}
	d := newDirectory(nodes, nodes, runningRegistry(t))
	if _, err := d.Lookup("crm"); proxy.KindOf(err) != proxy.NodeNotReady {
		t.Errorf("Lookup of a disabled node = %v, want not ready at once (design 18.15)", err)
	}
}

func TestEvictionsAreBoundedAndCarriedOut(t *testing.T) { // A11
	r := runningRegistry(t)
	nodes := someNodes{node: fleet.Node{Name: "crm", Enabled: true}}
	d := newDirectory(nodes, nodes, r)
	for range 1000 { // nobody reads the queue yet: it must not block
		d.Evict(t.Context(), "crm", "http://10.0.0.1:808a")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	gone := make(chan struct{}, 1000)
	r.Listen(func([]registry.Change) { gone <- struct{}{} })
	for len(r.View().Node("crm")) == 2 {
		<-gone
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run = %v at its context's end", err)
	}
}
