package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestTrend(t *testing.T) {
	var all []sample
	for i := range 61 {
		all = append(all, sample{at: noon.Add(time.Duration(i) * time.Minute), heap: 1000 + float64(i)})
	}
	got := trendOf(all, heapOf)
	if got.perH < 59.9 || got.perH > 60.1 || got.mean != 1030 || got.over != time.Hour {
		t.Errorf("trend = %+v, want 60 an hour around 1030", got)
	}
	if half := secondHalf(all); len(half) != 31 || !half[0].at.Equal(noon.Add(30*time.Minute)) {
		t.Errorf("the second half has %d samples", len(half))
	}
	if flat := trendOf(all[:1], heapOf); flat.grown != 0 {
		t.Errorf("one sample has the trend %+v", flat)
	}
}

func TestPercentile(t *testing.T) {
	var all []time.Duration
	for i := range 100 {
		all = append(all, time.Duration(100-i))
	}
	if p := percentile(all, 0.95); p != 96 {
		t.Errorf("p95 of 1 … 100 = %d", p)
	}
	if p := percentile(nil, 0.95); p != 0 {
		t.Errorf("p95 of nothing = %d", p)
	}
}

// TestJudgeLog holds that a line is explained by a fault that names something in it, at its time, and by nothing else.
func TestJudgeLog(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, lines ...string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	events := write("events.jsonl",
		`{"at":"2026-12-01T12:00:00Z","event":"begin","fault":"crash","node":"sim-0001","instance":"sim-1-1","location":"http://127.0.0.1:7001","for":"20s"}`,
		`{"at":"2026-12-01T12:00:20Z","event":"end","fault":"crash","node":"sim-0001","instance":"sim-1-2","location":"http://127.0.0.1:7002"}`,
		`{"at":"2026-12-01T12:30:00Z","event":"surprise","node":"sim-0002","status":502,"error":"x"}`,
		`{"at":"2026-12-01T13:00:00Z","event":"summary","counts":{"faults":{"crash":1},"changes":3,"visits":{"200":5}}}`)
	faults, surprises, counts, err := readFaults(events)
	if err != nil || len(faults) != 1 || len(surprises) != 1 || counts == nil || counts.Changes != 3 || len(faults[0].names) != 5 {
		t.Fatalf("readFaults = %v %v %+v, %v", faults, surprises, counts, err)
	}
	log := write("server.log",
		`{"time":"2026-12-01T12:00:10Z","level":"WARN","msg":"near","location":"http://127.0.0.1:7001"}`,
		`{"time":"2026-12-01T12:03:10Z","level":"ERROR","msg":"after it","instance":"sim-1-2"}`,
		`{"time":"2026-12-01T12:05:00Z","level":"WARN","msg":"too late","node":"sim-0001"}`,
		`{"time":"2026-12-01T11:59:00Z","level":"WARN","msg":"too early","node":"sim-0001"}`,
		`{"time":"2026-12-01T12:00:10Z","level":"WARN","msg":"another node","node":"sim-0002"}`,
		`{"time":"2026-12-01T12:40:00Z","level":"WARN","msg":"no time"}`,
		`{"time":"2026-12-01T12:00:10Z","level":"INFO","msg":"not judged"}`,
		`panic: of some goroutine`)
	v, err := judgeLog(log, faults, func(at time.Time) bool { return at.Equal(noon.Add(40 * time.Minute)) })
	if err != nil {
		t.Fatal(err)
	}
	if len(v.explained) != 2 || v.starved["WARN no time"] != 1 {
		t.Errorf("explained %v, starved %v", v.explained, v.starved)
	}
	all := strings.Join(v.unexplained, "\n")
	for _, want := range []string{"too late", "too early", "another node", "panic:"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q counts as explained", want)
		}
	}
	if len(v.unexplained) != 4 {
		t.Errorf("unexplained:\n%s", all)
	}
}

func TestPulse(t *testing.T) {
	p := &pulse{}
	p.note(noon, 2*time.Millisecond) // too little to note
	p.note(noon.Add(time.Minute), 50*time.Millisecond)
	p.note(noon.Add(2*time.Minute), time.Second)
	if p.starved(noon.Add(time.Minute)) || !p.starved(noon.Add(2*time.Minute+5*time.Second)) || p.starved(noon.Add(3*time.Minute)) {
		t.Error("starved is not the time around a pulse that was late by a second")
	}
	if !p.steady(noon, noon.Add(time.Second)) || p.steady(noon.Add(time.Minute-time.Millisecond), noon.Add(time.Minute)) {
		t.Error("steady is not the time without a late pulse")
	}
	if late, worst := p.state(); late != 1 || worst != time.Second {
		t.Errorf("late %d times, at worst %s", late, worst)
	}
}

// TestRegions holds that a console without a browser asks for what the page's script would ask for.
func TestRegions(t *testing.T) {
	r := region{topics: []string{"nodes", "group:shop"}, src: "/console/nodes?page=2"}
	for topic, want := range map[string]bool{"all": true, "node:crm": true, "group:shop": true, "group:other": false} {
		if got := r.concerned([]string{topic}); got != want {
			t.Errorf("%s concerns the region: %v", topic, got)
		}
	}
	if got := source("/console/nodes?q=x", "/console/nodes"); got != "/console/nodes?q=x" {
		t.Errorf("a search is refreshed from %s", got)
	}
	if got := source("/console/nodes/crm", "/console/nodes"); got != "/console/nodes" {
		t.Errorf("the navigation is refreshed from %s", got)
	}
}

func TestTable(t *testing.T) {
	var out strings.Builder
	var tab table
	tab.row("fine", "1", "2", true)
	tab.row("bad", "3", "2", false)
	tab.note("seen", "4")
	tab.print(&out)
	if text := out.String(); !strings.Contains(text, "OVER") || !strings.Contains(text, "1 over the limit") {
		t.Errorf("table:\n%s", text)
	}
}
