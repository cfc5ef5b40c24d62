package redisstore_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
	"eruptcloud/app/testbed"
)

// Twelve writers on three replicas, half of the writes on few instances: no update is lost, all replicas end equal, and
// no command looks through the keys of others (S19).
func TestThreeReplicas(t *testing.T) {
	server := testbed.RedisServer(t)
	admin := open(t, server.URL())
	for i := range 5000 {
		admin.Set(t.Context(), fmt.Sprintf("erupt-cloud:foreign:%d", i), "x", 0)
	}
	replicas := []*registry.Registry{replica(t, server.URL()), replica(t, server.URL()), replica(t, server.URL())}
	if err := admin.ConfigResetStat(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	const writers, rounds = 12, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			r := replicas[w%len(replicas)]
			for i := range rounds {
				in := registry.Instance{
					Key: registry.Key{ID: fmt.Sprintf("own-%d", w)}, NodeName: "order", Locations: []string{fmt.Sprintf("http://own/%d", w)},
					Node: &registry.NodeDetail{Version: fmt.Sprint(i)},
				}
				if i%2 == 1 {
					in.ID, in.Locations = fmt.Sprintf("hot-%d", i%3), []string{fmt.Sprintf("http://hot/%d", i%3)}
					in.Node.Version = fmt.Sprintf("%d.%d", w, i)
				}
				if _, _, err := r.Register(t.Context(), in); err != nil && !fault.Is(err, fault.Conflict) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var want []string
	for w := range writers {
		want = append(want, fmt.Sprintf("own-%d", w))
	}
	want = append(want, "hot-0", "hot-1", "hot-2")
	slices.Sort(want)
	for i, r := range replicas {
		eventually(t, "all are there", has(r, want...))
		eventually(t, "all are equal", func() bool { return r.View().Seq() == replicas[0].View().Seq() })
		if d := cmp.Diff(replicas[0].View().All(), r.View().All()); d != "" {
			t.Errorf("replica %d differs from the first:\n%s", i, d)
		}
	}
	for w := range writers {
		in, _ := replicas[0].View().Instance(registry.Key{App: "ORDER", ID: fmt.Sprintf("own-%d", w)})
		if in.Node == nil || in.Node.Version != fmt.Sprint(rounds-2) {
			t.Errorf("instance own-%d is at %+v, want its last registration", w, in.Node)
		}
	}
	stats, err := admin.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"scan", "keys", "hscan", "zscan", "sscan"} {
		if strings.Contains(stats, "cmdstat_"+command+":") {
			t.Errorf("somebody called %s", strings.ToUpper(command))
		}
	}
}
