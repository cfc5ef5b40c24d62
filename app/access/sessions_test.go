package access_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// What the shared services of the test binary keep open.
		goleak.IgnoreAnyFunction("eruptcloud/app/testbed.start.func1"),
		goleak.IgnoreAnyFunction("database/sql.(*DB).connectionOpener"),
		goleak.IgnoreAnyFunction("database/sql.(*DB).connectionCleaner"),
		goleak.IgnoreAnyFunction("github.com/go-sql-driver/mysql.(*mysqlConn).startWatcher.func1"))
}

// eachStore runs test on both stores. later moves the time on, as far as the store is concerned.
func eachStore(t *testing.T, test func(t *testing.T, s access.SessionStore, later func(time.Duration))) {
	t.Run("memory", func(t *testing.T) {
		now := time.Date(2026, 7, 20, 9, 0, 0, 0, time.UTC)
		s := access.NewMemorySessionsAt(func() time.Time { return now })
		test(t, s, func(d time.Duration) { now = now.Add(d) })
	})
	t.Run("redis", func(t *testing.T) {
		client := dial(t, testbed.Redis(t))
		test(t, access.NewRedisSessions(client, "erupt-auth:"), func(d time.Duration) { age(t, client, d) })
	})
}

func dial(t *testing.T, url string) redis.UniversalClient {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// age takes d from the life of every key and from the ends that the sets keep, as if that time had passed.
func age(t *testing.T, c redis.UniversalClient, d time.Duration) {
	t.Helper()
	ctx := t.Context()
	keys, err := c.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		left, err := c.PTTL(ctx, k).Result()
		if err != nil {
			t.Fatal(err)
		}
		if left > 0 && left <= d {
			c.Del(ctx, k)
			continue
		} else if left > 0 {
			c.PExpire(ctx, k, left-d)
		}
		if kind, _ := c.Type(ctx, k).Result(); kind == "zset" {
			for _, m := range c.ZRange(ctx, k, 0, -1).Val() {
				c.ZIncrBy(ctx, k, -float64(d.Milliseconds()), m)
			}
		}
	}
}

func num(n int) *int { return &n }

// lin is a session as erupt's fixture has it: one page with two functions, below a folder that was not granted.
func lin(token string) access.Session {
	folder := access.Menu{ID: 7, Code: "$shop", Name: "商店", Status: access.MenuOpen, Sort: num(70)}
	page := access.Menu{
		ID: 81, Code: "Y8LYIbme", Name: "Products", Type: "table", Value: "shop.Product", Status: access.MenuOpen, Parent: 7,
		Sort: num(102), Icon: "fa fa-cube", Param: "a=1",
	}
	edit := access.Menu{ID: 83, Code: "9IItaQiJ", Name: "EDIT", Type: "button", Value: "shop.Product@EDIT", Status: access.MenuOpen, Parent: 81, Sort: num(20)}
	hidden := access.Menu{ID: 90, Code: "hid", Name: "Hidden", Type: "tree", Value: "shop.Region", Status: access.MenuHidden, Sort: num(5)}
	return access.Session{
		Token: token, UserID: 10, Account: "lin", Name: "Lin Yu 林", Org: "D-01", Post: "ENG", Roles: []string{"off", "sales"},
		Scopes: map[string][]int64{"shop.product": {3, 9}, "shop.region": {3}}, Writes: map[string][]int64{"shop.product": {9}, "shop.product@edit": {}},
		Menus:  []access.Menu{edit, page},
		Values: map[string]access.Menu{"shop.product": page, "shop.product@edit": edit, "shop.region": hidden},
		Above:  map[int64]access.Menu{7: folder}, Created: time.Date(2026, 7, 20, 9, 0, 0, 0, time.UTC), Address: "10.0.0.9", Agent: "Firefox",
	}
}

const ttl = 100 * time.Minute

var sameSession = []cmp.Option{cmpopts.IgnoreFields(access.Session{}, "Expires", "Used"), cmpopts.EquateEmpty()}

func token(n int) string { return fmt.Sprintf("%022d", n) }

func mustCreate(t *testing.T, s access.SessionStore, one access.Session) {
	t.Helper()
	if err := s.Create(t.Context(), one, ttl); err != nil {
		t.Fatalf("Create: %v", err)
	}
}

func TestStoreKeepsWhatWasCreated(t *testing.T) {
	eachStore(t, func(t *testing.T, s access.SessionStore, later func(time.Duration)) {
		want := lin(token(1))
		mustCreate(t, s, want)
		got, err := s.Get(t.Context(), want.Token)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, sameSession...); d != "" {
			t.Errorf("the session came back changed (-want +got):\n%s", d)
		}
		left := got.Expires
		later(time.Minute)
		if got, err = s.Get(t.Context(), want.Token); err != nil || got.Expires.After(left) {
			t.Errorf("a minute later Get = end %v, %v; first end %v", got.Expires, err, left)
		}
		light, held, err := s.Check(t.Context(), want.Token, "shop.Product", "SHOP.PRODUCT@edit", "shop.product@add", "shop.Region")
		if err != nil || !slices.Equal(held, []bool{true, true, false, true}) {
			t.Errorf("Check held %v, %v; want true true false true", held, err)
		}
		if light.Reaches("shop.product", []int64{1}) || !light.Reaches("Shop.Product", []int64{2, 9}) || !light.Reaches("shop.product@edit", nil) {
			t.Errorf("Check returned the scopes %v, want those of the codes", light.Scopes)
		}
		if light.Account != "lin" || light.UserID != 10 || light.Org != "D-01" || light.Values != nil || light.Menus != nil {
			t.Errorf("Check returned %+v, want the user without menus", light)
		}
	})
}

func TestStoreHoldsEverythingForAdmins(t *testing.T) {
	eachStore(t, func(t *testing.T, s access.SessionStore, _ func(time.Duration)) {
		one := access.Session{Token: token(1), UserID: 1, Account: "erupt", Name: "erupt", Admin: true}
		mustCreate(t, s, one)
		if _, held, err := s.Check(t.Context(), one.Token, "anything"); err != nil || !held[0] {
			t.Errorf("Check of an admin = %v, %v; want held", held, err)
		}
		got, err := s.Get(t.Context(), one.Token)
		if err != nil || !got.Holds("anything") || got.HoldsMenu("anything") {
			t.Errorf("an admin without menus holds %v, has the menu %v, %v", got.Holds("anything"), got.HoldsMenu("anything"), err)
		}
	})
}

func TestStoreForgets(t *testing.T) {
	eachStore(t, func(t *testing.T, s access.SessionStore, later func(time.Duration)) {
		ctx := t.Context()
		mustCreate(t, s, lin(token(1)))
		mustCreate(t, s, lin(token(2)))
		if err := s.Delete(ctx, token(1)); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(ctx, token(1)); err != nil {
			t.Errorf("Delete of an unknown session: %v", err)
		}
		gone(t, s, token(1))
		if got, err := s.Tokens(ctx, "lin"); err != nil || !slices.Equal(got, []string{token(2)}) {
			t.Errorf("Tokens = %v, %v; want the second only", got, err)
		}
		later(ttl - time.Minute)
		if err := s.Touch(ctx, token(2), ttl); err != nil {
			t.Fatal(err)
		}
		later(ttl - time.Minute)
		if _, err := s.Get(ctx, token(2)); err != nil {
			t.Errorf("Get of a session in use: %v", err)
		}
		if got, err := s.Accounts(ctx); err != nil || !slices.Equal(got, []string{"lin"}) {
			t.Errorf("Accounts = %v, %v; want lin", got, err)
		}
		later(2 * time.Minute)
		gone(t, s, token(2))
		if got, err := s.Tokens(ctx, "lin"); err != nil || len(got) != 0 {
			t.Errorf("Tokens = %v, %v; want none", got, err)
		}
		if got, err := s.Accounts(ctx); err != nil || len(got) != 0 {
			t.Errorf("Accounts = %v, %v; want none", got, err)
		}
	})
}

func gone(t *testing.T, s access.SessionStore, token string) {
	t.Helper()
	if _, err := s.Get(t.Context(), token); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("Get of a session that is over: %v, want unauthenticated", err)
	}
	if _, _, err := s.Check(t.Context(), token, "x"); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("Check of a session that is over: %v, want unauthenticated", err)
	}
	if err := s.Touch(t.Context(), token, ttl); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("Touch of a session that is over: %v, want unauthenticated", err)
	}
	if err := s.Replace(t.Context(), lin(token)); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("Replace of a session that is over: %v, want unauthenticated", err)
	}
}

func TestStoreReplacesInOneStep(t *testing.T) {
	eachStore(t, func(t *testing.T, s access.SessionStore, later func(time.Duration)) {
		ctx := t.Context()
		mustCreate(t, s, lin(token(1)))
		later(time.Minute)
		before, err := s.Get(ctx, token(1))
		if err != nil {
			t.Fatal(err)
		}
		less := lin(token(1))
		less.Name, less.Roles = "Lin", nil
		less.Menus, less.Values, less.Above, less.Scopes, less.Writes = nil, nil, nil, nil, nil
		less.Created, less.Address, less.Agent = time.Time{}, "", ""
		if err := s.Replace(ctx, less); err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(ctx, token(1))
		if err != nil {
			t.Fatal(err)
		}
		want := less
		want.Created, want.Address, want.Agent = before.Created, before.Address, before.Agent
		if d := cmp.Diff(want, got, sameSession...); d != "" {
			t.Errorf("after Replace (-want +got):\n%s", d)
		}
		if moved := got.Expires.Sub(before.Expires); moved > time.Second || moved < -time.Second {
			t.Errorf("Replace moved the end by %s", moved)
		}
		if _, held, err := s.Check(ctx, token(1), "shop.product"); err != nil || held[0] {
			t.Errorf("a revoked code is still held: %v, %v", held, err)
		}
		if err := s.Replace(ctx, lin(token(1))); err != nil {
			t.Fatal(err)
		}
		if _, held, err := s.Check(ctx, token(1), "shop.product"); err != nil || !held[0] {
			t.Errorf("a granted code is not held: %v, %v", held, err)
		}
	})
}

func TestStoreBoundsOneAccount(t *testing.T) {
	eachStore(t, func(t *testing.T, s access.SessionStore, _ func(time.Duration)) {
		ctx := t.Context()
		other := lin(token(9999))
		other.Account = "other"
		mustCreate(t, s, other)
		for i := range 501 {
			one := access.Session{Token: token(i), Account: "script", Name: "script"}
			if err := s.Create(ctx, one, ttl+time.Duration(i)*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.Tokens(ctx, "script")
		if err != nil || len(got) != 500 || slices.Contains(got, token(0)) {
			t.Errorf("an account has %d sessions, %v; want 500 without the first to end", len(got), err)
		}
		if _, err := s.Get(ctx, token(0)); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("the first to end still opens: %v", err)
		}
		if _, err := s.Get(ctx, other.Token); err != nil {
			t.Errorf("somebody else lost his session: %v", err)
		}
	})
}

func TestStoreCountsTries(t *testing.T) {
	eachStore(t, func(t *testing.T, s access.SessionStore, later func(time.Duration)) {
		ctx := t.Context()
		try := func(account, address string) time.Duration {
			t.Helper()
			_, wait, err := s.CountTry(ctx, account, address, access.TryLimit{Max: 3, Lock: 10 * time.Minute, Life: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			return wait
		}
		for i := range 3 {
			later(time.Minute)
			if wait := try("lin", "10.0.0.9"); wait != 0 {
				t.Fatalf("try %d has to wait %s", i+1, wait)
			}
		}
		later(time.Minute)
		if wait := try("LIN", "10.0.0.9"); wait <= 8*time.Minute || wait > 9*time.Minute {
			t.Errorf("the fourth try waits %s, want the rest of ten minutes after the third", wait)
		}
		if wait := try("lin", "10.0.0.8"); wait != 0 {
			t.Errorf("another address has to wait %s", wait)
		}
		if wait := try("yu", "10.0.0.9"); wait != 0 {
			t.Errorf("another account has to wait %s", wait)
		}
		later(9 * time.Minute)
		if wait := try("lin", "10.0.0.9"); wait != 0 {
			t.Errorf("after the lock ended the next try has to wait %s", wait)
		}
		for range 2 {
			try("lin", "10.0.0.9")
		}
		if wait := try("lin", "10.0.0.9"); wait == 0 {
			t.Error("after the lock ended the count did not begin anew and lock again")
		}
		if err := s.ForgetTries(ctx, "lin", "10.0.0.9"); err != nil {
			t.Fatal(err)
		}
		if wait := try("lin", "10.0.0.9"); wait != 0 {
			t.Errorf("after a success the next try has to wait %s", wait)
		}
	})
}

func TestRedisLayoutIsErupts(t *testing.T) {
	client := dial(t, testbed.Redis(t))
	s := access.NewRedisSessions(client, "erupt-auth:")
	one := lin(token(1))
	mustCreate(t, s, one)
	ctx := t.Context()
	texts := map[string]string{
		"token": "lin",
		"user":  `{"id":10,"account":"lin","username":"Lin Yu 林","org":"D-01","post":"ENG","superAdmin":false,"roles":["off","sales"],"tenantId":null}`,
		"menu-view": `[{"id":83,"code":"9IItaQiJ","name":"EDIT","type":"button","value":"shop.Product@EDIT","icon":null,"pid":81},` +
			`{"id":81,"code":"Y8LYIbme","name":"Products","type":"table","value":"shop.Product","icon":"fa fa-cube","pid":7}]`,
	}
	for kind, want := range texts {
		if got := client.Get(ctx, "erupt-auth:"+kind+":"+token(1)).Val(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", kind, got, want)
		}
	}
	fields := client.HGetAll(ctx, "erupt-auth:menu-value-map:"+token(1)).Val()
	const want = `{"name":"EDIT","status":1,"parentMenu":{"name":"Products","status":1,"parentMenu":{"name":"商店","status":1,"parentMenu":null,` +
		`"type":null,"value":null,"sort":70,"icon":null,"code":"$shop","param":null,"createBy":null,"createTime":"T","updateBy":null,"updateTime":null,"id":7},` +
		`"type":"table","value":"shop.Product","sort":102,"icon":"fa fa-cube","code":"Y8LYIbme","param":"a=1","createBy":null,"createTime":"T","updateBy":null,"updateTime":null,"id":81},` +
		`"type":"button","value":"shop.Product@EDIT","sort":20,"icon":null,"code":"9IItaQiJ","param":null,"createBy":null,"createTime":"T","updateBy":null,"updateTime":null,"id":83}`
	got := fields["shop.product@edit"]
	if i := strings.Index(got, `"createTime":"`); i >= 0 {
		stamp := got[i+len(`"createTime":"`):][:len("2026-11-29T20:56:43.119")]
		if _, err := time.Parse("2006-01-02T15:04:05.000", stamp); err != nil {
			t.Errorf("createTime: %v", err)
		}
		got = strings.ReplaceAll(got, stamp, "T")
	}
	if got != want || len(fields) != 3 {
		t.Errorf("menu value map of %d fields:\n got %s\nwant %s", len(fields), got, want)
	}
	for _, key := range client.Keys(ctx, "*").Val() {
		if left := client.PTTL(ctx, key).Val(); key != "erupt-auth:accounts" && (left <= ttl-time.Minute || left > ttl) {
			t.Errorf("%s lives %s, want %s", key, left, ttl)
		}
	}
	if err := s.Delete(ctx, token(1)); err != nil {
		t.Fatal(err)
	}
	if left := client.Keys(ctx, "*").Val(); len(left) != 0 {
		t.Errorf("after the logout Redis still holds %v", left)
	}
}

// What a Java server of erupt 2.0.4 stored, taken from its Redis.
func TestRedisReadsJavaSessions(t *testing.T) {
	client := dial(t, testbed.Redis(t))
	ctx := t.Context()
	const tok = "19C7ji0kZzYYPFb9"
	client.Set(ctx, "erupt-auth:token:"+tok, "lin", ttl)
	client.Set(ctx, "erupt-auth:user:"+tok, `{"id":10,"account":"lin","username":"Lin Yu","org":null,"post":"ENG","superAdmin":false,"roles":[],"tenantId":null}`, ttl)
	client.Set(ctx, "erupt-auth:menu-view:"+tok, `[{"id":81,"code":"Y8LYIbme","name":"Products","type":"table","value":"shop.Product","icon":"fa fa-cube","pid":null}]`, ttl)
	client.HSet(ctx, "erupt-auth:menu-value-map:"+tok, "shop.product", `{"name":"Products","status":null,"parentMenu":null,"type":"table","value":"shop.Product","sort":102,"icon":"fa fa-cube","code":"Y8LYIbme","param":null,"createBy":null,"createTime":"2026-11-29T20:56:43.119","updateBy":null,"updateTime":null,"id":81}`)
	s := access.NewRedisSessions(client, "erupt-auth:")
	got, err := s.Get(ctx, tok)
	if err != nil {
		t.Fatal(err)
	}
	page := access.Menu{ID: 81, Code: "Y8LYIbme", Name: "Products", Type: "table", Value: "shop.Product", Status: access.MenuOpen, Sort: num(102), Icon: "fa fa-cube"}
	want := access.Session{
		Token: tok, UserID: 10, Account: "lin", Name: "Lin Yu", Post: "ENG", Menus: []access.Menu{page},
		Values: map[string]access.Menu{"shop.product": page},
	}
	if d := cmp.Diff(want, got, sameSession...); d != "" {
		t.Errorf("a Java session reads as (-want +got):\n%s", d)
	}
	client.Del(ctx, "erupt-auth:menu-value-map:"+tok) // a user without any menu has no hash
	if _, held, err := s.Check(ctx, tok, "shop.product"); err != nil || held[0] {
		t.Errorf("without a hash Check = %v, %v; want not held", held, err)
	}
}

// S71: a store that is down gives fast, clear errors and never looks like a logout; when it is back everything works.
func TestStoreThatIsDown(t *testing.T) {
	server := testbed.RedisServer(t)
	s := access.NewRedisSessions(dial(t, server.URL()), "erupt-auth:")
	ctx := t.Context()
	server.Stop()
	calls := map[string]func() error{
		"Create":  func() error { return s.Create(ctx, lin(token(1)), ttl) },
		"Get":     func() error { _, err := s.Get(ctx, token(1)); return err },
		"Check":   func() error { _, _, err := s.Check(ctx, token(1), "a"); return err },
		"Replace": func() error { return s.Replace(ctx, lin(token(1))) },
		"Touch":   func() error { return s.Touch(ctx, token(1), ttl) },
		"Delete":  func() error { return s.Delete(ctx, token(1)) },
		"Tokens":  func() error { _, err := s.Tokens(ctx, "lin"); return err },
		"Accounts": func() error {
			_, err := s.Accounts(ctx)
			return err
		},
		"CountTry": func() error {
			_, _, err := s.CountTry(ctx, "lin", "::1", access.TryLimit{Max: 3, Lock: ttl, Life: ttl})
			return err
		},
		"ForgetTries": func() error { return s.ForgetTries(ctx, "lin", "::1") },
	}
	for name, call := range calls {
		if err := call(); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s without a store: %v, want unavailable", name, err)
		}
	}
	server.Start(t)
	mustCreate(t, s, lin(token(1)))
	server.Pause()
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := s.Get(short, token(1)); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Get from a store that hangs: %v, want unavailable", err)
	}
	server.Resume()
	if _, err := s.Get(ctx, token(1)); err != nil {
		t.Errorf("Get after the store is back: %v", err)
	}
}

func TestRedisRefusesSpoiltSessions(t *testing.T) {
	client := dial(t, testbed.Redis(t))
	s := access.NewRedisSessions(client, "erupt-auth:")
	ctx := t.Context()
	mustCreate(t, s, lin(token(1)))
	client.Set(ctx, "erupt-auth:user:"+token(1), "\xac\xed\x00\x05", ttl) // Java's own serialisation
	if _, err := s.Get(ctx, token(1)); fault.CodeOf(err) != fault.Internal {
		t.Errorf("Get of a spoilt user: %v, want an internal error", err)
	}
	mustCreate(t, s, lin(token(2)))
	client.HSet(ctx, "erupt-auth:menu-value-map:"+token(2), "x", "no JSON")
	if _, err := s.Get(ctx, token(2)); fault.CodeOf(err) != fault.Internal {
		t.Errorf("Get of a spoilt menu: %v, want an internal error", err)
	}
	mustCreate(t, s, lin(token(3)))
	client.Del(ctx, "erupt-auth:user:"+token(3)) // a logout by another server, half seen
	if _, err := s.Get(ctx, token(3)); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("Get without the user: %v, want unauthenticated", err)
	}
}
