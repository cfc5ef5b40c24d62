package proxy

import (
	"net/http"
	"syscall"
	"testing"
)

// eager is a transport that takes some of the body before it finds out that nobody is there.
type eager struct{ transport }

func (e eager) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "dead:1" {
		return e.transport.RoundTrip(r)
	}
	_, _ = r.Body.Read(make([]byte, 1))
	return nil, &dialError{reason: "connection refused", dead: true, cause: syscall.ECONNREFUSED}
}

func TestTouchedBodyIsNotSentAgain(t *testing.T) { // A15: the second location would get the rest of it for the whole
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.proxy.transport = eager{rig.proxy.transport}
	rig.dir.set("shop", "http://dead:1", node.URL)
	got := rig.post("/erupt-api/data/modify/shop.X", "shop.X", `{"name":"x"}`)
	if n := len(node.requests()); got.Status != http.StatusBadGateway || n != 0 {
		t.Errorf("%d, and the second location was asked %d times, want 502 and never", got.Status, n)
	}
	if evicted := rig.dir.evictions(); len(evicted) != 1 {
		t.Errorf("evicted %v, want the dead location", evicted)
	}
}
