package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// dialFailures are the four kinds of A15 as the dialer reports them, and what is none of them.
func dialFailures() map[string]struct {
	err     error
	reached bool // false: it proves that nobody was reached
	evict   bool
} {
	op := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	type row = struct {
		err     error
		reached bool
		evict   bool
	}
	return map[string]row{
		"refused":               {op(os.NewSyscallError("connect", syscall.ECONNREFUSED)), false, true},
		"unknown host":          {op(&net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}), false, true},
		"no route to host":      {op(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), false, true},
		"no route to network":   {op(os.NewSyscallError("connect", syscall.ENETUNREACH)), false, true},
		"connect timeout":       {op(os.NewSyscallError("connect", syscall.ETIMEDOUT)), false, true},
		"dialer's timeout":      {op(context.DeadlineExceeded), false, true},
		"resolver is silent":    {op(&net.DNSError{Err: "i/o timeout", Name: "x", IsTimeout: true}), false, false}, // S95: not the node's fault
		"refused, bare":         {syscall.ECONNREFUSED, false, true},
		"unknown host, bare":    {&net.DNSError{Err: "no such host", Name: "x", IsNotFound: true}, false, true},
		"no route, bare":        {syscall.EHOSTUNREACH, false, true},
		"timeout, bare":         {os.ErrDeadlineExceeded, false, true},
		"reset while dialling":  {op(os.NewSyscallError("connect", syscall.ECONNRESET)), true, false},
		"address not permitted": {op(errors.New("169.254.169.254 is not permitted")), true, false},
		"no permission":         {op(os.NewSyscallError("connect", syscall.EACCES)), true, false},
		"plain text":            {errors.New("connection refused"), true, false},
	}
}

func TestFailoverHappensOnlyWhenNobodyWasReached(t *testing.T) { // A15, each kind bare and wrapped
	for name, tt := range dialFailures() {
		for _, wrapped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, wrapped %v", name, wrapped), func(t *testing.T) {
				err := tt.err
				if wrapped {
					err = &url.Error{Op: "Get", URL: "http://dead:1", Err: fmt.Errorf("dial it: %w", err)}
				}
				node := newFakeNode(t, nil)
				rig := newRig(t, func(o *Options) {
					o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
						if addr == "dead:1" {
							return nil, err
						}
						return new(net.Dialer).DialContext(ctx, network, addr)
					}
				})
				rig.dir.set("shop", "http://dead:1", node.URL)
				got := rig.get("/erupt-api/build/shop.X", "shop.X")
				if want := map[bool]int{false: 200, true: 502}[tt.reached]; got.Status != want {
					t.Errorf("%d %s, want %d", got.Status, got.Body, want)
				}
				if n := len(node.requests()); (n == 1) == tt.reached {
					t.Errorf("the second location was asked %d times", n)
				}
				if evicted := rig.dir.evictions(); (len(evicted) == 1) != tt.evict || tt.evict && evicted[0] != "shop http://dead:1" {
					t.Errorf("evicted %v, want eviction: %v", evicted, tt.evict)
				}
			})
		}
	}
}

func TestDeadLocationIsReplaced(t *testing.T) { // A15, with real sockets
	node := newFakeNode(t, nil)
	rig := newRig(t)
	dead := deadAddress(t)
	rig.dir.set("shop", dead, node.URL)
	rig.dir.drop = true
	got := rig.post("/erupt-api/data/modify/shop.Customer", "shop.Customer", `{"name":"x"}`)
	if got.Status != 200 || string(node.only(t).Body) != `{"name":"x"}` {
		t.Fatalf("%d %s, body at the node %q", got.Status, got.Body, node.only(t).Body)
	}
	if evicted := rig.dir.evictions(); !slices.Equal(evicted, []string{"shop " + dead}) {
		t.Errorf("evicted %v, want the dead one", evicted)
	}
	entry := rig.recorder.all()[0]
	if len(entry.Tried) != 2 || entry.Tried[0].Error != "connection refused" || entry.Tried[1].Error != "" || entry.Location != node.URL {
		t.Errorf("record: tried %+v, location %q", entry.Tried, entry.Location)
	}
	rig.post("/erupt-api/data/modify/shop.Customer", "shop.Customer", `{}`)
	if evicted := rig.dir.evictions(); len(evicted) != 1 {
		t.Errorf("evicted %v after a second request, want no further eviction", evicted)
	}
}

func TestAllLocationsDead(t *testing.T) {
	rig := newRig(t)
	rig.dir.set("shop", deadAddress(t), deadAddress(t))
	got := rig.get("/erupt-api/build/shop.X", "shop.X")
	f := rig.failure()
	if got.Status != 502 || f.Kind != UpstreamUnreachable || len(f.Tried) != 2 || !f.Retried {
		t.Errorf("%d %s, failure %+v, want 502 after two attempts", got.Status, got.Body, f)
	}
	if strings.Contains(got.Body, "127.0.0.1") {
		t.Errorf("the answer shows an address: %s", got.Body)
	}
	if n := len(rig.dir.evictions()); n != 2 {
		t.Errorf("%d evictions, want both", n)
	}
	if e := rig.recorder.wait(1)[0]; e.Status != 0 || !strings.Contains(e.Error, "can be reached") || len(e.Tried) != 2 {
		t.Errorf("record %+v", e)
	}
}

func TestApplicationErrorsAreFinal(t *testing.T) { // A15
	for _, status := range []int{301, 404, 500, 502, 503} {
		bad := newFakeNode(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		good := newFakeNode(t, nil)
		rig := newRig(t)
		rig.dir.set("shop", bad.URL, good.URL)
		if got := rig.post("/erupt-api/data/table/shop.X", "shop.X", `{}`); got.Status != status {
			t.Errorf("status %d arrives as %d", status, got.Status)
		}
		if len(bad.requests()) != 1 || len(good.requests()) != 0 || len(rig.dir.evictions()) != 0 {
			t.Errorf("status %d: asked %d and %d times, evicted %v", status, len(bad.requests()), len(good.requests()), rig.dir.evictions())
		}
	}
}

func TestSlowAnswerIsFinal(t *testing.T) { // A15, F16: a read timeout is never repeated
	release := make(chan struct{})
	slow := newFakeNode(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	good := newFakeNode(t, nil)
	rig := newRig(t, func(o *Options) { o.RequestTimeout = 50 * time.Millisecond })
	rig.dir.set("shop", slow.URL, good.URL)
	for _, method := range []string{"GET", "POST"} {
		target := map[string]string{"GET": "/erupt-api/build/shop.X", "POST": "/erupt-api/data/modify/shop.X"}[method]
		got := rig.do(rig.request(method, target, "shop.X", strings.NewReader("{}")))
		if f := rig.failure(); got.Status != 504 || f.Kind != UpstreamTimeout || f.Retried {
			t.Errorf("%s: %d %s, want 504 without another try", method, got.Status, got.Body)
		}
	}
	if len(slow.requests()) != 2 || len(good.requests()) != 0 || len(rig.dir.evictions()) != 0 {
		t.Errorf("asked %d and %d times, evicted %v, want each request once and no eviction", len(slow.requests()), len(good.requests()), rig.dir.evictions())
	}
}

// A location that takes no connection at all: the dialer's own limit leads to the next.
func TestBlackHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hole := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
		}
		start := time.Now()
		_, err := dialer(hole, 5*time.Second)(t.Context(), "tcp", "10.0.0.1:80")
		var dead *dialError
		if !errors.As(err, &dead) || !dead.dead || dead.reason != "connect timeout" || time.Since(start) != 5*time.Second {
			t.Errorf("after %s: %v, want a connect timeout after 5 s", time.Since(start), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := dialer(hole, 5*time.Second)(ctx, "tcp", "10.0.0.1:80"); errors.As(err, &dead) && dead.dead && errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a dial that was called off counts as a dead location: %v", err)
		}
	})
}

func TestBlackHoleLeadsToTheNextLocation(t *testing.T) {
	node := newFakeNode(t, nil)
	rig := newRig(t, func(o *Options) {
		o.ConnectTimeout = 30 * time.Millisecond
		o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == "10.255.255.1:80" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return new(net.Dialer).DialContext(context.WithoutCancel(ctx), network, addr)
		}
	})
	rig.dir.set("shop", "http://10.255.255.1", node.URL)
	if got := rig.get("/erupt-api/build/shop.X", "shop.X"); got.Status != 200 || len(rig.dir.evictions()) != 1 {
		t.Errorf("%d %s, evicted %v", got.Status, got.Body, rig.dir.evictions())
	}
}

// A streamed upload of unknown length fails over whole, since nobody has read it (decision 5, S46).
func TestUploadFailsOverUnread(t *testing.T) {
	var got atomic.Int64
	good := newBareNode(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		got.Store(n)
	})
	rig := newRig(t)
	rig.dir.set("shop", deadAddress(t), good.URL)
	const size = 8 << 20
	req := rig.request("POST", "/erupt-api/file/upload/shop.Customer/photo", "shop.Customer", io.LimitReader(zeros{}, size), "Content-Type", "application/octet-stream")
	if res := rig.do(req); res.Status != 200 || got.Load() != size {
		t.Errorf("%d %s, %d bytes arrived, want %d", res.Status, res.Body, got.Load(), size)
	}
}

// Once some of the body is gone the request cannot go elsewhere.
func TestNoFailoverOnceTheBodyIsTouched(t *testing.T) {
	u := &upload{body: bytes.NewReader([]byte("abc"))}
	if u.touched() {
		t.Error("an unread body counts as touched")
	}
	if err := u.Close(); err != nil || u.touched() {
		t.Error("closing, as net/http does after a failed dial, touches the body")
	}
	if _, err := u.Read(make([]byte, 1)); err != nil || !u.touched() {
		t.Errorf("after a read: touched %v, error %v", u.touched(), err)
	}
	var none *upload
	if none.touched() || none.failed() != nil || none.params() != nil {
		t.Error("a request without body has something to say about it")
	}
}

func TestClientGoneBeforeTheAnswer(t *testing.T) { // S45
	entered, left := make(chan struct{}), make(chan struct{})
	node := newFakeNode(t, func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done() // the cancel reaches the node
		close(left)
	})
	other := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL, other.URL)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		res, err := rig.client.Do(rig.request("GET", "/erupt-api/data/tree/shop.X", "shop.X", nil).WithContext(ctx))
		if err == nil {
			_ = res.Body.Close()
		}
		done <- err
	}()
	<-entered
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("client: %v", err)
	}
	<-left
	if f := rig.failure(); f.Kind != ClientGone {
		t.Errorf("failure %+v, want client_gone", f)
	}
	if len(node.requests()) != 1 || len(other.requests()) != 0 || len(rig.dir.evictions()) != 0 {
		t.Errorf("asked %d and %d times, evicted %v, want one request and no eviction", len(node.requests()), len(other.requests()), rig.dir.evictions())
	}
}

// While the client leaves, a dial fails: no further location is tried and nobody is evicted.
func TestClientGoneDuringTheDial(t *testing.T) {
	dialling := make(chan struct{})
	node := newFakeNode(t, nil)
	rig := newRig(t, func(o *Options) {
		o.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if addr == "dead:1" {
				close(dialling)
				<-ctx.Done()
				return nil, syscall.ECONNREFUSED
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
	})
	rig.dir.set("shop", "http://dead:1", node.URL)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-dialling
		cancel()
	}()
	if _, err := rig.client.Do(rig.request("GET", "/erupt-api/build/shop.X", "shop.X", nil).WithContext(ctx)); !errors.Is(err, context.Canceled) {
		t.Fatalf("client: %v", err)
	}
	if f := rig.failure(); f.Kind != ClientGone {
		t.Errorf("failure %+v, want client_gone", f)
	}
	if len(node.requests()) != 0 || len(rig.dir.evictions()) != 0 {
		t.Errorf("the next location was asked %d times, evicted %v", len(node.requests()), rig.dir.evictions())
	}
}

// gone is a transport whose client leaves while a dial fails.
type gone struct{ leave func() }

func (g gone) CloseIdleConnections() {}

func (g gone) RoundTrip(*http.Request) (*http.Response, error) {
	g.leave()
	return nil, &dialError{reason: "connection refused", dead: true, cause: syscall.ECONNREFUSED}
}

func TestClientGoneAsTheDialFails(t *testing.T) {
	rig := newRig(t)
	rig.dir.set("shop", "http://a", "http://b")
	ctx, cancel := context.WithCancel(t.Context())
	rig.proxy.transport = gone{cancel}
	_, err := rig.proxy.Caller().Build(ctx, sessionToken, "shop.X")
	if f, ok := asFailure(err); !ok || f.Kind != ClientGone || len(f.Tried) != 1 || len(rig.dir.evictions()) != 0 {
		t.Errorf("%+v, evicted %v, want client_gone after one attempt", err, rig.dir.evictions())
	}
}
