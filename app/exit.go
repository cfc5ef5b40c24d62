package main

import (
	"context"
	"errors"

	"eruptcloud/app/boot"
	"eruptcloud/app/fault"
)

// Exit codes. Scripts rely on them; README.md lists them.
const (
	exitOK       = 0 // done, or stopped by a signal within the grace time
	exitFailure  = 1 // something broke while running
	exitUsage    = 2 // wrong arguments or configuration
	exitDatabase = 3 // database not reachable, not migrated, or not ours
	exitListen   = 4 // the address cannot be listened on
	exitRefused  = 5 // the request was understood and refused: exists, not found, invalid

	// Of commands that ask a running server.
	exitNotFound     = 6 // no such node or instance
	exitTimeout      = 7 // what was waited for did not come in time
	exitNoConnection = 8 // the server does not answer

	exitNamespace = 9  // an erupt server up to 2.0.4 uses the Redis namespace
	exitNotYet    = 10 // migrate-from-erupt: something has to be put right before
)

// usageError marks what is wrong with arguments or configuration.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// exitError is an error that names its exit code.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

// exitCode returns the process's exit code for what a command returned.
func exitCode(err error) int {
	var usage usageError
	var exit exitError
	switch {
	case errors.As(err, &exit):
		return exit.code
	case err == nil, errors.Is(err, context.Canceled):
		return exitOK
	case errors.As(err, &usage), errors.Is(err, boot.ErrSettings):
		return exitUsage
	case errors.Is(err, boot.ErrDatabase):
		return exitDatabase
	case errors.Is(err, boot.ErrListen):
		return exitListen
	case errors.Is(err, boot.ErrNamespace):
		return exitNamespace
	}
	switch fault.CodeOf(err) {
	case fault.Invalid, fault.NotFound, fault.Conflict, fault.Forbidden, fault.TooLarge:
		return exitRefused
	}
	return exitFailure
}
