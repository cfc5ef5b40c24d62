package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// F18, S59: another method opens nothing: it is refused like the one that the address has, or is not possible there.
func otherMethods(t *testing.T, a *arena) {
	methods := []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodTrace,
		"PROPFIND", "PURGE", "get", "X",
	}
	all := endpoints(t)
	done := map[string]bool{}
	for _, e := range all {
		if done[e.pattern] {
			continue
		}
		done[e.pattern] = true
		t.Run(e.pattern, func(t *testing.T) {
			a := a.at(t)
			a.unchanged("another method", func() {
				for _, who := range []string{nobody, clerk} {
					if openTo(all, e.pattern, who) {
						continue
					}
					for _, method := range methods {
						a.tryMethod(e, method, who)
					}
				}
			})
			a.untouched("another method")
		})
	}
}

// openTo reports whether somebody may ask anything at a pattern.
func openTo(all []endpoint, pattern, who string) bool {
	return slices.ContainsFunc(all, func(e endpoint) bool { return e.pattern == pattern && e.refusals(who) == nil })
}

func (a *arena) tryMethod(e endpoint, method, who string) {
	a.t.Helper()
	e.method = method
	s := e.shot(who)
	s.header.Del("Accept")
	g := a.fire(s)
	want := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed}
	switch {
	case e.surface == onNodeAPI && silent(e.pattern) && g.status == http.StatusOK:
		a.grantsNothing(s, g)
		return
	case strings.HasSuffix(e.pattern, "/create-token"):
		want = append(want, http.StatusTooManyRequests) // wrong secrets are counted
	case e.surface == onNodeAPI:
		want = append(want, http.StatusBadRequest) // a registration without a body
	}
	a.refused(s, g, want...)
}
