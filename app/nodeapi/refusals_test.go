package nodeapi_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/fleet"
	"eruptcloud/app/registry"
)

// TestRefusedBeatsAreRemembered: the page says since when a node shows a wrong token, and no more once it registers (S12).
func TestRefusedBeatsAreRemembered(t *testing.T) {
	w := newWorld(t)
	wrong := registration("SECRET0123456789", "WRONG")
	w.register(wrong)
	w.register(wrong)
	w.register(registration("orders", "nosuch"))
	got := w.refusals.All()
	if len(got) != 2 || got[0].Node != "nosuch" || got[0].Reason != fleet.NoSuchNode || got[0].Address != "192.0.2.1" {
		t.Fatalf("refusals %+v, want one of a node that does not exist and one of orders", got)
	}
	if r := got[1]; r.Node != "orders" || r.Reason != fleet.WrongToken || r.Count != 2 || !r.Since.Equal(w.now) {
		t.Errorf("refusal %+v, want a wrong token, twice", r)
	}
	if res := w.register(registration()); res.Code != 200 {
		t.Fatalf("answered %d", res.Code)
	}
	if got := w.refusals.Of("orders"); len(got) != 0 {
		t.Errorf("after it registered: %+v", got)
	}
	n := w.nodes["orders"]
	n.Enabled = false
	w.nodes["orders"] = n
	w.register(registration())
	if got := w.refusals.Of("orders"); len(got) != 1 || got[0].Reason != fleet.NodeDisabled {
		t.Errorf("a disabled node: %+v", got)
	}
	// What is refused for what it says, and not for who it is, is not kept.
	w = newWorld(t)
	w.register(registration(`["http://10.0.3.17:8081/shop/"]`, `[]`))
	w.register("{")
	if got := w.refusals.All(); len(got) != 0 {
		t.Errorf("refusals %+v, want none", got)
	}
}

// TestWhoBeatsTooOftenIsFlagged: by its rate, although some of its beats are accepted, until it keeps to the rate (S14).
func TestWhoBeatsTooOftenIsFlagged(t *testing.T) {
	w := newWorld(t)
	refused := 0
	for range 30 {
		if w.register(registration()).Code == 429 {
			refused++
		}
	}
	w.now = w.now.Add(time.Second)
	if res := w.register(registration()); res.Code != 200 {
		t.Errorf("a beat that fits: %d", res.Code)
	}
	if got := w.refusals.Of("orders"); refused != 10 || len(got) != 1 || got[0].Reason != fleet.TooOften || got[0].Count != 10 {
		t.Errorf("%d refused, flagged %+v; want ten", refused, got)
	}
	w.now = w.now.Add(61 * time.Second)
	w.register(registration())
	if got := w.refusals.Of("orders"); len(got) != 0 {
		t.Errorf("it keeps to the rate and is flagged: %+v", got)
	}
	for range 30 {
		w.register(registration("orders", "nosuch"))
	}
	for _, r := range w.refusals.All() {
		if r.Reason == fleet.TooOften {
			t.Errorf("a made-up name is flagged: %+v", r)
		}
	}
}

// TestInstancesAreBounded: one token fills neither the registry nor the pages; who is registered beats on.
func TestInstancesAreBounded(t *testing.T) {
	w := newWorld(t)
	w.count = 1999
	if res := w.register(registration()); res.Code != 200 {
		t.Fatalf("the last that fits: %d %s", res.Code, res.Body)
	}
	w.count = 2000
	if res := w.register(registration()); res.Code != 200 {
		t.Errorf("a beat of one that is registered: %d %s", res.Code, res.Body)
	}
	res := w.register(registration("kQzTbW", "another"))
	if res.Code != 429 || !strings.Contains(res.Body.String(), "node orders has 2000 instances, and no more can register") || res.Header().Get("Retry-After") == "" {
		t.Errorf("one too many: %d %s, want 429, the reason and when to try again", res.Code, res.Body)
	}
	if _, ok := w.live["another"]; ok {
		t.Error("it was registered")
	}
}

// TestIPv6PeersCountByTheirNetwork: a host that has 64 bits of addresses has one allowance all the same.
func TestIPv6PeersCountByTheirNetwork(t *testing.T) {
	refused := func(peer func(i int) string) (count int) {
		w := newWorld(t)
		for i := range 2100 {
			r := httptest.NewRequest("POST", "/erupt-cloud-api/register-node", strings.NewReader(registration("kQzTbW", fmt.Sprint("i", i))))
			r.RemoteAddr = peer(i)
			rec := httptest.NewRecorder()
			w.handler.ServeHTTP(rec, r)
			if rec.Code == 429 {
				count++
			}
		}
		return count
	}
	if got := refused(func(i int) string { return fmt.Sprintf("[2001:db8:1:2:%x::%x]:4000", i, i) }); got != 100 {
		t.Errorf("%d of 2100 beats of one /64 were refused, want 100", got)
	}
	if got := refused(func(i int) string { return fmt.Sprintf("[2001:db8:1:%x::1]:4000", i) }); got != 0 {
		t.Errorf("%d of 2100 beats of as many networks were refused, want none", got)
	}
}

// TestRemovalIsHistory: who removed an instance through erupt's own call.
func TestRemovalIsHistory(t *testing.T) {
	w := newWorld(t)
	s := w.sessions["tok"]
	s.Admin = true
	w.sessions["tok"] = s
	w.live["i1"] = registry.Instance{Key: registry.Key{App: "ORDERS", ID: "i1"}, NodeName: "orders", Locations: []string{"http://10.0.3.17:8081"}}
	for range 2 {
		if res := w.do("GET", "/erupt-cloud-api/remove-instance/orders?instance=http://10.0.3.17:8081", "", "token", "tok"); res.Code != 200 {
			t.Fatalf("answered %d %s", res.Code, res.Body)
		}
	}
	if len(w.events) != 1 || w.events[0].Account != "lin" || w.events[0].Node != "orders" || w.events[0].Location != "http://10.0.3.17:8081" {
		t.Errorf("events %+v, want one removal by lin", w.events)
	}
}
