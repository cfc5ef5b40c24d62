// Package loop runs periodic work under one owner: a failed or panicking round is logged and counted, never the end of the loop.
package loop

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"runtime/debug"
	"time"
)

// Observer hears of each finished round; telemetry counts it. Nil is allowed everywhere.
type Observer interface {
	// Round is called once a round with how long it took and what it returned.
	Round(name string, took time.Duration, err error)
}

type observerKey struct{}

// WithObserver returns a context whose loops report to o.
func WithObserver(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// Every runs work for the first time after offset and then every interval until ctx ends, and returns nil then.
// Rounds never overlap: one that takes longer than interval delays the next. A panic is that round's error.
func Every(ctx context.Context, name string, offset, interval time.Duration, work func(context.Context) error) error {
	if interval <= 0 {
		return fmt.Errorf("loop %s: interval %s is not positive", name, interval)
	}
	timer := time.NewTimer(offset)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		Once(ctx, name, work)
		timer.Reset(interval)
	}
}

// Aligned is Every on wall-clock multiples of interval: all replicas run at the same moments.
func Aligned(ctx context.Context, name string, interval time.Duration, work func(context.Context) error) error {
	if interval <= 0 {
		return fmt.Errorf("loop %s: interval %s is not positive", name, interval)
	}
	timer := time.NewTimer(untilMultiple(time.Now(), interval))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		Once(ctx, name, work)
		timer.Reset(untilMultiple(time.Now(), interval))
	}
}

// Once runs one round: a panic becomes its error, an error is logged once and reported to the context's Observer.
func Once(ctx context.Context, name string, work func(context.Context) error) {
	start := time.Now()
	err := guarded(ctx, work)
	if o, ok := ctx.Value(observerKey{}).(Observer); ok && o != nil {
		o.Round(name, time.Since(start), err)
	}
	if err != nil && ctx.Err() == nil {
		slog.ErrorContext(ctx, "round failed", "loop", name, "error", err)
	}
}

// Offset spreads loops of one interval over it: a stable fraction of interval made from name.
func Offset(name string, interval time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // a hash never fails
	return time.Duration(int64(interval) * int64(h.Sum32()%1000) / 1000)
}

func guarded(ctx context.Context, work func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return work(ctx)
}

func untilMultiple(now time.Time, interval time.Duration) time.Duration {
	return now.Truncate(interval).Add(interval).Sub(now)
}
