// Package registry keeps who is alive: leases of instances, one ordered log of what changed, and a copy of both in each
// replica's memory. It knows no Redis, no database and no HTTP.
package registry

import (
	"encoding/json"
	"time"
)

// Seq is a position in the change log; zero is before the first entry.
type Seq uint64

// Key names an instance: App in upper case, ID as the instance chose it.
type Key struct{ App, ID string }

// Status is what an instance, or an override, says of itself.
type Status string

// The statuses of Eureka; nodes are always Up.
const (
	Up           Status = "UP"
	Down         Status = "DOWN"
	Starting     Status = "STARTING"
	OutOfService Status = "OUT_OF_SERVICE"
	Unknown      Status = "UNKNOWN"
)

// Origin tells how an instance proved who it is.
type Origin string

// Only instances of OriginNode are ever routed to.
const (
	OriginNode   Origin = "node"
	OriginEureka Origin = "eureka"
)

// Action is what a change did to its instance.
type Action string

// The actions of the change log.
const (
	Added    Action = "ADDED"
	Modified Action = "MODIFIED"
	Deleted  Action = "DELETED"
)

// Reason tells why an instance was removed.
type Reason string

// The reasons of a removal.
const (
	Leave    Reason = "leave"    // the instance said so
	Expiry   Reason = "expiry"   // its lease ended
	Patrol   Reason = "patrol"   // it failed the survival check
	Failover Reason = "failover" // the proxy could not connect to it
	Admin    Reason = "admin"    // a person removed it
	Replaced Reason = "replaced" // a newer instance claimed all its locations
)

// Terms are the times of a lease.
type Terms struct{ Interval, Duration time.Duration }

// Instance is immutable once in the table; a change replaces it.
type Instance struct {
	Key
	Rev       Seq      // log position of its last change; zero before the first Put
	NodeName  string   // spelling of the profile; empty for a pure Eureka app
	Origin    Origin   // OriginNode: the node's token was verified
	Locations []string // base URLs, canonical; the newest claim wins within a node
	Status    Status
	Override  Status // empty: none
	Action    Action // Added or Modified: what its last change did
	Lease     Terms
	// Registered is the first registration, Up when it last became Up, Updated its last change, Dirty the client's own stamp.
	Registered, Up, Updated, Dirty time.Time
	// Claimed is when it first reported the addresses that it reports now; of two instances that report one address the later
	// claim has it.
	Claimed time.Time
	// Moved tells where the instance reported before, if that was elsewhere altogether; nil if it never moved.
	Moved *Move
	Node  *NodeDetail // the registration of a node's instance
	// Foreign keeps stored fields of a newer version of this program.
	Foreign map[string]json.RawMessage
	// Unconfirmed: the store lost its data; the instance is kept until it registers again or its lease would have ended.
	Unconfirmed bool
}

// Move is a change of all addresses at once.
type Move struct {
	From []string // the addresses reported before
	At   time.Time
}

// NodeDetail is what a node's instance said when it registered.
type NodeDetail struct {
	Version   string
	Addresses []string // as reported, canonical; Locations are those of them that it has
	Modules   []string
	Erupts    []string
	Resources map[string][]string
	Extra     map[string]json.RawMessage // fields that we do not know, carried over
	Token     string                     // SHA-256 (hex) of the access token that it registered with
	Peer      string                     // address that the registration came from, for people
	// Shared: it beats at a Java server that shares our namespace, which lists it (A10).
	Shared bool
}

// Change is one entry of the log. In is the instance after the change, or as it was before a Deleted.
type Change struct {
	Seq    Seq
	At     time.Time
	Action Action
	Reason Reason // of a Deleted
	In     Instance
}
