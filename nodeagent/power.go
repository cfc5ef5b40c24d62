package nodeagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"eruptcloud/nodeagent/wire"
)

const (
	powerTTL  = 2 * time.Second // how long a right may outlive its withdrawal on this node
	maxPowers = 1000            // answers kept; beyond it the old ones go
)

// ErrNoSession is returned when the server knows no session for the request's token.
var ErrNoSession = errors.New("nodeagent: no session")

// Power returns what the user behind a guarded request may do with an erupt of this node, as the server says. It is asked once
// in 2 s for a session and an erupt. Without a token, without an answer and with a refusal, nothing is allowed; the error tells
// why.
func (a *Agent) Power(ctx context.Context, erupt string) (wire.Power, error) {
	token := TokenFrom(ctx)
	if token == "" {
		return wire.Power{}, ErrNoSession
	}
	return a.powers.get(token+"\x00"+strings.ToLower(erupt), func() (wire.Power, error) {
		return a.askPower(ctx, token, erupt)
	})
}

func (a *Agent) askPower(ctx context.Context, token, erupt string) (wire.Power, error) {
	// The answer is shared with other requests of the session: it must not end with the one that asked first.
	r, err := a.ask(context.WithoutCancel(ctx), call{
		method: http.MethodGet, path: wire.PowerPath, header: a.sessionHeader(token),
		query: url.Values{"nodeName": {a.cfg.NodeName}, "eruptName": {erupt}},
	})
	if err != nil {
		return wire.Power{}, fmt.Errorf("ask for power: %w", err)
	}
	if !r.ok() {
		return wire.Power{}, fmt.Errorf("ask for power: %w", &refusedError{r})
	}
	var p wire.Power // a flag that is missing stays false: an error object must not grant anything
	if err := json.Unmarshal(r.body, &p); err != nil {
		return wire.Power{}, fmt.Errorf("ask for power: %s sent no flags: %w", r.server, err)
	}
	return p, nil
}

// UserInfo returns what the server knows about the user behind a guarded request. ErrNoSession if the session is over.
func (a *Agent) UserInfo(ctx context.Context) (wire.UserInfo, error) {
	token := TokenFrom(ctx)
	if token == "" {
		return wire.UserInfo{}, ErrNoSession
	}
	r, err := a.ask(ctx, call{method: http.MethodGet, path: wire.UserInfoPath + url.PathEscape(a.cfg.NodeName), header: a.sessionHeader(token)})
	if err != nil {
		return wire.UserInfo{}, fmt.Errorf("ask for user: %w", err)
	}
	if !r.ok() {
		return wire.UserInfo{}, fmt.Errorf("ask for user: %w", &refusedError{r})
	}
	if len(r.body) == 0 {
		return wire.UserInfo{}, ErrNoSession
	}
	var u wire.UserInfo
	if err := json.Unmarshal(r.body, &u); err != nil {
		return wire.UserInfo{}, fmt.Errorf("ask for user: %s sent no user: %w", r.server, err)
	}
	return u, nil
}

// Permission reports whether the user behind a guarded request holds a permission code. False with an error if nobody can say.
func (a *Agent) Permission(ctx context.Context, code string) (bool, error) {
	token := TokenFrom(ctx)
	if token == "" {
		return false, ErrNoSession
	}
	r, err := a.ask(ctx, call{method: http.MethodGet, path: wire.PermissionPath + url.PathEscape(code), header: a.sessionHeader(token)})
	if err != nil {
		return false, fmt.Errorf("ask for permission: %w", err)
	}
	if r.status == http.StatusUnauthorized {
		return false, ErrNoSession
	}
	return r.ok() && strings.TrimSpace(string(r.body)) == "true", nil
}

// sessionHeader names the session, and the node that asks for it.
func (a *Agent) sessionHeader(token string) http.Header {
	h := a.accessHeader()
	h.Set(wire.HeaderToken, token)
	return h
}

// powerCache keeps answers for powerTTL and lets requests that come meanwhile wait for the one that asks.
type powerCache struct {
	mu      sync.Mutex
	entries map[string]*powerEntry
}

type powerEntry struct {
	done  chan struct{} // closed when power and err are set
	until time.Time
	power wire.Power
	err   error
}

func (c *powerCache) get(key string, ask func() (wire.Power, error)) (wire.Power, error) {
	c.mu.Lock()
	e, ok := c.entries[key]
	if ok && e.fresh(time.Now()) {
		c.mu.Unlock()
		<-e.done
		return e.power, e.err
	}
	e = &powerEntry{done: make(chan struct{})}
	c.sweep()
	c.entries[key] = e
	c.mu.Unlock()

	defer close(e.done)
	power, err := ask()
	c.mu.Lock()
	e.power, e.err, e.until = power, err, time.Now().Add(powerTTL)
	c.mu.Unlock()
	return power, err
}

// fresh reports whether e is still being asked for or young enough. The cache's lock is held.
func (e *powerEntry) fresh(now time.Time) bool { return e.until.IsZero() || now.Before(e.until) }

// sweep makes room. The lock is held.
func (c *powerCache) sweep() {
	if c.entries == nil {
		c.entries = map[string]*powerEntry{}
	}
	if len(c.entries) < maxPowers {
		return
	}
	now := time.Now()
	for key, e := range c.entries {
		if !e.fresh(now) {
			delete(c.entries, key)
		}
	}
	for key := range c.entries {
		if len(c.entries) < maxPowers {
			break
		}
		delete(c.entries, key) // forgetting is always safe: it is asked again
	}
}
