package testbed

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// EruptNode plays an instance of a Java node of 2.0 to 2.3, which no registry serves: what it sends to the server is what
// erupt-wire 1 says, for 2.0 byte by byte as it was recorded, and it answers as sections 2.6, 4.1, 4.6 and 4.7 say. It has one
// page, Customer. Each difference between the generations is at the place where it shows.
type EruptNode struct {
	*FakeNode
	Version  string
	Instance string

	gen     int // 20 to 23
	token   string
	server  string // chosen at start and kept, as written in the settings
	address []string
	modules []string

	mu       sync.Mutex
	rows     []eruptRow
	next     int64
	log      []string
	inFlight int
	done     chan struct{} // closed and replaced when a request ends
	blocked  chan struct{} // what the operation "block" waits for
	stop     func()        // of the heartbeat
}

// EruptSettings are the settings of an EruptNode.
type EruptSettings struct {
	Name, Version, Token string
	Server               string // a trailing slash is kept, as nodes with one address keep it
	Address              string // how the server is told to reach it; empty: its own
	Slash                bool   // its own is written with a slash at the end
}

// drainTimeout is how long nodes of 2.1 and later wait for their requests when they leave.
const drainTimeout = 30 * time.Second

// NewEruptNode starts one that has five rows and has not registered yet.
func NewEruptNode(t testing.TB, s EruptSettings) *EruptNode {
	t.Helper()
	n := &EruptNode{
		FakeNode: NewFakeNode(t, s.Name), Version: s.Version, gen: generation(t, s.Version), token: s.Token, server: s.Server,
		modules: []string{"erupt-jpa", "erupt-tpl"}, done: make(chan struct{}), blocked: make(chan struct{}), stop: func() {},
	}
	n.Instance = "i" + strings.ReplaceAll(s.Version, ".", "") + n.Addr()[strings.LastIndexByte(n.Addr(), ':')+1:]
	n.address = []string{n.URL()}
	if s.Slash {
		n.address[0] += "/"
	}
	if s.Address != "" {
		n.address = []string{s.Address}
	}
	for i := range int64(5) {
		n.add(eruptRow{
			Name: fmt.Sprintf("Customer %d", i+1), Level: []string{"V", "S", ""}[i%3], Active: []*bool{ptr(true), ptr(false), nil}[i%3],
			Secret: ptr("kept"), Big: 9007199254740993 - i*9007199254740000, Since: fmt.Sprintf("2026-03-%02dT12:00:00", i+1),
		})
	}
	n.Handle("/erupt-api/", n.serveErupt)
	n.say("Started NodeApp " + s.Version)
	t.Cleanup(n.Quiet)
	return n
}

// generation is 20 for 2.0.4, 23 for 2.3.0.
func generation(t testing.TB, version string) int {
	t.Helper()
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err := strconv.Atoi(major + minor)
	if err != nil || a < 20 || a > 23 {
		t.Fatalf("version %s is not one that is played", version)
	}
	return a
}

// Beat registers now and then at each interval until Quiet: after a call that did not come through it waits half of it.
func (n *EruptNode) Beat(every time.Duration) {
	ctx, cancel := context.WithCancel(n.ctx)
	over := make(chan struct{})
	n.mu.Lock()
	n.stop = sync.OnceFunc(func() { cancel(); <-over })
	n.mu.Unlock()
	go func() {
		defer close(over)
		for {
			wait := every
			if _, err := n.Register(); err != nil {
				wait = every / 2
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}()
}

// Quiet ends the heartbeat without a word to the server.
func (n *EruptNode) Quiet() {
	n.mu.Lock()
	stop := n.stop
	n.mu.Unlock()
	stop()
}

// Shutdown stops it as SIGTERM does: up to 2.0 the web server goes first and the server is asked to look for itself; from 2.1
// on the node names what leaves, and goes when its requests are over (erupt-wire 1.2).
func (n *EruptNode) Shutdown() (Answer, error) {
	n.Quiet()
	if n.gen < 21 {
		n.Behave(Refuses)
		return n.Remove()
	}
	answer, err := n.Remove()
	end := time.After(drainTimeout)
	for {
		n.mu.Lock()
		open, done := n.inFlight, n.done
		n.mu.Unlock()
		if open == 0 {
			break
		}
		select {
		case <-done:
			continue
		case <-end:
		}
		break
	}
	n.leave()
	return answer, err
}

// leave stops listening and lets answers that are on their way arrive.
func (n *EruptNode) leave() {
	n.FakeNode.mu.Lock()
	server := n.FakeNode.server
	n.FakeNode.mu.Unlock()
	if server != nil {
		ctx, cancel := context.WithTimeout(n.ctx, drainTimeout)
		defer cancel()
		_ = server.Shutdown(ctx) // what is still open is cut off
	}
	n.Behave(Refuses)
}

// Unblock lets the operations "block" that wait now go on.
func (n *EruptNode) Unblock() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.blocked)
	n.blocked = make(chan struct{})
}

// Names returns the names of all rows, in their order.
func (n *EruptNode) Names() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, r := range n.rows {
		out = append(out, r.Name)
	}
	return out
}

// Row returns what is stored under an id, as text by column; nil if there is none.
func (n *EruptNode) Row(id int64) map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := n.find(id)
	if i < 0 {
		return nil
	}
	r := n.rows[i]
	return map[string]string{
		"name": r.Name, "level": r.Level, "active": text(r.Active), "secret": text(r.Secret), "big": strconv.FormatInt(r.Big, 10), "since": r.Since,
	}
}

func text[T any](p *T) string {
	if p == nil {
		return "null"
	}
	return fmt.Sprint(*p)
}

func ptr[T any](v T) *T { return &v }

// say writes a line to the log that the server may ask for.
func (n *EruptNode) say(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log = append(n.log, line)
}
