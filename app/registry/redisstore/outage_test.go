package redisstore_test

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
	"eruptcloud/app/registry/redisstore"
	"eruptcloud/app/testbed"
)

const patience = 20 * time.Second // how long a slow machine may take for what takes a second

// replica is a registry on Redis that runs until the test ends.
func replica(t *testing.T, url string) *registry.Registry {
	t.Helper()
	client := open(t, url)
	r := registry.New(registry.Options{
		Store: redisstore.New(client, "erupt-cloud:"), Entries: redisstore.NewNodeEntries(redisstore.EntryOptions{Client: client, Prefix: "erupt-cloud:", TTL: time.Minute}),
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	if err := r.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

func beat(t *testing.T, r *registry.Registry, id string, location string) error {
	t.Helper()
	in := registry.Instance{Key: registry.Key{ID: id}, NodeName: "order", Locations: []string{location}}
	_, _, err := r.Register(t.Context(), in)
	return err
}

func ids(r *registry.Registry) []string {
	var all []string
	for _, in := range r.View().Node("order") {
		all = append(all, in.ID)
	}
	slices.Sort(all)
	return all
}

func has(r *registry.Registry, want ...string) func() bool {
	return func() bool { return slices.Equal(ids(r), want) }
}

// S71, S11: Redis dies with all its data and comes back empty.
func TestRedisDiesAndComesBackEmpty(t *testing.T) {
	server := testbed.RedisServer(t)
	one, two := replica(t, server.URL()), replica(t, server.URL())
	if err := beat(t, one, "a", "http://a"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the other replica sees it", has(two, "a"))
	server.Kill()
	if err := beat(t, one, "a", "http://a"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("beat while Redis is down = %v, want unavailable", err)
	}
	eventually(t, "the outage shows", func() bool { return one.Degraded() != nil && two.Degraded() != nil })
	server.Start(t)
	eventually(t, "both follow again", func() bool { return one.Degraded() == nil && two.Degraded() == nil })
	if !has(one, "a")() || !has(two, "a")() {
		t.Errorf("after the loss the replicas have %v and %v, want the instance kept", ids(one), ids(two))
	}
	if err := beat(t, two, "a", "http://a"); err != nil {
		t.Errorf("first beat after the outage = %v", err)
	}
	eventually(t, "all confirmed", func() bool {
		x, _ := one.View().ByLocation("order", "http://a")
		y, _ := two.View().ByLocation("order", "http://a")
		return !x.Unconfirmed && !y.Unconfirmed && x.Rev == y.Rev
	})
}

// S11: somebody flushes Redis.
func TestFlushAll(t *testing.T) {
	server := testbed.RedisServer(t)
	one, two := replica(t, server.URL()), replica(t, server.URL())
	for _, id := range []string{"a", "b"} {
		if err := beat(t, one, id, "http://"+id); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the other replica sees both", has(two, "a", "b"))
	admin := open(t, server.URL())
	if err := admin.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := beat(t, one, "a", "http://a"); err != nil {
		t.Errorf("beat after a flush = %v", err)
	}
	for _, r := range []*registry.Registry{one, two} {
		eventually(t, "what beat is confirmed, what did not is kept", func() bool {
			a, _ := r.View().ByLocation("order", "http://a")
			b, ok := r.View().ByLocation("order", "http://b")
			return a.Rev > 0 && !a.Unconfirmed && ok && b.Unconfirmed
		})
	}
	if v := admin.Get(t.Context(), "erupt-cloud:node:order").Val(); !strings.Contains(v, "http://a") {
		t.Errorf("node entry after the flush is %q", v)
	}
}

// S70: the way to Redis hangs; changes made meanwhile are there afterwards.
func TestRedisHangs(t *testing.T) {
	server := testbed.RedisServer(t)
	r, quiet := replica(t, server.URL()), replica(t, server.URL())
	if err := beat(t, r, "a", "http://a"); err != nil {
		t.Fatal(err)
	}
	server.Pause()
	if err := beat(t, r, "a", "http://a"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("beat while Redis hangs = %v, want unavailable", err)
	}
	eventually(t, "the follower notices", func() bool { return quiet.Degraded() != nil })
	server.Resume()
	if err := open(t, server.URL()).XTrimMaxLen(t.Context(), "erupt-cloud:changes", 0).Err(); err != nil {
		t.Fatal(err)
	}
	other := replica(t, server.URL())
	if err := beat(t, other, "b", "http://b"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the change is there", func() bool { return has(r, "a", "b")() && has(quiet, "a", "b")() })
	eventually(t, "nothing is degraded", func() bool {
		return beat(t, r, "a", "http://a") == nil && r.Degraded() == nil && quiet.Degraded() == nil
	})
}

// S92: two servers swap roles, and no connection is closed.
func TestRolesSwap(t *testing.T) {
	first, second := testbed.RedisServer(t), testbed.RedisServer(t)
	name := newName(t, first)
	r := replica(t, name.url())
	if err := beat(t, r, "a", "http://a"); err != nil {
		t.Fatal(err)
	}
	replicaOf(t, second, first)
	eventually(t, "the second has the data", func() bool {
		return open(t, second.URL()).HLen(t.Context(), "erupt-cloud:app:ORDER").Val() == 1
	})
	ctx := t.Context()
	if err := open(t, second.URL()).Do(ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	replicaOf(t, first, second)
	name.target.Store(second)
	eventually(t, "beats are taken again", func() bool { return beat(t, r, "a", "http://a") == nil && beat(t, r, "b", "http://b") == nil })
	eventually(t, "and followed", has(r, "a", "b"))
	if n := open(t, second.URL()).HLen(ctx, "erupt-cloud:app:ORDER").Val(); n != 2 {
		t.Errorf("the new master has %d instances, want 2", n)
	}
	if in, _ := r.View().ByLocation("order", "http://a"); in.Unconfirmed {
		t.Error("a lease was lost")
	}
}

func replicaOf(t *testing.T, slave, master *testbed.RedisProc) {
	t.Helper()
	o, err := redis.ParseURL(master.URL())
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(o.Addr)
	if err := open(t, slave.URL()).Do(t.Context(), "REPLICAOF", host, port).Err(); err != nil {
		t.Fatal(err)
	}
}

// name stands for a DNS name: new connections go to whom it belongs now, old ones stay where they are.
type name struct {
	listener net.Listener
	target   atomic.Pointer[testbed.RedisProc]
}

func newName(t *testing.T, to *testbed.RedisProc) *name {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &name{listener: l}
	n.target.Store(to)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			o, _ := redis.ParseURL(n.target.Load().URL())
			out, err := net.Dial("tcp", o.Addr)
			if err != nil {
				_ = in.Close()
				continue
			}
			go pipe(in, out)
			go pipe(out, in)
		}
	}()
	return n
}

func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
}

func (n *name) url() string { return "redis://" + n.listener.Addr().String() + "/0" }

// Connections that waited in the pool while the server was restarted cost no command.
func TestRestartFailsNoCommand(t *testing.T) {
	server := testbed.RedisServer(t)
	client, err := redisstore.Open(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var conns []*redis.Conn
	for range 5 {
		conn := client.Conn()
		if err := conn.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		if err := conn.Close(); err != nil { // back into the pool
			t.Fatal(err)
		}
	}
	server.Kill()
	server.Start(t)
	for i := range 10 {
		if err := client.Ping(t.Context()).Err(); err != nil {
			t.Errorf("command %d after the restart: %v", i+1, err)
		}
	}
}
