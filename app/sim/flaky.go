package sim

import (
	"net"
	"sync"
	"time"
)

// flaky is a listener whose port can be closed for a while, with all its connections, as if the process had died.
type flaky struct {
	addr net.Addr

	mu     sync.Mutex
	inner  net.Listener // nil while suspended
	back   chan struct{}
	closed bool
	conns  map[net.Conn]struct{}
}

func newFlaky(inner net.Listener) *flaky {
	return &flaky{addr: inner.Addr(), inner: inner, back: make(chan struct{}), conns: map[net.Conn]struct{}{}}
}

// Accept implements net.Listener; while the port is closed it waits.
func (f *flaky) Accept() (net.Conn, error) {
	for {
		f.mu.Lock()
		inner, back, closed := f.inner, f.back, f.closed
		f.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		if inner == nil {
			<-back
			continue
		}
		conn, err := inner.Accept()
		if err == nil {
			return f.hold(conn), nil
		}
		f.mu.Lock()
		mine := f.inner == inner && !f.closed
		f.mu.Unlock()
		if mine {
			return nil, err // not our doing
		}
	}
}

// suspend closes the port and cuts its connections.
func (f *flaky) suspend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inner == nil || f.closed {
		return
	}
	_ = f.inner.Close() // what it serves is over
	f.inner = nil
	for conn := range f.conns {
		_ = conn.Close()
	}
}

// resume opens the same port again. Somebody else may have taken it for a moment; then it is tried again for a second, and after
// that the port stays closed until the next resume.
func (f *flaky) resume() {
	f.mu.Lock()
	needed := f.inner == nil && !f.closed
	f.mu.Unlock()
	for tries := 0; needed && tries < 20; tries++ {
		inner, err := net.Listen("tcp", f.addr.String())
		if err == nil {
			f.take(inner)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (f *flaky) take(inner net.Listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		_ = inner.Close() // the server has ended meanwhile
		return
	}
	f.inner = inner
	f.wake()
}

// wake lets Accept look again. The lock is held.
func (f *flaky) wake() {
	close(f.back)
	f.back = make(chan struct{})
}

// Close implements net.Listener.
func (f *flaky) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return net.ErrClosed
	}
	f.closed = true
	f.wake()
	if f.inner == nil {
		return nil
	}
	return f.inner.Close()
}

// Addr implements net.Listener.
func (f *flaky) Addr() net.Addr { return f.addr }

// hold remembers a connection until it closes.
func (f *flaky) hold(conn net.Conn) net.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[conn] = struct{}{}
	return &heldConn{conn, f}
}

type heldConn struct {
	net.Conn
	of *flaky
}

// Close implements net.Conn.
func (c *heldConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c.Conn)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
