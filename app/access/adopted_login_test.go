package access_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
)

func TestAdoptedUsersLogIn(t *testing.T) {
	eachAdopted(t, func(t *testing.T, version string, w *world) {
		for _, u := range testbed.EruptUsers(version) {
			s, err := w.Login.Attempt(t.Context(), access.Attempt{Account: u.Account, Password: u.Password, Address: "10.0.0.1"})
			if (err == nil) != u.Opens {
				t.Errorf("%s (%s): Attempt = %v, want it to open: %v", u.Account, u.Why, err, u.Opens)
			}
			if err == nil && s.Account != u.Account {
				t.Errorf("%s is logged in as %s", u.Account, s.Account)
			}
			if _, err := w.Login.Attempt(t.Context(), access.Attempt{Account: u.Account, Password: u.Password + "x", Address: "10.0.0.2"}); err == nil {
				t.Errorf("%s is let in with a wrong password", u.Account)
			}
		}
		// What is stored is not what is typed.
		for account, column := range map[string]string{"lin": "password", "plain": "MD5(password)"} {
			shown := values(t, w.db, "SELECT "+column+" FROM e_upms_user WHERE account = ?", account)
			if _, err := w.Login.Attempt(t.Context(), access.Attempt{Account: account, Password: shown, Address: "10.0.0.3"}); err == nil {
				t.Errorf("%s is let in with what the database holds", account)
			}
		}
		if s, err := w.Login.Attempt(t.Context(), access.Attempt{Account: "fenced", Password: "ring-pass-1", Address: "10.9.9.0"}); err != nil {
			t.Errorf("fenced from a listed address: %+v, %v", s, err)
		}
	})
}

func TestAdoptedAccountsMayBeTypedInAnyCase(t *testing.T) {
	w := adoptedWorld(t, "1.12")
	s, err := w.Login.Attempt(t.Context(), access.Attempt{Account: "LiN", Password: "lin-pass-1", Address: "10.0.0.1"})
	if err != nil || s.Account != "lin" {
		t.Errorf("LiN = %+v, %v; want the session of lin, as erupt's collation has it", s.Account, err)
	}
	if _, err := w.Login.Attempt(t.Context(), access.Attempt{Account: "lïn", Password: "lin-pass-1", Address: "10.0.0.1"}); err == nil {
		t.Error("lïn is let in as lin: no two people mean the same by these")
	}
	// Other spellings give no more tries.
	spellings := []string{"lin", "Lin", "LIN", "lIn", "liN", "LIn", "LiN", "lIN", "lin", "Lin"}
	for _, account := range spellings {
		if _, err := w.Login.Attempt(t.Context(), access.Attempt{Account: account, Password: "wrong", Address: "10.0.0.9"}); err == nil {
			t.Fatal("a wrong password was taken")
		}
	}
	if _, err := w.Login.Attempt(t.Context(), access.Attempt{Account: "lin", Password: "lin-pass-1", Address: "10.0.0.9"}); !fault.Is(err, fault.TooMany) {
		t.Errorf("after %d wrong ones = %v, want it locked", len(spellings), err)
	}
}

// Accounts that differ only in case are two people, whom a collation of erupt's takes for one.
func TestAccountsThatDifferInCaseOnly(t *testing.T) {
	w := adoptedWorld(t, "1.12")
	ctx := t.Context()
	if _, err := w.db.SQL.ExecContext(ctx, "INSERT INTO e_upms_user (account, name, status, is_admin, password, is_md5) SELECT 'LIN', 'Other', 1, 0, password, is_md5 FROM e_upms_user WHERE account = 'lin'"); err != nil {
		t.Fatal(err)
	}
	for _, account := range []string{"lin", "LIN"} {
		if _, err := w.MFA.Status(ctx, account); err != nil {
			t.Errorf("the second factor of %s: %v", account, err)
		}
		made, secret, err := w.OpenAPIs.Create(ctx, access.NewOpenAPI{Name: "x", Account: account, Enabled: true, By: access.System})
		if err != nil || made.Account != account {
			t.Fatalf("a way in as %s: %+v, %v", account, made, err)
		}
		token, err := w.Tokens.Create(ctx, made.AppID, secret, access.Attempt{Address: "10.0.0.7"})
		if err != nil {
			t.Fatalf("a token of %s: %v", account, err)
		}
		if s, _, err := w.Sessions.Get(ctx, token.Token); err != nil || s.Account != account {
			t.Errorf("the token of %s is of %s, %v", account, s.Account, err)
		}
	}
}

func TestSharedAccountsAreNotGuessed(t *testing.T) {
	w := adoptedWorld(t, "1.12")
	for _, password := range []string{"twin-pass-1", "twin-pass-2"} {
		_, err := w.Login.Attempt(t.Context(), access.Attempt{Account: "double", Password: password, Address: "10.0.0.1"})
		if !fault.Is(err, fault.Unauthenticated) || !strings.Contains(err.Error(), "several users have the account double") {
			t.Errorf("Attempt = %v, want the reason", err)
		}
	}
	_, err := w.Login.Attempt(t.Context(), access.Attempt{Account: "double", Password: "neither", Address: "10.0.0.1"})
	if err == nil || strings.Contains(err.Error(), "several") {
		t.Errorf("who knows neither password hears %v, want what everybody hears", err)
	}
	before := values(t, w.db, "SELECT * FROM e_upms_user WHERE account = 'double' ORDER BY id")
	name := "changed"
	if _, err := w.Users.Update(t.Context(), "double", access.UserPatch{Name: &name, By: access.System}); !fault.Is(err, fault.Conflict) {
		t.Errorf("Update = %v, want Conflict", err)
	}
	if err := w.Users.Delete(t.Context(), "double", access.System); !fault.Is(err, fault.Conflict) {
		t.Errorf("Delete = %v, want Conflict", err)
	}
	if after := values(t, w.db, "SELECT * FROM e_upms_user WHERE account = 'double' ORDER BY id"); after != before {
		t.Errorf("a row was changed: %s, was %s", after, before)
	}
	list, total, err := w.Users.List(t.Context(), access.UserFilter{PageSize: 100})
	if err != nil || total != 13 {
		t.Fatalf("List = %d users, %v", total, err)
	}
	for _, u := range list {
		if u.Shared != (u.Account == "double") {
			t.Errorf("%q is marked as shared: %v", u.Account, u.Shared)
		}
	}
	// A third one cannot be made, in any case.
	if _, err := w.Users.Create(t.Context(), access.NewUser{Account: "Double", Password: goodPassword, By: access.System}); !fault.Is(err, fault.Conflict) {
		t.Errorf("Create = %v, want Conflict", err)
	}
}

func TestNewPasswordsAreReadByErupt(t *testing.T) {
	want := map[string]string{
		"1.12": "SELECT COUNT(*) FROM e_upms_user WHERE account = ? AND password = MD5(?) AND is_md5 = b'1'",
		"2.0":  "SELECT COUNT(*) FROM e_upms_user WHERE account = ? AND password = SHA2(CONCAT(?, salt), 512) AND encrypt_type = 'SHA512' AND LENGTH(salt) = 64 AND is_md5 = b'1'",
	}
	for version, query := range want {
		t.Run(version, func(t *testing.T) {
			w := adoptedWorld(t, version)
			w.user(t, "nova")
			if n := values(t, w.db, query, "nova", goodPassword); n != "1" {
				t.Errorf("the row of a new user is not as erupt %s reads it", version)
			}
			if got := values(t, w.db, "SELECT reset_pwd_time, create_user_id FROM e_upms_user WHERE account = 'nova'"); got != "- -" {
				t.Errorf("reset_pwd_time and create_user_id of a new user = %s", got)
			}
			if err := w.Users.ChangePassword(t.Context(), "plain", "plain-pass-1", "another pass"); err != nil {
				t.Fatal(err)
			}
			if n := values(t, w.db, query, "plain", "another pass"); n != "1" {
				t.Errorf("a changed password is not as erupt %s reads it", version)
			}
			if _, err := w.Login.Attempt(t.Context(), access.Attempt{Account: "plain", Password: "another pass", Address: "10.0.0.1"}); err != nil {
				t.Errorf("with the changed password: %v", err)
			}
		})
	}
}

func TestRehash(t *testing.T) {
	type result struct{ plain, sha string }
	form := func(w *world, account string) string {
		return values(t, w.db, "SELECT CONCAT(COALESCE(encrypt_type, 'none'), LENGTH(password)) FROM e_upms_user WHERE account = ?", account)
	}
	for on, want := range map[bool]result{false: {"none12", "sha512128"}, true: {"SHA512128", "sha512128"}} {
		w := adoptedWorld(t, "2.0", func(o *access.Options) { o.Rehash = on })
		set := values(t, w.db, "SELECT reset_pwd_time FROM e_upms_user WHERE account = 'plain'")
		for range 2 { // the second login is with the new form
			for account, password := range map[string]string{"plain": "plain-pass-1", "sha": "sha-pass-1"} {
				if _, err := w.Login.Attempt(t.Context(), access.Attempt{Account: account, Password: password, Address: "10.0.0.1"}); err != nil {
					t.Fatalf("rehash %v, %s: %v", on, account, err)
				}
			}
			_, _ = w.Login.Attempt(t.Context(), access.Attempt{Account: "oldlin", Password: "wrong", Address: "10.0.0.1"})
		}
		if got := (result{form(w, "plain"), form(w, "sha")}); got != want {
			t.Errorf("rehash %v: forms %+v, want %+v", on, got, want)
		}
		if got := form(w, "oldlin"); got != "none32" {
			t.Errorf("rehash %v: a wrong password changed the form to %s", on, got)
		}
		if got := values(t, w.db, "SELECT reset_pwd_time FROM e_upms_user WHERE account = 'plain'"); got != set {
			t.Errorf("rehash %v: reset_pwd_time is %s, was %s: the user did not change his password", on, got, set)
		}
	}
	w := adoptedWorld(t, "1.12", func(o *access.Options) { o.Rehash = true })
	if _, err := w.Login.Attempt(t.Context(), access.Attempt{Account: "plain", Password: "plain-pass-1", Address: "10.0.0.1"}); err != nil {
		t.Fatal(err)
	}
	if got := values(t, w.db, "SELECT password FROM e_upms_user WHERE account = 'plain'"); got != "plain-pass-1" {
		t.Errorf("1.12 holds nothing stronger, and the password became %s", got)
	}
}

func TestAdoptedTimesAreThoseOfTheSession(t *testing.T) {
	dsn := testbed.EruptDatabase(t, "2.0") + "?time_zone=%27%2B08%3A00%27"
	testbed.Adopt(t, dsn)
	w := newWorld(t, testbed.Adopt(t, dsn), func(o *access.Options) { o.CaptchaAfter = -1 }) // the second opening finds it adopted
	u, err := w.Users.ByAccount(t.Context(), "expired")
	if want := time.Date(2025, 12, 31, 16, 0, 0, 0, time.UTC); err != nil || !u.ExpiresAt.Equal(want) {
		t.Errorf("2026-01-01 00:00:00 of +08:00 is read as %v, %v; want %v", u.ExpiresAt.UTC(), err, want)
	}
}

func TestOldColumnTypes(t *testing.T) {
	dsn := testbed.EruptDatabase(t, "2.0")
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for from, to := range map[string]string{"bit(1)": "tinyint(1)", "datetime(6)": "datetime", "mediumtext": "longtext"} {
		rows, err := db.Query("SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND column_type = ?", from)
		if err != nil {
			t.Fatal(err)
		}
		var statements []string
		for rows.Next() {
			var table, column string
			if err := rows.Scan(&table, &column); err != nil {
				t.Fatal(err)
			}
			statements = append(statements, "ALTER TABLE "+table+" MODIFY COLUMN `"+column+"` "+to)
		}
		rows.Close()
		for _, s := range statements {
			if _, err := db.Exec(s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	w := newWorld(t, testbed.Adopt(t, dsn), func(o *access.Options) { o.CaptchaAfter = -1 })
	for _, u := range testbed.EruptUsers("2.0") {
		if _, err := w.Login.Attempt(t.Context(), access.Attempt{Account: u.Account, Password: u.Password, Address: "10.0.0.1"}); (err == nil) != u.Opens {
			t.Errorf("%s (%s): Attempt = %v, want it to open: %v", u.Account, u.Why, err, u.Opens)
		}
	}
	w.user(t, "nova")
	if got := values(t, w.db, "SELECT status, is_admin, is_md5 FROM e_upms_user WHERE account = 'nova'"); got != "1 0 1" {
		t.Errorf("flags of a new user are %s", got)
	}
}
