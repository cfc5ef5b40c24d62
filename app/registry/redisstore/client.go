package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Limits of the shared client: a Redis that is down costs a caller milliseconds, one that hangs two seconds.
const (
	dialTimeout = time.Second
	callTimeout = 2 * time.Second
	poolTimeout = 2 * time.Second
	poolSize    = 64
	redialEvery = time.Second // how often all connections may be dropped
)

// Open returns a client for url (redis://, rediss://) that fails fast and never sends a command twice: what to do about
// a failure is the caller's business. When the server says that it no longer takes writes, all connections are dropped,
// so that the next one goes to whom the name belongs by then (S92).
func Open(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("redis url: %w", err) // the error names the part, never the password
	}
	logOnce.Do(func() { redis.SetLogger(quietLog{}) })
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = dialTimeout, callTimeout, callTimeout
	o.PoolSize, o.PoolTimeout = poolSize, poolTimeout
	o.ContextTimeoutEnabled = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	line := &lines{dialer: net.Dialer{Timeout: dialTimeout}, open: map[*line]struct{}{}}
	if o.TLSConfig == nil { // with TLS the library dials, and a demoted server's connection ends by its READONLY alone
		o.Dialer = line.dial
	}
	client := redis.NewClient(o)
	client.AddHook(line)
	return client, nil
}

var logOnce sync.Once

// quietLog keeps the library from writing to stderr: each failure comes back as an error and is logged where it is handled.
type quietLog struct{}

func (quietLog) Printf(ctx context.Context, format string, args ...any) {
	slog.DebugContext(ctx, "redis client", "message", fmt.Sprintf(format, args...))
}

// lines are a client's connections.
type lines struct {
	dialer net.Dialer

	mu      sync.Mutex
	open    map[*line]struct{}
	dropped time.Time
}

type line struct {
	net.Conn
	all *lines
}

func (l *lines) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := l.dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	one := &line{conn, l}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[one] = struct{}{}
	return one, nil
}

func (c *line) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// SyscallConn lets the pool look at the socket before it uses a connection again: those that a stopped server has closed
// are left out, and no command fails because of them.
func (c *line) SyscallConn() (syscall.RawConn, error) {
	inner, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported // net.Dialer makes none of that kind
	}
	return inner.SyscallConn()
}

// demoted lists the answers of a server that is not, or no longer, the one to talk to.
var demoted = []string{"READONLY", "LOADING", "MASTERDOWN"}

func (l *lines) look(ctx context.Context, err error) {
	if err == nil {
		return
	}
	for _, word := range demoted {
		if strings.HasPrefix(err.Error(), word+" ") {
			l.drop(ctx, word)
			return
		}
	}
}

func (l *lines) drop(ctx context.Context, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.dropped) < redialEvery {
		return
	}
	l.dropped = time.Now()
	for c := range l.open {
		_ = c.Conn.Close() // the pool finds out at its next use
	}
	clear(l.open)
	slog.WarnContext(ctx, "redis takes no writes; connecting anew", "answer", why)
}

// DialHook implements redis.Hook.
func (l *lines) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (l *lines) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		l.look(ctx, err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (l *lines) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			l.look(ctx, cmd.Err())
		}
		return err
	}
}
