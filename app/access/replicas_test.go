package access_test

import (
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
)

// Two replicas on one database and one Redis are one server to their users.
func TestTwoReplicas(t *testing.T) {
	db, url := testbed.MySQL(t), testbed.Redis(t)
	replica := func() *world {
		return newWorld(t, db, func(o *access.Options) { o.Store = access.NewRedisSessions(dial(t, url), "erupt-auth:") })
	}
	a, b := replica(), replica()
	ctx := t.Context()
	a.menu(t, "table", "shop.Product")
	a.role(t, "sales", "shop.Product")
	a.user(t, "lin", withRoles("sales"))
	s := a.login(t, "lin")
	if !b.holds(t, s.Token, "shop.product") || b.holds(t, s.Token, "shop.product@edit") {
		t.Error("the other replica must know the session, with the page and without its buttons")
	}
	if got, err := b.Delegates.Open(a.Delegates.Issue(s.Token, "shop"), "shop"); err != nil || got != s.Token {
		t.Errorf("the other replica opens the handle as %q, %v", got, err)
	}
	if _, err := b.Roles.Update(ctx, "sales", access.RolePatch{Menus: &[]string{}, By: access.System}); err != nil {
		t.Fatal(err)
	}
	if a.holds(t, s.Token, "shop.product") {
		t.Error("a right that was taken at the other replica is still held")
	}
	if err := b.Sessions.Logout(ctx, s.Token); err != nil {
		t.Fatal(err)
	}
	if a.alive(t, s.Token) {
		t.Error("a logout at the other replica is not seen")
	}
	for i := range 10 {
		_, err := []*world{a, b}[i%2].attempt(ctx, "lin", "wrong horse")
		wants(t, "a wrong password", err, fault.Unauthenticated)
	}
	for _, w := range []*world{a, b} {
		_, err := w.attempt(ctx, "lin", goodPassword)
		wants(t, "a login while locked", err, fault.TooMany)
	}
}
