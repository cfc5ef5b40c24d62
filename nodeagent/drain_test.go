package nodeagent

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/nodeagent/wire"
)

func TestLeavingHasTwoPhases(t *testing.T) { // A9
	synctest.Test(t, func(t *testing.T) {
		p, log := &plane{}, &lines{}
		cfg := p.config()
		cfg.Logger = log.logger()
		a := newAgent(t, cfg)
		release := make(chan struct{})
		slow := a.Mount(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
		stop := running(t, a)
		synctest.Wait()
		go do(slow, fromServer(http.MethodGet, "/work", ""))
		synctest.Wait()

		start := time.Now()
		left := make(chan struct{})
		go func() { stop(); close(left) }()
		synctest.Wait()
		if got := p.to(wire.RemovePath); len(got) != 1 {
			t.Fatalf("%d removals before the request ended, want 1", len(got))
		}
		// While it drains it refuses nothing.
		if w := do(a.Handler(), fromServer(http.MethodGet, wire.LogPath, "")); w.Code != http.StatusOK {
			t.Errorf("during the drain: %d, want 200", w.Code)
		}
		if w := do(a.Handler(), fromServer(http.MethodGet, wire.HealthPath, "")); w.Body.String() != "orders" {
			t.Errorf("probe during the drain = %q", w.Body)
		}
		time.Sleep(10 * time.Second)
		close(release)
		<-left
		if took := time.Since(start).Round(100 * time.Millisecond); took != 10500*time.Millisecond {
			t.Errorf("left after %s, want the request's 10 s and 500 ms of quiet", took)
		}
		removals := p.to(wire.RemovePath)
		if len(removals) != 2 {
			t.Fatalf("%d removals, want 2", len(removals))
		}
		first, last := removals[0].form(t), removals[1].form(t)
		for field, want := range map[string]string{
			"nodeName": "orders", "accessToken": testToken, "locations": "http://10.0.3.17:8081/shop", "instanceId": "kQzTbW", "drain": "30000",
		} {
			if got := first.Get(field); got != want {
				t.Errorf("first removal: %s = %q, want %q", field, got, want)
			}
		}
		if last.Has("drain") || last.Get("locations") == "" || last.Get("nodeName") != "orders" {
			t.Errorf("last removal = %v, want the locations and no drain", last)
		}
		if got := log.containing("still in flight"); len(got) != 0 {
			t.Errorf("warned without reason: %q", got)
		}
	})
}

func TestDrainTimeoutWarnsWithTheCount(t *testing.T) { // A9
	synctest.Test(t, func(t *testing.T) {
		p, log := &plane{}, &lines{}
		cfg := p.config()
		cfg.Logger, cfg.DrainTimeout = log.logger(), 3*time.Second
		a := newAgent(t, cfg)
		release := make(chan struct{})
		stuck := a.Track(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
		stop := running(t, a)
		for range 3 {
			go do(stuck, fromServer(http.MethodGet, "/", ""))
		}
		synctest.Wait()
		start := time.Now()
		stop()
		if took := time.Since(start); took < 3*time.Second || took > 3100*time.Millisecond {
			t.Errorf("left after %s, want about 3 s", took)
		}
		if got := log.containing("still in flight"); len(got) != 1 || !strings.Contains(got[0], "inFlight=3") {
			t.Errorf("warning = %q, want one with inFlight=3", got)
		}
		if got := p.to(wire.RemovePath); len(got) != 2 {
			t.Errorf("%d removals, want the goodbye as well", len(got))
		}
		close(release)
		synctest.Wait()
	})
}

func TestLateRequestsProlongTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{}
		a := newAgent(t, p.config())
		quick := a.Track(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		stop := running(t, a)
		synctest.Wait()
		start := time.Now()
		left := make(chan struct{})
		go func() { stop(); close(left) }()
		for range 5 { // sent on their way before the server knew
			time.Sleep(300 * time.Millisecond)
			do(quick, fromServer(http.MethodGet, "/", ""))
		}
		<-left
		if took := time.Since(start); took < 2*time.Second || took > 2100*time.Millisecond {
			t.Errorf("left after %s, want 1.5 s of requests and 500 ms of quiet", took)
		}
	})
}

func TestEndIsNotBlockedByTheServer(t *testing.T) { // A31
	for name, server := range map[string]string{"away": "http://down", "silent": "http://hang"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &plane{}
				cfg := p.config()
				cfg.ServerAddresses = []string{server}
				stop := running(t, newAgent(t, cfg))
				time.Sleep(20 * time.Second)
				start := time.Now()
				stop()
				if took := time.Since(start); took > 16*time.Second { // a beat, a drain and a goodbye of 5 s each, 500 ms of quiet
					t.Errorf("end took %s", took)
				}
			})
		})
	}
}

func TestNoBeatAfterTheFarewell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{}
		p.on(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == wire.RegisterPath {
				time.Sleep(2 * time.Second) // the probe of a slow server
			}
			return true
		})
		stop := running(t, newAgent(t, p.config()))
		time.Sleep(time.Second) // the first beat is on its way
		stop()
		time.Sleep(time.Minute)
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.seen) != 3 || p.seen[0].path != wire.RegisterPath || p.seen[1].path != wire.RemovePath {
			t.Fatalf("requests = %v, want beat, drain, goodbye", p.seen)
		}
		if gap := p.seen[1].at.Sub(p.seen[0].at); gap < 2*time.Second {
			t.Errorf("the drain was announced %s after the beat began, while the server was still at it", gap)
		}
	})
}

func TestFarewellGoesToAnotherServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &plane{}
		cfg := p.config()
		cfg.ServerAddresses = []string{"http://a", "http://b"}
		stop := running(t, newAgent(t, cfg))
		synctest.Wait()
		// From now on the first server cannot be connected to.
		p.on(func(http.ResponseWriter, *http.Request) bool { return true })
		down := &plane{}
		cfg.HTTPClient.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "a" {
				return nil, errRefusedConnection
			}
			return down.RoundTrip(r)
		})
		stop()
		if got := down.to(wire.RemovePath); len(got) != 2 || got[0].host != "b" {
			t.Errorf("removals at the second server = %v, want 2", got)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// instanceRouter sends each request to a registered instance, round robin, as the control plane does.
type instanceRouter struct {
	mu   sync.Mutex
	live []string
	next int
}

func (r *instanceRouter) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	switch req.URL.Path {
	case wire.RegisterPath:
		_, rest, _ := strings.Cut(string(body), `"nodeAddress":["`)
		address, _, _ := strings.Cut(rest, `"`)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.remove(address)
		r.live = append(r.live, address)
	case wire.RemovePath:
		form, _ := url.ParseQuery(string(body))
		r.mu.Lock()
		defer r.mu.Unlock()
		r.remove(form.Get("locations"))
	}
}

func (r *instanceRouter) remove(address string) {
	for i, a := range r.live {
		if a == address {
			r.live = append(r.live[:i:i], r.live[i+1:]...)
			return
		}
	}
}

func (r *instanceRouter) pick() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.live) == 0 {
		return ""
	}
	r.next++
	return r.live[r.next%len(r.live)]
}

func (r *instanceRouter) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.live)
}

// TestRollingRestartLosesNoRequest restarts two instances in turn under constant load over real connections (F16, S52).
func TestRollingRestartLosesNoRequest(t *testing.T) {
	router := &instanceRouter{}
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	plane := &http.Server{Handler: router}
	go func() { _ = plane.Serve(front) }()
	defer plane.Close()

	instance := func() (end func()) {
		a := newAgent(t, Config{
			NodeName: "orders", AccessToken: testToken, ServerAddresses: []string{"http://" + front.Addr().String()},
			DrainSettle: 250 * time.Millisecond, DrainTimeout: 5 * time.Second, Logger: (&lines{}).logger(),
		})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
		before := router.count()
		go func() { done <- a.Serve(ctx, &http.Server{Addr: "127.0.0.1:0", Handler: handler}) }()
		for !a.Status().Registered || router.count() <= before {
			time.Sleep(time.Millisecond)
		}
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Serve: %v", err)
			}
		}
	}
	first, second := instance(), instance()
	stopLoad := make(chan struct{})
	var load sync.WaitGroup
	var asked, failed atomic.Int64
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	for range 4 {
		load.Go(func() {
			for {
				select {
				case <-stopLoad:
					return
				default:
				}
				asked.Add(1)
				time.Sleep(time.Millisecond) // a pace, not a wait
				if err := get(client, router.pick()+"/work"); err != nil {
					failed.Add(1)
					t.Log(err)
				}
			}
		})
	}
	for range 5 {
		third := instance()
		first()
		first, second = second, third
	}
	close(stopLoad)
	load.Wait()
	first()
	second()
	if failed.Load() != 0 || asked.Load() < 100 {
		t.Errorf("%d of %d requests failed", failed.Load(), asked.Load())
	}
}

func get(client *http.Client, url string) error {
	res, err := client.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	return nil
}

func TestServeTellsATakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := newAgent(t, (&plane{}).config())
	if err := a.Serve(t.Context(), &http.Server{Addr: l.Addr().String()}); err == nil {
		t.Error("Serve on a taken port returned nil")
	}
}

func TestServeEndsWhenItsListenerDies(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := (&plane{}).config()
	cfg.DrainSettle = time.Millisecond
	a := newAgent(t, cfg)
	done := make(chan error, 1)
	go func() { done <- a.ServeListener(t.Context(), &http.Server{}, l) }()
	for !a.Status().Registered {
		time.Sleep(time.Millisecond)
	}
	l.Close()
	if err := <-done; err == nil {
		t.Error("ServeListener returned nil although nobody can reach the node")
	}
}

func TestOwnAddress(t *testing.T) { // A31
	tests := map[string]struct {
		listen, schema, path, server, want string
	}{
		"that of the listener":          {"127.0.0.1:8081", "", "", "http://10.1.1.1", "http://127.0.0.1:8081"},
		"an IPv6 listener":              {"[::1]:8081", "", "", "http://10.1.1.1", "http://[::1]:8081"},
		"with schema and context path":  {"127.0.0.1:8443", "https", "shop/eu/", "http://10.1.1.1", "https://127.0.0.1:8443/shop/eu"},
		"all interfaces, server nearby": {"0.0.0.0:8081", "", "", "http://127.0.0.1:1", "http://127.0.0.1:8081"},
		"dual stack, server nearby":     {"[::]:8081", "", "", "http://localhost:1", "http://127.0.0.1:8081"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := (&plane{}).config()
			cfg.HostAddress, cfg.Schema, cfg.ContextPath = nil, tt.schema, tt.path
			a := newAgent(t, cfg)
			addr, err := net.ResolveTCPAddr("tcp", tt.listen)
			if err != nil {
				t.Fatal(err)
			}
			a.boundTo(addr)
			got, err := a.addresses(t.Context(), tt.server)
			if err != nil || len(got) != 1 || got[0] != tt.want {
				t.Errorf("addresses = %v, %v; want %s", got, err, tt.want)
			}
		})
	}
	cfg := (&plane{}).config()
	cfg.HostAddress = []string{"https://Proxy.Example:443/x/"}
	if got, _ := newAgent(t, cfg).addresses(t.Context(), "http://x"); got[0] != "https://Proxy.Example:443/x/" {
		t.Errorf("HostAddress became %q, want it as it stands", got[0])
	}
}
