package proxy

import (
	"errors"
	"fmt"
)

// Fail returns a *Failure with a message for people.
func Fail(kind Kind, format string, args ...any) *Failure {
	return &Failure{Kind: kind, Format: format, Args: args}
}

// Because returns a copy of f that carries cause for the log.
func (f *Failure) Because(cause error) *Failure {
	c := *f
	c.Cause = cause
	return &c
}

// Message returns the English text for people.
func (f *Failure) Message() string {
	if len(f.Args) == 0 {
		return f.Format
	}
	return fmt.Sprintf(f.Format, f.Args...)
}

// Error returns message and cause, for logs.
func (f *Failure) Error() string {
	if f.Cause == nil {
		return f.Message()
	}
	return f.Message() + ": " + f.Cause.Error()
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Cause }

// KindOf returns the kind of err, Broken for a foreign one.
func KindOf(err error) Kind {
	var f *Failure
	if errors.As(err, &f) {
		return f.Kind
	}
	return Broken
}
