package access

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/fault"
)

//go:embed session_create.lua
var createSource string

//go:embed session_touch.lua
var touchSource string

//go:embed session_delete.lua
var deleteSource string

//go:embed session_try.lua
var trySource string

var (
	createScript = redis.NewScript(createSource)
	touchScript  = redis.NewScript(touchSource)
	deleteScript = redis.NewScript(deleteSource)
	tryScript    = redis.NewScript(trySource)
)

// storeTimeout bounds one call; a store that is slower than this is down for whoever waits for a page.
const storeTimeout = 3 * time.Second

// redisSessions is the SessionStore that replicas, and Java servers if they like, share: erupt's keys (erupt-wire 7.2), the
// facts of the login under login:TOKEN, the scopes of codes under scopes:TOKEN, the last use under used:TOKEN, and the sets
// tokens:ACCOUNT and accounts. Its scripts use keys of several slots, as
// erupt's layout demands, so it needs one Redis (or a replicated one), not a sharded cluster.
type redisSessions struct {
	client redis.UniversalClient
	prefix string
	now    func() time.Time
}

// NewRedisSessions keeps sessions under prefix, erupt's being "erupt-auth:".
func NewRedisSessions(client redis.UniversalClient, prefix string) SessionStore {
	return &redisSessions{client: client, prefix: prefix, now: time.Now}
}

// errStore is what callers get while the store is down. It is never "unauthenticated": nobody should have to log in anew
// because of an outage.
func errStore(err error) error {
	return fault.New(fault.Unavailable, "the session store does not answer").Retry(2 * time.Second).Because(err)
}

func (r *redisSessions) key(kind, id string) string { return r.prefix + kind + ":" + id }

// keys returns those that live as long as the session does: erupt's four and ours.
func (r *redisSessions) keys(token string) []string {
	return []string{
		r.key("token", token), r.key("user", token), r.key("menu-view", token), r.key("menu-value-map", token), r.key("login", token),
		r.key("scopes", token), r.key("used", token),
	}
}

// Create implements SessionStore.
func (r *redisSessions) Create(ctx context.Context, s Session, ttl time.Duration) error {
	_, err := r.write(ctx, "new", s, ttl)
	return err
}

// Replace implements SessionStore.
func (r *redisSessions) Replace(ctx context.Context, s Session) error {
	written, err := r.write(ctx, "again", s, 0)
	if err == nil && !written {
		return errOver()
	}
	return err
}

func (r *redisSessions) write(ctx context.Context, how string, s Session, ttl time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	kept, err := encodeSession(s, r.now())
	if err != nil {
		return false, err
	}
	k := r.keys(s.Token)
	keys := []string{k[0], k[1], k[2], k[3], k[3] + ":new", k[4], k[5], k[6], r.key("tokens", s.Account), r.prefix + "accounts"}
	args := []any{
		how, s.Account, ttl.Milliseconds(), kept.user, kept.view, kept.login, s.Token, maxAccountSessions, r.prefix, len(kept.scopes) / 2,
	}
	args = append(args, kept.scopes...)
	for field, value := range kept.values {
		args = append(args, field, value)
	}
	written, err := createScript.Run(ctx, r.client, keys, args...).Bool()
	if err != nil {
		return false, errStore(err)
	}
	return written, nil
}

// Get implements SessionStore.
func (r *redisSessions) Get(ctx context.Context, token string) (Session, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	var base baseReplies
	var view *redis.StringCmd
	var values, scopes *redis.MapStringStringCmd
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		base = r.askBase(ctx, p, token)
		view, values = p.Get(ctx, r.key("menu-view", token)), p.HGetAll(ctx, r.key("menu-value-map", token))
		scopes = p.HGetAll(ctx, r.key("scopes", token))
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return Session{}, errStore(err)
	}
	s, err := base.session(token, r.now())
	if err != nil {
		return Session{}, err
	}
	if err := errors.Join(values.Err(), scopes.Err(), notNil(view.Err())); err != nil {
		return Session{}, errStore(err)
	}
	if err := decodeMenus(&s, view.Val(), values.Val()); err != nil {
		return Session{}, fmt.Errorf("read the stored menus of %s: %w", s.Account, err)
	}
	for field, list := range scopes.Val() {
		if err := decodeScope(&s, field, list); err != nil {
			return Session{}, err
		}
	}
	return s, nil
}

// Check implements SessionStore in one round trip.
func (r *redisSessions) Check(ctx context.Context, token string, codes ...string) (Session, []bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	var base baseReplies
	found, scopes := make([]*redis.BoolCmd, len(codes)), make([]*redis.SliceCmd, len(codes))
	_, err := r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		base = r.askBase(ctx, p, token)
		for i, c := range codes {
			found[i] = p.HExists(ctx, r.key("menu-value-map", token), strings.ToLower(c))
			scopes[i] = p.HMGet(ctx, r.key("scopes", token), scopeField+strings.ToLower(c), writeField+strings.ToLower(c))
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return Session{}, nil, errStore(err)
	}
	s, err := base.session(token, r.now())
	if err != nil {
		return Session{}, nil, err
	}
	held := make([]bool, len(codes))
	for i, f := range found {
		if err := errors.Join(f.Err(), scopes[i].Err()); err != nil {
			return Session{}, nil, errStore(err)
		}
		held[i] = s.Admin || f.Val()
		for k, prefix := range []string{scopeField, writeField} {
			if list, ok := scopes[i].Val()[k].(string); ok {
				if err := decodeScope(&s, prefix+strings.ToLower(codes[i]), list); err != nil {
					return Session{}, nil, err
				}
			}
		}
	}
	return s, held, nil
}

// baseReplies are what is read of every session.
type baseReplies struct {
	account, user, login, used *redis.StringCmd
	left                       *redis.DurationCmd
}

func (r *redisSessions) askBase(ctx context.Context, p redis.Pipeliner, token string) baseReplies {
	return baseReplies{
		account: p.Get(ctx, r.key("token", token)), user: p.Get(ctx, r.key("user", token)),
		login: p.Get(ctx, r.key("login", token)), used: p.Get(ctx, r.key("used", token)), left: p.PTTL(ctx, r.key("token", token)),
	}
}

func (b baseReplies) session(token string, now time.Time) (Session, error) {
	if errors.Is(b.account.Err(), redis.Nil) || errors.Is(b.user.Err(), redis.Nil) {
		return Session{}, errOver()
	}
	if err := errors.Join(b.account.Err(), b.user.Err(), b.left.Err(), notNil(b.login.Err()), notNil(b.used.Err())); err != nil {
		return Session{}, errStore(err)
	}
	s := Session{Token: token, Account: b.account.Val()}
	if left := b.left.Val(); left > 0 {
		s.Expires = now.Add(left)
	}
	if ms, err := strconv.ParseInt(b.used.Val(), 10, 64); err == nil {
		s.Used = time.UnixMilli(ms).UTC()
	}
	if err := decodeUser(&s, b.user.Val(), b.login.Val()); err != nil {
		return Session{}, fmt.Errorf("read the stored session of %s: %w", s.Account, err)
	}
	return s, nil
}

// Touch implements SessionStore.
func (r *redisSessions) Touch(ctx context.Context, token string, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	keys := append(r.keys(token), r.prefix+"accounts")
	live, err := touchScript.Run(ctx, r.client, keys, ttl.Milliseconds(), token, r.prefix+"tokens:").Bool()
	if err != nil {
		return errStore(err)
	} else if !live {
		return errOver()
	}
	return nil
}

// Delete implements SessionStore.
func (r *redisSessions) Delete(ctx context.Context, token string) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	keys := append(r.keys(token), r.prefix+"accounts")
	if err := deleteScript.Run(ctx, r.client, keys, token, r.prefix+"tokens:").Err(); err != nil {
		return errStore(err)
	}
	return nil
}

// Tokens implements SessionStore. A Java server that ends a session does not know the set, so each is looked up.
func (r *redisSessions) Tokens(ctx context.Context, account string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	listed, err := r.client.ZRange(ctx, r.key("tokens", account), 0, -1).Result()
	if err != nil {
		return nil, errStore(err)
	}
	exist := make([]*redis.IntCmd, len(listed))
	_, err = r.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, t := range listed {
			exist[i] = p.Exists(ctx, r.key("token", t))
		}
		return nil
	})
	if err != nil {
		return nil, errStore(err)
	}
	var live []string
	for i, t := range listed {
		if exist[i].Val() == 1 {
			live = append(live, t)
		}
	}
	slices.Sort(live)
	return live, nil
}

// Accounts implements SessionStore.
func (r *redisSessions) Accounts(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	now, err := r.client.Time(ctx).Result()
	if err != nil {
		return nil, errStore(err)
	}
	live, err := r.client.ZRangeByScore(ctx, r.prefix+"accounts", &redis.ZRangeBy{
		Min: "(" + strconv.FormatInt(now.UnixMilli(), 10), Max: "+inf",
	}).Result()
	if err != nil {
		return nil, errStore(err)
	}
	slices.Sort(live)
	return live, nil
}

// tryKeys are erupt's own: the count, and the lock of 2.3.
func (r *redisSessions) tryKeys(account, address string) []string {
	pair := tryKey(account, address)
	return []string{r.prefix + "login-error:" + pair, r.prefix + "login-lock:" + pair}
}

// CountTry implements SessionStore on erupt's own counter.
func (r *redisSessions) CountTry(ctx context.Context, account, address string, l TryLimit) (int, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	got, err := tryScript.Run(ctx, r.client, r.tryKeys(account, address), l.Max, l.Lock.Milliseconds(), l.Life.Milliseconds()).Int64Slice()
	if err == nil && len(got) != 2 {
		err = fmt.Errorf("%d numbers in place of two", len(got))
	}
	if err != nil {
		return 0, 0, errStore(err)
	}
	return int(got[0]), time.Duration(got[1]) * time.Millisecond, nil
}

// ForgetTries implements SessionStore.
func (r *redisSessions) ForgetTries(ctx context.Context, account, address string) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := r.client.Del(ctx, r.tryKeys(account, address)...).Err(); err != nil {
		return errStore(err)
	}
	return nil
}

func notNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}
