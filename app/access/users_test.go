package access_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
	"eruptcloud/ent/user"
)

func TestUserLife(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.role(t, "sales")
		w.role(t, "audit")
		made := w.user(t, "lin", func(n *access.NewUser) {
			n.Name, n.Phone, n.Email, n.Remark, n.Roles = "Lin Yu 林", "+49 1", "lin@example.org", "line\nline", []string{"sales"}
		})
		if made.ID == 0 || made.Name != "Lin Yu 林" || made.Phone != "+49 1" || made.Email != "lin@example.org" || made.Remark != "line\nline" ||
			!made.Enabled || made.Admin || !slices.Equal(made.RoleCodes, []string{"sales"}) || len(made.Roles) != 1 || made.Created.IsZero() || !made.PasswordSet.IsZero() {
			t.Errorf("made %+v", made)
		}
		if got, err := w.Users.ByID(ctx, made.ID); err != nil || cmp.Diff(got, made) != "" {
			t.Errorf("ByID = %+v, %v", got, err)
		}
		changed, err := w.Users.Update(ctx, "lin", access.UserPatch{Name: p("Lin"), Email: p(""), Roles: &[]string{"audit"}, By: access.System})
		if err != nil || changed.Name != "Lin" || changed.Email != "" || changed.Phone != "+49 1" || !slices.Equal(changed.RoleCodes, []string{"audit"}) {
			t.Errorf("Update = %+v, %v", changed, err)
		}
		if same, err := w.Users.Update(ctx, "lin", access.UserPatch{By: access.System}); err != nil || cmp.Diff(same, changed) != "" {
			t.Errorf("an Update of nothing = %+v, %v", same, err)
		}
		if err := w.Users.Delete(ctx, "lin", access.System); err != nil {
			t.Fatal(err)
		}
		_, err = w.Users.ByAccount(ctx, "lin")
		wants(t, "ByAccount of a deleted user", err, fault.NotFound)
		_, err = w.Users.ByID(ctx, made.ID)
		wants(t, "ByID of a deleted user", err, fault.NotFound)
		_, err = w.Users.Update(ctx, "lin", access.UserPatch{By: access.System})
		wants(t, "Update of a deleted user", err, fault.NotFound)
		wants(t, "Delete of a deleted user", w.Users.Delete(ctx, "lin", access.System), fault.NotFound)
	})
}

func TestNewUsersAreChecked(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		w.user(t, "Lin")
		for name, c := range map[string]struct {
			change func(*access.NewUser)
			code   fault.Code
			field  string
		}{
			"no account":                    {func(n *access.NewUser) { n.Account = "" }, fault.Invalid, "account"},
			"account with a slash":          {func(n *access.NewUser) { n.Account = "a/b" }, fault.Invalid, "account"},
			"account with a line break":     {func(n *access.NewUser) { n.Account = "a\nb" }, fault.Invalid, "account"},
			"account of dots":               {func(n *access.NewUser) { n.Account = ".." }, fault.Invalid, "account"},
			"account too long":              {func(n *access.NewUser) { n.Account = strings.Repeat("a", 65) }, fault.Invalid, "account"},
			"same in another case":          {func(n *access.NewUser) { n.Account = "lIN" }, fault.Conflict, "account"},
			"name too long":                 {func(n *access.NewUser) { n.Name = strings.Repeat("林", 256) }, fault.Invalid, "name"},
			"mail with control letters":     {func(n *access.NewUser) { n.Email = "a\x00b" }, fault.Invalid, "email"},
			"name that turns the writing":   {func(n *access.NewUser) { n.Name = "nil \u202enimda" }, fault.Invalid, "name"}, // S60
			"remark that turns the writing": {func(n *access.NewUser) { n.Remark = "a\u2066b" }, fault.Invalid, "remark"},
			"phone that is no UTF-8":        {func(n *access.NewUser) { n.Phone = "\xff" }, fault.Invalid, "phone"},
			"remark too long":               {func(n *access.NewUser) { n.Remark = strings.Repeat("x", 2001) }, fault.Invalid, "remark"},
			"short password":                {func(n *access.NewUser) { n.Password = "1234567" }, fault.Invalid, "password"},
			"password over 72 bytes":        {func(n *access.NewUser) { n.Password = strings.Repeat("林", 25) }, fault.Invalid, "password"},
			"password is the account":       {func(n *access.NewUser) { n.Account, n.Password = "longaccount", "LongAccount" }, fault.Invalid, "password"},
			"password is no UTF-8":          {func(n *access.NewUser) { n.Password = "\xff12345678" }, fault.Invalid, "password"},
			"allow list of words":           {func(n *access.NewUser) { n.AllowedIPs = "10.0.0.1\neverybody" }, fault.Invalid, "allowedIPs"},
			"role that is not there":        {func(n *access.NewUser) { n.Roles = []string{"ghost"} }, fault.Invalid, "roles"},
		} {
			n := access.NewUser{Account: "new", Password: goodPassword, Enabled: true, By: access.System}
			c.change(&n)
			_, err := w.Users.Create(t.Context(), n)
			wants(t, name, err, c.code)
			if fault.Of(err) != nil && fault.Of(err).Fields[c.field] == "" {
				t.Errorf("%s: fields %v, want one at %s", name, fault.Of(err).Fields, c.field)
			}
			if _, err := w.Users.ByAccount(t.Context(), n.Account); err == nil {
				t.Errorf("%s: the account was made", name)
			}
		}
		longest := strings.Repeat("a", 72)
		w.user(t, strings.Repeat("林", 64), func(n *access.NewUser) { n.Password = longest })
		if _, err := w.attempt(t.Context(), strings.Repeat("林", 64), longest); err != nil {
			t.Errorf("the longest account and password: %v", err)
		}
		_, err := w.Users.Update(t.Context(), "Lin", access.UserPatch{Name: p(" "), By: access.System})
		wants(t, "an empty name", err, fault.Invalid)
	})
}

func TestUserList(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, a := range []string{"zoe", "adam", "eve"} {
			w.user(t, a, func(n *access.NewUser) { n.Email = a + "@example.org" })
		}
		w.user(t, "percent", func(n *access.NewUser) { n.Name = "100%_sure" })
		list := func(f access.UserFilter) (accounts []string, total int) {
			t.Helper()
			found, total, err := w.Users.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range found {
				accounts = append(accounts, u.Account)
			}
			return accounts, total
		}
		for name, c := range map[string]struct {
			filter access.UserFilter
			want   string
			total  int
		}{
			"all":               {access.UserFilter{}, "adam eve percent zoe", 4},
			"second page":       {access.UserFilter{Page: 2, PageSize: 3}, "zoe", 4},
			"beyond the end":    {access.UserFilter{Page: 9, PageSize: 3}, "", 4},
			"page zero":         {access.UserFilter{Page: -1, PageSize: 1}, "adam", 4},
			"by part, any case": {access.UserFilter{Query: " EVE@EX "}, "eve", 1},
			"wildcards":         {access.UserFilter{Query: "%_s"}, "percent", 1},
			"nothing":           {access.UserFilter{Query: "' OR 1=1"}, "", 0},
		} {
			got, total := list(c.filter)
			if strings.Join(got, " ") != c.want || total != c.total {
				t.Errorf("%s: %v of %d, want %q of %d", name, got, total, c.want, c.total)
			}
		}
	})
}

func TestOnlyAdminsTouchAdmins(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.user(t, "root", admin)
		w.user(t, "root2", admin)
		w.user(t, "helper")
		w.user(t, "lin")
		helper := access.Actor{Account: "helper"}
		yes, no := true, false
		_, err := w.Users.Create(ctx, access.NewUser{Account: "evil", Password: goodPassword, Admin: true, By: helper})
		wants(t, "a non-admin makes an admin", err, fault.Forbidden)
		for name, patch := range map[string]access.UserPatch{
			"name": {Name: p("x")}, "password": {Password: p("another password")}, "disable": {Enabled: &no}, "demote": {Admin: &no}, "nothing": {},
		} {
			patch.By = helper
			_, err := w.Users.Update(ctx, "root", patch)
			wants(t, "a non-admin changes the "+name+" of an admin", err, fault.Forbidden)
		}
		_, err = w.Users.Update(ctx, "lin", access.UserPatch{Admin: &yes, By: helper})
		wants(t, "a non-admin promotes", err, fault.Forbidden)
		_, err = w.Users.Update(ctx, "helper", access.UserPatch{Admin: &yes, By: helper})
		wants(t, "a non-admin promotes himself", err, fault.Forbidden)
		wants(t, "a non-admin deletes an admin", w.Users.Delete(ctx, "root", helper), fault.Forbidden)
		if _, err := w.Users.Update(ctx, "lin", access.UserPatch{Name: p("Lin"), By: helper}); err != nil {
			t.Errorf("a non-admin changes a non-admin: %v", err)
		}
		if err := w.Users.Delete(ctx, "lin", helper); err != nil {
			t.Errorf("a non-admin deletes a non-admin: %v", err)
		}
		if _, err := w.Users.Update(ctx, "helper", access.UserPatch{Admin: &yes, By: access.Actor{Account: "root", Admin: true}}); err != nil {
			t.Errorf("an admin promotes: %v", err)
		}
	})
}

func TestLastAdminStays(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		root := access.Actor{Account: "root", Admin: true}
		no := false
		w.user(t, "root", admin)
		w.user(t, "off", admin, func(n *access.NewUser) { n.Enabled = false })
		w.user(t, "gone", admin)
		w.db.Client.User.Update().Where(user.Account("gone")).SetExpireDate(w.time().Add(-time.Hour)).ExecX(ctx)
		refused := func(what string, err error) {
			t.Helper()
			wants(t, what, err, fault.Conflict)
		}
		_, err := w.Users.Update(ctx, "root", access.UserPatch{Enabled: &no, By: root})
		refused("the last admin is disabled", err)
		_, err = w.Users.Update(ctx, "root", access.UserPatch{Admin: &no, By: root})
		refused("the last admin is demoted", err)
		refused("the last admin is deleted", w.Users.Delete(ctx, "root", root))
		if err := w.Users.Delete(ctx, "off", root); err != nil {
			t.Errorf("a disabled admin is deleted: %v", err)
		}
		yesterday := w.time().Add(-24 * time.Hour)
		_, err = w.Users.Update(ctx, "root", access.UserPatch{ExpiresAt: &yesterday, By: root})
		refused("the last admin expires", err)
		w.user(t, "second", admin)
		if _, err := w.Users.Update(ctx, "root", access.UserPatch{Admin: &no, By: root}); err != nil {
			t.Errorf("one of two admins is demoted: %v", err)
		}
	})
}

// Two admins who take each other's right at the same time must not both succeed.
func TestLastAdminsCannotRemoveEachOther(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		no, yes := false, true
		w.user(t, "a", admin)
		w.user(t, "b", admin)
		for round := range 10 {
			var all sync.WaitGroup
			for _, account := range []string{"a", "b"} {
				all.Go(func() {
					_, err := w.Users.Update(t.Context(), account, access.UserPatch{Admin: &no, By: access.System})
					if err != nil && !fault.Is(err, fault.Conflict) {
						t.Error(err)
					}
				})
			}
			all.Wait()
			left, err := w.db.Client.User.Query().Where(user.IsAdmin(true)).Count(t.Context())
			if err != nil || left != 1 {
				t.Fatalf("round %d leaves %d admins, %v; want one", round, left, err)
			}
			for _, account := range []string{"a", "b"} {
				if _, err := w.Users.Update(t.Context(), account, access.UserPatch{Admin: &yes, By: access.System}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestOnlyHeldRolesAreGranted(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.role(t, "sales")
		w.role(t, "boss")
		w.user(t, "helper", withRoles("sales"))
		w.user(t, "lin", withRoles("boss"))
		helper := access.Actor{Account: "helper"}
		_, err := w.Users.Create(ctx, access.NewUser{Account: "new", Password: goodPassword, Roles: []string{"boss"}, By: helper})
		wants(t, "a role is granted that the actor lacks", err, fault.Forbidden)
		_, err = w.Users.Update(ctx, "helper", access.UserPatch{Roles: &[]string{"sales", "boss"}, By: helper})
		wants(t, "the actor grants himself a role", err, fault.Forbidden)
		if _, err := w.Users.Update(ctx, "lin", access.UserPatch{Roles: &[]string{"boss", "sales"}, By: helper}); err != nil {
			t.Errorf("a held role beside one the user has already: %v", err)
		}
		if _, err := w.Users.Update(ctx, "lin", access.UserPatch{Roles: &[]string{"sales"}, By: helper}); err != nil {
			t.Errorf("a role is taken away: %v", err)
		}
		_, err = w.Users.Update(ctx, "lin", access.UserPatch{Roles: &[]string{"sales", "boss"}, By: helper})
		wants(t, "what was taken away is granted again", err, fault.Forbidden)
		for _, nobody := range []access.Actor{{}, {Account: "ghost"}} {
			_, err = w.Users.Update(ctx, "helper", access.UserPatch{Roles: &[]string{"sales", "boss"}, By: nobody})
			wants(t, "nobody grants", err, fault.Forbidden)
		}
	})
}

func TestOnlyWhoHoldsAsMuchSetsAPassword(t *testing.T) { // whose password he sets, he can be
	eachWorld(t, func(t *testing.T, w *world) {
		w.menu(t, access.TypeTable, "shop.Customer")
		w.menu(t, access.TypeTable, "shop.Secret")
		w.role(t, "sales", "shop.Customer")
		w.role(t, "helpers", "shop.Customer")
		w.role(t, "bosses", "shop.Customer", "shop.Secret")
		w.user(t, "helper", withRoles("helpers"))
		w.user(t, "lin", withRoles("sales"))
		w.user(t, "boss", withRoles("bosses"))
		w.user(t, "nobody")
		pw := "another-long-password"
		for account, want := range map[string]fault.Code{"lin": "", "helper": "", "nobody": "", "boss": fault.Forbidden} {
			_, err := w.Users.Update(t.Context(), account, access.UserPatch{Password: &pw, By: access.Actor{Account: "helper"}})
			if fault.CodeOf(err) != want {
				t.Errorf("the helper sets the password of %s: %v, want %q", account, err, want)
			}
		}
		if _, err := w.Users.Update(t.Context(), "boss", access.UserPatch{Password: &pw, By: access.System}); err != nil {
			t.Errorf("an admin sets the password of the boss: %v", err)
		}
		_, err := w.Users.Update(t.Context(), "lin", access.UserPatch{Password: &pw, By: access.Actor{Account: "ghost"}})
		wants(t, "somebody who is nobody sets a password", err, fault.Forbidden)
	})
}

func TestOnlyWhoHoldsAsMuchShutsOut(t *testing.T) { // S59: nobody bars those above him
	eachWorld(t, func(t *testing.T, w *world) {
		w.menu(t, access.TypeTable, "shop.Customer")
		w.menu(t, access.TypeTable, "shop.Secret")
		w.role(t, "helpers", "shop.Customer")
		w.role(t, "bosses", "shop.Customer", "shop.Secret")
		w.user(t, "helper", withRoles("helpers"))
		helper := access.Actor{Account: "helper"}
		off, past, nowhere, name := false, w.time().Add(-time.Hour), "10.9.9.9", "another name"
		for what, p := range map[string]access.UserPatch{
			"disable": {Enabled: &off}, "expire": {ExpiresAt: &past}, "limit": {AllowedIPs: &nowhere}, "strip": {Roles: &[]string{}},
		} {
			p.By = helper
			boss, peer := "boss-"+what, "peer-"+what
			w.user(t, boss, withRoles("bosses"))
			w.user(t, peer, withRoles("helpers"))
			_, err := w.Users.Update(t.Context(), boss, p)
			wants(t, what+" somebody who holds more", err, fault.Forbidden)
			if _, err := w.Users.Update(t.Context(), peer, p); err != nil {
				t.Errorf("%s somebody who holds as much: %v", what, err)
			}
		}
		boss := w.user(t, "boss", withRoles("bosses"))
		same := access.UserPatch{Name: &name, Enabled: &boss.Enabled, ExpiresAt: &boss.ExpiresAt, AllowedIPs: &boss.AllowedIPs, Roles: &boss.RoleCodes, By: helper}
		if _, err := w.Users.Update(t.Context(), "boss", same); err != nil {
			t.Errorf("a form that changes the name alone: %v", err)
		}
		wants(t, "delete somebody who holds more", w.Users.Delete(t.Context(), "boss", helper), fault.Forbidden)
		if err := w.Users.Delete(t.Context(), "boss", access.System); err != nil {
			t.Errorf("an administrator deletes him: %v", err)
		}
	})
}

func TestExpiryAndAllowList(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		soon := w.time().Add(time.Hour)
		made := w.user(t, "lin", func(n *access.NewUser) { n.ExpiresAt, n.AllowedIPs = soon, "10.0.0.0/8\r\n::1" })
		if !made.ExpiresAt.Equal(soon) || made.AllowedIPs != "10.0.0.0/8\r\n::1" {
			t.Errorf("made %+v", made)
		}
		s := w.login(t, "lin")
		now := w.time()
		if _, err := w.Users.Update(ctx, "lin", access.UserPatch{ExpiresAt: &now, By: access.System}); err != nil {
			t.Fatal(err)
		}
		if w.alive(t, s.Token) {
			t.Error("the session outlives the account")
		}
		u, err := w.Users.Update(ctx, "lin", access.UserPatch{ExpiresAt: &time.Time{}, AllowedIPs: p("10.1.0.0/16"), By: access.System})
		if err != nil || !u.ExpiresAt.IsZero() || u.AllowedIPs != "10.1.0.0/16" {
			t.Errorf("Update = %+v, %v", u, err)
		}
		_, err = w.attempt(ctx, "lin", goodPassword)
		wants(t, "a login from elsewhere", err, fault.Unauthenticated)
		_, err = w.Users.Update(ctx, "lin", access.UserPatch{AllowedIPs: p("nowhere"), By: access.System})
		wants(t, "an allow list of words", err, fault.Invalid)
	})
}

func TestSessionsFollowTheUser(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.menu(t, "table", "shop.Product")
		w.role(t, "sales", "shop.Product")
		w.user(t, "lin")
		w.user(t, "root", admin)
		one, two, other := w.login(t, "lin"), w.login(t, "lin"), w.login(t, "root")
		if w.holds(t, one.Token, "shop.product") {
			t.Fatal("lin holds a page before it is granted")
		}
		if _, err := w.Users.Update(ctx, "lin", access.UserPatch{Roles: &[]string{"sales"}, Name: p("Lin"), By: access.System}); err != nil {
			t.Fatal(err)
		}
		for _, s := range []access.Session{one, two} {
			now, _, err := w.Sessions.Get(ctx, s.Token)
			if err != nil || !now.Holds("Shop.Product") || now.Name != "Lin" || !slices.Equal(now.Roles, []string{"sales"}) || now.Address != "10.0.0.9" {
				t.Errorf("after a grant the session is %+v, %v", now, err)
			}
		}
		no, yes := false, true
		if _, err := w.Users.Update(ctx, "lin", access.UserPatch{Enabled: &no, By: access.System}); err != nil {
			t.Fatal(err)
		}
		if w.alive(t, one.Token) || w.alive(t, two.Token) || !w.alive(t, other.Token) {
			t.Error("disabling a user must end his sessions, and nobody else's")
		}
		if _, err := w.Users.Update(ctx, "lin", access.UserPatch{Enabled: &yes, By: access.System}); err != nil {
			t.Fatal(err)
		}
		again := w.login(t, "lin")
		if err := w.Users.Delete(ctx, "lin", access.System); err != nil {
			t.Fatal(err)
		}
		if w.alive(t, again.Token) {
			t.Error("a deleted user's session lives")
		}
		w.user(t, "root2", admin)
		if _, err := w.Users.Update(ctx, "root", access.UserPatch{Admin: &no, By: access.System}); err != nil {
			t.Fatal(err)
		}
		if w.holds(t, other.Token, "anything") {
			t.Error("a demoted admin's session still holds everything")
		}
	})
}

func TestPasswordChangeEndsOtherSessions(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.user(t, "lin")
		here, there := w.login(t, "lin"), w.login(t, "lin")
		const next = "battery staple"
		wants(t, "a wrong present password", w.Users.ChangePassword(ctx, "lin", "wrong horse", next), fault.Invalid)
		wants(t, "the same password", w.Users.ChangePassword(ctx, "lin", goodPassword, goodPassword), fault.Invalid)
		wants(t, "a short password", w.Users.ChangePassword(ctx, "lin", goodPassword, "short"), fault.Invalid)
		wants(t, "nobody's password", w.Users.ChangePassword(ctx, "ghost", goodPassword, next), fault.NotFound)
		if !w.alive(t, there.Token) {
			t.Fatal("a refused change ended a session")
		}
		if err := w.Users.ChangePassword(access.KeepSession(ctx, here.Token), "lin", goodPassword, next); err != nil {
			t.Fatal(err)
		}
		if !w.alive(t, here.Token) || w.alive(t, there.Token) {
			t.Error("a new password must end the other sessions and keep the one that asked")
		}
		_, err := w.attempt(ctx, "lin", goodPassword)
		wants(t, "the old password", err, fault.Unauthenticated)
		if _, err := w.attempt(ctx, "lin", next); err != nil {
			t.Errorf("the new password: %v", err)
		}
		if u, _ := w.Users.ByAccount(ctx, "lin"); !u.PasswordSet.Equal(w.time()) {
			t.Errorf("the password was set %s, want %s", u.PasswordSet, w.time())
		}
		if _, err := w.Users.Update(ctx, "lin", access.UserPatch{Password: p("set by an admin"), By: access.System}); err != nil {
			t.Fatal(err)
		}
		if w.alive(t, here.Token) {
			t.Error("a password set by an admin must end all sessions")
		}
		if u, _ := w.Users.ByAccount(ctx, "lin"); !u.PasswordSet.IsZero() {
			t.Error("a password set by somebody else has to be changed")
		}
	})
}

// An open session must not be a place to guess the password.
func TestPasswordChangeLocks(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t))
	w.user(t, "lin")
	for range 10 {
		wants(t, "a guess", w.Users.ChangePassword(t.Context(), "lin", "wrong horse", "battery staple"), fault.Invalid)
	}
	wants(t, "the eleventh", w.Users.ChangePassword(t.Context(), "lin", goodPassword, "battery staple"), fault.TooMany)
	w.login(t, "lin") // the login itself is not locked by it
}

func TestPasswordsAreStoredAsBcrypt(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Cost = 0 })
	w.user(t, "lin")
	row := w.db.Client.User.Query().Where(user.Account("lin")).OnlyX(t.Context())
	if row.EncryptType != "BCRYPT" || !strings.HasPrefix(row.Password, "$2a$12$") || row.Salt != "" || row.IsMd5 == nil || !bool(*row.IsMd5) {
		t.Errorf("stored as %q %.7s, salt %q", row.EncryptType, row.Password, row.Salt)
	}
}
