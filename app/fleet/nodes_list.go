package fleet

import (
	"context"
	"slices"
	"strings"
)

// List returns one page of the profiles that f selects, by name, and how many it selects in all.
func (n *Nodes) List(ctx context.Context, f NodeFilter) ([]Node, int, error) {
	s, err := n.fresh(ctx)
	if err != nil {
		return nil, 0, err
	}
	query := folded(strings.TrimSpace(f.Query))
	var found []Node
	for _, p := range s.sorted {
		if (f.Enabled == nil || *f.Enabled == p.Enabled) && (f.Group == "" || s.below(p.GroupID, f.Group)) && s.matches(p, query) {
			found = append(found, p.Node)
		}
	}
	return page(found, f.Page, f.PageSize), len(found), nil
}

// Each calls visit with every profile, by name; the list of All without a copy of each.
func (n *Nodes) Each(ctx context.Context, visit func(*Node)) error {
	s, err := n.current(ctx)
	if err != nil {
		return err
	}
	for _, p := range s.sorted {
		visit(&p.Node)
	}
	return nil
}

// matches reports whether a folded query stands in one of the texts that people know a node by.
func (s *snapshot) matches(p *profile, query string) bool {
	if query == "" {
		return true
	}
	texts := append([]string{p.Name, p.Display, p.Group, p.Remark}, p.Duty...)
	if g := s.byID[p.GroupID]; g != nil {
		texts = append(texts, g.Name)
	}
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(folded(t), query) })
}

// page cuts one page out of all.
func page[T any](all []T, number, size int) []T {
	if size <= 0 {
		size = 20
	}
	size = min(size, 500)
	last := max(1, (len(all)+size-1)/size)
	number = min(max(number, 1), last)
	return all[(number-1)*size : min(number*size, len(all))]
}
