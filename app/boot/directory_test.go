package boot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
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

// someDrains are drains by instance id.
type someDrains map[string]fleet.Drain

func (s someDrains) Draining(_, instance string) (fleet.Drain, bool) {
	d, ok := s[instance]
	return d, ok
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
	d := newDirectory(nodes, nodes, someDrains{}, r)
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
	d := newDirectory(nodes, nodes, someDrains{}, runningRegistry(t))
	if _, err := d.Lookup("crm"); proxy.KindOf(err) != proxy.NodeNotReady {
		t.Errorf("Lookup of a disabled node = %v, want not ready at once (design 18.15)", err)
	}
}

func TestEvictionsAreBoundedAndCarriedOut(t *testing.T) { // A11
	r := runningRegistry(t)
	nodes := someNodes{node: fleet.Node{Name: "crm", Enabled: true}}
	d := newDirectory(nodes, nodes, someDrains{}, r)
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

func TestCandidatesSayWhy(t *testing.T) { // D11, D12
	r := runningRegistry(t)
	nodes := someNodes{node: fleet.Node{Name: "crm", Enabled: true}, held: map[string]bool{}}
	drains := someDrains{}
	d := newDirectory(nodes, nodes, drains, r)
	first, _ := d.Candidates("crm")
	if target, err := d.Lookup("crm"); err != nil || len(first) != 2 || target.Upstreams[0].Location != first[0].Location || first[0].Standing != proxy.Routed {
		t.Errorf("Candidates = %+v, the next turn is %+v, %v; want the same order", first, target.Upstreams, err)
	}
	since := time.Now()
	drains["a"] = fleet.Drain{Reason: "update", Account: "lin", Created: since}
	target, err := d.Lookup("crm")
	if err != nil || len(target.Upstreams) != 1 || target.Upstreams[0].Instance != "b" || target.Version != "2.3.b" {
		t.Errorf("with a drained instance Lookup = %+v, %v; want the other one alone", target, err)
	}
	want := proxy.Candidate{Location: "http://10.0.0.1:808a", Instance: "a", Standing: proxy.Draining, Why: "update", By: "lin", Since: since}
	if len(target.Skipped) != 1 || target.Skipped[0] != want {
		t.Errorf("skipped %+v, want %+v", target.Skipped, want)
	}
	nodes.held["http://10.0.0.1:808b"] = true
	target, err = d.Peek("crm")
	if proxy.KindOf(err) != proxy.NodeNotReady || len(target.Skipped) != 2 || target.Skipped[1].Standing != proxy.Held {
		t.Errorf("with nothing left Peek = %+v, %v; want not ready and both reasons", target, err)
	}
	delete(drains, "a")
	if err := r.Drain(t.Context(), "crm", []string{"http://10.0.0.1:808a"}, since.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	all, enabled := d.Candidates("crm")
	if !enabled || len(all) != 2 || all[0].Standing != proxy.Draining || all[0].By != "" || all[0].Since.IsZero() {
		t.Errorf("of an instance that says goodbye itself: %+v, want it draining", all)
	}
}

func TestEvictedLocationsAreRemembered(t *testing.T) { // D11
	r := runningRegistry(t)
	now := time.Now()
	nodes := someNodes{node: fleet.Node{Name: "crm", Enabled: true}}
	d := newDirectory(nodes, nodes, someDrains{}, r)
	d.evicted.now = func() time.Time { return now }
	d.evict(t.Context(), eviction{"crm", "http://10.0.0.1:808a"})
	all, _ := d.Candidates("crm")
	want := proxy.Candidate{Location: "http://10.0.0.1:808a", Instance: "a", Standing: proxy.Evicted, Since: now}
	if len(all) != 2 || all[1] != want {
		t.Fatalf("Candidates = %+v, want the other one, then %+v", all, want)
	}
	if _, _, err := r.Register(t.Context(), registry.Instance{
		Key: registry.Key{App: "CRM", ID: "a"}, NodeName: "crm", Origin: registry.OriginNode, Status: registry.Up,
		Locations: []string{"http://10.0.0.1:808a"}, Node: &registry.NodeDetail{},
	}); err != nil {
		t.Fatal(err)
	}
	if all, _ := d.Candidates("crm"); len(all) != 2 || all[1].Standing != proxy.Routed {
		t.Errorf("after it came back %+v, want both routed", all)
	}
	for i := range 2 * maxEvicted {
		d.evicted.hear([]registry.Change{{Action: registry.Deleted, Reason: registry.Failover, In: registry.Instance{
			NodeName: "crm", Locations: []string{string(rune('a' + i))},
		}}})
	}
	if n := len(d.evicted.all); n != maxEvicted {
		t.Errorf("%d are remembered, want %d", n, maxEvicted)
	}
	now = now.Add(evictedFor + time.Second)
	if all, _ := d.Candidates("crm"); len(all) != 2 || d.evicted.count.Load() != 0 {
		t.Errorf("minutes later %+v, want nothing of them", all)
	}
}

func TestNamesOfAllPages(t *testing.T) { // A24
	r := runningRegistry(t)
	for id, erupts := range map[string][]string{"c": {"Order", "Customer"}, "d": {"Customer"}} {
		if _, _, err := r.Register(t.Context(), registry.Instance{
			Key: registry.Key{App: "CRM", ID: id}, NodeName: "crm", Origin: registry.OriginNode, Status: registry.Up,
			Locations: []string{"http://10.0.0.1:808" + id}, Node: &registry.NodeDetail{Erupts: erupts},
		}); err != nil {
			t.Fatal(err)
		}
	}
	nodes := someNodes{node: fleet.Node{Name: "crm", Enabled: true}}
	if got := newDirectory(nodes, nodes, someDrains{}, r).Names(); !slices.Equal(got, []string{"crm.Customer", "crm.Order"}) {
		t.Errorf("Names = %q, want each page once", got)
	}
	nodes.node.Enabled = false
	if got := newDirectory(nodes, nodes, someDrains{}, r).Names(); len(got) != 0 {
		t.Errorf("Names of a disabled node = %q, want none", got)
	}
}
