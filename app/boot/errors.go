package boot

import (
	"errors"
	"fmt"
)

// Kinds of failure at start; the command makes exit codes of them.
var (
	ErrDatabase = errors.New("database")
	ErrListen   = errors.New("listen")
	ErrSettings = errors.New("settings")
)

func databaseError(err error) error { return fmt.Errorf("%w: %w", ErrDatabase, err) }
func listenError(err error) error   { return fmt.Errorf("%w: %w", ErrListen, err) }
