package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// row is one measurement as a ratio of two that were taken in the same run.
type row struct {
	what       string
	ours, base float64
	paired     []float64 // ratios of rounds that followed each other; empty: ours by base
	unit       string    // of both
	against    string    // what base is
	limit, aim float64
	atLeast    bool // limit and aim are lower bounds
}

type table struct {
	rows []row
	over bool
}

func (t *table) add(r row) {
	t.rows = append(t.rows, r)
	t.over = t.over || r.verdict() == "over"
}

func (r *row) ratio() float64 {
	switch {
	case r.base <= 0:
		return 0
	case len(r.paired) > 0:
		return median(r.paired)
	}
	return r.ours / r.base
}

func (r *row) verdict() string {
	ratio := r.ratio()
	switch {
	case r.base <= 0:
		return "over" // nothing was measured
	case r.atLeast && ratio < r.limit, !r.atLeast && ratio > r.limit:
		return "over"
	}
	return "ok"
}

func (t *table) print(w io.Writer) {
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(out, "measured\tours\tagainst\tratio\tlimit\taim\t") // what cannot be printed cannot be told either
	for i := range t.rows {
		r := &t.rows[i]
		sign, aim := "≤", ""
		if r.atLeast {
			sign = "≥"
		}
		if r.aim > 0 {
			aim = fmt.Sprintf("%s %.2f", sign, r.aim)
		}
		_, _ = fmt.Fprintf(out, "%s\t%s %s\t%s %s (%s)\t%.2f\t%s %.2f\t%s\t%s\n",
			r.what, number(r.ours), r.unit, number(r.base), r.unit, r.against, r.ratio(), sign, r.limit, aim, r.verdict())
	}
	_ = out.Flush()
}

func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}
