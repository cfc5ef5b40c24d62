package proxy

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// newBareNode is a node that leaves the body to its handler.
func newBareNode(t testing.TB, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s
}

// zeros reads as zeros without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// scriptedNode answers each request on a connection with what script says: the text to send, or hang up. It counts the
// requests that arrived whole.
type scriptedNode struct {
	URL      string
	listener net.Listener
	script   func(conn, request int, r *http.Request) (text string, hangUp bool)

	mu    sync.Mutex
	count map[string]int // by method
	conns []net.Conn
	wg    sync.WaitGroup
}

func newScriptedNode(t testing.TB, script func(conn, request int, r *http.Request) (string, bool)) *scriptedNode {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &scriptedNode{URL: "http://" + l.Addr().String(), listener: l, script: script, count: map[string]int{}}
	n.wg.Go(n.accept)
	t.Cleanup(func() {
		_ = l.Close()
		n.mu.Lock()
		for _, c := range n.conns {
			_ = c.Close()
		}
		n.mu.Unlock()
		n.wg.Wait()
	})
	return n
}

func (n *scriptedNode) accept() {
	for i := 0; ; i++ {
		c, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.mu.Lock()
		n.conns = append(n.conns, c)
		n.mu.Unlock()
		n.wg.Go(func() { n.serve(i, c) })
	}
}

func (n *scriptedNode) serve(conn int, c net.Conn) {
	defer c.Close()
	br := bufio.NewReader(c)
	for i := 0; ; i++ {
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		var body strings.Builder
		if _, err := bufio.NewReader(r.Body).WriteTo(&body); err != nil {
			return
		}
		n.mu.Lock()
		n.count[r.Method]++
		n.mu.Unlock()
		text, hangUp := n.script(conn, i, r)
		if _, err := c.Write([]byte(text)); err != nil || hangUp {
			return
		}
	}
}

func (n *scriptedNode) asked(method string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count[method]
}

const emptyOK = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
