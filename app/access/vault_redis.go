package access

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// addScript counts up; a value that is no number, as somebody else may have left it, counts from zero.
var addScript = redis.NewScript(`
if not tonumber(redis.call('GET', KEYS[1]) or '0') then redis.call('DEL', KEYS[1]) end
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return count`)

// redisVault is the Vault that replicas share, under erupt's own names.
type redisVault struct {
	client redis.UniversalClient
	prefix string
}

// NewRedisVault keeps values under prefix, erupt's being "erupt-auth:".
func NewRedisVault(client redis.UniversalClient, prefix string) Vault {
	return &redisVault{client, prefix}
}

// asked turns what Redis says into what callers of a Vault expect.
func asked(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, redis.Nil):
		return errGone()
	}
	return errStore(err)
}

// Put implements Vault.
func (r *redisVault) Put(ctx context.Context, key, value string, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return asked(r.client.Set(ctx, r.prefix+key, value, ttl).Err())
}

// Get implements Vault.
func (r *redisVault) Get(ctx context.Context, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	value, err := r.client.Get(ctx, r.prefix+key).Result()
	return value, asked(err)
}

// Take implements Vault.
func (r *redisVault) Take(ctx context.Context, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	value, err := r.client.GetDel(ctx, r.prefix+key).Result()
	return value, asked(err)
}

// Swap implements Vault.
func (r *redisVault) Swap(ctx context.Context, key, value string, ttl time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	before, err := r.client.SetArgs(ctx, r.prefix+key, value, redis.SetArgs{Get: true, TTL: ttl}).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil // nothing was there; the value is set all the same
	}
	return before, asked(err)
}

// Add implements Vault.
func (r *redisVault) Add(ctx context.Context, key string, ttl time.Duration) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	count, err := addScript.Run(ctx, r.client, []string{r.prefix + key}, ttl.Milliseconds()).Int64()
	return count, asked(err)
}

// Delete implements Vault.
func (r *redisVault) Delete(ctx context.Context, keys ...string) error {
	if len(keys) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	full := make([]string, len(keys))
	for i, k := range keys {
		full[i] = r.prefix + k
	}
	return asked(r.client.Del(ctx, full...).Err())
}
