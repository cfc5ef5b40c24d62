// Package history keeps what happened to nodes and their instances: who came, who left and why, what admins did. The newest
// 200 events of each node are kept, and of all nodes the newest 20,000; nodes that are never still do not push out the newest 20
// of the others (S83).
package history

import "time"

// Kind names what happened.
type Kind string

// The kinds.
const (
	Registered Kind = "registered" // an instance came, or came back
	Changed    Kind = "changed"    // an instance reports another version or other addresses
	Left       Kind = "left"       // said goodbye
	Expired    Kind = "expired"    // its lease ended without a beat
	Unreached  Kind = "unreached"  // the survival check or the proxy could not connect
	Removed    Kind = "removed"    // an admin removed it
	Held       Kind = "held"
	Lifted     Kind = "lifted"
	Drained    Kind = "drained"   // a drain began
	Undrained  Kind = "undrained" // a drain was called off
	Refused    Kind = "refused"   // shows a wrong token
	Rotated    Kind = "rotated"   // the token was rotated
	GraceEnded Kind = "grace_ended"
	Published  Kind = "published" // a config revision
	Enabled    Kind = "enabled"
	Disabled   Kind = "disabled"
	Created    Kind = "created"
	Deleted    Kind = "deleted"
	Conflict   Kind = "conflict" // two processes report one id or one address
)

// Event is one thing that happened. Reason is what a person wrote, or an English message.
type Event struct {
	ID       int64
	At       time.Time
	Node     string
	Instance string
	Location string
	Kind     Kind
	Reason   string
	Account  string // empty: no person did it
	Version  string // of the node's software, where it says something
}

// Filter chooses events; the zero value chooses all. The newest come first.
type Filter struct {
	Node     string   // exact
	Nodes    []string // any of these; nil: all
	Instance string
	Kinds    []Kind
	Query    string // in node, instance, location, reason and account
	From, To time.Time
	Before   int64 // only events with a smaller ID; 0: all
	Page     int   // from 1
	PageSize int
}
