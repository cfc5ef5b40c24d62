package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"eruptcloud/app/testbed"
	"eruptcloud/nodeagent/wire"
)

// quick are terms under which a lease ends within seconds.
var quick = []string{
	"EC_CLOUD_SERVER_NODE_EXPIRE_TIME=4s", "EC_CLOUD_SERVER_NODE_SURVIVE_CHECK_TIME=2s", "EC_CLOUD_SERVER_HEARTBEAT_TIME=1s",
}

// quickly is when a dead instance has left under these terms: T + P, and what a busy machine adds.
const quickly = 20 * time.Second

// beater is a process of a node that beats twice a second until it is stopped or killed.
type beater struct {
	*testbed.FakeNode
	s           *server
	node, token string
	id          string

	mu      sync.Mutex
	address string
	status  int
	answer  string
	beats   int // answered or not
	stop    func()
}

func (s *server) beater(t testing.TB, node, token, id string) *beater {
	t.Helper()
	b := &beater{FakeNode: testbed.NewFakeNode(t, node), s: s, node: node, token: token, id: id}
	b.address = b.URL()
	b.beat()
	stopped, done := make(chan struct{}), make(chan struct{})
	b.stop = sync.OnceFunc(func() { close(stopped); <-done })
	go func() {
		defer close(done)
		ticks := time.NewTicker(500 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-stopped:
				return
			case <-ticks.C:
				b.beat()
			}
		}
	}()
	t.Cleanup(func() { b.stop() })
	return b
}

// beat registers once and returns the answer; a server that is away is zero.
func (b *beater) beat() (int, string) {
	b.mu.Lock()
	body, _ := json.Marshal(map[string]any{
		"instanceId": b.id, "version": "2.0.4", "nodeName": b.node, "accessToken": b.token, "nodeAddress": []string{b.address}, "erupts": []string{"Stream"},
	})
	to := b.s.URL
	b.mu.Unlock()
	resp, err := http.Post(to+wire.RegisterPath, "application/json", strings.NewReader(string(body)))
	status, answer := 0, ""
	if err == nil {
		var text [2000]byte
		n, _ := resp.Body.Read(text[:])
		resp.Body.Close()
		status, answer = resp.StatusCode, string(text[:n])
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.status, b.answer = status, answer
	b.beats++
	return status, answer
}

// kill ends the process: no goodbye, nothing listens.
func (b *beater) kill() {
	b.stop()
	b.Behave(testbed.Refuses)
}

// patrols waits until the survival check has gone round n times: each finds the death of an instance that another node has for
// that, and looks at all nodes.
func (s *server) patrols(t testing.TB, n int) {
	t.Helper()
	token := s.node("others")
	for range n {
		other := s.beater(t, "others", token, "o")
		s.awaitInstances("others", 1, quickly)
		other.kill()
		s.awaitInstances("others", 0, quickly)
	}
}

type happening struct{ Kind, NodeName, InstanceID, Location, Reason, Account string }

func (s *server) events(query string) []happening {
	s.t.Helper()
	var out struct{ Items []happening }
	s.must(http.MethodGet, "/api/v1/events?pageSize=500&"+query, nil, http.StatusOK, &out)
	slices.Reverse(out.Items)
	return out.Items
}

func kindsOf(all []happening) string {
	var out []string
	for _, e := range all {
		out = append(out, e.Kind)
	}
	return strings.Join(out, " ")
}

func ids(all []instance) []string {
	var out []string
	for _, in := range all {
		out = append(out, in.InstanceID)
	}
	slices.Sort(out)
	return out
}

// TestTheDeadLeaveOnce: one that stops is gone once, with one event and one line of the log (S1); the list, the instances and
// the page agree about it (S16).
func TestTheDeadLeaveOnce(t *testing.T) {
	s := serve(t, quick)
	b := s.beater(t, "orders", s.node("orders"), "i1")
	s.awaitInstances("orders", 1, quickly)
	page := func() string {
		resp, raw := s.call(http.MethodGet, "/console/nodes/orders/instances", nil, http.Header{"Accept": {"application/json"}})
		if resp.StatusCode != http.StatusOK {
			t.Errorf("the page answered %d %.300s", resp.StatusCode, raw)
		}
		return string(raw)
	}
	if got := page(); !strings.Contains(got, b.URL()) {
		t.Errorf("the page does not show it: %.500s", got)
	}
	b.kill()
	eventually(t, quickly, func() bool { return len(s.instances("orders")) == 0 }, func() string { return "it is still there" })
	var list struct {
		Items []struct {
			State     string
			Instances int
		}
	}
	s.must(http.MethodGet, "/api/v1/nodes", nil, 200, &list)
	if list.Items[0].State != "offline" || list.Items[0].Instances != 0 {
		t.Errorf("the list shows %+v when the instances show nothing", list.Items)
	}
	if strings.Contains(page(), b.URL()) {
		t.Error("the page shows it when the instances show nothing")
	}
	s.patrols(t, 2)
	eventually(t, quickly, func() bool { return len(s.events("node=orders")) >= 3 }, func() string { return kindsOf(s.events("node=orders")) })
	if got := kindsOf(s.events("node=orders")); got != "created registered unreached" && got != "created registered expired" {
		t.Errorf("history %q, want that it came and left", got)
	}
	told := 0
	for line := range strings.Lines(s.notable()) {
		if strings.Contains(line, "node=orders") && (strings.Contains(line, "does not answer and is removed") || strings.Contains(line, "lease ended")) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("%d lines of the log about it, want one", told)
	}
}

// TestPhantomsDoNotPileUp: twenty processes on random ports die hard, twenty others come, again and again (S2).
func TestPhantomsDoNotPileUp(t *testing.T) {
	s := serve(t, quick)
	token := s.node("orders")
	for round := range 3 {
		var all []*beater
		var want []string
		for i := range 20 {
			b := s.beater(t, "orders", token, fmt.Sprintf("r%d-%02d", round, i))
			all, want = append(all, b), append(want, b.id)
		}
		eventually(t, quickly, func() bool { return slices.Equal(ids(s.instances("orders")), want) }, func() string {
			return fmt.Sprintf("round %d: instances %v, want %v", round, ids(s.instances("orders")), want)
		})
		for _, b := range all {
			b.kill()
		}
	}
	eventually(t, quickly, func() bool { return len(s.instances("orders")) == 0 }, func() string { return "the last ones are still there" })
	eventually(t, quickly, func() bool {
		came, left := len(s.events("kind=registered")), len(s.events("kind=unreached,expired"))
		return came == 60 && left == 60
	}, func() string {
		return fmt.Sprintf("history has %d that came and %d that left, want 60 each", len(s.events("kind=registered")), len(s.events("kind=unreached,expired")))
	})
}

// TestOneAddressOneInstance: two processes that report one address are never shown by turns (S3); one process that reports
// another address is one instance (S4); an address that cannot be reached is named with its layer (S5).
func TestOneAddressOneInstance(t *testing.T) {
	s := serve(t, quick)
	token := s.node("orders")
	older := s.beater(t, "orders", token, "older")
	newer := s.beater(t, "orders", token, "newer")
	newer.mu.Lock()
	newer.address = older.URL()
	newer.mu.Unlock()
	eventually(t, quickly, func() bool {
		older.mu.Lock()
		defer older.mu.Unlock()
		return older.status == http.StatusConflict && strings.Contains(older.answer, "in use by instance newer")
	}, func() string { return fmt.Sprintf("the older one is answered %d %s", older.status, older.answer) })
	beats := func(b *beater) int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.beats
	}
	first, second := beats(older), beats(newer)
	eventually(t, quickly, func() bool {
		if got := s.instances("orders"); len(got) != 1 || got[0].InstanceID != "newer" || got[0].Location != older.URL() {
			t.Fatalf("instances %+v, want the newer one at its new address, and never by turns", got)
		}
		return beats(older) >= first+2 && beats(newer) >= second+2
	}, func() string { return "one of them beats no more" })
	eventually(t, quickly, func() bool { return len(s.events("kind=conflict&instance=older")) == 1 }, func() string { return kindsOf(s.events("")) })
	if moved := s.events("kind=changed&instance=newer"); len(moved) != 1 || moved[0].Location != older.URL() {
		t.Errorf("history of the move: %+v", moved)
	}
	for address, layer := range map[string]string{"http://8450c14378de:8090": "dns", "http://127.0.0.1:1": "connect", s.URL: "http"} {
		resp, raw := s.call(http.MethodPost, wire.RegisterPath, map[string]any{
			"instanceId": "x", "version": "2", "nodeName": "orders", "accessToken": token, "nodeAddress": []string{address}, "erupts": []string{},
		}, nil)
		if resp.StatusCode != http.StatusBadGateway || resp.Header.Get(wire.HeaderLayer) != layer || !strings.Contains(string(raw), address) {
			t.Errorf("%s: %d, layer %q, %s; want 502 with the address and the layer %s", address, resp.StatusCode, resp.Header.Get(wire.HeaderLayer), raw, layer)
		}
	}
}

// TestHeldUntilLifted: neither a lost lease, nor a healthy patrol, nor a restart of the server puts an instance back that an
// admin took out (S7, S8); all others are back after a beat (S11).
func TestHeldUntilLifted(t *testing.T) {
	address, data := freeAddr(t), t.TempDir()
	s := serveIn(t, data, quick, "--listen", address)
	token := s.node("orders")
	b, other := s.beater(t, "orders", token, "i1"), s.beater(t, "orders", token, "i2")
	s.must(http.MethodPut, "/api/v1/nodes/orders/instances/i1/hold", map[string]string{"reason": "bad disk"}, 200, nil)
	routed := func(when string) {
		t.Helper()
		before := b.Count("/erupt-api/data/")
		for range 4 {
			if status, raw := s.table(t, "orders.Stream"); status != 200 {
				t.Errorf("%s: a request answered %d %s", when, status, raw)
			}
		}
		if got := b.Count("/erupt-api/data/"); got != before {
			t.Errorf("%s: %d requests went to the held instance", when, got-before)
		}
		var held string
		for _, in := range s.instances("orders") {
			if in.InstanceID == "i1" && in.State == "held" {
				held = string(in.Hold)
			}
		}
		if !strings.Contains(held, "bad disk") || !strings.Contains(held, `"account":"erupt"`) {
			t.Errorf("%s: the hold shows %s, want reason and person", when, held)
		}
	}
	routed("at once")
	s.patrols(t, 2)
	routed("after two patrols")
	b.stop()
	b.Behave(testbed.Refuses) // cut off
	eventually(t, quickly, func() bool { return len(s.instances("orders")) == 1 }, func() string { return "it has not left" })
	b.Behave(testbed.Answers)
	b.beat()
	routed("when it is back")
	s.process.kill()
	s = serveIn(t, data, quick, "--listen", address)
	for _, each := range []*beater{b, other} {
		each.mu.Lock()
		each.s = s
		each.mu.Unlock()
	}
	b.beat()
	s.awaitInstances("orders", 1, quickly) // the other one, without a restart of its own
	routed("after a restart of the server")
	s.must(http.MethodDelete, "/api/v1/nodes/orders/instances/i1/hold", nil, 204, nil)
	s.awaitInstances("orders", 2, quickly)
}

// TestRemovedAndBack: a removal of a living instance says who did it, and its return that it came back (S9).
func TestRemovedAndBack(t *testing.T) {
	s := serve(t, nil)
	b := s.beater(t, "orders", s.node("orders"), "i1")
	s.must(http.MethodDelete, "/api/v1/nodes/orders/instances/i1", nil, 204, nil)
	s.awaitInstances("orders", 1, quickly)
	var got []happening
	eventually(t, quickly, func() bool { got = s.events("instance=i1"); return len(got) == 3 }, func() string { return kindsOf(got) })
	if kindsOf(got) != "registered removed registered" || got[1].Account != "erupt" || !strings.Contains(got[2].Reason, "after it was removed") {
		t.Errorf("history %+v", got)
	}
	b.stop()
}

// TestAWrongTokenIsSeen: in the grace the old token does; afterwards the answer is a plain 401 and the page says since when (S12).
func TestAWrongTokenIsSeen(t *testing.T) {
	s := serve(t, quick)
	b := s.beater(t, "orders", s.node("orders"), "i1")
	s.must(http.MethodPost, "/api/v1/nodes/orders/token/rotate", nil, 200, nil)
	if status, answer := b.beat(); status != 200 {
		t.Errorf("the old token in its grace: %d %s", status, answer)
	}
	var use struct {
		OldUntil  *time.Time
		Instances []struct{ InstanceID, Token string }
		Refused   []struct {
			Address, Reason string
			Since           *time.Time
			Count           int
		}
	}
	if s.must(http.MethodGet, "/api/v1/nodes/orders/token-use", nil, 200, &use); use.OldUntil == nil || len(use.Instances) != 1 || use.Instances[0].Token != "old" {
		t.Errorf("who uses what: %+v", use)
	}
	s.must(http.MethodDelete, "/api/v1/nodes/orders/token/old", nil, 204, nil)
	if status, answer := b.beat(); status != 401 || !strings.Contains(answer, `"code":"unauthenticated"`) {
		t.Errorf("the old token after its grace: %d %s, want 401 and a code", status, answer)
	}
	s.must(http.MethodGet, "/api/v1/nodes/orders/token-use", nil, 200, &use)
	if len(use.Refused) != 1 || use.Refused[0].Reason != "wrong token" || use.Refused[0].Since == nil {
		t.Errorf("refused are %+v, want a wrong token since a time", use.Refused)
	}
	eventually(t, quickly, func() bool { return len(s.events("kind=refused")) == 1 }, func() string { return kindsOf(s.events("")) })
}

// TestLossesBesideHolds: with a third held on purpose one that dies leaves in time, three of ten that die leave, and new ones
// come in meanwhile (S20, S21).
func TestLossesBesideHolds(t *testing.T) {
	s := serve(t, quick)
	token := s.node("orders")
	var all []*beater
	for i := range 10 {
		all = append(all, s.beater(t, "orders", token, fmt.Sprintf("i%02d", i)))
	}
	for _, b := range all[:3] {
		s.must(http.MethodPut, "/api/v1/nodes/orders/instances/"+b.id+"/hold", map[string]string{"reason": "on purpose"}, 200, nil)
	}
	all[9].kill()
	eventually(t, quickly, func() bool { return len(s.instances("orders")) == 9 }, func() string { return fmt.Sprint(ids(s.instances("orders"))) })
	for _, b := range all[6:9] {
		b.kill()
	}
	for i := range 2 {
		s.beater(t, "orders", token, fmt.Sprintf("new%d", i))
	}
	want := []string{"i00", "i01", "i02", "i03", "i04", "i05", "new0", "new1"}
	eventually(t, quickly, func() bool { return slices.Equal(ids(s.instances("orders")), want) }, func() string {
		return fmt.Sprintf("instances %v, want %v", ids(s.instances("orders")), want)
	})
}

// TestSpellingsThatClash: a name that exists is refused with the clash, whatever its case and the blanks around it (S29).
func TestSpellingsThatClash(t *testing.T) {
	s := serve(t, nil)
	s.node("orders")
	s.must(http.MethodPost, "/api/v1/groups", map[string]string{"code": "shop"}, 201, nil)
	for _, name := range []string{"orders", "Orders", "orders ", " orders"} {
		for kind, key := range map[string]string{"nodes": "nodeName", "groups": "code"} {
			spelled := strings.NewReplacer("orders", "shop", "Orders", "Shop").Replace(name)
			if kind == "nodes" {
				spelled = name
			}
			resp, raw := s.call(http.MethodPost, "/api/v1/"+kind, map[string]string{key: spelled}, nil)
			clash := resp.StatusCode == http.StatusConflict && strings.Contains(strings.ToLower(string(raw)), strings.ToLower(strings.TrimSpace(spelled)))
			if rule := resp.StatusCode == http.StatusBadRequest && strings.TrimSpace(spelled) != spelled; !clash && !rule {
				t.Errorf("%s %q: %d %s, want a refusal that names the clash or the rule", kind, spelled, resp.StatusCode, raw)
			}
		}
	}
}
