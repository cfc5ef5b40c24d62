package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	na "eruptcloud/nodeagent"
	"eruptcloud/nodeagent/wire"
)

// sent is a transport that keeps what was sent.
type sent struct{ bodies []string }

func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	s.bodies = append(s.bodies, string(body))
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(""))}, nil
}

func newLife(version string, skew time.Duration) (*life, *sent) {
	wire := &sent{}
	ring := na.NewLogRing(10)
	l := &life{node: "crm", traits: traits{version, skew}, base: wire, ring: ring, log: slog.New(skewed{ring.Handler(nil), skew})}
	l.version.Store(&l.traits.version)
	l.inner = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "crm") })
	return l, wire
}

func (l *life) register(t *testing.T) error {
	t.Helper()
	body := `{"nodeName":"crm","version":"go-1.0.0","accessToken":"right","nodeAddress":["http://127.0.0.1:1"]}`
	r := httptest.NewRequest(http.MethodPost, "http://server"+wire.RegisterPath, strings.NewReader(body))
	answer, err := l.RoundTrip(r)
	if err == nil {
		_ = answer.Body.Close()
	}
	return err
}

// TestWhatLeaves holds what each fault does to a registration on its way to the server.
func TestWhatLeaves(t *testing.T) {
	tests := map[Fault]struct{ field, want string }{
		"":    {"version", "1.12.23"},
		Pose:  {"nodeName", "other"},
		Claim: {"nodeAddress", "[other]"},
		Forge: {"accessToken", "not-the-token-of-this-node"},
		Hang:  {"accessToken", "right"},
	}
	for f, tt := range tests {
		t.Run(string(f), func(t *testing.T) {
			l, sent := newLife("1.12.23", 0)
			if f != "" {
				l.act.Store(&act{fault: f, other: "other"})
			}
			if err := l.register(t); err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal([]byte(sent.bodies[0]), &got); err != nil {
				t.Fatal(err)
			}
			value, _ := json.Marshal(got[tt.field])
			if strings.NewReplacer(`"`, "").Replace(string(value)) != tt.want {
				t.Errorf("%s sends %s = %s, want %s", f, tt.field, value, tt.want)
			}
		})
	}
	l, sent := newLife("2.0.1", 0)
	l.act.Store(&act{fault: Garble})
	if err := l.register(t); err != nil || json.Valid([]byte(sent.bodies[0])) {
		t.Errorf("garbled is %q, %v", sent.bodies, err)
	}
	l.act.Store(&act{fault: Mute})
	if err := l.register(t); !errors.Is(err, errSilent) {
		t.Errorf("mute sends, %v", err)
	}
}

// A registration is read to a bound, whoever made it, and what is longer does not leave.
func TestLongRegistration(t *testing.T) {
	for size, leaves := range map[int]bool{maxRegistration: true, maxRegistration + 1: false} {
		l, sent := newLife("1.12.23", 0)
		body := `{"nodeName":"` + strings.Repeat("x", size-len(`{"nodeName":""}`)) + `"}`
		answer, err := l.RoundTrip(httptest.NewRequest(http.MethodPost, "http://server"+wire.RegisterPath, strings.NewReader(body)))
		if err == nil {
			_ = answer.Body.Close()
		}
		if leaves != (err == nil) || leaves != (len(sent.bodies) == 1) {
			t.Errorf("%d bytes: %v, %d sent, want it sent: %t", size, err, len(sent.bodies), leaves)
		}
	}
}

func TestChangeOfVersion(t *testing.T) {
	l, sent := newLife("2.0.1", 0)
	if l.change(t.Context(), "http://server", "2.0.2") {
		t.Error("it changed before it registered")
	}
	if err := l.register(t); err != nil {
		t.Fatal(err)
	}
	if !l.change(t.Context(), "http://server", "2.0.2") || !strings.Contains(sent.bodies[1], `"version":"2.0.2"`) {
		t.Errorf("sent %q, want the new version at once", sent.bodies)
	}
	if err := l.register(t); err != nil || !strings.Contains(sent.bodies[2], `"version":"2.0.2"`) {
		t.Errorf("the next beat says %q, want the new version", sent.bodies[2])
	}
}

// TestWhatComes holds how each fault answers the server.
func TestWhatComes(t *testing.T) {
	ask := func(l *life, path string) (status int, body string, date string, broken bool) {
		w := httptest.NewRecorder()
		func() {
			defer func() { broken = recover() == http.ErrAbortHandler }()
			l.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		}()
		return w.Code, w.Body.String(), w.Header().Get("Date"), broken
	}
	over := make(chan struct{})
	close(over)
	for f, want := range map[Fault]struct {
		status int
		body   string
		broken bool
	}{
		Lie: {200, "other", false}, Fail: {500, "simulated failure\n", false}, Hang: {200, "", true}, Slow: {200, "crm", false}, Claim: {200, "crm", false},
	} {
		l, _ := newLife("2.0.1", 0)
		l.act.Store(&act{fault: f, other: "other", over: over, delay: time.Millisecond})
		if status, body, _, broken := ask(l, wire.HealthPath); status != want.status || body != want.body || broken != want.broken {
			t.Errorf("%s answers %d %q, broken %v; want %+v", f, status, body, broken, want)
		}
	}
	l, _ := newLife("2.0.1", 24*time.Hour)
	if _, _, date, _ := ask(l, "/"); date == "" {
		t.Error("a node with a wrong clock says no date")
	} else if at, err := http.ParseTime(date); err != nil || time.Until(at) < 23*time.Hour {
		t.Errorf("its date is %s, %v", date, err)
	}
	l.log.Info("x")
	if line := l.ring.Since(0, 1)[0].Content; !strings.HasPrefix(line, time.Now().Add(24*time.Hour).Format("2006-01-02")) {
		t.Errorf("it logs %s, want tomorrow's date", line)
	}
	l.act.Store(&act{fault: Endless})
	_, body, _, _ := ask(l, wire.LogPath)
	var lines []wire.LogLine
	if err := json.Unmarshal([]byte(body), &lines); err != nil || len(lines) != 3 || len(lines[0].Content) < 1<<19 || !bytes.Contains([]byte(lines[1].Content), []byte("\x1b]0;")) {
		t.Errorf("its log has %d bytes, %v", len(body), err)
	}
}
