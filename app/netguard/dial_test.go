package netguard

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"testing"
	"time"
)

func listen(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func loopbackPolicy(t *testing.T) *Policy {
	t.Helper()
	p, err := NewPolicy(Options{AllowLoopback: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// resolveTo replaces the resolver.
func resolveTo(p *Policy, addrs []netip.Addr, err error) {
	p.lookup = func(context.Context, string) ([]netip.Addr, error) { return addrs, err }
}

func addrs(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, t := range texts {
		all = append(all, netip.MustParseAddr(t))
	}
	return all
}

// S64: a name with both families of which the first is dead.
func TestBothFamiliesAreTried(t *testing.T) {
	port := listen(t, "127.0.0.1:0")
	tests := map[string][]netip.Addr{
		"v6 refused first":     addrs("::1", "127.0.0.1"),
		"v4 first":             addrs("127.0.0.1", "::1"),
		"a dead one before":    addrs("127.0.0.2", "127.0.0.1"),
		"mapped":               addrs("::ffff:127.0.0.1"),
		"a forbidden one too":  addrs("169.254.169.254", "127.0.0.1"),
		"v6 forbidden, v4 not": addrs("fe80::1", "127.0.0.1"),
	}
	for name, found := range tests {
		t.Run(name, func(t *testing.T) {
			p := loopbackPolicy(t)
			resolveTo(p, found, nil)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			conn, err := p.DialContext(ctx, "tcp", net.JoinHostPort("node.test", port))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if got := conn.RemoteAddr().String(); got != "127.0.0.1:"+port {
				t.Errorf("answered by %s, want 127.0.0.1", got)
			}
		})
	}
}

func TestAllAddressesFail(t *testing.T) {
	p := loopbackPolicy(t)
	resolveTo(p, addrs("fe80::1", "169.254.169.254"), nil)
	_, err := p.DialContext(t.Context(), "tcp", "node.test:80")
	var denied *DeniedError
	if !errors.As(err, &denied) {
		t.Errorf("dial of a name with two forbidden addresses = %v, want a refusal", err)
	}
}

// S95: our resolver hiccups; the address that answered last is tried. A name that is gone is gone.
func TestResolverFails(t *testing.T) {
	port := listen(t, "127.0.0.1:0")
	p := loopbackPolicy(t)
	address := net.JoinHostPort("node.test", port)
	hiccup := &net.DNSError{Err: "server misbehaving", Name: "node.test", IsTemporary: true}
	resolveTo(p, nil, hiccup)
	var dns *net.DNSError
	if _, err := p.DialContext(t.Context(), "tcp", address); !errors.As(err, &dns) {
		t.Errorf("dial of a name never seen = %v, want the resolver's error", err)
	}
	resolveTo(p, addrs("127.0.0.1"), nil)
	dial := func() error {
		conn, err := p.DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	if err := dial(); err != nil {
		t.Fatal(err)
	}
	resolveTo(p, nil, hiccup)
	if err := dial(); err != nil {
		t.Errorf("dial while the resolver fails = %v, want the last known address tried", err)
	}
	resolveTo(p, nil, context.DeadlineExceeded)
	if err := dial(); err != nil {
		t.Errorf("dial while the resolver is silent = %v, want the last known address tried", err)
	}
	other := net.JoinHostPort("other.test", port)
	if _, err := p.DialContext(t.Context(), "tcp", other); !errors.As(err, &dns) || dns.IsNotFound {
		t.Errorf("dial of another name = %v, want a failure of the resolver", err)
	}
	resolveTo(p, nil, &net.DNSError{Err: "no such host", Name: "node.test", IsNotFound: true})
	if err := dial(); !errors.As(err, &dns) || !dns.IsNotFound {
		t.Errorf("dial of a name that no longer exists = %v, want that said", err)
	}
}

func TestNamesAreBounded(t *testing.T) {
	var n names
	for i := range rememberNames + 100 {
		n.put(strconv.Itoa(i), netip.IPv4Unspecified())
	}
	if len(n.last) != rememberNames {
		t.Errorf("remembers %d names, want %d", len(n.last), rememberNames)
	}
}

func TestEachAddressGetsItsShareOfTime(t *testing.T) {
	p := loopbackPolicy(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	var shares []time.Duration
	p.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		deadline, _ := ctx.Deadline()
		shares = append(shares, time.Until(deadline).Round(time.Minute))
		return nil, errors.New("dead")
	}
	resolveTo(p, addrs("10.0.0.1", "10.0.0.2", "10.0.0.3"), nil)
	_, _ = p.DialContext(ctx, "tcp", "node.test:80")
	if len(shares) != 3 || shares[0] != 20*time.Minute || shares[1] != 30*time.Minute || shares[2] != time.Hour {
		t.Errorf("three addresses of an hour got %v", shares)
	}
}
