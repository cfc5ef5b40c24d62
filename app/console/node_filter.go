package console

import (
	"cmp"
	"slices"
	"strings"

	"eruptcloud/views"
)

func matches(s *nodeState, q views.NodeQuery, tree *groupTree) bool {
	if len(q.States) > 0 && !slices.Contains(q.States, string(s.kind)) {
		return false
	}
	if q.Enabled != "" && (q.Enabled == "1") != s.node.Enabled {
		return false
	}
	if len(q.Groups) > 0 && !slices.ContainsFunc(q.Groups, func(code string) bool { return tree.holds(code, s.node.Group) }) {
		return false
	}
	if len(q.Versions) > 0 && !slices.ContainsFunc(s.versions(), func(v views.VersionCount) bool {
		return slices.Contains(q.Versions, v.Version)
	}) {
		return false
	}
	return q.Text == "" || s.mentions(q.Text, tree)
}

// mentions reports whether every word of a search occurs somewhere in what is known of a node.
func (s *nodeState) mentions(text string, tree *groupTree) bool {
	all, group := s.hay(), strings.ToLower(tree.name(s.node.Group))
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		if !strings.Contains(all, word) && !strings.Contains(group, word) {
			return false
		}
	}
	return true
}

// text is what is known of a node but for the name of its group, in lower case.
func (s *nodeState) text() string {
	hay := []string{s.node.Name, s.node.Display, s.node.Group, s.node.Remark}
	hay = append(hay, s.node.Duty...)
	for _, i := range s.instances {
		hay = append(hay, i.ID)
		hay = append(hay, i.Locations...)
		if i.Node != nil {
			hay = append(hay, i.Node.Version)
			hay = append(hay, i.Node.Modules...) // the tags that a node gives itself
		}
	}
	return strings.ToLower(strings.Join(hay, "\n"))
}

// chips are the filters that the list offers, with how many nodes each would show.
func chips(states []*nodeState, tree *groupTree, q views.NodeQuery) []views.FilterChip {
	groups, versions := map[string]int{}, map[string]int{}
	enabled := 0
	for _, s := range states {
		groups[orNone(s.node.Group)]++
		for _, v := range s.versions() {
			versions[v.Version]++
		}
		if s.node.Enabled {
			enabled++
		}
	}
	var out []views.FilterChip
	add := func(kind, value, name string, label views.Say, n int) {
		out = append(out, views.FilterChip{
			Kind: kind, Name: name, Label: label, Count: n, On: q.Has(kind, value), Path: q.Toggled(kind, value).Path(),
		})
	}
	kinds := map[views.StateKind]int{}
	for _, s := range states {
		kinds[s.kind]++
	}
	for _, k := range views.States() {
		if kinds[k] > 0 || q.Has("state", string(k)) {
			add("state", string(k), "", views.Sayf(k.Key()), kinds[k])
		}
	}
	for _, code := range tree.order() {
		if groups[code] > 0 || q.Has("group", code) {
			add("group", code, tree.name(code), views.Say{}, groups[code])
		}
	}
	if groups["-"] > 0 && len(groups) > 1 || q.Has("group", "-") {
		add("group", "-", "", views.Sayf("nodes.no_group"), groups["-"])
	}
	for _, v := range sortedVersions(versions, q.Versions) {
		add("version", v, v, views.Say{}, versions[v])
	}
	add("enabled", "1", "", views.Sayf("nodes.enabled"), enabled)
	if enabled < len(states) {
		add("enabled", "0", "", views.Sayf("nodes.disabled"), len(states)-enabled)
	}
	return out
}

// sortedVersions are those that run, most frequent first, and those that are filtered for but run nowhere.
func sortedVersions(counts map[string]int, wanted []string) []string {
	var out []string
	for v := range counts {
		out = append(out, v)
	}
	for _, v := range wanted {
		if counts[v] == 0 {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(b, a)) })
	return out
}
