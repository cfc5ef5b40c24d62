package telemetry

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Bounds of a Tail: erupt's own number of events, and how much of each.
const (
	tailEvents = 1000
	tailBytes  = 4 << 10
)

// Tail keeps the newest events of a log, after secrets were masked in them. It is a writer to be put beside the log's own.
type Tail struct {
	mu     sync.Mutex
	events []string // in a ring
	last   int64    // number of the newest, from 1
}

// TailEvent is one event.
type TailEvent struct {
	Number int64
	Text   string
}

// Beside returns a writer that writes to w and keeps what it writes. Each call of Write is one event, as loggers do it.
func (t *Tail) Beside(w io.Writer) io.Writer { return tee{w, t} }

type tee struct {
	io.Writer
	tail *Tail
}

// Write implements io.Writer.
func (t tee) Write(p []byte) (int, error) {
	t.tail.add(p)
	return t.Writer.Write(p)
}

func (t *Tail) add(p []byte) {
	if len(p) > tailBytes {
		p = p[:tailBytes]
	}
	text := string(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	if len(t.events) < tailEvents {
		t.events = append(t.events, text)
		return
	}
	t.events[(t.last-1)%tailEvents] = text
}

// Events returns at most size events, oldest first: from a number on, or the newest if it is below zero.
func (t *Tail) Events(from int64, size int) []TailEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	oldest := t.last - int64(len(t.events)) + 1
	first := max(from, oldest)
	if from < 0 {
		first = max(oldest, t.last-int64(size)+1)
	}
	var out []TailEvent
	for n := first; n <= t.last && len(out) < size; n++ {
		out = append(out, TailEvent{n, readable(t.events[(n-1)%tailEvents])})
	}
	return out
}

// readable turns an event of either form into a line for people, which begins with its time and level.
func readable(event string) string {
	event = strings.TrimRight(strings.ToValidUTF8(event, "\uFFFD"), "\n")
	var fields map[string]any
	if rest, ok := strings.CutPrefix(event, "time="); ok {
		at, rest, timed := strings.Cut(rest, " level=")
		level, rest, levelled := strings.Cut(rest, " ")
		if timed && levelled {
			return fmt.Sprintf("%s %-5s %s", at, level, strings.TrimPrefix(rest, "msg="))
		}
	}
	if !strings.HasPrefix(event, "{") || json.Unmarshal([]byte(event), &fields) != nil {
		return event
	}
	var line strings.Builder
	fmt.Fprintf(&line, "%v %-5v %v", fields["time"], fields["level"], fields["msg"])
	names := make([]string, 0, len(fields))
	for name := range fields {
		if name != "time" && name != "level" && name != "msg" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		value := fmt.Sprint(fields[name])
		if text, ok := fields[name].(string); ok && strings.ContainsAny(text, " \"=\n") || !utf8.ValidString(value) {
			value = fmt.Sprintf("%q", value)
		}
		fmt.Fprintf(&line, " %s=%s", name, value)
	}
	return line.String()
}
