package e2e

import (
	"net"
	"strings"
	"sync"
	"testing"
)

// tap passes connections on and keeps what the first side says.
type tap struct {
	addr string

	mu   sync.Mutex
	said []*strings.Builder
}

func newTap(t testing.TB, to string) *tap {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	tp := &tap{addr: l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go tp.pass(client, to)
		}
	}()
	return tp
}

func (tp *tap) pass(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return // refused, as the server would
	}
	defer server.Close()
	said := new(strings.Builder)
	tp.mu.Lock()
	tp.said = append(tp.said, said)
	tp.mu.Unlock()
	go func() {
		defer client.Close()
		defer server.Close()
		_, _ = server.(*net.TCPConn).ReadFrom(&listener{tp, client, said})
	}()
	_, _ = client.(*net.TCPConn).ReadFrom(server)
}

// listener writes down what it reads.
type listener struct {
	tp   *tap
	from net.Conn
	said *strings.Builder
}

func (l *listener) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	l.tp.mu.Lock()
	defer l.tp.mu.Unlock()
	l.said.Write(p[:n])
	return n, err
}

// texts returns what came through each connection.
func (tp *tap) texts() []string {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	var out []string
	for _, s := range tp.said {
		out = append(out, s.String())
	}
	return out
}
