package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memorySessions is a session source whose tokens are the map's keys.
type memorySessions map[string]access.Session

func (m memorySessions) Get(_ context.Context, token string, codes ...string) (access.Session, []bool, error) {
	in, ok := m[token]
	if !ok {
		return access.Session{}, nil, fault.New(fault.Unauthenticated, "the session has ended")
	}
	held := make([]bool, len(codes))
	for i, c := range codes {
		held[i] = in.Holds(c)
	}
	return in, held, nil
}

func lin() access.Session {
	return access.Session{Token: "lin-token", Account: "lin", Name: "Lin Yu", Values: map[string]access.Menu{"cloudnode": {}}}
}

type fixture struct {
	*web.Shell
	log bytes.Buffer
	reg *prometheus.Registry
}

func newShell(t *testing.T, change ...func(*web.Options)) *fixture {
	t.Helper()
	f := &fixture{reg: prometheus.NewRegistry()}
	o := web.Options{
		Sessions:   memorySessions{"lin-token": lin()},
		CookieKeys: [][]byte{bytes.Repeat([]byte("k"), 32), bytes.Repeat([]byte("e"), 32)},
		Logger:     slog.New(slog.NewJSONHandler(&f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Metrics:    f.reg, Version: "test",
		Now: func() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) },
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	if f.Shell, err = web.New(o); err != nil {
		t.Fatal(err)
	}
	return f
}

// proxies trusts the peer of httptest requests, 192.0.2.1.
func proxies(o *web.Options) {
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
}

func base(path string) func(*web.Options) { return func(o *web.Options) { o.BasePath = path } }

// do sends a request; headers are pairs.
func (f *fixture) do(method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://fleet.test/", nil)
	if err := setTarget(r, target); err != nil {
		panic(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return f.serve(r)
}

func (f *fixture) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	return w
}

// setTarget parses a target as net/http does for a request line, so that "//x" stays a path.
func setTarget(r *http.Request, target string) error {
	parsed, err := http.NewRequest(r.Method, "http://fleet.test", nil)
	if err != nil {
		return err
	}
	u := *parsed.URL
	path, query, _ := strings.Cut(target, "?")
	v, err := u.Parse("http://fleet.test/")
	if err != nil {
		return err
	}
	if v.Path, err = unescape(path); err != nil {
		return err
	}
	v.RawPath, v.RawQuery = path, query
	r.URL, r.RequestURI = v, target
	return nil
}

func envelope(t *testing.T, w *httptest.ResponseRecorder) web.Envelope {
	t.Helper()
	var e web.Envelope
	dec := json.NewDecoder(w.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		t.Fatalf("answer %d is no envelope: %v", w.Code, err)
	}
	return e
}

func text(s string) func(*gin.Context) { return func(c *gin.Context) { c.String(200, "%s", s) } }
