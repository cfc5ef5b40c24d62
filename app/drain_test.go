package main

import (
	"encoding/base64"
	"testing"
	"time"
)

func TestProgressOf(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	begun := now.Add(-4100 * time.Millisecond)
	for want, r := range map[string]drainReport{
		"in flight 3, oldest 4.1 s":                                    {InFlight: 3, Oldest: &begun, Known: true},
		"in flight 2 (1 stream), oldest 4.1 s":                         {InFlight: 2, Streams: 1, Oldest: &begun, Known: true},
		"in flight 2 (2 streams)":                                      {InFlight: 2, Streams: 2, Known: true},
		"in flight 0, a replica of the server has not told its number": {},
		"in flight 0, left: a, b":                                      {Known: true, Left: []string{"a", "b"}},
	} {
		if got := progressOf(r, now); got != want {
			t.Errorf("progress of %+v is %q, want %q", r, got, want)
		}
	}
}

// TestReportOf: what came after the order is no part of it, what left needs no waiting for.
func TestReportOf(t *testing.T) {
	d := &drainer{node: "orders"}
	these := []drainStatus{{InstanceID: "a"}, {InstanceID: "b"}}
	r := d.reportOf(these, []drainStatus{{InstanceID: "b", InFlight: 2, Known: true}, {InstanceID: "new", InFlight: 9, Known: true}})
	if r.InFlight != 2 || len(r.Left) != 1 || r.Left[0] != "a" || r.SafeToStop || !r.Known {
		t.Errorf("report %+v, want b alone", r)
	}
	if r = d.reportOf(these, nil); !r.SafeToStop || len(r.Left) != 2 {
		t.Errorf("report %+v of instances that all left, want it safe", r)
	}
}

// TestTransfer: a password is sent as it is unless the server would take it for an encoded one.
func TestTransfer(t *testing.T) {
	if got := transfer("correct-horse-9"); got != "correct-horse-9" {
		t.Errorf("sent as %q", got)
	}
	thrice := "pass word"
	for range 3 {
		thrice = base64.StdEncoding.EncodeToString([]byte(thrice))
	}
	if got := transfer(thrice); got == thrice {
		t.Error("a password that looks encoded would be decoded")
	}
}
