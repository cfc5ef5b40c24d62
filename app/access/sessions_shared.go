package access

import (
	"context"
	_ "embed"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed session_collect.lua
var collectSource string

var collectScript = redis.NewScript(collectSource)

// sharedSessions are redisSessions beside which Java servers make sessions of their own. Those that are used here are known
// from then on; the others are looked for, so that they end, too, when their account is disabled.
type sharedSessions struct{ *redisSessions }

// NewSharedRedisSessions is NewRedisSessions for a Redis that Java servers use, too.
func NewSharedRedisSessions(client redis.UniversalClient, prefix string) SessionStore {
	return &sharedSessions{&redisSessions{client: client, prefix: prefix, now: time.Now}}
}

const (
	collectStep    = 1000               // keys that Redis looks at in one go
	collectEndless = 7 * 24 * time.Hour // how long a session without an end is listed before it is found again
)

// sweepOnce implements sweeper: it lists the sessions that Java servers made since the last time.
func (s *sharedSessions) sweepOnce(ctx context.Context) error {
	start := s.key("token", "")
	pattern := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(start) + "*"
	for cursor := uint64(0); ; {
		keys, next, err := s.client.Scan(ctx, cursor, pattern, collectStep).Result()
		if err != nil {
			return errStore(err)
		}
		if err := s.collect(ctx, start, keys); err != nil {
			return errStore(err)
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// collect lists those of the sessions that are not listed, in two round trips.
func (s *sharedSessions) collect(ctx context.Context, start string, keys []string) error {
	accounts, listed := make([]*redis.StringCmd, len(keys)), make([]*redis.FloatCmd, len(keys))
	if _, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			accounts[i] = p.Get(ctx, key)
		}
		return nil
	}); err != nil && !harmless(err) {
		return err
	}
	if _, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, key := range keys {
			listed[i] = p.ZScore(ctx, s.key("tokens", accounts[i].Val()), strings.TrimPrefix(key, start))
		}
		return nil
	}); err != nil && !harmless(err) {
		return err
	}
	for i, key := range keys {
		token := strings.TrimPrefix(key, start)
		if accounts[i].Err() != nil || !errors.Is(listed[i].Err(), redis.Nil) || !tokenLike(token) {
			continue
		}
		if err := collectScript.Run(ctx, s.client, []string{key, s.prefix + "accounts"}, token, s.prefix+"tokens:", collectEndless.Milliseconds()).Err(); err != nil {
			return err
		}
	}
	return nil
}

// harmless are what single commands answer where a session ended meanwhile or a key is somebody else's.
func harmless(err error) bool {
	return errors.Is(err, redis.Nil) || redis.HasErrorPrefix(err, "WRONGTYPE")
}
