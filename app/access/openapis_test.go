package access_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/ent/openapi"
)

func (w *world) openAPI(t *testing.T, account string) (access.OpenAPI, string) {
	t.Helper()
	made, secret, err := w.OpenAPIs.Create(t.Context(), access.NewOpenAPI{Name: "Billing", Account: account, Minutes: 30, Enabled: true, By: access.System})
	if err != nil {
		t.Fatal(err)
	}
	return made, secret
}

// eachOpenWorld runs test where only we read the table, and where a Java server does too.
func eachOpenWorld(t *testing.T, test func(t *testing.T, w *world, shared bool)) {
	eachWorld(t, func(t *testing.T, w *world) {
		t.Run("alone", func(t *testing.T) { test(t, w, false) })
		t.Run("shared", func(t *testing.T) {
			if _, err := w.db.Client.OpenAPI.Delete().Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := w.Users.Delete(t.Context(), "lin", access.System); err != nil {
				t.Fatal(err)
			}
			test(t, newWorld(t, w.db, func(o *access.Options) { o.Adopted = true }), true)
		})
	})
}

func TestOpenAPIs(t *testing.T) { // erupt-wire 3.3, 6.7
	eachOpenWorld(t, func(t *testing.T, w *world, shared bool) {
		ctx := t.Context()
		w.user(t, "lin")
		made, secret := w.openAPI(t, "lin")
		if !regexp.MustCompile(`^es[0-9a-f]{14}$`).MatchString(made.AppID) || !regexp.MustCompile(`^[A-Z0-9]{24}$`).MatchString(secret) {
			t.Errorf("id %q, secret %q", made.AppID, secret)
		}
		if made.Account != "lin" || made.Minutes != 30 || !made.Enabled || made.Token {
			t.Errorf("made %+v", made)
		}
		row := w.db.Client.OpenAPI.Query().Where(openapi.Appid(made.AppID)).OnlyX(ctx)
		if (row.Secret == secret) != shared {
			t.Errorf("the table holds %q for the secret %q", row.Secret, secret)
		}
		if got, err := w.OpenAPIs.Verify(ctx, made.AppID, secret); err != nil || got.Account != "lin" {
			t.Errorf("Verify = %+v, %v", got, err)
		}
		for id, s := range map[string]string{made.AppID: "x", "es00": secret, "": ""} {
			_, err := w.OpenAPIs.Verify(ctx, id, s)
			if !fault.Is(err, fault.Unauthenticated) || fault.Of(err).Message() != "secret error" {
				t.Errorf("Verify(%q, %q) = %v", id, s, err)
			}
		}
		_, err := w.OpenAPIs.Verify(ctx, made.AppID, row.Secret)
		if !shared && !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("what the table holds opens it: %v", err)
		}
		next, err := w.OpenAPIs.NewSecret(ctx, made.AppID, access.System)
		if err != nil || next == secret {
			t.Fatalf("NewSecret = %q, %v", next, err)
		}
		_, err = w.OpenAPIs.Verify(ctx, made.AppID, secret)
		wants(t, "the old secret", err, fault.Unauthenticated)
		off, err := w.OpenAPIs.Update(ctx, made.AppID, access.OpenAPIPatch{Name: p("Books"), Minutes: p(5), Enabled: p(false), By: access.System})
		if err != nil || off.Name != "Books" || off.Minutes != 5 || off.Enabled {
			t.Errorf("changed to %+v, %v", off, err)
		}
		_, err = w.OpenAPIs.Verify(ctx, made.AppID, next)
		wants(t, "a disabled one", err, fault.Forbidden)
		for name, patch := range map[string]access.OpenAPIPatch{"minutes": {Minutes: p(0)}, "name": {Name: p(" ")}, "account": {Account: p("nobody")}} {
			patch.By = access.System
			if _, err := w.OpenAPIs.Update(ctx, made.AppID, patch); !fault.Is(err, fault.Invalid) || fault.Of(err).Fields[name] == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		for q, want := range map[string]int{"": 1, "BOOK": 1, "LIN": 1, made.AppID[:6]: 1, "nothing": 0} {
			found, n, err := w.OpenAPIs.List(ctx, access.OpenAPIFilter{Query: q})
			if err != nil || n != want || len(found) != want {
				t.Errorf("List(%q) = %v, %d, %v; want %d", q, found, n, err, want)
			}
		}
		if err := w.OpenAPIs.Delete(ctx, made.AppID, access.System); err != nil {
			t.Fatal(err)
		}
		wants(t, "deleting it again", w.OpenAPIs.Delete(ctx, made.AppID, access.System), fault.NotFound)
	})
}

// A token ends with the next one, with the secret, with the way in, and when its user is another.
func TestOpenAPITokensEnd(t *testing.T) {
	eachOpenWorld(t, func(t *testing.T, w *world, shared bool) {
		ctx := t.Context()
		w.user(t, "lin")
		if !shared {
			w.user(t, "yu")
		}
		made, _ := w.openAPI(t, "lin")
		n := 0
		begin := func() string {
			t.Helper()
			n++
			tok := "ER" + strings.Repeat("A", 22) + string(rune('A'+n/26)) + string(rune('A'+n%26))
			s := lin(tok)
			if err := w.store.Create(ctx, s, time.Hour); err != nil {
				t.Fatal(err)
			}
			if err := w.OpenAPIs.Began(ctx, made.AppID, tok); err != nil {
				t.Fatal(err)
			}
			return tok
		}
		first, second := begin(), begin()
		if w.alive(t, first) || !w.alive(t, second) {
			t.Error("a new token does not end the one before it, or itself")
		}
		row := w.db.Client.OpenAPI.Query().Where(openapi.Appid(made.AppID)).OnlyX(ctx)
		if (row.CurrentToken == second) != shared {
			t.Errorf("the table holds %q for the token %q", row.CurrentToken, second)
		}
		if got, err := w.OpenAPIs.ByToken(ctx, second); err != nil || got.AppID != made.AppID || !got.Token {
			t.Errorf("ByToken = %+v, %v", got, err)
		}
		for _, tok := range []string{first, "", row.CurrentToken} {
			if tok == second {
				continue
			}
			_, err := w.OpenAPIs.ByToken(ctx, tok)
			wants(t, "another token", err, fault.NotFound)
		}
		list, _, err := w.OpenAPIs.List(ctx, access.OpenAPIFilter{})
		if err != nil {
			t.Fatal(err)
		}
		if live, err := w.OpenAPIs.Sessions(ctx, list); err != nil || live[made.ID].Token != second {
			t.Errorf("Sessions = %v, %v", live, err)
		}
		for what, end := range map[string]func() error{
			"the button":   func() error { return w.OpenAPIs.EndToken(ctx, made.AppID, access.System) },
			"a new secret": func() error { _, err := w.OpenAPIs.NewSecret(ctx, made.AppID, access.System); return err },
			"disabling": func() error {
				_, err := w.OpenAPIs.Update(ctx, made.AppID, access.OpenAPIPatch{Enabled: p(false), By: access.System})
				return err
			},
		} {
			tok := begin()
			if err := end(); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if w.alive(t, tok) {
				t.Errorf("%s does not end the token", what)
			}
		}
		tok := begin()
		if _, err := w.OpenAPIs.Update(ctx, made.AppID, access.OpenAPIPatch{Account: p("yu"), By: access.System}); err != nil || w.alive(t, tok) {
			t.Errorf("another user does not end the token: %v", err)
		}
		if _, err := w.OpenAPIs.Update(ctx, made.AppID, access.OpenAPIPatch{Account: p("lin"), By: access.System}); err != nil {
			t.Fatal(err)
		}
		tok = begin()
		if err := w.OpenAPIs.Delete(ctx, made.AppID, access.System); err != nil || w.alive(t, tok) {
			t.Errorf("deleting does not end the token: %v", err)
		}
	})
}

// Whoever has the secret of a way in can be its user, so nobody makes or changes one for somebody who holds more.
func TestOpenAPIsGiveNothingAway(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.menu(t, "table", "shop.Product")
		w.role(t, "sales", "shop.Product")
		w.user(t, "boss", admin)
		w.user(t, "seller", withRoles("sales"))
		w.user(t, "clerk")
		clerk := access.Actor{Account: "clerk"}
		for _, as := range []string{"boss", "seller"} {
			_, _, err := w.OpenAPIs.Create(ctx, access.NewOpenAPI{Name: "x", Account: as, By: clerk})
			wants(t, "a way in as "+as, err, fault.Forbidden)
			made, _ := w.openAPI(t, as)
			_, err = w.OpenAPIs.NewSecret(ctx, made.AppID, clerk)
			wants(t, "the secret of "+as, err, fault.Forbidden)
			_, err = w.OpenAPIs.Update(ctx, made.AppID, access.OpenAPIPatch{Minutes: p(1), By: clerk})
			wants(t, "changing that of "+as, err, fault.Forbidden)
			wants(t, "ending the token of "+as, w.OpenAPIs.EndToken(ctx, made.AppID, clerk), fault.Forbidden)
			wants(t, "deleting that of "+as, w.OpenAPIs.Delete(ctx, made.AppID, clerk), fault.Forbidden)
		}
		own, _, err := w.OpenAPIs.Create(ctx, access.NewOpenAPI{Name: "x", Account: "clerk", By: clerk})
		if err != nil {
			t.Fatal(err)
		}
		if own.Minutes != 3600 {
			t.Errorf("a token lives for %d minutes unless said", own.Minutes)
		}
		_, err = w.OpenAPIs.Update(ctx, own.AppID, access.OpenAPIPatch{Account: p("boss"), By: clerk})
		wants(t, "linking it to boss", err, fault.Forbidden)
	})
}

func TestOpenAPIsOfOthers(t *testing.T) {
	eachWorld(t, func(t *testing.T, w *world) {
		if _, err := w.db.SQL.ExecContext(t.Context(), "INSERT INTO e_open_api (id, appid, status) VALUES (1, 'es1', NULL)"); err != nil {
			t.Fatal(err)
		}
		got, err := w.OpenAPIs.ByAppID(t.Context(), "es1")
		if err != nil || got.Name != "es1" || got.Minutes != 3600 || got.Enabled || got.Account != "" {
			t.Errorf("a bare row is %+v, %v", got, err)
		}
		_, err = w.OpenAPIs.Verify(t.Context(), "es1", "")
		wants(t, "no secret", err, fault.Unauthenticated)
		if err := w.OpenAPIs.Delete(t.Context(), "es1", access.System); err != nil {
			t.Error(err)
		}
	})
}
