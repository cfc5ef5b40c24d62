package redisstore_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/registry"
	"eruptcloud/app/registry/redisstore"
	"eruptcloud/app/registry/storetest"
	"eruptcloud/app/testbed"
)

func open(t testing.TB, url string) *redis.Client {
	t.Helper()
	client, err := redisstore.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opened {
		url := testbed.Redis(t)
		one, other := open(t, url), open(t, url)
		const prefix = "erupt-cloud:"
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		return storetest.Opened{
			Store: redisstore.New(one, prefix), Other: redisstore.New(other, prefix),
			Trim: func() { do(one.XTrimMaxLen(t.Context(), prefix+"changes", 0).Err()) },
			Lose: func() { do(one.FlushDB(t.Context()).Err()) },
			Garble: func(k registry.Key) {
				do(one.HSet(t.Context(), prefix+"app:"+k.App, k.ID, "\xac\xed\x00\x05sr").Err())
			},
		}
	})
}
