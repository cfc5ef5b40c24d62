package views

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// LogLine is one event of a log.
type LogLine struct {
	Num      int64
	Instance string // id of the instance that wrote it
	Level    string // "ERROR", "WARN", "INFO", "DEBUG", "TRACE" or empty
	// Time is when the line says that it was written; zero: it says nothing. Zoned: it names its zone; else Time is the
	// node's own clock, written as if it were UTC.
	Time    time.Time
	Zoned   bool
	Spans   []LogSpan // without the time and the level at the beginning, which have columns of their own
	More    []LogSpan // the rest of an event of many lines
	Folded  int       // lines in More
	Cut     int       // length in bytes of what the node sent, if the end is not shown
	Charset string    // that the bytes were read as; empty: UTF-8
}

// LogSpan is a piece of a line with one look. With Href it is a link.
type LogSpan struct{ Class, Text, Href string }

const (
	maxLogLine = 8 << 10 // how much of one event is shown, in bytes; the rest stays on the node
	foldAfter  = 12      // lines of an event; more are folded
	unfolded   = 8       // of which so many are shown
)

var (
	logLevel = regexp.MustCompile(`\b(FATAL|CRITICAL|SEVERE|PANIC|ERROR|WARN(?:ING)?|NOTICE|INFO|CONFIG|DEBUG|FINER?|TRACE|FINEST)\b`)
	// Levels in small letters count only where they can be nothing else: as a named value or in brackets.
	namedLevel = regexp.MustCompile(`(?i)(?:\b(?:level|lvl|severity)"?\s*[=:]\s*"?|\[)(fatal|critical|panic|error|err|warning|warn|notice|info|debug|trace)\b`)
	levelNames = map[string]string{
		"FATAL": "ERROR", "CRITICAL": "ERROR", "SEVERE": "ERROR", "PANIC": "ERROR", "ERR": "ERROR", "WARNING": "WARN", "NOTICE": "INFO", "CONFIG": "INFO",
		"FINE": "DEBUG", "FINER": "DEBUG", "FINEST": "TRACE",
	}
	headLevel = regexp.MustCompile(`^[ \t]*(?:\[[ \t]*([A-Z]{4,8})[ \t]*\]|([A-Z]{4,8}))(?:[ \t:|]+(?:--- )?|$)`)
	logLink   = regexp.MustCompile(`https?://[^\s"'<>\\^` + "`" + `{|}]+`)
)

// ParseLogLine turns what a node logged into spans: the colours of a white list become classes, links are http or https,
// everything else is text (U32). size is the length of the whole event if content is only its beginning, else 0.
func ParseLogLine(num int64, content string, size ...int) LogLine {
	line := LogLine{Num: num}
	content = strings.TrimRight(content, "\r\n")
	if len(size) > 0 && size[0] > len(content) {
		line.Cut = size[0]
	}
	if len(content) > maxLogLine {
		line.Cut = max(line.Cut, len(content))
		content = cutLog(content, maxLogLine)
	}
	var look ansi
	var plain strings.Builder
	for rest := content; rest != ""; {
		text, seq, after := nextEscape(rest)
		if text = printable(text); text != "" {
			plain.WriteString(text)
			line.Spans = append(line.Spans, LogSpan{Class: look.class(), Text: text})
		}
		look.apply(seq)
		rest = after
	}
	head := plain.String()
	line.Level = levelOf(head)
	line.takeHead(head)
	line.fold()
	line.Spans, line.More = linkAll(line.Spans), linkAll(line.More)
	return line
}

// PlainLog is a line as a file has it: whole, without colours, in one character set.
func PlainLog(content string) string {
	var b strings.Builder
	for rest := strings.TrimRight(content, "\r\n"); rest != ""; {
		text, _, after := nextEscape(rest)
		b.WriteString(printable(text))
		rest = after
	}
	return b.String()
}

// Text is the line as people read it, without colours.
func (l LogLine) Text() string {
	var b strings.Builder
	for _, s := range l.Spans {
		b.WriteString(s.Text)
	}
	for _, s := range l.More {
		b.WriteString(s.Text)
	}
	return b.String()
}

// cutLog returns at most n bytes that do not end inside a character.
func cutLog(s string, n int) string {
	s = s[:n]
	for i := 1; i <= min(utf8.UTFMax, len(s)); i++ {
		if at := len(s) - i; utf8.RuneStart(s[at]) {
			if !utf8.FullRuneInString(s[at:]) {
				return s[:at]
			}
			break
		}
	}
	return s
}

// printable replaces what must not reach a page: invalid bytes, one by one, control characters other than tab and line feed, and those
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
	}, s)
}

// takeHead moves the time at the beginning of a line to its own field, and the level after it.
func (l *LogLine) takeHead(plain string) {
	at, zoned, n := timeAtHead(plain)
	if n == 0 {
		l.Time, l.Zoned = timeInside(plain)
		return
	}
	l.Time, l.Zoned = at, zoned
	if m := headLevel.FindStringSubmatchIndex(plain[n:]); m != nil && l.Level != "" {
		word := m[2:4]
		if word[0] < 0 {
			word = m[4:6]
		}
		if name := plain[n+word[0] : n+word[1]]; normalLevel(name) == l.Level {
			n += m[1]
		}
	}
	for n < len(plain) && (plain[n] == ' ' || plain[n] == '\t') {
		n++
	}
	l.drop(n)
}

// drop takes n bytes off the beginning.
func (l *LogLine) drop(n int) {
	for len(l.Spans) > 0 && n > 0 {
		first := &l.Spans[0]
		if len(first.Text) > n {
			first.Text = first.Text[n:]
			return
		}
		n -= len(first.Text)
		l.Spans = l.Spans[1:]
	}
}

// fold puts the end of an event of many lines aside.
func (l *LogLine) fold() {
	lines := 0
	for _, s := range l.Spans {
		lines += strings.Count(s.Text, "\n")
	}
	if lines < foldAfter {
		return
	}
	seen := 0
	for i, s := range l.Spans {
		for at := 0; ; {
			next := strings.IndexByte(s.Text[at:], '\n')
			if next < 0 {
				break
			}
			at += next + 1
			if seen++; seen < unfolded {
				continue
			}
			l.More = append([]LogSpan{{Class: s.Class, Text: s.Text[at:]}}, l.Spans[i+1:]...)
			if l.More[0].Text == "" {
				l.More = l.More[1:]
			}
			l.Spans = append(l.Spans[:i:i], LogSpan{Class: s.Class, Text: s.Text[:at-1]})
			l.Folded = lines + 1 - unfolded
			return
		}
	}
}

func linkAll(spans []LogSpan) []LogSpan {
	var out []LogSpan
	for _, s := range spans {
		out = appendLinked(out, s.Class, s.Text)
	}
	return out
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
	if m := logLevel.FindString(s); m != "" {
		return normalLevel(m)
	}
	if m := namedLevel.FindStringSubmatch(s); m != nil {
		return normalLevel(strings.ToUpper(m[1]))
	}
	return ""
}

func normalLevel(name string) string {
	if same, ok := levelNames[name]; ok {
		return same
	}
	return name
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
