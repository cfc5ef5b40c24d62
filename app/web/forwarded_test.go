package web

import (
	"net/netip"
	"strings"
	"testing"
)

func hopSeeds(f *testing.F) {
	for _, seed := range []string{
		"10.0.0.1", "10.0.0.1:80", "[::1]:80", "::1", "[::1]", "::ffff:10.0.0.1", "fe80::1%eth0", "[fe80::1%eth0]:1", " 1.2.3.4 ", "", "unknown", "_hidden",
		"1.2.3.4,10.0.0.9", "1.2.3.4,,10.0.0.9", "evil, 10.0.0.9", "1.2.3", "01.02.03.04", "[[::1]]", "]1.2.3.4[", "1.2.3.4:x:y", "::ffff:192.0.2.1, 10.0.0.2", "10.0.0.1\n10.0.0.2",
	} {
		f.Add(seed)
	}
}

func FuzzParseHop(f *testing.F) {
	hopSeeds(f)
	f.Fuzz(func(t *testing.T, s string) {
		a, ok := parseHop(s)
		if !ok {
			return
		}
		if !a.IsValid() || a.Zone() != "" || a.Is4In6() {
			t.Fatalf("%q is read as %s, want a plain address: limits and the operation log compare it as text", s, a)
		}
		if again, ok := parseHop(a.String()); !ok || again != a {
			t.Fatalf("%q is read as %s, and that as %s", s, a, again)
		}
	})
}

// FuzzForwardedFor: what clients write in front of the address that our proxy adds never counts.
func FuzzForwardedFor(f *testing.F) {
	hopSeeds(f)
	const peer, client = "10.0.0.1", "203.0.113.7"
	s := &Shell{o: Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	f.Fuzz(func(t *testing.T, sent string) {
		got := s.forwardedFor(peer, []string{sent})
		a, err := netip.ParseAddr(got)
		if err != nil || a.String() != got {
			t.Fatalf("%q gives the client %q, want an address in its usual form", sent, got)
		}
		if got != peer && !s.trusted(a) && !strings.ContainsAny(sent, "0123456789:") {
			t.Fatalf("%q gives the client %q, which is not in it", sent, got)
		}
		for _, lines := range [][]string{{sent + "," + client}, {sent, client}, {sent, client + ", 10.0.0.2"}, {sent, client, "10.0.0.3"}} {
			if got := s.forwardedFor(peer, lines); got != client {
				t.Fatalf("%q gives the client %q, want %s, which our proxy saw", lines, got, client)
			}
		}
	})
}
