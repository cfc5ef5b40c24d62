package access_test

import (
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
	"eruptcloud/ent/dbtype"
)

func TestLoginOfErupt1ByDigest(t *testing.T) { // erupt-1.12, "Login of the 1.12 front end"; the digest is a recorded one
	if got := md5hex(md5hex("erupt") + "erupt"); got != "9d69da3522f792dd05fcdd606980cf2f" {
		t.Fatalf("the recorded digest is made otherwise: %s", got)
	}
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Adopted = true })
	ctx := t.Context()
	put := func(account, password, form, salt string, hashed *dbtype.Flag) {
		c := w.db.Client.User.Create().SetAccount(account).SetStatus(account != "locked").SetPassword(password).SetNillableIsMd5(hashed)
		if form != "" {
			c.SetEncryptType(form).SetSalt(salt)
		}
		c.ExecX(ctx)
	}
	put("erupt", md5hex("erupt"), "", "", flag(true))
	put("plain", "erupt", "", "", flag(false))
	put("sha", sha512hex("eruptss"), "SHA512", "ss", flag(true))
	put("none", md5hex("erupt"), "", "", nil)
	put("locked", md5hex("erupt"), "", "", flag(true))
	for account, opens := range map[string]bool{"erupt": true, "plain": true, "sha": false, "none": false, "locked": false, "nobody": false} {
		a := access.Attempt{Account: account, Password: md5hex(md5hex("erupt") + account), Address: "10.0.0.9"}
		s, err := w.Login.AttemptDigest(ctx, a)
		if (err == nil) != opens || opens && s.Account != account {
			t.Errorf("%s: %+v, %v; want it to open: %v", account, s.Account, err, opens)
		}
		if !opens && account != "locked" && fault.Of(err).Message() != "account or password is wrong, or the password is kept in a form that the login of erupt 1.x cannot use" {
			t.Errorf("%s is told %q: it must be told like an account that does not exist", account, fault.Of(err).Message())
		}
		for _, wrong := range []string{md5hex("erupt"), "erupt", "", md5hex(md5hex("erupt") + "other")} {
			a.Password = wrong
			if _, err := w.Login.AttemptDigest(ctx, a); err == nil {
				t.Errorf("%s opens to %q", account, wrong)
			}
		}
	}
	_, err := newWorld(t, testbed.SQLite(t)).Login.AttemptDigest(ctx, access.Attempt{Account: "erupt", Password: "x"})
	wants(t, "a database of ours", err, fault.Conflict)
}

func TestTokensOfPrograms(t *testing.T) { // erupt-wire 3.3
	eachVault(t, func(t *testing.T, v access.Vault, _ func(time.Duration)) {
		w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Vault = v })
		ctx := t.Context()
		w.user(t, "lin")
		app, secret, err := w.OpenAPIs.Create(ctx, access.NewOpenAPI{Name: "c1", Account: "lin", Minutes: 30, Enabled: true, By: access.System})
		if err != nil {
			t.Fatal(err)
		}
		one, err := w.Tokens.Create(ctx, app.AppID, secret, from9)
		if err != nil || len(one.Token) != 26 || one.Token[:2] != "ER" || !one.Expires.Equal(w.time().Add(30*time.Minute)) {
			t.Fatalf("token %+v, %v", one, err)
		}
		if s, _, err := w.Sessions.Get(ctx, one.Token); err != nil || s.Account != "lin" || !s.Expires.Equal(w.time().Add(29*time.Minute)) {
			t.Errorf("its session is %s until %s, %v", s.Account, s.Expires, err)
		}
		if got, err := w.Tokens.AppOf(ctx, one.Token); err != nil || got.AppID != app.AppID || got.Name != "c1" {
			t.Errorf("the app of the token is %+v, %v", got, err)
		}
		two, err := w.Tokens.Create(ctx, app.AppID, secret, from9)
		if err != nil || w.alive(t, one.Token) || !w.alive(t, two.Token) {
			t.Errorf("after a second token, %v: the first lives %v, the second %v", err, w.alive(t, one.Token), w.alive(t, two.Token))
		}
		_, err = w.Tokens.AppOf(ctx, one.Token)
		wants(t, "the app of a token that is over", err, fault.NotFound)

		all := make(chan string, 8)
		for range cap(all) {
			go func() { t, _ := w.Tokens.Create(ctx, app.AppID, secret, from9); all <- t.Token }()
		}
		alive := 0
		for range cap(all) {
			if token := <-all; token != "" && w.alive(t, token) {
				alive++
			}
		}
		if live, _ := w.store.Tokens(ctx, "lin"); len(live) != 1 {
			t.Errorf("of tokens made at once %d live, want one", len(live))
		}

		_, err = w.Tokens.Create(ctx, app.AppID, "x", from9)
		wants(t, "a wrong secret", err, fault.Unauthenticated)
		_, other := w.Tokens.Create(ctx, "es00000000000000", secret, from9)
		if other == nil || fault.Of(other).Message() != fault.Of(err).Message() {
			t.Errorf("an unknown app is told %v, a wrong secret %v", other, err)
		}
		for range 9 {
			_, err := w.Tokens.Create(ctx, app.AppID, "x", from9)
			wants(t, "one more wrong secret", err, fault.Unauthenticated)
		}
		_, err = w.Tokens.Create(ctx, app.AppID, secret, from9)
		wants(t, "after ten wrong secrets", err, fault.TooMany)
		off := false
		if _, err := w.Users.Update(ctx, "lin", access.UserPatch{Enabled: &off, By: access.System}); err != nil {
			t.Fatal(err)
		}
		_, err = w.Tokens.Create(ctx, app.AppID, secret, access.Attempt{Address: "10.0.0.8"})
		wants(t, "for a user who is disabled", err, fault.Unauthenticated)
	})
}
