package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"eruptcloud/nodeagent/wire"
)

var (
	errSilent = errors.New("simulated: nothing leaves this process")
	errLong   = errors.New("simulated: a registration longer than any server takes")
)

// maxRegistration is what a server takes of a registration, in bytes (erupt-wire 10.4).
const maxRegistration = 1 << 20

// RoundTrip implements http.RoundTripper: what the agent sends goes through here on its way to the server, and is changed.
func (l *life) RoundTrip(r *http.Request) (*http.Response, error) {
	now := l.act.Load()
	if l.dead.Load() || now.is(Mute) {
		return nil, errSilent
	}
	if !strings.HasSuffix(r.URL.Path, wire.RegisterPath) || r.Body == nil {
		return l.base.RoundTrip(r)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRegistration+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxRegistration {
		return nil, errLong
	}
	return l.send(r, l.tampered(body, now))
}

// send sends a registration with another body.
func (l *life) send(r *http.Request, body []byte) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return l.base.RoundTrip(r)
}

// tampered returns what a node of this version and with this fault would send.
func (l *life) tampered(body []byte, now *act) []byte {
	var info map[string]any
	if err := json.Unmarshal(body, &info); err != nil {
		return body // only agents call, who send objects
	}
	info["version"] = *l.version.Load()
	info["registerTime"] = time.Now().Add(l.traits.skew).Format(wire.TimestampLayout) // Java nodes send theirs
	if now == nil {
		honest, _ := json.Marshal(info)
		l.last.Store(&honest)
		return honest
	}
	switch now.fault {
	case Pose:
		info["nodeName"] = now.other
	case Claim:
		info["nodeAddress"] = []string{now.other}
	case Forge:
		info["accessToken"] = "not-the-token-of-this-node"
	case Garble:
		return append(body[:len(body)/2], "\x00\xff}"...)
	}
	out, _ := json.Marshal(info)
	return out
}

// change reports another version at once, as a process does after an update in place. It returns false if there was nothing to
// change.
func (l *life) change(ctx context.Context, server, version string) bool {
	last := l.last.Load()
	if last == nil || l.dead.Load() || l.act.Load() != nil {
		return false
	}
	var info map[string]any
	if err := json.Unmarshal(*last, &info); err != nil {
		return false
	}
	l.version.Store(&version)
	info["version"] = version
	body, _ := json.Marshal(info)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server+wire.RegisterPath, bytes.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := l.base.RoundTrip(r)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func (a *act) is(f Fault) bool { return a != nil && a.fault == f }

// ServeHTTP implements http.Handler: what comes from the server meets the fault first.
func (l *life) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l.traits.skew != 0 {
		w.Header().Set("Date", time.Now().Add(l.traits.skew).UTC().Format(http.TimeFormat))
	}
	now := l.act.Load()
	if now == nil {
		l.inner.ServeHTTP(w, r)
		return
	}
	switch {
	case now.fault == Hang:
		select {
		case <-now.over:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	case now.fault == Fail:
		http.Error(w, "simulated failure", http.StatusInternalServerError)
		return
	case now.fault == Slow:
		if !sleep(r.Context(), now.delay) {
			panic(http.ErrAbortHandler)
		}
	case now.fault == Lie && (r.URL.Path == wire.HealthPath || r.URL.Path == wire.ProbePath):
		_, _ = io.WriteString(w, now.other)
		return
	case now.fault == Endless && r.URL.Path == wire.LogPath:
		endless(w)
		return
	}
	l.inner.ServeHTTP(w, r)
}

// endless answers with a log such as no agent of ours would send.
func endless(w http.ResponseWriter) {
	lines := []wire.LogLine{
		{Num: 1, Content: strings.Repeat("这一行没有尽头 without an end ", 1<<20/38)},
		{Num: 2, Content: "\x1b[31;1m" + strings.Repeat("\x1b[0m\x1b[5m\x1b]0;title\a", 20_000) + "<script>alert(1)</script>"},
		{Num: 3, Content: "after the long ones"},
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(lines)
}

// shout logs 2,000 lines a second until the act is over.
func (l *life) shout(ctx context.Context, for_ time.Duration) {
	const each = 50 * time.Millisecond
	end := time.Now().Add(for_)
	for n := 0; time.Now().Before(end) && sleep(ctx, each); {
		for range 100 {
			n++
			l.log.Info(fmt.Sprintf("line %d of many", n), "node", l.node)
		}
	}
}

// skewed is a log of a machine whose clock is wrong.
type skewed struct {
	slog.Handler
	by time.Duration
}

// Handle implements slog.Handler.
func (s skewed) Handle(ctx context.Context, r slog.Record) error {
	r.Time = r.Time.Add(s.by)
	return s.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (s skewed) WithAttrs(attrs []slog.Attr) slog.Handler {
	return skewed{s.Handler.WithAttrs(attrs), s.by}
}

// WithGroup implements slog.Handler.
func (s skewed) WithGroup(name string) slog.Handler { return skewed{s.Handler.WithGroup(name), s.by} }
