// Package cluster knows the other replicas: who lives, who leads, who owns a key, and how to tell them something.
package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Member is this replica among the others.
type Member interface {
	// ID returns the name of this replica.
	ID() string
	// Replicas returns the ids of the live replicas, this one among them, sorted. Empty before the first sign of life; while
	// the others cannot be asked, those that were last known.
	Replicas() []string
	// Owns reports whether this replica is the one that works on key. After a replica came or went two may own a key for
	// at most one presence TTL. Before the first sign of life nothing is owned.
	Owns(key string) bool
	// AsLeader waits until this replica leads and calls run; its context ends when leadership is lost, and then it waits
	// again. It returns nil when ctx ends, and otherwise what run returned while this replica led.
	AsLeader(ctx context.Context, run func(context.Context) error) error
}

// Bus tells all replicas, this one included, that something changed. It may lose messages and says so.
type Bus interface {
	// Publish sends msg to everybody who is subscribed now. fault.Unavailable if the others cannot be told.
	Publish(ctx context.Context, topic string, msg []byte) error
	// Subscribe calls handle for each message, one after the other and in order, until ctx ends, and then returns nil.
	// A nil message says that some were lost, after a broken connection or a full queue: read anew what you mirror.
	Subscribe(ctx context.Context, topic string, handle func(msg []byte)) error
}

// deliver calls handle; one bad message must not end the subscription.
func deliver(ctx context.Context, topic string, handle func([]byte), msg []byte) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "handling a message panicked", "topic", topic, "error", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	handle(msg)
}
