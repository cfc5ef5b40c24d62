package views

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shownStates are the states that can occur without measurements of reachability, in the order of lists.
var shownStates = slices.DeleteFunc(slices.Clone(stateOrder), func(k StateKind) bool {
	return k == StateDown || k == StateSlow || k == StateProbing
})

// Loud reports whether a count of that state deserves its colour.
func (k StateKind) Loud() bool {
	switch k {
	case StateDown, StateOffline, StateSlow, StateProbing:
		return true
	}
	return false
}

// Mark is the state that draws a row's edge: a node that should be up and is not counts as down.
func (k StateKind) Mark() StateKind {
	if k == StateOffline {
		return StateDown
	}
	return k
}

func (c FilterChip) label(ctx context.Context) string {
	if c.Label.Empty() {
		return c.Name
	}
	return c.Label.Text(ctx)
}

func chipsOf(chips []FilterChip, kind string) []FilterChip {
	var out []FilterChip
	for _, c := range chips {
		if c.Kind == kind {
			out = append(out, c)
		}
	}
	return out
}

func (g NodeGroup) title(ctx context.Context) string {
	if g.Code == "" {
		return T(ctx, "nodes.no_group")
	}
	return g.Name
}

// tip is the whole text of a cell that may be cut off.
func (r NodeRow) tip(ctx context.Context) string {
	if r.Verdict.Empty() {
		return r.Display
	}
	return r.Verdict.Text(ctx)
}

// near lists the pages that a pager names; 0 stands for a gap.
func (p Pager) near() []int {
	var out []int
	last := 0
	for n := 1; n <= p.Pages; n++ {
		if n == 1 || n == p.Pages || n >= p.Page-2 && n <= p.Page+2 {
			if n > last+1 {
				out = append(out, 0)
			}
			out = append(out, n)
			last = n
		}
	}
	return out
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func boolText(b bool) string { return strconv.FormatBool(b) }

func itoa(n int) string { return strconv.Itoa(n) }

// Raw64 writes a number that scripts read.
func Raw64(n int64) string { return strconv.FormatInt(n, 10) }

func (in LogInstance) label(ctx context.Context) string {
	label := in.ID
	if in.Location != "" {
		label += "  " + in.Location
	}
	if in.State != StateUp {
		label += ", " + T(ctx, in.State.Key())
	}
	return label
}

// mayBulk reports whether the viewer may do anything with several nodes at once.
func mayBulk(ctx context.Context) bool {
	return May(ctx, "CloudNode@EDIT") || May(ctx, "cloud_node_manager_permission")
}

// columns is how many the table by group has.
func columns(ctx context.Context) int {
	if mayBulk(ctx) {
		return 7
	}
	return 6
}

func orNone(group string) string {
	if group == "" {
		return "-"
	}
	return group
}

// selectable reports whether the viewer may do anything with this very node.
func (r NodeRow) selectable(ctx context.Context) bool {
	return r.May(ctx, "CloudNode@EDIT") || r.May(ctx, "cloud_node_manager_permission")
}

// sum says how an action on several nodes went: "3 of 4 nodes disabled".
func (m BulkResult) sum(ctx context.Context) string {
	total := len(m.Done) + len(m.Failed)
	return T(ctx, "bulk.sum."+m.Action, "count", total, "done", Num(len(m.Done)), "total", Num(total))
}

func joined(names []string) string { return strings.Join(names, ", ") }

// sum says how far a rotation is: who rotated, how many instances still use the token before, until when they may.
func (s TokenState) sum(ctx context.Context) string {
	if len(s.Old) == 0 {
		return T(ctx, "token.sum_none", "who", s.By, "ago", Ago(ctx, s.Rotated), "time", Exact(ctx, s.Until))
	}
	return T(ctx, "token.sum", "who", s.By, "ago", Ago(ctx, s.Rotated), "count", len(s.Old), "n", Num(len(s.Old)), "time", Exact(ctx, s.Until))
}

func iso(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// What stands on pages as it is, in every language.
const (
	registerPath = "/erupt-cloud-api/register-node"
	tokenCode    = "cloud_access_token_permission"
)
