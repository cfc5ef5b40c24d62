// Package proxy forwards a browser's request to the right instance of a node, and offers the same way to callers inside
// the process. It imports nothing of the server: what it needs to know it asks through the interfaces in this file.
package proxy

import (
	"context"
	"time"

	"eruptcloud/nodeagent/wire"
)

// Upstream is one location that a request may go to, with the token that its instance last registered with.
type Upstream struct {
	Location string // base URL without trailing slash
	Instance string // instance id
	Token    string // value of Access-Token for this instance
}

// Target is a node as the proxy sees it.
type Target struct {
	Node       string      // spelling of the profile
	Version    string      // version of its newest instance
	Upstreams  []Upstream  // in routing order: the first is the choice, the rest are candidates for failover
	RawSession bool        // send the session's own token
	Skipped    []Candidate // the node's other locations and why they take no requests, for traces; may be empty
}

// Directory knows nodes and their instances.
type Directory interface {
	// Lookup returns the target for one request; each call turns the node's rotation by one. A *Failure with
	// NodeNotReady if the node is disabled, unknown to the registry, or has no usable instance; what is known of its
	// locations may stand in Skipped all the same.
	Lookup(node string) (Target, error)
	// Known reports whether a profile of that name exists, whatever its state.
	Known(node string) bool
	// Evict takes a location that could not be connected to out of routing. Best effort, returns at once.
	Evict(ctx context.Context, node, location string)
}

// Locator is a Directory that also finds instances which take no part in routing (held, draining), so that their log can
// be read.
type Locator interface {
	// At returns the target with one location of node, whatever its state.
	At(node, location string) (Target, error)
}

// Lister is a Directory that knows the pages of its nodes.
type Lister interface {
	// Names lists the full names of all erupts that nodes offer at this moment, sorted.
	Names() []string
}

// Function is what a request wants to do with an erupt; it is also the suffix of the permission code.
type Function string

// The functions. None needs only the erupt's own code.
const (
	None       Function = ""
	Add        Function = "ADD"
	Edit       Function = "EDIT"
	Delete     Function = "DELETE"
	Export     Function = "EXPORT"
	Importable Function = "IMPORTABLE"
	ViewDetail Function = "VIEW_DETAIL" // or EDIT
	AddOrEdit  Function = "ADD|EDIT"    // form pages
)

// Wish is what a request asks for, read from validated parts only.
type Wish struct {
	Token       string   // session token, from header, cookie or, on PARAM endpoints, query
	Node        string   // spelling of the profile
	Erupt       string   // simple name; empty for templates and attachments
	Parent      string   // simple name of the page that authorises Erupt; empty: Erupt itself
	DrillSource string   // simple name; empty: no drill
	Drill       string   // drill code
	Template    string   // path after /erupt-api/tpl/, for template pages
	Attachment  string   // path of a file of the node; Erupt is then the page that shows it, if the request says so
	Log         bool     // the node's log
	Function    Function // what it does
	Write       bool     // changes something on the node
}

// User is who a request acts for.
type User struct {
	wire.User
	Token     string // the session's own token
	Delegated string // handle that stands for the session at one node
}

// Gate decides.
type Gate interface {
	// Admit returns the user. A *Failure with Unauthenticated or Forbidden otherwise; with Forbidden the user says who asked.
	Admit(ctx context.Context, w Wish) (User, error)
}

// Judge is a Gate that can name its rules.
type Judge interface {
	// Required returns the permission code that a wish needs first, empty where a session is enough. The token is not
	// looked at.
	Required(w Wish) string
}

// Names are the fields that a request's body asks for. Each has the form of a Java name.
type Names struct {
	Field string   // not empty: asked is the class behind this field
	Sort  []string // what to sort by: a field, or a field and a column of the class behind it
	Keys  []string // what to search by
}

// Examiner is a Gate that knows the fields of pages.
type Examiner interface {
	// Examine refuses, with Invalid, names that may not be asked for. w was admitted, for the user as.
	Examine(ctx context.Context, w Wish, as User, n Names) error
}

// Models gives the build models that Gate and the console need; the proxy fetches, the caller caches.
type Models interface {
	// Model returns the raw build document of node's erupt as the node sent it.
	Model(ctx context.Context, node, erupt string, as User) ([]byte, error)
}

// Entry is what Recorder keeps of one forwarded request.
type Entry struct {
	At        time.Time
	User      User
	Address   string
	Wish      Wish
	Method    string
	Path      string
	Location  string // where it went last
	Tried     []Attempt
	Status    int
	Error     string // body of an answer that is no 200, shortened
	Params    []byte // JSON body of a write, up to a limit
	Took      time.Duration
	RequestID string
}

// Attempt is one location that was tried.
type Attempt struct {
	Location string
	Error    string // empty: it answered
	Took     time.Duration
}

// Standing is how one location of a node stands towards routing.
type Standing string

// The standings.
const (
	Routed   Standing = "routed"   // takes requests
	Held     Standing = "held"     // an admin keeps it out
	Draining Standing = "draining" // it is leaving, or an admin drains it
	Evicted  Standing = "evicted"  // refused a connection, and is out until it beats again
)

// Candidate is one location of a node with the reason why it takes requests or does not (D11).
type Candidate struct {
	Location, Instance string
	Standing           Standing
	Why                string // the reason that an admin gave, in his words; may be empty
	By                 string // account of that admin
	Since              time.Time
}

// Explainer is a Directory that says for each location of a node whether it takes requests, and why not (D11).
type Explainer interface {
	// Candidates lists them, those that take requests first and in the order of the next turn, which it does not take.
	// Enabled is the profile's switch.
	Candidates(node string) (all []Candidate, enabled bool)
	// Peek is Lookup without the turn.
	Peek(node string) (Target, error)
}

// Decision is what the gate said.
type Decision struct {
	Allowed  bool
	Account  string // who asked; empty without a session
	Required string // the permission code that was asked for; empty: a session is enough
	Because  string // why it was refused, English
}

// Trace is the way of one request: permission, choice, attempts, outcome, times (D11). It holds neither tokens nor bodies.
type Trace struct {
	ID         string // request id
	At         time.Time
	Node       string
	Erupt      string // simple name, may be empty
	Method     string
	Path       string // as the caller sent it, without query
	Function   Function
	Write      bool
	Decision   Decision
	Candidates []Candidate   // of the moment, at most 32; the first routed one was the choice
	More       int           // candidates beyond those
	Tried      []Attempt     // in order; Took is the time until it answered or failed
	Location   string        // which answered; empty: none
	Status     int           // what the caller got
	Failure    Kind          // empty: the node's answer was passed on whole
	Message    string        // of the failure, English
	Retry      Retry         // why it was or was not tried elsewhere
	Waited     time.Duration // until the node's answer began
	Took       time.Duration // in all
	Dry        bool          // a dry run: nothing was sent
	Own        bool          // a dry run of what the server answers itself: no node is asked
}

// Retry says why a request was or was not tried at another location.
type Retry = string

// The values of Trace.Retry; empty: nothing was sent, or the client left.
const (
	RetryRefused  Retry = "refused"           // a location could not be connected to, so the next was asked; one answered
	RetryMissing  Retry = "missing"           // a location did not have the file, so the next was asked
	RetrySent     Retry = "sent"              // it failed after a connection: the node may have done the work
	RetryAnswered Retry = "answered"          // the first location answered
	RetryNoneLeft Retry = "none_left"         // no location could be connected to
	RetryBodyRead Retry = "refused_body_read" // not connected to, but a part of the body was gone
)

// InFlight is how many requests a location works on at this moment, through this process.
type InFlight struct {
	Location string
	Count    int       // streams and upgraded connections among them
	Streams  int       // those of Count that are answers of unknown length or upgraded connections
	Oldest   time.Time // when the oldest of them began; zero: none
}

// Recorder keeps entries; Record never blocks.
type Recorder interface{ Record(e Entry) }

// Kind names a way to fail; whoever mounts the handler turns it into an answer.
type Kind string

// The kinds, spelled like the server's error codes.
const (
	Invalid             Kind = "invalid"
	Unauthenticated     Kind = "unauthenticated"
	Forbidden           Kind = "forbidden"
	NotFound            Kind = "not_found"
	MethodNotAllowed    Kind = "method_not_allowed"
	TooLarge            Kind = "too_large"
	NodeNotReady        Kind = "node_not_ready"
	UpstreamUnreachable Kind = "upstream_unreachable"
	UpstreamTimeout     Kind = "upstream_timeout"
	ClientGone          Kind = "client_gone"
	Broken              Kind = "internal"
)

// Failure is a refusal or a failed attempt.
type Failure struct {
	Kind    Kind
	Format  string // English message as a format, also its key in translations
	Args    []any
	Cause   error // for the log only
	Tried   []Attempt
	Retried bool

	Required string // with Forbidden: the permission code that is missing; may be empty
}
