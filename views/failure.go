package views

import (
	"sort"
	"time"
)

// Failure is a request that did not work out, as people see it.
type Failure struct {
	Status     int
	Code       string            // machine-readable, shown small
	Message    string            // in the viewer's language
	Fields     map[string]string // input name → what is wrong with it
	RequestID  string
	RetryAfter time.Duration // zero: unknown
	Missing    string        // permission code that is missing, with Status 403
}

// fieldNames returns the names in order, so that a page is the same each time.
func (f Failure) fieldNames() []string {
	names := make([]string, 0, len(f.Fields))
	for n := range f.Fields {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// titleKey says in few words what kind of failure it is.
func (f Failure) titleKey() string {
	switch f.Status {
	case 401, 403, 404, 405, 409, 413, 429, 502, 503, 504:
		return "failure." + f.Code
	}
	if f.Status >= 500 {
		return "failure.internal"
	}
	return "failure.invalid"
}
