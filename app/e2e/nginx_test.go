package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"eruptcloud/app/testbed"
)

// nginx puts a proxy before the server, below the prefix, and leads s to it. It returns the certificate that the proxy shows.
func nginx(t *testing.T, s *server, location string, secure bool) *x509.CertPool {
	t.Helper()
	dir := t.TempDir()
	addr := freeAddr(t)
	listen, scheme := addr, "http"
	var roots *x509.CertPool
	if secure {
		roots = certificate(t, dir)
		listen, scheme = addr+" ssl; ssl_certificate "+dir+"/cert.pem; ssl_certificate_key "+dir+"/key.pem", "https"
	}
	runNginx(t, dir, fmt.Sprintf("listen %s; location %s/ { %s }", listen, prefix, location))
	eventually(t, patience, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, func() string { return "nginx does not listen" })
	s.URL = scheme + "://" + addr + prefix
	return roots
}

// runNginx runs one nginx process with a server block, everything that it writes inside dir.
func runNginx(t *testing.T, dir, block string) {
	t.Helper()
	program := testbed.Require(t, "nginx")
	conf := fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log stderr;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	server { %[2]s }
}
`, dir, block)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, nil, program, "-p", dir, "-c", file, "-e", "stderr")
}

// certificate writes cert.pem and key.pem for 127.0.0.1 and returns who trusts them.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return roots
}
