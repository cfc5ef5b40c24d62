package access_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
	"eruptcloud/ent"
	"eruptcloud/ent/dbtype"
	"eruptcloud/ent/user"
)

func TestLogin(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.menu(t, "table", "shop.Product")
		w.role(t, "sales", "shop.Product")
		w.user(t, "lin", withRoles("sales"), func(n *access.NewUser) { n.Name = "Lin Yu 林" })
		s := w.login(t, "lin")
		if !regexp.MustCompile(`^[A-Za-z0-9]{22}$`).MatchString(s.Token) {
			t.Errorf("token %q, want 22 alphanumerics", s.Token)
		}
		if s.Account != "lin" || s.Name != "Lin Yu 林" || s.Admin || s.Address != "10.0.0.9" || !s.Expires.Equal(w.time().Add(ttl)) {
			t.Errorf("session %+v", s)
		}
		if again := w.login(t, "lin"); again.Token == s.Token || !w.alive(t, s.Token) {
			t.Error("a second login must stand beside the first")
		}
		row, err := w.db.Client.LoginLog.Query().First(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(s.Token))
		if row.Token != hex.EncodeToString(sum[:8]) || row.UserName != "Lin Yu 林" || row.IP != "10.0.0.9" || row.Browser != "Firefox 140" || row.SystemName != "Linux" {
			t.Errorf("login log %+v", row)
		}
	})
}

func TestWrongPasswordAndUnknownAccountAreAlike(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.user(t, "lin")
		w.user(t, "off", func(n *access.NewUser) { n.Enabled = false })
		var costs []int
		access.CountComparisons(w.Access, func(cost int) { costs = append(costs, cost) })
		long := strings.Repeat("x", 70) + "123" // its first 72 bytes may be somebody's password
		for name, a := range map[string][2]string{
			"wrong password":               {"lin", "wrong horse"},
			"unknown account":              {"nobody", goodPassword},
			"other case":                   {"LIN", goodPassword},
			"disabled, wrong password":     {"off", "wrong horse"},
			"no account":                   {"", goodPassword},
			"no password":                  {"lin", ""},
			"longer than bcrypt":           {"lin", long},
			"longer than any account":      {strings.Repeat("l", 300), goodPassword},
			"an account that is not UTF-8": {"\xff", goodPassword},
		} {
			costs = nil
			_, err := w.attempt(t.Context(), a[0], a[1])
			wants(t, name, err, fault.Unauthenticated)
			if got := fault.Of(err).Message(); got != "account or password is wrong" {
				t.Errorf("%s is told as %q", name, got)
			}
			if len(costs) != 1 || costs[0] != cheap {
				t.Errorf("%s cost comparisons of %v, want one of %d: its time tells it apart", name, costs, cheap)
			}
		}
	})
}

func TestLockout(t *testing.T) {
	eachStore(t, func(t *testing.T, store access.SessionStore, later func(time.Duration)) {
		w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Store = store })
		w.user(t, "lin")
		ctx := t.Context()
		for range 9 {
			_, err := w.attempt(ctx, "lin", "wrong horse")
			wants(t, "a wrong password", err, fault.Unauthenticated)
		}
		w.login(t, "lin") // the tenth: success forgets the nine
		for range 10 {
			_, err := w.attempt(ctx, "lin", "wrong horse")
			wants(t, "a wrong password", err, fault.Unauthenticated)
		}
		_, err := w.attempt(ctx, "lin", goodPassword)
		wants(t, "the right password while locked", err, fault.TooMany)
		if wait := fault.Of(err).RetryAfter; wait <= 9*time.Minute || wait > 10*time.Minute {
			t.Errorf("told to wait %s, want ten minutes", wait)
		}
		if _, err := w.Login.Attempt(ctx, access.Attempt{Account: "lin", Password: goodPassword, Address: "10.0.0.10"}); err != nil {
			t.Errorf("from another address: %v", err)
		}
		later(10*time.Minute + time.Second)
		w.login(t, "lin")
	})
}

func TestLockoutCannotBeOutrun(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	w.user(t, "lin")
	var mu sync.Mutex
	looked := 0
	access.CountComparisons(w.Access, func(int) { mu.Lock(); looked++; mu.Unlock() })
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() { _, _ = w.attempt(t.Context(), "lin", fmt.Sprint("guess ", i)) })
	}
	all.Wait()
	if looked != 10 {
		t.Errorf("60 guesses at once reached the password %d times, want 10", looked)
	}
}

func TestLockoutCanBeSwitchedOff(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Lock.On = false })
	w.user(t, "lin")
	for range 15 {
		_, err := w.attempt(t.Context(), "lin", "wrong horse")
		wants(t, "a wrong password", err, fault.Unauthenticated)
	}
	w.login(t, "lin")
}

// Only who knows the password hears why he may not come in.
func TestRefusals(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for account, c := range map[string]struct {
			change func(*ent.UserUpdate)
			reason string
		}{
			"disabled":  {func(u *ent.UserUpdate) { u.SetStatus(false) }, "disabled"},
			"expired":   {func(u *ent.UserUpdate) { u.SetExpireDate(w.time()) }, "expired"},
			"nullstat":  {func(u *ent.UserUpdate) { u.ClearStatus() }, "disabled"},
			"elsewhere": {func(u *ent.UserUpdate) { u.SetWhiteIP("10.1.0.0/16\n10.0.0.8") }, "may not log in from 10.0.0.9"},
			"mfa":       {func(u *ent.UserUpdate) { u.SetMfaEnabled(true).SetMfaSecret("JBSWY3DPEHPK3PXP") }, "second factor"},
		} {
			w.user(t, account)
			u := w.db.Client.User.Update().Where(user.Account(account))
			c.change(u)
			if err := u.Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err := w.attempt(t.Context(), account, "wrong horse")
			if got := fault.Of(err).Message(); got != "account or password is wrong" {
				t.Errorf("%s with a wrong password is told %q", account, got)
			}
			_, err = w.attempt(t.Context(), account, goodPassword)
			wants(t, account, err, fault.Unauthenticated)
			if got := fault.Of(err).Message(); !strings.Contains(got, c.reason) {
				t.Errorf("%s is told %q, want %q in it", account, got, c.reason)
			}
			if live, _ := w.store.Tokens(t.Context(), account); len(live) != 0 {
				t.Errorf("%s has sessions %v", account, live)
			}
		}
	})
}

func TestSessionEndsWithTheAccount(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	w.user(t, "temp")
	ends := w.time().Add(20 * time.Minute)
	w.db.Client.User.Update().Where(user.Account("temp")).SetExpireDate(ends).ExecX(t.Context())
	if s := w.login(t, "temp"); !s.Expires.Equal(ends) {
		t.Errorf("the session ends %s, want %s with the account", s.Expires, ends)
	}
}

// Every form in which an erupt installation stores passwords (erupt-wire 3.4).
func TestStoredForms(t *testing.T) {
	const (
		plain  = "erupt"
		salt   = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
		longer = "erupt2"
	)
	eachWorld(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct {
			password, form, salt string
			hashed               *dbtype.Flag
			opens                bool
		}{
			"plain":                      {plain, "", "", flag(false), true},
			"plain, flag null":           {plain, "", "", nil, false},
			"md5":                        {md5hex(plain), "", "", flag(true), true},
			"md5 in upper case":          {strings.ToUpper(md5hex(plain)), "", "", flag(true), false},
			"md5, flag null":             {md5hex(plain), "", "", nil, false},
			"md5 of another":             {md5hex(longer), "", "", flag(true), false},
			"sha512 with salt":           {sha512hex(plain + salt), "SHA512", salt, flag(true), true},
			"sha512, form in lower case": {sha512hex(plain + salt), "sha512", salt, flag(true), true},
			"sha512 without salt":        {sha512hex(plain), "SHA512", "", nil, true},
			"sha512 in upper case":       {strings.ToUpper(sha512hex(plain + salt)), "SHA512", salt, flag(true), false},
			"sha512, salt in front":      {sha512hex(salt + plain), "SHA512", salt, flag(true), false},
			"the hash is no password":    {"", "", "", flag(false), false},
			"spoilt bcrypt":              {"$2a$04$short", "BCRYPT", "", flag(true), false},
		} {
			account := strings.NewReplacer(" ", "_", ",", "").Replace(name)
			create := w.db.Client.User.Create().SetAccount(account).SetStatus(true).SetPassword(c.password).SetNillableIsMd5(c.hashed)
			if c.form != "" {
				create.SetEncryptType(c.form)
			}
			if c.salt != "" {
				create.SetSalt(c.salt)
			}
			create.ExecX(t.Context())
			_, err := w.attempt(t.Context(), account, plain)
			if (err == nil) != c.opens {
				t.Errorf("%s: %v, want it to open: %v", name, err, c.opens)
			}
			if _, err := w.attempt(t.Context(), account, c.password); err == nil && c.password != plain {
				t.Errorf("%s: the stored text itself opens", name)
			}
		}
	}, func(o *access.Options) { o.Adopted = true })
}

func TestAdoptedPasswordsAreReadByErupt(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.user(t, "lin")
		row := w.db.Client.User.Query().Where(user.Account("lin")).OnlyX(t.Context())
		if row.EncryptType != "SHA512" || len(row.Salt) != 64 || row.IsMd5 == nil || !bool(*row.IsMd5) || row.Password != sha512hex(goodPassword+row.Salt) {
			t.Errorf("an adopted database holds %q %q %v, want SHA512 with salt", row.EncryptType, row.Salt, row.IsMd5)
		}
		w.login(t, "lin")
	}, func(o *access.Options) { o.Adopted = true })
}

// A cheap form in a database of ours must not tell by its speed that the account exists.
func TestOldFormsTakeTheSameTime(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	w.db.Client.User.Create().SetAccount("old").SetStatus(true).SetPassword("abcdefgh").SetIsMd5(false).ExecX(t.Context())
	n := 0
	access.CountComparisons(w.Access, func(int) { n++ })
	if _, err := w.attempt(t.Context(), "old", "abcdefgh"); err != nil || n != 1 {
		t.Errorf("a plain password: %v after %d comparisons, want one", err, n)
	}
}

func TestFloodOfLoginsWaitsAndGivesUp(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	w.user(t, "lin")
	free := access.FillSlots(w.Access, time.Millisecond)
	_, err := w.attempt(t.Context(), "lin", goodPassword)
	wants(t, "a login without a turn", err, fault.TooMany)
	if fault.Of(err).RetryAfter == 0 {
		t.Error("it is not told when to try again")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.attempt(ctx, "lin", goodPassword); err == nil {
		t.Error("a client that is gone was logged in")
	}
	free()
	w.login(t, "lin")
}

func TestLoginWithoutDatabase(t *testing.T) {
	db := testbed.SQLite(t)
	w := newWorld(t, db)
	w.user(t, "lin")
	s := w.login(t, "lin")
	db.SQL.Close()
	_, err := w.attempt(t.Context(), "lin", goodPassword)
	if err == nil || fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a login without database: %v, want an error that is no refusal", err)
	}
	if !w.alive(t, s.Token) {
		t.Error("a session needs the database")
	}
}

// Passwords must not reach a log through an error.
func TestErrorsHoldNoPassword(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	const secret = "hunter2hunter2"
	_, err := w.attempt(t.Context(), "lin", secret)
	_, err2 := w.Login.DecodeTransfer(secret)
	err3 := w.Users.ChangePassword(t.Context(), "lin", secret, secret)
	_, err4 := w.Users.Create(t.Context(), access.NewUser{Account: secret, Password: secret})
	_, _, err5 := w.Login.Bootstrap(t.Context(), "short")
	if text := errors.Join(err, err2, err3).Error(); strings.Contains(text, secret) {
		t.Errorf("errors hold the password: %s", text)
	}
	if strings.Contains(fmt.Sprint(err4), secret) || strings.Contains(fmt.Sprint(err5), `"short"`) {
		t.Errorf("errors hold the password: %v; %v", err4, err5)
	}
}

func TestDecodeTransfer(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	for name, c := range map[string]struct {
		sent, want string
		fails      bool
	}{
		"erupt's own example": {"V2xoS01XTklVVDA9", "erupt", false},
		"percent-encoded":     {thrice("p%2B%26%20%E6%9E%97"), "p+& 林", false},
		"plus is a space":     {thrice("a+b"), "a b", false},
		"empty":               {"", "", false},
		"not encoded":         {"erupt", "", true},
		"encoded twice":       {"WlhKMWNIUT0=", "", true},
		"broken percent":      {thrice("100%"), "", true},
		"not UTF-8":           {thrice("%ff"), "", true},
		"huge":                {strings.Repeat("A", 1<<20), "", true},
	} {
		got, err := w.Login.DecodeTransfer(c.sent)
		if (err != nil) != c.fails || got != c.want {
			t.Errorf("%s: %q, %v; want %q, failure %v", name, got, err, c.want, c.fails)
		}
		if err != nil {
			wants(t, name, err, fault.Invalid)
		}
	}
	off := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.PwdTransferEncrypt = false })
	if got, err := off.Login.DecodeTransfer("plain text"); got != "plain text" || err != nil {
		t.Errorf("switched off: %q, %v", got, err)
	}
}

func FuzzDecodeTransfer(f *testing.F) {
	for _, s := range []string{"V2xoS01XTklVVDA9", "", "====", thrice("a%2"), thrice("\xff")} {
		f.Add(s)
	}
	l := access.New(access.Options{PwdTransferEncrypt: true, Cost: cheap}).Login
	f.Fuzz(func(t *testing.T, sent string) {
		got, err := l.DecodeTransfer(sent)
		if err != nil && (got != "" || !fault.Is(err, fault.Invalid)) {
			t.Errorf("DecodeTransfer(%q) = %q, %v", sent, got, err)
		}
		if again, err := l.DecodeTransfer(thrice(queryEscape(got))); err != nil || again != got {
			t.Errorf("%q encoded and decoded is %q, %v", got, again, err)
		}
	})
}

func TestAddressAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		list, address string
		want          bool
	}{
		"no list":                {"", "10.0.0.9", true},
		"blank lines only":       {"\n  \r\n", "10.0.0.9", true},
		"exact":                  {"10.0.0.8\r\n10.0.0.9", "10.0.0.9", true},
		"not listed":             {"10.0.0.8", "10.0.0.9", false},
		"range":                  {"10.0.0.0/24", "10.0.0.9", true},
		"out of range":           {"10.0.1.0/24", "10.0.0.9", false},
		"IPv6 written otherwise": {"2001:DB8::0:1", "2001:db8::1", true},
		"IPv6 range":             {"2001:db8::/32", "2001:db8::1", true},
		"IPv4 in IPv6":           {"10.0.0.9", "::ffff:10.0.0.9", true},
		"a line that is nothing": {"everybody", "10.0.0.9", false},
		"no address":             {"10.0.0.9", "", false},
		"prefix of an address":   {"10.0.0.9", "10.0.0.90", false},
	} {
		if got := access.AddressAllowed(c.list, c.address); got != c.want {
			t.Errorf("%s: AddressAllowed(%q, %q) = %v, want %v", name, c.list, c.address, got, c.want)
		}
	}
}

func TestDescribeAgent(t *testing.T) {
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36":                                          "Linux Chrome 140 Computer",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0":                  "Windows Edge 140 Computer",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1":        "iOS Safari 18 Mobile",
		"Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36 MicroMessenger/8.0.50.24": "Android WeChat 8 Mobile",
		"curl/8.5.0": "unknown curl 8 Computer",
		"":           "unknown unknown Computer",
	} {
		c := access.DescribeAgent(agent)
		if got := c.System + " " + c.Browser + " " + c.Device; got != want {
			t.Errorf("%q is %q, want %q", agent, got, want)
		}
	}
}

func TestBootstrap(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		_, _, err := w.Login.Bootstrap(ctx, "erupt")
		wants(t, "erupt/erupt", err, fault.Invalid)
		generated, created, err := w.Login.Bootstrap(ctx, "")
		if err != nil || !created || len(generated) < 16 {
			t.Fatalf("Bootstrap = %q, %v, %v", generated, created, err)
		}
		if again, created, err := w.Login.Bootstrap(ctx, "another password"); again != "" || created || err != nil {
			t.Errorf("a second Bootstrap = %q, %v, %v; want nothing done", again, created, err)
		}
		s, err := w.attempt(ctx, "erupt", generated)
		if err != nil || !s.Admin {
			t.Errorf("the first admin logs in: %+v, %v", s, err)
		}
		if u, _ := w.Users.ByAccount(ctx, "erupt"); !u.PasswordSet.IsZero() || !u.Admin || !u.Enabled {
			t.Errorf("the first admin is %+v; a generated password has to be changed", u)
		}
		if opens, err := w.Login.DefaultOpens(ctx); opens || err != nil {
			t.Errorf("DefaultOpens = %v, %v", opens, err)
		}
	})
}

func TestBootstrapWithAChosenPassword(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		if opens, err := w.Login.DefaultOpens(t.Context()); opens || err != nil {
			t.Errorf("DefaultOpens of an empty database = %v, %v", opens, err)
		}
		generated, created, err := w.Login.Bootstrap(t.Context(), goodPassword)
		if generated != "" || !created || err != nil {
			t.Fatalf("Bootstrap = %q, %v, %v", generated, created, err)
		}
		w.login(t, "erupt")
		if u, _ := w.Users.ByAccount(t.Context(), "erupt"); u.PasswordSet.IsZero() {
			t.Error("a chosen password counts as one that has to be changed")
		}
	})
}

func TestBootstrapBesideANonAdmin(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	w.user(t, "Erupt")
	_, _, err := w.Login.Bootstrap(t.Context(), goodPassword)
	wants(t, "Bootstrap beside an ordinary Erupt", err, fault.Conflict)
}

func TestBootstrapOfManyReplicas(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		var all sync.WaitGroup
		var mu sync.Mutex
		made := 0
		for range 4 {
			all.Go(func() {
				_, created, err := w.Login.Bootstrap(t.Context(), "")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				if created {
					made++
				}
			})
		}
		all.Wait()
		if made != 1 {
			t.Errorf("%d of 4 replicas made the first admin, want one", made)
		}
	})
}

func TestDefaultOpens(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Adopted = true })
	w.db.Client.User.Create().SetAccount("erupt").SetStatus(true).SetIsAdmin(true).SetPassword(md5hex("erupt")).SetIsMd5(true).ExecX(t.Context())
	if opens, err := w.Login.DefaultOpens(t.Context()); !opens || err != nil {
		t.Errorf("DefaultOpens = %v, %v; want true", opens, err)
	}
}

func TestLoginsAreCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Metrics = reg })
	w.user(t, "lin")
	w.login(t, "lin")
	_, _ = w.attempt(t.Context(), "lin", "wrong horse")
	got := gathered(t, reg, "ec_logins_total", "result")
	if got["ok"] != 1 || got["wrong"] != 1 {
		t.Errorf("counted %v, want one ok and one wrong", got)
	}
}
