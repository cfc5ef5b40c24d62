package boot

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// secrets are the keys that a server needs; the embedded one makes its own.
type secrets struct {
	Session  []byte // seals the cookie; HMAC and encryption keys are derived from it
	Token    []byte // 32 bytes: seals access tokens in the database
	Delegate []byte // 32 bytes: seals the handles that nodes get for a session
}

// keyFile is the form of DATA_DIR/keys.json.
type keyFile struct {
	Session string `json:"session"`
	Token   string `json:"token"`
}

// loadSecrets takes configured keys and fills the rest from DATA_DIR/keys.json, which is made at the first start with mode
// 0600. Losing that file loses the access tokens of all nodes, so it belongs into the backup beside the database.
func loadSecrets(dir, session, token string) (secrets, error) {
	var kept keyFile
	if session == "" || token == "" {
		var err error
		if kept, err = keysIn(dir); err != nil {
			return secrets{}, err
		}
	}
	if session == "" {
		session = kept.Session
	}
	if token == "" {
		token = kept.Token
	}
	return secrets{
		Session: []byte(session), Token: derive(token, "access tokens"), Delegate: derive(token, "delegated tokens"),
	}, nil
}

// derive makes a 32-byte key for one purpose, so that no key seals two kinds of things.
func derive(key, purpose string) []byte {
	sum := sha256.Sum256([]byte(purpose + "\x00" + key))
	return sum[:]
}

func keysIn(dir string) (keyFile, error) {
	path := filepath.Join(dir, "keys.json")
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return makeKeys(dir, path)
	} else if err != nil {
		return keyFile{}, fmt.Errorf("generated keys: %w", err)
	}
	var k keyFile
	if err := json.Unmarshal(raw, &k); err != nil || len(k.Session) < 32 || len(k.Token) < 32 {
		return keyFile{}, fmt.Errorf("%s is damaged; restore it from a backup, without it no access token can be read", path)
	}
	return k, nil
}

// makeKeys creates the file unless another process was faster: link fails when the name exists, so nobody sees half a file
// and nobody's keys are overwritten.
func makeKeys(dir, path string) (keyFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return keyFile{}, err
	}
	k := keyFile{Session: random(), Token: random()}
	raw, err := json.Marshal(k)
	if err != nil {
		return keyFile{}, err
	}
	temp, err := os.CreateTemp(dir, "keys-*") // mode 0600
	if err != nil {
		return keyFile{}, err
	}
	defer os.Remove(temp.Name())
	if _, err := temp.Write(append(raw, '\n')); err != nil {
		return keyFile{}, errors.Join(err, temp.Close())
	}
	if err := errors.Join(temp.Sync(), temp.Close()); err != nil {
		return keyFile{}, err
	}
	if err := os.Link(temp.Name(), path); errors.Is(err, os.ErrExist) {
		return keysIn(dir)
	} else if err != nil {
		return keyFile{}, err
	}
	return k, nil
}

func random() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails since Go 1.24
	return hex.EncodeToString(raw)
}
