package proxy

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

// states is InFlight without times.
func states(p *Proxy, node string) map[string][2]int {
	all := map[string][2]int{}
	for _, in := range p.InFlight(node) {
		all[in.Location] = [2]int{in.Count, in.Streams}
	}
	return all
}

func TestInFlightCountsUntilTheEnd(t *testing.T) { // D12
	arrived, proceed := make(chan bool), make(chan bool)
	node := newFakeNode(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Lang") == "stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
		}
		arrived <- true
		<-proceed
	})
	rig := newRig(t)
	rig.dir.set("shop", "http://127.0.0.1:1", node.URL) // the first refuses: only the second works on it
	begun := time.Now()
	var open sync.WaitGroup
	for _, lang := range []string{"plain", "stream", "call"} {
		open.Go(func() {
			if lang == "call" {
				_, _ = rig.proxy.Caller().Tree(t.Context(), sessionToken, "shop.Customer")
				return
			}
			res, err := rig.client.Do(rig.request("GET", "/erupt-api/data/tree/shop.Customer", "shop.Customer", nil, "lang", lang))
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		})
		<-arrived
	}
	waitUntil(t, "the stream is known as one", func() bool { return states(rig.proxy, "shop")[node.URL] == [2]int{3, 1} })
	all := rig.proxy.InFlight("shop")
	if len(all) != 1 || all[0].Oldest.Before(begun) || all[0].Oldest.After(time.Now()) {
		t.Errorf("InFlight = %+v, want one location, its oldest begun since %s", all, begun)
	}
	if got := rig.proxy.InFlightAt("shop", "http://127.0.0.1:1"); got.Count != 0 || !got.Oldest.IsZero() {
		t.Errorf("the location that refused works on %+v, want nothing", got)
	}
	if got := states(rig.proxy, "other"); len(got) != 0 {
		t.Errorf("another node works on %v", got)
	}
	close(proceed)
	open.Wait()
	waitUntil(t, "all have ended", func() bool { return len(rig.proxy.InFlight("shop")) == 0 })
}

func TestInFlightCountsTunnels(t *testing.T) { // D12
	node := socketNode(t, echo)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	conn, _, res := rig.upgrade("/erupt-api/tpl/live?_node=shop")
	if res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("upgrade: %d", res.StatusCode)
	}
	if got := states(rig.proxy, "shop"); got[node.URL] != [2]int{1, 1} {
		t.Errorf("with an open tunnel %v, want one stream", got)
	}
	_ = conn.Close()
	waitUntil(t, "the tunnel has ended", func() bool { return len(rig.proxy.InFlight("shop")) == 0 })
}

func TestInFlightDropsIdleLocations(t *testing.T) {
	var l loads
	busy := new(exchange)
	l.enter(busy, "shop", "busy", 0)
	for i := range 3 * keptIdle {
		e := new(exchange)
		l.enter(e, "shop", fmt.Sprint(i), 0)
		e.leave()
	}
	if len(l.all) > keptIdle+1 {
		t.Errorf("%d locations are kept, want at most %d", len(l.all), keptIdle+1)
	}
	if at := l.all[loadKey{"shop", "busy"}]; at == nil || at.state().Count != 1 {
		t.Errorf("the busy location was dropped")
	}
	busy.leave()
	if busy.place.at != nil || l.all[loadKey{"shop", "busy"}].state().Count != 0 {
		t.Error("the last one still counts")
	}
}

func TestInFlightKeepsItsListWhole(t *testing.T) {
	var l loads
	es := make([]*exchange, 5)
	for i := range es {
		es[i] = &exchange{started: time.Unix(int64(i+1), 0)}
		l.enter(es[i], "shop", "a", 0)
	}
	at := l.all[loadKey{"shop", "a"}]
	for n, i := range []int{2, 0, 4, 3, 1} { // middle, first, last, ...
		es[i].leave()
		es[i].leave() // a second time changes nothing
		want := []int64{1, 2, 2, 2, 0}[n]
		got := at.state()
		if sec := got.Oldest.Unix(); got.Count != 4-n || (want > 0 && sec != want) || (want == 0 && !got.Oldest.IsZero()) {
			t.Errorf("after %d left: %+v, want %d and the oldest of second %d", n+1, got, 4-n, want)
		}
	}
}

// BenchmarkInFlight is what counting costs a request: budget 150 ns, no allocation.
func BenchmarkInFlight(b *testing.B) {
	var l loads
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		e := new(exchange)
		for pb.Next() {
			l.enter(e, "shop", "http://10.0.0.1:8080", 0)
			e.leave()
		}
	})
}
