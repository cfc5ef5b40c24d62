package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
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
	delegatePrefix = "d2_" // names the form; no session token holds an underscore
	// maxDelegate is what an HTTP header and erupt's columns take without trouble.
	maxDelegate = 255
	// longestNamed is the longest name of a node that its handles spell out; of a longer one they hold a hash.
	longestNamed = 64
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
// It holds letters, digits, - and _ only.
func (d *Delegates) Issue(sessionToken, node string) string {
	plain := make([]byte, 0, 128)
	plain = append(append(append(plain, nodeMark(node)...), 0), sessionToken...)
	// The nonce follows from what is sealed: equal nonces mean equal contents, which is the one case that gives nothing away.
	mac := hmac.New(sha256.New, d.nonce)
	_, _ = mac.Write(plain) // a hash never fails
	nonce := mac.Sum(nil)[:d.seal.NonceSize()]
	return delegatePrefix + base64.RawURLEncoding.EncodeToString(d.seal.Seal(nonce, nonce, plain, nil))
}

// nodeMark stands for a node in its handles: its name, or a hash of one that is too long or holds what separates the parts.
func nodeMark(node string) string {
	if len(node) <= longestNamed && !strings.ContainsAny(node, "\x00"+hashMark) {
		return node
	}
	sum := sha256.Sum256([]byte(strings.ToLower(node)))
	return hashMark + hex.EncodeToString(sum[:16])
}

// hashMark begins what is no name but a hash; names do not.
const hashMark = "\x01"

// Open returns the session token in a handle. fault.Unauthenticated if the handle was not made here, or for another node,
// whose name is compared in lower case. Whether the session still lives is for Sessions to say.
func (d *Delegates) Open(handle, node string) (sessionToken string, err error) {
	wrong := fault.New(fault.Unauthenticated, "this token was not handed to node %s by this server", node)
	mark, token, ok := d.unseal(handle)
	made, asked := strings.ToLower(mark), strings.ToLower(nodeMark(node))
	if !ok || made != asked {
		return "", wrong
	}
	return token, nil
}

// Read returns the session token in a handle, and the name of the node that it was made for; empty if the handle holds a hash in
// its place. fault.Unauthenticated if the handle was not made here.
func (d *Delegates) Read(handle string) (sessionToken, node string, err error) {
	mark, token, ok := d.unseal(handle)
	if !ok {
		return "", "", fault.New(fault.Unauthenticated, "the token does not stand for a session at any node")
	}
	if strings.HasPrefix(mark, hashMark) {
		mark = ""
	}
	return token, mark, nil
}

func (d *Delegates) unseal(handle string) (mark, token string, ok bool) {
	text, ok := strings.CutPrefix(handle, delegatePrefix)
	if !ok || len(handle) > maxDelegate || strings.ContainsAny(text, "\r\n") { // which the decoder would skip
		return "", "", false
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < d.seal.NonceSize() {
		return "", "", false
	}
	n := d.seal.NonceSize()
	plain, err := d.seal.Open(nil, sealed[:n], sealed[n:], nil)
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(plain), "\x00")
}

// IsDelegate reports whether token has the form of a handle, as opposed to a session's own token.
func IsDelegate(token string) bool { return strings.HasPrefix(token, delegatePrefix) }
