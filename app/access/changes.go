package access

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"eruptcloud/app/cluster"
)

// Topic is the bus topic on which changes of users, roles and menus are published, as JSON {"kind":"user|role|menu","id":"CODE"}.
const Topic = "access"

// followTimeout bounds what follows a committed change.
const followTimeout = 10 * time.Second

// changes does what has to follow a committed change.
type changes struct {
	bus      cluster.Bus
	sessions *Sessions
	people   *people
	programs *OpenAPIs
}

// follow tells the other replicas and rewrites the sessions of those whom the change concerns. The change is committed, so
// the end of the request that asked for it must not stop this half way.
func (c *changes) follow(ctx context.Context, kind, id string, whom func(context.Context) ([]string, error), endBut map[string]string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), followTimeout)
	defer cancel()
	c.tell(ctx, kind, id)
	accounts, err := whom(ctx)
	if err != nil {
		return c.sessions.later(ctx, err, []string{everybody}, endBut)
	}
	return errors.Join(c.sessions.follow(ctx, accounts, endBut), c.programs.review(ctx, accounts))
}

// these are accounts that are known already.
func these(accounts ...string) func(context.Context) ([]string, error) {
	return func(context.Context) ([]string, error) { return accounts, nil }
}

// tell publishes a change. Nothing depends on its arrival: sessions are rewritten in the store.
func (c *changes) tell(ctx context.Context, kind, id string) {
	if c.bus == nil {
		return
	}
	msg, err := json.Marshal(map[string]string{"kind": kind, "id": id})
	if err == nil {
		err = c.bus.Publish(ctx, Topic, msg)
	}
	if err != nil {
		slog.WarnContext(ctx, "a change could not be told to the other replicas", "kind", kind, "id", id, "error", err)
	}
}
