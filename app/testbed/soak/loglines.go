package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"eruptcloud/app/sim"
)

// grace is how long after its end a fault may still show in the log: a patrol every two minutes, a beat, and some.
const grace = 3 * time.Minute

// fault is one injected fault with everything that a line about it could name.
type fault struct {
	sim.Event
	until time.Time
	names []string
}

// readFaults pairs the begins and ends of a file of events.
func readFaults(file string) (faults []*fault, surprises []sim.Event, summary *sim.Counts, err error) {
	open := map[string]*fault{} // by node and first instance id
	err = eachLine(file, func(line []byte) {
		var e sim.Event
		if json.Unmarshal(line, &e) != nil {
			return
		}
		key := e.Node + " " + string(e.Fault)
		switch e.Event {
		case sim.EventBegin:
			f := &fault{Event: e, until: e.At.Add(24 * time.Hour)}
			f.name(e)
			faults = append(faults, f)
			open[key+" "+e.Location] = f
		case sim.EventEnd:
			f := open[key+" "+e.Location]
			if f == nil { // a new process has another address
				for k, one := range open {
					if strings.HasPrefix(k, key+" ") {
						f = one
					}
				}
			}
			if f != nil {
				f.until = e.At
				f.name(e)
				delete(open, key+" "+f.Location)
			}
		case sim.EventSurprise:
			surprises = append(surprises, e)
		case sim.EventSummary:
			summary = e.Counts
		}
	})
	return faults, surprises, summary, err
}

func (f *fault) name(e sim.Event) {
	for _, n := range []string{e.Node, e.Instance, e.Location, e.Other} {
		if n != "" && !slices.Contains(f.names, n) {
			f.names = append(f.names, n)
		}
	}
}

// explains reports whether a line of the log at a time can be about the fault.
func (f *fault) explains(line string, at time.Time) bool {
	if at.Before(f.At.Add(-time.Second)) || at.After(f.until.Add(grace)) {
		return false
	}
	return slices.ContainsFunc(f.names, func(n string) bool { return strings.Contains(line, n) })
}

// verdict sums up the warnings and errors of a log.
type verdict struct {
	explained   map[string]int // by message
	starved     map[string]int // when this machine had no time for its processes
	unexplained []string
}

// judgeLog compares the warnings and errors of a log with the faults. starved tells whether the machine had no time at a moment.
func judgeLog(log string, faults []*fault, starved func(time.Time) bool) (verdict, error) {
	v := verdict{explained: map[string]int{}, starved: map[string]int{}}
	err := eachLine(log, func(raw []byte) {
		var l struct {
			Time       time.Time
			Level, Msg string
		}
		if json.Unmarshal(raw, &l) != nil {
			v.unexplained = append(v.unexplained, shorten(string(raw))) // a panic, or something that bypasses the log
			return
		}
		if l.Level != "WARN" && l.Level != "ERROR" {
			return
		}
		line := string(raw)
		switch {
		case slices.ContainsFunc(faults, func(f *fault) bool { return f.explains(line, l.Time) }):
			v.explained[l.Level+" "+l.Msg]++
		case starved(l.Time):
			v.starved[l.Level+" "+l.Msg]++
		default:
			v.unexplained = append(v.unexplained, shorten(line))
		}
	})
	return v, err
}

func shorten(s string) string {
	if len(s) > 500 {
		return s[:500] + "…"
	}
	return s
}

func counted(m map[string]int) string {
	words := make([]string, 0, len(m))
	for k, n := range m {
		words = append(words, fmt.Sprintf("%d × %s", n, k))
	}
	slices.Sort(words)
	return strings.Join(words, "; ")
}

func eachLine(file string, do func([]byte)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 1<<20), 16<<20)
	for lines.Scan() {
		if len(lines.Bytes()) > 0 {
			do(lines.Bytes())
		}
	}
	return lines.Err()
}
