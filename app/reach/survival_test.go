package reach_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"eruptcloud/app/probe"
	"eruptcloud/app/reach"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/memstore"
)

const patrol = 2 * time.Minute

// network answers probes as the test says and remembers them.
type network struct {
	mu      sync.Mutex
	dead    map[string]int // location → how many probes fail, -1: all
	unsure  map[string]bool
	takes   time.Duration
	asked   map[string][]time.Time
	at, top int // probes under way, and the most there were
	during  func(location string)
}

func (n *network) Handshake(_ context.Context, location, node string) probe.Result {
	n.mu.Lock()
	n.asked[location] = append(n.asked[location], time.Now())
	n.at++
	n.top = max(n.top, n.at)
	fails := n.dead[location]
	if fails > 0 {
		n.dead[location]--
	}
	unsure, takes, during := n.unsure[location], n.takes, n.during
	n.mu.Unlock()
	time.Sleep(takes)
	if during != nil {
		during(location)
	}
	n.mu.Lock()
	n.at--
	n.mu.Unlock()
	if !strings.HasPrefix(location, "http://"+node+".") {
		return probe.Result{Layer: probe.Identity, Err: errors.New("another node")}
	}
	if fails != 0 || unsure {
		return probe.Result{Layer: probe.Connect, Err: errors.New("refused"), Unsure: unsure}
	}
	return probe.Result{OK: true}
}

func (n *network) kill(locations ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range locations {
		n.dead[l] = -1
	}
}

func (n *network) revive() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.dead)
}

func (n *network) count(location string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.asked[location])
}

func (n *network) most() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.top
}

func (n *network) tries(location string) []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.asked[location])
}

func (n *network) locations() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.asked))
}

func (n *network) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.asked)
}

type owner func(string) bool

func (o owner) Owns(key string) bool { return o(key) }

type world struct {
	t        *testing.T
	net      *network
	registry *registry.Registry
	options  reach.SurvivalOptions
	survival *reach.Survival
}

// inTime runs a test in a bubble with a running registry; change edits the options of the survival check.
func inTime(t *testing.T, change func(o *reach.SurvivalOptions), test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, net: &network{dead: map[string]int{}, unsure: map[string]bool{}, asked: map[string][]time.Time{}}}
		w.registry = registry.New(registry.Options{Store: memstore.New(time.Now)})
		run(t, w.registry.Run)
		w.options = reach.SurvivalOptions{
			Registry: w.registry, Probe: w.net, Member: owner(func(string) bool { return true }), Interval: patrol,
			Metrics: prometheus.NewRegistry(),
		}
		if change != nil {
			change(&w.options)
		}
		w.survival = reach.NewSurvival(w.options)
		synctest.Wait()
		test(t, w)
	})
}

func run(t *testing.T, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
}

func at(node string, i int) string { return fmt.Sprintf("http://%s.%d", node, i) }

// register adds an instance of node at its i-th location and returns that.
func (w *world) register(node string, i int) string {
	w.t.Helper()
	l := at(node, i)
	in := registry.Instance{Key: registry.Key{ID: fmt.Sprint(i)}, NodeName: node, Locations: []string{l}}
	if _, _, err := w.registry.Register(w.t.Context(), in); err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) live(node string, want ...string) {
	w.t.Helper()
	var got []string
	for _, in := range w.registry.View().Node(node) {
		got = append(got, in.Locations...)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("live locations of %s: %q, want %q", node, got, want)
	}
}

// A14: at once at start, two tries 200 ms apart, and then every interval.
func TestPatrol(t *testing.T) {
	inTime(t, nil, func(t *testing.T, w *world) {
		alive, dead, slow := w.register("order", 1), w.register("order", 2), w.register("stock", 1)
		w.net.kill(dead)
		w.net.dead[slow] = 1 // answers at the second try
		run(t, w.survival.Run)
		time.Sleep(time.Second)
		w.live("order", alive)
		w.live("stock", slow)
		if n := []int{w.net.count(alive), w.net.count(dead), w.net.count(slow)}; !slices.Equal(n, []int{1, 2, 2}) {
			t.Errorf("probes in the first round: %v, want 1, 2, 2", n)
		}
		if tries := w.net.tries(dead); tries[1].Sub(tries[0]) != 200*time.Millisecond {
			t.Errorf("the second try came after %s, want 200ms", tries[1].Sub(tries[0]))
		}
		w.net.kill(alive)
		time.Sleep(patrol - 2*time.Second)
		w.live("order", alive)
		time.Sleep(2 * time.Second)
		w.live("order")
		recent := w.registry.View().Recent()
		if c := recent[len(recent)-1]; c.Reason != registry.Patrol {
			t.Errorf("removed by %q, want %q", c.Reason, registry.Patrol)
		}
	})
}

// A14: a patrol never stands in for a beat, and writes nothing when all are alive.
func TestPatrolRenewsNothing(t *testing.T) {
	inTime(t, nil, func(t *testing.T, w *world) {
		w.register("order", 1)
		key := registry.Key{App: "ORDER", ID: "1"}
		beat := time.Now()
		before := w.registry.View()
		run(t, w.survival.Run)
		time.Sleep(3*patrol + time.Second)
		beats, err := w.registry.LastHeartbeats(t.Context(), key)
		if err != nil || !beats[0].Equal(beat) || w.registry.View().Seq() != before.Seq() {
			t.Errorf("after three patrols the last beat is %v (%v), want %s and nothing written", beats, err, beat)
		}
	})
}

func TestOnlyDeadLocationsLeave(t *testing.T) {
	inTime(t, nil, func(t *testing.T, w *world) {
		in := registry.Instance{Key: registry.Key{ID: "x"}, NodeName: "order", Locations: []string{at("order", 1), at("order", 2)}}
		if _, _, err := w.registry.Register(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		w.net.kill(at("order", 1))
		if err := w.survival.Check(t.Context(), "order"); err != nil {
			t.Fatal(err)
		}
		w.live("order", at("order", 2))
	})
}

func TestWhoIsProbed(t *testing.T) {
	tests := map[string]struct {
		change func(*reach.SurvivalOptions)
		want   []string // of order 1, order 2 (draining), stock 1, all of them dead
	}{
		"all nodes, but none that drains": {nil, []string{at("order", 1), at("stock", 1)}},
		"nodes of the database": {func(o *reach.SurvivalOptions) {
			o.Names = func(context.Context) ([]string, error) { return []string{"stock", "offline"}, nil }
		}, []string{at("stock", 1)}},
		"all, if the database does not answer": {func(o *reach.SurvivalOptions) {
			o.Names = func(context.Context) ([]string, error) { return nil, errors.New("down") }
		}, []string{at("order", 1), at("stock", 1)}},
		"what this replica owns": {func(o *reach.SurvivalOptions) {
			o.Member = owner(func(key string) bool { return key == "ORDER/1" })
		}, []string{at("order", 1)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inTime(t, tt.change, func(t *testing.T, w *world) {
				w.register("order", 1)
				draining := w.register("order", 2)
				w.register("stock", 1)
				if err := w.registry.Drain(t.Context(), "order", []string{draining}, time.Now().Add(time.Hour)); err != nil {
					t.Fatal(err)
				}
				run(t, w.survival.Run)
				time.Sleep(time.Minute)
				if asked := w.net.locations(); !slices.Equal(asked, tt.want) {
					t.Errorf("probed %q, want %q", asked, tt.want)
				}
			})
		})
	}
}

// S95: our own resolver is silent; nobody leaves for that.
func TestUnsureIsNoFailure(t *testing.T) {
	inTime(t, nil, func(t *testing.T, w *world) {
		l := w.register("order", 1)
		w.net.unsure[l] = true
		run(t, w.survival.Run)
		time.Sleep(3 * patrol)
		w.live("order", l)
	})
}

// Everything fails at once: the server's own network. Nothing leaves, and when it is back only what is dead does.
func TestServerIsCutOff(t *testing.T) {
	inTime(t, nil, func(t *testing.T, w *world) {
		var all []string
		for i := range 30 {
			all = append(all, w.register("order", i))
		}
		w.net.kill(all...)
		run(t, w.survival.Run)
		time.Sleep(time.Minute)
		w.live("order", all...)
		if s := w.registry.Brake().State(); !s.Holding || len(s.Waiting) != 30 {
			t.Errorf("brake: %+v, want it to hold 30", s)
		}
		w.net.revive()
		w.net.kill(all[:10]...)
		time.Sleep(6 * time.Second) // the next round comes sooner while the brake holds
		w.live("order", all[10:]...)
		w.net.forget()
		time.Sleep(time.Minute)
		if n := w.net.count(all[20]); n > 1 {
			t.Errorf("%d probes in the minute after, want the usual pace", n)
		}
	})
}

// Half of the hosts are really gone: they leave within seconds, for the others answer.
func TestHalfOfTheFleetDies(t *testing.T) {
	inTime(t, nil, func(t *testing.T, w *world) {
		var all []string
		for i := range 30 {
			all = append(all, w.register("order", i))
		}
		w.net.kill(all[:20]...)
		run(t, w.survival.Run)
		time.Sleep(15 * time.Second)
		w.live("order", all[20:]...)
	})
}

// Who registers while its probe is under way is alive.
func TestRegistrationDuringAProbeWins(t *testing.T) {
	inTime(t, nil, func(t *testing.T, w *world) {
		l := w.register("order", 1)
		w.net.kill(l)
		w.net.takes = time.Second
		w.net.during = func(string) { w.register("order", 1) } // an unchanged beat, accepted by this replica
		if err := w.survival.Check(t.Context(), "order"); err != nil {
			t.Fatal(err)
		}
		w.live("order", l)
		w.net.during = func(l string) {
			in := registry.Instance{Key: registry.Key{ID: "new"}, NodeName: "order", Locations: []string{l}} // a restarted process
			if _, _, err := w.registry.Register(t.Context(), in); err != nil {
				t.Error(err)
			}
		}
		if err := w.survival.Check(t.Context(), "order"); err != nil {
			t.Fatal(err)
		}
		w.live("order", l)
	})
}

// A8: who leaves without saying which is found out at once, in the background, and then all are looked at.
func TestTrigger(t *testing.T) {
	inTime(t, nil, func(t *testing.T, w *world) {
		left, stays, other := w.register("order", 1), w.register("order", 2), w.register("stock", 1)
		run(t, w.survival.Run)
		time.Sleep(30 * time.Second)
		w.net.kill(left, other)
		for range 100 {
			w.survival.Trigger("order")
		}
		time.Sleep(time.Second)
		w.live("order", stays)
		w.live("stock")
		if n := w.net.count(stays); n > 4 {
			t.Errorf("100 triggers led to %d probes of a location, want one of its node and one patrol", n-1)
		}
	})
}

// A trigger brings the next round forward. It must not push it back, which would also pass for lost time.
func TestTriggerDelaysNoRound(t *testing.T) {
	inTime(t, func(o *reach.SurvivalOptions) { o.Interval = 2 * time.Second }, func(t *testing.T, w *world) {
		left, stays := w.register("order", 1), w.register("order", 2)
		run(t, w.survival.Run)
		time.Sleep(30 * time.Second)
		w.net.kill(left)
		w.survival.Trigger("order")
		time.Sleep(time.Second)
		w.live("order", stays)
		w.net.kill(stays)
		time.Sleep(3 * time.Second)
		w.live("order")
	})
}

func TestLostTimeWaitsOneBeat(t *testing.T) {
	var ahead atomic.Int64
	inTime(t, func(o *reach.SurvivalOptions) {
		o.Now = func() time.Time { return time.Now().Round(0).Add(time.Duration(ahead.Load())) }
	}, func(t *testing.T, w *world) {
		l := w.register("order", 1)
		run(t, w.survival.Run)
		time.Sleep(time.Minute)
		ahead.Store(int64(time.Hour))
		w.net.kill(l)
		time.Sleep(time.Minute + 14*time.Second)
		w.live("order", l)
		time.Sleep(2 * time.Second)
		w.live("order")
	})
}

func TestWorkersAreBounded(t *testing.T) {
	inTime(t, func(o *reach.SurvivalOptions) { o.Workers = 4 }, func(t *testing.T, w *world) {
		for i := range 50 {
			w.register("order", i)
		}
		w.net.takes = time.Second
		run(t, w.survival.Run)
		time.Sleep(time.Minute)
		if w.net.most() != 4 || w.net.count(at("order", 49)) != 1 {
			t.Errorf("%d probes at once, want 4 and all done", w.net.most())
		}
	})
}

func TestStopInTheMiddleRemovesNobody(t *testing.T) {
	inTime(t, nil, func(t *testing.T, w *world) {
		l := w.register("order", 1)
		w.net.kill(l)
		w.net.takes = time.Second
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.survival.Run(ctx) }()
		time.Sleep(1500 * time.Millisecond)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		w.live("order", l)
	})
}

// A replica learns only after its start what it owns; its first round must not wait for the next patrol.
func TestFirstRoundComesWhenSomethingIsOwned(t *testing.T) {
	var owns atomic.Bool
	inTime(t, func(o *reach.SurvivalOptions) { o.Member = owner(func(string) bool { return owns.Load() }) }, func(t *testing.T, w *world) {
		l := w.register("order", 1)
		w.net.kill(l)
		run(t, w.survival.Run)
		time.Sleep(5 * time.Second)
		w.live("order", l)
		owns.Store(true)
		time.Sleep(2 * time.Second)
		w.live("order")
	})
}
