package views

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Num writes a whole number with a separator for thousands: 11,204.
func Num[I int | int64](n I) string {
	s := strconv.FormatInt(int64(n), 10)
	digits := strings.TrimPrefix(s, "-")
	var b strings.Builder
	for i, r := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return strings.TrimSuffix(s, digits) + b.String()
}

// Ago says how long before now t was, in the largest unit that fits: "3 s ago". The zero time is "never"; a time that
// lies ahead, as clocks do differ, counts as now.
func Ago(ctx context.Context, t time.Time) string {
	if t.IsZero() {
		return T(ctx, "time.never")
	}
	return T(ctx, "time.ago", "span", Span(ctx, FrameOf(ctx).Now.Sub(t)))
}

// Span writes a duration in its largest whole unit: "3 s", "6 min", "2 h", "41 d".
func Span(ctx context.Context, d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return T(ctx, "time.s", "n", int64(d/time.Second))
	case d < time.Hour:
		return T(ctx, "time.min", "n", int64(d/time.Minute))
	case d < 48*time.Hour:
		return T(ctx, "time.h", "n", int64(d/time.Hour))
	}
	return T(ctx, "time.d", "n", Num(int64(d/(24*time.Hour))))
}

// Precise says how long something has lasted that began at t, with tenths of a second below a minute: "4.1 s".
func Precise(ctx context.Context, t time.Time) string {
	d := max(FrameOf(ctx).Now.Sub(t), 0)
	if d >= time.Minute {
		return Span(ctx, d)
	}
	return T(ctx, "time.s", "n", strconv.FormatFloat(d.Seconds(), 'f', 1, 64))
}

// Exact writes t in the viewer's zone with the zone named: "2026-12-01 14:32:05 UTC+8"; the zero time is "never".
func Exact(ctx context.Context, t time.Time) string {
	if t.IsZero() {
		return T(ctx, "time.never")
	}
	return Clock(ctx, t) + " " + zoneLabel(ctx)
}

// Clock is Exact without the zone, for tables that name it once.
func Clock(ctx context.Context, t time.Time) string {
	if t.IsZero() {
		return T(ctx, "time.never")
	}
	return t.In(zoneOf(FrameOf(ctx))).Format("2006-01-02 15:04:05")
}

// Bytes writes a size: "412 B", "5.1 KB", "3.0 MB" (units of 1,024).
func Bytes(n int) string {
	switch {
	case n < 1<<10:
		return strconv.Itoa(n) + " B"
	case n < 1<<20:
		return strconv.FormatFloat(float64(n)/(1<<10), 'f', 1, 64) + " KB"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MB"
}
