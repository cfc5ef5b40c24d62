package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// leadOnce takes or renews leadership. The lease counts from before the request, so that this replica never believes in a
// lease longer than Redis does.
func (r *Redis) leadOnce(ctx context.Context) error {
	asked := time.Now()
	call, cancel := context.WithTimeout(ctx, r.terms.renew)
	defer cancel()
	leads, err := leadScript.Run(call, r.client, []string{r.prefix + "leader"}, r.name, r.terms.lease.Milliseconds()).Bool()
	switch {
	case err != nil:
		return fmt.Errorf("stand for leadership: %w", err) // a leader goes on until its timer says that the lease is nearly over
	case leads:
		r.lead(ctx, time.Until(asked.Add(r.terms.lease-r.terms.margin)))
	default:
		if led := r.stepDown(nil); led != nil {
			slog.WarnContext(ctx, "leadership lost to another replica", "replica", r.id)
		}
	}
	return nil
}

// lead begins a stretch of leading, or prolongs the present one by left.
func (r *Redis) lead(ctx context.Context, left time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leading != nil && r.leading.until.Reset(left) {
		return
	}
	if r.leading != nil || left <= 0 {
		return // stepping down just now, or the answer came too late to be believed: the next round decides
	}
	led := &leadership{}
	led.ctx, led.cancel = context.WithCancel(ctx)
	led.until = time.AfterFunc(left, func() {
		if r.stepDown(led) != nil {
			slog.Warn("leadership given up: it could not be renewed", "replica", r.id)
		}
	})
	r.leading = led
	r.announce()
	slog.InfoContext(ctx, "this replica leads", "replica", r.id)
}

// stepDown ends the present stretch, or only the given one, and returns it; nil if there was nothing to end.
func (r *Redis) stepDown(only *leadership) *leadership {
	r.mu.Lock()
	defer r.mu.Unlock()
	led := r.leading
	if led == nil || (only != nil && only != led) {
		return nil
	}
	led.until.Stop()
	led.cancel()
	r.leading = nil
	r.announce()
	return led
}

// announce wakes everybody who waits for a change of leadership; the caller holds the lock.
func (r *Redis) announce() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// AsLeader implements Member. Any number of callers share one leadership.
func (r *Redis) AsLeader(ctx context.Context, run func(context.Context) error) error {
	for {
		led, changed := r.enter()
		if led == nil {
			select {
			case <-ctx.Done():
				return nil
			case <-changed:
				continue
			}
		}
		lost, err := runLed(ctx, led, run)
		if ctx.Err() != nil {
			return nil
		}
		if !lost {
			return err
		}
	}
}

// enter joins the present stretch of leading, or returns a channel that closes when that changes.
func (r *Redis) enter() (*leadership, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	led := r.leading
	if led == nil || led.ctx.Err() != nil { // over, and about to be announced
		return nil, r.changed
	}
	led.runs.Add(1)
	return led, r.changed
}

// runLed calls run with the caller's values and the shorter of both lives. lost reports that leadership ended meanwhile,
// whatever run made of it.
func runLed(ctx context.Context, led *leadership, run func(context.Context) error) (lost bool, err error) {
	defer led.runs.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(led.ctx, cancel)()
	err = run(ctx)
	return led.ctx.Err() != nil, err
}
