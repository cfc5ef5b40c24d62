package proxy

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"eruptcloud/nodeagent/wire"
)

// Header names in the spelling of http.Header's keys.
var (
	headerErupt       = http.CanonicalHeaderKey(wire.HeaderErupt)
	headerParent      = http.CanonicalHeaderKey(wire.HeaderParent)
	headerToken       = http.CanonicalHeaderKey(wire.HeaderToken)
	headerUser        = http.CanonicalHeaderKey(wire.HeaderUser)
	headerAccess      = http.CanonicalHeaderKey(wire.HeaderAccessToken)
	headerDrill       = http.CanonicalHeaderKey(wire.HeaderDrill)
	headerDrillValue  = http.CanonicalHeaderKey(wire.HeaderDrillValue)
	headerDrillSource = http.CanonicalHeaderKey(wire.HeaderDrillSource)
	headerRequestID   = http.CanonicalHeaderKey(wire.HeaderRequestID)
	identityHeaders   = []string{headerErupt, headerToken, headerParent, headerDrill, headerDrillValue, headerDrillSource}
)

// The two policies for headers of the browser.
const (
	PolicyCopied = "copied" // all but those kept back (A20)
	PolicyListed = "listed" // only those of erupt-wire 10.5
)

// ours are the headers that are made here or belong to one connection. No setting passes them on.
var ours = set("Host", "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Content-Length", "Expect", "Origin", "Accept-Encoding",
	headerErupt, headerParent, headerToken, headerUser, headerAccess, headerDrillSource, headerRequestID,
	"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Forwarded-Prefix",
	"X-Forwarded-Server", "X-Real-Ip", "X-Original-Url", "X-Rewrite-Url",
	"X-Http-Method", "X-Http-Method-Override", "X-Method-Override")

// credentials of the browser are not meant for a node, unless an operator lists them.
var credentials = set("Cookie", "Authorization", "Proxy-Authorization")

// listed is the allow-list of erupt-wire 10.5.
var listed = set("Accept", "Accept-Language", "Content-Type", "User-Agent", "If-None-Match", "If-Modified-Since", "If-Range", "Range",
	"Lang", "Link", headerDrill, headerDrillValue)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[http.CanonicalHeaderKey(n)] = true
	}
	return m
}

// headerPolicy decides which headers of the browser reach a node.
type headerPolicy struct {
	listedOnly bool
	extra      map[string]bool
	ownCookies map[string]bool // never passed on, even where cookies are
}

func newHeaderPolicy(o *Options) (headerPolicy, error) {
	h := headerPolicy{extra: map[string]bool{}, ownCookies: map[string]bool{}}
	switch o.HeaderPolicy {
	case "", PolicyCopied:
	case PolicyListed:
		h.listedOnly = true
	default:
		return h, fmt.Errorf("header policy %q: use %q or %q", o.HeaderPolicy, PolicyCopied, PolicyListed)
	}
	for _, name := range o.ExtraHeaders {
		key := http.CanonicalHeaderKey(strings.TrimSpace(name))
		if !httpguts.ValidHeaderFieldName(key) || ours[key] {
			return h, fmt.Errorf("extra header %q cannot be passed to nodes", name)
		}
		h.extra[key] = true
	}
	for _, name := range o.OwnCookies {
		h.ownCookies[name] = true
	}
	return h, nil
}

// passes reports whether a header goes to the node.
func (h *headerPolicy) passes(key string) bool {
	switch {
	case ours[key]:
		return false
	case h.extra[key]:
		return true
	case h.listedOnly:
		return listed[key]
	default:
		return !credentials[key]
	}
}

// filter removes from out what a node must not see. socket keeps what a WebSocket handshake needs.
func (h *headerPolicy) filter(out http.Header, socket bool) {
	for key := range out {
		if !h.passes(key) && !(socket && isHandshake(key)) {
			delete(out, key)
		}
	}
	if refs := out["Referer"]; len(refs) > 0 { // its query may hold a token
		page, _, _ := strings.Cut(refs[0], "?")
		out["Referer"] = []string{page}
	}
	for _, key := range idempotencyKeys {
		if v, ok := out[key]; ok { // in another spelling net/http does not take it for leave to send twice
			delete(out, key)
			out[strings.ToLower(key)] = v
		}
	}
	if lines, ok := out["Cookie"]; ok {
		h.filterCookies(out, lines)
	}
}

var idempotencyKeys = []string{"Idempotency-Key", "X-Idempotency-Key"}

func isHandshake(key string) bool {
	return key == "Connection" || key == "Upgrade" || strings.HasPrefix(key, "Sec-Websocket-")
}

func (h *headerPolicy) filterCookies(out http.Header, lines []string) {
	var kept []string
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ";") {
			part = strings.TrimSpace(part)
			if name, _, _ := strings.Cut(part, "="); part != "" && !h.ownCookies[strings.TrimSpace(name)] {
				kept = append(kept, part)
			}
		}
	}
	if len(kept) == 0 {
		delete(out, "Cookie")
		return
	}
	out["Cookie"] = []string{strings.Join(kept, "; ")}
}

// asksWebSocket reports whether r asks for a WebSocket and nothing else.
func asksWebSocket(r *http.Request) bool {
	return r.Method == http.MethodGet && httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade") &&
		len(r.Header["Upgrade"]) == 1 && strings.EqualFold(r.Header["Upgrade"][0], "websocket")
}

// maxExact is the largest number that a JSON reader in a browser or in Java's double keeps exact.
const maxExact = 1<<53 - 1

// userHeader encodes a user as nodes read it: unbroken standard base64 of exactly four keys, nulls written, nothing
// escaped for HTML (erupt-wire 2.5).
func userHeader(u *wire.User) string {
	b := make([]byte, 0, 128)
	b = appendWhole(append(b, `{"uid":`...), u.UID)
	b = appendText(append(b, `,"account":`...), u.Account)
	b = appendText(append(b, `,"name":`...), u.Name)
	b = append(b, `,"tenantId":`...)
	if u.TenantID == nil {
		b = append(b, "null"...)
	} else {
		b = appendWhole(b, *u.TenantID)
	}
	return base64.StdEncoding.EncodeToString(append(b, '}'))
}

// appendWhole appends n as a number, or as text where a number would not arrive exactly.
func appendWhole(b []byte, n int64) []byte {
	if n <= maxExact && n >= -maxExact {
		return strconv.AppendInt(b, n, 10)
	}
	return append(strconv.AppendInt(append(b, '"'), n, 10), '"')
}

// appendText appends s as JSON text.
func appendText(b []byte, s string) []byte {
	if isPlainText(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return append(b, strings.TrimSuffix(text.String(), "\n")...)
}

func isPlainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c == 0x7f {
			return false
		}
	}
	return utf8.ValidString(s)
}
