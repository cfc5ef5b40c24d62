package console

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
	"eruptcloud/nodeagent/wire"
	"eruptcloud/proxy"
	"eruptcloud/views"
)

// Bounds of reading: one answer of a node takes up to 2 MiB, so they are counted.
const (
	logReaders = 24 // answers read at a time, by all viewers together
	logWait    = 8 * time.Second
	logWaitOf  = 4 * time.Second // of one instance among several: it must not keep the others' lines back
)

// logGate counts answers that are being read.
var logGate = make(chan struct{}, logReaders)

// logView reads the log of one or several instances for one request.
type logView struct {
	p        *pages
	ctx      context.Context
	token    string
	node     string
	instance string // views.LogAll: all; empty: there is none
	charset  string
	all      []views.LogInstance
	chosen   []views.LogInstance // whose lines are read
	own      *ownLog             // what is read in place of a node's; nil: a node's
}

func (v *logView) merged() bool { return v.instance == views.LogAll }

// share is how many lines each instance may add to n.
func (v *logView) share(n int) int {
	if !v.merged() {
		return n
	}
	return max(2*n/max(len(v.chosen), 1), 60)
}

// reading is what one instance said.
type reading struct {
	views.LogSource
	lines []views.LogLine
}

// start reads the newest lines, or those around one line.
func (v *logView) start(line int64) views.LogChunk {
	chunk := v.each(func(s views.LogSource, in registry.Instance) reading {
		if line > 0 && !v.merged() {
			return v.around(s, in, line)
		}
		return v.tail(s, in, v.share(logShown))
	}, logShown)
	chunk.Line = line
	return chunk
}

// newer reads what came after known lines; instances without a known one are new here.
func (v *logView) newer(at map[string]int64) views.LogChunk {
	return v.each(func(s views.LogSource, in registry.Instance) reading {
		if at[s.ID] == 0 {
			return v.tail(s, in, v.share(logShown))
		}
		return v.after(s, in, at[s.ID], v.share(logPoll))
	}, 0)
}

// older reads what came before known lines.
func (v *logView) older(before map[string]int64) views.LogChunk {
	chunk := v.each(func(s views.LogSource, in registry.Instance) reading {
		return v.before(s, in, before[s.ID])
	}, logShown)
	chunk.Older = true
	return chunk
}

// each reads all chosen instances at once and merges what they said; of more than keep lines, if not 0, the newest stay.
func (v *logView) each(read func(views.LogSource, registry.Instance) reading, keep int) views.LogChunk {
	readings := make([]reading, len(v.chosen))
	now := v.registered()
	var work sync.WaitGroup
	for i, chosen := range v.chosen {
		readings[i].LogInstance = chosen
		at := slices.IndexFunc(now, func(in registry.Instance) bool { return in.ID == chosen.ID })
		switch {
		case at < 0 && v.own != nil:
			readings[i] = v.failed(readings[i].LogSource, v.own.elsewhere(chosen.ID))
			continue
		case at < 0:
			readings[i].Gone = true
			continue
		}
		work.Go(func() { readings[i] = read(readings[i].LogSource, now[at]) })
	}
	work.Wait()
	return v.merge(readings, keep)
}

// tail reads the newest lines.
func (v *logView) tail(s views.LogSource, in registry.Instance, show int) reading {
	lines, err := v.read(in, logBuffer, nil)
	if err != nil {
		return v.failed(s, err)
	}
	if len(lines) > 0 {
		s.Last = lines[len(lines)-1].Num
		if len(lines) < logBuffer {
			s.Oldest = lines[0].Num // all that there are came
		}
	}
	return v.shown(s, lines[max(len(lines)-show, 0):])
}

// after asks for the line before the last known one as well: an instance that still has it has not restarted. Asked for its
// newest line a node answers nothing, as does one whose counter began anew (erupt-wire 2.9).
func (v *logView) after(s views.LogSource, in registry.Instance, last int64, size int) reading {
	from := max(last-1, 0)
	lines, err := v.read(in, size, &from)
	if err != nil {
		return v.failed(s, err)
	}
	s.Last = last
	if len(lines) > 0 || last <= 1 {
		s.Again = len(lines) >= size
		return v.goOn(s, lines, last)
	}
	if lines, err = v.read(in, logBuffer, nil); err != nil {
		return v.failed(s, err)
	}
	switch newest := newest(lines); {
	case len(lines) == 0:
		s.Rotated, s.Last = true, 0 // emptied; what comes next may count from anywhere
		return reading{LogSource: s}
	case newest < last:
		s.Restarted, s.Oldest, s.Last = true, lines[0].Num, newest
		return v.shown(s, lines[max(len(lines)-size, 0):])
	}
	return v.goOn(s, lines, last)
}

// goOn keeps what is newer than last, and notices a gap.
func (v *logView) goOn(s views.LogSource, lines []wire.LogLine, last int64) reading {
	lines = slices.DeleteFunc(lines, func(l wire.LogLine) bool { return l.Num <= last })
	if len(lines) == 0 {
		return reading{LogSource: s}
	}
	if lost := lines[0].Num - last - 1; lost > 0 {
		s.Rotated, s.Lost = true, lost // the node's buffer turned over
		s.Oldest = lines[0].Num
	}
	s.Last = lines[len(lines)-1].Num
	return v.shown(s, lines)
}

// around reads a line with what stands before and after it.
func (v *logView) around(s views.LogSource, in registry.Instance, line int64) reading {
	from := max(line-logContext, 1)
	lines, err := v.read(in, logShown, &from)
	if err == nil && len(lines) == 0 {
		lines, err = v.read(in, logShown, nil) // it is the only one, or none is so new
	}
	if err != nil {
		return v.failed(s, err)
	}
	lines = lines[:min(len(lines), logShown)]
	s.Missing = !slices.ContainsFunc(lines, func(l wire.LogLine) bool { return l.Num == line })
	if len(lines) > 0 {
		s.Last = lines[len(lines)-1].Num
		if lines[0].Num > from {
			s.Oldest = lines[0].Num
		}
	}
	return v.shown(s, lines)
}

// before reads the lines before a known one.
func (v *logView) before(s views.LogSource, in registry.Instance, line int64) reading {
	s.First = line
	if line <= 1 {
		s.Oldest = line
		return reading{LogSource: s}
	}
	from := max(line-logShown, 1)
	lines, err := v.read(in, logShown, &from)
	if err != nil {
		return v.failed(s, err)
	}
	if len(lines) == 0 || lines[0].Num > from || from == 1 {
		s.Oldest = line // nothing before it, unless the next lines say so
	}
	lines = slices.DeleteFunc(lines, func(l wire.LogLine) bool { return l.Num >= line })
	if s.Oldest > 0 && len(lines) > 0 {
		s.Oldest = lines[0].Num
	}
	return v.shown(s, lines)
}

func (v *logView) failed(s views.LogSource, err error) reading {
	s.Failed = message(views.FrameOf(v.ctx).Lang, err)
	return reading{LogSource: s}
}

// shown turns what a node sent into lines for people.
func (v *logView) shown(s views.LogSource, lines []wire.LogLine) reading {
	r := reading{LogSource: s, lines: make([]views.LogLine, 0, len(lines))}
	for _, l := range lines {
		text, charset := decodeLog(l.Content, v.charset)
		line := views.ParseLogLine(l.Num, text, l.Size)
		line.Instance, line.Charset = s.ID, charset
		r.lines = append(r.lines, line)
	}
	return r
}

// read asks one instance, the lines in the order of their numbers.
func (v *logView) read(in registry.Instance, size int, offset *int64) ([]wire.LogLine, error) {
	wait := logWait
	if v.merged() {
		wait = logWaitOf
	}
	ctx, cancel := context.WithTimeout(v.ctx, wait)
	defer cancel()
	select {
	case logGate <- struct{}{}:
		defer func() { <-logGate }()
	case <-ctx.Done():
		return nil, fault.New(fault.Unavailable, "too many logs are being read at this moment")
	}
	if v.own != nil {
		return v.own.read(size, offset), nil
	}
	lines, err := v.p.Caller.Log(ctx, proxy.LogCall{Node: v.node, Location: first(in.Locations), Token: v.token, Size: size, Offset: offset})
	if err != nil {
		return nil, err
	}
	lines = slices.DeleteFunc(slices.Clone(lines), func(l wire.LogLine) bool { return l.Num < 0 })
	slices.SortStableFunc(lines, func(a, b wire.LogLine) int { return cmp.Compare(a.Num, b.Num) })
	return slices.CompactFunc(lines, func(a, b wire.LogLine) bool { return a.Num == b.Num }), nil
}

// text is the whole buffer of each instance as a file, or one line of it.
func (v *logView) text(line int64) ([]byte, error) {
	type item struct {
		who, text string
		at        time.Time
	}
	var items []item
	for _, chosen := range v.chosen {
		in, err := v.find(chosen.ID)
		if err != nil {
			return nil, err
		}
		var offset *int64
		if line > 0 {
			from := max(line-1, 0)
			offset = &from
		}
		lines, err := v.read(in, logBuffer, offset)
		if err != nil {
			if v.merged() {
				continue // the others' lines are worth having
			}
			return nil, err
		}
		var at time.Time
		for _, l := range lines {
			if line > 0 && l.Num != line {
				continue
			}
			text, _ := decodeLog(l.Content, v.charset)
			if parsed := views.ParseLogLine(l.Num, text); parsed.Time.After(at) {
				at = parsed.Time
			}
			text = views.PlainLog(text)
			if l.Size > len(text) {
				text += " (" + strconv.Itoa(l.Size) + " bytes)" // what the node sent and nobody kept
			}
			items = append(items, item{chosen.Short, text, at})
		}
	}
	slices.SortStableFunc(items, func(a, b item) int { return a.at.Compare(b.at) })
	switch {
	case line > 0 && len(items) == 0 && v.own != nil:
		return nil, fault.New(fault.NotFound, "the server does not keep line %d any more", line)
	case line > 0 && len(items) == 0:
		return nil, fault.New(fault.NotFound, "line %d is not on the node any more", line)
	}
	var b bytes.Buffer
	for _, i := range items {
		if v.merged() {
			b.WriteString(i.who + "  ")
		}
		b.WriteString(i.text)
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

// message is what an error of the proxy or of ours says to people.
func message(lang string, err error) string {
	var f *proxy.Failure
	if errors.As(err, &f) {
		return views.Translate(lang, f.Format, f.Args...)
	}
	own := fault.Of(err)
	return views.Translate(lang, own.Format, own.Args...)
}

func newest(lines []wire.LogLine) int64 {
	var n int64
	for _, l := range lines {
		n = max(n, l.Num)
	}
	return n
}
