package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// traffic sends requests to a page of the node through both replicas, one after the other at each, until it is ended.
type traffic struct {
	stop     chan struct{}
	over     sync.WaitGroup
	mu       sync.Mutex
	answered int
	failed   []string
}

func (f *farm) traffic() *traffic {
	tr := &traffic{stop: make(chan struct{})}
	for _, s := range f.both() {
		client := &http.Client{Timeout: 30 * time.Second}
		tr.over.Go(func() {
			for {
				select {
				case <-tr.stop:
					return
				default:
				}
				problem := tableOf(client, s, "warehouse.Region")
				tr.mu.Lock()
				if tr.answered++; problem != "" {
					tr.failed = append(tr.failed, problem)
				}
				tr.mu.Unlock()
			}
		})
	}
	return tr
}

func (tr *traffic) count() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.answered
}

// end returns how many requests were answered and what failed.
func (tr *traffic) end() (int, []string) {
	close(tr.stop)
	tr.over.Wait()
	return tr.answered, tr.failed
}

// tableOf asks for a page outside the test's own routine and returns what went wrong.
func tableOf(client *http.Client, s *server, erupt string) string {
	req, err := http.NewRequest(http.MethodPost, s.URL+"/erupt-api/data/table/"+erupt, tableQuery())
	if err != nil {
		return err.Error()
	}
	req.Header = http.Header{"Token": {s.Token}, "Erupt": {erupt}, "Content-Type": {"application/json"}}
	resp, err := client.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	raw := new(strings.Builder)
	if err := resp.Write(raw); err != nil {
		return err.Error()
	}
	if resp.StatusCode != http.StatusOK || !strings.Contains(raw.String(), `"list":[`) {
		return fmt.Sprintf("%d %s", resp.StatusCode, tail(raw.String(), 300))
	}
	return ""
}

// A real Java node knows nothing of a drain, and drains all the same: out of routing at both replicas, its slow request ends,
// the command says that it is safe to stop, and nobody notices that it stops (D12).
func TestDrainOfAJavaNode(t *testing.T) {
	f := javaFarm(t)
	id := ""
	for _, in := range f.one.instances(javaName) {
		if in.Location == f.javaOne.URL {
			id = in.InstanceID
		}
	}
	load := f.traffic()
	f.forgetAll()
	slow := make(chan string, 2)
	for _, s := range f.both() { // each replica takes the instances in turn, so this is for as long as the first has one
		go func() {
			for range 2 {
				go func() {
					resp, raw := s.call(http.MethodPost, "/erupt-api/data/warehouse.Customer/operator/wait", map[string]any{"ids": []int{}, "param": map[string]any{"millis": 5000}}, http.Header{"erupt": {"warehouse.Customer"}})
					slow <- fmt.Sprintf("%d %s", resp.StatusCode, raw)
				}()
			}
		}()
	}
	waiting := func() int {
		n := 0
		for _, seen := range f.javaOne.seen() {
			if strings.HasSuffix(seen, "/operator/wait") {
				n++
			}
		}
		return n
	}
	eventually(t, patience, func() bool { return waiting() > 0 }, func() string { return "no slow request came to the first instance" })
	cmd := f.one.drain(t, javaName, "--instance", id, "--wait", "--timeout", "60s")
	cmd.await("in flight", 30*time.Second)
	for _, s := range f.both() {
		eventually(t, patience, func() bool {
			var out struct{ State string }
			s.must(http.MethodGet, "/api/v1/nodes/"+javaName+"/instances/"+id+"/drain", nil, http.StatusOK, &out)
			return out.State == "draining"
		}, func() string { return s.URL + " does not know of the drain" })
	}
	f.javaOne.forget()
	before := load.count()
	eventually(t, patience, func() bool { return load.count() >= before+20 }, func() string { return "the traffic stands" })
	if seen := f.javaOne.seen(); len(seen) > 0 {
		t.Errorf("the draining instance was asked %v", seen)
	}
	if code := cmd.wait(40 * time.Second); code != 0 || !strings.Contains(cmd.output(), "is safe to stop: in flight 0") {
		t.Errorf("exit code %d, want 0 and that it is safe to stop:\n%s", code, cmd.output())
	}
	for range 4 {
		if got := <-slow; !strings.HasPrefix(got, "200 ") || !strings.Contains(got, "SUCCESS") {
			t.Errorf("a slow request ended with %s", got)
		}
	}
	f.javaOne.term()
	before = load.count()
	eventually(t, patience, func() bool { return load.count() >= before+20 }, func() string { return "the traffic stands" })
	if n, failed := load.end(); len(failed) > 0 {
		t.Errorf("%d of %d requests failed: %v", len(failed), n, failed)
	} else {
		t.Logf("%d requests, none failed", n)
	}
	// The successor at another port takes requests at once.
	f.whole()
	f.javaOne.forget()
	for range 4 {
		if problem := tableOf(http.DefaultClient, f.two, "warehouse.Region"); problem != "" {
			t.Error(problem)
		}
	}
	if len(f.javaOne.seen()) == 0 {
		t.Error("the successor gets no requests")
	}
}
