package nodeagent

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"eruptcloud/nodeagent/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testToken = "7H2KQ9ZX4M1CVB0P"

// sent is a request that reached the plane.
type sent struct {
	at     time.Time
	host   string
	method string
	path   string
	query  url.Values
	header http.Header
	body   string
}

func (s sent) form(t *testing.T) url.Values {
	t.Helper()
	v, err := url.ParseQuery(s.body)
	if err != nil {
		t.Fatalf("body %q is no form: %v", s.body, err)
	}
	return v
}

// plane plays the control plane, over HTTP or, as a RoundTripper, without a network. What answer does not handle is 200 and, for
// power, everything.
type plane struct {
	mu     sync.Mutex
	seen   []sent
	answer func(w http.ResponseWriter, r *http.Request) (handled bool)
}

func (p *plane) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.mu.Lock()
	p.seen = append(p.seen, sent{time.Now(), r.Host, r.Method, r.URL.Path, r.URL.Query(), r.Header.Clone(), string(body)})
	answer := p.answer
	p.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	switch {
	case r.URL.Path == wire.PowerPath:
		writeJSON(w, http.StatusOK, allPower())
	case strings.HasPrefix(r.URL.Path, wire.PermissionPath):
		_, _ = io.WriteString(w, "true")
	}
}

func allPower() wire.Power {
	return wire.Power{Add: true, Edit: true, Delete: true, Query: true, ViewDetails: true, Export: true, Importable: true, Print: true, Copy: true}
}

// RoundTrip answers in memory. A request to a host called "down…" cannot be connected to; one to "hang…" is never answered.
func (p *plane) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Host, "down") {
		return nil, errRefusedConnection
	}
	if strings.HasPrefix(r.URL.Host, "hang") {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	in := r.Clone(r.Context())
	in.Host = r.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, in)
	return w.Result(), nil
}

type refusedConnection struct{}

func (refusedConnection) Error() string { return "connect: connection refused" }

var errRefusedConnection = refusedConnection{}

func (p *plane) on(answer func(w http.ResponseWriter, r *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// to returns the requests to one path.
func (p *plane) to(path string) []sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []sent
	for _, s := range p.seen {
		if s.path == path {
			out = append(out, s)
		}
	}
	return out
}

// config is a valid Config whose calls go to p without a network.
func (p *plane) config() Config {
	return Config{
		NodeName: "orders", AccessToken: testToken, ServerAddresses: []string{"http://plane"},
		HostAddress: []string{"http://10.0.3.17:8081/shop"}, InstanceID: "kQzTbW", HTTPClient: &http.Client{Transport: p},
		Logger: slog.New(slog.DiscardHandler),
	}
}

func newAgent(t *testing.T, cfg Config) *Agent {
	t.Helper()
	a, err := New(cfg)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return a
}

// fromServer is a request as the control plane forwards it.
func fromServer(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set(wire.HeaderAccessToken, testToken)
	r.Header.Set(wire.HeaderToken, "d1_handle")
	r.Header.Set(wire.HeaderUser, base64.StdEncoding.EncodeToString([]byte(`{"uid":12,"account":"lin","name":"Lin Yu","tenantId":null}`)))
	return r
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func decode[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	dec := json.NewDecoder(w.Body)
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("status %d, body is no JSON: %v", w.Code, err)
	}
	return v
}

// running starts Run and returns a function that ends it and waits.
func running(t *testing.T, a *Agent) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// lines collects log records as text.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, strings.TrimSpace(string(p)))
	return len(p), nil
}

func (l *lines) containing(part string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, line := range l.all {
		if strings.Contains(line, part) {
			out = append(out, line)
		}
	}
	return out
}
