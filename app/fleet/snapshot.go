package fleet

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// profile is a node with what never leaves the package.
type profile struct {
	Node
	token, oldToken string    // plain; empty if none or if it cannot be opened
	oldUntil        time.Time // end of the grace of oldToken
	rotated         time.Time // when token came, zero if it is the first
	rotatedBy       string
	tokenError      string // why a token could not be opened
	sortKey         string
}

// tokens returns the valid tokens: the current one, and the one before while its grace lasts.
func (p *profile) tokens(now time.Time) []string {
	var out []string
	if p.token != "" {
		out = append(out, p.token)
	}
	if p.oldToken != "" && now.Before(p.oldUntil) {
		out = append(out, p.oldToken)
	}
	return out
}

type holdKey struct{ node, location string }

type drainKey struct{ node, instance string }

// snapshot is what the memory holds at one moment. It is never changed, only replaced.
type snapshot struct {
	nodes  map[string]*profile // by exact name
	sorted []*profile
	groups map[string]*Group // by code
	byID   map[int64]*Group
	holds  map[holdKey]Hold
	drains map[drainKey]Drain

	number uint64 // of each snapshot that was ever in place, from 1

	effective sync.Map // node name → Effective, made on demand
}

// index fills what follows from nodes and groups.
func (s *snapshot) index() *snapshot {
	s.byID = make(map[int64]*Group, len(s.groups))
	for _, g := range s.groups {
		s.byID[g.ID] = g
	}
	s.sorted = slices.SortedFunc(maps.Values(s.nodes), func(a, b *profile) int {
		if c := strings.Compare(a.sortKey, b.sortKey); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return s
}

// chain returns the groups of a node from the root down. A cycle, which only a foreign hand can have made, is cut.
func (s *snapshot) chain(groupID int64) []*Group {
	var out []*Group
	seen := map[int64]bool{}
	for g := s.byID[groupID]; g != nil && !seen[g.ID]; g = s.byID[g.ParentID] {
		seen[g.ID] = true
		out = append(out, g)
	}
	slices.Reverse(out)
	return out
}

// below reports whether the group with this id is the one with the code, or below it.
func (s *snapshot) below(groupID int64, code string) bool {
	return slices.ContainsFunc(s.chain(groupID), func(g *Group) bool { return g.Code == code })
}

// differences lists what is not the same in two snapshots.
func differences(old, next *snapshot) []change {
	var out []change
	for kind, ids := range map[string][]string{
		kindNode:  differing(old.nodes, next.nodes),
		kindGroup: differing(old.groups, next.groups),
	} {
		for _, id := range ids {
			out = append(out, change{Kind: kind, ID: id})
		}
	}
	for node := range nodesOf(old.holds, next.holds, func(k holdKey) string { return k.node }) {
		out = append(out, change{Kind: kindHold, ID: node})
	}
	for node := range nodesOf(old.drains, next.drains, func(k drainKey) string { return k.node }) {
		out = append(out, change{Kind: kindDrain, ID: node})
	}
	return out
}

// nodesOf are the nodes for which two maps of orders differ.
func nodesOf[K, V comparable](old, next map[K]V, nodeOf func(K) string) map[string]bool {
	out := map[string]bool{}
	for k, v := range old {
		if w, still := next[k]; !still || w != v {
			out[nodeOf(k)] = true
		}
	}
	for k := range next {
		if _, known := old[k]; !known {
			out[nodeOf(k)] = true
		}
	}
	return out
}

func differing[V any](old, next map[string]*V) []string {
	var out []string
	for k, v := range old {
		if w := next[k]; w == nil || (v != w && !reflect.DeepEqual(v, w)) {
			out = append(out, k)
		}
	}
	for k := range next {
		if old[k] == nil {
			out = append(out, k)
		}
	}
	return out
}
