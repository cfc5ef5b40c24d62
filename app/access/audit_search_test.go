package access_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
)

// actions walks through the trail page by page and returns what it met, and how many pages it took.
func (w *world) actions(t *testing.T, f access.AuditFilter) (met []string, pages int) {
	t.Helper()
	for from := ""; pages == 0 || from != ""; pages++ {
		page, err := w.Audit.Search(t.Context(), f, from)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			met = append(met, e.Action)
		}
		if from = page.Older; pages > 1000 {
			t.Fatal("the trail does not end")
		}
	}
	return met, pages
}

func TestAuditSearchGoesThroughAllWithoutGapOrRepetition(t *testing.T) { // a place, not a number, is where a page begins
	eachWorld(t, func(t *testing.T, w *world) {
		var all []string
		for i := range 60 {
			e := entry(w.time().Add(time.Duration(i/7)*time.Second), fmt.Sprintf("a.%02d", i)) // seven at each moment
			if e.Account = "lin"; i%3 == 0 {
				e.Account, e.Subject = "chen", "cart"
			}
			if i%20 == 0 {
				e.OK, e.Error = false, "the needle"
			}
			w.write(t, e)
			all = append(all, e.Action)
		}
		slices.Reverse(all)
		pick := func(keep func(i int) bool) (out []string) {
			for i, a := range all {
				if keep(59 - i) {
					out = append(out, a)
				}
			}
			return out
		}
		w.Audit.SearchLess(10, 10, 4)
		tests := map[string]struct {
			f    access.AuditFilter
			want []string
		}{
			"everything":         {access.AuditFilter{PageSize: 8}, all},
			"a rare text":        {access.AuditFilter{Query: "NEEDLE", PageSize: 5}, pick(func(i int) bool { return i%20 == 0 })},
			"a subject as text":  {access.AuditFilter{Query: "car", PageSize: 5}, pick(func(i int) bool { return i%3 == 0 })},
			"other words":        {access.AuditFilter{Query: "nothing", Words: []string{"a.07", "a.41"}, PageSize: 5}, pick(func(i int) bool { return i == 7 || i == 41 })},
			"an action":          {access.AuditFilter{Action: "a.33"}, []string{"a.33"}},
			"failures":           {access.AuditFilter{Outcome: "failed"}, pick(func(i int) bool { return i%20 == 0 })},
			"successes":          {access.AuditFilter{Outcome: "ok", PageSize: 11}, pick(func(i int) bool { return i%20 != 0 })},
			"an account":         {access.AuditFilter{Account: "chen", PageSize: 6}, pick(func(i int) bool { return i%3 == 0 })},
			"account and text":   {access.AuditFilter{Account: "chen", Query: "needle", PageSize: 6}, pick(func(i int) bool { return i%60 == 0 })},
			"account of others":  {access.AuditFilter{Account: "nobody"}, nil},
			"account, subject":   {access.AuditFilter{Account: "lin", Subject: "cart"}, nil},
			"a time":             {access.AuditFilter{From: w.time().Add(2 * time.Second), To: w.time().Add(4 * time.Second), PageSize: 3}, pick(func(i int) bool { return i/7 == 2 || i/7 == 3 })},
			"a percent is plain": {access.AuditFilter{Query: "%"}, nil},
		}
		for name, tt := range tests {
			if got, pages := w.actions(t, tt.f); !slices.Equal(got, tt.want) {
				t.Errorf("%s: %d pages: %v, want %v", name, pages, got, tt.want)
			}
			var each []string
			for e, err := range w.Audit.Each(t.Context(), tt.f) {
				if err != nil {
					t.Fatal(err)
				}
				each = append(each, e.Action)
			}
			if !slices.Equal(each, tt.want) {
				t.Errorf("%s: all at once: %v, want %v", name, each, tt.want)
			}
		}
		for _, from := range []string{"x", "-1", "0", "5-", "-", "1-2-3", strings.Repeat("9", 40)} {
			if _, err := w.Audit.Search(t.Context(), access.AuditFilter{}, from); !fault.Is(err, fault.Invalid) {
				t.Errorf("from %q: %v, want invalid", from, err)
			}
		}
	})
}

func TestAuditSaysHowFarARareSearchLooked(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for i := range 30 {
			w.write(t, entry(w.time().Add(time.Duration(i)*time.Second), "a"))
		}
		w.Audit.SearchLess(10, 8, 4)
		page, err := w.Audit.Search(t.Context(), access.AuditFilter{Query: "absent"}, "")
		if err != nil || len(page.Entries) != 0 || page.Older == "" || !page.Until.Equal(w.time().Add(20*time.Second)) {
			t.Errorf("by text: %+v, %v; want a look back to the tenth entry", page, err)
		}
		page, err = w.Audit.Search(t.Context(), access.AuditFilter{Account: "lin", Query: "absent"}, "")
		if err != nil || page.Older == "" || !page.Until.Equal(w.time().Add(22*time.Second)) {
			t.Errorf("by account: %+v, %v; want a look back to the eighth entry", page, err)
		}
	})
}

func TestAuditKeepsWhatAChangeReplacedAndMasksIt(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		e := entry(w.time(), "user.update")
		e.Before, e.Params = []byte(`{"name":"old","password":"hunter2"}`), []byte(`{"name":"new","password":"hunter3"}`)
		w.write(t, e)
		page, err := w.Audit.Search(t.Context(), access.AuditFilter{}, "")
		if err != nil || len(page.Entries) != 1 {
			t.Fatalf("%+v, %v", page, err)
		}
		got, err := w.Audit.ByID(t.Context(), page.Entries[0].ID)
		if err != nil || string(got.Before) != `{"name":"old","password":"******"}` || string(got.Params) != `{"name":"new","password":"******"}` {
			t.Errorf("before %s, after %s, %v", got.Before, got.Params, err)
		}
		if _, err := w.Audit.ByID(t.Context(), 1<<40); !fault.Is(err, fault.NotFound) {
			t.Errorf("an entry that is none: %v", err)
		}
	})
}

func TestLoginLogPages(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		if never, err := w.Audit.NeverUsed(t.Context()); err != nil || !never {
			t.Fatalf("never used = %v, %v", never, err)
		}
		w.user(t, "lin", func(n *access.NewUser) { n.Name = "林薇" })
		w.user(t, "twin1", func(n *access.NewUser) { n.Name = "twin" })
		w.user(t, "twin2", func(n *access.NewUser) { n.Name = "twin" })
		for range 3 {
			for _, a := range []string{"lin", "twin1"} {
				w.later(time.Minute)
				if _, err := w.Login.Attempt(t.Context(), access.Attempt{Account: a, Password: goodPassword, Address: "10.0.0.9", Agent: "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		var met []string
		for from, n := "", 0; n == 0 || from != ""; n++ {
			page, older, err := w.Audit.Logins(t.Context(), "", from, 4)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range page {
				met = append(met, l.User)
			}
			from = older
		}
		if want := []string{"twin", "林薇", "twin", "林薇", "twin", "林薇"}; !slices.Equal(met, want) {
			t.Errorf("logins = %v, want %v", met, want)
		}
		found, _, err := w.Audit.Logins(t.Context(), "林", "", 10)
		if err != nil || len(found) != 3 || found[0].Browser == "" || found[0].Address != "10.0.0.9" {
			t.Errorf("logins of 林 = %+v, %v", found, err)
		}
		users, _, err := w.Users.List(t.Context(), access.UserFilter{})
		if err != nil {
			t.Fatal(err)
		}
		last, err := w.Users.LastLogins(t.Context(), users)
		if err != nil || len(last) != 1 || !last["lin"].Equal(found[0].At) {
			t.Errorf("last logins = %v, %v; want that of lin only: the twins cannot be told apart", last, err)
		}
	})
}

func TestUsersAreListedByWhatTheyAre(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		if _, err := w.Roles.Create(t.Context(), access.NewRole{Code: "ops", Enabled: true, By: access.System}); err != nil {
			t.Fatal(err)
		}
		w.user(t, "boss", admin)
		w.user(t, "off", func(n *access.NewUser) { n.Enabled = false })
		w.user(t, "old", func(n *access.NewUser) { n.ExpiresAt = w.time().Add(-time.Hour) })
		w.later(time.Second)
		w.user(t, "ops1", func(n *access.NewUser) {
			n.Roles, n.Name, n.ExpiresAt = []string{"ops"}, "aaa", w.time().Add(time.Hour)
		})
		if err := w.Users.ChangePassword(context.Background(), "ops1", goodPassword, "another horse"); err != nil {
			t.Fatal(err)
		}
		tests := map[string]struct {
			f    access.UserFilter
			want string
		}{
			"all":        {access.UserFilter{}, "boss off old ops1"},
			"active":     {access.UserFilter{State: access.UserActive}, "boss ops1"},
			"locked":     {access.UserFilter{State: access.UserLocked}, "off"},
			"expired":    {access.UserFilter{State: access.UserExpired}, "old"},
			"admins":     {access.UserFilter{State: access.UserAdmin}, "boss"},
			"first":      {access.UserFilter{State: access.UserFirstLogin}, "boss off old"},
			"role":       {access.UserFilter{Role: "ops"}, "ops1"},
			"among":      {access.UserFilter{Among: []string{"ops1", "off"}}, "off ops1"},
			"among none": {access.UserFilter{Among: []string{}}, ""},
			"by name":    {access.UserFilter{Order: access.ByName}, "ops1 boss off old"},
			"by created": {access.UserFilter{Order: access.ByCreated, State: access.UserActive}, "ops1 boss"},
			"by expiry":  {access.UserFilter{Order: access.ByExpiry}, "old ops1 boss off"},
		}
		for name, tt := range tests {
			found, total, err := w.Users.List(t.Context(), tt.f)
			var got []string
			for _, u := range found {
				got = append(got, u.Account)
				if s := tt.f.State; s != "" && !slices.Contains(u.States(w.time()), s) {
					t.Errorf("%s: %s is listed as %s and is %v", name, u.Account, s, u.States(w.time()))
				}
			}
			if err != nil || total != len(got) || strings.Join(got, " ") != tt.want {
				t.Errorf("%s: %v of %d, %v; want %s", name, got, total, err, tt.want)
			}
		}
		counts, err := w.Users.Counts(t.Context(), access.UserFilter{State: access.UserLocked})
		if err != nil || counts[access.UserActive] != 2 || counts[access.UserLocked] != 1 || counts[access.UserFirstLogin] != 3 {
			t.Errorf("counts = %v, %v", counts, err)
		}
	})
}
