package web

import (
	"net/http"
	"strings"
)

const (
	// Our pages load only what we serve; htmx runs with allowEval off, so no inline script or style is needed.
	pageCSP = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
	// What nodes serve is not ours: without an origin of its own it can reach neither our cookies nor our pages.
	foreignCSP = "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads; frame-ancestors 'self'"
	dataCSP    = "default-src 'none'; frame-ancestors 'none'"
)

// setSecurityHeaders sets what every answer carries; a handler may replace it.
func setSecurityHeaders(h http.Header, path string) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	switch {
	case isStreamed(path):
		h.Set("Content-Security-Policy", foreignCSP)
		h.Set("Referrer-Policy", "no-referrer") // erupt's own front end puts tokens into these addresses
	case isMachine(path):
		h.Set("Content-Security-Policy", dataCSP)
	default:
		h.Set("Content-Security-Policy", pageCSP)
		h.Set("X-Frame-Options", "SAMEORIGIN")
	}
}

// isMachine reports whether programs, not browsers, are answered at path: never HTML, never a redirect.
func isMachine(path string) bool {
	for _, root := range []string{"/api", "/erupt-api", "/erupt-cloud-api", "/erupt-attachment", "/eureka", "/livez", "/readyz", "/badge", "/status"} {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}
