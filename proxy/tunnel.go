package proxy

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// halfOpen is how long an upgraded connection lives after one side has said its last word. Without an end, half-closed
// connections would pile up (S42).
const halfOpen = 15 * time.Second

// tunnel is the node's side of an upgraded connection.
type tunnel struct {
	node   io.ReadWriteCloser
	linger time.Duration

	mu     sync.Mutex
	client net.Conn
	timer  *time.Timer
	closed bool
}

func newTunnel(node io.ReadWriteCloser, linger time.Duration) *tunnel {
	return &tunnel{node: node, linger: linger}
}

func (t *tunnel) Read(p []byte) (int, error) {
	n, err := t.node.Read(p)
	if err == io.EOF {
		t.half()
	}
	return n, err
}

func (t *tunnel) Write(p []byte) (int, error) { return t.node.Write(p) }

// WriteTo and ReadFrom keep io.Copy from taking 32 KiB for each direction.
func (t *tunnel) WriteTo(w io.Writer) (int64, error) { return copySmall(w, t) }

// ReadFrom is the other direction.
func (t *tunnel) ReadFrom(r io.Reader) (int64, error) { return copySmall(t, r) }

// copySmall waits with a small buffer and carries what comes in a run with a large one.
func copySmall(w io.Writer, r io.Reader) (all int64, err error) {
	small := eventBuffers.Get().(*[eventBuffer]byte)
	defer eventBuffers.Put(small)
	for {
		n, more, err := carry(w, r, small[:])
		all += n
		if err == nil && more {
			n, err = copyRun(w, r)
			all += n
		}
		if err == io.EOF {
			return all, nil
		} else if err != nil {
			return all, err
		}
	}
}

// copyRun copies until a read comes short.
func copyRun(w io.Writer, r io.Reader) (all int64, err error) {
	large := bulkBuffers.Get().(*[bulkBuffer]byte)
	defer bulkBuffers.Put(large)
	for more := true; more && err == nil; {
		var n int64
		n, more, err = carry(w, r, large[:])
		all += n
	}
	return all, err
}

// carry copies what one read gives; more says that it filled the buffer. A failed write counts before a failed read.
func carry(w io.Writer, r io.Reader, buf []byte) (n int64, more bool, err error) {
	got, err := r.Read(buf)
	if got > 0 {
		written, failed := w.Write(buf[:got])
		if failed != nil {
			return int64(written), false, failed
		}
	}
	return int64(got), got == len(buf), err
}

// CloseWrite passes on that the client has said its last word.
func (t *tunnel) CloseWrite() error {
	t.half()
	if half, ok := t.node.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return t.node.Close()
}

// Close ends the node's side; ReverseProxy ends the client's.
func (t *tunnel) Close() error {
	t.mu.Lock()
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	return t.node.Close()
}

func (t *tunnel) half() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil && !t.closed {
		t.timer = time.AfterFunc(t.linger, t.cut)
	}
}

// cut ends both sides.
func (t *tunnel) cut() {
	t.mu.Lock()
	client := t.client
	t.mu.Unlock()
	if client != nil {
		_ = client.Close()
	}
	_ = t.node.Close()
}

func (t *tunnel) attach(client net.Conn) {
	t.mu.Lock()
	t.client = client
	t.mu.Unlock()
}

// hijacker tells the tunnel which connection its client is on.
type hijacker struct {
	http.ResponseWriter
	visit *visit
}

// Hijack implements http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err == nil && h.visit.tunnel != nil {
		h.visit.tunnel.attach(conn)
	}
	return conn, rw, err
}

// Unwrap lets http.ResponseController find the rest.
func (h *hijacker) Unwrap() http.ResponseWriter { return h.ResponseWriter }
