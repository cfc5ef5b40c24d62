package probe

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxLocation is the longest location that we keep, in bytes of its canonical form.
const maxLocation = 255

// CanonicalLocation returns the one spelling of a base URL that a node reported: http or https, lower-case host, no default
// port, no trailing slash. It refuses what could make us ask somebody else: user info, query, fragment, dot segments,
// encoded slashes. The error says what is wrong, for the node's log.
func CanonicalLocation(raw string) (string, error) {
	raw = strings.TrimSpace(raw)
	if len(raw) > 2*maxLocation {
		return "", fmt.Errorf("is longer than %d characters", maxLocation)
	}
	if strings.ContainsAny(raw, "?#\\;") || strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return "", errors.New("must not contain a query, a fragment, a backslash, a semicolon or blanks")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", errors.New("is no URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("must start with http:// or https://")
	}
	if u.User != nil {
		return "", errors.New("must not contain user information")
	}
	host, err := canonicalHost(u)
	if err != nil {
		return "", err
	}
	path, err := canonicalPath(u)
	if err != nil {
		return "", err
	}
	location := u.Scheme + "://" + host + path
	if len(location) > maxLocation {
		return "", fmt.Errorf("is longer than %d characters", maxLocation)
	}
	return location, nil
}

// canonicalHost returns host and, unless it is the scheme's default, port.
func canonicalHost(u *url.URL) (string, error) {
	host, err := canonicalName(u.Hostname(), strings.HasPrefix(u.Host, "["))
	if err != nil {
		return "", err
	}
	text := u.Port()
	if text == "" {
		return host, nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return "", errors.New("has a port outside 1 to 65535")
	}
	if u.Scheme == "http" && port == 80 || u.Scheme == "https" && port == 443 {
		return host, nil
	}
	return host + ":" + strconv.FormatUint(port, 10), nil
}

func canonicalName(name string, bracketed bool) (string, error) {
	if name == "" {
		return "", errors.New("has no host")
	}
	addr, err := netip.ParseAddr(name)
	switch {
	case err != nil && bracketed:
		return "", errors.New("has brackets around something that is no IPv6 address")
	case err != nil:
		return canonicalDNS(name)
	}
	zone := addr.Zone()
	addr = addr.WithZone("").Unmap()
	switch {
	case addr.Is4() && zone != "":
		return "", errors.New("has a zone on an IPv4 address")
	case addr.Is4():
		return addr.String(), nil
	case zone == "":
		return "[" + addr.String() + "]", nil
	case strings.ContainsFunc(zone, func(r rune) bool { return !nameRune(r) }):
		return "", errors.New("has an unreadable zone in its IPv6 address")
	}
	return "[" + addr.String() + "%25" + zone + "]", nil
}

func canonicalDNS(name string) (string, error) {
	name = strings.ToLower(name)
	if len(name) > 253 {
		return "", errors.New("has a host name longer than 253 characters")
	}
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool { return r == '.' || !nameRune(r) }) {
			return "", errors.New("has a host name with characters other than a-z, 0-9, - and _ (write international names as xn--…)")
		}
	}
	if numeric(labels[len(labels)-1]) {
		return "", errors.New("has a host that is neither a name nor a complete IP address") // 127.1, 0x7f000001
	}
	return name, nil
}

// numeric reports whether a last label would make some resolver read the whole host as an IPv4 address.
func numeric(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	return !strings.ContainsFunc(digits, func(r rune) bool {
		return !(r >= '0' && r <= '9' || hex && r >= 'a' && r <= 'f')
	})
}

func nameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
}

func canonicalPath(u *url.URL) (string, error) {
	if u.RawPath != "" && strings.Contains(strings.ToLower(u.RawPath), "%2f") {
		return "", errors.New("must not contain an encoded slash")
	}
	if strings.ContainsAny(u.Path, "\\;?#") || strings.ContainsFunc(u.Path, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xfffd }) {
		return "", errors.New("has a path with characters that nodes and proxies read differently")
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			return "", errors.New("must not contain . or .. in its path")
		}
	}
	return (&url.URL{Path: strings.TrimRight(u.Path, "/")}).EscapedPath(), nil
}
