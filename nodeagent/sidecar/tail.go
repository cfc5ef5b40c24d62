package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"eruptcloud/nodeagent"
)

const (
	tailPoll     = 500 * time.Millisecond
	tailStart    = 64 << 10 // bytes of what is in the file already that are shown
	tailChunk    = 32 << 10
	maxTailEvent = 16 << 10 // the ring cuts earlier
)

// tail follows a log file through rotation, truncation and absence.
type tail struct {
	path string
	ring *nodeagent.LogRing

	file    *os.File
	opened  bool   // a file has been seen before: the next one is a rotation, read from its start
	offset  int64  // how far file was read
	partial []byte // a line without its end
	event   []byte // lines that belong together: a line and what is indented below it
}

// run follows the file until ctx ends.
func (t *tail) run(ctx context.Context) {
	ticker := time.NewTicker(tailPoll)
	defer ticker.Stop()
	for {
		t.pollOnce(ctx)
		select {
		case <-ctx.Done():
			t.close()
			return
		case <-ticker.C:
		}
	}
}

// pollOnce reads what is new.
func (t *tail) pollOnce(ctx context.Context) {
	now, err := os.Stat(t.path)
	switch {
	case err != nil && t.file == nil:
		return // not there yet, or not any more
	case t.file == nil:
		t.open(now)
	case err != nil || !t.same(now):
		t.read(ctx) // the last lines of the old file
		t.close()
		if err == nil {
			t.open(now)
		}
	case now.Size() < t.offset:
		t.flush()
		t.ring.Append("--- " + t.path + " was truncated ---")
		t.offset = 0
	}
	t.read(ctx)
	t.flush()
}

func (t *tail) same(now os.FileInfo) bool {
	have, err := t.file.Stat()
	return err == nil && os.SameFile(have, now)
}

func (t *tail) open(info os.FileInfo) {
	file, err := os.Open(t.path)
	if err != nil {
		return // the next poll tries again
	}
	t.file, t.offset, t.partial = file, 0, nil
	if t.opened {
		t.ring.Append("--- " + t.path + " was rotated ---")
	} else if info.Size() > tailStart {
		t.offset = info.Size() - tailStart
		t.skipLine()
	}
	t.opened = true
}

// skipLine moves to the next line: the first one after a jump into the middle of a file is cut.
func (t *tail) skipLine() {
	buf := make([]byte, tailStart)
	n, _ := t.file.ReadAt(buf, t.offset)
	if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
		t.offset += int64(i) + 1
	}
}

func (t *tail) close() {
	t.flush()
	if t.file != nil {
		_ = t.file.Close() // it was only read
		t.file = nil
	}
}

// read takes everything up to the end of the file.
func (t *tail) read(ctx context.Context) {
	if t.file == nil {
		return
	}
	buf := make([]byte, tailChunk)
	for ctx.Err() == nil {
		n, err := t.file.ReadAt(buf, t.offset)
		t.offset += int64(n)
		t.take(buf[:n])
		if err != nil || n == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				_ = t.file.Close()
				t.file = nil // broken; the next poll opens it anew
			}
			return
		}
	}
}

// take splits bytes into lines, and lines into events.
func (t *tail) take(p []byte) {
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if room := maxTailEvent - len(t.partial); len(line) > room {
			line = line[:max(room, 0)]
		}
		t.partial = append(t.partial, line...)
		if !ended {
			return
		}
		t.line(t.partial)
		t.partial = t.partial[:0]
		p = rest
	}
}

// line adds a line to the event in progress if it is indented or goes on with a cause, as in stack traces; else it begins a new one.
func (t *tail) line(line []byte) {
	follows := len(line) > 0 && (line[0] == ' ' || line[0] == '\t') || bytes.HasPrefix(line, []byte("Caused by:"))
	if !follows || len(t.event)+len(line) > maxTailEvent {
		t.flush()
	} else {
		t.event = append(t.event, '\n')
	}
	t.event = append(t.event, line...)
}

// flush hands over the event in progress.
func (t *tail) flush() {
	if len(t.event) > 0 {
		t.ring.Append(string(t.event))
		t.event = t.event[:0]
	}
}
