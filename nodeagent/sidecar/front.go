package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"eruptcloud/nodeagent/wire"
)

const (
	healthTimeout = 700 * time.Millisecond // the server waits one second
	startPatience = 60 * time.Second       // how long an upstream may take before the node registers without it
	startPoll     = 200 * time.Millisecond
)

// front stands before the upstream.
type front struct {
	upstream *url.URL
	health   string // path, or empty
	proxy    *httputil.ReverseProxy
	client   *http.Client
}

// front returns nil without an upstream.
func (s *settings) front() (*front, error) {
	if s.upstream == "" {
		return nil, nil
	}
	u, err := url.Parse(s.upstream)
	if err != nil {
		return nil, fmt.Errorf("--upstream: %w", err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil // the upstream is a neighbour
	transport.MaxIdleConnsPerHost = 64
	f := &front{upstream: u, health: s.healthPath, client: &http.Client{
		Transport: transport, Timeout: healthTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	f.proxy = &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // event streams must arrive event by event
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(u)
			r.Out.URL.RawQuery = r.In.URL.RawQuery // byte for byte: what the program makes of a ";" is its own affair
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
			r.Out.Header.Del(wire.HeaderAccessToken) // the guard has seen it; it is nobody else's business
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				s.Logger.Warn("upstream did not answer", "path", r.URL.Path, "error", err)
			}
			http.Error(w, "the process behind this node did not answer", http.StatusBadGateway)
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelWarn),
	}
	s.EruptHandler = f.proxy
	s.Healthy = func(r *http.Request) error { return f.healthy(r.Context()) }
	return f, nil
}

func (f *front) server(addr string) *http.Server { return &http.Server{Addr: addr, Handler: f.proxy} }

// healthy asks the upstream: at its health path, or whether it accepts connections at all.
func (f *front) healthy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	if f.health == "" {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", hostPort(f.upstream))
		if err != nil {
			return fmt.Errorf("upstream: %w", err)
		}
		return conn.Close()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.upstream.JoinPath(f.health).String(), nil)
	if err != nil {
		return fmt.Errorf("upstream: %w", err)
	}
	res, err := f.client.Do(req)
	if err != nil {
		return fmt.Errorf("upstream: %w", err)
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10) // so that the connection can be used again
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("upstream: %s answers %d", f.health, res.StatusCode)
	}
	return nil
}

func hostPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// waitUntilHealthy keeps a node from registering before its process is up: the first registration would fail on the probe and
// the next come half a heartbeat later.
func (f *front) waitUntilHealthy(ctx context.Context, log *slog.Logger) {
	deadline := time.NewTimer(startPatience)
	defer deadline.Stop()
	ticker := time.NewTicker(startPoll)
	defer ticker.Stop()
	for {
		err := f.healthy(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-deadline.C:
			log.Warn("upstream is not up yet, registering anyway", "error", err)
			return
		case <-ticker.C:
		}
	}
}
