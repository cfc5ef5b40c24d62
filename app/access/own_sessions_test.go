package access_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
)

// A user sees his sessions, which of them is used, and ends one without knowing its token.
func TestOwnSessions(t *testing.T) {
	redis := testbed.Redis(t)
	stores := map[string]func(*access.Options){
		"memory": func(*access.Options) {},
		"redis":  func(o *access.Options) { o.Store = access.NewRedisSessions(dial(t, redis), "erupt-auth:") },
	}
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			w, ctx := newWorld(t, testbed.SQLite(t), store), t.Context()
			w.user(t, "lin")
			w.user(t, "yu")
			a := w.login(t, "lin")
			w.later(time.Second)
			b := w.login(t, "lin")
			yu := w.login(t, "yu")
			own, err := w.Sessions.Of(ctx, "lin")
			if err != nil || len(own) != 2 || own[0].ID() != b.ID() || own[1].ID() != a.ID() {
				t.Fatalf("Of = %+v, %v; want both, the newer first", own, err)
			}
			if own[1].Address != "10.0.0.9" || !strings.Contains(own[1].Agent, "Firefox") || own[1].Created.IsZero() || own[1].Used.IsZero() {
				t.Errorf("a session is listed as %+v, want address, browser, times", own[1])
			}
			if id := own[0].ID(); len(id) != 32 || strings.Contains(id, b.Token) || id == own[1].ID() {
				t.Errorf("ID = %q", id)
			}
			wants(t, "ending by the token", w.Sessions.End(ctx, "lin", b.Token), fault.NotFound)
			wants(t, "ending somebody else's", w.Sessions.End(ctx, "lin", yu.ID()), fault.NotFound)
			if err := w.Sessions.End(ctx, "lin", a.ID()); err != nil {
				t.Fatal(err)
			}
			if w.alive(t, a.Token) || !w.alive(t, b.Token) || !w.alive(t, yu.Token) {
				t.Error("End did not end exactly the session with the ID")
			}
			wants(t, "ending it again", w.Sessions.End(ctx, "lin", a.ID()), fault.NotFound)
		})
	}
}

// The last use is noted a minute off at most, and not by looking at the list.
func TestLastUseOfASession(t *testing.T) {
	w, ctx := newWorld(t, testbed.SQLite(t)), t.Context()
	w.user(t, "lin")
	s := w.login(t, "lin")
	first := w.time()
	used := func() time.Time {
		t.Helper()
		own, err := w.Sessions.Of(ctx, "lin")
		if err != nil || len(own) != 1 {
			t.Fatalf("Of = %v, %v", own, err)
		}
		return own[0].Used
	}
	w.later(5 * time.Minute)
	if got := used(); !got.Equal(first) {
		t.Errorf("after five idle minutes it was last used at %s, want %s", got, first)
	}
	if !w.alive(t, s.Token) {
		t.Fatal("the session is over")
	}
	if got := used(); !got.Equal(w.time()) {
		t.Errorf("after a request it was last used at %s, want %s", got, w.time())
	}
	end := s.Expires
	if now, _, err := w.Sessions.Get(ctx, s.Token); err != nil || !now.Expires.Equal(end) {
		t.Errorf("use moved the end to %s, %v; want %s, as nothing extends sessions here", now.Expires, err, end)
	}
}

func TestTouchNotesTheUse(t *testing.T) {
	eachStore(t, func(t *testing.T, s access.SessionStore, later func(time.Duration)) {
		ctx := t.Context()
		mustCreate(t, s, lin(token(1)))
		first, err := s.Get(ctx, token(1))
		if err != nil || first.Used.IsZero() {
			t.Fatalf("a new session was last used at %s, %v", first.Used, err)
		}
		later(2 * time.Minute)
		if err := s.Touch(ctx, token(1), 0); err != nil {
			t.Fatal(err)
		}
		now, _, err := s.Check(ctx, token(1))
		if err != nil || now.Used.Before(first.Used) {
			t.Errorf("after a use it was last used at %s, %v; before at %s", now.Used, err, first.Used)
		}
		if moved := first.Expires.Sub(now.Expires); moved < 0 || moved > 2*time.Minute+time.Second {
			t.Errorf("noting the use moved the end from %s to %s", first.Expires, now.Expires)
		}
		later(ttl)
		if err := s.Touch(ctx, token(1), 0); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("Touch of a session that is over: %v", err)
		}
	})
}

// A Java server on the same Redis writes all codes of a user's roles into the session, as it knows no limits.
func TestSessionsOfJavaServersAreAdopted(t *testing.T) {
	db, url := testbed.MySQL(t), testbed.Redis(t)
	w := newWorld(t, db, func(o *access.Options) { o.Store = access.NewRedisSessions(dial(t, url), "erupt-auth:") })
	ctx, client := t.Context(), dial(t, url)
	w.menu(t, "table", "shop.Product")
	w.role(t, "sales", "shop.Product")
	w.user(t, "lin", withRoles("sales"))
	const tok = "19C7ji0kZzYYPFb9"
	client.Set(ctx, "erupt-auth:token:"+tok, "lin", ttl)
	client.Set(ctx, "erupt-auth:user:"+tok, `{"id":10,"account":"lin","username":"Lin","org":null,"post":null,"superAdmin":true,"roles":[],"tenantId":null}`, ttl)
	client.HSet(ctx, "erupt-auth:menu-value-map:"+tok, "shop.order", `{"name":"Orders","status":1,"parentMenu":null,"type":"table","value":"shop.Order","code":"x","id":81}`)
	if w.holds(t, tok, "shop.order") || !w.holds(t, tok, "shop.product") {
		t.Error("a foreign session counts as it stands, want what the database says")
	}
	if got, err := w.Sessions.Accounts(ctx); err != nil || !slices.Equal(got, []string{"lin"}) {
		t.Errorf("Accounts = %v, %v; changes must find the session from now on", got, err)
	}
	off := false
	if _, err := w.Roles.Update(ctx, "sales", access.RolePatch{Enabled: &off, By: access.System}); err != nil {
		t.Fatal(err)
	}
	if w.holds(t, tok, "shop.product") {
		t.Error("a right that was taken is still held")
	}
}
