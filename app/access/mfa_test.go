package access_test

import (
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
	"eruptcloud/ent/user"
)

var from9 = access.Attempt{Address: "10.0.0.9", Agent: "test"}

// bind gives an account a second factor and returns its secret and recovery codes.
func (w *world) bind(t *testing.T, account string) (secret string, codes []string) {
	t.Helper()
	e, err := w.MFA.Enroll(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	codes, err = w.MFA.Confirm(t.Context(), account, access.CodeAt(e.Secret, w.time()))
	if err != nil {
		t.Fatal(err)
	}
	w.later(time.Minute) // the step of that code is over
	return e.Secret, codes
}

// ticket is the first step of a login.
func (w *world) ticket(t *testing.T, account string) string {
	t.Helper()
	_, err := w.attempt(t.Context(), account, goodPassword)
	if access.TicketOf(err) == "" || access.AccountOf(err) != account {
		t.Fatalf("log in as %s: %v, want a ticket", account, err)
	}
	return access.TicketOf(err)
}

func TestSecondFactor(t *testing.T) { // erupt-wire 3.4, 6.3
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.user(t, "lin")
		status := func(bound bool, left int) {
			t.Helper()
			s, err := w.MFA.Status(ctx, "lin")
			if err != nil || s.Bound != bound || s.RecoveryCodes != left || !s.On {
				t.Errorf("status %+v, %v; want bound %v with %d codes", s, err, bound, left)
			}
		}
		status(false, 0)
		e, err := w.MFA.Enroll(ctx, "lin")
		if err != nil || len(strings.ReplaceAll(e.Secret, " ", "")) != 32 || !strings.HasPrefix(e.URI, "otpauth://totp/Erupt%20Cloud:lin?") {
			t.Fatalf("enrolment %+v, %v", e, err)
		}
		if again, err := w.MFA.Pending(ctx, "lin"); err != nil || again != e {
			t.Errorf("the enrolment that waits is %+v, %v; want %+v", again, err, e)
		}
		_, err = w.MFA.Confirm(ctx, "lin", "000000")
		wants(t, "a wrong first code", err, fault.Invalid)
		status(false, 0)
		codes, err := w.MFA.Confirm(ctx, "lin", access.CodeAt(e.Secret, w.time()))
		if err != nil || len(codes) != 10 || len(codes[0]) != 10 || strings.ToLower(codes[0]) != codes[0] {
			t.Fatalf("recovery codes %v, %v", codes, err)
		}
		status(true, 10)
		row := w.db.Client.User.Query().Where(user.Account("lin")).OnlyX(ctx)
		var kept []string
		if err := json.Unmarshal([]byte(row.MfaRecoveryCodes), &kept); err != nil || len(kept) != 10 || len(kept[0]) != 64 || row.MfaSecret != strings.ReplaceAll(e.Secret, " ", "") || !bool(row.MfaEnabled) {
			t.Errorf("the row holds %v %q %q, want what erupt 2.3 keeps", row.MfaEnabled, row.MfaSecret, row.MfaRecoveryCodes)
		}
		_, err = w.MFA.Enroll(ctx, "lin")
		wants(t, "binding a second time", err, fault.Conflict)

		ticket := w.ticket(t, "lin")
		_, err = w.MFA.Complete(ctx, ticket, access.CodeAt(e.Secret, w.time()), from9)
		wants(t, "the code that confirmed", err, fault.Unauthenticated)
		w.later(30 * time.Second)
		s, err := w.MFA.Complete(ctx, ticket, access.CodeAt(e.Secret, w.time()), from9)
		if err != nil || !w.alive(t, s.Token) || s.Account != "lin" || s.Address != "10.0.0.9" {
			t.Fatalf("the second step gave %+v, %v", s, err)
		}
		w.later(30 * time.Second)
		_, err = w.MFA.Complete(ctx, ticket, access.CodeAt(e.Secret, w.time()), from9)
		if !fault.Is(err, fault.Unauthenticated) || access.TicketOf(err) != "" {
			t.Errorf("a ticket for a second time: %v", err)
		}
		s, err = w.MFA.Complete(ctx, w.ticket(t, "lin"), " "+strings.ToUpper(codes[3])+" ", from9)
		if err != nil || s.Account != "lin" {
			t.Errorf("a recovery code: %v", err)
		}
		status(true, 9)
		_, err = w.MFA.Complete(ctx, w.ticket(t, "lin"), codes[3], from9)
		wants(t, "a recovery code for a second time", err, fault.Unauthenticated)

		w.later(time.Minute)
		fresh, err := w.MFA.NewCodes(ctx, "lin", access.CodeAt(e.Secret, w.time()))
		if err != nil || len(fresh) != 10 {
			t.Errorf("new codes %v, %v", fresh, err)
		}
		status(true, 10)
		wants(t, "removing with a wrong password", w.MFA.Unbind(ctx, "lin", "wrong horse", fresh[0]), fault.Invalid)
		wants(t, "removing with a wrong code", w.MFA.Unbind(ctx, "lin", goodPassword, codes[0]), fault.Invalid)
		if err := w.MFA.Unbind(ctx, "lin", goodPassword, fresh[0]); err != nil {
			t.Errorf("removing: %v", err)
		}
		status(false, 0)
		w.login(t, "lin")
	})
}

func TestSecondFactorCannotBeGuessed(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Lock.MaxFailures = 1000 })
	ctx := t.Context()
	w.user(t, "lin")
	secret, _ := w.bind(t, "lin")
	ticket := w.ticket(t, "lin")
	for i := range 5 {
		_, err := w.MFA.Complete(ctx, ticket, "000000", from9)
		wants(t, "a wrong code", err, fault.Unauthenticated)
		if alive := access.TicketOf(err) != ""; alive != (i < 4) {
			t.Errorf("after %d wrong codes the ticket is good: %v", i+1, alive)
		}
	}
	_, err := w.MFA.Complete(ctx, ticket, access.CodeAt(secret, w.time()), from9)
	wants(t, "the right code after five wrong ones", err, fault.Unauthenticated)

	ticket = w.ticket(t, "lin")
	w.later(5*time.Minute + time.Second)
	_, err = w.MFA.Complete(ctx, ticket, access.CodeAt(secret, w.time()), from9)
	wants(t, "a ticket after five minutes", err, fault.Unauthenticated)
	for _, bad := range []string{"", "x", "*", strings.Repeat("a", 22), "../../mfa-used:1:1", strings.Repeat("a", 1<<16)} {
		_, err := w.MFA.Complete(ctx, bad, "000000", from9)
		wants(t, "a ticket that nobody made", err, fault.Unauthenticated)
	}

	// From everywhere at once, with the password: each try costs, whatever address it comes from.
	tried := 0
	for i := range 40 {
		a := access.Attempt{Account: "lin", Password: goodPassword, Address: "10.1.0." + string(rune('0'+i%10)) + string(rune('0'+i/10))}
		_, err := w.Login.Attempt(ctx, a)
		ticket := access.TicketOf(err)
		for range 5 {
			if _, err := w.MFA.Complete(ctx, ticket, "000000", a); fault.Is(err, fault.Unauthenticated) {
				tried++
			}
		}
	}
	if tried > 60 {
		t.Errorf("%d codes of one account were tried in an hour, want 60 at most", tried)
	}
	_, err = w.MFA.Complete(ctx, w.ticket(t, "lin"), access.CodeAt(secret, w.time()), from9)
	wants(t, "while codes are being guessed", err, fault.TooMany)
	if err := w.MFA.Reset(ctx, "lin", access.System); err != nil {
		t.Fatal(err)
	}
	w.login(t, "lin")
}

func TestWrongCodesLockAccountAndAddress(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	w.user(t, "lin")
	secret, _ := w.bind(t, "lin")
	ctx := t.Context()
	locked := false
	for range 4 {
		_, err := w.attempt(ctx, "lin", goodPassword)
		for ticket := access.TicketOf(err); ticket != "" && !locked; ticket = access.TicketOf(err) {
			_, err = w.MFA.Complete(ctx, ticket, "000000", from9)
			locked = fault.Is(err, fault.TooMany)
		}
		locked = locked || fault.Is(err, fault.TooMany)
	}
	if !locked {
		t.Error("twenty wrong codes locked nothing: the right password must not forgive them")
	}
	w.later(10*time.Minute + time.Second)
	if _, err := w.MFA.Complete(ctx, w.ticket(t, "lin"), access.CodeAt(secret, w.time()), from9); err != nil {
		t.Errorf("after the lock: %v", err)
	}
	_, err := w.attempt(ctx, "lin", "wrong horse")
	wants(t, "the count after a success", err, fault.Unauthenticated)
}

func TestOneCodeOpensOneSession(t *testing.T) {
	eachVault(t, func(t *testing.T, v access.Vault, _ func(time.Duration)) {
		w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Vault, o.Lock.On = v, false })
		w.user(t, "lin")
		secret, codes := w.bind(t, "lin")
		for name, code := range map[string]string{"authenticator": access.CodeAt(secret, w.time()), "recovery": codes[0]} {
			tickets := make([]string, 4)
			for i := range tickets {
				tickets[i] = w.ticket(t, "lin")
			}
			var opened atomic.Int32
			var all sync.WaitGroup
			for _, ticket := range tickets {
				all.Go(func() {
					if _, err := w.MFA.Complete(t.Context(), ticket, code, from9); err == nil {
						opened.Add(1)
					}
				})
			}
			all.Wait()
			if opened.Load() != 1 {
				t.Errorf("one code of the %s opened %d sessions", name, opened.Load())
			}
		}
	})
}

func TestSecondFactorIsAskedForThoughSwitchedOff(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.MFA.On = false })
	w.user(t, "lin")
	_, err := w.MFA.Enroll(t.Context(), "lin")
	wants(t, "binding where it is switched off", err, fault.Conflict)
	w.db.Client.User.Update().Where(user.Account("lin")).SetMfaEnabled(true).SetMfaSecret("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP").ExecX(t.Context())
	if _, err := w.MFA.Complete(t.Context(), w.ticket(t, "lin"), access.CodeAt("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", w.time()), from9); err != nil {
		t.Errorf("what a Java server bound: %v", err)
	}
	w.db.Client.User.Update().Where(user.Account("lin")).SetMfaSecret("not base32!").ExecX(t.Context())
	_, err = w.MFA.Complete(t.Context(), w.ticket(t, "lin"), "123456", from9)
	if fault.CodeOf(err) != fault.Internal || strings.Contains(err.Error(), "not base32!") {
		t.Errorf("a spoilt secret: %v, want an internal error that does not show it", err)
	}
}

func TestDisabledBetweenTheSteps(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	w.user(t, "lin")
	secret, _ := w.bind(t, "lin")
	ticket := w.ticket(t, "lin")
	w.db.Client.User.Update().Where(user.Account("lin")).SetStatus(false).ExecX(t.Context())
	if _, err := w.MFA.Complete(t.Context(), ticket, access.CodeAt(secret, w.time()), from9); err == nil {
		t.Error("an account that was disabled between the steps logged in")
	}
}

// Whoever changes his password because another knows it shuts that one out, half logged in or not.
func TestTicketEndsWithThePassword(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	w.user(t, "lin")
	secret, _ := w.bind(t, "lin")
	ticket := w.ticket(t, "lin")
	if err := w.Users.ChangePassword(t.Context(), "lin", goodPassword, "another good one"); err != nil {
		t.Fatal(err)
	}
	w.later(time.Minute)
	_, err := w.MFA.Complete(t.Context(), ticket, access.CodeAt(secret, w.time()), from9)
	wants(t, "a ticket of the old password", err, fault.Unauthenticated)
}

func TestWhoMayResetASecondFactor(t *testing.T) { // D21, erupt-wire 5.7
	w := newWorld(t, testbed.SQLite(t))
	ctx := t.Context()
	w.menu(t, "table", "EruptUser")
	w.menu(t, "table", "shop.Secret")
	w.role(t, "desk", "EruptUser")
	w.role(t, "more", "EruptUser", "shop.Secret")
	w.user(t, "helper", withRoles("desk"))
	w.user(t, "equal", withRoles("desk"))
	w.user(t, "above", withRoles("more"))
	w.user(t, "root", admin)
	for _, account := range []string{"equal", "above", "root"} {
		w.bind(t, account)
	}
	helper := access.Actor{Account: "helper"}
	wants(t, "of an administrator", w.MFA.Reset(ctx, "root", helper), fault.Forbidden)
	wants(t, "of somebody who holds more", w.MFA.Reset(ctx, "above", helper), fault.Forbidden)
	if err := w.MFA.Reset(ctx, "equal", helper); err != nil {
		t.Errorf("of an equal: %v", err)
	}
	wants(t, "of somebody without one", w.MFA.Reset(ctx, "equal", helper), fault.Conflict)
	if u, err := w.Users.ByAccount(ctx, "above"); err != nil || !u.MFA {
		t.Errorf("a refused reset left %+v, %v", u, err)
	}
}

// erupt-wire 6.3: a database without the columns says so, and nothing else fails.
func TestSecondFactorNeedsItsColumns(t *testing.T) {
	for _, version := range []string{"1.12", "2.0"} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t, testbed.Adopted(t, version))
			w.user(t, "newcomer")
			w.login(t, "newcomer")
			_, err := w.MFA.Enroll(t.Context(), "newcomer")
			wants(t, "binding", err, fault.Conflict)
			if !strings.Contains(fault.Of(err).Message(), "database cannot keep") {
				t.Errorf("told as %q", fault.Of(err).Message())
			}
			if s, err := w.MFA.Status(t.Context(), "newcomer"); err != nil || s.On || s.Bound {
				t.Errorf("status %+v, %v", s, err)
			}
			picture := "https://example.org/a.png"
			_, err = w.Users.Update(t.Context(), "newcomer", access.UserPatch{Avatar: &picture, By: access.System})
			if lacks := version == "1.12"; fault.Is(err, fault.Conflict) != lacks || !lacks && err != nil {
				t.Errorf("a picture: %v", err)
			}
		})
	}
	t.Run("2.3", func(t *testing.T) {
		db := testbed.Adopted(t, "2.3")
		w := newWorld(t, db)
		w.user(t, "newcomer")
		secret, _ := w.bind(t, "newcomer")
		if _, err := w.MFA.Complete(t.Context(), w.ticket(t, "newcomer"), access.CodeAt(secret, w.time()), from9); err != nil {
			t.Errorf("a second factor in a database of 2.3: %v", err)
		}
	})
}

func TestAvatar(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		w.user(t, "lin")
		set := func(avatar string) error {
			_, err := w.Users.Update(t.Context(), "lin", access.UserPatch{Avatar: &avatar, By: access.Actor{Account: "lin"}})
			return err
		}
		for _, bad := range []string{"javascript:alert(1)", "data:image/png;base64,AA", "//evil.example/a.png", "/a.png", "https://a b/", `https://x/"><script>`, "https://u:p@x/", "https:///a.png", "https://x/" + strings.Repeat("a", 1100)} {
			wants(t, "the picture "+bad, set(bad), fault.Invalid)
		}
		if err := set("https://example.org/a.png?x=1"); err != nil {
			t.Fatal(err)
		}
		if u, err := w.Users.ByAccount(t.Context(), "lin"); err != nil || u.Avatar != "https://example.org/a.png?x=1" {
			t.Errorf("the picture is %q, %v", u.Avatar, err)
		}
		if err := set(""); err != nil {
			t.Errorf("taking it away: %v", err)
		}
	})
}
