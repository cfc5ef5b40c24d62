package probe_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"eruptcloud/app/probe"
)

func TestCanonicalLocation(t *testing.T) {
	same := []string{
		"http://10.0.3.17:8081/shop", "http://10.0.3.17:8081", "https://node.example.com", "http://[::1]:8081", "http://a_b.svc:1/x/y",
		"http://[fe80::1%25eth0]", "http://h/%E5%BA%97", "http://xn--fiqs8s:8080", "http://8450c14378de:8090", "http://h//x", "http://h/~u",
	}
	for _, l := range same {
		if got, err := probe.CanonicalLocation(l); err != nil || got != l {
			t.Errorf("CanonicalLocation(%q) = %q, %v, want it unchanged", l, got, err)
		}
	}
	changed := map[string]string{
		"HTTP://Node.Example.COM:80/":    "http://node.example.com",
		"https://h:443/x/":               "https://h/x",
		"https://h:80":                   "https://h:80",
		"http://h:08081//":               "http://h:8081",
		"http://h:/":                     "http://h",
		" http://h ":                     "http://h",
		"http://[0:0:0:0:0:0:0:1]:8081":  "http://[::1]:8081",
		"http://[::FFFF:10.0.0.5]:8081/": "http://10.0.0.5:8081",
		"http://[FE80::1%25eth0]:80/":    "http://[fe80::1%25eth0]",
		"http://h/店":                     "http://h/%E5%BA%97",
		"http://h/%41":                   "http://h/A",
		"http://h." + "/":                "http://h.",
		"http://" + strings.Repeat("a", 60) + "/" + strings.Repeat("b", 187): "http://" + strings.Repeat("a", 60) + "/" + strings.Repeat("b", 187),
	}
	for raw, want := range changed {
		if got, err := probe.CanonicalLocation(raw); err != nil || got != want {
			t.Errorf("CanonicalLocation(%q) = %q, %v, want %q", raw, got, err, want)
		}
	}
	refused := []string{
		"", "h", "h:8080", "//h", "/x", "http://", "http:///x", "http://:8080", "ftp://h", "file:///etc/passwd", "javascript:alert(1)", "http:h",
		"http://u@h", "http://u:p@h", "http://@h", "http://h?x", "http://h/?", "http://h#f", "http://h/#", "http://h/../x", "http://h/..", "http://h/./x", "http://h/a/.",
		"http://h/%2e%2e/x", "http://h/%2E", "http://h/a%2fb", "http://h/a%2Fb", "http://h/a%5cb", `http://h\@e`, `http://h/a\b`, "http://h/a;b", "http://h/a%3bb",
		"http://h/a b", "http://h/a%00b", "http://h/a%0d%0ab", "http://h/\x7f", "http://h/%3f", "http://h/%23", "http://h/%zz", "http://h/%ff",
		"http://h:0", "http://h:65536", "http://h:-1", "http://h:x", "http://h:8080:1", "http://h%00", "http://h%2f",
		"http://127.1", "http://2130706433", "http://0x7f000001", "http://0177.0.0.1", "http://1.2.3.4.5", "http://256.1.1.1", "http://0x7f.1",
		"http://[::1", "http://[h]", "http://[10.0.0.1]x", "http://[::ffff:10.0.0.1%25eth0]", "http://[fe80::1%25]", "http://[fe80::1%25a/b]", "http://[fe80::1%25a%20b]",
		"http://..", "http://.", "http://a..b", "http://-%", "http://店.com", "http://a,b", "http://a|b", "http://a'b", "http://" + strings.Repeat("a", 64),
		"http://" + strings.Repeat("a.", 140), "http://h/" + strings.Repeat("b", 247), "http://h/" + strings.Repeat("店", 30),
	}
	for _, raw := range refused {
		if got, err := probe.CanonicalLocation(raw); err == nil {
			t.Errorf("CanonicalLocation(%q) = %q, want an error", raw, got)
		} else if len(err.Error()) > 120 {
			t.Errorf("CanonicalLocation(%q) says too much: %v", raw, err)
		}
	}
}

// FuzzCanonicalLocation: what comes out is one spelling of a plain address, whatever goes in.
func FuzzCanonicalLocation(f *testing.F) {
	for _, seed := range []string{
		"http://10.0.3.17:8081/shop/", "HTTPS://H:443", "http://[fe80::1%25eth0]:80/x", "http://[::ffff:1.2.3.4]", "http://h/%E5%BA%97", "http://h/%2e%2e",
		"http://h/a%2Fb", "http://u:p@h?x#y", "http://127.1", "http://h:0080//", "http://h/..;/x", "http://h%25/", "http://[::%25a]", " http://h\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := probe.CanonicalLocation(raw)
		if err != nil {
			return
		}
		again, err := probe.CanonicalLocation(got)
		if err != nil || again != got {
			t.Fatalf("CanonicalLocation(%q) = %q, again %q, %v", raw, got, again, err)
		}
		u, err := url.Parse(got)
		if err != nil {
			t.Fatalf("%q cannot be parsed: %v", got, err)
		}
		if u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || len(got) > 255 || strings.HasSuffix(got, "/") ||
			strings.Contains(u.Path, "/../") || strings.HasSuffix(u.Path, "/..") || strings.ContainsAny(got, " \\;?#\r\n") {
			t.Errorf("CanonicalLocation(%q) = %q", raw, got)
		}
		if _, err := http.NewRequest(http.MethodGet, got+"/node-health", nil); err != nil {
			t.Errorf("%q is no base of a request: %v", got, err)
		}
	})
}
