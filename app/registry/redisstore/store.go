// Package redisstore keeps leases in Redis (7.0 or newer), shared by all replicas. Each write is one script, so that it
// happens as a whole or not at all and costs one round trip.
package redisstore

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/fault"
	"eruptcloud/app/registry"
)

const (
	retention       = 5 * time.Minute  // how far back the change log reaches
	snapshotTimeout = 15 * time.Second // a large fleet's snapshot takes longer than other calls may
)

//go:embed log.lua
var logLua string

//go:embed put.lua
var putLua string

//go:embed renew.lua
var renewLua string

//go:embed remove.lua
var removeLua string

//go:embed snapshot.lua
var snapshotLua string

var (
	putScript      = redis.NewScript(logLua + putLua)
	renewScript    = redis.NewScript(renewLua)
	removeScript   = redis.NewScript(logLua + removeLua)
	snapshotScript = redis.NewScript(snapshotLua)
)

var origins = []registry.Origin{registry.OriginNode, registry.OriginEureka}

// Store implements registry.Store.
type Store struct {
	client redis.UniversalClient
	prefix string

	mu    sync.Mutex
	epoch string // of the last snapshot: another one means that the data was lost since
}

// New returns a store whose keys start with prefix (write {name}: for a Redis Cluster).
func New(client redis.UniversalClient, prefix string) *Store {
	return &Store{client: client, prefix: prefix}
}

func (s *Store) key(name string) string          { return s.prefix + name }
func (s *Store) app(app string) string           { return s.prefix + "app:" + app }
func (s *Store) leases(o registry.Origin) string { return s.prefix + "leases:" + string(o) }
func (s *Store) renewals(o registry.Origin, minute int64) string {
	return s.prefix + "renewals:" + string(o) + ":" + strconv.FormatInt(minute, 10)
}

// member names an instance in the sorted sets. No app has a zero byte in its name.
func member(k registry.Key) string { return k.App + "\x00" + k.ID }

func keyOf(member string) registry.Key {
	app, id, _ := strings.Cut(member, "\x00")
	return registry.Key{App: app, ID: id}
}

// unavailable turns an error of Redis into one for callers. What the caller called off stays what it is.
func unavailable(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return err
	}
	return fault.New(fault.Unavailable, "the registry's store does not answer").Because(err).Retry(2 * time.Second)
}

func millis(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return strconv.FormatInt(t.UnixMilli(), 10)
}

// Put implements registry.Store.
func (s *Store) Put(ctx context.Context, in registry.Instance, until time.Time) (registry.Seq, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	body, err := encode(in)
	if err != nil {
		return 0, err
	}
	own, other := s.leases(registry.OriginNode), s.leases(registry.OriginEureka)
	if in.Origin != registry.OriginNode {
		own, other = other, own
	}
	keys := []string{s.app(in.App), s.key("apps"), own, other, s.key("changes"), s.key("last"), s.key("epoch")}
	reply, err := putScript.Run(ctx, s.client, keys, in.ID, positionOf(in.Rev), body, millis(until), member(in.Key),
		string(in.Action), in.App, retention.Milliseconds(), rand.Text()).Slice()
	if err != nil {
		return 0, unavailable(ctx, err)
	}
	text, _ := reply[1].(string)
	if done, _ := reply[0].(int64); done == 1 {
		return parsePosition(text)
	}
	return 0, staleError(in.Key, text)
}

// staleError tells what is stored under k; what cannot be read counts as nothing.
func staleError(k registry.Key, value string) error {
	if value == "" {
		return &registry.StaleError{}
	}
	current, err := decodeValue(k, value)
	if err != nil {
		slog.Warn("a stored instance cannot be read; its next beat rewrites it", "app", k.App, "instance", k.ID, "error", err)
		return &registry.StaleError{Current: registry.Instance{Rev: current.Rev}}
	}
	return &registry.StaleError{Current: current, Found: true}
}

// Renew implements registry.Store.
func (s *Store) Renew(ctx context.Context, k registry.Key, until time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	minute := time.Now().Unix() / 60
	keys := []string{s.app(k.App)}
	for _, o := range origins {
		keys = append(keys, s.leases(o))
	}
	for _, o := range origins {
		keys = append(keys, s.renewals(o, minute))
	}
	done, err := renewScript.Run(ctx, s.client, keys, k.ID, member(k), millis(until)).Int()
	if err != nil {
		return unavailable(ctx, err)
	}
	if done == 0 {
		return registry.ErrNoLease
	}
	return nil
}

// Remove implements registry.Store.
func (s *Store) Remove(ctx context.Context, k registry.Key, why registry.Reason, expiredBy time.Time) (registry.Seq, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	keys := []string{s.app(k.App), s.key("apps"), s.leases(registry.OriginNode), s.leases(registry.OriginEureka),
		s.key("changes"), s.key("last"), s.key("epoch")}
	text, err := removeScript.Run(ctx, s.client, keys, k.ID, member(k), string(why), millis(expiredBy), k.App,
		retention.Milliseconds(), rand.Text()).Text()
	if err != nil {
		return 0, unavailable(ctx, err)
	}
	if text == "" {
		return 0, registry.ErrNoLease
	}
	return parsePosition(text)
}

// Snapshot implements registry.Store. It is exact: all instances as of the position that it returns.
func (s *Store) Snapshot(ctx context.Context) ([]registry.Instance, registry.Seq, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	patient := s.client
	if c, ok := s.client.(*redis.Client); ok {
		patient = c.WithTimeout(snapshotTimeout)
	}
	keys := []string{s.key("apps"), s.key("last"), s.key("epoch")}
	reply, err := snapshotScript.Run(ctx, patient, keys, s.app(""), rand.Text()).Slice()
	if err != nil {
		return nil, 0, unavailable(ctx, err)
	}
	epoch, _ := reply[0].(string)
	text, _ := reply[1].(string)
	seq, err := parsePosition(text)
	if err != nil {
		return nil, 0, err
	}
	var all []registry.Instance
	for i := 2; i+1 < len(reply); i += 2 {
		app, _ := reply[i].(string)
		values, _ := reply[i+1].([]any)
		all = append(all, decodeApp(app, values)...)
	}
	s.mu.Lock()
	s.epoch = epoch
	s.mu.Unlock()
	return all, seq, nil
}

func decodeApp(app string, values []any) []registry.Instance {
	all := make([]registry.Instance, 0, len(values)/2)
	for i := 0; i+1 < len(values); i += 2 {
		id, _ := values[i].(string)
		value, _ := values[i+1].(string)
		in, err := decodeValue(registry.Key{App: app, ID: id}, value)
		if err != nil {
			slog.Warn("a stored instance cannot be read; its next beat rewrites it", "app", app, "instance", id, "error", err)
			continue
		}
		all = append(all, in)
	}
	return all
}

// Expired implements registry.Store.
func (s *Store) Expired(ctx context.Context, o registry.Origin, now time.Time, limit int) ([]registry.Key, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	members, err := s.client.ZRangeArgs(ctx, redis.ZRangeArgs{
		Key: s.leases(o), ByScore: true, Start: "-inf", Stop: millis(now), Count: int64(limit),
	}).Result()
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	keys := make([]registry.Key, len(members))
	for i, m := range members {
		keys[i] = keyOf(m)
	}
	return keys, nil
}

// Ends implements registry.Store.
func (s *Store) Ends(ctx context.Context, keys ...registry.Key) ([]time.Time, error) {
	if err := ctx.Err(); err != nil || len(keys) == 0 {
		return nil, err
	}
	members := make([]any, 0, len(keys)+2)
	for _, k := range keys {
		members = append(members, member(k))
	}
	ends := make([]time.Time, len(keys))
	for _, o := range origins {
		// ZMScore of go-redis cannot tell "none" from the score zero.
		scores, err := s.client.Do(ctx, append([]any{"ZMSCORE", s.leases(o)}, members...)...).Slice()
		if err != nil {
			return nil, unavailable(ctx, err)
		}
		for i, score := range scores {
			if ms, ok := number(score); ok {
				ends[i] = time.UnixMilli(ms).UTC()
			}
		}
	}
	return ends, nil
}

// number reads a score in either protocol version.
func number(score any) (int64, bool) {
	switch v := score.(type) {
	case float64:
		return int64(v), true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return int64(f), err == nil
	}
	return 0, false
}

// Renewals implements registry.Store.
func (s *Store) Renewals(ctx context.Context, o registry.Origin, now time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.client.Get(ctx, s.renewals(o, now.Unix()/60-1)).Int()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, unavailable(ctx, err)
	}
	return n, nil
}

// A position in the log is the id of a stream entry, MS-N, as one number. Ids are times, so positions grow even across a
// loss of all data.
const positionBits = 20

func positionOf(s registry.Seq) string {
	return strconv.FormatUint(uint64(s)>>positionBits, 10) + "-" + strconv.FormatUint(uint64(s)&(1<<positionBits-1), 10)
}

func parsePosition(id string) (registry.Seq, error) {
	ms, n, _ := strings.Cut(id, "-")
	high, err := strconv.ParseUint(ms, 10, 64-positionBits)
	if err != nil {
		return 0, fmt.Errorf("log position %q: %w", id, err)
	}
	low, err := strconv.ParseUint(n, 10, positionBits)
	if err != nil {
		return 0, fmt.Errorf("log position %q: %w", id, err)
	}
	return registry.Seq(high<<positionBits | low), nil
}
