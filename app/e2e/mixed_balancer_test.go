package e2e

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// balancer is what operators put before replicas: it passes connections to those that say that they are ready, in turn, and
// tries the next one when a connection is refused.
type balancer struct {
	addr  string
	ready []atomic.Bool
	next  atomic.Uint64
	to    []string
}

func newBalancer(t testing.TB, to ...string) *balancer {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{addr: l.Addr().String(), ready: make([]atomic.Bool, len(to)), to: to}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); l.Close() })
	b.look(ctx)
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				b.look(ctx)
			}
		}
	}()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go b.pass(conn)
		}
	}()
	return b
}

func (b *balancer) look(ctx context.Context) {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for i, to := range b.to {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+to+"/readyz", nil)
		if err != nil {
			panic(err) // an address of this test
		}
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		b.ready[i].Store(err == nil && resp.StatusCode == http.StatusOK)
	}
}

func (b *balancer) pass(client net.Conn) {
	defer client.Close()
	server := b.dial()
	if server == nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, server)
}

// dial connects to a ready replica, else to any.
func (b *balancer) dial() net.Conn {
	from := int(b.next.Add(1))
	for _, onlyReady := range []bool{true, false} {
		for i := range b.to {
			k := (from + i) % len(b.to)
			if onlyReady && !b.ready[k].Load() {
				continue
			}
			if conn, err := net.DialTimeout("tcp", b.to[k], 5*time.Second); err == nil {
				return conn
			}
		}
	}
	return nil
}
