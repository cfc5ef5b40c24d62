package console

import (
	"cmp"
	"slices"

	"eruptcloud/app/fleet"
	"eruptcloud/views"
)

// groupTree is the group tree in the order in which people read it: each group before those below it, siblings by name.
type groupTree struct {
	byCode   map[string]fleet.Group
	byID     map[int64]fleet.Group
	children map[int64][]fleet.Group
	sorted   []treeGroup
	places   map[string]int
}

type treeGroup struct {
	fleet.Group
	depth int
}

func newGroupTree(groups []fleet.Group) *groupTree {
	t := &groupTree{
		byCode: map[string]fleet.Group{}, byID: map[int64]fleet.Group{}, children: map[int64][]fleet.Group{}, places: map[string]int{},
	}
	groups = slices.Clone(groups)
	slices.SortFunc(groups, func(a, b fleet.Group) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Code, b.Code))
	})
	for _, g := range groups {
		t.byCode[g.Code], t.byID[g.ID] = g, g
	}
	for _, g := range groups {
		parent := g.ParentID
		if _, ok := t.byID[parent]; !ok {
			parent = 0
		}
		t.children[parent] = append(t.children[parent], g)
	}
	t.walk(0, 0)
	for _, g := range groups { // a ring, which only a foreign hand can have made, would otherwise vanish
		if _, ok := t.places[g.Code]; !ok {
			t.place1(g, 0)
		}
	}
	return t
}

func (t *groupTree) walk(parent int64, depth int) {
	for _, g := range t.children[parent] {
		if _, ok := t.places[g.Code]; ok {
			continue
		}
		t.place1(g, depth)
		t.walk(g.ID, depth+1)
	}
}

func (t *groupTree) place1(g fleet.Group, depth int) {
	t.places[g.Code] = len(t.sorted)
	t.sorted = append(t.sorted, treeGroup{Group: g, depth: depth})
}

// name is a group's name, its code where it has none, and empty for no group.
func (t *groupTree) name(code string) string {
	if g, ok := t.byCode[code]; ok && g.Name != "" {
		return g.Name
	}
	return code
}

// order lists all codes.
func (t *groupTree) order() []string {
	out := make([]string, 0, len(t.sorted))
	for _, g := range t.sorted {
		out = append(out, g.Code)
	}
	return out
}

// place sorts groups as the tree does; no group comes last.
func (t *groupTree) place(code string) int {
	if i, ok := t.places[code]; ok {
		return i
	}
	return len(t.sorted)
}

// holds reports whether group, or one above it, has that code; "-" stands for no group.
func (t *groupTree) holds(code, group string) bool {
	if code == "-" {
		return group == ""
	}
	for range len(t.sorted) + 1 {
		if group == "" {
			return false
		}
		if group == code {
			return true
		}
		group = t.byID[t.byCode[group].ParentID].Code
	}
	return false
}

// options are the groups to choose from, without some and those below them.
func (t *groupTree) options(without string) []views.GroupOption {
	var out []views.GroupOption
	for _, g := range t.sorted {
		if without == "" || !t.holds(without, g.Code) {
			out = append(out, views.GroupOption{Code: g.Code, Name: t.name(g.Code), Depth: g.depth})
		}
	}
	return out
}

// groupSide is the side list: each group with the nodes in it and below it, and how many of them need attention.
func groupSide(states []*nodeState, t *groupTree, q views.NodeQuery) views.GroupSide {
	m := views.GroupSide{All: len(states)}
	if len(q.Groups) == 1 {
		m.Current = q.Groups[0]
	}
	own, all := map[string]*groupTally{}, map[string]*groupTally{}
	for _, s := range states {
		tallyOf(own, s.node.Group).add(s)
	}
	for group, tally := range own {
		for code, up := group, 0; code != "" && up <= len(t.sorted); up++ {
			tallyOf(all, code).join(tally)
			code = t.byID[t.byCode[code].ParentID].Code
		}
	}
	m.None = tallyOf(own, "").nodes
	for _, g := range t.sorted {
		sum := tallyOf(all, g.Code)
		m.Items = append(m.Items, views.GroupItem{
			Code: g.Code, Name: t.name(g.Code), Depth: g.depth, Nodes: sum.nodes, Attention: sum.attention, Worst: sum.worst,
		})
	}
	return m
}

// groupTally counts the nodes of a group, and those of them that need attention.
type groupTally struct {
	nodes, attention int
	worst            views.StateKind
}

func tallyOf(all map[string]*groupTally, code string) *groupTally {
	if all[code] == nil {
		all[code] = &groupTally{}
	}
	return all[code]
}

func (g *groupTally) add(s *nodeState) {
	g.nodes++
	if s.kind != views.StateUp && !s.kind.Dim() {
		g.join(&groupTally{attention: 1, worst: s.kind})
	}
}

func (g *groupTally) join(other *groupTally) {
	g.nodes += other.nodes
	g.attention += other.attention
	if g.worst == "" || other.worst != "" && other.worst.Rank() < g.worst.Rank() {
		g.worst = other.worst
	}
}
