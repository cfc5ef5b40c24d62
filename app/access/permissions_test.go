package access_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/cluster"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
	"eruptcloud/ent/menu"
	"eruptcloud/ent/role"
	"eruptcloud/ent/user"
)

// erupt-wire 5.4, rule by rule.
func TestPermissionSet(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		make := func(n access.NewMenu) {
			t.Helper()
			if n.Name == "" {
				n.Name = n.Code
			}
			if _, err := w.Menus.Create(ctx, n); err != nil {
				t.Fatal(err)
			}
		}
		make(access.NewMenu{Code: "root", Sort: p(1)})
		make(access.NewMenu{Code: "folder", Parent: "root", Status: access.MenuHidden})
		make(access.NewMenu{Code: "tpl", Type: "tpl", Value: "Page.html?_node=Shop", Parent: "folder", Sort: p(30)})
		make(access.NewMenu{Code: "hidden", Type: "form", Value: "shop.Hidden", Status: access.MenuHidden})
		make(access.NewMenu{Code: "off", Type: "form", Value: "shop.Off", Status: access.MenuDisabled})
		make(access.NewMenu{Code: "nosort", Type: "form", Value: "shop.NoSort"})
		make(access.NewMenu{Code: "third", Type: "form", Value: "shop.Third", Sort: p(20)})
		make(access.NewMenu{Code: "foreign", Type: "form", Value: "shop.Foreign"})
		make(access.NewMenu{Code: "nullstatus", Type: "form", Value: "shop.NullStatus", Sort: p(10)})
		w.db.Client.Menu.Update().Where(menu.Code("nullstatus")).ClearStatus().ExecX(ctx)
		w.role(t, "on", "folder", "tpl", "hidden", "off", "nosort", "nullstatus")
		w.role(t, "second", "tpl", "third")
		w.role(t, "disabled", "foreign")
		w.db.Client.Role.Update().Where(role.Code("disabled")).SetStatus(false).ExecX(ctx)
		w.user(t, "lin", withRoles("on", "second", "disabled"))
		s := w.login(t, "lin")
		for code, want := range map[string]bool{
			"page.html": true, "PAGE.HTML": true, "page.html?_node=shop": false, "shop.hidden": true, "shop.Off": false,
			"shop.nosort": true, "shop.third": true, "shop.foreign": false, "shop.nullstatus": true, "": false,
		} {
			if got := s.Holds(code); got != want {
				t.Errorf("Holds(%q) = %v, want %v", code, got, want)
			}
		}
		var listed []string
		for _, m := range s.Menus {
			listed = append(listed, m.Code)
		}
		if want := []string{"nosort", "nullstatus", "third", "tpl"}; !slices.Equal(listed, want) {
			t.Errorf("listed %v, want %v: by sort, without a number first", listed, want)
		}
		var above []string
		for _, m := range s.Above {
			above = append(above, m.Code)
		}
		slices.Sort(above)
		if want := []string{"folder", "root"}; !slices.Equal(above, want) {
			t.Errorf("above lie %v, want %v: granted and hidden, and not granted", above, want)
		}
		w.user(t, "root", admin)
		a := w.login(t, "root")
		if !a.Holds("shop.off") || a.HoldsMenu("shop.off") || !a.HoldsMenu("shop.foreign") {
			t.Error("an admin holds everything, and the menus that are not disabled")
		}
	})
}

func TestMenusThatLieInACircle(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	ctx := t.Context()
	w.menu(t, "button", "a")
	w.menu(t, "button", "b")
	a := w.db.Client.Menu.Query().Where(menu.Code("a")).OnlyIDX(ctx)
	b := w.db.Client.Menu.Query().Where(menu.Code("b")).OnlyIDX(ctx)
	w.db.Client.Menu.Update().Where(menu.ID(a)).SetParentMenuID(b).ExecX(ctx)
	w.db.Client.Menu.Update().Where(menu.ID(b)).SetParentMenuID(a).ExecX(ctx)
	w.role(t, "r", "a")
	w.user(t, "lin", withRoles("r"))
	redis := newWorld(t, w.db, func(o *access.Options) { o.Store = access.NewRedisSessions(dial(t, testbed.Redis(t)), "erupt-auth:") })
	if s := redis.login(t, "lin"); !redis.holds(t, s.Token, "a") {
		t.Error("a menu in a circle is not held")
	}
}

func TestSessionsAreEnded(t *testing.T) {
	eachStore(t, func(t *testing.T, store access.SessionStore, later func(time.Duration)) {
		w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Store = store })
		ctx := t.Context()
		w.user(t, "lin")
		w.user(t, "yu")
		first := w.login(t, "lin")
		later(time.Minute)
		w.later(time.Minute)
		second, other := w.login(t, "lin"), w.login(t, "yu")
		live, err := w.Sessions.Of(ctx, "lin")
		if err != nil || len(live) != 2 || live[0].Token != second.Token || live[1].Address != "10.0.0.9" {
			t.Errorf("Of = %+v, %v; want two, the newest first", live, err)
		}
		if online, err := w.Sessions.Accounts(ctx); err != nil || !slices.Equal(online, []string{"lin", "yu"}) {
			t.Errorf("Accounts = %v, %v", online, err)
		}
		if err := w.Sessions.Logout(ctx, first.Token); err != nil {
			t.Fatal(err)
		}
		if w.alive(t, first.Token) || !w.alive(t, second.Token) {
			t.Error("a logout ends exactly its session")
		}
		if err := w.Sessions.EndAll(ctx, "lin"); err != nil {
			t.Fatal(err)
		}
		if w.alive(t, second.Token) || !w.alive(t, other.Token) {
			t.Error("EndAll ends exactly the sessions of its account")
		}
		for _, bad := range []string{"", "short", first.Token + " ", "../" + first.Token, string(make([]byte, 22)), "d1_abcdefghijklmnop"} {
			if _, _, err := w.Sessions.Get(ctx, bad); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("Get(%q): %v, want unauthenticated", bad, err)
			}
			if _, _, err := w.Sessions.Check(ctx, bad, "x"); !fault.Is(err, fault.Unauthenticated) {
				t.Errorf("Check(%q): %v, want unauthenticated", bad, err)
			}
			if err := w.Sessions.Logout(ctx, bad); err != nil {
				t.Errorf("Logout(%q): %v", bad, err)
			}
		}
	})
}

func TestSessionInUseLivesOn(t *testing.T) {
	for _, refresh := range []bool{true, false} {
		w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Refresh = refresh })
		w.user(t, "lin")
		s := w.login(t, "lin")
		for range 3 {
			w.later(60 * time.Minute)
			_, _, err := w.Sessions.Get(t.Context(), s.Token)
			_, _, err2 := w.Sessions.Check(t.Context(), s.Token)
			if refresh && errors.Join(err, err2) != nil {
				t.Errorf("with refresh a session in use ended: %v, %v", err, err2)
			}
		}
		if alive := w.alive(t, s.Token); alive != refresh {
			t.Errorf("after three hours of use, refresh %v: alive %v", refresh, alive)
		}
	}
}

// A right that is taken while somebody logs in must not survive in the new session.
func TestLoginDuringAChange(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.menu(t, "button", "right")
		w.role(t, "r", "right")
		w.user(t, "lin", withRoles("r"))
		for round := range 15 {
			grant := round%2 == 1
			menus := []string{}
			if grant {
				menus = append(menus, "right")
			}
			var all sync.WaitGroup
			var sessions [4]access.Session
			for i := range sessions {
				all.Go(func() { sessions[i], _ = w.attempt(ctx, "lin", goodPassword) })
			}
			all.Go(func() {
				if _, err := w.Roles.Update(ctx, "r", access.RolePatch{Menus: &menus, By: access.System}); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			for _, s := range sessions {
				if s.Token != "" && w.holds(t, s.Token, "right") != grant {
					t.Fatalf("round %d: a session made during the change holds the right: %v, want %v", round, !grant, grant)
				}
			}
			if err := w.Sessions.EndAll(ctx, "lin"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A login that is disabled between password and session must not leave one behind.
func TestDisabledWhileLoggingIn(t *testing.T) {
	db := testbed.SQLite(t)
	hooked := &hookedStore{SessionStore: access.NewMemorySessions()}
	w := newWorld(t, db, func(o *access.Options) { o.Store = hooked })
	w.user(t, "lin")
	hooked.created = func() {
		db.Client.User.Update().Where(user.Account("lin")).SetStatus(false).ExecX(context.Background())
	}
	_, err := w.attempt(t.Context(), "lin", goodPassword)
	wants(t, "a login disabled half way", err, fault.Unauthenticated)
	if live, _ := hooked.Tokens(t.Context(), "lin"); len(live) != 0 {
		t.Errorf("it left sessions %v", live)
	}
}

// hookedStore calls created after a session was kept and asked before it says who is online, and fails while down.
type hookedStore struct {
	access.SessionStore
	created, asked func()
	down           atomic.Bool
}

func (h *hookedStore) Create(ctx context.Context, s access.Session, ttl time.Duration) error {
	err := h.SessionStore.Create(ctx, s, ttl)
	if h.created != nil {
		h.created()
	}
	return err
}

func (h *hookedStore) Accounts(ctx context.Context) ([]string, error) {
	if h.asked != nil {
		h.asked()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if h.down.Load() {
		return nil, fault.New(fault.Unavailable, "down")
	}
	return h.SessionStore.Accounts(ctx)
}

// A browser that leaves after the commit must not leave sessions with rights that were taken.
func TestChangesReachSessionsWithoutTheAsker(t *testing.T) {
	store := &hookedStore{SessionStore: access.NewMemorySessions()}
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Store = store })
	w.menu(t, "button", "right")
	w.role(t, "r", "right")
	w.user(t, "lin", withRoles("r"))
	s := w.login(t, "lin")
	ctx, cancel := context.WithCancel(t.Context())
	store.asked = cancel
	_, _ = w.Roles.Update(ctx, "r", access.RolePatch{Menus: &[]string{}, By: access.System}) // it may tell that the asker is gone
	if w.holds(t, s.Token, "right") {
		t.Error("the session holds what was taken, because the request ended")
	}
}

// When nobody can say whom a change concerns, it concerns everybody.
func TestChangeWithoutDatabaseAfterTheCommit(t *testing.T) {
	store := &hookedStore{SessionStore: access.NewMemorySessions()}
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Store = store })
	w.menu(t, "button", "right")
	w.role(t, "r", "right")
	w.user(t, "lin", withRoles("r"))
	s := w.login(t, "lin")
	w.db.Client.Role.Update().Where(role.Code("r")).ClearMenus().ExecX(t.Context())
	access.FailLookup(t.Context(), w.Access)
	if !w.holds(t, s.Token, "right") {
		t.Fatal("the session followed too early for this test")
	}
	if err := access.RetryOnce(w.Sessions, t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.holds(t, s.Token, "right") {
		t.Error("the session did not follow")
	}
}

func TestChangesReachSessionsAfterAnOutage(t *testing.T) {
	ctx := t.Context()
	store := &hookedStore{SessionStore: access.NewMemorySessions()}
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Store = store })
	w.menu(t, "button", "right")
	w.role(t, "r", "right")
	w.user(t, "lin", withRoles("r"))
	w.user(t, "yu")
	lin, yu := w.login(t, "lin"), w.login(t, "yu")
	store.down.Store(true)
	_, err := w.Roles.Update(ctx, "r", access.RolePatch{Menus: &[]string{}, By: access.System})
	wants(t, "a change that sessions cannot follow", err, fault.Unavailable)
	_, err = w.Users.Update(ctx, "yu", access.UserPatch{Password: p("another password"), By: access.System})
	wants(t, "a new password that sessions cannot follow", err, fault.Unavailable)
	_, err = w.Users.Update(ctx, "yu", access.UserPatch{Name: p("Yu"), By: access.System})
	wants(t, "a further change", err, fault.Unavailable)
	if err := access.RetryOnce(w.Sessions, ctx); err == nil {
		t.Error("a retry during the outage returned no error")
	}
	if r, err := w.Roles.ByCode(ctx, "r"); err != nil || len(r.Menus) != 0 {
		t.Errorf("the change itself was not saved: %+v, %v", r, err)
	}
	store.down.Store(false)
	if err := access.RetryOnce(w.Sessions, ctx); err != nil {
		t.Fatal(err)
	}
	if w.holds(t, lin.Token, "right") {
		t.Error("after the outage the session still holds what was taken")
	}
	if w.alive(t, yu.Token) {
		t.Error("after the outage the session lives on although the password changed")
	}
	if err := access.RetryOnce(w.Sessions, ctx); err != nil {
		t.Errorf("a retry of nothing: %v", err)
	}
}

// A Java server on the same database, or the calendar, may end what our own changes do not.
func TestReviewEndsWhatMayNotGoOn(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		sessions := map[string]access.Session{}
		for _, a := range []string{"stays", "disabled", "deleted", "expires"} {
			w.user(t, a)
			sessions[a] = w.login(t, a)
		}
		w.db.Client.User.Update().Where(user.Account("disabled")).SetStatus(false).ExecX(ctx)
		w.db.Client.User.Delete().Where(user.Account("deleted")).ExecX(ctx)
		w.db.Client.User.Update().Where(user.Account("expires")).SetExpireDate(w.time().Add(time.Minute)).ExecX(ctx)
		w.later(2 * time.Minute)
		if err := access.ReviewOnce(w.Sessions, ctx); err != nil {
			t.Fatal(err)
		}
		for a, s := range sessions {
			if w.alive(t, s.Token) != (a == "stays") {
				t.Errorf("after the review the session of %q is alive: %v", a, a != "stays")
			}
		}
	})
}

func TestReviewWithoutDatabaseEndsNothing(t *testing.T) {
	db := testbed.SQLite(t)
	w := newWorld(t, db)
	w.user(t, "lin")
	s := w.login(t, "lin")
	db.SQL.Close()
	if err := access.ReviewOnce(w.Sessions, t.Context()); err == nil {
		t.Error("a review without database returned no error")
	}
	if !w.alive(t, s.Token) {
		t.Error("a review without database ended a session")
	}
}

func TestChangesAreTold(t *testing.T) {
	bus := cluster.NewSolo("a")
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Bus = bus })
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan string, 100)
	done := make(chan error, 1)
	go func() { done <- bus.Subscribe(ctx, access.Topic, func(msg []byte) { heard <- string(msg) }) }()
	var got []string
	for len(got) == 0 { // until the subscription stands
		w.user(t, fmt.Sprint("u", time.Now().UnixNano()))
		select {
		case m := <-heard:
			got = append(got, m)
		default:
		}
	}
	w.menu(t, "button", "b")
	w.role(t, "r", "b")
	w.user(t, "lin")
	for !slices.Contains(got, `{"id":"lin","kind":"user"}`) {
		got = append(got, <-heard)
	}
	for _, want := range []string{`{"id":"b","kind":"menu"}`, `{"id":"r","kind":"role"}`} {
		if !slices.Contains(got, want) {
			t.Errorf("told %v, want %s among it", got, want)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
