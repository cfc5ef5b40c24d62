package access_test

import (
	"regexp"
	"strings"
	"testing"

	"eruptcloud/app/access"
	"eruptcloud/app/database"
	"eruptcloud/app/fault"
)

func delegates(key string) *access.Delegates {
	return access.New(access.Options{DB: &database.DB{}, Key: []byte(key), Cost: cheap}).Delegates
}

func TestDelegates(t *testing.T) {
	d := delegates("0123456789abcdef0123456789abcdef")
	session := strings.Repeat("a", 22)
	handle := d.Issue(session, "order-service")
	if !regexp.MustCompile(`^d2_[A-Za-z0-9_-]+$`).MatchString(handle) || len(handle) > 255 || !access.IsDelegate(handle) || access.IsDelegate(session) {
		t.Errorf("handle %q: want header-safe characters, at most 255", handle)
	}
	if strings.Contains(handle, session) {
		t.Error("the handle shows the session token")
	}
	if again := d.Issue(session, "order-service"); again != handle {
		t.Error("two handles of one session and node differ, so a node cannot cache by them")
	}
	if longest := d.Issue(strings.Repeat("b", 64), strings.Repeat("n", 255)); len(longest) > 255 {
		t.Errorf("the longest handle has %d characters", len(longest))
	}
	if got, err := d.Open(handle, "Order-Service"); err != nil || got != session {
		t.Errorf("Open = %q, %v; want the session token", got, err)
	}
	if got, err := delegates("0123456789abcdef0123456789abcdef").Open(handle, "order-service"); err != nil || got != session {
		t.Errorf("Open on another replica = %q, %v; want the session token", got, err)
	}
	if got, node, err := d.Read(handle); err != nil || got != session || node != "order-service" {
		t.Errorf("Read = %q, %q, %v; want the session token and the node", got, node, err)
	}
	long := strings.Repeat("n", 255)
	if got, node, err := d.Read(d.Issue(session, long)); err != nil || got != session || node != "" {
		t.Errorf("Read of a handle for a long name = %q, %q, %v", got, node, err)
	}
	if got, err := d.Open(d.Issue(session, long), strings.ToUpper(long)); err != nil || got != session {
		t.Errorf("Open of a handle for a long name = %q, %v", got, err)
	}
	flipped := []byte(handle)
	flipped[len(flipped)-2] ^= 1
	for name, c := range map[string]struct{ handle, node string }{
		"another node":              {handle, "warehouse"},
		"no node":                   {handle, ""},
		"the session's own token":   {session, "order-service"},
		"nothing":                   {"", "order-service"},
		"only the prefix":           {"d2_", "order-service"},
		"changed":                   {string(flipped), "order-service"},
		"cut":                       {handle[:len(handle)-4], "order-service"},
		"with a newline":            {handle + "\n", "order-service"},
		"padded":                    {handle + "=", "order-service"},
		"much too long":             {handle + strings.Repeat("A", 1<<20), "order-service"},
		"of a server of other keys": {delegates("another key another key another ").Issue(session, "order-service"), "order-service"},
	} {
		if _, node, err := d.Read(c.handle); err == nil && node == c.node {
			t.Errorf("%s was read as made for %q", name, node)
		}
		got, err := d.Open(c.handle, c.node)
		wants(t, name, err, fault.Unauthenticated)
		if got != "" {
			t.Errorf("%s opened as %q", name, got)
		}
	}
}

func TestDelegatesWithoutAKeyEndWithTheProcess(t *testing.T) {
	handle := delegates("").Issue("token", "n")
	_, err := delegates("").Open(handle, "n")
	wants(t, "a handle of a process before", err, fault.Unauthenticated)
}

func FuzzDelegatesOpen(f *testing.F) {
	d := delegates("0123456789abcdef0123456789abcdef")
	real := d.Issue("session", "node")
	for _, s := range []string{real, real + "A", real[:20], "d2_", "d2_====", "", "d1_" + real[3:]} {
		f.Add(s, "node")
	}
	f.Fuzz(func(t *testing.T, handle, node string) {
		got, err := d.Open(handle, node)
		if err == nil && (handle != real || got != "session" || !strings.EqualFold(node, "node")) {
			t.Errorf("Open(%q, %q) = %q", handle, node, got)
		}
		if read, _, again := d.Read(handle); again == nil && (handle != real || read != "session") {
			t.Errorf("Read(%q) = %q", handle, read)
		}
		if err != nil && !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("Open(%q, %q): %v", handle, node, err)
		}
		if back, err := d.Open(d.Issue(handle, node), node); err != nil || back != handle {
			if len(handle) < 100 {
				t.Errorf("Issue and Open of %q at %q = %q, %v", handle, node, back, err)
			}
		}
	})
}

// BenchmarkIssue guards every proxied request: budget 3 µs.
func BenchmarkIssue(b *testing.B) {
	d := delegates("0123456789abcdef0123456789abcdef")
	session := strings.Repeat("a", 22)
	for b.Loop() {
		d.Issue(session, "order-service")
	}
}
