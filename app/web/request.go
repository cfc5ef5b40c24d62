package web

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// request is what Front found out about a request; one per request, written by its goroutine only.
type request struct {
	id      string
	client  string // address of the client, as far as trusted proxies tell
	scheme  string // as the browser sees it
	host    string
	base    string
	path    string // escaped path below base
	start   time.Time
	account string // for the access log, once known
	gone    bool   // the client left before its answer
	body    *timedBody
}

type requestKey struct{}

// requestOf never returns nil: outside Front it describes a request without proxies.
func requestOf(r *http.Request) *request {
	if q, ok := r.Context().Value(requestKey{}).(*request); ok {
		return q
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return &request{client: peerOf(r).String(), scheme: scheme, host: r.Host, path: r.URL.EscapedPath(), start: time.Now()}
}

// RequestID returns the id of the request that ctx belongs to, empty outside one.
func RequestID(ctx context.Context) string {
	if q, ok := ctx.Value(requestKey{}).(*request); ok {
		return q.id
	}
	return ""
}

// ClientIP returns the client's address: the peer, or what trusted proxies forwarded.
func ClientIP(r *http.Request) string { return requestOf(r).client }

// Param returns a parameter of the route as the client meant it. c.Param is wrong for a path with an encoded slash: gin
// then takes a plus for a blank.
func Param(c *gin.Context, name string) string {
	sent := strings.Split(c.Request.URL.EscapedPath(), "/")
	for i, part := range strings.Split(c.FullPath(), "/") {
		if part != ":"+name || i >= len(sent) {
			continue
		}
		if value, err := url.PathUnescape(sent[i]); err == nil {
			return value
		}
	}
	return c.Param(name)
}

// Origin returns scheme and host as the browser sees them, e.g. "https://fleet.example:8443".
func Origin(r *http.Request) string {
	q := requestOf(r)
	return q.scheme + "://" + q.host
}

// Base returns the base path of this request, "" or "/ops/fleet".
func Base(r *http.Request) string { return requestOf(r).base }

func (s *Shell) describe(r *http.Request) *request {
	peer := peerOf(r)
	q := &request{client: peer.String(), scheme: "http", host: r.Host, base: s.o.BasePath, start: s.o.Now()}
	if r.TLS != nil {
		q.scheme = "https"
	}
	if s.trusted(peer) {
		s.believe(q, r)
	}
	if q.id == "" {
		q.id = rand.Text()
	}
	q.host = dropDefaultPort(q.scheme, q.host)
	return q
}

// believe takes over what a trusted proxy says of the request it passes on.
func (s *Shell) believe(q *request, r *http.Request) {
	if id := r.Header.Get("X-Request-Id"); saneID(id) {
		q.id = id
	}
	q.client = s.forwardedFor(q.client, r.Header.Values("X-Forwarded-For"))
	switch strings.ToLower(firstOf(r.Header.Get("X-Forwarded-Proto"))) {
	case "https", "wss":
		q.scheme = "https"
	case "http", "ws":
		q.scheme = "http"
	}
	if h := firstOf(r.Header.Get("X-Forwarded-Host")); saneHost(h) {
		q.host = h
	}
	if p := strings.TrimRight(firstOf(r.Header.Get("X-Forwarded-Prefix")), "/"); p != "" && saneBase(p) {
		q.base = p
	}
}

// forwardedFor walks X-Forwarded-For from its end and returns the first address that is no trusted proxy of ours.
func (s *Shell) forwardedFor(peer string, lines []string) string {
	hops := strings.Split(strings.Join(lines, ","), ",")
	client := peer
	for i := len(hops) - 1; i >= 0; i-- {
		addr, ok := parseHop(hops[i])
		if !ok {
			return client
		}
		client = addr.String()
		if !s.trusted(addr) {
			return client
		}
	}
	return client
}

func (s *Shell) trusted(a netip.Addr) bool {
	for _, p := range s.o.TrustedProxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

func peerOf(r *http.Request) netip.Addr {
	a, _ := parseHop(r.RemoteAddr)
	return a
}

// parseHop reads "10.0.0.1", "10.0.0.1:80", "[::1]:80" and "::1".
func parseHop(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	return a.Unmap().WithZone(""), err == nil
}

func firstOf(list string) string {
	first, _, _ := strings.Cut(list, ",")
	return strings.TrimSpace(first)
}

func dropDefaultPort(scheme, host string) string {
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

func saneID(id string) bool {
	return len(id) >= 8 && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

func saneHost(h string) bool {
	return h != "" && len(h) <= 255 && strings.Trim(h, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:[]") == ""
}

// saneBase accepts "/ops/fleet": plain segments, none empty, none made of dots only.
func saneBase(base string) bool {
	if len(base) > 255 || !strings.HasPrefix(base, "/") {
		return false
	}
	for seg := range strings.SplitSeq(base[1:], "/") {
		if strings.Trim(seg, ".") == "" ||
			strings.Trim(seg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~") != "" {
			return false
		}
	}
	return true
}
