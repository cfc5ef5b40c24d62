package main

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestParseCPU(t *testing.T) {
	const stat = "77 (a name) with (brackets) S 1 77 77 0 -1 4194304 1 0 0 0 250 31 0 0 20 0 12 0 100 1 1\n"
	got, err := parseCPU(stat)
	if err != nil || got != 2810*time.Millisecond {
		t.Errorf("parseCPU = %v %v, want 2.81 s: 250 + 31 ticks of 10 ms", got, err)
	}
	if _, err := parseCPU("77 (x) S 1"); err == nil {
		t.Error("a line without times was read")
	}
}

func TestParseResident(t *testing.T) {
	got, err := parseResident("Name:\tx\nVmPeak:\t  9 kB\nVmRSS:\t    2048 kB\n")
	if err != nil || got != 2<<20 {
		t.Errorf("parseResident = %v %v, want 2 MiB", got, err)
	}
	if _, err := parseResident("Name:\tx\n"); err == nil {
		t.Error("a status without VmRSS was read")
	}
}

// A turn counts requests, time and processor of its slice, and says when a request fails.
func TestTurn(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	s := &side{process: &process{cmd: cmd, log: "x.log"}, client: newClient(server.URL, "token", 0)}
	if err := s.turn(t.Context(), 2, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if s.requests == 0 || len(s.rate) != 1 || s.rate[0] <= 0 || len(s.p50) != 1 || s.p99[0] < s.p50[0] {
		t.Errorf("after a turn: %d requests, rate %v, p50 %v, p99 %v", s.requests, s.rate, s.p50, s.p99)
	}
	status = http.StatusServiceUnavailable
	if err := s.turn(t.Context(), 1, 10*time.Millisecond); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("a turn of failures = %v, want the status", err)
	}
}

func TestVerdict(t *testing.T) {
	for name, tt := range map[string]struct {
		row  row
		want string
	}{
		"a fifth is allowed":         {row{ours: 2, base: 10, limit: 0.2}, "ok"},
		"more than a fifth":          {row{ours: 2.1, base: 10, limit: 0.2}, "over"},
		"a rate below the other's":   {row{ours: 9, base: 10, limit: 1, atLeast: true}, "over"},
		"rounds count, not the sums": {row{ours: 9, base: 10, paired: []float64{3, 3, 0.1}, limit: 1, atLeast: true}, "ok"},
		"nothing was measured":       {row{ours: 0, base: 0, limit: 1}, "over"},
	} {
		if got := tt.row.verdict(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
