package web_test

import (
	"testing"

	"eruptcloud/app/web"
)

func TestLimitKey(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1":                "192.0.2.1",
		"2001:db8:1:2:3:4:5:6":     "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::1":     "2001:db8:1:2::/64",
		"2001:db8:1:3::1":          "2001:db8:1:3::/64",
		"fe80::1%eth0":             "fe80::/64",
		"::ffff:192.0.2.1":         "::ffff:192.0.2.1",
		"":                         "",
		"@":                        "@",
		"unix, what else is there": "unix, what else is there",
	} {
		if got := web.LimitKey(address); got != want {
			t.Errorf("LimitKey(%q) = %q, want %q", address, got, want)
		}
	}
}
