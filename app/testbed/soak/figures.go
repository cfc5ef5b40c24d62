package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// trend is a straight line through values over time.
type trend struct {
	mean  float64
	perH  float64       // change per hour
	over  time.Duration // from the first value to the last
	grown float64       // along the line, as a part of the mean
}

// trendOf fits the line by least squares.
func trendOf(all []sample, value func(sample) float64) trend {
	if len(all) < 2 {
		return trend{}
	}
	var sx, sy, sxx, sxy float64
	for _, s := range all {
		x, y := s.at.Sub(all[0].at).Hours(), value(s)
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	n := float64(len(all))
	t := trend{mean: sy / n, over: all[len(all)-1].at.Sub(all[0].at)}
	if d := n*sxx - sx*sx; d > 0 {
		t.perH = (n*sxy - sx*sy) / d
	}
	if t.mean > 0 {
		t.grown = t.perH * t.over.Hours() / t.mean
	}
	return t
}

// secondHalf returns the samples of the second half of the time.
func secondHalf(all []sample) []sample {
	if len(all) == 0 {
		return nil
	}
	middle := all[0].at.Add(all[len(all)-1].at.Sub(all[0].at) / 2)
	i, _ := slices.BinarySearchFunc(all, middle, func(s sample, t time.Time) int { return s.at.Compare(t) })
	return all[i:]
}

// percentile returns the value below which p of all lie; all need not be sorted.
func percentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(float64(len(sorted))*p), len(sorted)-1)]
}

// table is the report: what was measured, what it may be at most, and whether it is.
type table struct {
	rows [][4]string
	over int
}

func (t *table) row(what, measured, limit string, ok bool) {
	verdict := "ok"
	if !ok {
		verdict = "OVER"
		t.over++
	}
	t.rows = append(t.rows, [4]string{what, measured, limit, verdict})
}

// note is a row without a limit.
func (t *table) note(what, measured string) {
	t.rows = append(t.rows, [4]string{what, measured, "", ""})
}

func (t *table) print(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "what\tmeasured\tlimit\t")
	for _, r := range t.rows {
		fmt.Fprintln(out, strings.Join(r[:], "\t"))
	}
	_ = out.Flush()
	fmt.Fprintf(w, "%d over the limit\n", t.over)
}

func mib(bytes float64) string    { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }
func percent(part float64) string { return fmt.Sprintf("%+.1f %%", 100*part) }
func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
func rounded(d time.Duration) string { return d.Round(time.Second).String() }
func heapOf(s sample) float64        { return s.heap }
func rssOf(s sample) float64         { return s.rss }
