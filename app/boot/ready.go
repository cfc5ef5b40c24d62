package boot

import (
	"context"
	"time"

	"eruptcloud/app/web"
)

// ready is what /readyz shows. A registry whose store is down still routes from memory: degraded, not failed.
func (s *Server) ready(ctx context.Context) []web.Check {
	process := web.Check{Name: "process", State: web.OK}
	switch s.state.Load() {
	case stateStarting:
		process.State, process.Detail = web.Failed, "starting"
	case stateStopping:
		process.State, process.Detail = web.Failed, "stopping"
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	database := web.Check{Name: "database", State: web.OK}
	if err := s.domain.DB.Ping(ctx); err != nil {
		database.State, database.Detail = web.Failed, "not reachable"
	}
	leases := web.Check{Name: "registry", State: web.OK}
	if err := s.registry.Degraded(); err != nil {
		leases.State, leases.Detail = web.Degraded, "the store of leases is not reachable: routing goes on from memory, registrations are refused"
	}
	brake := web.Check{Name: "brake", State: web.OK}
	if state := s.registry.Brake().State(); state.Holding {
		brake.State, brake.Detail = web.Degraded, state.String()
	}
	return []web.Check{process, database, leases, brake}
}
