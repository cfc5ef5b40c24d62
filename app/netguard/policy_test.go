package netguard_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"eruptcloud/app/netguard"
)

func policy(t *testing.T, o netguard.Options) *netguard.Policy {
	t.Helper()
	p, err := netguard.NewPolicy(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// S58, erupt-wire 10.3.
func TestCheck(t *testing.T) {
	tests := map[string]struct {
		o     netguard.Options
		rules map[string]string // address → rule that refuses it, empty: allowed
	}{
		"as it comes": {netguard.Options{}, map[string]string{
			"10.0.0.5": "", "192.168.1.1": "", "172.16.0.1": "", "8.8.8.8": "", "fc00::1": "", "2001:db8::1": "", "100.64.0.1": "",
			"169.254.169.254": "metadata", "169.254.170.2": "metadata", "100.100.100.200": "metadata", "168.63.129.16": "metadata",
			"fd00:ec2::254": "metadata", "169.254.1.1": "link-local", "fe80::1": "link-local", "fe80::1%eth0": "link-local",
			"127.0.0.1": "loopback", "127.8.8.8": "loopback", "::1": "loopback",
			"0.0.0.0": "unspecified", "0.1.2.3": "unspecified", "::": "unspecified",
			"224.0.0.1": "multicast", "255.255.255.255": "multicast", "ff02::1": "multicast", "ff02::1%eth0": "multicast",
		}},
		"an IPv4 address inside an IPv6 one": {netguard.Options{}, map[string]string{
			"::ffff:169.254.169.254": "metadata", "::ffff:127.0.0.1": "loopback", "::ffff:0.0.0.0": "unspecified", "::ffff:10.0.0.1": "",
			"64:ff9b::a9fe:a9fe": "metadata", "64:ff9b::7f00:1": "loopback", "64:ff9b::808:808": "",
			"2002:a9fe:a9fe::1": "metadata", "2002:7f00:1::": "loopback", "2002:808:808::1": "", "::7f00:1": "loopback", "::a9fe:a9fe": "metadata",
		}},
		"loopback allowed": {netguard.Options{AllowLoopback: true}, map[string]string{
			"127.0.0.1": "", "::1": "", "::ffff:127.0.0.1": "", "169.254.169.254": "metadata", "0.0.0.0": "unspecified", "::": "unspecified",
		}},
		"prefixes and keywords": {netguard.Options{Deny: []string{"10.1.0.0/16", " 192.0.2.7 ", "2001:db8::/32", "Private", "multicast"}}, map[string]string{
			"10.1.2.3": "10.1.0.0/16", "::ffff:10.1.2.3": "10.1.0.0/16", "192.0.2.7": "192.0.2.7/32", "192.0.2.8": "",
			"2001:db8::9": "2001:db8::/32", "10.2.0.1": "private", "fd12::1": "private", "8.8.8.8": "", "169.254.1.1": "link-local",
		}},
		"exceptions": {netguard.Options{Deny: []string{"10.0.0.0/8"}, Allow: []string{"fe80::/10", "10.0.5.0/24", "0.0.0.0/0"}}, map[string]string{
			"fe80::1%eth0": "", "10.0.5.9": "", "10.0.6.9": "", "169.254.1.1": "", "0.0.0.0": "unspecified", "224.0.0.1": "multicast", "ff02::1": "multicast",
		}},
		"mapped prefix": {netguard.Options{Deny: []string{"::ffff:10.1.0.0/112"}}, map[string]string{"10.1.2.3": "10.1.0.0/16", "10.2.2.3": ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := policy(t, tt.o)
			for text, want := range tt.rules {
				err := p.Check(netip.MustParseAddr(text))
				var denied *netguard.DeniedError
				got := ""
				if errors.As(err, &denied) {
					got = denied.Rule
					if !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), got) {
						t.Errorf("Check(%s) says %q, want the address and the rule in it", text, err)
					}
				}
				if got != want {
					t.Errorf("Check(%s) refuses by %q, want %q", text, got, want)
				}
			}
		})
	}
}

func TestNewPolicyRefusesNonsense(t *testing.T) {
	for _, o := range []netguard.Options{{Deny: []string{"10.0.0.0/33"}}, {Deny: []string{"intranet"}}, {Allow: []string{""}}} {
		if _, err := netguard.NewPolicy(o); err == nil {
			t.Errorf("NewPolicy(%+v) succeeded", o)
		}
	}
}

func TestControlRefusesWhatItCannotRead(t *testing.T) {
	p := policy(t, netguard.Options{})
	for _, address := range []string{"", "example.com:80", "10.0.0.1", "/run/redis.sock"} {
		if p.Control("tcp", address, nil) == nil {
			t.Errorf("Control(%q) = nil, want a refusal", address)
		}
	}
	if err := p.Control("tcp", "10.0.0.1:80", nil); err != nil {
		t.Errorf("Control = %v, want nil", err)
	}
}

// The check sees what a name resolved to, so nothing is sent to a name that points inside.
func TestDialChecksResolvedAddress(t *testing.T) {
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	strict, open := policy(t, netguard.Options{}), policy(t, netguard.Options{AllowLoopback: true})
	for _, host := range []string{"localhost", "127.0.0.1", "::1", "::ffff:127.0.0.1"} {
		conn, err := strict.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		var denied *netguard.DeniedError
		if !errors.As(err, &denied) || denied.Rule != "loopback" || conn != nil {
			t.Errorf("dial %s = %v, %v, want a refusal by the rule loopback", host, conn, err)
		}
	}
	if asked {
		t.Error("a refused dial reached the server")
	}
	for _, host := range []string{"localhost", "127.0.0.1"} { // localhost has both families, the server only IPv4
		conn, err := open.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err != nil {
			t.Errorf("dial %s with loopback allowed: %v", host, err)
			continue
		}
		_ = conn.Close()
	}
}
