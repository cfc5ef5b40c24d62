package access_test

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/access"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
)

func TestCaptcha(t *testing.T) { // erupt-wire 3.4, 10.8
	eachVault(t, func(t *testing.T, v access.Vault, later func(time.Duration)) {
		w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Vault = v })
		ctx := t.Context()
		for height, want := range map[int]int{38: 38, 0: 10, -5: 10, 1 << 40: 100, 50: 50} {
			picture, err := w.Captcha.Picture(ctx, "1784538918118", height)
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := png.Decode(bytes.NewReader(picture))
			if err != nil || decoded.Bounds().Dx() != 150 || decoded.Bounds().Dy() != want {
				t.Errorf("height %d gave a picture of %v, %v; want 150 by %d", height, decoded.Bounds(), err, want)
			}
		}
		text := access.ReadCaptcha(ctx, w.Captcha, "1784538918118")
		if len(text) != 4 || strings.Trim(text, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789") != "" {
			t.Fatalf("the picture shows %q", text)
		}
		checks := func(mark, code string, want bool) {
			t.Helper()
			if ok, err := w.Captcha.Verify(ctx, mark, code); err != nil || ok != want {
				t.Errorf("%q for %q: %v, %v; want %v", code, mark, ok, err, want)
			}
		}
		checks("1784538918118", strings.ToLower(text), true)
		checks("1784538918118", text, false) // compared once
		draw := func() string {
			if _, err := w.Captcha.Picture(ctx, "5", 38); err != nil {
				t.Fatal(err)
			}
			return access.ReadCaptcha(ctx, w.Captcha, "5")
		}
		text = draw()
		checks("5", "", false)
		checks("5", text, false) // and a wrong try is a comparison
		text = draw()
		checks("05", text, false)
		later(time.Minute + time.Second)
		checks("5", text, false)
		for _, mark := range []string{"", "x", "-1", "1 2", "../../5", "5*", strings.Repeat("1", 21), "１２", "5\n"} {
			_, err := w.Captcha.Picture(ctx, mark, 38)
			wants(t, "a picture for "+mark, err, fault.Invalid)
			checks(mark, "ABCD", false)
		}
	})
}

func TestLoginAsksForACaptchaAfterFailures(t *testing.T) { // erupt-wire 3.4, in the order of 2.3
	eachStore(t, func(t *testing.T, store access.SessionStore, later func(time.Duration)) {
		w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.Store, o.CaptchaAfter = store, 2 })
		w.user(t, "lin")
		ctx := t.Context()
		try := func(account, password string, code ...string) error {
			a := access.Attempt{Account: account, Password: password, Address: "10.0.0.9"}
			if len(code) == 2 {
				a.Mark, a.Code = code[0], code[1]
			}
			_, err := w.Login.Attempt(ctx, a)
			return err
		}
		draw := func() []string {
			mark := w.Captcha.NewMark()
			if _, err := w.Captcha.Picture(ctx, mark, 38); err != nil {
				t.Fatal(err)
			}
			return []string{mark, access.ReadCaptcha(ctx, w.Captcha, mark)}
		}
		says := func(what string, err error, asks, code bool) {
			t.Helper()
			wants(t, what, err, fault.Unauthenticated)
			if access.CodeWanted(err) != asks || access.IsWrongCode(err) != code {
				t.Errorf("%s: %v; asks for a captcha %v, refuses one %v; want %v and %v", what, err, access.CodeWanted(err), access.IsWrongCode(err), asks, code)
			}
		}
		for _, account := range []string{"lin", "nobody"} { // the same for an account that does not exist (10.8)
			says(account+": the first wrong password", try(account, "wrong horse"), false, false)
			says(account+": the second", try(account, "wrong horse"), true, false)
			says(account+": without a captcha", try(account, goodPassword), true, true)
			says(account+": with a wrong one", try(account, goodPassword, draw()[0], "zzzz"), true, true)
			says(account+": a right captcha, a wrong password", try(account, "wrong horse", draw()...), true, false)
		}
		used := draw()
		if err := try("lin", goodPassword, used...); err != nil {
			t.Errorf("a right captcha and the right password: %v", err)
		}
		says("after a success the count begins anew", try("lin", "wrong horse"), false, false)
		says("the second", try("lin", "wrong horse"), true, false)
		says("a captcha that was used", try("lin", goodPassword, used...), true, true)
		for range 7 {
			_ = try("lin", goodPassword)
		}
		wants(t, "after ten failures, those of the captcha among them", try("lin", goodPassword, draw()...), fault.TooMany)
		later(10*time.Minute + time.Second)
		if err := try("lin", goodPassword); err != nil {
			t.Errorf("after the lock: %v", err)
		}
	})
}

func TestCaptchaAlwaysAndNever(t *testing.T) {
	w := newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.CaptchaAfter = 0 })
	w.user(t, "lin")
	_, err := w.attempt(t.Context(), "lin", goodPassword)
	if !access.IsWrongCode(err) {
		t.Errorf("with captchas always on, the first login got %v", err)
	}
	w = newWorld(t, testbed.SQLite(t), func(o *access.Options) { o.CaptchaAfter, o.Lock.On = -1, false })
	w.user(t, "lin")
	for range 20 {
		if _, err := w.attempt(t.Context(), "lin", "wrong horse"); access.CodeWanted(err) {
			t.Fatal("with captchas off, one is asked for")
		}
	}
}
