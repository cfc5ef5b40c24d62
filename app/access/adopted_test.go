package access_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	entsql "entgo.io/ent/dialect/sql"

	"eruptcloud/app/access"
	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
)

// adoptedWorld is an Access on a database of erupt's.
func adoptedWorld(t *testing.T, version string, change ...func(*access.Options)) *world {
	t.Helper()
	return newWorld(t, testbed.Adopted(t, version), append([]func(*access.Options){func(o *access.Options) { o.CaptchaAfter = -1 }}, change...)...)
}

// eachAdopted runs test on the database of each version.
func eachAdopted(t *testing.T, test func(t *testing.T, version string, w *world)) {
	t.Helper()
	for _, version := range testbed.EruptVersions {
		t.Run(version, func(t *testing.T) { test(t, version, adoptedWorld(t, version)) })
	}
}

// values reads one row as a Java server does: NULL is "-".
func values(t *testing.T, db *database.DB, query string, args ...any) string {
	t.Helper()
	rows, err := db.SQL.Query(query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		cells := make([]*string, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for _, c := range cells {
			if c == nil {
				out = append(out, "-")
			} else {
				out = append(out, *c)
			}
		}
	}
	return strings.Join(out, " ")
}

// TestAdoptedUsersLogIn: erupt-wire 3.4, 6.3, 11 item 9: with the passwords that they have, and no others.
// TestSharedAccountsAreNotGuessed: the tables of 1.12 do not keep accounts unique.
// TestNewPasswordsAreReadByErupt: MD5 where the tables hold nothing else, SHA512 with salt from 2.0 on.
// TestAdoptedUsersAreKeptAsErupts: erupt-wire 6.3: only what changes is written, the rest stays as it was.
func TestAdoptedUsersAreKeptAsErupts(t *testing.T) {
	eachAdopted(t, func(t *testing.T, version string, w *world) {
		others := values(t, w.db, "SELECT * FROM e_upms_user WHERE account <> 'lin' ORDER BY id")
		by := access.Actor{Account: "erupt", Admin: true}
		phone, roles := "+1 1", []string{"old", "sales"}
		u, err := w.Users.Update(t.Context(), "lin", access.UserPatch{Phone: &phone, Roles: &roles, By: by})
		if err != nil || !slices.Equal(u.RoleCodes, roles) {
			t.Fatalf("Update = %+v, %v", u.RoleCodes, err)
		}
		if got := values(t, w.db, "SELECT phone, email, erupt_org_id, erupt_menu_id, HEX(status), update_user_id FROM e_upms_user WHERE account = 'lin'"); got != "+1 1 lin@example.org 2 201 1 1" {
			t.Errorf("the row became %s", got)
		}
		if got := values(t, w.db, "SELECT * FROM e_upms_user WHERE account <> 'lin' ORDER BY id"); got != others {
			t.Error("rows of other users changed")
		}
		// A user of every kind is listed and can be locked and deleted; foreign keys of erupt's hold none of them.
		for _, account := range []string{"oldlin", "nullstatus", "plain", "nullflag", "lin"} {
			off := false
			if _, err := w.Users.Update(t.Context(), account, access.UserPatch{Enabled: &off, By: by}); err != nil {
				t.Errorf("lock %s: %v", account, err)
			}
			if _, err := w.db.SQL.Exec("UPDATE e_upms_user SET update_user_id = id WHERE account = ?", account); err != nil { // as when he changes his password
				t.Fatal(err)
			}
			err := w.Users.Delete(t.Context(), account, by)
			if account == "lin" {
				if !fault.Is(err, fault.Conflict) {
					t.Errorf("delete lin, whom a program acts as: %v, want Conflict as erupt refuses it", err)
				}
			} else if err != nil {
				t.Errorf("delete %s: %v", account, err)
			}
		}
		if err := w.Users.Delete(t.Context(), "erupt", by); !fault.Is(err, fault.Conflict) {
			t.Errorf("delete the last administrator: %v", err)
		}
	})
}

// TestValuesWithoutAColumnAreRefused instead of being lost.
func TestValuesWithoutAColumnAreRefused(t *testing.T) {
	w := adoptedWorld(t, "1.12")
	c := w.db.Client.User.Create().SetAccount("x").SetAvatar("a.png")
	err := c.Exec(t.Context())
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Invalid || !strings.Contains(err.Error(), "the table e_upms_user has no column avatar") {
		t.Errorf("Create with a picture = %v, want a fault that names table and column", err)
	}
	if err := w.db.Client.User.Create().SetAccount("y").SetAvatar("").SetMfaEnabled(false).Exec(t.Context()); err != nil {
		t.Errorf("Create without one = %v", err)
	}
	if n, err := w.db.Client.User.Update().SetMfaEnabled(true).Save(t.Context()); err == nil {
		t.Errorf("an update of a missing column changed %d rows", n)
	}
	if n, err := w.db.Client.User.Update().ClearAvatar().ClearMfaSecret().SetName("z").Save(t.Context()); err != nil || n != 14 {
		t.Errorf("Update = %d, %v; want all 14 rows found", n, err)
	}
	if err := w.db.Client.User.UpdateOneID(1).SetName("z").Exec(t.Context()); err == nil || !strings.Contains(err.Error(), "Update().Where") {
		t.Errorf("UpdateOneID = %v, want it refused with the way", err)
	}
	// Reading, in every way that ent has.
	users := w.db.Client.User
	if _, err := users.Query().WithRoles().WithOrg().WithPost().WithOpenApis().All(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := w.db.Client.Role.Query().WithUsers().All(t.Context()); err != nil {
		t.Errorf("users as an edge: %v", err)
	}
	if _, err := w.db.Client.Org.Query().QueryUsers().First(t.Context()); err != nil {
		t.Errorf("users by traversal: %v", err)
	}
	if n, err := users.Query().Count(t.Context()); err != nil || n != 14 {
		t.Errorf("Count = %d, %v", n, err)
	}
	if _, err := users.Query().Limit(1).Select("id", "avatar", "account").All(t.Context()); err != nil {
		t.Errorf("a missing column among others: %v", err)
	}
	if _, err := users.Get(t.Context(), 1); err != nil {
		t.Error(err)
	}
	var groups []struct {
		Name string
		N    int
	}
	if err := users.Query().GroupBy("name").Aggregate(func(*entsql.Selector) string { return "COUNT(*) AS n" }).Scan(t.Context(), &groups); err != nil {
		t.Errorf("an aggregate: %v", err)
	}
}

// TestAdoptedRolesAndMenus: erupt-wire 5.2, 5.3, 6.4, 6.5.
func TestAdoptedRolesAndMenus(t *testing.T) {
	eachAdopted(t, func(t *testing.T, version string, w *world) {
		s, err := w.Login.Attempt(t.Context(), access.Attempt{Account: "lin", Password: "lin-pass-1", Address: "10.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		for code, held := range map[string]bool{
			"shop.customer": true, "shop.customer@add": true, "shop.customer@edit": true, "shop.customer@delete": false,
			"shop.purchase": true,                      // status null is open
			"shop.secret":   false, "eruptuser": false, // disabled menu, disabled role
		} {
			if _, ok := s.Values[code]; ok != held {
				t.Errorf("lin holds %s: %v, want %v", code, ok, held)
			}
		}
		menu, err := w.Menus.Create(t.Context(), access.NewMenu{Name: "Stock", Type: "table", Value: "shop.Stock"})
		if err != nil {
			t.Fatal(err)
		}
		if got := values(t, w.db, "SELECT COUNT(*) FROM e_upms_menu WHERE parent_menu_id = ? AND type = 'button'", menu.ID); got != "6" {
			t.Errorf("%s buttons below a new table, want 6", got)
		}
		if _, err := w.Roles.Create(t.Context(), access.NewRole{Code: "stock", Enabled: true, Menus: []string{menu.Code}, ReadOnly: true, By: access.System}); err != nil {
			t.Fatal(err)
		}
		off, by := false, access.Actor{Account: "erupt", Admin: true}
		for _, code := range []string{"stock", "sales", "old"} {
			if _, err := w.Roles.Update(t.Context(), code, access.RolePatch{Enabled: &off, By: by}); err != nil {
				t.Errorf("disable %s: %v", code, err)
			}
			if got := values(t, w.db, "SELECT HEX(status), update_user_id FROM e_upms_role WHERE code = ?", code); got != "0 1" {
				t.Errorf("status and update_user_id of %s are %s, want 0 1", code, got)
			}
		}
		name := "Clients"
		if _, err := w.Menus.Update(t.Context(), "aB3dE5gH", access.MenuPatch{Name: &name, By: access.Actor{Account: "lin", Admin: true}}); err != nil {
			t.Fatal(err)
		}
		if got := values(t, w.db, "SELECT name, update_by, value, sort FROM e_upms_menu WHERE code = 'aB3dE5gH'"); got != "Clients Lin Yu shop.Customer 100" {
			t.Errorf("the menu became %s", got)
		}
		if err := w.Menus.Delete(t.Context(), menu.Code); err != nil {
			t.Errorf("delete a menu that a role has: %v", err)
		}
		if err := w.Menus.Delete(t.Context(), "aB3dE5gH"); err != nil { // somebody's home page, and in a role
			t.Errorf("delete a menu of erupt's: %v", err)
		}
		for _, code := range []string{"stock", "sales", "old", "audit"} {
			if err := w.Roles.Delete(t.Context(), code); err != nil {
				t.Errorf("delete the role %s: %v", code, err)
			}
		}
		if got := values(t, w.db, "SELECT (SELECT COUNT(*) FROM e_upms_role_menu) + (SELECT COUNT(*) FROM e_upms_user_role) + (SELECT COUNT(*) FROM e_upms_role_extra)"); got != "0" {
			t.Errorf("%s rows are left of deleted roles", got)
		}
	})
}

// TestJavaMayDeleteUnderUs: what is left of ours beside rows that are gone does no harm.
func TestJavaMayDeleteUnderUs(t *testing.T) {
	w := adoptedWorld(t, "2.0")
	readOnly := true
	if _, err := w.Roles.Update(t.Context(), "old", access.RolePatch{ReadOnly: &readOnly, By: access.System}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"DELETE FROM e_upms_user_role WHERE role_id = 3", "DELETE FROM e_upms_role_menu WHERE role_id = 3", "DELETE FROM e_upms_role WHERE id = 3"} {
		if _, err := w.db.SQL.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	roles, err := w.Roles.List(t.Context())
	if err != nil || len(roles) != 2 {
		t.Errorf("List = %d roles, %v; want the 2 that are left", len(roles), err)
	}
	if _, err := w.Login.Attempt(t.Context(), access.Attempt{Account: "plain", Password: "plain-pass-1", Address: "10.0.0.1"}); err != nil {
		t.Errorf("who had the role: %v", err)
	}
}

// TestInitMenusOnAdopted: erupt-wire 5.5: by code, idempotent, no existing row changes.
func TestInitMenusOnAdopted(t *testing.T) {
	eachAdopted(t, func(t *testing.T, version string, w *world) {
		all := "SELECT * FROM e_upms_menu WHERE id <= 209 AND code <> 'CloudNode@ADD' ORDER BY id"
		before, roles := values(t, w.db, all), values(t, w.db, "SELECT * FROM e_upms_role")
		if added, err := w.Menus.Seed(t.Context()); err != nil || added < len(ownSeeds) || added > len(ownSeeds)+1 { // 1.12 lacks one button of 2.0
			t.Errorf("Seed beside the menus of a first start added %d, %v", added, err)
		}
		if _, err := w.db.SQL.Exec("DELETE FROM e_upms_menu WHERE code = 'CloudNode@ADD'"); err != nil {
			t.Fatal(err)
		}
		if added, err := w.Menus.Seed(t.Context()); err != nil || added != 1 {
			t.Errorf("Seed added %d, %v; want the one that was deleted", added, err)
		}
		if added, err := w.Menus.Seed(t.Context()); err != nil || added != 0 {
			t.Errorf("another Seed added %d, %v", added, err)
		}
		if got := values(t, w.db, "SELECT p.code, m.type, m.value FROM e_upms_menu m JOIN e_upms_menu p ON p.id = m.parent_menu_id WHERE m.code = 'CloudNode@ADD'"); got != "CloudNode button CloudNode@ADD" {
			t.Errorf("the new row is %s", got)
		}
		if values(t, w.db, all) != before || values(t, w.db, "SELECT * FROM e_upms_role") != roles {
			t.Error("rows that were there changed")
		}
	})
}

// TestAdoptedTimesAreThoseOfTheSession: a Java server writes local times without zone.
// TestAdoptedOrgsAndPosts: erupt-wire 6.6; sort and weight may be null.
func TestAdoptedOrgsAndPosts(t *testing.T) {
	eachAdopted(t, func(t *testing.T, version string, w *world) {
		orgs, err := w.Orgs.All(t.Context())
		if err != nil || len(orgs) != 2 {
			t.Fatalf("orgs = %+v, %v", orgs, err)
		}
		name, org, post := "Renamed", "D-02", "QA"
		if _, err := w.Orgs.Create(t.Context(), access.NewOrg{Code: org, Parent: "HQ"}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Orgs.Update(t.Context(), "D-01", access.OrgPatch{Name: &name}); err != nil {
			t.Error(err)
		}
		if _, err := w.Posts.Create(t.Context(), access.NewPost{Code: post}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Posts.Update(t.Context(), "OPS", access.PostPatch{Name: &name}); err != nil {
			t.Error(err)
		}
		if got := values(t, w.db, "SELECT name, sort FROM e_upms_org WHERE code = 'D-01' UNION ALL SELECT name, weight FROM e_upms_post WHERE code = 'OPS'"); got != "Renamed - Renamed -" {
			t.Errorf("the rows became %s, want only their names changed", got)
		}
		if _, err := w.Users.Update(t.Context(), "lin", access.UserPatch{Org: &org, Post: &post, By: access.System}); err != nil {
			t.Errorf("seat lin elsewhere: %v", err)
		}
		if err := w.Orgs.Delete(t.Context(), "D-01"); err != nil {
			t.Error(err)
		}
		if err := w.Posts.Delete(t.Context(), "ENG"); err != nil {
			t.Error(err)
		}
	})
}

// TestOldColumnTypes: erupt-wire 6: older Hibernates made tinyint(1), datetime without fractions and longtext.
// TestAdoptedLogs: erupt-wire 6.8, 6.9: rows of a Java server are read beside ours; 1.12 has no place for what was before.
func TestAdoptedLogs(t *testing.T) {
	eachAdopted(t, func(t *testing.T, version string, w *world) {
		theirs := values(t, w.db, "SELECT * FROM e_upms_operate_log")
		e := entry(w.time(), "node.update")
		e.Before = json.RawMessage(`{"name":"old"}`)
		w.write(t, e)
		got, total, err := w.Audit.List(t.Context(), access.AuditFilter{})
		if err != nil || total != 3 {
			t.Fatalf("List = %d, %v; want two rows of theirs and one of ours", total, err)
		}
		if kept := len(got[0].Before) > 0; got[0].Action != "node.update" || kept != (version != "1.12") {
			t.Errorf("our row = %+v, want what was before in it except in 1.12", got[0])
		}
		if got := values(t, w.db, "SELECT * FROM e_upms_operate_log WHERE id < 3"); got != theirs {
			t.Errorf("their rows became %s", got)
		}
		for name, f := range map[string]access.AuditFilter{"all": {}, "of an account": {Account: "lin"}, "of a subject": {Subject: "order-service"}} {
			page, err := w.Audit.Search(t.Context(), f, "")
			if err != nil || len(page.Entries) == 0 {
				t.Errorf("Search, %s = %d, %v", name, len(page.Entries), err)
			}
		}
		if _, err := w.Login.Attempt(t.Context(), access.Attempt{Account: "lin", Password: "lin-pass-1", Address: "10.0.0.1", Agent: "curl/8"}); err != nil {
			t.Fatal(err)
		}
		logins, _, err := w.Audit.Logins(t.Context(), "", "", 10)
		if err != nil || len(logins) != 3 {
			t.Errorf("Logins = %d, %v; want two of theirs and one of ours", len(logins), err)
		}
	})
}
