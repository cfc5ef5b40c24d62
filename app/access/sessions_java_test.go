package access_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
)

// sweep does what a store that is swept does once a minute.
func sweep(t *testing.T, s access.SessionStore) {
	t.Helper()
	if err := access.SweepOnce(s, t.Context()); err != nil {
		t.Fatal(err)
	}
}

// recordedSession is one of the sessions that a real 1.12 or 2.0.4 server left in Redis: kind of key → value.
func recordedSession(t *testing.T, version, token string) map[string]any {
	t.Helper()
	raw, err := os.ReadFile("testdata/redis-" + version + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var dump struct {
		Keys []struct {
			Key   string
			Value json.RawMessage
		}
		Session map[string]struct {
			Value string
			Some  map[string]string
		}
	}
	if err := json.Unmarshal(raw, &dump); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	for _, k := range dump.Keys {
		kind, tok, _ := strings.Cut(strings.TrimPrefix(k.Key, "erupt-auth:"), ":")
		if tok != token {
			continue
		}
		var text string
		var fields map[string]string
		if json.Unmarshal(k.Value, &text) == nil {
			out[kind] = text
		} else if err := json.Unmarshal(k.Value, &fields); err != nil {
			t.Fatal(err)
		} else {
			out[kind] = fields
		}
	}
	for key, v := range dump.Session {
		kind := strings.TrimSuffix(strings.TrimPrefix(key, "erupt-auth:"), ":{token}")
		if out[kind] = v.Value; v.Some != nil {
			out[kind] = v.Some
		}
	}
	if len(out) < 3 {
		t.Fatalf("%s holds no session %s", version, token)
	}
	return out
}

// javaLogin writes a session as a Java server does: four keys and nothing else.
func javaLogin(t *testing.T, client redis.UniversalClient, token string, keys map[string]any) {
	t.Helper()
	for kind, value := range keys {
		key := "erupt-auth:" + kind + ":" + token
		if text, ok := value.(string); ok {
			client.Set(t.Context(), key, text, ttl)
			continue
		}
		client.HSet(t.Context(), key, value)
		client.PExpire(t.Context(), key, ttl)
	}
}

// erupt-wire 7.2, 11 item 10: a session that a real server wrote is read as it stands, with and without menus.
func TestRecordedSessionsAreRead(t *testing.T) {
	tests := map[string]struct {
		version, token, account string
		admin                   bool
		roles                   []string
		holds, lacks            string
		menus                   int
	}{
		"a user of 2.0.4":        {"2.0", "19C7ji0kZzYYPFb9", "lin", false, []string{"sales", "off"}, "shop.Product@EDIT", "shop.Product@ADD", 3},
		"one without menus":      {"2.0", "SU9hCAsREeZw7nm6", "plain", false, nil, "", "shop.Product", 0},
		"an administrator, 1.12": {"1.12", "aB3dE5gH7jK9mN1p", "erupt", true, nil, "warehouse.Customer@VIEW_DETAIL", "", 4},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			client := dial(t, testbed.Redis(t))
			javaLogin(t, client, tt.token, recordedSession(t, tt.version, tt.token))
			s := access.NewRedisSessions(client, "erupt-auth:")
			got, err := s.Get(t.Context(), tt.token)
			if err != nil {
				t.Fatal(err)
			}
			if got.Account != tt.account || got.Admin != tt.admin || !slices.Equal(got.Roles, tt.roles) || len(got.Menus) != tt.menus {
				t.Errorf("it reads as %s, admin %t, roles %q, %d menus", got.Account, got.Admin, got.Roles, len(got.Menus))
			}
			if tt.holds != "" && !got.Holds(tt.holds) || tt.lacks != "" && got.Holds(tt.lacks) {
				t.Errorf("it holds %v", got.Values)
			}
		})
	}
}

// A session that a Java server wrote works here on the same database, and has the same four keys and the same end afterwards.
func TestJavaSessionGoesOn(t *testing.T) {
	db, client := testbed.Adopted(t, "2.0"), dial(t, testbed.Redis(t))
	w := newWorld(t, db, func(o *access.Options) { o.Store = access.NewSharedRedisSessions(client, "erupt-auth:") })
	const tok = "19C7ji0kZzYYPFb9"
	javaLogin(t, client, tok, recordedSession(t, "2.0", tok))
	ctx := t.Context()
	s, held, err := w.Sessions.Get(ctx, tok, "shop.Customer@EDIT", "shop.Customer@DELETE")
	if err != nil || s.Account != "lin" || !held[0] || held[1] {
		t.Fatalf("Get = %q, %v, %v; want what the database gives lin", s.Account, held, err)
	}
	for _, kind := range []string{"token", "user", "menu-view", "menu-value-map"} {
		left := client.PTTL(ctx, "erupt-auth:"+kind+":"+tok).Val()
		if left <= ttl-time.Minute || left > ttl {
			t.Errorf("%s lives %s, want %s as before", kind, left, ttl)
		}
	}
	if got := client.Get(ctx, "erupt-auth:token:"+tok).Val(); got != "lin" {
		t.Errorf("the token's value became %q", got)
	}
}

// Disabling an account ends the sessions that Java servers made for it: at once one that was used here, and within the next
// sweep and review one that was not. All four keys go, so that they end on the Java server, too.
func TestDisabledAccountsJavaSessionsEnd(t *testing.T) {
	db, client := testbed.Adopted(t, "2.0"), dial(t, testbed.Redis(t))
	store := access.NewSharedRedisSessions(client, "erupt-auth:")
	w := newWorld(t, db, func(o *access.Options) { o.Store = store })
	ctx := t.Context()
	recorded := recordedSession(t, "2.0", "19C7ji0kZzYYPFb9")
	used, unused, late := "UsedHereUsedHere", "NeverUsedHereXXX", "MadeAfterwardsXX"
	javaLogin(t, client, used, recorded)
	javaLogin(t, client, unused, recorded)
	if _, _, err := w.Sessions.Check(ctx, used); err != nil {
		t.Fatal(err)
	}
	sweep(t, store)
	if got, err := store.Tokens(ctx, "lin"); err != nil || !slices.Equal(got, []string{unused, used}) {
		t.Fatalf("Tokens = %q, %v, want both", got, err)
	}
	off := false
	if _, err := w.Users.Update(ctx, "lin", access.UserPatch{Enabled: &off, By: access.System}); err != nil {
		t.Fatal(err)
	}
	gone := func(when string, tokens ...string) {
		t.Helper()
		for _, tok := range tokens {
			if keys := client.Keys(ctx, "erupt-auth:*:"+tok).Val(); len(keys) > 0 {
				t.Errorf("%s there are still %q", when, keys)
			}
		}
	}
	gone("after the account was disabled", used, unused)
	javaLogin(t, client, late, recorded) // the Java server had not noticed yet
	if _, _, err := w.Sessions.Check(ctx, late); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("Check of a session of a disabled account = %v", err)
	}
	gone("after it was used", late)
	javaLogin(t, client, late, recorded)
	sweep(t, store)
	if err := access.ReviewOnce(w.Sessions, ctx); err != nil {
		t.Fatal(err)
	}
	gone("after sweep and review", late)
}

// What a sweep finds that is no session does no harm, and one without an end is listed.
func TestSweepOfWhatOthersKeep(t *testing.T) {
	client := dial(t, testbed.Redis(t))
	ctx := t.Context()
	client.SAdd(ctx, "erupt-auth:token:set", "x")
	client.Set(ctx, "erupt-auth:token:not a token \x1b", "lin", ttl)
	client.Set(ctx, "erupt-auth:token:EndlessEndless16", "lin", 0)
	client.Set(ctx, "erupt-auth:tokens:plain", "no set", 0)
	client.Set(ctx, "erupt-auth:token:OfPlainOfPlain16", "plain", ttl)
	s := access.NewSharedRedisSessions(client, "erupt-auth:")
	sweep(t, s)
	if got, err := s.Tokens(ctx, "lin"); err != nil || !slices.Equal(got, []string{"EndlessEndless16"}) {
		t.Errorf("Tokens = %q, %v", got, err)
	}
	if got, err := s.Accounts(context.Background()); err != nil || !slices.Equal(got, []string{"lin"}) {
		t.Errorf("Accounts = %q, %v", got, err)
	}
}
