package boot

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// nodeTLS is how nodes at https addresses are believed: by the system's authorities and those of proxy.ca_file. Nil: the system's
// alone.
func nodeTLS(caFile string) (*tls.Config, error) {
	if caFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("%w: proxy.ca_file: %w", ErrSettings, err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%w: proxy.ca_file: %s holds no certificate in PEM form", ErrSettings, caFile)
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}
