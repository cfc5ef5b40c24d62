package proxy

import "strings"

// maxRouteKey bounds a full erupt name in bytes: a node name, a dot, and a class name with its packages.
const maxRouteKey = 320

// maxErupt bounds a simple erupt name.
const maxErupt = 255

// SplitRouteKey splits a full erupt name at the last dot whose left side is a known node, and returns that node and the
// last segment of the rest, because nodes know simple names: "order-service.xyz.erupt.sample.model.Customer" is Customer
// of order-service. ok is false for a name without a dot, without a known node, or that ends in a dot (A16).
func SplitRouteKey(key string, known func(node string) bool) (node, erupt string, ok bool) {
	last := strings.LastIndexByte(key, '.')
	if last < 1 || last == len(key)-1 {
		return "", "", false
	}
	for i := last; i > 0; i = strings.LastIndexByte(key[:i], '.') {
		if known(key[:i]) {
			return key[:i], key[last+1:], true
		}
	}
	return "", "", false
}

// isDotted reports whether a name is meant for a node.
func isDotted(name string) bool { return strings.IndexByte(name, '.') >= 0 }

// leftOf returns what stands before the last dot: the node as far as the sender is concerned.
func leftOf(key string) string {
	if i := strings.LastIndexByte(key, '.'); i > 0 {
		return key[:i]
	}
	return key
}

// checkKey refuses full names that no node could have given: too long, or with characters that are not printable ASCII.
func checkKey(key string) error {
	if len(key) > maxRouteKey {
		return Fail(Invalid, "the name '%s…' is longer than %d characters", strings.ToValidUTF8(key[:40], ""), maxRouteKey)
	}
	for i := range len(key) {
		if c := key[i]; c < ' ' || c > '~' || c == '/' || c == '\\' {
			return Fail(Invalid, "the name %q contains a character that names cannot have", key)
		}
	}
	return nil
}

// checkErupt refuses simple names that are no class name; they become a path segment and a header.
func checkErupt(name string) error {
	if name == "" || len(name) > maxErupt {
		return Fail(Invalid, "the name of an erupt must have 1 to %d characters", maxErupt)
	}
	for i := range len(name) {
		if !isNameByte(name[i]) {
			return Fail(Invalid, "the name %q contains a character that names cannot have", name)
		}
	}
	return nil
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '$'
}
