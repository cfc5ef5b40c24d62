package main

import (
	"cmp"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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
		"in flight 0, not registered at this moment: a":                {Away: []string{"a"}},
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
	if r = d.reportOf(these, nil, "a", "other"); r.SafeToStop || r.Known || len(r.Left) != 1 || len(r.Away) != 1 || r.Away[0] != "a" {
		t.Errorf("report %+v while a is away, want it unsafe", r)
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

// TestDrainWaitsForWhatIsAway: an instance that is not registered at the moment may still work, and a node of which nothing is
// registered was not drained at all; no script may take either for safe to stop (D12).
func TestDrainWaitsForWhatIsAway(t *testing.T) {
	const isAway, isGone, none = `{"instances":[],"away":["i1"]}`, `{"instances":[],"away":[]}`, `{"items":[]}`
	for name, tt := range map[string]struct {
		answers       []string // to the order, and then to each question
		events, later string   // drains called off: at first, and in the end; empty: the account may not see them
		code          int
		out           string
	}{
		"nothing is registered":    {[]string{`{"instances":[],"away":[]}`}, none, "", exitNotFound, ""},
		"away, and leaves":         {[]string{isAway, isAway, isGone, isGone}, none, "", 0, "is safe to stop: in flight 0, left: i1\n"},
		"away, comes back, leaves": {[]string{isAway, `{"instances":[{"instanceId":"i1","state":"draining","known":true,"safeToStop":true}],"away":[]}`}, none, "", 0, "is safe to stop: in flight 0\n"},
		"called off while away":    {[]string{isAway, isAway, isGone, isGone}, `{"items":[{"id":3}]}`, `{"items":[{"id":8}]}`, exitRefused, ""},
		"called off once before":   {[]string{isAway, isAway, isGone, isGone}, `{"items":[{"id":3}]}`, `{"items":[{"id":3}]}`, 0, "left: i1\n"},
		"who knows why":            {[]string{isAway, isAway, isGone, isGone}, "", "", exitRefused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/events") {
					events := tt.events
					if asked > 2 {
						events = cmp.Or(tt.later, events)
					}
					if events == "" {
						w.WriteHeader(http.StatusForbidden)
						events = `{"code":"forbidden","message":"this needs the permission CloudNode"}`
					}
					_, _ = io.WriteString(w, events)
					return
				}
				_, _ = io.WriteString(w, tt.answers[min(asked, len(tt.answers)-1)])
				asked++
			}))
			defer srv.Close()
			var out strings.Builder
			d := &drainer{
				drainOptions: drainOptions{wait: true, force: true, output: "text", timeout: time.Minute},
				api:          &client{base: srv.URL, http: srv.Client()}, node: "orders", out: &out, progress: io.Discard,
			}
			err := drainExit(t.Context(), d.run(t.Context()))
			var exit exitError
			if errors.As(err, &exit) && exit.code != tt.code || err == nil && tt.code != 0 {
				t.Errorf("ended with %v, want exit code %d", err, tt.code)
			}
			if asked != len(tt.answers) || !strings.HasSuffix(out.String(), tt.out) {
				t.Errorf("asked %d times and said %q, want %d and %q", asked, out.String(), len(tt.answers), tt.out)
			}
		})
	}
}

// TestDrainTellsAWrongAddress: what answers 404 to everything is no server of ours, or has another base path.
func TestDrainTellsAWrongAddress(t *testing.T) {
	for name, tt := range map[string]struct {
		base string
		code int
	}{
		"no such node": {"/ops", exitNotFound}, "no base path": {"", exitNoConnection}, "another base path": {"/fleet", exitNoConnection},
		"something else": {"/other", exitNoConnection},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == "/ops/livez":
				case strings.HasPrefix(r.URL.Path, "/other/"):
					_, _ = io.WriteString(w, "<html>hello")
				default:
					w.WriteHeader(http.StatusNotFound)
					_, _ = io.WriteString(w, `{"code":"not_found","message":"nothing is at this address"}`)
				}
			}))
			defer srv.Close()
			c := newDrain(&settings{})
			c.SetArgs([]string{"orders", "--server", srv.URL + tt.base, "--token", "t"})
			c.SilenceErrors, c.SilenceUsage = true, true
			err := c.ExecuteContext(t.Context())
			if got := exitCode(err); got != tt.code || tt.code == exitNoConnection && !strings.Contains(err.Error(), "base path") {
				t.Errorf("exit code %d with %v, want %d", got, err, tt.code)
			}
		})
	}
}

// TestDrainRefusesWhatNobodyMeant: a script whose variable is empty does not drain the whole node.
func TestDrainRefusesWhatNobodyMeant(t *testing.T) {
	for want, args := range map[string][]string{"--instance is empty": {"--instance", ""}, "want 0 or more": {"--timeout=-5s"}} {
		c := newDrain(&settings{})
		c.SetArgs(append([]string{"orders", "--server", "http://127.0.0.1:1", "--token", "t"}, args...))
		c.SilenceErrors, c.SilenceUsage = true, true
		err := c.ExecuteContext(t.Context())
		var usage usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want that %s", args, err, want)
		}
	}
}
