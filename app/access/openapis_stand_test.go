package access_test

import (
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/ent/openapi"
)

// What a program may do never grows behind the back of those who check rights: its secret is known to whoever made it.
func TestOpenAPIsDoNotOutliveTheirMakersRights(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.menu(t, "table", "shop.Product")
		w.role(t, "sales", "shop.Product")
		w.role(t, "empty")
		boss := access.Actor{Account: "boss", Admin: true}
		w.user(t, "boss", admin)
		set := func(account string, p access.UserPatch) func() error {
			return func() error { p.By = boss; _, err := w.Users.Update(ctx, account, p); return err }
		}
		for _, c := range []struct {
			what, maker string
			gain        func() error
			lives       bool
		}{
			{"its user becomes an administrator", "clerk", set("robot", access.UserPatch{Admin: p(true)}), false},
			{"its user gets a role", "clerk", set("robot", access.UserPatch{Roles: &[]string{"sales"}}), false},
			{"the same, made by somebody who holds as much", "boss", set("robot", access.UserPatch{Roles: &[]string{"sales"}}), true},
			{"a role of its user gets a menu", "clerk", func() error {
				if err := set("robot", access.UserPatch{Roles: &[]string{"empty"}})(); err != nil {
					return err
				}
				_, err := w.Roles.Update(ctx, "empty", access.RolePatch{Menus: &[]string{"shop.Product"}, By: boss})
				return err
			}, false},
			{"its maker is deleted", "clerk", func() error { return w.Users.Delete(ctx, "clerk", boss) }, false},
			{"another resets the password", "boss", set("robot", access.UserPatch{Password: p("another good one")}), false},
			{"only the name changes", "clerk", set("robot", access.UserPatch{Name: p("Robot 2")}), true},
		} {
			w.user(t, "clerk")
			w.user(t, "robot")
			by := access.Actor{Account: c.maker, Admin: c.maker == "boss"}
			made, secret, err := w.OpenAPIs.Create(ctx, access.NewOpenAPI{Name: "x", Account: "robot", Enabled: true, By: by})
			if err != nil {
				t.Fatal(err)
			}
			token, err := w.Tokens.Create(ctx, made.AppID, secret, access.Attempt{Address: "10.0.0.7"})
			if err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			if err := c.gain(); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			_, err = w.Tokens.Create(ctx, made.AppID, secret, access.Attempt{Address: "10.0.0.7"})
			if c.lives {
				if err != nil {
					t.Errorf("%s: %v", c.what, err)
				}
			} else {
				wants(t, "the old secret when "+c.what, err, fault.Forbidden)
				if w.alive(t, token.Token) {
					t.Errorf("%s: the token lives on", c.what)
				}
				// A change of the name does not bring it back, enabling it does.
				if now, err := w.OpenAPIs.Update(ctx, made.AppID, access.OpenAPIPatch{Name: p("y"), By: boss}); err != nil || now.Enabled {
					t.Errorf("%s: %+v, %v", c.what, now, err)
				}
				if _, err := w.OpenAPIs.Update(ctx, made.AppID, access.OpenAPIPatch{Enabled: p(true), By: boss}); err != nil {
					t.Fatal(err)
				}
				if _, err := w.Tokens.Create(ctx, made.AppID, secret, access.Attempt{Address: "10.0.0.7"}); err != nil {
					t.Errorf("%s: enabled by an administrator: %v", c.what, err)
				}
			}
			if err := w.OpenAPIs.Delete(ctx, made.AppID, boss); err != nil {
				t.Fatal(err)
			}
			_ = w.Users.Delete(ctx, "clerk", boss) // one of them has gone already
			if err := w.Users.Delete(ctx, "robot", boss); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Rights that come past us, as from a Java server on the same database, are seen when the program comes for its next token.
func TestOpenAPIsAreCheckedAtEachToken(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		clerk, robot := w.user(t, "clerk"), w.user(t, "robot")
		made, secret, err := w.OpenAPIs.Create(ctx, access.NewOpenAPI{Name: "x", Account: "robot", Enabled: true, By: access.Actor{Account: clerk.Account}})
		if err != nil {
			t.Fatal(err)
		}
		w.db.Client.User.UpdateOneID(robot.ID).SetIsAdmin(true).ExecX(ctx)
		_, err = w.Tokens.Create(ctx, made.AppID, secret, access.Attempt{Address: "10.0.0.7"})
		wants(t, "a token of an administrator", err, fault.Forbidden)
		if w.db.Client.OpenAPI.Query().Where(openapi.Appid(made.AppID)).OnlyX(ctx).Status {
			t.Error("it is not disabled")
		}
	})
}

func TestLinkingAnOpenAPIAnewVoidsItsSecret(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.user(t, "boss", admin)
		w.user(t, "robot")
		made, secret := w.openAPI(t, "robot")
		if _, err := w.OpenAPIs.Update(ctx, made.AppID, access.OpenAPIPatch{Account: p("boss"), By: access.System}); err != nil {
			t.Fatal(err)
		}
		_, err := w.Tokens.Create(ctx, made.AppID, secret, access.Attempt{Address: "10.0.0.7"})
		wants(t, "the secret of before", err, fault.Unauthenticated)
		next, err := w.OpenAPIs.NewSecret(ctx, made.AppID, access.System)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Tokens.Create(ctx, made.AppID, next, access.Attempt{Address: "10.0.0.7"}); err != nil {
			t.Error(err)
		}
	})
}
