package proxy

import (
	"strings"
	"testing"
)

func knows(names ...string) func(string) bool {
	return func(n string) bool {
		for _, k := range names {
			if k == n {
				return true
			}
		}
		return false
	}
}

func TestSplitRouteKey(t *testing.T) { // A16
	known := knows("order-service", "shop", "shop.eu", "v1.2")
	tests := map[string]struct {
		key, node, erupt string
		ok               bool
	}{
		"simple name":                     {"order-service.Customer", "order-service", "Customer", true},
		"class name with packages":        {"order-service.xyz.erupt.sample.model.Customer", "order-service", "Customer", true},
		"last dot with a known left side": {"shop.eu.Customer", "shop.eu", "Customer", true},
		"node name with a dot":            {"v1.2.Job", "v1.2", "Job", true},
		"packages that look like a node":  {"shop.eu.model.Job", "shop.eu", "Job", true},
		"no dot":                          {"Customer", "", "", false},
		"node in another case":            {"SHOP.Customer", "", "", false},
		"unknown node":                    {"ghost.Customer", "", "", false},
		"unknown node with packages":      {"ghost.xyz.Customer", "", "", false},
		"known word in the middle":        {"ghost.shop.Customer", "", "", false},
		"ends in a dot":                   {"shop.", "", "", false},
		"begins with a dot":               {".Customer", "", "", false},
		"empty":                           {"", "", "", false},
		"only dots":                       {"...", "", "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			node, erupt, ok := SplitRouteKey(tt.key, known)
			if node != tt.node || erupt != tt.erupt || ok != tt.ok {
				t.Errorf("SplitRouteKey(%q) = %q, %q, %v, want %q, %q, %v", tt.key, node, erupt, ok, tt.node, tt.erupt, tt.ok)
			}
		})
	}
}

func TestSplitRouteKeyAllocatesNothing(t *testing.T) {
	known := knows("order-service")
	if n := testing.AllocsPerRun(100, func() { SplitRouteKey("order-service.xyz.erupt.sample.model.Customer", known) }); n != 0 {
		t.Errorf("SplitRouteKey allocates %v times, want 0", n)
	}
}

// BenchmarkSplitRouteKey guards every proxied request: budget 100 ns, no allocation.
func BenchmarkSplitRouteKey(b *testing.B) {
	known := func(node string) bool { return node == "order-service" }
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := SplitRouteKey("order-service.xyz.erupt.sample.model.Customer", known); !ok {
			b.Fatal("not split")
		}
	}
}

func FuzzSplitRouteKey(f *testing.F) {
	for _, s := range []string{"shop.Customer", "shop.a.b.C", "shop.eu.X", ".", "shop.", "x", "ghost.shop.X", "shop..X"} {
		f.Add(s)
	}
	known := knows("shop", "shop.eu", ".")
	f.Fuzz(func(t *testing.T, key string) {
		node, erupt, ok := SplitRouteKey(key, known)
		if !ok {
			if node != "" || erupt != "" {
				t.Errorf("SplitRouteKey(%q) = %q, %q without ok", key, node, erupt)
			}
			return
		}
		switch {
		case !known(node):
			t.Errorf("%q: node %q is not known", key, node)
		case strings.Contains(erupt, ".") || erupt == "":
			t.Errorf("%q: erupt %q is no simple name", key, erupt)
		case !strings.HasPrefix(key, node+".") || !strings.HasSuffix(key, "."+erupt):
			t.Errorf("%q: %q and %q are not its ends", key, node, erupt)
		}
		for i := len(node) + 1; i < len(key); i++ {
			if key[i] == '.' && known(key[:i]) {
				t.Errorf("%q: %q is known and longer than %q", key, key[:i], node)
			}
		}
	})
}
