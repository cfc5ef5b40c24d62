package sharing

import (
	"slices"
	"strings"

	"eruptcloud/app/probe"
)

// maxLocations is how many of an entry are looked at, as many as when it is written again.
const maxLocations = 256

// canonicals are the locations in our spelling, without those that no node may have.
func canonicals(raw []string) []string {
	var out []string
	for _, r := range raw[:min(len(raw), maxLocations)] {
		if l, err := probe.CanonicalLocation(r); err == nil && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// madeID names an instance of which the entry tells only the address. Ids are path segments of the API.
func madeID(location string) string {
	_, rest, _ := strings.Cut(location, "://")
	return "at-" + strings.ReplaceAll(rest, "/", "_")
}

// validID refuses ids that no node makes and that would not fit where ids are shown.
func validID(id string) bool {
	return len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' || r == '/' })
}

func clip(s string) string { return s[:min(len(s), 64)] }

func subset(part, all []string) bool {
	return !slices.ContainsFunc(part, func(s string) bool { return !slices.Contains(all, s) })
}

func both(a, b []string) []string {
	var out []string
	for _, s := range a {
		if slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}
