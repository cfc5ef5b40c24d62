package web

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
)

// State of a Check.
type State string

// The states. Degraded still takes traffic.
const (
	OK       State = "ok"
	Degraded State = "degraded"
	Failed   State = "failed"
)

// Check is one part of readiness. Detail is public: no addresses, no secrets.
type Check struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Detail string `json:"detail,omitempty"`
}

// MountHealth serves /livez, which answers as long as the process can, and /readyz, which is 503 while any check has
// failed. Both work with and without the base path, since Front serves either.
func (s *Shell) MountHealth(ready func(context.Context) []Check) {
	live := func(c *gin.Context) {
		c.Header("Cache-Control", "no-store")
		c.JSON(http.StatusOK, gin.H{"status": OK})
	}
	readyz := func(c *gin.Context) {
		checks := ready(c.Request.Context())
		if checks == nil {
			checks = []Check{}
		}
		status, code := OK, http.StatusOK
		for _, k := range checks {
			switch {
			case k.State == Failed:
				status, code = Failed, http.StatusServiceUnavailable
			case k.State == Degraded && status == OK:
				status = Degraded
			}
		}
		c.Header("Cache-Control", "no-store")
		c.JSON(code, gin.H{"status": status, "checks": checks})
	}
	for _, m := range []string{http.MethodGet, http.MethodHead} {
		s.engine.Handle(m, "/livez", live)
		s.engine.Handle(m, "/readyz", readyz)
	}
}
