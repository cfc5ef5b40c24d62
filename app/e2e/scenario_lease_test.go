package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// seen is how a node looks in the JSON of the list and of its own page.
func (s *server) seen(node string) (list, page string) {
	s.t.Helper()
	state := func(path string) string {
		resp, raw := s.call(http.MethodGet, path, nil, http.Header{"Accept": {"application/json"}})
		if resp.StatusCode != http.StatusOK {
			s.t.Fatalf("%s = %d %s", path, resp.StatusCode, raw)
		}
		var out struct {
			State string
			Nodes []struct{ State string }
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			s.t.Fatal(err)
		}
		if len(out.Nodes) == 1 {
			return out.Nodes[0].State
		}
		return out.State
	}
	return state("/console/nodes?q=" + url.QueryEscape(node)), state("/console/nodes/" + node)
}

// TestLeasesOfOneAddressAreApart: a process is registered under the name of another node too, with that node's token. It is refused
// with the address and the reason, since it does not answer to that name; and the beats of the one keep the other's lease no longer
// than its own (S6).
func TestLeasesOfOneAddressAreApart(t *testing.T) {
	s := serve(t, quick)
	north, south := s.beater(t, "north", s.node("north"), "one"), s.beater(t, "south", s.node("south"), "one")
	s.awaitInstances("north", 1, quickly)
	s.awaitInstances("south", 1, quickly)
	south.mu.Lock()
	south.address = north.URL()
	south.mu.Unlock()
	if status, answer := south.beat(); status != http.StatusBadGateway || !strings.Contains(answer, north.URL()) || !strings.Contains(answer, "another service") {
		t.Errorf("a beat for south from the process of north = %d %s, want it refused with the reason", status, answer)
	}
	eventually(t, quickly, func() bool { return len(s.instances("south")) == 0 }, func() string { return "south stays, fed by beats that were refused or those of north" })
	if up := s.instances("north"); len(up) != 1 || up[0].State != "up" {
		t.Errorf("the node that beats is %+v, want it up", up)
	}
	north.stop()
	eventually(t, quickly, func() bool { return len(s.instances("north")) == 0 }, func() string { return "north stays although nothing beats" })
}

// TestJitterIsNoDeath: beats that come a fifth sooner or later than agreed never turn a node red, and the list and the node's page
// never say different things (S15, S16). The time of a quarter of an hour is scaled down with the terms.
func TestJitterIsNoDeath(t *testing.T) {
	s := serve(t, quick)
	b := s.beater(t, "steady", s.node("steady"), "one")
	b.stop() // beats come from here
	s.awaitInstances("steady", 1, quickly)
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		next := time.Now().Add(time.Second + time.Duration(rand.Int64N(400)-200)*time.Millisecond)
		for time.Now().Before(next) {
			if list, page := s.seen("steady"); list != "up" || page != "up" {
				t.Fatalf("the list says %q, the node's page %q; want up at every look", list, page)
			}
		}
		b.beat()
	}
}
