package boot

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestKeysAreMadeOnceAndKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var wg sync.WaitGroup
	made := make([]secrets, 8)
	for i := range made {
		wg.Go(func() {
			s, err := loadSecrets(dir, "", "")
			if err != nil {
				t.Error(err)
			}
			made[i] = s
		})
	}
	wg.Wait()
	for _, s := range made {
		if !bytes.Equal(s.Token, made[0].Token) || !bytes.Equal(s.Session, made[0].Session) {
			t.Fatal("two starts at once made different keys")
		}
	}
	if bytes.Equal(made[0].Token, made[0].Delegate) {
		t.Error("one key seals two kinds of things")
	}
	info, err := os.Stat(filepath.Join(dir, "keys.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("keys.json has mode %v (%v), want 0600", info.Mode(), err)
	}
}

func TestDamagedKeysAreNotReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keys.json")
	if err := os.WriteFile(path, []byte(`{"session":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadSecrets(dir, "", ""); err == nil {
		t.Error("a damaged key file was accepted")
	}
	if raw, _ := os.ReadFile(path); string(raw) != `{"session":"x"}` {
		t.Errorf("the damaged file became %s", raw)
	}
}
