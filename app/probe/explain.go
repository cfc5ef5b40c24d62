package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"eruptcloud/app/netguard"
)

// explain turns an error of the transport into the layer at which it happened and words for people.
func explain(err error, seen *progress, timeout time.Duration) Result {
	var denied *netguard.DeniedError
	if errors.As(err, &denied) {
		return failed(Policy, denied.Error(), err)
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return explainName(dns, err)
	}
	if errors.Is(err, context.Canceled) {
		r := failed(HTTP, "the probe was called off", err)
		r.Unsure = true
		return r
	}
	if ours(err) {
		r := failed(Connect, "the server itself could not open a connection (out of descriptors, memory or ports)", err)
		r.Unsure = true
		return r
	}
	switch seen.stage.Load() {
	case resolving:
		r := failed(DNS, fmt.Sprintf("the server's name resolution did not answer within %s", timeout), err)
		r.Unsure = true
		return r
	case connecting:
		return explainConnect(err, seen, timeout)
	case securing:
		return explainTLS(err, timeout)
	}
	return explainHTTP(err, timeout)
}

func explainName(dns *net.DNSError, err error) Result {
	if dns.IsNotFound {
		return failed(DNS, fmt.Sprintf("the server cannot resolve the name %q", clip(dns.Name)), err)
	}
	r := failed(DNS, fmt.Sprintf("the server's name resolution failed for %q", clip(dns.Name)), err)
	r.Unsure = true
	return r
}

// ours lists errors that come from this machine before a packet left it.
func ours(err error) bool {
	for _, code := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}

func explainConnect(err error, seen *progress, timeout time.Duration) Result {
	address, _ := seen.address.Load().(string)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return failed(Connect, fmt.Sprintf("connection refused: nothing listens at %s", address), err)
	case errors.Is(err, syscall.ECONNRESET):
		return failed(Connect, fmt.Sprintf("connection reset while connecting to %s", address), err)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return failed(Connect, fmt.Sprintf("no route from the server to %s", address), err)
	case timedOut(err):
		return failed(Connect, fmt.Sprintf("no connection to %s within %s: the host is down or a firewall drops the packets", address, timeout), err)
	}
	return failed(Connect, fmt.Sprintf("cannot connect to %s", address), err)
}

func explainTLS(err error, timeout time.Duration) Result {
	var (
		invalid  x509.CertificateInvalidError
		hostname x509.HostnameError
		issuer   x509.UnknownAuthorityError
		record   tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return failed(TLS, "does not speak TLS; the location may have to start with http://", err)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return failed(TLS, "the certificate has expired or is not yet valid", err)
	case errors.As(err, &hostname):
		return failed(TLS, "the certificate is for another name", err)
	case errors.As(err, &issuer):
		return failed(TLS, "the certificate's issuer is unknown to the server", err)
	case timedOut(err):
		return failed(TLS, fmt.Sprintf("the TLS handshake did not finish within %s", timeout), err)
	}
	return failed(TLS, "the TLS handshake failed", err)
}

func explainHTTP(err error, timeout time.Duration) Result {
	switch {
	case timedOut(err):
		return failed(HTTP, fmt.Sprintf("accepted the connection but did not answer within %s", timeout), err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		// net/http's own word for an end that came before the request was written; it exports no value
		strings.Contains(err.Error(), "server closed idle connection"):
		return failed(HTTP, "closed the connection without an answer", err)
	}
	return failed(HTTP, "did not answer in HTTP", err)
}
