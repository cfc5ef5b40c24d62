package sharing_test

import (
	"strings"
	"testing"
	"time"

	"eruptcloud/app/registry"
	"eruptcloud/app/registry/redisstore"
	"eruptcloud/app/testbed"
)

// A2, A10: what we write ourselves is nobody's beat. The leases of what was taken over end unless a Java server says more.
func TestOwnEntryRenewsNoLease(t *testing.T) {
	for name, first := range map[string]string{"of nobody's name": "", "named as we would": "at-"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			j, k := testbed.NewFakeNode(t, "shop"), testbed.NewFakeNode(t, "shop")
			if first != "" {
				first += strings.TrimPrefix(k.URL(), "http://")
			}
			w.javaBeat(first, j.URL(), k.URL())
			w.look()
			store := redisstore.New(w.client, prefix)
			end := time.Now().Add(time.Hour).Truncate(time.Millisecond)
			var keys []registry.Key
			for _, in := range w.replicas[0].View().Node("shop") {
				keys = append(keys, in.Key)
				if err := store.Renew(t.Context(), in.Key, end); err != nil {
					t.Fatal(err)
				}
			}
			if len(keys) == 0 {
				t.Fatal("nothing was taken over")
			}
			probed := j.Count("/node-health") + k.Count("/node-health")
			for range 3 {
				w.now = w.now.Add(16 * time.Second)
				w.look()
			}
			moved := func() int {
				ends, err := store.Ends(t.Context(), keys...)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for _, e := range ends {
					if !e.Equal(end) {
						n++
					}
				}
				return n
			}
			if n := moved(); n != 0 {
				t.Errorf("%d leases were renewed while nobody beat", n)
			}
			if n := j.Count("/node-health") + k.Count("/node-health") - probed; n != 0 {
				t.Errorf("%d probes while nothing changed", n)
			}
			w.javaBeat(first, j.URL(), k.URL())
			w.look()
			if n := moved(); n != len(keys) {
				t.Errorf("a beat at Java renewed %d leases, want %d", n, len(keys))
			}
			// Once they end, what is left of the entry brings nothing back.
			if _, err := w.replicas[0].RemoveLocations(t.Context(), "shop", []string{j.URL(), k.URL()}, registry.Expiry); err != nil {
				t.Fatal(err)
			}
			w.look()
			w.look()
			w.wantRouted("after the leases ended")
			w.wantNamed("after the leases ended")
		})
	}
}
