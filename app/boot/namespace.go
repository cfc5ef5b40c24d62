package boot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/registry"
	"eruptcloud/app/registry/redisstore"
	"eruptcloud/app/sharing"
	"eruptcloud/app/web"
)

// ErrNamespace says that an erupt server up to 2.0.4 uses the Redis namespace.
var ErrNamespace = errors.New("redis namespace")

// Times of the look for an old server at start.
const (
	storeWait  = 30 * time.Second // for a Redis that is not there yet
	storeRetry = 500 * time.Millisecond
	beatSlack  = 5 * time.Second // what a beat may be late
)

// checkNamespace refuses a namespace that an erupt server up to 2.0.4 uses, before one key is written: the first entry of ours
// would end its survival check (erupt-wire 7.1). With take_over what such a server left is accepted, once it was watched for a
// beat that nobody renews it.
func (s *Server) checkNamespace(ctx context.Context) error {
	if s.redis == nil {
		return nil
	}
	prefix := s.c.CloudServer.CloudNameSpace
	old, err := firstLook(ctx, s.redis, prefix)
	if err != nil || len(old) == 0 {
		return err
	}
	if !s.c.CloudServer.TakeOver {
		return fmt.Errorf("%w: %w", ErrNamespace, redisstore.OldServer(prefix, old, ""))
	}
	watch := s.c.CloudServer.HeartbeatTime + beatSlack
	s.log.Info("node entries of an erupt server up to 2.0.4 are in Redis; watching whether it has been stopped", "entries", len(old), "for", watch)
	began := time.Now()
	if err := pause(ctx, watch); err != nil {
		return err
	}
	after, err := redisstore.OldEntries(ctx, s.redis, prefix)
	if err != nil {
		return err
	}
	if renewed := redisstore.Renewed(old, after, time.Since(began)); renewed != "" {
		return fmt.Errorf("%w: %w", ErrNamespace, redisstore.OldServer(prefix, after, renewed))
	}
	return nil
}

// firstLook waits for Redis as the start does elsewhere.
func firstLook(ctx context.Context, client redis.UniversalClient, prefix string) ([]redisstore.OldEntry, error) {
	for deadline := time.Now().Add(storeWait); ; {
		old, err := redisstore.OldEntries(ctx, client, prefix)
		if err == nil {
			return old, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("redis does not answer: %w", err)
		}
		if err := pause(ctx, storeRetry); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keepEntries makes what looks after the node entries: the survey or, with Java servers beside us, the exchange with them, and
// the watch for servers that nobody can share with.
func (s *Server) keepEntries(entries *redisstore.NodeEntries) {
	keep := part{"survey of node entries", (&registry.Surveyor{
		Registry: s.registry, Names: s.enabledNames, Interval: s.c.CloudServer.NodeSurviveCheckTime,
	}).Run}
	if s.c.CloudServer.ShareNamespace {
		keep = part{"exchange with java servers", sharing.New(sharing.Options{
			Entries: entries, Registry: s.registry, Prober: s.prober, Names: s.enabledNames, Tokens: s.domain.Fleet.Nodes.Tokens,
			Validate: s.c.CloudServer.ValidateAccessToken, Beat: s.c.CloudServer.HeartbeatTime,
		}).Run}
	}
	s.watch = &sharing.Watch{
		Entries: entries, Prefix: s.c.CloudServer.CloudNameSpace, Names: s.enabledNames, TakeOver: s.c.CloudServer.TakeOver,
		Interval: s.c.CloudServer.HeartbeatTime,
	}
	for _, p := range []part{keep, {"watch for old erupt servers", s.watch.Run}} {
		s.parts = append(s.parts, part{p.name, func(ctx context.Context) error { return s.member.AsLeader(ctx, p.run) }})
	}
}

// entriesCheck tells /readyz whether node entries are written, where they are.
func (s *Server) entriesCheck() []web.Check {
	if s.watch == nil {
		return nil
	}
	entries := web.Check{Name: "node entries", State: web.OK}
	if s.watch.Reason() != "" {
		entries.State, entries.Detail = web.Degraded, "not written: an erupt server up to 2.0.4 uses the Redis namespace"
	}
	return []web.Check{entries}
}
