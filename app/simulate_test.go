package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSimRefusesWhatItCannotPlay: wrong arguments end at once, with the exit code for them (D19).
func TestSimRefusesWhatItCannotPlay(t *testing.T) {
	dir := t.TempDir()
	tokens := filepath.Join(dir, "tokens")
	if err := os.WriteFile(tokens, []byte("crm token-one\norders\ttoken-two secret-three\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := []string{"sim", "--server", "http://127.0.0.1:1"}
	tests := map[string]struct {
		args []string
		want string
	}{
		"no server":        {[]string{"sim", "--tokens", tokens}, "--server"},
		"no login":         {server, "--password-file"},
		"no such fault":    {append(server, "--faults", "explode", "--tokens", tokens), "explode"},
		"too many":         {append(server, "--nodes", "30000", "--tokens", tokens), "20,000"},
		"no token in line": {append(server, "--tokens", tokens), "line 2"},
		"no such file":     {append(server, "--tokens", filepath.Join(dir, "none")), "none"},
		"no address":       {[]string{"sim", "--server", "somewhere", "--password-file", tokens}, "somewhere"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := newRoot()
			root.SetArgs(tt.args)
			root.SetOut(io.Discard)
			err := root.ExecuteContext(t.Context())
			if exitCode(err) != exitUsage || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret-three") {
				t.Errorf("%v = %v (%d), want a usage error about %s without the token", tt.args, err, exitCode(err), tt.want)
			}
		})
	}
}
