package web

import "time"

// SetBodyIdle shortens a time that no setting has.
func SetBodyIdle(s *Shell, idle time.Duration) { s.bodyIdle = idle }

// SetWriteIdle does the same for readers.
func SetWriteIdle(s *Shell, idle time.Duration) { s.writeIdle = idle }
