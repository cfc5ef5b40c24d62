package console

import (
	"context"

	"eruptcloud/app/fleet"
	"eruptcloud/app/history"
	"eruptcloud/proxy"
)

// Tokens rotate access tokens (fleet.Nodes).
type Tokens interface {
	RotateToken(ctx context.Context, name, by string) (string, error)
	// EndGrace refuses the old token at once. fault.NotFound if none is accepted any more.
	EndGrace(ctx context.Context, name, by string) error
	// Grace reports from memory whether an older token is still accepted.
	Grace(name string) (fleet.Grace, bool)
	// TokenAge says from memory which token has this SHA-256 digest in hex, as instances keep it.
	TokenAge(name, digest string) fleet.TokenAge
}

// Drains take instances out of routing until they have left (fleet.Drains).
type Drains interface {
	// Start returns the drain; one that is there already stays as it is.
	Start(ctx context.Context, d fleet.Drain) (fleet.Drain, error)
	// End calls a drain off. fault.NotFound if there is none.
	End(ctx context.Context, node, instance, by string) error
	Of(ctx context.Context, node string) ([]fleet.Drain, error)
	// Draining answers from memory.
	Draining(node, instance string) (fleet.Drain, bool)
}

// Refusals are nodes whose beats are refused, from memory (fleet.Refusals).
type Refusals interface {
	Of(node string) []fleet.Refusal
	All() []fleet.Refusal
}

// InFlight is what an instance still works on, through all replicas.
type InFlight = fleet.InFlight

// Loads tell what instances work on.
type Loads interface {
	// InFlight sums over all replicas what the locations of an instance work on.
	InFlight(node string, locations []string) InFlight
}

// Traces are the last requests of nodes and dry runs (proxy.Proxy).
type Traces interface {
	// Traces returns the last requests of a node through this process, the newest first.
	Traces(node string, limit int) []proxy.Trace
	// Explain decides like a request would be decided, and sends nothing. as is the session's token.
	Explain(ctx context.Context, as, method, path, erupt, parent string) proxy.Trace
}

// History is what happened to nodes (history.History).
type History interface {
	// Record never blocks.
	Record(e history.Event)
	List(ctx context.Context, f history.Filter) ([]history.Event, int, error)
}
