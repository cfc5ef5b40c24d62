// Package fault names every way a request can fail and keeps the message for people apart from the cause for the log.
package fault

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code is the machine-readable name of a failure; it is part of the public API.
type Code string

// The codes and the HTTP status that each stands for.
const (
	Invalid                Code = "invalid"                 // 400: input breaks a rule; Fields says which
	Unauthenticated        Code = "unauthenticated"         // 401: no session, a dead one, or a wrong token
	Forbidden              Code = "forbidden"               // 403: the permission code is missing
	NotFound               Code = "not_found"               // 404: no such thing, or not visible to the caller
	NotAllowed             Code = "method_not_allowed"      // 405: the path exists, the method does not
	Conflict               Code = "conflict"                // 409: stale revision or duplicate name
	TooLarge               Code = "too_large"               // 413: over a stated limit
	TooMany                Code = "too_many"                // 429: rate limit
	Internal               Code = "internal"                // 500: everything that has no code
	RegistrationProhibited Code = "registration_prohibited" // 500: disabled profile (A3)
	UpstreamUnreachable    Code = "upstream_unreachable"    // 502: no instance could be connected to
	NodeNotReady           Code = "node_not_ready"          // 503: node known, no usable instance
	Unavailable            Code = "unavailable"             // 503: our own store is down
	UpstreamTimeout        Code = "upstream_timeout"        // 504: the instance did not answer in time
	ClientGone             Code = "client_gone"             // 499: only ever logged
)

var statuses = map[Code]int{
	Invalid: http.StatusBadRequest, Unauthenticated: http.StatusUnauthorized, Forbidden: http.StatusForbidden,
	NotFound: http.StatusNotFound, NotAllowed: http.StatusMethodNotAllowed, Conflict: http.StatusConflict,
	TooLarge: http.StatusRequestEntityTooLarge, TooMany: http.StatusTooManyRequests,
	Internal: http.StatusInternalServerError, RegistrationProhibited: http.StatusInternalServerError,
	UpstreamUnreachable: http.StatusBadGateway, NodeNotReady: http.StatusServiceUnavailable,
	Unavailable: http.StatusServiceUnavailable, UpstreamTimeout: http.StatusGatewayTimeout, ClientGone: 499,
}

// Status returns the HTTP status of c, 500 for an unknown code.
func (c Code) Status() int {
	if s, ok := statuses[c]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// Error is a failure with a code for programs, a message for people and, never shown to either, a cause.
type Error struct {
	Code       Code
	Format     string            // English message as a format; also its key in the translations
	Args       []any             // what fills Format
	Fields     map[string]string // input name → what is wrong with it
	RetryAfter time.Duration     // when the caller may try again; zero if unknown
	cause      error
}

// New returns an error with a message for people: what is wrong and, where possible, what to do.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Format: format, Args: args}
}

// Because returns a copy of e that carries cause for the log.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Field returns a copy of e that says what is wrong with one input.
func (e *Error) Field(name, format string, args ...any) *Error {
	c := *e
	c.Fields = make(map[string]string, len(e.Fields)+1)
	for k, v := range e.Fields {
		c.Fields[k] = v
	}
	c.Fields[name] = fmt.Sprintf(format, args...)
	return &c
}

// Phrase is an argument that is itself a text of ours: it is told in the reader's language, as formats are.
type Phrase string

// Phrase returns its English text, for whoever translates.
func (p Phrase) Phrase() string { return string(p) }

// Retry returns a copy of e that says when to try again.
func (e *Error) Retry(after time.Duration) *Error {
	c := *e
	c.RetryAfter = after
	return &c
}

// Message returns the English text for people. It never contains the cause.
func (e *Error) Message() string {
	if len(e.Args) == 0 {
		return e.Format
	}
	return fmt.Sprintf(e.Format, e.Args...)
}

// Error returns message and cause, for logs only.
func (e *Error) Error() string {
	if e.cause == nil {
		return e.Message()
	}
	return e.Message() + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Of returns the *Error in err's chain. A foreign error becomes "internal error" with err as its cause; nil stays nil.
func Of(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return New(Internal, "internal error").Because(err)
}

// CodeOf returns the code of err: Internal for a foreign error, the empty code for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return Of(err).Code
}

// Is reports whether err carries code.
func Is(err error, code Code) bool { return err != nil && CodeOf(err) == code }
