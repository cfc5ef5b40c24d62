package proxy

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

func TestReaderThatStopsIsCut(t *testing.T) {
	broke := make(chan error, 1)
	node := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) {
		piece := bytes.Repeat([]byte("x"), 1<<20)
		for {
			if _, err := w.Write(piece); err != nil {
				broke <- err
				return
			}
		}
	})
	rig := newRig(t)
	rig.proxy.stalled = 100 * time.Millisecond
	rig.dir.set("shop", node.URL)
	conn := rig.dial()
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /erupt-api/data/tree/shop.Customer HTTP/1.1\r\nHost: x\r\ntoken: "+sessionToken+"\r\nerupt: shop.Customer\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-broke: // nobody reads: the node is let go
	case <-time.After(30 * time.Second):
		t.Fatal("the node still writes for a client that reads nothing")
	}
	entry := rig.recorder.wait(1)[0]
	if entry.Error == "" {
		t.Errorf("recorded as a success: %+v", entry)
	}
	waitUntil(t, "nothing is in flight", func() bool { return len(rig.proxy.InFlight("shop")) == 0 })
}

// deadlines is a writer that keeps what deadlines it is given.
type deadlines struct {
	http.ResponseWriter
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error { d.set = append(d.set, at); return nil }

func TestSilentStreamEndsWhole(t *testing.T) { // S39: the limit is for each piece, not for the pause before it
	said, proceed := make(chan bool), make(chan bool)
	node := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		said <- true
		<-proceed
	})
	rig := newRig(t)
	rig.proxy.stalled = time.Nanosecond // over long before the stream ends
	rig.dir.set("shop", node.URL)
	rig.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := &deadlines{ResponseWriter: w}
		rig.proxy.ServeHTTP(d, r)
		if n := len(d.set); n < 2 || !d.set[n-1].After(d.set[0]) {
			t.Errorf("deadlines %v, want one for each piece and one for the end", d.set)
		}
	})
	go func() { <-said; close(proceed) }()
	if got := rig.get("/erupt-api/data/tree/shop.Customer", "shop.Customer", "Accept", "text/event-stream"); got.Body != "data: 1\n\n" {
		t.Errorf("got %q", got.Body)
	}
}

func (d *deadlines) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func TestTunnelCarriesRunsAndRests(t *testing.T) {
	for _, size := range []int{1, eventBuffer - 1, eventBuffer, eventBuffer + 1, bulkBuffer, 3*bulkBuffer + 7} {
		a, b := net.Pipe()
		sent := bytes.Repeat([]byte("ab1"), size)[:size]
		go func() {
			_, _ = b.Write(sent)
			_ = b.Close()
		}()
		var got bytes.Buffer
		n, err := copySmall(&got, a)
		if err != nil || n != int64(size) || !bytes.Equal(got.Bytes(), sent) {
			t.Errorf("%d bytes: copied %d, %v", size, n, err)
		}
	}
}

func TestWhoAsksForEventsGetsALeanConnection(t *testing.T) {
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	usual := &counting{transport: rig.proxy.transport}
	waiting := &counting{transport: rig.proxy.waiting}
	rig.proxy.transport, rig.proxy.waiting = usual, waiting
	rig.get("/erupt-api/data/tree/shop.Customer", "shop.Customer")
	rig.get("/erupt-api/data/tree/shop.Customer", "shop.Customer", "Accept", "text/event-stream")
	if usual.n != 1 || waiting.n != 1 {
		t.Errorf("%d usual requests and %d for events, want one each", usual.n, waiting.n)
	}
}

type counting struct {
	transport
	n int
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n++
	return c.transport.RoundTrip(r)
}
