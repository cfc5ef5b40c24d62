package nodeagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"eruptcloud/nodeagent/wire"
)

// configRetry is how soon a configuration that could not be had is asked for again.
const configRetry = 10 * time.Second

// Document is the node's effective configuration: the groups from the root down, then the node, merged by the server.
type Document struct {
	JSON     json.RawMessage // an object
	Revision string          // changes exactly when JSON does
	Fetched  time.Time       // when the server last confirmed it
	Stale    bool            // the server could not be asked just now; this is the last good one
}

// Decode reads the document into v.
func (d Document) Decode(v any) error {
	if err := json.Unmarshal(d.JSON, v); err != nil {
		return fmt.Errorf("node configuration: %w", err)
	}
	return nil
}

// documents keeps the last good configuration and who wants to hear of new ones.
type documents struct {
	mu        sync.Mutex
	last      Document
	known     bool
	etag      string
	wanted    string // newest revision that a heartbeat named
	callbacks []func(context.Context, Document)
	wake      chan struct{} // holds one token when wanted changed
	told      string        // revision that the callbacks were last called with
}

// noticed takes the revision of a heartbeat's answer; it never blocks.
func (d *documents) noticed(revision string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if revision == "" || revision == d.wanted {
		return
	}
	d.wanted = revision
	select {
	case d.signal() <- struct{}{}:
	default: // a wake-up is waiting already
	}
}

// signal returns the channel, making it at first use. The lock is held.
func (d *documents) signal() chan struct{} {
	if d.wake == nil {
		d.wake = make(chan struct{}, 1)
	}
	return d.wake
}

// NodeConfig returns the raw text of the node's own configuration, empty if there is none (A29).
func (a *Agent) NodeConfig(ctx context.Context) (string, error) {
	return a.rawConfig(ctx, wire.NodeConfigPath)
}

// GroupConfig returns the raw text of the configuration of the node's group, empty if there is none (A29).
func (a *Agent) GroupConfig(ctx context.Context) (string, error) {
	return a.rawConfig(ctx, wire.GroupConfigPath)
}

func (a *Agent) rawConfig(ctx context.Context, path string) (string, error) {
	r, err := a.ask(ctx, call{
		method: http.MethodGet, path: path + url.PathEscape(a.cfg.NodeName), header: a.accessHeader(), limit: maxDocument,
	})
	if err != nil {
		return "", fmt.Errorf("ask for configuration: %w", err)
	}
	if !r.ok() {
		return "", fmt.Errorf("ask for configuration: %w", &refusedError{r})
	}
	return string(r.body), nil
}

// Effective returns the node's effective configuration. If the server is away or in trouble it returns the last good one,
// marked as stale; an error means that there is none yet, or that the server refuses this node.
func (a *Agent) Effective(ctx context.Context) (Document, error) {
	d := &a.documents
	d.mu.Lock()
	known, etag := d.known, d.etag
	d.mu.Unlock()
	header := a.accessHeader()
	if known && etag != "" {
		header.Set("If-None-Match", etag)
	}
	r, err := a.ask(ctx, call{
		method: http.MethodGet, path: wire.EffectivePath + url.PathEscape(a.cfg.NodeName), header: header, limit: maxDocument,
	})
	if err == nil {
		err = d.accept(r, time.Now())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.last
	if err == nil {
		return last, nil
	}
	var refused *refusedError
	if isRefused := errors.As(err, &refused) && refused.reply.status < http.StatusInternalServerError; isRefused || !d.known {
		return Document{}, fmt.Errorf("ask for configuration: %w", err)
	}
	last.Stale = true
	return last, nil
}

// accept takes an answer as the last good document.
func (d *documents) accept(r *reply, now time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case r.status == http.StatusNotModified && d.known:
		d.last.Fetched = now
		return nil
	case !r.ok():
		return &refusedError{r}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(r.body, &object); err != nil || object == nil {
		return fmt.Errorf("%s sent a configuration that is no JSON object", r.server)
	}
	d.etag = r.header.Get("ETag")
	d.last = Document{JSON: r.body, Revision: revisionOf(r.header), Fetched: now}
	d.known = true
	return nil
}

// revisionOf prefers the revision that heartbeats name too; the tag serves where a server names none.
func revisionOf(h http.Header) string {
	if revision := h.Get(wire.HeaderConfigRevision); revision != "" {
		return revision
	}
	return h.Get("ETag")
}

// OnConfigChange calls fn with the first configuration that the agent gets and with every new one while it runs, one after the
// other. ctx ends when the node leaves. A panic of fn is logged.
func (a *Agent) OnConfigChange(fn func(ctx context.Context, d Document)) {
	a.documents.mu.Lock()
	defer a.documents.mu.Unlock()
	a.documents.callbacks = append(a.documents.callbacks, fn)
}

// followConfig pulls the configuration when a heartbeat names a new revision and every ConfigPoll, until ctx ends. It has a
// goroutine of its own, since callbacks may take their time and beats may not wait for them.
func (a *Agent) followConfig(ctx context.Context) {
	a.documents.mu.Lock()
	wake, nobody := a.documents.signal(), len(a.documents.callbacks) == 0
	a.documents.mu.Unlock()
	if nobody {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-timer.C:
		}
		timer.Reset(a.pullConfig(ctx))
	}
}

// pullConfig asks once, tells the callbacks of what is new, and returns when to ask again.
func (a *Agent) pullConfig(ctx context.Context) time.Duration {
	doc, err := a.Effective(ctx)
	switch {
	case ctx.Err() != nil:
		return a.cfg.ConfigPoll
	case err != nil:
		a.log.Warn("no configuration", "node", a.cfg.NodeName, "error", err)
		return min(configRetry, a.cfg.ConfigPoll)
	case doc.Stale:
		return min(configRetry, a.cfg.ConfigPoll)
	}
	a.tell(ctx, doc)
	return a.cfg.ConfigPoll
}

// tell calls the callbacks if they have not seen the document's text.
func (a *Agent) tell(ctx context.Context, doc Document) {
	d := &a.documents
	key := doc.Revision
	if key == "" {
		key = string(doc.JSON)
	}
	d.mu.Lock()
	callbacks := d.callbacks
	seen := d.told == key
	d.told = key
	d.mu.Unlock()
	if seen {
		return
	}
	a.log.Info("configuration received", "node", a.cfg.NodeName, "revision", doc.Revision)
	for _, fn := range callbacks {
		a.callGuarded("configuration callback", func() { fn(ctx, doc) })
	}
}

// callGuarded calls code of the program; its panic must not end the agent.
func (a *Agent) callGuarded(what string, fn func()) {
	defer func() {
		if p := recover(); p != nil {
			a.log.Error(what+" panicked", "node", a.cfg.NodeName, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	fn()
}

func (a *Agent) logPanic(r *http.Request, p any) {
	a.log.Error("request panicked", "node", a.cfg.NodeName, "path", r.URL.Path, "request_id", r.Header.Get(wire.HeaderRequestID),
		"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
}
