package views

import (
	"context"
	"sort"
	"strings"
	"time"
)

// NodeRow is one node as lists show it.
type NodeRow struct {
	Name, Display    string
	Group, GroupName string // code and name; empty: none
	State            StateKind
	Verdict          Say // what is wrong; empty: nothing, and the display name stands beside the name
	Up, Total        int // instances in routing, and registered
	Versions         []VersionCount
	Beat             time.Time // newest heartbeat of its instances; zero: none
	Enabled          bool
	HasLog           bool     // an instance is registered and has told its version
	Addresses        []string // of its instances, the first few
	// Can answers for a viewer whose rights end at some groups what he may do with this node; nil: whatever he may do at all.
	Can func(code string) bool
}

// May reports whether the viewer holds a permission code for this very node.
func (r NodeRow) May(ctx context.Context, code string) bool {
	if r.Can != nil {
		return r.Can(code)
	}
	return May(ctx, code)
}

// VersionCount says how many instances run a version.
type VersionCount struct {
	Version string
	Count   int
}

// versionText writes the versions of a node, the most frequent first: "2.3.0 + 2.2.0".
func versionText(v []VersionCount) string {
	names := make([]string, 0, len(v))
	for _, c := range v {
		names = append(names, c.Version)
	}
	return strings.Join(names, " + ")
}

// versionDetail writes them with their numbers: "3 × 2.3.0, 1 × 2.2.0".
func versionDetail(v []VersionCount) string {
	names := make([]string, 0, len(v))
	for _, c := range v {
		names = append(names, Num(c.Count)+" × "+c.Version)
	}
	return strings.Join(names, ", ")
}

// CountVersions counts and orders versions; an instance that told none counts as none.
func CountVersions(versions []string) []VersionCount {
	counts := map[string]int{}
	for _, v := range versions {
		if v != "" {
			counts[v]++
		}
	}
	out := make([]VersionCount, 0, len(counts))
	for v, n := range counts {
		out = append(out, VersionCount{Version: v, Count: n})
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Count != out[j].Count {
			return out[i].Count > out[j].Count
		}
		return out[i].Version > out[j].Version
	})
	return out
}

// NodeGroup is a run of rows below one group's heading. Code is empty for nodes without a group, and with Flat there is
// no heading at all.
type NodeGroup struct {
	Code, Name string
	Nodes      int // of the whole group, also those on other pages
	Count      map[StateKind]int
	Rows       []NodeRow
	Flat       bool
	Shut       bool   // collapsed: only its heading is shown
	FoldPath   string // of the list with the group collapsed, or opened again
}

// Attention is how many of its nodes are neither up nor expected to be away.
func (g NodeGroup) Attention() (n int) {
	for s, count := range g.Count {
		if s != StateUp && !s.Dim() {
			n += count
		}
	}
	return n
}

// summary lists the group's states worst first, as "1 unreachable, 3 reachable".
func (g NodeGroup) summary(ctx context.Context) []groupCount {
	var out []groupCount
	for _, s := range stateOrder {
		if n := g.Count[s]; n > 0 {
			out = append(out, groupCount{State: s, Text: T(ctx, "count."+string(s), "count", n, "n", Num(n))})
		}
	}
	return out
}

type groupCount struct {
	State StateKind
	Text  string
}

// stateOrder is worst first; lists are sorted by it, and counts stand in its order. Of what nobody expects to run nothing is wrong:
// it comes last.
var stateOrder = []StateKind{
	StateDown, StateOffline, StateSlow, StateProbing, StateDraining, StateHeld, StateUp, StateDisabled, StateNever,
}

// Rank returns the place of a state in lists that show the worst first.
func (k StateKind) Rank() int {
	for i, s := range stateOrder {
		if s == k {
			return i
		}
	}
	return len(stateOrder)
}

// NodeList is the page of all nodes.
type NodeList struct {
	Fleet     Fleet
	Instances int // registered, of all nodes
	UpCount   int // of them in routing
	Filter    NodeQuery
	Groups    []NodeGroup
	Pager     Pager
	Matches   int // nodes that fit the filter
	Chips     []FilterChip
	Side      GroupSide
	Said      string
	Server    string // address of this server for snippets
	Flat      bool   // worst first over all groups
	Cards     bool
	Places    []GroupOption // where selected nodes may be moved to
	MustPlace bool          // not out of all groups
	Hidden    bool          // there are nodes, and none is the viewer's
	First     FirstRun
	// Swapped: this is put in the place of a list by a search or a filter, so that parts outside of it travel along.
	Swapped bool
}

// Names are those of the rows that are shown.
func (m NodeList) Names() map[string]bool {
	out := map[string]bool{}
	for _, g := range m.Groups {
		for _, r := range g.Rows {
			out[r.Name] = true
		}
	}
	return out
}

// FilterChip is a filter that can be switched on and off.
type FilterChip struct {
	Kind  string // "state", "group", "version", "enabled"
	Label Say    // what it filters, when it is no name
	Name  string // or the name itself
	Count int
	On    bool
	Path  string // of the list with the chip switched
}

// Pager says which part of a list a page shows.
type Pager struct {
	Page, Pages, Size, Total int
	// Path returns the path of a page.
	Path func(page, size int) string
	// Sizes are the page sizes on offer; empty: it cannot be chosen.
	Sizes []int
}

// From and To are the numbers of the first and the last row shown, from 1.
func (p Pager) From() int { return (p.Page-1)*p.Size + 1 }

// To is the number of the last row shown.
func (p Pager) To() int { return min(p.Page*p.Size, p.Total) }

// Paged returns the pager of a page that may lie past the end: then it is the last one (U14).
func Paged(page, size, total int, path func(page, size int) string) Pager {
	pages := max((total+size-1)/size, 1)
	return Pager{Page: min(max(page, 1), pages), Pages: pages, Size: size, Total: total, Path: path, Sizes: PageSizes}
}

// PageSizes are the sizes that lists offer.
var PageSizes = []int{25, 50, 100, 200, 500}

// GroupSide is the side list of the node list: the groups as a tree, with what needs attention in each.
type GroupSide struct {
	All   int
	Items []GroupItem
	None  int // nodes without a group
	// Current is the code of the group that is filtered for; "-" for nodes without one.
	Current string
}

// GroupItem is one group in a side list, in tree order.
type GroupItem struct {
	Code, Name string
	Depth      int
	Nodes      int // with those of groups below it
	Attention  int // of them neither up, nor disabled, nor never seen
	Worst      StateKind
}

// FirstRun is what the page of an empty installation shows beside the form.
type FirstRun struct {
	Fields
	Name, Group string
	Account     string // who looks
	Groups      []GroupOption
	MustPlace   bool
	Strangers   []Stranger
}

// Stranger is a process that reports under a name that no node has.
type Stranger struct {
	Name, Address string
	Since         time.Time
}

// BulkResult says how an action on several nodes went, one by one.
type BulkResult struct {
	Action string // "enable", "disable", "hold", "drain", "move"
	Done   []string
	Failed []BulkFailure
	Back   string
}

// BulkFailure is a node that an action failed for.
type BulkFailure struct{ Node, Message string }
