package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// socketNode accepts upgrades and hands the connection to talk; it refuses those for /refuse.
func socketNode(t *testing.T, talk func(net.Conn, *bufio.Reader)) *httptest.Server {
	t.Helper()
	var wg sync.WaitGroup
	s := newBareNode(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "refuse") || r.Header.Get("Upgrade") == "" {
			w.Header().Set("Upgrade", "websocket")
			http.Error(w, "no socket: "+r.Header.Get("Upgrade"), http.StatusForbidden)
			return
		}
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		wg.Add(1)
		defer wg.Done()
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\nSet-Cookie: a=1\r\nX-Node: 1\r\n\r\n",
			r.Header.Get("Sec-WebSocket-Key"))
		talk(conn, rw.Reader)
	})
	t.Cleanup(wg.Wait)
	return s
}

func echo(conn net.Conn, br *bufio.Reader) { _, _ = io.Copy(conn, br) }

func (r *rig) upgrade(target string, headers ...string) (net.Conn, *bufio.Reader, *http.Response) {
	r.t.Helper()
	conn := r.dial()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\ntoken: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\nOrigin: http://x\r\n%s\r\n",
		target, sessionToken, strings.Join(headers, "\r\n"))
	br := bufio.NewReader(conn)
	res, err := http.ReadResponse(br, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return conn, br, res
}

func TestWebSocketEcho(t *testing.T) { // S41: with failover on and the first location dead
	node := socketNode(t, echo)
	rig := newRig(t)
	rig.dir.set("shop", deadAddress(t), node.URL)
	conn, br, res := rig.upgrade("/erupt-api/tpl/live?_node=shop")
	defer conn.Close()
	if res.StatusCode != http.StatusSwitchingProtocols || res.Header.Get("Sec-WebSocket-Accept") != "k" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	if res.Header.Get("Set-Cookie") != "" || res.Header.Get("X-Node") != "" {
		t.Errorf("headers of the node arrive: %v", res.Header)
	}
	for _, text := range []string{"one", "two", strings.Repeat("x", 100<<10)} {
		go func() { _, _ = io.WriteString(conn, text) }()
		got := make([]byte, len(text))
		if _, err := io.ReadFull(br, got); err != nil || string(got) != text {
			t.Fatalf("echo of %d bytes: %v", len(text), err)
		}
	}
	if n := testutil.ToFloat64(rig.proxy.metrics.streams); n != 1 {
		t.Errorf("%v open streams counted, want 1", n)
	}
}

func TestRejectedUpgrade(t *testing.T) { // S42
	node := socketNode(t, echo)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	conn, _, res := rig.upgrade("/erupt-api/tpl/refuse?_node=shop")
	defer conn.Close()
	body, err := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusForbidden || string(body) != "no socket: websocket\n" || err != nil || res.Header.Get("Upgrade") != "" {
		t.Errorf("%d %v %q %v, want the node's refusal", res.StatusCode, res.Header, body, err)
	}
}

func TestUpgradeOnlyOnTemplatePages(t *testing.T) { // design: only for websocket on /erupt-api/tpl/** with _node
	node := socketNode(t, echo)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	for _, tt := range []struct{ target, header string }{
		{"/erupt-api/build/shop.X", "erupt: shop.X\r\n"},
		{"/erupt-api/tpl/vis-tpl/shop.X/a?_erupt=shop.X", ""},
		{"/erupt-attachment/a?_node=shop", ""},
		{"/erupt-api/tpl/live?_node=shop", "Upgrade: h2c\r\n"},
	} {
		conn, _, res := rig.upgrade(tt.target, tt.header)
		body, _ := io.ReadAll(io.LimitReader(res.Body, 100))
		if res.StatusCode != http.StatusForbidden || string(body) != "no socket: \n" {
			t.Errorf("%s: %d %q, want a plain request at the node", tt.target, res.StatusCode, body)
		}
		_ = conn.Close()
	}
}

func TestNoSocketForAPageOfAnotherSite(t *testing.T) { // browsers open one for any page, and add the cookie
	node := socketNode(t, echo)
	rig := newRig(t, func(o *Options) {
		o.CookieToken = func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("Cookie"), "ec=") }
	})
	rig.dir.set("shop", node.URL)
	for _, tt := range []struct {
		target, headers string
		want            int
	}{
		{"/erupt-api/tpl/live?_node=shop", "Cookie: ec=" + sessionToken + "\r\nOrigin: http://evil.example\r\n", http.StatusForbidden},
		{"/erupt-api/tpl/live?_node=shop", "Cookie: ec=" + sessionToken + "\r\nOrigin: null\r\n", http.StatusForbidden},
		{"/erupt-api/tpl/live?_node=shop", "Cookie: ec=" + sessionToken + "\r\nOrigin: http://x\r\n", http.StatusSwitchingProtocols},
		// a sandboxed page of the node has no origin, no cookie, and was given its token
		{"/erupt-api/tpl/live?_node=shop&_token=" + sessionToken, "Origin: null\r\n", http.StatusSwitchingProtocols},
	} {
		conn := rig.dial()
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n%s\r\n", tt.target, tt.headers)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != tt.want {
			t.Errorf("%s with %q: %d, want %d", tt.target, tt.headers, res.StatusCode, tt.want)
		}
		_ = conn.Close()
	}
}

func TestUnaskedUpgrade(t *testing.T) {
	node := newScriptedNode(t, func(int, int, *http.Request) (string, bool) {
		return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", false
	})
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	if got := rig.get("/erupt-api/build/shop.X", "shop.X"); got.Status != 502 {
		t.Errorf("%d %s, want 502", got.Status, got.Body)
	}
}

// Sessions that end in every way leave nothing behind; goleak looks after the goroutines.
func TestUpgradesEnd(t *testing.T) { // S42
	tests := map[string]struct {
		talk func(net.Conn, *bufio.Reader)
		end  func(net.Conn)
	}{
		"client closes":      {echo, func(c net.Conn) { _ = c.Close() }},
		"node closes":        {func(net.Conn, *bufio.Reader) {}, func(c net.Conn) { _, _ = io.ReadAll(c) }},
		"client half closes": {echo, func(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite(); _, _ = io.ReadAll(c) }},
		"node ignores the client's half": {func(_ net.Conn, br *bufio.Reader) {
			_, _ = io.Copy(io.Discard, br) // and then says nothing more
		}, func(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite(); _, _ = io.ReadAll(c) }},
		"client ignores the node's half": {func(c net.Conn, br *bufio.Reader) {
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, br)
		}, func(c net.Conn) {
			for { // it talks on until it is cut
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
			}
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			over := make(chan struct{}) // no side ends a connection on its own account before
			node := socketNode(t, func(c net.Conn, br *bufio.Reader) {
				if tt.talk(c, br); name == "node ignores the client's half" {
					<-over
				}
			})
			rig := newRig(t)
			rig.proxy.linger = 20 * time.Millisecond
			rig.dir.set("shop", node.URL)
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					conn, _, res := rig.upgrade("/erupt-api/tpl/live?_node=shop")
					defer conn.Close()
					if res.StatusCode != http.StatusSwitchingProtocols {
						t.Errorf("status %d", res.StatusCode)
					}
					tt.end(conn)
				})
			}
			wg.Wait()
			rig.recorder.wait(20) // the server does not wait for handlers of hijacked connections
			close(over)
			if n := testutil.ToFloat64(rig.proxy.metrics.streams); n != 0 {
				t.Errorf("%v streams still counted", n)
			}
		})
	}
}

// The end of the server's base context ends upgraded connections, which Shutdown does not know (S53).
func TestUpgradeEndsWithTheServer(t *testing.T) {
	node := socketNode(t, echo)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	base, stop := context.WithCancel(t.Context())
	server := httptest.NewUnstartedServer(rig.proxy)
	server.Config.BaseContext = func(net.Listener) context.Context { return base }
	server.Start()
	rig.server.Close()
	rig.server = server
	conn, br, res := rig.upgrade("/erupt-api/tpl/live?_node=shop")
	defer conn.Close()
	if res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %d", res.StatusCode)
	}
	stop()
	_, _ = io.ReadAll(br) // returns only because the connection ended
	rig.recorder.wait(1)
}
