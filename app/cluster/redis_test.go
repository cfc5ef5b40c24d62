package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"eruptcloud/app/cluster"
	"eruptcloud/app/testbed"
)

func TestEachKeyHasOneOwner(t *testing.T) {
	url := testbed.Redis(t)
	var all []*cluster.Redis
	stops := map[string]func(){}
	for _, id := range []string{"a", "b", "c"} {
		r := cluster.NewRedis(dial(t, url), "test:", id)
		cluster.Hurry(r)
		if r.Owns("x") {
			t.Errorf("%s owns a key before anybody knows of it", id)
		}
		stops[id] = start(t, r.Run)
		all = append(all, r)
	}
	eventually(t, "all know all", func() bool {
		return !slices.ContainsFunc(all, func(r *cluster.Redis) bool { return len(r.Replicas()) != 3 })
	})
	owners := ownersOf(t, all)
	counts := map[string]int{}
	for _, o := range owners {
		counts[o]++
	}
	for id, n := range counts {
		if n < 250 || n > 420 {
			t.Errorf("%s owns %d of 1000 keys, far from a third", id, n)
		}
	}

	stops["c"]()
	left := all[:2]
	eventually(t, "c is gone", func() bool {
		return !slices.ContainsFunc(left, func(r *cluster.Redis) bool { return len(r.Replicas()) != 2 })
	})
	for key, o := range ownersOf(t, left) {
		if owners[key] != "c" && owners[key] != o {
			t.Errorf("%s moved from %s to %s although only c left", key, owners[key], o)
		}
	}
}

func ownersOf(t *testing.T, replicas []*cluster.Redis) map[string]string {
	t.Helper()
	owners := map[string]string{}
	for i := range 1000 {
		key := fmt.Sprintf("order-service|http://10.0.0.%d:8080", i)
		for _, r := range replicas {
			if !r.Owns(key) {
				continue
			}
			if other, twice := owners[key]; twice {
				t.Fatalf("%s and %s own %s", other, r.ID(), key)
			}
			owners[key] = r.ID()
		}
		if owners[key] == "" {
			t.Fatalf("nobody owns %s", key)
		}
	}
	return owners
}

func TestReplicaThatDiesSilentlyIsForgotten(t *testing.T) {
	url := testbed.Redis(t)
	a := running(t, dial(t, url), "a")
	client := dial(t, url)
	// What a killed process leaves behind: its key, which ends by itself, and its name in the set.
	if err := client.SAdd(t.Context(), "test:replicas", "killed").Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Set(t.Context(), "test:replica:killed", "1", 500*1e6).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a sees it", func() bool { return slices.Contains(a.Replicas(), "killed") })
	eventually(t, "a forgets it", func() bool { return !slices.Contains(a.Replicas(), "killed") })
	if left, err := client.SMembers(t.Context(), "test:replicas").Result(); err != nil || !slices.Equal(left, []string{"a"}) {
		t.Errorf("the set holds %v, %v; want only a", left, err)
	}
}

// leading starts a leader-only loop and counts those that run at once.
func leading(t *testing.T, r *cluster.Redis, now, most *atomic.Int32) {
	t.Helper()
	start(t, func(ctx context.Context) error {
		return r.AsLeader(ctx, func(ctx context.Context) error {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			<-ctx.Done()
			now.Add(-1)
			return nil
		})
	})
}

func TestOneLeadsAndAnotherFollows(t *testing.T) {
	url := testbed.Redis(t)
	var now, most atomic.Int32
	stops := make([]func(), 0, 2)
	replicas := make([]*cluster.Redis, 0, 2)
	for range 2 { // called the same by mistake: still only one leads
		r := cluster.NewRedis(dial(t, url), "test:", "same-id")
		cluster.Hurry(r)
		stops = append(stops, start(t, r.Run))
		leading(t, r, &now, &most)
		replicas = append(replicas, r)
	}
	eventually(t, "one leads", func() bool { return now.Load() == 1 && replicas[0].Leads() != replicas[1].Leads() })
	first := slices.IndexFunc(replicas, (*cluster.Redis).Leads)
	stops[first]()
	eventually(t, "the other leads", func() bool { return replicas[1-first].Leads() && now.Load() == 1 })
	if most.Load() != 1 {
		t.Errorf("%d leaders worked at once", most.Load())
	}
}

func TestLeaderStepsDownWithoutRedisAndComesBack(t *testing.T) {
	server := testbed.RedisServer(t)
	a := running(t, dial(t, server.URL()), "a")
	b := running(t, dial(t, server.URL()), "b")
	var now, most atomic.Int32
	leading(t, a, &now, &most)
	leading(t, b, &now, &most)
	eventually(t, "one leads and both know both", func() bool {
		return now.Load() == 1 && len(a.Replicas()) == 2 && len(b.Replicas()) == 2
	})
	server.Kill()
	eventually(t, "nobody leads", func() bool { return now.Load() == 0 && !a.Leads() && !b.Leads() })
	if got := a.Replicas(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("without Redis the replicas are %v, want the last known ones", got)
	}
	server.Start(t)
	eventually(t, "one leads again", func() bool { return now.Load() == 1 })
	if most.Load() != 1 {
		t.Errorf("%d leaders worked at once", most.Load())
	}
}

func TestLeaderWhoseKeyWasTakenStepsDown(t *testing.T) {
	url := testbed.Redis(t)
	a := running(t, dial(t, url), "a")
	var now, most atomic.Int32
	leading(t, a, &now, &most)
	eventually(t, "a leads", func() bool { return now.Load() == 1 })
	client := dial(t, url)
	if err := client.Set(t.Context(), "test:leader", "somebody else", 0).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a stops", func() bool { return now.Load() == 0 && !a.Leads() })
	if err := client.Del(t.Context(), "test:leader").Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a leads again", func() bool { return now.Load() == 1 })
}

func TestLeavingGivesEverythingUp(t *testing.T) {
	url := testbed.Redis(t)
	r := cluster.NewRedis(dial(t, url), "test:", "a")
	cluster.Hurry(r)
	stop := start(t, r.Run)
	eventually(t, "a leads", func() bool { return r.Leads() && len(r.Replicas()) == 1 })
	stop()
	keys, err := dial(t, url).Keys(t.Context(), "test:*").Result()
	if err != nil || len(keys) != 0 {
		t.Errorf("after leaving Redis holds %v, %v", keys, err)
	}
	if r.Owns("x") || r.Leads() {
		t.Error("a replica that left still owns or leads")
	}
}

// S70: after an outage the subscription must not only look alive, and the gap must be told.
func TestBusSurvivesARestartOfRedis(t *testing.T) {
	server := testbed.RedisServer(t)
	a := running(t, dial(t, server.URL()), "a")
	var in inbox
	subscribed(t, a, "fleet", &in)
	server.Kill()
	eventually(t, "publishing fails", func() bool { return a.Publish(t.Context(), "fleet", []byte("lost")) != nil })
	server.Start(t)
	eventually(t, "the gap is told", func() bool { return slices.Contains(in.all(), "-") })
	if err := a.Publish(t.Context(), "fleet", []byte("after")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "messages arrive again", func() bool { return slices.Contains(in.all(), "after") })
}

// A connection that is open and silent is the worse outage: nothing ever fails on it.
func TestBusReplacesASilentConnection(t *testing.T) {
	server := testbed.RedisServer(t)
	a := running(t, dial(t, server.URL()), "a")
	var in inbox
	subscribed(t, a, "fleet", &in)
	server.Pause()
	eventually(t, "publishing fails", func() bool { return a.Publish(t.Context(), "fleet", []byte("lost")) != nil })
	eventually(t, "leadership is given up", func() bool { return !a.Leads() })
	server.Resume()
	eventually(t, "the gap is told", func() bool { return slices.Contains(in.all(), "-") })
	if err := a.Publish(t.Context(), "fleet", []byte("after")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "messages arrive again", func() bool { return slices.Contains(in.all(), "after") })
}

// BenchmarkWeight guards the schedulers, which ask once for each target and replica: budget 300 ns, no allocation.
func BenchmarkWeight(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		cluster.Weight("replica-1", "order-service|http://10.0.0.1:8080")
	}
}
