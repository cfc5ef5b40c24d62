package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"eruptcloud/nodeagent/wire"
)

// office plays the part of the server that keeps records, beside the plane that takes registrations.
type office struct {
	*plane
	mu       sync.Mutex
	records  map[string]string // display name by node
	groups   map[string]bool
	made     map[string]int
	sessions int
	expired  bool // the next call finds its session over
	refuse   bool // visits are refused
}

func newOffice(t *testing.T) (*office, string) {
	o := &office{plane: &plane{live: map[string]wire.NodeInfo{}, registered: make(chan string, 10_000)}, records: map[string]string{}, groups: map[string]bool{}, made: map[string]int{}}
	srv := httptest.NewServer(o)
	t.Cleanup(srv.Close)
	return o, srv.URL
}

func (o *office) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == wire.RegisterPath || r.URL.Path == wire.RemovePath {
		o.plane.ServeHTTP(w, r)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.URL.Path == "/erupt-api/login" {
		o.sessions++
		_, _ = fmt.Fprintf(w, `{"pass":true,"token":"session-%d"}`, o.sessions)
		return
	}
	if o.expired || r.Header.Get("token") != fmt.Sprintf("session-%d", o.sessions) {
		o.expired = false
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if strings.HasPrefix(r.URL.Path, wire.NodeAPI) || strings.HasPrefix(r.URL.Path, wire.ServerAPI) {
		if o.refuse {
			w.WriteHeader(http.StatusBadGateway)
		}
		return
	}
	o.record(w, r)
}

func (o *office) record(w http.ResponseWriter, r *http.Request) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
	var in struct{ NodeName, Name, Code string }
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &in)
	have := o.records
	switch {
	case kind == "groups" && r.Method == http.MethodPost:
		o.groups[in.Code] = true
	case kind == "groups":
		delete(o.groups, name)
	case r.Method == http.MethodPost && have[in.NodeName] != "":
		w.WriteHeader(http.StatusConflict)
	case r.Method == http.MethodPost:
		have[in.NodeName] = in.Name
		o.made[in.NodeName]++
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"accessToken":"token-of-%s"}`, in.NodeName)
	case have[name] == "":
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		delete(have, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		_ = json.NewEncoder(w).Encode(map[string]string{"name": have[name]})
	}
}

// eventsOf calls hear for all that a crowd reports; wait returns after the last event.
func eventsOf(hear func(Event)) (w io.Writer, wait func()) {
	r, pipe := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for d := json.NewDecoder(r); ; {
			var e Event
			if d.Decode(&e) != nil {
				return
			}
			hear(e)
		}
	}()
	return pipe, func() { _ = pipe.Close(); <-done }
}

// TestCrowd plays every fault there is and looks at what the server gets to see (D19).
func TestCrowd(t *testing.T) {
	o, url := newOffice(t)
	o.records["sim-0002"] = displayMark + "0002" // left by a crowd that was killed
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun, ended := map[Fault]int{}, map[Fault]int{}
	var last Event
	report, wait := eventsOf(func(e Event) {
		switch e.Event {
		case EventBegin:
			begun[e.Fault]++
		case EventEnd:
			ended[e.Fault]++
			if len(ended) == len(AllFaults()) {
				cancel()
			}
		}
		last = e
	})
	crowd, err := NewCrowd(CrowdSpec{
		Server: url + "/", Nodes: 5, Instances: 2, Groups: 2, Seed: 3, Churn: 20 * time.Millisecond, Last: 15 * time.Millisecond, Changes: 200, Visits: 100,
		LogEvery: time.Millisecond, Records: NewRecords(url, "erupt", "secret"), Clean: true, Report: report,
	})
	if err != nil {
		t.Fatal(err)
	}
	err = crowd.Run(ctx)
	wait()
	if err != nil {
		t.Fatalf("Run = %v", err)
	}
	for _, f := range AllFaults() {
		if begun[f] == 0 || begun[f] != ended[f] {
			t.Errorf("%s began %d times and ended %d times", f, begun[f], ended[f])
		}
	}
	if last.Event != EventSummary || last.Counts.Changes == 0 || last.Counts.Visits["200"] == 0 || last.Counts.Faults[Stop] == 0 {
		t.Errorf("the last line is %+v, want a summary with changes and visits", last)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.records) != 0 || len(o.groups) != 0 || len(o.made) != 5 {
		t.Errorf("afterwards there are records %v and groups %v of %v, want none of five", o.records, o.groups, o.made)
	}
	o.plane.mu.Lock()
	defer o.plane.mu.Unlock()
	seen := map[string]bool{}
	for _, info := range o.live {
		seen[info.Version] = true
		if !strings.HasPrefix(info.InstanceID, "sim-") {
			t.Errorf("an instance is called %s", info.InstanceID)
		}
	}
}

func TestCrowdLeavesForeignRecordsAlone(t *testing.T) {
	o, url := newOffice(t)
	o.records["sim-0001"] = "Customers of the real shop"
	crowd, err := NewCrowd(CrowdSpec{Server: url, Nodes: 2, Records: NewRecords(url, "erupt", "secret"), Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := crowd.Run(t.Context()); !errors.Is(err, errForeign) {
		t.Errorf("Run = %v, want %v", err, errForeign)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.records) != 1 || o.records["sim-0001"] != "Customers of the real shop" {
		t.Errorf("records are %v, want the real one and no other", o.records)
	}
}

func TestRecordsLogInAgain(t *testing.T) {
	o, url := newOffice(t)
	r := NewRecords(url, "erupt", "secret")
	if _, err := r.make(t.Context(), []string{"a"}, nil); err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	o.expired = true
	o.mu.Unlock()
	if err := r.remove(t.Context(), []string{"a"}, nil); err != nil || o.sessions != 2 || len(o.records) != 0 {
		t.Errorf("remove = %v with %d logins and records %v, want two logins and none", err, o.sessions, o.records)
	}
}

func TestCrowdWithTokens(t *testing.T) {
	o, url := newOffice(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	crowd, err := NewCrowd(CrowdSpec{Server: url, Instances: 1, Churn: 0, Tokens: map[string]string{"crm": "t1-of-crm", "orders": "t2-of-orders"}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- crowd.Run(ctx) }()
	names := []string{<-o.registered, <-o.registered}
	cancel()
	if err := <-done; err != nil || !strings.Contains(strings.Join(names, " "), "crm") || !strings.Contains(strings.Join(names, " "), "orders") {
		t.Errorf("Run = %v, registered were %v", err, names)
	}
}

func TestSurprises(t *testing.T) {
	o, url := newOffice(t)
	var got []Event
	report, wait := eventsOf(func(e Event) { got = append(got, e) })
	crowd, err := NewCrowd(CrowdSpec{Server: url, Nodes: 1, Records: NewRecords(url, "erupt", "secret"), Report: report})
	if err != nil {
		t.Fatal(err)
	}
	if err := crowd.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	calm := &actor{node: "sim-0001"}
	calm.calm.Store(time.Now().Add(-time.Hour).UnixNano())
	crowd.actors = []*actor{calm}
	if err := crowd.spec.Records.login(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	crowd.visitOne(t.Context(), "sim-0001", false)
	o.mu.Lock()
	o.refuse = true
	o.mu.Unlock()
	crowd.visitOne(t.Context(), "sim-0001", true)
	calm.calm.Store(0) // something is wrong with it: no surprise
	crowd.visitOne(t.Context(), "sim-0001", true)
	wait()
	crowd.spec.Records.client.CloseIdleConnections()
	if len(got) != 1 || got[0].Status != http.StatusBadGateway {
		t.Errorf("surprises are %v, want the one failed visit to the calm node", got)
	}
}

func TestCrowdSpec(t *testing.T) {
	records := NewRecords("http://127.0.0.1:1", "a", "b")
	for name, spec := range map[string]CrowdSpec{
		"no address":     {Server: "localhost:8080", Records: records},
		"nothing to use": {Server: "http://127.0.0.1:1"},
		"visits as whom": {Server: "http://127.0.0.1:1", Tokens: map[string]string{"a": "b"}, Visits: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewCrowd(spec); err == nil {
				t.Errorf("NewCrowd(%+v) took it", spec)
			}
		})
	}
}

// TestSameSeedSameFaults: what is drawn by lot depends on the seed and on nothing else.
func TestSameSeedSameFaults(t *testing.T) {
	script := func(seed uint64) string {
		c, err := NewCrowd(CrowdSpec{Server: "http://127.0.0.1:1", Nodes: 7, Churn: time.Minute, Seed: seed, Records: NewRecords("http://127.0.0.1:1", "a", "b")})
		if err != nil {
			t.Fatal(err)
		}
		c.cast()
		var b strings.Builder
		for _, a := range c.actors {
			fmt.Fprintf(&b, "%s %v:", a.node, a.traits)
			for range 20 {
				fmt.Fprintf(&b, " %v", a.plan.next())
			}
		}
		return b.String()
	}
	first, again, other := script(7), script(7), script(8)
	if first != again || first == other {
		t.Error("the faults depend on something else than the seed")
	}
}

func TestParseFaults(t *testing.T) {
	if all, err := ParseFaults("all"); err != nil || len(all) != 15 {
		t.Errorf("all = %v, %v", all, err)
	}
	if some, err := ParseFaults("stop, hang"); err != nil || len(some) != 2 || some[1] != Hang {
		t.Errorf("stop, hang = %v, %v", some, err)
	}
	if none, err := ParseFaults("none"); err != nil || none == nil || len(none) != 0 {
		t.Errorf("none = %v, %v", none, err)
	}
	if _, err := ParseFaults("stop,explode"); err == nil || !strings.Contains(err.Error(), "explode") {
		t.Errorf("explode = %v", err)
	}
}
