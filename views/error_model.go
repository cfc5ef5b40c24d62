package views

import "time"

// ErrorModel is a refused or failed request as a person sees it, on a page of its own or as a notice in the page.
type ErrorModel struct {
	Status     int
	Code       string // machine-readable, e.g. "not_found"
	Message    string // in the viewer's language
	Fields     map[string]string
	RequestID  string
	RetryAfter time.Duration // zero: unknown
}
