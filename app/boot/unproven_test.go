package boot

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"eruptcloud/app/fleet"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/proxy"
)

func TestUnprovenInstancesGetNoRequests(t *testing.T) { // S51: routing follows the health page, and nothing is healthy before it answered
	healthy, asked, proceed := http.StatusServiceUnavailable, make(chan bool, 8), make(chan bool)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		<-proceed
		w.WriteHeader(healthy)
		_, _ = io.WriteString(w, "crm")
	}))
	s, stop := runServer(t, testConfig(t, nil), Options{AdminPassword: "correct-horse-9"})
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
		node.Close()
	}()
	token, err := s.EnsureNode(t.Context(), fleet.NewNode{Name: "crm", Enabled: true}, "")
	if err != nil {
		t.Fatal(err)
	}
	register := func() chan int {
		status := make(chan int, 1)
		go func() {
			raw, _ := json.Marshal(wire.NodeInfo{NodeName: "crm", AccessToken: token, InstanceID: "a", Version: "2.2.0", NodeAddress: []string{node.URL}})
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.LoopbackURL()+wire.RegisterPath, bytes.NewReader(raw))
			req.Header.Set("Content-Type", "application/json")
			req.Close = true
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				status <- 0
				return
			}
			_ = resp.Body.Close()
			status <- resp.StatusCode
		}()
		return status
	}
	routed := func() bool { _, err := s.directory.Lookup("crm"); return proxy.KindOf(err) != proxy.NodeNotReady }

	slow := register()
	<-asked // it is being probed now
	if routed() {
		t.Error("an instance whose health page has not answered yet gets requests")
	}
	close(proceed)
	if code := <-slow; code < 400 || routed() {
		t.Errorf("with a health page that answers 503 the registration is answered %d and routed is %v, want a refusal", code, routed())
	}
	healthy = http.StatusOK
	if code := <-register(); code != http.StatusOK || !routed() {
		t.Errorf("with a good health page the registration is answered %d and routed is %v", code, routed())
	}
}
