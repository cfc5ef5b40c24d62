package nodeagent

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"eruptcloud/nodeagent/wire"
)

const (
	// DefaultLogEvents is how many events a ring keeps, as erupt does.
	DefaultLogEvents = 1000
	maxLogEvent      = 8 << 10 // bytes of one event; what is longer is cut
	maxLogAnswer     = 2 << 20 // bytes of one answer
	maxLogEvents     = 100_000
)

// LogRing keeps the last events of a log in memory for the console's log drawer. Events are numbered from 1 since the process
// started. An event may have many lines, such as a stack trace. It is safe for concurrent use.
type LogRing struct {
	mu      sync.Mutex
	events  []string // a circle; event number n lies at (n-1) modulo its length
	newest  int64    // number of the newest event
	partial []byte   // a line that Write has not seen the end of
}

// NewLogRing returns a ring of size events; zero means DefaultLogEvents.
func NewLogRing(size int) *LogRing {
	if size <= 0 {
		size = DefaultLogEvents
	}
	return &LogRing{events: make([]string, min(size, maxLogEvents))}
}

// Append adds one event, of one or more lines. It is cut after 8 KiB; bytes that are no UTF-8 become U+FFFD.
func (l *LogRing) Append(event string) {
	event = strings.TrimRight(event, "\r\n")
	if over := len(event) - maxLogEvent; over > 0 {
		event = cutText(event, maxLogEvent) + fmt.Sprintf(" (%d bytes cut)", over)
	}
	event = strings.ToValidUTF8(event, "\uFFFD")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.append(event)
}

func (l *LogRing) append(event string) {
	l.events[l.newest%int64(len(l.events))] = event
	l.newest++
}

// Write makes the ring an io.Writer for loggers that write lines: each line is an event. A line in progress is kept back until
// its end comes, up to 8 KiB.
func (l *LogRing) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := maxLogEvent - len(l.partial); len(line) > room {
			line = line[:max(room, 0)] // the end of the line is still looked for
		}
		l.partial = append(l.partial, line...)
		if !ended {
			break
		}
		l.append(strings.ToValidUTF8(strings.TrimRight(string(l.partial), "\r"), "\uFFFD"))
		l.partial = l.partial[:0]
		rest = after
	}
	return len(p), nil
}

// Since returns events as erupt's nodes do: with an offset those from that number on, oldest first, and none at all if the offset
// is the newest number or beyond; without one (zero) the oldest that are still kept. At most size+1 events, and at most 2 MiB
// of text. A client that follows the log asks with the last number that it has, drops that one event, and starts anew
// when numbers go backwards, since then the process has been restarted.
func (l *LogRing) Since(offset int64, size int) []wire.LogLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	capacity := int64(len(l.events))
	first := max(l.newest-capacity, 0) + 1
	if offset > 0 {
		if offset >= l.newest {
			return []wire.LogLine{}
		}
		first = max(first, offset)
	}
	size = min(max(size, 1), len(l.events))
	lines := make([]wire.LogLine, 0, min(int64(size)+1, max(l.newest-first+1, 0)))
	bytes := 0
	for n := first; n <= l.newest && len(lines) <= size; n++ {
		content := l.events[(n-1)%capacity]
		if bytes += len(content) + 40; bytes > maxLogAnswer {
			break
		}
		lines = append(lines, wire.LogLine{Content: content, Num: n})
	}
	return lines
}

// Handler returns a slog handler that adds each record to the ring, in the look of erupt's logs with ANSI colours for the
// level, and passes it to next. A nil next keeps it to the ring. Do not give slog.SetDefault a handler that ends in slog's
// built-in default handler: that one writes through package log, which SetDefault turns back to slog.
func (l *LogRing) Handler(next slog.Handler) slog.Handler {
	return &ringHandler{ring: l, next: next}
}

type ringHandler struct {
	ring   *LogRing
	next   slog.Handler
	prefix string // of attribute names, from WithGroup
	attrs  string // what WithAttrs has added, ready to print
}

// Enabled implements slog.Handler: the ring takes Info and above, and whatever next takes.
func (h *ringHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || h.next != nil && h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *ringHandler) Handle(ctx context.Context, r slog.Record) error {
	var b strings.Builder
	when := r.Time
	if when.IsZero() {
		when = time.Now()
	}
	fmt.Fprintf(&b, "%s \x1b[%dm%5s\x1b[0m --- %s%s", when.Format("2006-01-02 15:04:05.000"), levelColour(r.Level), r.Level, r.Message, h.attrs)
	var stack string
	r.Attrs(func(attr slog.Attr) bool {
		if attr.Key == "stack" { // on lines of its own, where people expect it
			stack = attr.Value.String()
			return true
		}
		writeAttr(&b, h.prefix, attr)
		return true
	})
	if stack != "" {
		b.WriteString("\n" + stack)
	}
	h.ring.Append(b.String())
	if h.next != nil && h.next.Enabled(ctx, r.Level) {
		return h.next.Handle(ctx, r)
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (h *ringHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	var b strings.Builder
	for _, attr := range attrs {
		writeAttr(&b, h.prefix, attr)
	}
	c.attrs += b.String()
	if h.next != nil {
		c.next = h.next.WithAttrs(attrs)
	}
	return &c
}

// WithGroup implements slog.Handler.
func (h *ringHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	c := *h
	c.prefix += name + "."
	if h.next != nil {
		c.next = h.next.WithGroup(name)
	}
	return &c
}

func writeAttr(b *strings.Builder, prefix string, attr slog.Attr) {
	value := attr.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if attr.Key != "" {
			prefix += attr.Key + "."
		}
		for _, inner := range value.Group() {
			writeAttr(b, prefix, inner)
		}
		return
	}
	if attr.Key == "" {
		return
	}
	text := value.String()
	if text == "" || strings.ContainsAny(text, " \t\"=") {
		text = strconv.Quote(text)
	}
	fmt.Fprintf(b, " %s%s=%s", prefix, attr.Key, text)
}

func levelColour(level slog.Level) int {
	switch {
	case level >= slog.LevelError:
		return 31
	case level >= slog.LevelWarn:
		return 33
	default:
		return 32
	}
}

// serveLog answers GET /erupt-api/tool/erupt-log?size=&offset= (erupt-wire 2.9).
func (a *Agent) serveLog(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	size, err := logNumber(query["size"], DefaultLogEvents)
	if err != nil {
		writeError(w, r, http.StatusBadRequest, "size must be a whole number")
		return
	}
	offset, err := logNumber(query["offset"], 0)
	if err != nil {
		writeError(w, r, http.StatusBadRequest, "offset must be a whole number")
		return
	}
	writeJSON(w, http.StatusOK, a.ring.Since(offset, int(min(size, maxLogEvents))))
}

func logNumber(values []string, fallback int64) (int64, error) {
	if len(values) == 0 || values[0] == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("log query: %w", err)
	}
	return n, nil
}
