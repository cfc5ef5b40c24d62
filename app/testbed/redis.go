package testbed

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisDatabases is how many calls of Redis one test binary may make before databases are used again.
const redisDatabases = 1024

// RedisProc is a redis-server of its own, for tests that stop it.
type RedisProc struct {
	program, dir string
	port         int
	process      *process
}

var sharedRedis struct {
	sync.Mutex
	server *RedisProc
}

var redisCalls atomic.Int64

// Redis returns the URL of an empty database of a redis-server that the tests of this binary share. Each call gets another
// database; channels of pub/sub are common to all, so use a prefix of your own there.
func Redis(t testing.TB) string {
	t.Helper()
	program := Require(t, "redis-server")
	sharedRedis.Lock()
	defer sharedRedis.Unlock()
	if sharedRedis.server == nil {
		server, err := newRedis(program)
		if err != nil {
			t.Fatalf("redis-server: %v", err)
		}
		sharedRedis.server = server
	}
	db := int(redisCalls.Add(1)-1) % redisDatabases
	url := sharedRedis.server.url(db)
	client := sharedRedis.server.client(db)
	defer client.Close()
	if err := client.FlushDB(context.Background()).Err(); err != nil {
		t.Fatalf("flush redis: %v", err)
	}
	return url
}

// RedisServer returns a redis-server that belongs to this test alone and ends with it.
func RedisServer(t testing.TB) *RedisProc {
	t.Helper()
	server, err := newRedis(Require(t, "redis-server"))
	if err != nil {
		t.Fatalf("redis-server: %v", err)
	}
	t.Cleanup(func() { server.process.end(syscall.SIGKILL) })
	return server
}

func newRedis(program string) (*RedisProc, error) {
	dir, err := shortDir()
	if err != nil {
		return nil, err
	}
	var failed error
	for range attempts {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		r := &RedisProc{program: program, dir: dir, port: port}
		if err := r.run(); err == nil {
			return r, nil
		} else {
			failed = err
		}
	}
	return nil, failed
}

// run starts the server on its port and waits until it, and not somebody else there, answers.
func (r *RedisProc) run() error {
	p, err := start(exec.Command(r.program, "--port", strconv.Itoa(r.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--databases", strconv.Itoa(redisDatabases), "--dir", r.dir, "--daemonize", "no"), filepath.Join(r.dir, "log"))
	if err != nil {
		return err
	}
	r.process = p
	client := r.client(0)
	defer client.Close()
	return p.await(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		info, err := client.Info(ctx, "server").Result()
		if err != nil {
			return err
		}
		if !strings.Contains(info, fmt.Sprintf("process_id:%d\r\n", p.cmd.Process.Pid)) {
			return errors.New("another server took the port")
		}
		return nil
	})
}

func (r *RedisProc) client(db int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", r.port), DB: db, MaxRetries: -1, DialerRetries: 1})
}

func (r *RedisProc) url(db int) string { return fmt.Sprintf("redis://127.0.0.1:%d/%d", r.port, db) }

// URL returns the address of database 0; it stays the same over Stop and Start.
func (r *RedisProc) URL() string { return r.url(0) }

// Stop ends the server as an operator would; its data is gone.
func (r *RedisProc) Stop() { r.process.end(syscall.SIGTERM) }

// Kill ends the server without a word.
func (r *RedisProc) Kill() { r.process.end(syscall.SIGKILL) }

// Pause stops the server from answering while its connections stay open; Resume lets it go on.
func (r *RedisProc) Pause() { r.process.signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (r *RedisProc) Resume() { r.process.signal(syscall.SIGCONT) }

// Start runs the server again, empty, on the same port.
func (r *RedisProc) Start(t testing.TB) {
	t.Helper()
	if !r.process.dead() {
		return
	}
	if err := r.run(); err != nil {
		t.Fatalf("start redis-server again: %v", err)
	}
}
