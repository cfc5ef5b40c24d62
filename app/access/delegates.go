package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"eruptcloud/app/fault"
)

// Delegates makes handles that stand for a session at one node. A node gets one instead of the session's token, so that it
// can ask about the user but act as him neither here nor at another node (erupt-wire 10.2).
type Delegates struct {
	seal  cipher.AEAD
	nonce []byte // key of the nonces
}

const (
	delegatePrefix = "d1_" // names the form; no session token holds an underscore
	// maxDelegate is what an HTTP header and erupt's columns take without trouble.
	maxDelegate = 255
)

func newDelegates(key []byte) *Delegates {
	block, err := aes.NewCipher(derive(key, "delegated token", 32))
	if err != nil {
		panic("access: " + err.Error()) // only for keys of another length
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		panic("access: " + err.Error()) // only for other block sizes
	}
	return &Delegates{seal: seal, nonce: derive(key, "delegated token nonce", 32)}
}

// Issue returns the handle of a session for a node: the same each time, so that nodes may cache what they learn by it.
// It holds letters, digits, - and _ only. Case does not count in node.
func (d *Delegates) Issue(sessionToken, node string) string {
	node = strings.ToLower(node)
	// The nonce follows from what is sealed: equal nonces mean equal contents, which is the one case that gives nothing away.
	mac := hmac.New(sha256.New, d.nonce)
	_, _ = mac.Write([]byte(node + "\x00" + sessionToken)) // a hash never fails
	nonce := mac.Sum(nil)[:d.seal.NonceSize()]
	sealed := d.seal.Seal(nonce, nonce, []byte(sessionToken), []byte(node))
	return delegatePrefix + base64.RawURLEncoding.EncodeToString(sealed)
}

// Open returns the session token in a handle. fault.Unauthenticated if the handle was not made here, or for another node.
// Whether the session still lives is for Sessions to say.
func (d *Delegates) Open(handle, node string) (sessionToken string, err error) {
	wrong := fault.New(fault.Unauthenticated, "this token was not handed to node %s by this server", node)
	text, ok := strings.CutPrefix(handle, delegatePrefix)
	if !ok || len(handle) > maxDelegate || strings.ContainsAny(text, "\r\n") { // which the decoder would skip
		return "", wrong
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < d.seal.NonceSize() {
		return "", wrong
	}
	n := d.seal.NonceSize()
	plain, err := d.seal.Open(nil, sealed[:n], sealed[n:], []byte(strings.ToLower(node)))
	if err != nil {
		return "", wrong
	}
	return string(plain), nil
}

// IsDelegate reports whether token has the form of a handle, as opposed to a session's own token.
func IsDelegate(token string) bool { return strings.HasPrefix(token, delegatePrefix) }
