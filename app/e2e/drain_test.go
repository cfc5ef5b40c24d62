package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"eruptcloud/app/testbed"
	"eruptcloud/nodeagent/wire"
)

// streamer is an instance on a real port that streams until it is told to end.
type streamer struct {
	*testbed.FakeNode
	token string // of its node
	id    string
	end   chan struct{} // a receive ends one stream
}

// streamers registers instances of a node.
func (s *server) streamers(t testing.TB, node string, n int) []*streamer {
	t.Helper()
	token := s.node(node)
	all := make([]*streamer, n)
	for i := range all {
		f := &streamer{FakeNode: testbed.NewFakeNode(t, node), id: fmt.Sprintf("i%d", i+1), token: token, end: make(chan struct{})}
		f.Handle("/erupt-api/data/", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: begun\n\n")
			w.(http.Flusher).Flush()
			if !strings.Contains(r.URL.Path, "events") {
				return
			}
			select {
			case <-f.end:
			case <-r.Context().Done():
			}
		})
		s.register(node, token, f.id, f.URL())
		all[i] = f
	}
	s.awaitInstances(node, n, 20*time.Second)
	return all
}

func (s *server) register(node, token, id string, addresses ...string) {
	s.t.Helper()
	s.must(http.MethodPost, wire.RegisterPath, map[string]any{
		"instanceId": id, "version": "2.0.4", "nodeName": node, "accessToken": token, "nodeAddress": addresses, "erupts": []string{"Stream"},
	}, http.StatusOK, nil)
}

// open begins a stream and returns the instance that it is at.
func (s *server) open(t testing.TB, node string, all []*streamer) *streamer {
	t.Helper()
	before := make([]int, len(all))
	for i, f := range all {
		before[i] = f.Count("/erupt-api/data/")
	}
	resp, err := http.DefaultClient.Do(s.request(t, http.MethodPost, "/erupt-api/data/"+node+".Stream/operator/events", node+".Stream", strings.NewReader(`{"ids":[],"param":null}`)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	begun := make([]byte, 4)
	if _, err := io.ReadFull(resp.Body, begun); err != nil || resp.StatusCode != 200 {
		t.Fatalf("the stream answered %d, %v", resp.StatusCode, err)
	}
	for i, f := range all {
		if f.Count("/erupt-api/data/") > before[i] {
			return f
		}
	}
	t.Fatal("no instance has the stream")
	return nil
}

// drain starts the command beside the test.
func (s *server) drain(t testing.TB, args ...string) *process {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return start(t, []string{"EC_PASSWORD=" + adminPassword}, program, append([]string{"drain", "--server", s.URL, "--account", "erupt"}, args...)...)
}

// TestDrainForADeployment: out of routing at once, the command waits for the open stream, and ends when that ends (D12).
func TestDrainForADeployment(t *testing.T) {
	s := serve(t, nil, "--base-path", "/ops/fleet")
	all := s.streamers(t, "orders", 2)
	busy := s.open(t, "orders", all)
	cmd := s.drain(t, "orders", "--instance", busy.URL(), "--wait", "--timeout", "60s", "--reason", "release 2.1")
	if line := cmd.await("in flight 1", 30*time.Second); !strings.Contains(line, "oldest ") {
		t.Errorf("progress %q, want the age of the oldest", line)
	}
	calls := busy.Count("/erupt-api/data/")
	for range 6 {
		if resp, body := s.call(http.MethodPost, "/erupt-api/data/orders.Stream/operator/short", strings.NewReader(`{}`), http.Header{"Erupt": {"orders.Stream"}}); resp.StatusCode != 200 {
			t.Fatalf("a request meanwhile: %d %s", resp.StatusCode, body)
		}
	}
	if got := busy.Count("/erupt-api/data/"); got != calls {
		t.Errorf("%d requests went to the draining instance", got-calls)
	}
	select {
	case <-cmd.exited:
		t.Fatalf("it ended while a stream is open:\n%s", cmd.output())
	default:
	}
	busy.end <- struct{}{}
	if code := cmd.wait(20 * time.Second); code != 0 || !strings.Contains(cmd.output(), "is safe to stop: in flight 0") {
		t.Errorf("exit code %d, want 0 and that it is safe to stop:\n%s", code, cmd.output())
	}
	if in := s.instances("orders"); in[0].State == in[1].State {
		t.Errorf("states %s and %s, want one draining and registered all the same", in[0].State, in[1].State)
	}
	// The process that follows at the same address takes requests at once: its id is another.
	var out struct{ AccessToken string }
	s.must(http.MethodPost, "/api/v1/nodes/orders/token/rotate", nil, 200, &out)
	s.register("orders", out.AccessToken, "next", busy.URL())
	s.awaitInstances("orders", 2, 10*time.Second)
	var drains struct {
		Instances []struct{ InstanceID, State string }
	}
	s.must(http.MethodGet, "/api/v1/nodes/orders/drain", nil, 200, &drains)
	for _, in := range drains.Instances {
		if in.InstanceID == busy.id || in.State != "up" {
			t.Errorf("after the next one came: %+v", drains.Instances)
		}
	}
	var events struct {
		Items []struct{ Kind, InstanceID, Account, Reason string }
	}
	eventually(t, 10*time.Second, func() bool {
		s.must(http.MethodGet, "/api/v1/nodes/orders/events?kind=drained", nil, 200, &events)
		return len(events.Items) == 1
	}, func() string { return fmt.Sprintf("events %+v", events) })
	if e := events.Items[0]; e.InstanceID != busy.id || e.Account != "erupt" || e.Reason != "release 2.1" {
		t.Errorf("history %+v", e)
	}
}

// TestDrainExitCodes: scripts rely on them.
func TestDrainExitCodes(t *testing.T) {
	s := serve(t, nil)
	all := s.streamers(t, "orders", 2)
	env := []string{"EC_TOKEN=" + s.Token, "EC_SERVER_URL=" + s.URL}
	steps := []struct {
		name, args string
		env        []string
		code       int
		want       string // on standard error
	}{
		{"wrong argument", "drain", env, 2, "arg"},
		{"an unknown flag", "drain orders --now", env, 2, "--now"},
		{"an unknown output", "drain orders -o yaml", env, 2, "json"},
		{"undo and wait", "drain orders --undo --wait", env, 2, "--undo"},
		{"nobody asks", "drain orders", env[1:], 2, "EC_TOKEN"},
		{"no address", "drain orders --server fleet", env, 2, "--server"},
		{"no such node", "drain nosuch --wait", env, 6, "nosuch"},
		{"no such instance", "drain orders --instance i9", env, 6, "i9"},
		{"no such address", "drain orders --instance http://10.9.9.9:1", env, 6, "10.9.9.9"},
		{"nothing to undo", "drain orders --instance i1 --undo", env, 6, "not draining"},
		{"a session that is none", "drain orders", []string{"EC_TOKEN=nonsense", env[1]}, 5, ""},
		{"a wrong password", "drain orders --account erupt", []string{"EC_PASSWORD=wrong-password", env[1]}, 5, "wrong"},
		{"no password", "drain orders --account erupt", env[1:], 2, "EC_PASSWORD"},
		{"nobody answers", "drain orders --server http://127.0.0.1:1", env, 8, "refused"},
		{"all of a node", "drain orders", env, 5, "force"},
		{"one of two", "drain orders --instance i1 --wait", env, 0, ""},
		{"the last one", "drain orders --instance i2", env, 5, "no other instance"},
		{"the last one by force", "drain orders --instance i2 --force --wait -o json", env, 0, ""},
		{"undo", "drain orders --undo", env, 0, ""},
		{"undo again", "drain orders --undo", env, 6, "draining"},
	}
	for _, step := range steps {
		stdout, stderr, code := command(t, step.env, strings.Fields(step.args)...)
		if code != step.code || !strings.Contains(stderr, step.want) {
			t.Errorf("%s: exit code %d, want %d with %q on stderr\nstdout: %s\nstderr: %s", step.name, code, step.code, step.want, stdout, stderr)
		}
		if strings.Contains(step.args, "-o json") && code == 0 {
			var out struct {
				Node       string
				Instances  []struct{ InstanceID, State string }
				SafeToStop bool
			}
			if err := json.Unmarshal([]byte(stdout), &out); err != nil || out.Node != "orders" || !out.SafeToStop || len(out.Instances) != 1 || out.Instances[0].State != "draining" {
				t.Errorf("%s printed %s (%v)", step.name, stdout, err)
			}
		}
	}
	s.awaitInstances("orders", 2, 10*time.Second)
	busy := s.open(t, "orders", all)
	if _, stderr, code := command(t, env, "drain", "orders", "--instance", busy.id, "--wait", "--timeout", "1s"); code != 7 || !strings.Contains(stderr, "in flight 1 after 1s") {
		t.Errorf("the time is over: exit code %d, want 7\n%s", code, stderr)
	}
	waits := func() *process {
		t.Helper()
		p := s.drain(t, "orders", "--instance", busy.id, "--wait")
		p.await("in flight 1", 20*time.Second)
		return p
	}
	p := waits()
	if _, stderr, code := command(t, env, "drain", "orders", "--instance", busy.id, "--undo"); code != 0 {
		t.Fatalf("undo: %d %s", code, stderr)
	}
	if code := p.wait(20 * time.Second); code != 5 || !strings.Contains(p.output(), "called off") {
		t.Errorf("called off meanwhile: exit code %d, want 5\n%s", code, p.output())
	}
	p = waits()
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	if code := p.wait(20 * time.Second); code != 1 || !strings.Contains(p.output(), "interrupted") {
		t.Errorf("interrupted: exit code %d, want 1: nothing is safe to stop\n%s", code, p.output())
	}
	p = waits()
	s.must(http.MethodDelete, "/api/v1/nodes/orders/instances/"+busy.id, nil, http.StatusNoContent, nil)
	s.register("orders", busy.token, busy.id, busy.URL()) // an instance that an admin removed may come back, so it has not left yet
	goodbye := url.Values{"nodeName": {"orders"}, "accessToken": {busy.token}, "instanceId": {busy.id}, "nodeAddress": {busy.URL()}}
	if resp, body := s.call(http.MethodPost, "/erupt-cloud-api/remove-instance-node", strings.NewReader(goodbye.Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}); resp.StatusCode != http.StatusOK {
		t.Fatalf("goodbye: %d %s", resp.StatusCode, body)
	}
	if code := p.wait(20 * time.Second); code != 0 || !strings.Contains(p.output(), "left: "+busy.id) {
		t.Errorf("it left meanwhile: exit code %d, want 0\n%s", code, p.output())
	}
	logouts := func() int { return strings.Count(s.output(), "path=/erupt-api/logout status=200") }
	eventually(t, 10*time.Second, func() bool { return logouts() == 3 }, func() string {
		return fmt.Sprintf("%d logouts, want one for each call with an account, interrupted ones too", logouts())
	})
}

// TestDrainThroughAllReplicas: what one replica is told, the other keeps to; what the other has open counts at the first (D12).
func TestDrainThroughAllReplicas(t *testing.T) {
	p := startProduction(t)
	all := p.one.streamers(t, "orders", 2)
	p.two.awaitInstances("orders", 2, patience)
	busy := p.two.open(t, "orders", all)
	cmd := p.one.drain(t, "orders", "--instance", busy.id, "--wait", "--timeout", "60s")
	cmd.await("in flight 1", 30*time.Second)
	ask := func(s *server) (state string) {
		var out struct{ State string }
		s.must(http.MethodGet, "/api/v1/nodes/orders/instances/"+busy.id+"/drain", nil, 200, &out)
		return out.State
	}
	eventually(t, patience, func() bool { return ask(p.two) == "draining" }, func() string { return "the other replica says " + ask(p.two) })
	calls := busy.Count("/erupt-api/data/")
	for range 6 {
		if resp, body := p.two.call(http.MethodPost, "/erupt-api/data/orders.Stream/operator/short", strings.NewReader(`{}`), http.Header{"Erupt": {"orders.Stream"}}); resp.StatusCode != 200 {
			t.Fatalf("a request at the other replica: %d %s", resp.StatusCode, body)
		}
	}
	if got := busy.Count("/erupt-api/data/"); got != calls {
		t.Errorf("the other replica sent %d requests to the draining instance", got-calls)
	}
	select {
	case <-cmd.exited:
		t.Fatalf("it ended while the other replica has a stream open:\n%s", cmd.output())
	default:
	}
	busy.end <- struct{}{}
	if code := cmd.wait(30 * time.Second); code != 0 {
		t.Errorf("exit code %d:\n%s", code, cmd.output())
	}
	eventually(t, patience, func() bool { return len(p.two.events("kind=registered")) == 2 }, func() string { return kindsOf(p.two.events("")) })
	if got := p.two.events("kind=drained"); len(got) != 1 || got[0].InstanceID != busy.id {
		t.Errorf("history %+v, want one drain", got)
	}
}
