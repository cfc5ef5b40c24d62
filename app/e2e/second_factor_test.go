package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/pquerna/otp/totp"
	"github.com/redis/go-redis/v9"
)

// captcha reads what the picture of the page shows, where the server keeps it.
func captcha(t *testing.T, client *redis.Client) string {
	t.Helper()
	keys, err := client.Keys(context.Background(), "erupt-auth:verify-code:*").Result()
	if err != nil || len(keys) == 0 {
		t.Fatalf("no captcha is kept: %v, %v", keys, err)
	}
	newest, life := "", time.Duration(0)
	for _, k := range keys {
		if left := client.PTTL(context.Background(), k).Val(); left > life {
			newest, life = k, left
		}
	}
	return client.Get(context.Background(), newest).Val()
}

// Erupt-wire 3.4 in the console, on MariaDB and Redis: a captcha after two failures, also typed without a mouse and with another
// picture, then the second factor from its binding to its removal by somebody else.
func TestCaptchaAndSecondFactor(t *testing.T) {
	p := startProductionAt(t, nil, nil, []string{"127.0.0.1:0", "127.0.0.1:0"})
	s := p.one
	s.must("POST", "/api/v1/users", map[string]any{"account": "lin", "name": "Lin", "password": staffPassword, "enabled": true}, 201, nil)
	b := browse(t, s)
	b.expect("status of 401")
	b.expect("status of 422")
	b.open("/console/login")
	const form = "[data-testid=login-form]"
	submit := func() { b.turns(func() { b.click(form + " .btn.primary") }) }
	for range 2 {
		b.fill("#account", "lin")
		b.fill("#password", "not-the-password")
		submit()
	}
	b.shows("[data-testid=captcha] img")
	b.until("the picture loaded", `(i => i.complete && i.naturalWidth === 150)(document.querySelector("[data-testid=captcha] img"))`)
	b.fill("#password", staffPassword)
	b.fill("#captcha", "zzzz")
	submit()
	b.shows("#captcha-error")
	b.fill("#password", staffPassword)
	before := b.eval(`document.querySelector("[name=mark]").value`)
	b.click("[data-testid=another-picture]")
	b.until("another picture", `document.querySelector("[name=mark]").value !== "`+before+`" && (i => i.complete && i.naturalWidth === 150)(document.querySelector("[data-testid=captcha] img"))`)
	if got := b.eval(`document.querySelector("#password").value`); got != staffPassword {
		t.Errorf("another picture took the password away: %q", got)
	}
	b.fill("#captcha", strings.ToLower(captcha(t, p.client)))
	b.turns(func() { b.do("Enter", chromedp.KeyEvent("\r")) }) // signs in, and asks for no other picture
	b.at("/console/me/password")                               // somebody else made the password
	b.fill("#f-old", staffPassword)
	b.fill("#f-new", "lins-own-horse-1")
	b.fill("#f-again", "lins-own-horse-1")
	b.turns(func() { b.click("[data-testid=first-password] .btn.primary") })

	b.open("/console/me")
	b.click("[data-testid=mfa-open]")
	b.at("/console/me/mfa")
	b.turns(func() { b.click("[data-testid=mfa-begin] button") })
	b.shows("[data-testid=qr] path")
	secret := strings.ReplaceAll(b.text("[data-testid=mfa-secret]"), " ", "")
	code := func(steps int) string {
		c, err := totp.GenerateCode(secret, time.Now().Add(time.Duration(steps)*30*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	b.fill("#f-code", "000000")
	b.turns(func() { b.click("[data-testid=mfa-confirm] .btn.primary") })
	b.shows("#e-code")
	if again := strings.ReplaceAll(b.text("[data-testid=mfa-secret]"), " ", ""); again != secret {
		t.Error("a wrong code changed the secret, which is in the authenticator already")
	}
	b.fill("#f-code", code(0))
	b.turns(func() { b.click("[data-testid=mfa-confirm] .btn.primary") })
	b.shows("[data-testid=recovery-codes] li")
	recovery := b.text("[data-testid=recovery-codes] li")
	b.open("/console/me/mfa")
	if strings.Contains(b.sight(), recovery) {
		t.Error("the recovery codes are shown a second time")
	}
	b.fits("/console/me/mfa")

	two := browse(t, p.two) // the ticket of one replica counts on the other
	two.expect("status of 401")
	two.open("/console/login?next=/console/me")
	two.signIn("lin", "lins-own-horse-1")
	two.shows("[data-testid=login-code-form]")
	two.fill("#code", "000000")
	two.turns(func() { two.click("[data-testid=login-code-form] .btn.primary") })
	two.shows("#code-error")
	two.fits("the second step")
	two.fill("#code", code(1))
	two.turns(func() { two.click("[data-testid=login-code-form] .btn.primary") })
	two.at("/console/me")

	three := browse(t, s)
	three.open("/console/login")
	three.signIn("lin", "lins-own-horse-1")
	three.shows("[data-testid=login-code-form]")
	three.fill("#code", recovery)
	three.turns(func() { three.click("[data-testid=login-code-form] .btn.primary") })
	three.shows("[data-testid=logout]")

	root := browse(t, s)
	root.login("erupt", adminPassword)
	root.open("/console/users/lin")
	root.click("details:has([data-testid=mfa-reset]) summary")
	root.turns(func() { root.click("[data-testid=mfa-reset]") })
	if got := root.eval(`String(!!document.querySelector("[data-testid=mfa-reset]"))`); got != "false" {
		t.Error("after the removal the page still offers it")
	}
	four := browse(t, s)
	four.login("lin", "lins-own-horse-1")
	eventually(t, patience, func() bool {
		root.open("/console/audit")
		return strings.Contains(root.sight(), "Remove somebody's second factor")
	}, func() string { return "the trail has no line of the removal:\n" + root.sight() })
	for _, kind := range []string{"mfa-enroll", "mfa-ticket"} {
		if left, _ := p.client.Keys(context.Background(), "erupt-auth:"+kind+":*").Result(); len(left) != 0 {
			t.Errorf("left in Redis: %v", left)
		}
	}
}
