package console

import (
	"cmp"
	"slices"

	"eruptcloud/views"
)

// boolRank puts true first.
func boolRank(b bool) int {
	if b {
		return 0
	}
	return 1
}

func orNone(group string) string {
	if group == "" {
		return "-"
	}
	return group
}

// groupCounts counts the states in each group.
func groupCounts(states []*nodeState) map[string]map[views.StateKind]int {
	out := map[string]map[views.StateKind]int{}
	for _, s := range states {
		g := out[s.node.Group]
		if g == nil {
			g = map[views.StateKind]int{}
			out[s.node.Group] = g
		}
		g[s.kind]++
	}
	return out
}

// sortNodes puts the worst first: groups by their worst node, nodes within them; flat ignores groups. Nodes without a
// group come last among equals.
func sortNodes(states []*nodeState, counts map[string]map[views.StateKind]int, tree *groupTree, flat bool) {
	worst := map[string]int{}
	for g, c := range counts {
		worst[g] = worstOf(c).Rank()
	}
	slices.SortFunc(states, func(a, b *nodeState) int {
		own := cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(missing(b), missing(a)), cmp.Compare(len(b.refused), len(a.refused)),
			cmp.Compare(a.node.Name, b.node.Name))
		if flat || a.node.Group == b.node.Group {
			return own
		}
		return cmp.Or(cmp.Compare(worst[a.node.Group], worst[b.node.Group]),
			cmp.Compare(tree.place(a.node.Group), tree.place(b.node.Group)), cmp.Compare(a.node.Group, b.node.Group), own)
	})
}

// missing is the number of instances that are not in routing.
func missing(s *nodeState) int { return len(s.instances) - s.up }

// worstOf is the state that decides a group's place; nodes that nobody expects to run do not move it up.
func worstOf(c map[views.StateKind]int) views.StateKind {
	worst := views.StateUp
	for k, n := range c {
		if n > 0 && !k.Dim() && k.Rank() < worst.Rank() {
			worst = k
		}
	}
	return worst
}

// grouped cuts one page out of sorted nodes, group by group. Only the nodes of open groups take places; the heading of a
// collapsed one stands where its nodes would begin.
func grouped(found []*nodeState, counts map[string]map[views.StateKind]int, tree *groupTree, shut []string, page views.Pager) []views.NodeGroup {
	var out []views.NodeGroup
	from, to, last := page.From()-1, page.To(), page.Page == page.Pages
	before := 0 // open rows before this group
	for start := 0; start < len(found); {
		code := found[start].node.Group
		own := found[start : start+sum(counts[code])]
		start += len(own)
		g := views.NodeGroup{Code: code, Name: tree.name(code), Count: counts[code], Nodes: len(own), Shut: slices.Contains(shut, orNone(code))}
		if g.Shut {
			if before >= from && (before < to || last) {
				out = append(out, g)
			}
			continue
		}
		lo, hi := max(from-before, 0), min(to-before, len(own))
		if before += len(own); lo < hi {
			g.Rows = rowsOf(own[lo:hi], tree)
			out = append(out, g)
		}
	}
	return out
}
