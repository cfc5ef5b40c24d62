package testbed

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Behaviour is what a FakeNode does with a request.
type Behaviour int

// The behaviours of a FakeNode.
const (
	Answers Behaviour = iota // 200, health with its name
	Hangs                    // reads the request and never answers
	Refuses                  // nothing listens on its port
	Cuts                     // announces a body, sends half of it and closes the connection
	Lies                     // its health carries the name of another node
	Fails                    // 500
)

// Seen is a request that a FakeNode got.
type Seen struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
	At                  time.Time
}

// FakeNode is a node on a real port of 127.0.0.1 that misbehaves on demand and remembers what it was asked.
type FakeNode struct {
	Name string

	t    testing.TB
	addr string
	mux  *http.ServeMux
	ctx  context.Context // ends with the test: what hangs comes free

	mu        sync.Mutex
	behaviour Behaviour
	seen      []Seen
	server    *http.Server
}

// NewFakeNode starts a node that answers GET /node-health with its name and everything else with 200 and an empty object.
func NewFakeNode(t testing.TB, name string) *FakeNode {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	f := &FakeNode{Name: name, t: t, mux: http.NewServeMux(), ctx: ctx}
	f.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	})
	f.listen("127.0.0.1:0")
	t.Cleanup(func() {
		cancel()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.close()
	})
	return f
}

// URL returns its base URL, without a slash at the end.
func (f *FakeNode) URL() string { return "http://" + f.addr }

// Addr returns its host and port.
func (f *FakeNode) Addr() string { return f.addr }

// Handle adds an answer for a pattern of http.ServeMux.
func (f *FakeNode) Handle(pattern string, h http.HandlerFunc) { f.mux.HandleFunc(pattern, h) }

// Behave changes what it does from now on. Refuses also closes the connections that are open.
func (f *FakeNode) Behave(b Behaviour) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.behaviour
	f.behaviour = b
	switch {
	case b == Refuses && was != Refuses:
		f.close()
	case b != Refuses && was == Refuses:
		f.listen(f.addr)
	}
}

// Requests returns what it was asked so far, oldest first; with a path only those.
func (f *FakeNode) Requests(paths ...string) []Seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Seen
	for _, s := range f.seen {
		if len(paths) == 0 || contains(paths, s.Path) {
			out = append(out, s)
		}
	}
	return out
}

// Count returns how often it was asked for paths with a prefix.
func (f *FakeNode) Count(prefix string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, s := range f.seen {
		if strings.HasPrefix(s.Path, prefix) {
			n++
		}
	}
	return n
}

// Forget empties the memory.
func (f *FakeNode) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = nil
}

func contains(all []string, s string) bool {
	for _, a := range all {
		if a == s {
			return true
		}
	}
	return false
}

// listen starts serving; f.mu is held or nobody else has f yet.
func (f *FakeNode) listen(addr string) {
	f.t.Helper()
	l, err := net.Listen("tcp4", addr)
	if err != nil {
		f.t.Fatalf("fake node %s: %v", f.Name, err)
	}
	f.addr = l.Addr().String()
	server := &http.Server{Handler: http.HandlerFunc(f.serve), ReadHeaderTimeout: 10 * time.Second}
	f.server = server
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			f.t.Errorf("fake node %s: %v", f.Name, err)
		}
	}()
}

func (f *FakeNode) close() {
	if f.server != nil {
		_ = f.server.Close() // the listener's own error is of no interest to a test
		f.server = nil
	}
}

func (f *FakeNode) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the other side went away in the middle
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	f.mu.Lock()
	f.seen = append(f.seen, Seen{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), body, time.Now()})
	behaviour := f.behaviour
	f.mu.Unlock()
	switch behaviour {
	case Hangs:
		select {
		case <-f.ctx.Done():
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case Cuts:
		w.Header().Set("Content-Length", strconv.Itoa(2*len(f.Name)))
		_, _ = io.WriteString(w, f.Name)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Fails:
		http.Error(w, "fake node fails", http.StatusInternalServerError)
	default:
		if r.URL.Path == "/node-health" {
			f.health(w, behaviour)
			return
		}
		f.mux.ServeHTTP(w, r)
	}
}

func (f *FakeNode) health(w http.ResponseWriter, b Behaviour) {
	w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
	name := f.Name
	if b == Lies {
		name = "not-" + name
	}
	_, _ = io.WriteString(w, name)
}
