package access_test

import (
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
)

func TestOnline(t *testing.T) {
	redis := testbed.Redis(t)
	for name, store := range map[string]func(*access.Options){
		"memory": func(*access.Options) {},
		"redis":  func(o *access.Options) { o.Store = access.NewRedisSessions(dial(t, redis), "erupt-auth:") },
	} {
		t.Run(name, func(t *testing.T) {
			w, ctx := newWorld(t, testbed.SQLite(t), store), t.Context()
			w.menu(t, "table", "shop.Product")
			w.role(t, "sales", "shop.Product")
			w.user(t, "boss", admin)
			w.user(t, "seller", withRoles("sales"), func(n *access.NewUser) { n.Name = "Lin Yu" })
			w.user(t, "clerk")
			boss := w.login(t, "boss")
			one := w.login(t, "seller")
			w.later(time.Second)
			two := w.login(t, "seller")
			clerk := w.login(t, "clerk")
			listed := func(q string) string {
				t.Helper()
				live, left, err := w.Online.List(ctx, access.OnlineFilter{Query: q})
				if err != nil || left != 0 {
					t.Fatalf("List(%q): %d left, %v", q, left, err)
				}
				var out []string
				for _, s := range live {
					out = append(out, s.Account)
				}
				return strings.Join(out, " ")
			}
			for q, want := range map[string]string{"": "boss clerk seller seller", "SELL": "seller seller", "lin y": "seller seller", "nobody": ""} {
				if got := listed(q); got != want {
					t.Errorf("List(%q) = %s, want %s", q, got, want)
				}
			}
			by := access.Actor{Account: "clerk"}
			for account, id := range map[string]string{"boss": boss.ID(), "seller": ""} {
				wants(t, "ending sessions of "+account, w.Online.End(ctx, account, id, by), fault.Forbidden)
			}
			if err := w.Online.End(ctx, "seller", two.ID(), access.System); err != nil || !w.alive(t, one.Token) || w.alive(t, two.Token) {
				t.Errorf("ending one: %v", err)
			}
			wants(t, "ending it again", w.Online.End(ctx, "seller", two.ID(), access.System), fault.NotFound)
			if err := w.Online.End(ctx, "seller", "", access.Actor{Account: "boss", Admin: true}); err != nil || w.alive(t, one.Token) {
				t.Errorf("ending all: %v", err)
			}
			if err := w.Online.End(ctx, "clerk", clerk.ID(), by); err != nil || w.alive(t, clerk.Token) {
				t.Errorf("ending his own: %v", err)
			}
		})
	}
}
