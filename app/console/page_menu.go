package console

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/app/access"
	"eruptcloud/app/web"
	"eruptcloud/views"
)

// Bounds of what one menu shows; searching finds the rest.
const (
	maxMenuNodes = 100
	maxMenuPages = 60 // of one node
	maxSideNodes = 30
)

// menu handles GET /console/pages.
func (v *nodeViews) menu(c *gin.Context) error {
	all, err := v.pagesOf(c.Request.Context(), viewer(c))
	if err != nil {
		return err
	}
	query := strings.TrimSpace(c.Query("q"))
	m := views.PageMenuModel{Query: query, NodeCount: len(all), Admin: viewer(c).Admin}
	for _, n := range all {
		m.Pages += len(n.Pages)
		if n.Down() {
			m.Down++
			m.DownNode = n.Label()
		}
	}
	m.Nodes = matching(all, query)
	for i := range m.Nodes {
		if n := &m.Nodes[i]; len(n.Pages) > maxMenuPages && !strings.EqualFold(query, n.Name) {
			n.More = len(n.Pages) - maxMenuPages
			n.Pages = n.Pages[:maxMenuPages]
		}
	}
	if len(m.Nodes) > maxMenuNodes {
		m.More = len(m.Nodes) - maxMenuNodes
		m.Nodes = m.Nodes[:maxMenuNodes]
	}
	if err := offerable(c, v.menus, m.Nodes); err != nil {
		return err
	}
	m.Said = said(c)
	return web.Twin(c, pageMenuDocumentOf(c, m), views.PageMenu(m), views.PageMenuFragment)
}

// matching keeps what the words of query are found in: the pages of a node, or all of a node that is named itself.
func matching(all []views.PageNode, query string) []views.PageNode {
	if query == "" {
		return all
	}
	var out []views.PageNode
	q := strings.ToLower(query)
	for _, n := range all {
		if !strings.Contains(strings.ToLower(n.Name+" "+n.Display), q) {
			n.Pages = slices.DeleteFunc(slices.Clone(n.Pages), func(p views.PageEntry) bool {
				return !strings.Contains(strings.ToLower(p.Full+" "+p.Title), q)
			})
			if len(n.Pages) == 0 {
				continue
			}
		}
		out = append(out, n)
	}
	return out
}

// pagesOf returns the nodes with the pages that a viewer may open: a super admin every class that a node announces, others the
// pages that a menu of theirs names. Nodes that are down come last.
func (v *nodeViews) pagesOf(ctx context.Context, who *access.Session) ([]views.PageNode, error) {
	nodes, err := v.nodes.All(ctx)
	if err != nil {
		return nil, err
	}
	menus := v.menusByNode(who)
	var out []views.PageNode
	for _, s := range judgeAll(nodes, v.view.View(), v.holds.Held) {
		n := views.PageNode{Name: s.node.Name, Display: s.node.Display, State: s.kind, Pages: menus[s.node.Name]}
		groups := v.chain(s.node.GroupID)
		n.Pages = slices.DeleteFunc(n.Pages, func(p views.PageEntry) bool { return !who.HoldsIn(p.Full, groups) })
		named := map[string]bool{}
		for i := range n.Pages {
			named[strings.ToLower(n.Pages[i].Full)] = true
		}
		if who.Admin {
			for _, erupt := range s.erupts() {
				if full := s.node.Name + "." + erupt; !named[strings.ToLower(full)] {
					n.Pages = append(n.Pages, views.PageEntry{Full: full, Title: v.title(full, erupt)})
				}
			}
		}
		if len(n.Pages) > 0 {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b views.PageNode) int {
		if a.Down() != b.Down() {
			if b.Down() {
				return -1
			}
			return 1
		}
		return cmp.Compare(strings.ToLower(a.Label()), strings.ToLower(b.Label()))
	})
	return out, nil
}

// menusByNode are the table and tree menus of a session that name a page of a node, in the menu's order. Hidden ones give the
// right but no entry.
func (v *nodeViews) menusByNode(who *access.Session) map[string][]views.PageEntry {
	type entry struct {
		views.PageEntry
		node string
		sort int
	}
	var all []entry
	for _, m := range who.Values {
		if m.Type != "table" && m.Type != "tree" || m.Status == access.MenuHidden || m.Status == access.MenuDisabled {
			continue
		}
		value, _, _ := strings.Cut(m.Value, "?")
		node, erupt, ok := v.caller.ResolveErupt(value)
		if !ok {
			continue
		}
		e := entry{PageEntry: views.PageEntry{Full: node + "." + erupt, Title: cmp.Or(m.Name, erupt), Tree: m.Type == "tree"}, node: node}
		if e.sort = 1 << 30; m.Sort != nil {
			e.sort = *m.Sort
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.sort, b.sort), cmp.Compare(a.Title, b.Title), cmp.Compare(a.Full, b.Full))
	})
	out := map[string][]views.PageEntry{}
	for _, e := range all {
		out[e.node] = append(out[e.node], e.PageEntry)
	}
	return out
}

// sideOf marks the current page and keeps the side list short: far from the current node only names are left.
func sideOf(all []views.PageNode, node, full string) []views.PageNode {
	at := slices.IndexFunc(all, func(n views.PageNode) bool { return n.Name == node })
	from := 0
	if at >= maxSideNodes {
		from = min(at-maxSideNodes/2, len(all)-maxSideNodes)
	}
	out := slices.Clone(all[from:min(from+maxSideNodes, len(all))])
	for i := range out {
		n := &out[i]
		n.Current = n.Name == node
		n.Pages = slices.Clone(n.Pages)
		for j := range n.Pages {
			n.Pages[j].Current = strings.EqualFold(n.Pages[j].Full, full)
		}
		if len(n.Pages) > maxMenuPages {
			n.More = len(n.Pages) - maxMenuPages
			current := slices.IndexFunc(n.Pages, func(p views.PageEntry) bool { return p.Current })
			if current >= maxMenuPages {
				n.Pages[0] = n.Pages[current]
			}
			n.Pages = n.Pages[:maxMenuPages]
		}
	}
	return out
}
