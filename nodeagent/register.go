package nodeagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"eruptcloud/nodeagent/wire"
)

// The server may wish an interval between these two, and may ask a node to stay away for at most maxRetryAfter.
const (
	minWishedBeat = time.Second
	maxWishedBeat = 2 * time.Minute
	maxRetryAfter = 5 * time.Minute
)

// beatUntil registers at once and then again and again until ctx ends.
func (a *Agent) beatUntil(ctx context.Context) {
	a.log.Info("node is starting", "node", a.cfg.NodeName, "instance", a.cfg.InstanceID,
		"servers", strings.Join(a.cfg.ServerAddresses, ","), "version", a.version())
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		// A beat on its way is not cut off when ctx ends: the server might still act on it after the farewell.
		timer.Reset(a.beatOnce(context.WithoutCancel(ctx)))
	}
}

// beatOnce registers once and returns when to do it again.
func (a *Agent) beatOnce(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	server := a.cfg.ServerAddresses[a.currentServer()]
	r, err := a.register(ctx, server)
	if err == nil {
		a.beatSucceeded(server)
		a.documents.noticed(r.header.Get(wire.HeaderConfigRevision))
		return wishedBeat(r.header.Get(wire.HeaderHeartbeat), a.cfg.HeartbeatTime)
	}
	a.beatFailed(err)
	wait := a.cfg.HeartbeatTime / 2
	var refused *refusedError
	if errors.As(err, &refused) && (refused.reply.status == http.StatusTooManyRequests || refused.reply.status == http.StatusServiceUnavailable) {
		wait = max(wait, retryAfter(refused.reply.header.Get("Retry-After"), time.Now()))
	}
	return wait
}

// register posts one registration. A refusal is a *refusedError.
func (a *Agent) register(ctx context.Context, server string) (*reply, error) {
	addresses, err := a.addresses(ctx, server)
	if err != nil {
		return nil, err
	}
	info := wire.NodeInfo{
		InstanceID: a.cfg.InstanceID, Version: a.version(), NodeName: a.cfg.NodeName, AccessToken: *a.token.Load(),
		NodeAddress: addresses, EruptModules: append([]string{"nodeagent"}, a.cfg.Modules...), Erupts: a.eruptNames(),
	}
	body, err := json.Marshal(info)
	if err != nil {
		return nil, fmt.Errorf("encode registration: %w", err)
	}
	a.mu.Lock()
	a.beats.sent, a.beats.addresses = true, addresses
	a.mu.Unlock()
	header := http.Header{"Content-Type": {"application/json;charset=UTF-8"}}
	r, err := a.send(ctx, server, call{method: http.MethodPost, path: wire.RegisterPath, header: header, body: body})
	if err != nil {
		return nil, err
	}
	if !r.ok() {
		return nil, &refusedError{r}
	}
	return r, nil
}

func (a *Agent) beatSucceeded(server string) {
	a.mu.Lock()
	failures, first := a.beats.failures, !a.beats.registered
	a.beats.failures, a.beats.registered, a.beats.last = 0, true, time.Now()
	a.mu.Unlock()
	switch {
	case failures > 0:
		a.log.Info("connected again", "node", a.cfg.NodeName, "server", server, "failures", failures)
	case first:
		a.log.Info("node is registered", "node", a.cfg.NodeName, "instance", a.cfg.InstanceID, "server", server)
	}
}

// beatFailed counts, turns to the next server address, and logs the 1st, 2nd, 4th, 8th … failure in a row: a server that is
// away for a night must not fill the log.
func (a *Agent) beatFailed(err error) {
	a.mu.Lock()
	a.beats.failures++
	a.beats.registered = false
	failures := a.beats.failures
	a.server = (a.server + 1) % len(a.cfg.ServerAddresses)
	next := a.cfg.ServerAddresses[a.server]
	a.mu.Unlock()
	if failures&(failures-1) == 0 {
		a.log.Warn("registration failed", "node", a.cfg.NodeName, "failures", failures, "error", err, "next", next)
	}
}

// version is what the node registers.
func (a *Agent) version() string { return "go-" + a.cfg.Version }

// eruptNames returns the simple names of everything that the node hosts, sorted.
func (a *Agent) eruptNames() []string {
	names := append(a.pages.names(), a.cfg.Erupts...)
	slices.Sort(names)
	return append([]string{}, slices.Compact(names)...) // never null on the wire
}

// wishedBeat returns the interval of the server's header, within limits, or own.
func wishedBeat(header string, own time.Duration) time.Duration {
	ms, err := strconv.ParseInt(header, 10, 64)
	if err != nil || ms <= 0 {
		return own
	}
	if ms > maxWishedBeat.Milliseconds() {
		return maxWishedBeat
	}
	return max(time.Duration(ms)*time.Millisecond, minWishedBeat)
}

// retryAfter reads seconds or a date, zero if there is neither.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(strings.TrimSpace(header), 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
