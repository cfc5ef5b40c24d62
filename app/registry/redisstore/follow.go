package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/registry"
)

const (
	block     = time.Second     // how long one read waits for something new
	readLimit = 4 * time.Second // a read that has not ended by then never will: the connection is dead
	maxBatch  = 1000
)

// Follow implements registry.Store. It has a connection of its own, so that waiting takes none from others, and answers
// within a second of ctx's end.
//
// Redis trims silently and may come back with less than it had. So each entry names its predecessor, and where the log
// is quiet its epoch and last position are compared with what was read: Follow never goes on over something it missed.
func (s *Store) Follow(ctx context.Context, seq registry.Seq, apply func([]registry.Change)) error {
	if ctx.Err() != nil {
		return nil
	}
	client, done := s.ownConnection()
	defer done()
	defer context.AfterFunc(ctx, done)()
	f := follower{store: s, client: client, seq: seq}
	if err := f.check(ctx); err != nil {
		return ended(ctx, err)
	}
	apply(nil)
	for ctx.Err() == nil {
		batch, err := f.read(ctx)
		if err != nil {
			return ended(ctx, err)
		}
		if len(batch) == 0 {
			if err := f.check(ctx); err != nil {
				return ended(ctx, err)
			}
		}
		apply(batch)
	}
	return nil
}

// ended hides errors that only say that the caller called it off.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// ownConnection returns a client with one connection, or the store's own client where it is a cluster's.
func (s *Store) ownConnection() (redis.UniversalClient, func()) {
	shared, ok := s.client.(*redis.Client)
	if !ok {
		return s.client, func() {}
	}
	o := *shared.Options()
	o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = 1, 0, 0, 0
	o.MaxRetries, o.DialerRetries = -1, 1 // as given: a client replaces -1 in its options by what it means
	o.ContextTimeoutEnabled = true
	client := redis.NewClient(&o)
	return client, func() { _ = client.Close() }
}

type follower struct {
	store  *Store
	client redis.UniversalClient
	seq    registry.Seq
}

// read returns the next entries, none if there were none for a second.
func (f *follower) read(ctx context.Context) ([]registry.Change, error) {
	limited, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	streams, err := f.client.XRead(limited, &redis.XReadArgs{
		Streams: []string{f.store.key("changes"), positionOf(f.seq)}, Count: maxBatch, Block: block,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	var batch []registry.Change
	for _, m := range streams[0].Messages {
		c, previous, err := change(m)
		if err != nil { // written by who knows whom: a snapshot goes around it
			slog.WarnContext(ctx, "an entry of the change log cannot be read", "position", m.ID, "error", err)
			return nil, registry.ErrLogGap
		}
		if err := f.follows(previous); err != nil {
			return nil, err
		}
		f.seq = c.Seq
		batch = append(batch, c)
	}
	return batch, nil
}

// follows reports how an entry whose predecessor is previous can come after the last one that was read.
func (f *follower) follows(previous registry.Seq) error {
	switch {
	case previous == f.seq:
		return nil
	case previous > f.seq:
		return registry.ErrLogGap // what lay between is trimmed
	}
	return registry.ErrStoreLost // it was written by a store that did not know the last one
}

// check compares what a quiet log says of itself with what was read.
func (f *follower) check(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	values, err := f.client.MGet(limited, f.store.key("epoch"), f.store.key("last")).Result()
	if err != nil {
		return unavailable(ctx, err)
	}
	epoch, _ := values[0].(string)
	last := registry.Seq(0)
	if text, ok := values[1].(string); ok {
		if last, err = parsePosition(text); err != nil {
			return fmt.Errorf("%w: %w", registry.ErrLogGap, err)
		}
	}
	f.store.mu.Lock()
	known := f.store.epoch
	f.store.mu.Unlock()
	if known != "" && epoch != known || last < f.seq {
		return registry.ErrStoreLost
	}
	return nil
}

// change reads an entry and the position of its predecessor.
func change(m redis.XMessage) (registry.Change, registry.Seq, error) {
	field := func(name string) string { text, _ := m.Values[name].(string); return text }
	seq, err := parsePosition(m.ID)
	if err != nil {
		return registry.Change{}, 0, err
	}
	previous, err := parsePosition(field("previous"))
	if err != nil {
		return registry.Change{}, 0, err
	}
	c := registry.Change{
		Seq: seq, At: time.UnixMilli(int64(seq >> positionBits)).UTC(),
		Action: registry.Action(field("action")), Reason: registry.Reason(field("reason")),
	}
	k := registry.Key{App: field("app"), ID: field("id")}
	c.In, err = decode(k, []byte(field("body")))
	if c.Action == registry.Deleted {
		return c, previous, nil // who it was is enough
	}
	c.In.Rev = seq
	return c, previous, err
}
