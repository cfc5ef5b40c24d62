package access_test

import (
	"strings"
	"sync"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
)

func (w *world) org(t *testing.T, code, parent string, sort int) {
	t.Helper()
	if _, err := w.Orgs.Create(t.Context(), access.NewOrg{Code: code, Parent: parent, Sort: sort}); err != nil {
		t.Fatalf("create organisation %s: %v", code, err)
	}
}

// orgs writes the tree as "code/depth code/depth".
func (w *world) orgs(t *testing.T) string {
	t.Helper()
	all, err := w.Orgs.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range all {
		out = append(out, strings.Repeat(">", o.Depth)+o.Code)
	}
	return strings.Join(out, " ")
}

func TestOrgsAreATree(t *testing.T) { // erupt-wire 6.6
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.org(t, "group", "", 1)
		w.org(t, "north", "group", 2)
		w.org(t, "south", "group", 1)
		w.org(t, "harbour", "south", 0)
		w.org(t, "alone", "", 0)
		if got := w.orgs(t); got != "alone group >south >>harbour >north" {
			t.Errorf("tree = %s", got)
		}
		for parent, field := range map[string]string{"harbour": "parent", "south": "parent", "nowhere": "parent"} {
			_, err := w.Orgs.Update(ctx, "south", access.OrgPatch{Parent: &parent})
			if f := fault.Of(err); !fault.Is(err, fault.Invalid) || f.Fields[field] == "" {
				t.Errorf("south below %s: %v, want a message at %s", parent, err, field)
			}
		}
		if o, err := w.Orgs.Update(ctx, "south", access.OrgPatch{Parent: p("north"), Name: p("The south"), Sort: p(9)}); err != nil || o.ParentCode != "north" || o.Name != "The south" || o.Sort != 9 {
			t.Errorf("moved: %+v, %v", o, err)
		}
		if o, err := w.Orgs.Update(ctx, "harbour", access.OrgPatch{Parent: p("")}); err != nil || o.Parent != 0 || o.Name != "harbour" {
			t.Errorf("moved to the top: %+v, %v", o, err)
		}
		if got := w.orgs(t); got != "harbour alone group >north >>south" {
			t.Errorf("tree after moves = %s", got)
		}
		_, err := w.Orgs.Create(ctx, access.NewOrg{Code: "NORTH"})
		wants(t, "a code that differs in case", err, fault.Conflict)
		_, err = w.Orgs.Create(ctx, access.NewOrg{Code: "a b"})
		wants(t, "a code with a blank", err, fault.Invalid)
		_, err = w.Orgs.Update(ctx, "none", access.OrgPatch{})
		wants(t, "an unknown one", err, fault.NotFound)
	})
}

func TestOrgsInUseAreKept(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.org(t, "group", "", 0)
		w.org(t, "north", "group", 0)
		w.user(t, "lin", func(n *access.NewUser) { n.Org = "north" })
		wants(t, "deleting one with others below", w.Orgs.Delete(ctx, "group"), fault.Conflict)
		wants(t, "deleting one with users", w.Orgs.Delete(ctx, "north"), fault.Conflict)
		if o, err := w.Orgs.ByCode(ctx, "north"); err != nil || o.Users != 1 || o.ParentCode != "group" {
			t.Errorf("north = %+v, %v", o, err)
		}
		if _, err := w.Users.Update(ctx, "lin", access.UserPatch{Org: p(""), By: access.System}); err != nil {
			t.Fatal(err)
		}
		for _, code := range []string{"north", "group"} {
			if err := w.Orgs.Delete(ctx, code); err != nil {
				t.Errorf("delete %s: %v", code, err)
			}
		}
		wants(t, "deleting it again", w.Orgs.Delete(ctx, "group"), fault.NotFound)
	})
}

// Two moves that are each right must not make a circle together.
func TestOrgsMovedAtOnce(t *testing.T) {
	w := newWorld(t, testbed.MySQL(t))
	for _, code := range []string{"a", "b"} {
		w.org(t, code, "", 0)
	}
	for range 5 {
		var wg sync.WaitGroup
		for child, parent := range map[string]string{"a": "b", "b": "a"} {
			wg.Go(func() { _, _ = w.Orgs.Update(t.Context(), child, access.OrgPatch{Parent: &parent}) })
		}
		wg.Wait()
		if got := w.orgs(t); got != "a >b" && got != "b >a" {
			t.Fatalf("tree = %s", got)
		}
		for _, code := range []string{"a", "b"} {
			if _, err := w.Orgs.Update(t.Context(), code, access.OrgPatch{Parent: p("")}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// What another program wrote has empty columns, and circles.
func TestOrgsOfOthers(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		for _, sql := range []string{
			"INSERT INTO e_upms_org (id, code) VALUES (1, 'bare')",
			"INSERT INTO e_upms_org (id, code, name) VALUES (2, 'x', 'X')",
			"INSERT INTO e_upms_org (id, code, name, parent_org_id) VALUES (3, 'y', 'Y', 2)",
			"UPDATE e_upms_org SET parent_org_id = 3 WHERE id = 2",
			"INSERT INTO e_upms_post (id, code) VALUES (1, 'bare')",
		} {
			if _, err := w.db.SQL.ExecContext(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.orgs(t); got != "bare x >y" {
			t.Errorf("tree = %s", got)
		}
		if o, err := w.Orgs.ByCode(t.Context(), "bare"); err != nil || o.Name != "bare" {
			t.Errorf("bare = %+v, %v", o, err)
		}
		if _, err := w.Orgs.Update(t.Context(), "x", access.OrgPatch{Parent: p("")}); err != nil {
			t.Errorf("taking the circle apart: %v", err)
		}
		if all, err := w.Posts.All(t.Context()); err != nil || len(all) != 1 || all[0].Name != "bare" {
			t.Errorf("posts = %+v, %v", all, err)
		}
	})
}

func TestPosts(t *testing.T) { // erupt-wire 6.6
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for code, weight := range map[string]int{"lead": 1, "clerk": 5, "head": 0} {
			if _, err := w.Posts.Create(ctx, access.NewPost{Code: code, Weight: weight}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := w.Posts.Create(ctx, access.NewPost{Code: "Lead"})
		wants(t, "a code that differs in case", err, fault.Conflict)
		_, err = w.Posts.Create(ctx, access.NewPost{Code: "x", Name: strings.Repeat("n", 256)})
		wants(t, "a name that is too long", err, fault.Invalid)
		if got, err := w.Posts.Update(ctx, "clerk", access.PostPatch{Name: p("Clerk"), Weight: p(-1)}); err != nil || got.Name != "Clerk" || got.Weight != -1 {
			t.Errorf("changed to %+v, %v", got, err)
		}
		w.org(t, "north", "", 0)
		w.user(t, "lin", func(n *access.NewUser) { n.Org, n.Post = "north", "lead" })
		wants(t, "deleting one that somebody holds", w.Posts.Delete(ctx, "lead"), fault.Conflict)
		if err := w.Posts.Delete(ctx, "head"); err != nil {
			t.Fatal(err)
		}
		wants(t, "deleting it again", w.Posts.Delete(ctx, "head"), fault.NotFound)
		all, err := w.Posts.All(ctx)
		if err != nil || len(all) != 2 || all[0].Code != "clerk" || all[1].Code != "lead" || all[1].Users != 1 {
			t.Errorf("All = %+v, %v", all, err)
		}
	})
}

func TestUsersBelongSomewhere(t *testing.T) { // erupt-wire 5.7
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.org(t, "group", "", 0)
		w.org(t, "north", "group", 0)
		if _, err := w.Posts.Create(ctx, access.NewPost{Code: "lead", Name: "Lead"}); err != nil {
			t.Fatal(err)
		}
		w.menu(t, "table", "shop.Product")
		_, err := w.Users.Create(ctx, access.NewUser{Account: "yu", Password: goodPassword, Post: "lead", By: access.System})
		if f := fault.Of(err); !fault.Is(err, fault.Invalid) || f.Fields["org"] != "must be set when a post is set" {
			t.Errorf("a post without an organisation: %v", err)
		}
		w.user(t, "lin", func(n *access.NewUser) { n.Org, n.Post, n.Home = "north", "lead", "shop.Product" })
		w.user(t, "chen", func(n *access.NewUser) { n.Org = "group" })
		w.user(t, "zhao")
		s := w.login(t, "lin")
		u, err := w.Users.ByAccount(ctx, "lin")
		if err != nil || u.OrgCode != "north" || u.PostName != "Lead" || u.HomeCode != "shop.Product" || s.Org != "north" || s.Post != "lead" {
			t.Errorf("lin = %+v, %v; session of %s, %s", u, err, s.Org, s.Post)
		}
		for name, patch := range map[string]access.UserPatch{
			"org": {Org: p("")}, "post": {Post: p("nothing")}, "home": {Home: p("shop.Product@ADD")},
		} {
			patch.By = access.System
			if _, err := w.Users.Update(ctx, "lin", patch); !fault.Is(err, fault.Invalid) || fault.Of(err).Fields[name] == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		count := func(f access.UserFilter) int {
			t.Helper()
			found, n, err := w.Users.List(ctx, f)
			if err != nil || len(found) != n {
				t.Fatalf("List(%+v) = %d of %d, %v", f, len(found), n, err)
			}
			return n
		}
		if a, b, c, d := count(access.UserFilter{Org: "group"}), count(access.UserFilter{Org: "north"}), count(access.UserFilter{Post: "lead"}), count(access.UserFilter{Org: "gone"}); a != 2 || b != 1 || c != 1 || d != 0 {
			t.Errorf("in group %d, in north %d, leads %d, in none %d; want 2, 1, 1, 0", a, b, c, d)
		}
		if _, err := w.Users.Update(ctx, "lin", access.UserPatch{Org: p(""), Post: p(""), Home: p(""), By: access.System}); err != nil {
			t.Fatal(err)
		}
		now, _, err := w.Sessions.Get(ctx, s.Token)
		if u, _ = w.Users.ByAccount(ctx, "lin"); err != nil || now.Org != "" || u.Org != 0 || u.Post != 0 || u.HomeMenu != 0 {
			t.Errorf("after leaving: %+v, session of %q, %v", u, now.Org, err)
		}
	})
}
