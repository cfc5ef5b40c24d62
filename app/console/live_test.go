package console

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/registry"
)

// listen opens the event stream as a browser does; next returns its messages one by one, ok is false at its end.
func (s *site) listen(t *testing.T, server *httptest.Server, account string) (next func() (liveMessage, bool), header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/console/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(s.cookie(account))
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Accept-Encoding", "gzip")
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != 200 {
		t.Fatalf("status = %d", answer.StatusCode)
	}
	lines := bufio.NewScanner(answer.Body)
	return func() (liveMessage, bool) {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				var m liveMessage
				if err := json.Unmarshal([]byte(data), &m); err != nil {
					t.Errorf("message %q: %v", data, err)
				}
				return m, true
			}
		}
		return liveMessage{}, false
	}, answer.Header
}

func TestStreamTellsWhatChanged(t *testing.T) { // U60
	s := newSite(t, commerce())
	server := httptest.NewServer(s.http)
	t.Cleanup(server.Close)
	next, header := s.listen(t, server, "admin")
	if header.Get("Content-Type") != "text/event-stream" || header.Get("X-Accel-Buffering") != "no" || header.Get("Content-Encoding") != "" {
		t.Errorf("headers = %v", header)
	}
	hello, ok := next()
	if hello.Ping < 1 || hello.Ping > 25 || time.Duration(hello.Ping)*time.Second != pingEvery { // S93
		t.Errorf("the next message is due in %d s, pings come each %v; proxies cut what is silent for longer", hello.Ping, pingEvery)
	}
	if !ok || hello.Boot == "" || len(hello.Topics) != 0 {
		t.Errorf("first message = %+v, %v", hello, ok)
	}
	for _, tell := range s.changed {
		tell("node", "ledger")
		tell("group", "promo")
		tell("hold", "cart-service")
	}
	for _, l := range s.listeners {
		l([]registry.Change{{In: registry.Instance{NodeName: "order-service"}}, {In: registry.Instance{Key: registry.Key{App: "EUREKA-ONLY"}}}})
	}
	m, ok := next()
	if want := []string{"group:promo", "node:cart-service", "node:ledger", "node:order-service"}; !ok || !slices.Equal(m.Topics, want) || m.Version != hello.Version+4 {
		t.Errorf("after four changes: %+v, want %v at version %d", m, want, hello.Version+4)
	}
	close(s.done)
	if m, ok := next(); ok {
		t.Errorf("the stream goes on after the stop: %+v", m)
	}
}

func TestStreamTellsNoNamesToThoseWithoutTheRight(t *testing.T) {
	s := newSite(t, commerce())
	s.login("guest", false)
	server := httptest.NewServer(s.http)
	t.Cleanup(server.Close)
	next, _ := s.listen(t, server, "guest")
	first, _ := next()
	s.changed[0]("node", "ledger")
	if m, ok := next(); !ok || len(m.Topics) != 0 || m.Version != first.Version+1 {
		t.Errorf("a guest hears %+v", m)
	}
	a := s.as("guest", http.MethodGet, "/console/changes?v=0", nil)
	if includes(a.must(t, 200), "ledger") {
		t.Error("a guest may poll the names of nodes")
	}
}

// D21: whoever sees some groups hears of these, and that something is gone which has no group any more.
func TestStreamTellsNoNamesOfOtherGroups(t *testing.T) {
	w := commerce()
	for i := range w.nodes {
		for _, g := range w.groups {
			if w.nodes[i].Group == g.Code {
				w.nodes[i].GroupID = g.ID
			}
		}
	}
	s := newSite(t, w)
	s.limit("team", []int64{1}, access.CodeNodes, access.CodeGroups) // payments
	var boot liveMessage
	if err := json.Unmarshal(s.as("team", http.MethodGet, "/console/changes", nil).Body.Bytes(), &boot); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{"node", "ledger"}, {"node", "order-service"}, {"group", "payments"}, {"group", "promo"}, {"hold", "carrier-sf"}, {"node", "gone-by-now"}} {
		s.changed[0](c[0], c[1])
	}
	poll := "/console/changes?" + url.Values{"boot": {boot.Boot}, "v": {fmt.Sprint(boot.Version)}}.Encode()
	var m liveMessage
	if err := json.Unmarshal(s.as("team", http.MethodGet, poll, nil).Body.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	if want := []string{"all", "group:payments", "node:ledger"}; !slices.Equal(m.Topics, want) {
		t.Errorf("the team hears %v, want %v", m.Topics, want)
	}
}

func TestStreamsOfOneAccountAreBounded(t *testing.T) {
	h := newHub()
	var open []*stream
	for range maxStreams {
		s, err := h.open("a")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, s)
	}
	if _, err := h.open("a"); err == nil {
		t.Error("one stream too many was opened")
	}
	if _, err := h.open("b"); err != nil {
		t.Errorf("another account suffers: %v", err)
	}
	h.close(open[0])
	if _, err := h.open("a"); err != nil {
		t.Errorf("after one has gone: %v", err)
	}
}

func TestChangesSinceAVersion(t *testing.T) { // versions repair missed events
	h := newHub()
	h.tell("node:a", "node:b")
	h.tell("node:a", "group:g")
	for name, tt := range map[string]struct {
		boot    string
		version uint64
		want    []string
	}{
		"nothing missed":     {h.boot, 4, []string{}},
		"one missed":         {h.boot, 3, []string{"group:g"}},
		"each name once":     {h.boot, 0, []string{"group:g", "node:a", "node:b"}},
		"of another process": {"other", 4, []string{"all"}},
		"from the future":    {h.boot, 9, []string{"all"}},
		"a page just opened": {"", 0, []string{"all"}},
	} {
		if got := h.since(tt.boot, tt.version); !slices.Equal(got.Topics, tt.want) || got.Version != 4 {
			t.Errorf("%s: %+v, want %v at 4", name, got, tt.want)
		}
	}
	for i := range keptChanges {
		h.tell(fmt.Sprintf("node:%d", i))
	}
	if got := h.since(h.boot, 2); !slices.Equal(got.Topics, []string{"all"}) {
		t.Errorf("older than what is kept: %v, want all", got.Topics)
	}
	if got := h.since(h.boot, 4); !slices.Equal(got.Topics, []string{"all"}) {
		t.Errorf("more names than one message holds: %d, want all", len(got.Topics))
	}
}

func TestPollingAnswersAsJSON(t *testing.T) {
	s := newSite(t, commerce())
	var m liveMessage
	a := s.get("/console/changes")
	if err := json.Unmarshal([]byte(a.must(t, 200)), &m); err != nil || !slices.Equal(m.Topics, []string{"all"}) {
		t.Fatalf("first poll = %q (%v)", a.body, err)
	}
	s.changed[0]("node", "ledger")
	a = s.get("/console/changes?" + url.Values{"boot": {m.Boot}, "v": {fmt.Sprint(m.Version)}}.Encode())
	if err := json.Unmarshal([]byte(a.must(t, 200)), &m); err != nil || !slices.Equal(m.Topics, []string{"node:ledger"}) {
		t.Errorf("second poll = %q (%v)", a.body, err)
	}
}

func TestListenersReturnAtOnceHoweverManyPagesAreOpen(t *testing.T) {
	h := newHub()
	for i := range 500 {
		if _, err := h.open(fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	done := make(chan struct{})
	go func() {
		for range 1000 {
			h.tell("node:a")
		}
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("a page that reads nothing holds up the registry")
	}
}
