package sharing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"eruptcloud/app/loop"
	"eruptcloud/app/registry/redisstore"
)

// Withholder is Entries that can be kept from being written.
type Withholder interface {
	Entries
	Withhold(ctx context.Context, nodes []string, life time.Duration) error
}

// Watch finds a server up to 2.0.4 that uses our namespace, and keeps our entries out of it while it does: one value that
// such a server cannot read ends its survival check. Routing needs no entries and goes on. On one replica only.
type Watch struct {
	Entries  Withholder
	Prefix   string
	Names    func(context.Context) ([]string, error)
	TakeOver bool // its entries may be left over: only a renewed one tells that it lives
	Interval time.Duration
	Now      func() time.Time // nil: time.Now

	mu     sync.Mutex
	reason string
	last   []redisstore.OldEntry
	at     time.Time
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	w.Reset()
	return loop.Every(ctx, "watch for old erupt servers", 0, w.Interval, w.Once)
}

// Reset forgets the last look: it is too long ago to say what was renewed since.
func (w *Watch) Reset() { w.last = nil }

// Reason says why no entries are written, empty if they are.
func (w *Watch) Reason() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reason
}

// Once looks once.
func (w *Watch) Once(ctx context.Context) error {
	names, err := w.Names(ctx)
	if err != nil {
		return err
	}
	entries, err := w.Entries.Read(ctx, names)
	if err != nil {
		return err
	}
	old := []redisstore.OldEntry{} // not nil: a look was taken
	for _, e := range entries {
		if e.Old {
			old = append(old, redisstore.OldEntry{Node: e.Node, Left: e.Left})
		}
	}
	before, apart := w.last, w.now().Sub(w.at)
	w.last, w.at = old, w.now()
	if len(old) == 0 {
		w.say(ctx, nil)
		return nil
	}
	renewed := ""
	if before != nil {
		renewed = redisstore.Renewed(before, old, apart)
	}
	if w.TakeOver && renewed == "" && w.Reason() == "" {
		return nil // what a stopped server left
	}
	if err := w.Entries.Withhold(ctx, names, 3*w.Interval); err != nil {
		return err
	}
	w.say(ctx, redisstore.OldServer(w.Prefix, old, renewed))
	return nil
}

func (w *Watch) now() time.Time {
	if w.Now == nil {
		return time.Now()
	}
	return w.Now()
}

func (w *Watch) say(ctx context.Context, why error) {
	reason := ""
	if why != nil {
		reason = why.Error()
	}
	w.mu.Lock()
	was := w.reason
	w.reason = reason
	w.mu.Unlock()
	switch {
	case was == "" && reason != "":
		slog.ErrorContext(ctx, "no node entries are written to Redis", "error", why)
	case was != "" && reason == "":
		slog.InfoContext(ctx, "the old erupt server's entries are gone: node entries are written again")
	}
}
