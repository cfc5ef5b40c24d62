package console

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
)

// multitude is a large fleet with one instance a node, as the load of consoles is measured with. Its memory has a number, as that of a
// real one has.
func multitude(nodes int) *world {
	w := newWorld()
	for g := range 20 {
		w.group(fmt.Sprintf("group-%02d", g), fmt.Sprintf("Group %02d", g), "")
	}
	for i := range nodes {
		name := fmt.Sprintf("sim-%04d", i)
		w.node(fleet.Node{Name: name, Display: "Simulated " + name, Group: fmt.Sprintf("group-%02d", i%20), GroupID: int64(i%20 + 1), Enabled: true, FirstSeen: now.Add(-time.Hour)})
		w.instances = append(w.instances, oneOfMany(i, 0))
	}
	w.table.Replace(w.instances, registry.Seq(nodes), false)
	w.generation = 1
	return w
}

// oneOfMany is the instance of node i after so many changes of it.
func oneOfMany(i, changes int) registry.Instance {
	name := fmt.Sprintf("sim-%04d", i)
	return registry.Instance{
		Key: registry.Key{App: fmt.Sprintf("SIM-%04d", i), ID: name + "-1"}, NodeName: name, Origin: registry.OriginNode, Rev: registry.Seq(10_000 + i + changes),
		Locations: []string{fmt.Sprintf("http://10.1.%d.%d:8080", i/250, i%250)}, Status: registry.Up, Registered: now.Add(-time.Hour), Updated: now.Add(-time.Hour),
		Lease: registry.Terms{Interval: 15 * time.Second, Duration: time.Minute},
		Node:  &registry.NodeDetail{Version: fmt.Sprintf("1.%d.0", (i+changes)%7), Erupts: []string{"Customer", "Order"}, Modules: []string{"erupt-core"}},
	}
}

// change lets one instance report another version, as the registry does.
func (w *world) change(i, changes int) {
	in := oneOfMany(i, changes)
	w.table.Apply([]registry.Change{{Seq: registry.Seq(20_000 + changes), At: now, Action: registry.Modified, In: in}})
}

func (w *world) freshNumber(ctx context.Context) (uint64, error) {
	if w.asked != nil {
		w.asked(ctx)
	}
	return w.generation, nil
}

// BenchmarkNodeListFragment is what an open node list asks for after each change, of 2,000 nodes: budget 4 ms.
func BenchmarkNodeListFragment(b *testing.B) {
	for name, header := range map[string]string{"plain": "", "packed": "gzip"} {
		b.Run(name, func(b *testing.B) {
			w := multitude(2000)
			s := newSite(b, w)
			cookie := s.cookie("admin")
			b.ReportAllocs()
			bytes, n := 0, 0
			for b.Loop() {
				n++
				w.change(n*37%2000, n)
				r := httptest.NewRequest(http.MethodGet, "/console/nodes", http.NoBody)
				r.Header.Set("HX-Request", "true")
				r.Header.Set("Accept", "text/html")
				if header != "" {
					r.Header.Set("Accept-Encoding", header)
				}
				r.AddCookie(cookie)
				rec := httptest.NewRecorder()
				s.http.ServeHTTP(rec, r)
				if rec.Code != http.StatusOK {
					b.Fatal(rec.Code, rec.Body)
				}
				bytes += rec.Body.Len()
			}
			b.ReportMetric(float64(bytes)/float64(n)/1024, "KiB")
		})
	}
}
