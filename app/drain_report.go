package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// drainStatus is what the API says of an instance; the rest of it is passed on as it came.
type drainStatus struct {
	InstanceID string          `json:"instanceId"`
	Locations  []string        `json:"locations"`
	State      string          `json:"state"`
	InFlight   int             `json:"inFlight"`
	Streams    int             `json:"streams"`
	Oldest     *time.Time      `json:"oldest"`
	Known      bool            `json:"known"`
	SafeToStop bool            `json:"safeToStop"`
	Drain      json.RawMessage `json:"drain"`
}

type nodeStatus struct {
	Instances []drainStatus `json:"instances"`
	Away      []string      `json:"away"`
}

// all are the instances, also those of which is known no more than that they are away.
func (s nodeStatus) all() []drainStatus {
	out := slices.Clone(s.Instances)
	for _, id := range s.Away {
		out = append(out, drainStatus{InstanceID: id})
	}
	return out
}

// drainReport is what -o json prints. An instance that left meanwhile is named in Left; one that is only not registered at this
// moment, and may still work, in Away.
type drainReport struct {
	Node       string        `json:"node"`
	Instances  []drainStatus `json:"instances"`
	Left       []string      `json:"left"`
	Away       []string      `json:"away"`
	InFlight   int           `json:"inFlight"`
	Streams    int           `json:"streams"`
	Oldest     *time.Time    `json:"oldest"`
	Known      bool          `json:"known"`
	SafeToStop bool          `json:"safeToStop"`
}

// reportOf sums up what is said now of these instances; others of the node, which came later, are no business of ours.
func (d *drainer) reportOf(these, now []drainStatus, away ...string) drainReport {
	r := drainReport{Node: d.node, Instances: []drainStatus{}, Left: []string{}, Away: []string{}, Known: true, SafeToStop: true}
	for _, wanted := range these {
		i := slices.IndexFunc(now, func(s drainStatus) bool { return s.InstanceID == wanted.InstanceID })
		if i < 0 && slices.Contains(away, wanted.InstanceID) {
			r.Away, r.Known, r.SafeToStop = append(r.Away, wanted.InstanceID), false, false
			continue
		} else if i < 0 {
			r.Left = append(r.Left, wanted.InstanceID)
			continue
		}
		s := now[i]
		r.Instances = append(r.Instances, s)
		r.InFlight, r.Streams = r.InFlight+s.InFlight, r.Streams+s.Streams
		r.Known, r.SafeToStop = r.Known && s.Known, r.SafeToStop && s.SafeToStop
		if s.Oldest != nil && (r.Oldest == nil || s.Oldest.Before(*r.Oldest)) {
			r.Oldest = s.Oldest
		}
	}
	return r
}

// say prints a line when there is something new to say.
func (d *drainer) say(r drainReport, failed error) {
	counts := fmt.Sprint(r.InFlight, r.Streams, r.Known, len(r.Left), len(r.Away), failed)
	if counts == d.said {
		return
	}
	d.said = counts
	if failed != nil {
		fmt.Fprintf(d.progress, "the server does not answer, trying again: %v\n", failed)
		return
	}
	fmt.Fprintln(d.progress, progressOf(r, time.Now()))
}

func progressOf(r drainReport, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "in flight %d", r.InFlight)
	switch {
	case r.Streams == 1:
		b.WriteString(" (1 stream)")
	case r.Streams > 1:
		fmt.Fprintf(&b, " (%d streams)", r.Streams)
	}
	if r.Oldest != nil {
		fmt.Fprintf(&b, ", oldest %.1f s", max(0, now.Sub(*r.Oldest).Seconds()))
	}
	if len(r.Away) > 0 {
		fmt.Fprintf(&b, ", not registered at this moment: %s", strings.Join(r.Away, ", "))
	} else if !r.Known {
		b.WriteString(", a replica of the server has not told its number")
	}
	if len(r.Left) > 0 {
		fmt.Fprintf(&b, ", left: %s", strings.Join(r.Left, ", "))
	}
	return b.String()
}

func (d *drainer) print(r drainReport) error {
	if d.output == "json" {
		return json.NewEncoder(d.out).Encode(r)
	}
	state := "drains"
	if r.SafeToStop {
		state = "is safe to stop"
	}
	_, err := fmt.Fprintf(d.out, "%s %s: %s\n", d.subject(), state, progressOf(r, time.Now()))
	return err
}

func (d *drainer) subject() string {
	if d.instance == "" {
		return d.node
	}
	return fmt.Sprintf("%s of %s", d.instance, d.node)
}
