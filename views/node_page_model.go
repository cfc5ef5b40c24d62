package views

import (
	"context"
	"strconv"
	"time"
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
	TabSettings  = "/settings"
)

// NodeHead is what all tabs of a node's page have in common.
type NodeHead struct {
	NodeRow
	Tab    string
	Side   NodeSideModel
	Pages  int // pages that its instances host
	Rev    int64
	Left   Say // why the last instance left, if that was lately
	Holds  []HoldView
	Said   string
	Server string // address of this server for snippets
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
	Conflict         bool // another instance claims one of its addresses
}

// NodeInstances is the tab of a node's instances, and the table on its overview.
type NodeInstances struct {
	NodeHead
	Instances []InstanceRow
	// Absent are holds whose address no instance has at present.
	Absent []HoldView
	Pager  Pager
}

// NodeOverview is a node's first tab.
type NodeOverview struct {
	NodeInstances
	Node    NodeFacts
	Erupts  []PageLink
	Connect SnippetModel
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
}

// NodePages is the tab of a node's pages.
type NodePages struct {
	NodeHead
	Links   []PageLink
	Modules []string
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
	case h.Up == 0 && h.State == StateHeld:
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
