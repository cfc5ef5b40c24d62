package boot

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/gin-gonic/gin"
	"go.uber.org/goleak"

	"eruptcloud/app/access"
	"eruptcloud/app/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testConfig(t *testing.T, flags map[string]string) *config.Config {
	t.Helper()
	all := map[string]string{
		"server.listen": "127.0.0.1:0", "server.data_dir": t.TempDir(), "server.shutdown_grace": "0s", "ops.listen": "off",
	}
	for k, v := range flags {
		all[k] = v
	}
	empty := t.TempDir() + "/config.toml"
	if err := writeFile(empty, ""); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Sources{File: empty, Flags: all})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// runServer starts a server and returns it when it is ready; stop ends it and returns what Run did.
func runServer(t *testing.T, c *config.Config, o Options) (s *Server, stop func() error) {
	t.Helper()
	o.Config = c
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := New(ctx, o)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- s.Run(ctx, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-done:
		cancel()
		t.Fatalf("it did not start: %v", err)
	}
	return s, sync.OnceValue(func() error { cancel(); return <-done })
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true // no idle connection of the test's own is left
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestStartServeStop(t *testing.T) { // F7: TestMain finds what is left behind
	for range 2 {
		s, stop := runServer(t, testConfig(t, nil), Options{AdminPassword: "correct-horse-9"})
		if code, body := get(t, s.URL()+"/readyz"); code != http.StatusOK || !strings.Contains(body, `"status":"ok"`) {
			t.Errorf("readyz = %d %s", code, body)
		}
		if code, _ := get(t, s.URL()+"/console/login"); code != http.StatusOK {
			t.Errorf("the login page answers %d", code)
		}
		if _, _, generated := s.FirstLogin(); generated {
			t.Error("a password was generated although one was given")
		}
		if err := stop(); err != nil {
			t.Errorf("Run = %v, want nil after its context ended", err)
		}
	}
}

func TestOpenStreamEndsWithTheServer(t *testing.T) { // S53
	s, stop := runServer(t, testConfig(t, nil), Options{AdminPassword: "correct-horse-9"})
	session, err := s.domain.Access.Login.Attempt(t.Context(), loginAttempt)
	if err != nil {
		t.Fatal(err)
	}
	resp := openEvents(t, s, session.Token)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("events = %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	if err := stop(); err != nil {
		t.Errorf("Run = %v with an open stream, want nil", err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Logf("the stream ended with %v", err)
	}
}

func TestGeneratedPasswordIsShownOnce(t *testing.T) { // F8
	c := testConfig(t, nil)
	s, stop := runServer(t, c, Options{})
	_, password, generated := s.FirstLogin()
	if !generated || len(password) < 16 {
		t.Errorf("FirstLogin = %q, %v; want a generated password of 16 or more characters", password, generated)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	again, stop := runServer(t, c, Options{})
	if _, _, generated := again.FirstLogin(); generated {
		t.Error("a second start generated another password")
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

func TestTakenAddress(t *testing.T) { // F3
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := New(t.Context(), Options{Config: testConfig(t, map[string]string{"server.listen": l.Addr().String()}), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), nil); !errors.Is(err, ErrListen) {
		t.Errorf("Run on a taken address = %v, want ErrListen", err)
	}
}

func TestDefaultPasswordIsRefusedInPublic(t *testing.T) { // F8, erupt-wire 10.8
	c := testConfig(t, map[string]string{"server.listen": "0.0.0.0:0"})
	s, err := New(t.Context(), Options{Config: c, Log: slog.New(slog.DiscardHandler), AdminPassword: "erupt"})
	if err == nil {
		err = s.Run(t.Context(), func() { t.Error("it serves erupt/erupt to everybody") })
	}
	if err == nil {
		t.Error("a public listener started with erupt/erupt")
	}
}

func TestAPartThatEndsStopsTheServer(t *testing.T) {
	c := testConfig(t, nil)
	s, err := New(t.Context(), Options{Config: c, Log: slog.New(slog.DiscardHandler), AdminPassword: "correct-horse-9"})
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("disk on fire")
	fail := make(chan struct{})
	s.parts = append(s.parts, part{"test", func(ctx context.Context) error {
		select {
		case <-fail:
			return broken
		case <-ctx.Done():
			return nil
		}
	}})
	if err := s.Run(t.Context(), func() { close(fail) }); !errors.Is(err, broken) {
		t.Errorf("Run = %v, want the part's error", err)
	}
}

// loginAttempt is the first admin's.
var loginAttempt = access.Attempt{Account: "erupt", Password: "correct-horse-9", Address: "127.0.0.1"}

// openEvents opens the console's event stream as a browser with that session does.
func openEvents(t *testing.T, s *Server, token string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	c, _ := gin.CreateTestContext(w)
	c.Request = httptest.NewRequest(http.MethodGet, "/console/", nil)
	if err := s.shell.WriteSession(c, token); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/console/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	for _, cookie := range w.Result().Cookies() {
		req.AddCookie(cookie)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func writeFile(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
