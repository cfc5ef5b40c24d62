package access_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
)

// eachVault runs test on both vaults. later moves the time on, as far as the vault is concerned.
func eachVault(t *testing.T, test func(t *testing.T, v access.Vault, later func(time.Duration))) {
	t.Run("memory", func(t *testing.T) {
		now := time.Date(2026, 7, 20, 9, 0, 0, 0, time.UTC)
		test(t, access.NewMemoryVaultAt(func() time.Time { return now }), func(d time.Duration) { now = now.Add(d) })
	})
	t.Run("redis", func(t *testing.T) {
		client := dial(t, testbed.Redis(t))
		test(t, access.NewRedisVault(client, "erupt-auth:"), func(d time.Duration) { age(t, client, d) })
	})
}

func TestVault(t *testing.T) { // erupt-wire 7.2
	eachVault(t, func(t *testing.T, v access.Vault, later func(time.Duration)) {
		ctx := t.Context()
		gets := func(key, want string) {
			t.Helper()
			got, err := v.Get(ctx, key)
			if want == "" && !fault.Is(err, fault.NotFound) || want != "" && (err != nil || got != want) {
				t.Errorf("%s holds %q, %v; want %q", key, got, err, want)
			}
		}
		put := func(key, value string, ttl time.Duration) {
			t.Helper()
			if err := v.Put(ctx, key, value, ttl); err != nil {
				t.Fatal(err)
			}
		}
		put("mfa-ticket:a", "10", time.Minute)
		put("mfa-ticket:b", "11", time.Hour)
		gets("mfa-ticket:a", "10")
		later(time.Minute + time.Second)
		gets("mfa-ticket:a", "")
		gets("mfa-ticket:b", "11")
		if got, err := v.Take(ctx, "mfa-ticket:b"); err != nil || got != "11" {
			t.Errorf("took %q, %v", got, err)
		}
		gets("mfa-ticket:b", "")
		_, err := v.Take(ctx, "mfa-ticket:b")
		wants(t, "a second taking", err, fault.NotFound)

		for i := range 3 {
			if n, err := v.Add(ctx, "mfa-error:a", time.Minute); err != nil || n != int64(i+1) {
				t.Errorf("count %d is %d, %v", i+1, n, err)
			}
			later(40 * time.Second) // each renews its life
		}
		later(time.Minute)
		if n, err := v.Add(ctx, "mfa-error:a", time.Minute); err != nil || n != 1 {
			t.Errorf("after its life the count is %d, %v; want 1", n, err)
		}
		put("mfa-error:b", "no number", time.Minute)
		if n, err := v.Add(ctx, "mfa-error:b", time.Minute); err != nil || n != 1 {
			t.Errorf("over a text the count is %d, %v; want 1", n, err)
		}
		for _, s := range [][2]string{{"one", ""}, {"two", "one"}} {
			if before, err := v.Swap(ctx, "open-api:1", s[0], time.Minute); err != nil || before != s[1] {
				t.Errorf("swapping in %s gave %q, %v; want %q", s[0], before, err, s[1])
			}
		}
		gets("open-api:1", "two")
		later(time.Minute + time.Second)
		if before, err := v.Swap(ctx, "open-api:1", "three", time.Minute); err != nil || before != "" {
			t.Errorf("after its life swapping gave %q, %v", before, err)
		}
		if err := v.Delete(ctx, "open-api:1", "mfa-error:b", "never:there"); err != nil {
			t.Error(err)
		}
		gets("open-api:1", "")
		if err := v.Delete(ctx); err != nil {
			t.Error(err)
		}
	})
}

func TestVaultGivesAValueToOneTaker(t *testing.T) {
	eachVault(t, func(t *testing.T, v access.Vault, _ func(time.Duration)) {
		ctx := t.Context()
		if err := v.Put(ctx, "verify-code:1", "ABCD", time.Minute); err != nil {
			t.Fatal(err)
		}
		var got, first atomic.Int32
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := v.Take(ctx, "verify-code:1"); err == nil {
					got.Add(1)
				}
				if n, err := v.Add(ctx, "mfa-used:1:2", time.Minute); err == nil && n == 1 {
					first.Add(1)
				}
			})
		}
		all.Wait()
		if got.Load() != 1 || first.Load() != 1 {
			t.Errorf("%d took the value and %d counted first, want one each", got.Load(), first.Load())
		}
	})
}

func TestVaultThatIsDown(t *testing.T) { // S71
	server := testbed.RedisServer(t)
	v := access.NewRedisVault(dial(t, server.URL()), "erupt-auth:")
	ctx := t.Context()
	server.Stop()
	for name, call := range map[string]func() error{
		"Put":    func() error { return v.Put(ctx, "a:1", "x", time.Minute) },
		"Get":    func() error { _, err := v.Get(ctx, "a:1"); return err },
		"Take":   func() error { _, err := v.Take(ctx, "a:1"); return err },
		"Swap":   func() error { _, err := v.Swap(ctx, "a:1", "x", time.Minute); return err },
		"Add":    func() error { _, err := v.Add(ctx, "a:1", time.Minute); return err },
		"Delete": func() error { return v.Delete(ctx, "a:1") },
	} {
		wants(t, name+" without Redis", call(), fault.Unavailable)
	}
}

func TestMemoryVaultIsBoundedByKind(t *testing.T) {
	now := time.Date(2026, 7, 20, 9, 0, 0, 0, time.UTC)
	v := access.NewMemoryVaultAt(func() time.Time { return now })
	ctx := t.Context()
	if _, err := v.Add(ctx, "mfa-used:1:1", time.Minute); err != nil {
		t.Fatal(err)
	}
	for i := range access.MaxKept + 100 {
		if err := v.Put(ctx, "verify-code:"+strings.Repeat("1", 1+i%3)+time.Duration(i).String(), "ABCD", time.Hour+time.Duration(i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := access.KeptIn(v, "verify-code"); n > access.MaxKept {
		t.Errorf("%d captchas are kept, want %d at most", n, access.MaxKept)
	}
	if n, _ := v.Add(ctx, "mfa-used:1:1", time.Minute); n != 2 {
		t.Error("a flood of captchas made a code that was used up good again")
	}
}
