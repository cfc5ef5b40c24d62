package probe_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/app/netguard"
	"eruptcloud/app/probe"
	"eruptcloud/app/testbed"
)

// lookup stands for the resolver: what it says depends on the name.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	switch host {
	case "node.test":
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	case "inside.test":
		return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
	case "broken.test":
		return nil, &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
	case "silent.test":
		<-ctx.Done()
		return nil, &net.DNSError{Err: ctx.Err().Error(), Name: host, IsTimeout: true}
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func prober(t *testing.T, change ...func(*probe.Options)) *probe.Prober {
	t.Helper()
	p, err := netguard.NewPolicy(netguard.Options{AllowLoopback: true, Lookup: lookup})
	if err != nil {
		t.Fatal(err)
	}
	o := probe.Options{Policy: p, Timeout: 10 * time.Second}
	for _, f := range change {
		f(&o)
	}
	return probe.New(o)
}

func short(o *probe.Options) { o.Timeout = 150 * time.Millisecond }

// raw is a server below HTTP; it counts its connections.
func raw(t *testing.T, serve func(net.Conn)) (location string, connections *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	connections = new(atomic.Int64)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			go func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			}()
		}
	}()
	return "http://" + l.Addr().String(), connections
}

// closedPort is a location at which nothing listens any more.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	return "http://" + l.Addr().String()
}

func answering(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func TestHandshakeOfALivingNode(t *testing.T) {
	node := testbed.NewFakeNode(t, "order-service")
	r := prober(t).Handshake(t.Context(), node.URL()+"/shop/..", "order-service")
	if r.OK {
		t.Error("a location with dots led to the node")
	}
	node.Forget()
	r = prober(t).Handshake(t.Context(), node.URL(), "order-service")
	if !r.OK || r.Err != nil || r.Layer != "" || r.Status != 200 || r.Address != node.Addr() {
		t.Errorf("Handshake = %+v, want OK from %s", r, node.Addr())
	}
	seen := node.Requests()
	if len(seen) != 1 || seen[0].Method != http.MethodGet || seen[0].Path != "/node-health" || seen[0].Query != "" {
		t.Fatalf("the node saw %+v, want one GET /node-health", seen)
	}
	for _, name := range []string{"Authorization", "Cookie", "Access-Token", "Origin", "Referer", "token"} {
		if v := seen[0].Header.Get(name); v != "" {
			t.Errorf("the probe sent %s: %s", name, v)
		}
	}
}

func TestHandshakeReadsOurAgentsHeaders(t *testing.T) {
	location := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Ec-Instance", "kQzTbW")
		w.Header().Set("X-Ec-Agent", "1.2")
		_, _ = io.WriteString(w, "n")
	})
	if r := prober(t).Handshake(t.Context(), location, "n"); !r.OK || r.Instance != "kQzTbW" || r.Version != "1.2" {
		t.Errorf("Handshake = %+v, want instance and version", r)
	}
}

func TestHandshakeFailures(t *testing.T) {
	node := testbed.NewFakeNode(t, "n")
	refused := closedPort(t)
	secure := httptest.NewTLSServer(says("n"))
	defer secure.Close()
	mute, _ := raw(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	closes, _ := raw(t, func(net.Conn) {})
	smtp, _ := raw(t, func(c net.Conn) { _, _ = io.WriteString(c, "220 mail ESMTP\r\n") })
	port := node.Addr()[strings.LastIndex(node.Addr(), ":"):]
	redirects := func(status int) string {
		return answering(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, node.URL(), status) })
	}
	endless := answering(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("n", 4096)); err != nil {
				return
			}
		}
	})
	tests := map[string]struct {
		location string
		quick    bool // the failure is a time limit
		layer    string
		words    []string
		unsure   bool
	}{
		"unknown name (S5)":              {"http://8450c14378de:8090", false, probe.DNS, []string{"cannot resolve", "8450c14378de"}, false},
		"resolver fails (S95)":           {"http://broken.test", false, probe.DNS, []string{"name resolution failed", "broken.test"}, true},
		"resolver silent (S95)":          {"http://silent.test", true, probe.DNS, []string{"name resolution"}, true},
		"refused (S5)":                   {refused, false, probe.Connect, []string{"refused", strings.TrimPrefix(refused, "http://")}, false},
		"metadata (S58)":                 {"http://169.254.169.254/latest", false, probe.Policy, []string{"169.254.169.254", "metadata"}, false},
		"name that points inside (S58)":  {"http://inside.test", false, probe.Policy, []string{"169.254.169.254", "metadata"}, false},
		"unspecified":                    {"http://0.0.0.0" + port, false, probe.Policy, []string{"unspecified"}, false},
		"link-local with a zone (S64)":   {"http://[fe80::1%25lo]:1", false, probe.Policy, []string{"fe80::1%lo", "link-local"}, false},
		"http asked for https":           {"https://" + node.Addr(), false, probe.TLS, []string{"http://"}, false},
		"certificate of nobody we trust": {secure.URL, false, probe.TLS, []string{"issuer"}, false},
		"https asked for http":           {"http" + strings.TrimPrefix(secure.URL, "https"), false, probe.HTTP, []string{"400"}, false},
		"accepts and is silent":          {mute, true, probe.HTTP, []string{"accepted", "did not answer within 150ms"}, false},
		"accepts and closes (S65)":       {closes, false, probe.HTTP, []string{"closed"}, false},
		"another protocol":               {smtp, false, probe.HTTP, []string{"HTTP"}, false},
		"redirect (S58)":                 {redirects(302), false, probe.HTTP, []string{"redirect", "302"}, false},
		"permanent redirect":             {redirects(308), false, probe.HTTP, []string{"redirect", "308"}, false},
		"failing":                        {answering(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }), false, probe.HTTP, []string{"503"}, false},
		"another node":                   {answering(t, says("m")), false, probe.Identity, []string{`"m"`, `"n"`}, false},
		"name with a line break":         {answering(t, says("n\n")), false, probe.Identity, []string{`"n\n"`}, false},
		"name in other case":             {answering(t, says("N")), false, probe.Identity, []string{`"N"`}, false},
		"blank":                          {answering(t, says("")), false, probe.Identity, []string{"without a name"}, false},
		"endless body":                   {endless, false, probe.Identity, []string{"more than 1024 bytes"}, false},
		"long text of a stranger":        {answering(t, says(strings.Repeat("<script>", 100))), false, probe.Identity, []string{"<script>"}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := prober(t)
			if tt.quick {
				p = prober(t, short)
			}
			r := p.Handshake(t.Context(), tt.location, "n")
			if r.OK || r.Layer != tt.layer || r.Unsure != tt.unsure || r.Err == nil {
				t.Fatalf("Handshake = %+v (%v), want layer %s, unsure %v", r, r.Err, tt.layer, tt.unsure)
			}
			for _, w := range tt.words {
				if !strings.Contains(r.Err.Error(), w) {
					t.Errorf("says %q, want %q in it", r.Err, w)
				}
			}
			if len(r.Err.Error()) > 250 {
				t.Errorf("says %d characters: %q", len(r.Err.Error()), r.Err)
			}
		})
	}
}

func TestHandshakeKeepsTheCause(t *testing.T) {
	if r := prober(t).Handshake(t.Context(), closedPort(t), "n"); !errors.Is(r.Err, syscall.ECONNREFUSED) {
		t.Errorf("error %v hides its cause %v", r.Err, errors.Unwrap(r.Err))
	}
}

// S65: a server that closes without an answer is asked once.
func TestOneConnectionPerProbe(t *testing.T) {
	location, connections := raw(t, func(net.Conn) {})
	p := prober(t)
	for range 3 {
		p.Handshake(t.Context(), location, "n")
	}
	if n := connections.Load(); n != 3 {
		t.Errorf("three probes made %d connections, want 3", n)
	}
	keeps, connections := raw(t, func(c net.Conn) {
		buf := make([]byte, 4096)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nn")
		}
	})
	for range 3 {
		if r := p.Handshake(t.Context(), keeps, "n"); !r.OK {
			t.Fatalf("Handshake = %+v (%v)", r, r.Err)
		}
	}
	if n := connections.Load(); n != 3 {
		t.Errorf("three probes of a server that keeps connections made %d, want one each", n)
	}
}

func TestBlankNameByOption(t *testing.T) {
	location := answering(t, says(""))
	p := prober(t, func(o *probe.Options) { o.AcceptBlank = true })
	if r := p.Handshake(t.Context(), location, "n"); !r.OK || !r.Blank {
		t.Errorf("Handshake = %+v, want OK and marked as blank", r)
	}
	if r := p.Handshake(t.Context(), answering(t, says(" ")), "n"); r.OK {
		t.Error("a blank space is no name even then")
	}
}

func TestEnvironmentProxyIsNotAsked(t *testing.T) {
	asked := false
	proxy := answering(t, func(w http.ResponseWriter, _ *http.Request) { asked = true; _, _ = io.WriteString(w, "n") })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy)
	}
	if r := prober(t).Handshake(t.Context(), "http://8450c14378de", "n"); r.OK || asked {
		t.Errorf("Handshake = %+v, asked the proxy: %v", r, asked)
	}
}

// S64: an IPv6 location is dialled as such, and answered where the machine has IPv6.
func TestIPv6(t *testing.T) {
	port := 1
	l, err := net.Listen("tcp6", "[::1]:0")
	if err == nil {
		server := &httptest.Server{Listener: l, Config: &http.Server{Handler: says("n"), ReadHeaderTimeout: time.Second}}
		server.Start()
		defer server.Close()
		port = l.Addr().(*net.TCPAddr).Port
	}
	location, canonErr := probe.CanonicalLocation(fmt.Sprintf("http://[0:0::1]:%d/", port))
	if canonErr != nil {
		t.Fatal(canonErr)
	}
	r := prober(t).Handshake(t.Context(), location, "n")
	if r.Address != fmt.Sprintf("[::1]:%d", port) || r.OK != (err == nil) {
		t.Errorf("Handshake(%s) = %+v (%v), want [::1] asked", location, r, r.Err)
	}
}

func TestTrustedIssuer(t *testing.T) {
	secure := httptest.NewTLSServer(says("n"))
	defer secure.Close()
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	p := prober(t, func(o *probe.Options) {
		o.TLS = secure.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		o.TLS.RootCAs = pool
	})
	if r := p.Handshake(t.Context(), secure.URL, "n"); !r.OK {
		t.Errorf("Handshake = %+v (%v), want OK", r, r.Err)
	}
	named := strings.Replace(secure.URL, "127.0.0.1", "node.test", 1)
	if r := p.Handshake(t.Context(), named, "n"); r.Layer != probe.TLS || !strings.Contains(r.Err.Error(), "another name") {
		t.Errorf("Handshake(%s) = %+v (%v), want a certificate for another name", named, r, r.Err)
	}
}

func TestCalledOffIsUnsure(t *testing.T) {
	connected := make(chan struct{})
	location, _ := raw(t, func(c net.Conn) {
		close(connected)
		_, _ = io.Copy(io.Discard, c)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan probe.Result, 1)
	p := prober(t)
	go func() { done <- p.Handshake(ctx, location, "n") }()
	<-connected
	cancel()
	if r := <-done; r.OK || !r.Unsure {
		t.Errorf("Handshake = %+v, want a failure that says nothing of the instance", r)
	}
}

// A process that was stopped while it waited learns nothing from an answer that is late.
func TestLateFailureIsUnsure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := netguard.NewPolicy(netguard.Options{Lookup: func(context.Context, string) ([]netip.Addr, error) {
			time.Sleep(time.Minute) // deaf to its context, as a stopped process is
			return nil, &net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}
		}})
		if err != nil {
			t.Fatal(err)
		}
		r := probe.New(probe.Options{Policy: p}).Handshake(t.Context(), "http://node.test", "n")
		if r.OK || !r.Unsure {
			t.Errorf("Handshake = %+v, want a failure that says nothing of the instance", r)
		}
		time.Sleep(time.Hour)
	})
}

// A dial must not outlive its probe.
func TestDialsEndWithTheirProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := netguard.NewPolicy(netguard.Options{Lookup: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		r := probe.New(probe.Options{Policy: p}).Handshake(t.Context(), "http://node.test", "n")
		if r.OK || time.Since(start) > time.Second {
			t.Errorf("Handshake = %+v after %s, want a failure within its second", r, time.Since(start))
		}
		// The bubble ends only when the dial has.
	})
}
