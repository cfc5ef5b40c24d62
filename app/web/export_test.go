package web

import "time"

// SetBodyIdle shortens a time that no setting has.
func SetBodyIdle(s *Shell, idle time.Duration) { s.bodyIdle = idle }
