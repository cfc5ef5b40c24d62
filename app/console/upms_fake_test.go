package console

import (
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/database"
	"eruptcloud/app/dict"
	"eruptcloud/app/testbed"
)

var (
	_ Orgs     = (*access.Orgs)(nil)
	_ Posts    = (*access.Posts)(nil)
	_ Dicts    = (*dict.Dicts)(nil)
	_ OpenAPIs = (*access.OpenAPIs)(nil)
	_ Online   = (*access.Online)(nil)
)

// upmsWorld is what stands in a real database: it needs no imitation.
type upmsWorld struct {
	*access.Access
	db    *database.DB
	dicts *dict.Dicts
	store access.SessionStore
	// guarded: each login has to read a picture, and a second factor may be set up.
	guarded bool
}

func (u *upmsWorld) fill(o *Options) {
	o.Orgs, o.Posts, o.Dicts, o.OpenAPIs, o.Online, o.Users = u.Orgs, u.Posts, u.dicts, u.OpenAPIs, u.Online, u.Users
	if u.guarded {
		o.Captcha, o.MFA, o.AlwaysCaptcha = u.Captcha, u.MFA, true
	}
}

// office is a fleet with an organisation, posts, a dictionary, and people in them who are logged in.
func office(t testing.TB) *world {
	t.Helper()
	w := commerce()
	db := testbed.SQLite(t)
	clock := func() time.Time { return now }
	store := access.NewMemorySessions()
	w.upms = &upmsWorld{
		Access: access.New(access.Options{DB: db, Store: store, Now: clock, Cost: 4}), db: db, dicts: dict.New(dict.Options{DB: db, Now: clock}), store: store,
	}
	u, ctx := w.upms, t.Context()
	check := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range []access.NewOrg{{Code: "group", Name: "Group"}, {Code: "north", Name: "The north", Parent: "group", Sort: 1}, {Code: "south", Name: "南方", Parent: "group", Sort: 2}} {
		check(u.Orgs.Create(ctx, o))
	}
	check(u.Posts.Create(ctx, access.NewPost{Code: "lead", Name: "Lead", Weight: 5}))
	check(u.Posts.Create(ctx, access.NewPost{Code: "clerk", Name: "Clerk", Weight: 9}))
	check(u.Menus.Seed(ctx))
	for _, n := range []access.NewUser{
		{Account: "admin", Admin: true}, {Account: "lin.wei", Name: "林薇", Org: "north", Post: "lead"}, {Account: "reader"},
	} {
		n.Password, n.Enabled, n.By = "correct horse", true, access.System
		check(u.Users.Create(ctx, n))
	}
	for _, account := range []string{"admin", "reader"} { // else every page asks for it
		if err := u.Users.ChangePassword(ctx, account, "correct horse", "another horse"); err != nil {
			t.Fatal(err)
		}
	}
	check(u.dicts.Create(ctx, dict.Wish{Code: "level", Name: "Levels", Remark: "of customers", By: "lin.wei"}))
	check(u.dicts.AddItem(ctx, "level", dict.ItemWish{Code: "gold", Name: "Gold", Value: "3"}))
	check(u.dicts.AddItem(ctx, "level", dict.ItemWish{Code: "formula", Name: "=1+1", Value: "-2"}))
	for _, s := range []access.Session{
		{Token: "admin", Account: "admin", Name: "Administrator", Admin: true}, {Token: "one", Account: "lin.wei", Name: "林薇"},
		{Token: "two", Account: "lin.wei", Name: "林薇", Created: now.Add(-time.Hour)},
	} {
		if s.Created.IsZero() {
			s.Created = now.Add(-time.Minute)
		}
		s.Address, s.Agent = "10.0.0.9", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
		if err := store.Create(ctx, s, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	return w
}
