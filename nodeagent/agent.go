package nodeagent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Agent makes this process an instance of a node. All methods are safe for concurrent use, except that Host, HandleTemplate
// and OnConfigChange belong before Run.
type Agent struct {
	cfg        Config
	log        *slog.Logger
	ring       *LogRing
	client     *http.Client
	ownsClient bool

	token     atomic.Pointer[string] // current access token
	traffic   traffic
	pages     pageSet
	templates map[string]http.Handler
	powers    powerCache
	documents documents
	uploads   uploads

	running atomic.Bool
	mu      sync.Mutex
	bound   netip.AddrPort // where Serve listens
	server  int            // index of the server address in use
	beats   beatState
}

// beatState is what the heartbeat loop knows; guarded by Agent.mu.
type beatState struct {
	sent       bool // at least one registration has left
	registered bool
	draining   bool
	failures   int // in a row
	last       time.Time
	addresses  []string // those of the last registration
}

// Status is a snapshot of how an agent stands with its server.
type Status struct {
	InstanceID string
	Server     string   // address in use
	Addresses  []string // what was registered last
	Registered bool     // the last registration was accepted
	Failures   int      // failed registrations in a row
	LastBeat   time.Time
	Draining   bool
	InFlight   int // requests being answered
}

// New returns an agent, or everything that is wrong with cfg. It starts nothing.
func New(cfg Config) (*Agent, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("nodeagent: %w", err)
	}
	a := &Agent{cfg: cfg, ring: cfg.LogRing, log: cfg.Logger, client: cfg.HTTPClient, templates: map[string]http.Handler{}}
	if a.ring == nil {
		a.ring = NewLogRing(0)
	}
	if a.log == nil {
		a.log = slog.New(a.ring.Handler(slog.Default().Handler()))
	}
	if a.client == nil {
		a.client, a.ownsClient = newClient(), true
	}
	a.uploads = uploads{dir: cfg.UploadDir, limit: cfg.MaxUpload, now: time.Now}
	a.SetToken(cfg.AccessToken)
	return a, nil
}

// SetToken replaces the access token, for a rotation without a restart: from the next request and the next heartbeat on the
// node shows and accepts only the new one. The server accepts the old one for its grace time.
func (a *Agent) SetToken(token string) { a.token.Store(&token) }

// LogRing returns the ring that the server reads.
func (a *Agent) LogRing() *LogRing { return a.ring }

// Status tells how the agent stands with its server.
func (a *Agent) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Status{
		InstanceID: a.cfg.InstanceID, Addresses: append([]string(nil), a.beats.addresses...), Registered: a.beats.registered,
		Failures: a.beats.failures, LastBeat: a.beats.last, Draining: a.beats.draining, InFlight: a.traffic.count(),
	}
	if len(a.cfg.ServerAddresses) > 0 {
		s.Server = a.cfg.ServerAddresses[a.server]
	}
	return s
}

// Run registers the node and beats until ctx ends; then it leaves: it asks the server to take the instance out of routing,
// waits for requests in flight (at most DrainTimeout) and says goodbye. The program keeps its listener open until Run
// returns. Run never fails because the server is away; it returns an error at once if it cannot know the node's own address.
func (a *Agent) Run(ctx context.Context) error {
	if !a.running.CompareAndSwap(false, true) {
		return errors.New("nodeagent: Run was called before")
	}
	if a.ownsClient {
		defer a.client.CloseIdleConnections()
	}
	if !a.cfg.registers() {
		<-ctx.Done()
		a.leave(ctx)
		return nil
	}
	if !a.hasAddress() {
		return errors.New("nodeagent: neither HostAddress nor Port is set, and Serve was not used: the server could not reach this node")
	}
	var helpers sync.WaitGroup
	helpers.Go(func() { a.followConfig(ctx) })
	a.beatUntil(ctx)
	a.leave(ctx)
	helpers.Wait()
	return nil
}

// Serve listens at srv.Addr, answers with the agent's paths and, for everything else, srv.Handler, and runs the agent. When
// ctx ends it drains (see Run) with the listener still open, then closes. It returns nil after such an end. srv.Handler is
// replaced; timeouts that are zero get safe values; a TLSConfig makes it serve TLS.
func (a *Agent) Serve(ctx context.Context, srv *http.Server) error {
	addr := srv.Addr
	if addr == "" {
		addr = fmt.Sprintf(":%d", a.cfg.Port)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("nodeagent: %w", err)
	}
	return a.ServeListener(ctx, srv, listener)
}

// closeGrace is how long connections may take to end after the drain.
const closeGrace = 3 * time.Second

// ServeListener is Serve on a listener that is open already. It closes the listener.
func (a *Agent) ServeListener(ctx context.Context, srv *http.Server, listener net.Listener) error {
	srv.Handler = a.Mount(srv.Handler)
	srv.ReadHeaderTimeout = orDefault(srv.ReadHeaderTimeout, 10*time.Second)
	srv.IdleTimeout = orDefault(srv.IdleTimeout, 2*time.Minute)
	a.boundTo(listener.Addr())
	served := make(chan error, 1)
	go func() { served <- serve(srv, listener) }()
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- a.Run(runCtx) }()
	select {
	case err := <-served: // the listener died: nobody can reach the node any more
		cancel()
		<-ran
		return fmt.Errorf("nodeagent: serve: %w", err)
	case err := <-ran:
		// Only now, out of routing and idle, may connections be closed: before, a request could be on its way on one.
		srv.SetKeepAlivesEnabled(false)
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
		if srv.Shutdown(stopCtx) != nil {
			_ = srv.Close() // what is still running had DrainTimeout; it has been warned about
		}
		<-served
		return err
	}
}

func serve(srv *http.Server, listener net.Listener) error {
	if srv.TLSConfig != nil {
		return srv.ServeTLS(listener, "", "")
	}
	return srv.Serve(listener)
}

// boundTo remembers where the node listens, for its own address.
func (a *Agent) boundTo(addr net.Addr) {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return
	}
	ip, _ := netip.AddrFromSlice(tcp.IP)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bound = netip.AddrPortFrom(ip.Unmap().WithZone(tcp.Zone), uint16(tcp.Port))
}

const nameAlphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// randomName returns n random letters and digits.
func randomName(n int) string {
	out := make([]byte, 0, n)
	var chunk [64]byte
	for {
		_, _ = rand.Read(chunk[:]) // never fails (crypto/rand aborts the program instead)
		for _, b := range chunk {
			if b >= 4*62 {
				continue // would favour the first letters
			}
			if out = append(out, nameAlphabet[b%62]); len(out) == n {
				return string(out)
			}
		}
	}
}
