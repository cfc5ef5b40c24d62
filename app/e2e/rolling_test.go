package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

// load sends 50 table queries a second through the proxy until stopped; each carries its number as ?n=.
type load struct {
	stop   context.CancelFunc
	done   chan struct{}
	mu     sync.Mutex
	sent   int
	over   int // of those sent, how many were answered or failed
	began  map[string]time.Time
	failed map[string]string // number → what happened
}

func startLoad(s *server, erupt string) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{stop: cancel, done: make(chan struct{}), began: map[string]time.Time{}, failed: map[string]string{}}
	client := &http.Client{Timeout: 30 * time.Second}
	go func() {
		defer close(l.done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		var open sync.WaitGroup
		for {
			select {
			case <-ctx.Done():
				open.Wait()
				return
			case <-tick.C:
			}
			l.mu.Lock()
			l.sent++
			n := fmt.Sprint(l.sent)
			l.began[n] = time.Now()
			l.mu.Unlock()
			open.Go(func() {
				problem := query(client, s, erupt, n)
				l.mu.Lock()
				defer l.mu.Unlock()
				l.over++
				if problem != "" {
					l.failed[n] = problem
				}
			})
		}
	}()
	return l
}

func query(client *http.Client, s *server, erupt, n string) string {
	req, err := http.NewRequest(http.MethodPost, s.URL+"/erupt-api/data/table/"+erupt+"?n="+n, tableQuery())
	if err != nil {
		return err.Error()
	}
	req.Header.Set("token", s.Token)
	req.Header.Set("erupt", erupt)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"total":30`) {
		return fmt.Sprintf("%d %s", resp.StatusCode, body)
	}
	return ""
}

// end stops the load and returns how many requests were sent and what failed.
func (l *load) end() (int, map[string]string) {
	l.stop()
	<-l.done
	return l.sent, l.failed
}

// answered returns how many requests have come to an end.
func (l *load) answered() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

func TestRollingRestart(t *testing.T) { // F16, D20, S52
	s := serve(t, nil)
	token := s.node("crm")
	addrs := []string{freeAddr(t), freeAddr(t)}
	traces := []string{filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")}
	served := func(i int) int { return strings.Count(readFile(t, traces[i]), "\n") }
	nodes := make([]*process, 2)
	for i, addr := range addrs {
		nodes[i] = goNode(t, s, "crm", token, addr, traces[i])
	}
	s.awaitInstances("crm", 2, 20*time.Second)
	l := startLoad(s, "crm.Stream")
	for round := range 10 {
		i := round % 2
		before := l.answered()
		if code := nodes[i].stop(40 * time.Second); code != 0 {
			t.Fatalf("round %d: the instance ended with code %d:\n%s", round, code, nodes[i].output())
		}
		idle := served(i)
		nodes[i] = goNode(t, s, "crm", token, addrs[i], traces[i])
		s.awaitInstances("crm", 2, 20*time.Second)
		eventually(t, 60*time.Second, func() bool { return l.answered() >= before+perRound && served(i) > idle }, func() string {
			return fmt.Sprintf("round %d: %d requests came to an end, want %d; %d of them at the new instance", round, l.answered()-before, perRound, served(i)-idle)
		})
	}
	sent, failed := l.end()
	if len(failed) > 0 {
		t.Errorf("%d of %d requests failed: %v", len(failed), sent, failed)
	}
	if sent < 10*perRound || l.over != sent {
		t.Errorf("%d requests sent, %d came to an end; want all of at least %d", sent, l.over, 10*perRound)
	}
	times := map[string]int{}
	for _, n := range strings.Fields(readFile(t, traces[0]) + readFile(t, traces[1])) {
		times[n]++
	}
	for n := range l.began {
		if times[n] != 1 {
			t.Errorf("request %s was served %d times, want once", n, times[n])
		}
	}
	t.Logf("%d requests, %d and %d at the two addresses, none failed", sent, served(0), served(1))
}

// perRound is how many requests must have been answered while one instance ended and its successor took over.
const perRound = 50

func TestKilledInstance(t *testing.T) { // F16, A15
	s := serve(t, nil)
	token := s.node("crm")
	trace := filepath.Join(t.TempDir(), "accepted")
	doomed := goNode(t, s, "crm", token, freeAddr(t), trace)
	goNode(t, s, "crm", token, freeAddr(t), "")
	s.awaitInstances("crm", 2, 20*time.Second)
	l := startLoad(s, "crm.Stream")
	eventually(t, 10*time.Second, func() bool { return strings.Count(readFile(t, trace), "\n") > 20 }, func() string { return "the first instance gets no requests" })
	doomed.kill()
	killed := time.Now()
	s.awaitInstances("crm", 1, 20*time.Second)
	for time.Since(killed) < 2*time.Second {
		if query(http.DefaultClient, s, "crm.Stream", "") != "" {
			t.Error("a request after the kill failed")
		}
	}
	sent, failed := l.end()
	// Accepted is what the instance traced, and what lay in its sockets when it died: nobody can tell whether it was read, so
	// it is never sent twice. Whatever began after its death must succeed.
	accepted := "\n" + readFile(t, trace)
	for n, problem := range failed {
		if !strings.Contains(accepted, "\n"+n+"\n") && l.began[n].After(killed) {
			t.Errorf("request %s began after the kill and failed: %s", n, problem)
		}
	}
	t.Logf("%d requests, %d failed, all of them under way when the instance was killed", sent, len(failed))
}

func TestReadTimeoutIsNeverRetried(t *testing.T) { // F16, A15
	s := serve(t, []string{"EC_CLOUD_SERVER_NODE_REQUEST_TIMEOUT=500ms"})
	token := s.node("slow")
	var nodes []*testbed.FakeNode
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for i := range 2 {
		n := testbed.NewFakeNode(t, "slow")
		n.Handle("/erupt-api/data/table/Customer", func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		})
		nodes = append(nodes, n)
		s.must(http.MethodPost, "/erupt-cloud-api/register-node", map[string]any{
			"instanceId": fmt.Sprint("fake", i), "version": "2.3.0", "nodeName": "slow", "accessToken": token,
			"nodeAddress": []string{n.URL()}, "eruptModules": []string{}, "erupts": []string{"Customer"},
		}, http.StatusOK, nil)
	}
	resp, raw := s.call(http.MethodPost, "/erupt-api/data/table/slow.Customer", tableQuery(), http.Header{
		"erupt": {"slow.Customer"}, "Content-Type": {"application/json"},
	})
	if resp.StatusCode != http.StatusGatewayTimeout {
		t.Errorf("a node that does not answer = %d %s, want 504", resp.StatusCode, raw)
	}
	if n := nodes[0].Count("/erupt-api/") + nodes[1].Count("/erupt-api/"); n != 1 {
		t.Errorf("the nodes counted %d requests, want 1: the node may have done the work", n)
	}
	if got := len(s.instances("slow")); got != 2 {
		t.Errorf("%d instances left, want 2: slow is not dead", got)
	}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(raw)
}
