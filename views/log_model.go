package views

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// LogAll chooses all instances of a node, merged. No instance is called so: ids of instances are not empty and the registry
// takes no control characters, but a star it might; the chooser then shows both.
const LogAll = "*"

// LogPath is the address of a node's log; instance may be empty.
func LogPath(node, instance string) string {
	path := NodePath(node, TabLog)
	if instance != "" {
		path += "?" + url.Values{"instance": {instance}}.Encode()
	}
	return path
}

// LogPanelModel is the log of one or all instances of a node, as drawer and as page.
type LogPanelModel struct {
	Node      string
	Instance  string // the pinned one; LogAll: all of them; empty: the node has none
	Instances []LogInstance
	More      int // instances beyond those that can be merged
	Chunk     LogChunk
	Drawer    bool
	// What the address says besides: the lowest level, the search, the line that it points at, the character set.
	Level, Search string
	Line          int64
	Charset       string
	// Replica is whose own log it is, Asked whose was asked for: one, LogAll, or whoever answers. Empty: it is a node's.
	Replica, Asked string
}

// gone reports whether the pinned instance is none of the node's any more: its log is still the one that was asked for.
func (m LogPanelModel) gone() bool {
	return m.Instance != "" && !m.Merged() && !slices.ContainsFunc(m.Instances, func(in LogInstance) bool { return in.ID == m.Instance })
}

// Merged reports whether the panel shows several instances.
func (m LogPanelModel) Merged() bool { return m.Instance == LogAll }

// LogInstance is an instance to choose from.
type LogInstance struct {
	ID, Location string
	Short        string // its name in a narrow column
	Class        string // its colour, "c1" … "c8"
	State        StateKind
	Reading      bool // its lines are shown
}

// query is what the panel's own requests carry.
func (m LogPanelModel) query(more ...string) string {
	q := url.Values{"instance": {m.asked()}}
	if m.Charset != "" {
		q.Set("charset", m.Charset)
	}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "?" + q.Encode()
}

// linesPath is where the panel asks for what is new, and for what is older.
func (m LogPanelModel) linesPath() string { return m.at("/lines") + m.query() }

func (m LogPanelModel) downloadPath() string { return m.at("/text") + m.query() }

func (m LogPanelModel) at(part string) string { return logBase(m.Node, m.Replica) + part }

// logBase is where a log is: that of a node, or of the server itself.
func logBase(node, replica string) string {
	if replica != "" {
		return ServerLogPath
	}
	return NodePath(node, TabLog)
}

// asked is what the address says.
func (m LogPanelModel) asked() string {
	if m.Replica != "" {
		return m.Asked
	}
	return m.Instance
}

// linePath leads to one line.
func (c LogChunk) linePath(l LogLine) string {
	return logBase(c.Node, c.Replica) + "?" + url.Values{"instance": {l.Instance}, "line": {strconv.FormatInt(l.Num, 10)}}.Encode()
}

func (c LogChunk) wholePath(l LogLine) string {
	return logBase(c.Node, c.Replica) + "/text?" + url.Values{"instance": {l.Instance}, "line": {strconv.FormatInt(l.Num, 10)}}.Encode()
}

// LogOrder is how merged lines were put in order.
type LogOrder string

// The orders.
const (
	LogByTime    LogOrder = "time"    // every instance writes times
	LogByBoth    LogOrder = "both"    // some do not: their lines stand where they arrived
	LogByArrival LogOrder = "arrival" // none does
)

// key is the text that says so.
func (o LogOrder) key() string {
	switch o {
	case LogByBoth:
		return "log.order.both"
	case LogByArrival:
		return "log.order.arrival"
	}
	return "log.order.time"
}

// LogChunk is a run of log lines in the order in which they are shown.
type LogChunk struct {
	Node    string
	Merged  bool
	Lines   []LogLine
	Sources []LogSource
	Order   LogOrder
	Older   bool // it goes before what is shown
	Line    int64
	Replica string // whose own log it is; empty: it is a node's
}

// LogSource is what was read from one instance.
type LogSource struct {
	LogInstance
	First, Last int64 // numbers of the oldest line that is shown and the newest that was seen; 0: none yet
	Oldest      int64 // number of the oldest line that the node still has, as far as known; 0: unknown
	// Restarted: the node counts from 1 again, so these lines do not continue what was shown before.
	Restarted bool
	// Rotated: lines that were there are gone; Lost says how many of them were never seen, -1: unknown.
	Rotated bool
	Lost    int64
	// Again: there is more to read at once.
	Again bool
	// Missing: the line that was asked for is not there any more.
	Missing bool
	// Gone: the instance is not registered any more.
	Gone bool
	// Failed says why nothing could be read; empty: it could.
	Failed string
}

// Remaining is how many older lines the node still has, at most.
func (s LogSource) Remaining() int64 {
	return max(s.First-max(s.Oldest, 1), 0)
}

// Remaining sums over all instances.
func (c LogChunk) Remaining() (n int64) {
	for _, s := range c.Sources {
		n += s.Remaining()
	}
	return n
}

// class is the colour of a line's instance, short its name.
func (c LogChunk) source(id string) (class, short string) {
	for _, s := range c.Sources {
		if s.ID == id {
			return s.Class, s.Short
		}
	}
	return "", id
}

// empty reports whether nobody has logged anything.
func (c LogChunk) empty() bool {
	for _, s := range c.Sources {
		if s.Last != 0 || s.Failed != "" || s.Gone || s.Rotated {
			return false
		}
	}
	return len(c.Lines) == 0
}

// charsets are the character sets that lines were read as, other than UTF-8.
func (c LogChunk) charsets() string {
	seen := map[string]bool{}
	var out []string
	for _, l := range c.Lines {
		if l.Charset != "" && !seen[l.Charset] {
			seen[l.Charset] = true
			out = append(out, l.Charset)
		}
	}
	return strings.Join(out, ", ")
}

// logTime is the time of a line: in the viewer's zone if the line names its own, else as the node wrote it.
func logTime(ctx context.Context, l LogLine) string {
	at := l.Time
	if l.Zoned {
		at = at.In(zoneOf(FrameOf(ctx)))
	}
	return at.Format("15:04:05.000")
}

// logTitle says all that is known about the place of a line.
func logTitle(ctx context.Context, l LogLine) string {
	switch {
	case l.Time.IsZero():
		return T(ctx, "log.line", "n", Num(l.Num))
	case l.Zoned:
		return T(ctx, "log.line_at", "n", Num(l.Num), "at", Exact(ctx, l.Time))
	}
	return T(ctx, "log.line_local", "n", Num(l.Num), "at", l.Time.Format("2006-01-02 15:04:05"))
}

// logStamp is the time of a line in milliseconds, for the script, which puts late lines in their place.
func logStamp(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// LogCharsets are what one may choose to read lines as; the empty one tries UTF-8 first.
var LogCharsets = []string{"", "utf-8", "gb18030", "windows-1252"}

// ShortNames are names of instances for a narrow column: what they differ in, at most limit characters.
func ShortNames(ids []string, limit int) []string {
	prefix := ""
	if len(ids) > 1 {
		prefix = ids[0]
		for _, id := range ids[1:] {
			n := 0
			for n < min(len(prefix), len(id)) && prefix[n] == id[n] {
				n++
			}
			prefix = prefix[:n]
		}
		prefix = prefix[:strings.LastIndexAny(prefix, "-_.:/@#")+1]
	}
	out := make([]string, len(ids))
	for i, id := range ids {
		short := []rune(id)
		if len(short) > limit {
			short = []rune(strings.TrimPrefix(id, prefix))
		}
		if len(short) > limit {
			short = append([]rune("…"), short[len(short)-limit+1:]...)
		}
		out[i] = string(short)
	}
	return out
}

// of says of which instance something is true, where several are shown.
func (c LogChunk) of(ctx context.Context, s LogSource, text string) string {
	if !c.Merged {
		return text
	}
	return T(ctx, "log.of", "instance", s.Short, "what", text)
}
