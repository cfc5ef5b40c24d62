package sim

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"eruptcloud/nodeagent"
)

// life is one process of an instance: an agent, its port, its log. It does everything right until an act tells otherwise.
type life struct {
	node, id, location string
	traits             traits
	agent              *nodeagent.Agent
	inner              http.Handler // of the agent
	ring               *nodeagent.LogRing
	log                *slog.Logger
	listener           *flaky
	base               http.RoundTripper // to the server

	act     atomic.Pointer[act]
	version atomic.Pointer[string] // reported from now on
	last    atomic.Pointer[[]byte] // registration that was sent last
	dead    atomic.Bool            // nothing leaves any more

	cancel  context.CancelFunc
	left    chan struct{} // closed when the agent has said goodbye
	server  *http.Server
	running sync.WaitGroup
}

// act is a fault while it lasts.
type act struct {
	fault Fault
	delay time.Duration
	other string // node or address that it pretends to be
	over  chan struct{}
}

// birth is what a life needs.
type birth struct {
	server, node, token, id string
	address                 string // to listen at; empty: a free one
	traits                  traits
	pages                   []nodeagent.Page
	base                    http.RoundTripper
	random                  *rand.Rand
	logEvery                time.Duration
}

// begin starts a life. It ends by leave or kill only.
func begin(b birth) (*life, error) {
	inner, err := listenAt(b.address)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l := &life{
		node: b.node, id: b.id, location: "http://" + inner.Addr().String(), traits: b.traits, base: b.base,
		ring: nodeagent.NewLogRing(300), listener: newFlaky(inner), left: make(chan struct{}),
	}
	l.version.Store(&b.traits.version)
	l.log = slog.New(skewed{l.ring.Handler(nil), b.traits.skew})
	l.agent, err = nodeagent.New(nodeagent.Config{
		NodeName: b.node, AccessToken: b.token, ServerAddresses: []string{b.server}, HostAddress: []string{l.location}, InstanceID: b.id,
		LogRing: l.ring, Logger: l.log, HTTPClient: &http.Client{Transport: l}, DrainTimeout: 2 * time.Second, DrainSettle: 50 * time.Millisecond,
	})
	if err == nil {
		err = l.agent.Host(b.pages...)
	}
	if err != nil {
		_ = inner.Close()
		return nil, err
	}
	l.inner = l.agent.Mount(http.HandlerFunc(l.home))
	l.server = &http.Server{Handler: l, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	l.running.Go(func() { _ = l.server.Serve(l.listener) })            // ends with the server's Close
	l.running.Go(func() { defer close(l.left); _ = l.agent.Run(ctx) }) // fails only without an address
	l.running.Go(func() { l.chatter(ctx, b.random, b.logEvery) })
	return l, nil
}

// listenAt opens a port, the wished one if it is still free.
func listenAt(address string) (net.Listener, error) {
	if address != "" {
		if l, err := net.Listen("tcp", address); err == nil {
			return l, nil
		}
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// leave ends the life as a process that is asked to: out of routing, requests finished, goodbye.
func (l *life) leave() {
	l.listener.resume() // it leaves with its port open
	l.end()
}

// kill ends the life without a word.
func (l *life) kill() {
	l.dead.Store(true)
	l.listener.suspend()
	l.end()
}

func (l *life) end() {
	l.cancel()
	<-l.left // until then the agent needs its port
	_ = l.server.Close()
	l.running.Wait()
}

// chatter logs now and then.
func (l *life) chatter(ctx context.Context, r *rand.Rand, every time.Duration) {
	for every > 0 && sleep(ctx, time.Duration(float64(every)*(0.5+r.Float64()))) {
		say(l.log, r)
	}
}

func (l *life) home(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, "%s, simulated\n", l.node)
}
