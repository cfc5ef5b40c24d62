package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"eruptcloud/app/fault"
)

// Publish implements Bus.
func (r *Redis) Publish(ctx context.Context, topic string, msg []byte) error {
	ctx, cancel := context.WithTimeout(ctx, r.terms.ping)
	defer cancel()
	if err := r.client.Publish(ctx, r.prefix+"bus:"+topic, msg).Err(); err != nil {
		return fault.New(fault.Unavailable, "the other replicas cannot be told at the moment").Because(err)
	}
	return nil
}

// Subscribe implements Bus. A connection that broke, or only looks alive, is replaced, and handle hears of the gap.
func (r *Redis) Subscribe(ctx context.Context, topic string, handle func([]byte)) error {
	for gap := false; ; gap = true {
		err := r.subscribeOnce(ctx, topic, gap, handle)
		if ctx.Err() != nil {
			return nil
		}
		slog.WarnContext(ctx, "subscription broken", "topic", topic, "replica", r.id, "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(r.terms.retry):
		}
	}
}

// subscribeOnce handles messages until the connection breaks or ctx ends.
func (r *Redis) subscribeOnce(ctx context.Context, topic string, gap bool, handle func([]byte)) error {
	sub := r.client.Subscribe(ctx, r.prefix+"bus:"+topic)
	g, ctx := errgroup.WithContext(ctx)
	incoming := make(chan any)
	g.Go(func() error {
		// Receive has no deadline: one that fell into the middle of a message would lose its rest.
		for {
			msg, err := sub.Receive(ctx)
			if err != nil {
				return fmt.Errorf("receive: %w", err)
			}
			select {
			case incoming <- msg:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	g.Go(func() error {
		defer sub.Close() // also ends Receive
		return r.consume(ctx, sub, incoming, func(msg any) {
			switch m := msg.(type) {
			case *redis.Subscription:
				if gap {
					deliver(ctx, topic, handle, nil)
				}
				gap = true // a further confirmation means that the client connected anew by itself
			case *redis.Message:
				deliver(ctx, topic, handle, []byte(m.Payload))
			}
		})
	})
	return g.Wait()
}

// consume passes on what comes in and asks for a sign of life when nothing does.
func (r *Redis) consume(ctx context.Context, sub *redis.PubSub, incoming <-chan any, pass func(any)) error {
	silence := time.NewTicker(r.terms.ping)
	defer silence.Stop()
	heard := true
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case msg := <-incoming:
			heard = true
			pass(msg)
		case <-silence.C:
			if !heard {
				return fmt.Errorf("no answer for %s", r.terms.ping)
			}
			heard = false
			if err := sub.Ping(ctx); err != nil {
				return fmt.Errorf("ping: %w", err)
			}
		}
	}
}
