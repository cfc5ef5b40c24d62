package fleet

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Sealer keeps access tokens out of dumps of the database.
type Sealer interface {
	// Seal returns what to store.
	Seal(plain string) (string, error)
	// Open returns what was sealed; what was never sealed is returned as it is.
	Open(sealed string) (string, error)
}

// sealed marks what NewSealer's Sealer made.
const sealed = "s1:"

type aesSealer struct{ gcm cipher.AEAD }

// NewSealer returns a Sealer that uses AES-256-GCM under a key derived from key, which has at least 32 bytes.
func NewSealer(key []byte) (Sealer, error) {
	if len(key) < 32 {
		return nil, fmt.Errorf("the token key has %d bytes, it needs 32", len(key))
	}
	derived, err := hkdf.Key(sha256.New, key, nil, "eruptcloud access token", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return aesSealer{gcm}, nil
}

// Seal implements Sealer.
func (s aesSealer) Seal(plain string) (string, error) {
	nonce := make([]byte, s.gcm.NonceSize(), s.gcm.NonceSize()+len(plain)+s.gcm.Overhead())
	_, _ = rand.Read(nonce) // never fails
	return sealed + base64.RawURLEncoding.EncodeToString(s.gcm.Seal(nonce, nonce, []byte(plain), []byte(sealed))), nil
}

// Open implements Sealer.
func (s aesSealer) Open(text string) (string, error) {
	coded, ok := strings.CutPrefix(text, sealed)
	if !ok {
		return text, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(coded)
	if err != nil || len(raw) < s.gcm.NonceSize() {
		return "", errors.New("a sealed token is damaged")
	}
	plain, err := s.gcm.Open(nil, raw[:s.gcm.NonceSize()], raw[s.gcm.NonceSize():], []byte(sealed))
	if err != nil {
		return "", errors.New("a sealed token cannot be opened: it was sealed with another secrets.token_key")
	}
	return string(plain), nil
}

// plainSealer stores tokens as they are: a Java server beside us reads the same column.
type plainSealer struct{}

// Seal implements Sealer.
func (plainSealer) Seal(plain string) (string, error) { return plain, nil }

// Open implements Sealer.
func (plainSealer) Open(text string) (string, error) {
	if strings.HasPrefix(text, sealed) {
		return "", errors.New("a token is sealed and no key is set")
	}
	return text, nil
}
