// Package fleet keeps what admins say about nodes: profiles, the group tree, config revisions, access tokens and holds.
package fleet

import (
	"context"
	"net/http"
	"time"

	"eruptcloud/nodeagent/wire"
)

// Node is a profile. Its live instances are in the registry.
type Node struct {
	ID       int64
	Name     string // route name, unique, [A-Za-z0-9_-]{1,64} for new ones
	Display  string // name for people
	GroupID  int64  // zero: none
	Group    string // code of the group, empty: none
	Enabled  bool   // false refuses registration and routing
	Duty     []string
	Config   string // JSON object, or empty
	Revision int64  // of Config; 0: never published here
	Remark   string
	Core     bool
	// RawSession: requests carry the session's own token instead of a delegated one.
	RawSession bool
	FirstSeen  time.Time // first accepted registration; zero: never
	Created    time.Time
	Updated    time.Time
	UpdatedBy  string
}

// Group is a node of the group tree.
type Group struct {
	ID        int64
	Code      string // unique
	Name      string
	ParentID  int64  // zero: root
	Parent    string // code of the parent, empty: root
	Config    string
	Revision  int64
	Remark    string
	Created   time.Time
	Updated   time.Time
	UpdatedBy string
}

// Hold keeps one location of a node out of routing until an admin lifts it.
type Hold struct {
	Node, Location, Reason, Account string
	Created                         time.Time
}

// Drain keeps one instance of a node out of routing until it has left. Unlike a Hold it belongs to the instance and ends with
// it: the process that follows at the same address is routed to (D12).
type Drain struct {
	Node, Instance, Reason, Account string
	Created                         time.Time
}

// InFlight is what an instance still works on, through all replicas.
type InFlight struct {
	Count   int       // open requests, streams and upgraded connections among them
	Streams int       // those of Count that may stay open for hours
	Oldest  time.Time // when the oldest of them began; zero: none
	// Known is false while a replica has not told its number; a drain is not safe to stop then.
	Known bool
}

// Grace tells of the token before the last rotation, while it is still accepted.
type Grace struct {
	Rotated time.Time // when the current token came
	Account string    // who rotated it
	Until   time.Time // from then on the old token is refused
}

// TokenAge says which of a node's tokens an instance registered with.
type TokenAge string

// The ages of a token.
const (
	TokenCurrent TokenAge = "current"
	TokenOld     TokenAge = "old"     // the one before, in its grace time
	TokenUnknown TokenAge = "unknown" // neither: its grace is over, or tokens are not validated
)

// Refusal is a node that shows a wrong token, or reports under a name that may not register, as the pages show it (S12).
type Refusal struct {
	Node, Address string // Address is the caller's
	Reason        string // English message; a format of fault without arguments
	Since, Last   time.Time
	Count         int
}

// Revision is one published config.
type Revision struct {
	Number                int64
	Config                string
	Author, Address, Note string
	Created               time.Time
}

// ConfigEdit is a wish to publish a config.
type ConfigEdit struct {
	JSON         string // a JSON object, or empty to clear
	BaseRevision int64  // the revision that the editor started from
	Editor       string // account
	Address      string
	Note         string
}

// Effective is a node's merged config: group chain from the root, then the node, as JSON merge patches.
type Effective struct {
	JSON     string // always an object
	Revision string // strong tag: changes exactly when JSON does
	// Origin tells for each top-level key where it comes from: "group:CODE" or "node".
	Origin map[string]string
}

// Hook is the extension point of A4 and A8 for those who build their own binary. Both methods are called on the request's
// goroutine; an error refuses the call with its message.
type Hook interface {
	// RegisterNode runs before the addresses are probed (A4).
	RegisterNode(ctx context.Context, info wire.NodeInfo, r *http.Request) error
	// RemoveNode runs when an instance leaves, after its token was checked (A8).
	RemoveNode(ctx context.Context, node string, r *http.Request) error
}

// NoHook does nothing; it is the default.
type NoHook struct{}

// RegisterNode implements Hook.
func (NoHook) RegisterNode(context.Context, wire.NodeInfo, *http.Request) error { return nil }

// RemoveNode implements Hook.
func (NoHook) RemoveNode(context.Context, string, *http.Request) error { return nil }
