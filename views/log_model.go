package views

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// LogPath is the address of a node's log; instance may be empty.
func LogPath(node, instance string) string {
	path := NodePath(node, TabLog)
	if instance != "" {
		path += "?" + url.Values{"instance": {instance}}.Encode()
	}
	return path
}

// LogPanelModel is the log of one instance of a node, as drawer and as page.
type LogPanelModel struct {
	Node      string
	Instance  string // the pinned one; empty: the node has none
	Instances []LogInstance
	Lines     LogChunk
	Drawer    bool
}

// LogInstance is an instance to choose from.
type LogInstance struct {
	ID, Location string
	State        StateKind
}

// linesPath is where the panel asks for what is new.
func (m LogPanelModel) linesPath() string {
	return NodePath(m.Node, "/log/lines") + "?" + url.Values{"instance": {m.Instance}}.Encode()
}

func (m LogPanelModel) downloadPath() string {
	return NodePath(m.Node, "/log/text") + "?" + url.Values{"instance": {m.Instance}}.Encode()
}

// LogChunk is a run of log lines.
type LogChunk struct {
	Lines []LogLine
	Last  int64 // number of the newest line that was seen; 0: none yet
	// Restarted: the node counts from 1 again, so these lines do not continue what was shown before.
	Restarted bool
	// Failed says why nothing could be read; empty: it could.
	Failed string
}

// LogLine is one event of a log.
type LogLine struct {
	Num   int64
	Level string // "ERROR", "WARN", "INFO", "DEBUG", "TRACE" or empty
	Spans []LogSpan
	Cut   int // length in bytes of what the node sent, if the end is not shown
}

// LogSpan is a piece of a line with one look. With Href it is a link.
type LogSpan struct{ Class, Text, Href string }

// maxLogLine is how much of one event is shown, in bytes; the rest stays on the node.
const maxLogLine = 8 << 10

var (
	logLevel = regexp.MustCompile(`\b(FATAL|ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE)\b`)
	// An escape sequence: CSI … final byte, OSC … end, or a two-byte escape.
	escape  = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b[@-Z\\\\-_]?")
	logLink = regexp.MustCompile(`https?://[^\s"'<>\\^` + "`" + `{|}]+`)
)

// ParseLogLine turns what a node logged into spans: the colours of a white list become classes, links are http or https,
// everything else is text (U32).
func ParseLogLine(num int64, content string) LogLine {
	line := LogLine{Num: num}
	if len(content) > maxLogLine {
		line.Cut = len(content)
		content = content[:maxLogLine]
		for len(content) > 0 && !utf8.ValidString(content[len(content)-min(len(content), utf8.UTFMax):]) {
			r, size := utf8.DecodeLastRuneInString(content)
			if r != utf8.RuneError || size != 1 {
				break
			}
			content = content[:len(content)-1] // a character was cut in its middle
		}
	}
	class, rest := "", strings.TrimRight(content, "\r\n")
	var plain strings.Builder
	for rest != "" {
		at := escape.FindStringIndex(rest)
		text := rest
		if at != nil {
			text = rest[:at[0]]
		}
		if text = printable(text); text != "" {
			plain.WriteString(text)
			line.Spans = appendLinked(line.Spans, class, text)
		}
		if at == nil {
			break
		}
		class = nextClass(class, rest[at[0]:at[1]])
		rest = rest[at[1]:]
	}
	line.Level = levelOf(plain.String())
	return line
}

// printable replaces what must not reach a page: invalid bytes, control characters other than tab and line feed, and those
// that turn the direction of writing around, which make a line say what was never logged.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		if r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}

// nextClass applies an escape sequence to the class in force; unknown ones change nothing.
func nextClass(class, seq string) string {
	if !strings.HasPrefix(seq, "\x1b[") || !strings.HasSuffix(seq, "m") {
		return class
	}
	for code := range strings.SplitSeq(seq[2:len(seq)-1], ";") {
		n, err := strconv.Atoi(code)
		if err != nil && code != "" {
			return class
		}
		switch {
		case n == 0 || n == 39 || n == 22:
			class = ""
		case n == 2 || n == 90:
			class = "ansi-2"
		case n == 38 || n == 48:
			return class // an extended colour: its arguments are no codes
		case n >= 91 && n <= 96:
			class = ansiClass(n - 60)
		case n >= 31 && n <= 36:
			class = ansiClass(n)
		}
	}
	return class
}

func ansiClass(n int) string {
	if n == 34 {
		n = 36 // blue is hard to read on both papers
	}
	return "ansi-" + strconv.Itoa(n)
}

func appendLinked(spans []LogSpan, class, text string) []LogSpan {
	for text != "" {
		at := logLink.FindStringIndex(text)
		if at == nil {
			return append(spans, LogSpan{Class: class, Text: text})
		}
		if at[0] > 0 {
			spans = append(spans, LogSpan{Class: class, Text: text[:at[0]]})
		}
		link := strings.TrimRight(text[at[0]:at[1]], ".,;:!?)]")
		spans = append(spans, LogSpan{Class: class, Text: link, Href: link})
		text = text[at[0]+len(link):]
	}
	return spans
}

// levelOf finds the level near the start of a line, where loggers write it.
func levelOf(s string) string {
	if len(s) > 160 {
		s = s[:160]
	}
	switch m := logLevel.FindString(s); m {
	case "FATAL":
		return "ERROR"
	case "WARNING":
		return "WARN"
	default:
		return m
	}
}

func (l LogLine) rowClass() string {
	switch l.Level {
	case "ERROR":
		return "err"
	case "WARN":
		return "warn"
	}
	return ""
}

func (l LogLine) levelClass() string {
	switch l.Level {
	case "ERROR":
		return "is-down"
	case "WARN":
		return "is-slow"
	}
	return ""
}
