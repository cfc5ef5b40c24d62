package access

import "crypto/rand"

const (
	alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	// legible leaves out what people mix up when they copy a password from a terminal.
	legible = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789"
)

// randomText returns n characters of alphabet, each equally likely.
func randomText(alphabet string, n int) string {
	limit := 256 - 256%len(alphabet) // bytes above would favour the first characters
	out := make([]byte, 0, n)
	for buf := make([]byte, 2*n); len(out) < n; {
		_, _ = rand.Read(buf) // never fails: it ends the program instead
		for _, b := range buf {
			if int(b) < limit && len(out) < n {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out)
}

// tokenLength is that of erupt 2.3; older ones use 16.
const tokenLength = 22

func newToken() string { return randomText(alphanumerics, tokenLength) }

// tokenLike reports whether s can be a session token at all: ours, erupt's, or one of its open API ("ER" and 24 characters).
// Anything else is refused without asking the store.
func tokenLike(s string) bool {
	if len(s) < 16 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
