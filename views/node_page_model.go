package views

import (
	"context"
	"strconv"
	"time"

	"github.com/a-h/templ"
)

// NodeSideModel is the list of nodes beside one node.
type NodeSideModel struct {
	Group, GroupName string
	Current          string
	Sub              string // tab that the links keep, "" or "/config"
	Nodes            []NodeLink
	More             int // nodes of the group that are not listed
}

// NodeLink is a node in a side list.
type NodeLink struct {
	Name  string
	State StateKind
}

func (m NodeSideModel) groupPath() string {
	code := m.Group
	if code == "" {
		code = "-"
	}
	return NodeQuery{Groups: []string{code}}.Path()
}

// The tabs of a node's page; each is its own address.
const (
	TabOverview  = ""
	TabInstances = "/instances"
	TabConfig    = "/config"
	TabPages     = "/pages"
	TabLog       = "/log"
	TabEvents    = "/events"
	TabSettings  = "/settings"
)

// NodeHead is what all tabs of a node's page have in common.
type NodeHead struct {
	NodeRow
	Tab     string
	Side    NodeSideModel
	Tree    *ConfigSide // of all configurations, on the tab of this one's; nil: the nodes of the group
	Pages   int         // pages that its instances host
	Rev     int64
	Left    Say // why the last instance left, if that was lately
	Holds   []HoldView
	Leaving int // instances that drain
	Said    string
	Server  string // address of this server for snippets
	// Instance is the one that the page shows; empty: all.
	Instance  string
	Instances []InstanceLink // to switch to
	Refused   []RefusalView
	Token     TokenState
	CanDrain  bool // the server knows how
	HasEvents bool // the server keeps what happened
	HasRoute  bool // and where requests went
}

// side is the list beside the page.
func (h NodeHead) side() templ.Component {
	if h.Tree != nil {
		return ConfigSideList(*h.Tree)
	}
	return NodeSide(h.Side)
}

// InstanceLink is an instance in the switcher.
type InstanceLink struct {
	ID, Address string
	State       StateKind
}

// RefusalView is somebody who shows a wrong token for the node.
type RefusalView struct {
	Address     string
	Since, Last time.Time
	Count       int
}

// TokenState says of a node's token what is left of the one before.
type TokenState struct {
	Known   bool // the server rotates tokens
	Grace   bool // the token before is still accepted
	Rotated time.Time
	By      string
	Until   time.Time
	Old     []OldToken // instances that registered with the token before, the longest first
}

// OldToken is an instance that still uses the token before the last rotation.
type OldToken struct {
	Instance string
	Since    time.Time
}

// DrainView is an instance on its way out of routing.
type DrainView struct {
	Instance        string
	Ordered         bool // by an admin; else the instance said so itself
	Reason, Account string
	Since           time.Time
	Measured        bool // the server counts what is in flight
	Known           bool // all replicas have told their number
	Count, Streams  int
	Oldest          time.Time
}

// Safe reports whether the process may be stopped: nothing is in flight on any replica.
func (d DrainView) Safe() bool { return d.Measured && d.Known && d.Count == 0 }

// NodeDrains is the panel of the drains of one node.
type NodeDrains struct {
	NodeHead
	Drains []DrainView
}

// InstancePage is one instance with all that is known of it.
type InstancePage struct {
	NodeHead
	Row        InstanceRow
	Drains     NodeDrains
	Lease      time.Duration
	Updated    time.Time
	Modules    []string
	Erupts     []PageLink
	MoreErupts int
	Moved      []string // the addresses before it moved
	MovedAt    time.Time
	Events     []EventRow
}

// EventRow is one thing that happened.
type EventRow struct {
	ID                 int64
	At                 time.Time
	Kind               string
	Instance, Location string
	Reason, Account    string
	Version            string
}

// NodeEvents is the tab of what happened to a node.
type NodeEvents struct {
	NodeHead
	Query  EventQuery
	Rows   []EventRow
	Pager  Pager
	Kinds  []FilterChip
	Newest int64 // id of the newest event that fits, to ask for newer ones
}

// NodeArrival says whether a new node's first process has arrived.
type NodeArrival struct {
	Name      string
	State     StateKind
	Instances []InstanceLink
	Refused   []RefusalView
}

// HoldView is an admin's order to keep an address out of routing.
type HoldView struct {
	Location, Reason, Account string
	Since                     time.Time
}

// InstanceRow is one instance.
type InstanceRow struct {
	ID               string
	State            StateKind // up, draining or held
	Locations        []string
	Version, Peer    string
	Beat, Registered time.Time
	DrainUntil       time.Time
	Holds            []HoldView
	Conflict         bool       // another instance claims one of its addresses
	Drain            *DrainView // it is draining
	OldToken         bool       // it registered with the token before the last rotation
	Last             bool       // no other instance of the node is in routing
}

// NodeInstances is the tab of a node's instances, and the table on its overview.
type NodeInstances struct {
	NodeHead
	Instances []InstanceRow
	// Absent are holds whose address no instance has at present.
	Absent []HoldView
	Drains []DrainView
	Pager  Pager
}

// NodeOverview is a node's first tab.
type NodeOverview struct {
	NodeInstances
	Node    NodeFacts
	Erupts  []PageLink
	Connect SnippetModel
	Events  []EventRow // the last few
}

// NodeFacts are the profile's fields, as the overview and the settings show them.
type NodeFacts struct {
	Display, Group, Remark string
	Duty                   []string
	Core, RawSession       bool
	Enabled                bool
	Created, Updated       time.Time
	UpdatedBy              string
	FirstSeen              time.Time
}

// PageLink is a page that a node hosts. Path is empty if the viewer may not open it.
type PageLink struct {
	Erupt, Path string
	Offer       PageOffer
	Missing     bool // the node announces it and does not host it
}

// NodePages is the tab of a node's pages.
type NodePages struct {
	NodeHead
	Links     []PageLink
	Modules   []string
	Resources []Resource
	Check     bool // the node can be asked which of them it hosts
	Checked   bool // it was
}

// Resource is what modules of a node contribute beside pages, under a name of theirs.
type Resource struct {
	Name   string
	Values []string
}

// instanceAnchor is the id of an instance's row. Ids of instances are chosen by nodes and may hold anything.
func instanceAnchor(id string) string { return "instance-" + id }

// NodeHeadline says in one sentence how a node is.
func NodeHeadline(ctx context.Context, h NodeHead) []Part {
	held := len(h.Holds)
	var say Say
	switch {
	case h.State == StateDisabled:
		say = Sayf("headline.node.disabled")
	case h.State == StateNever:
		say = Sayf("headline.node.never")
	case h.State == StateOffline && !h.Left.Empty():
		say = Sayf("headline.node.left", "why", h.Left)
	case h.State == StateOffline:
		say = Sayf("headline.node.off")
	case h.Up == 0 && h.State == StateHeld && h.Leaving == 0:
		say = Sayf("headline.node.all_held", "count", h.Total, "n", Word(ctx, h.Total))
	case h.Up == 0:
		say = Sayf("headline.node.all_drain", "count", h.Total, "n", Word(ctx, h.Total))
	case h.Up < h.Total && held > 0:
		return h.upOf(ctx, "headline.node.some_held", "who", h.Holds[0].Account, "why", h.Holds[0].reason(ctx))
	case h.Up < h.Total:
		return h.upOf(ctx, "headline.node.some_drain")
	case h.Total == 1:
		say = Sayf("headline.node.one")
	default:
		return partsOf(upper(T(ctx, "headline.node.all", "count", h.Total, "n", linked(Word(ctx, h.Total), NodePath(h.Name, TabInstances)))))
	}
	return partsOf(upper(clean(say.Text(ctx))))
}

// upOf fills a sentence of the form "three of four instances are in routing, one is held by …".
func (h NodeHead) upOf(ctx context.Context, key string, more ...any) []Part {
	out := h.Total - h.Up
	args := []any{"count", out, "out", linked(Word(ctx, out), NodePath(h.Name, TabInstances)), "total", Word(ctx, h.Total)}
	for i := 0; i+1 < len(more); i += 2 {
		args = append(args, more[i], clean(more[i+1].(string)))
	}
	return partsOf(upper(T(ctx, key, args...)))
}

func (v HoldView) reason(ctx context.Context) string {
	if v.Reason == "" {
		return T(ctx, "hold.no_reason")
	}
	return v.Reason
}

// depthClass indents an entry of a tree; deeper than five levels stays at five.
func depthClass(depth int) string { return "d" + strconv.Itoa(min(max(depth, 0), 5)) }
