package boot

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"eruptcloud/app/netguard"
	"eruptcloud/app/probe"
)

func TestNodesWithACertificateOfTheHouse(t *testing.T) { // erupt-wire 10.3.6
	node := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("shop")) }))
	defer node.Close()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "ca.pem"), filepath.Join(dir, "bad.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: node.Certificate().Raw})
	for name, content := range map[string][]byte{good: text, bad: []byte("no certificate")} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	policy, err := netguard.NewPolicy(netguard.Options{AllowLoopback: true})
	if err != nil {
		t.Fatal(err)
	}
	for file, ok := range map[string]bool{"": false, good: true} {
		how, err := nodeTLS(file)
		if err != nil {
			t.Fatal(err)
		}
		if r := probe.New(probe.Options{Policy: policy, TLS: how}).Handshake(t.Context(), node.URL, "shop"); r.OK != ok {
			t.Errorf("with ca_file %q the probe says %+v, want ok %t", file, r, ok)
		}
	}
	for _, file := range []string{bad, filepath.Join(dir, "missing.pem")} {
		if _, err := nodeTLS(file); !errors.Is(err, ErrSettings) {
			t.Errorf("ca_file %s: %v, want an error of the settings", file, err)
		}
	}
}
