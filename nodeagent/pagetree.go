package nodeagent

import (
	"net/http"
)

func serveTree(r *pageRequest) error {
	if r.page.Source == nil {
		return ErrNoRow
	}
	return r.tree(r.page, nil)
}

// serveDependTree answers with the tree beside the table.
func serveDependTree(r *pageRequest) error {
	if r.page.LinkTree == "" {
		writeJSON(r.w, http.StatusOK, []object{})
		return nil
	}
	return r.tree(r.page.target(r.page.byName[r.page.LinkTree]), nil)
}

// treeNode is a node of a tree on the wire.
type treeNode struct {
	ID       string      `json:"id"`
	Label    any         `json:"label"`
	PID      *string     `json:"pid"`
	Level    int         `json:"level"`
	Root     bool        `json:"root"`
	Children []*treeNode `json:"children"`
}

// tree answers with p's rows as a tree; a page that is no tree gives roots only.
func (r *pageRequest) tree(p *page, conditions []Condition) error {
	q := Query{Conditions: conditions, Sort: p.DefaultSort, Limit: maxTreeRows}
	rows, _, err := p.query(r.Context(), q)
	if err != nil {
		return err
	}
	if err := p.afterQuery(r.Context(), rows); err != nil {
		return err
	}
	writeJSON(r.w, http.StatusOK, p.growTree(rows))
	return nil
}

// growTree hangs rows under their parents. Rows whose parent is missing, and rows in a circle, are left out, as in erupt.
func (p *page) growTree(rows []Row) []*treeNode {
	label := p.byName[p.treeLabel()]
	children := map[ID][]*treeNode{}
	ids := map[*treeNode]ID{}
	for _, row := range rows {
		id := row[p.Key]
		if id == nil {
			continue // a source's mistake; as a parent it would be everybody's
		}
		n := &treeNode{ID: idText(id)}
		if label != nil {
			n.Label = label.outward(row[label.Name])
		}
		var parent ID
		if p.Tree != nil {
			parent = row[p.Tree.Parent]
		}
		if parent != nil {
			text := idText(parent)
			n.PID = &text
		}
		ids[n] = id
		children[parent] = append(children[parent], n)
	}
	var grow func(n *treeNode, level int)
	grow = func(n *treeNode, level int) {
		n.Level, n.Root, n.Children = level, level == 1, children[ids[n]]
		for _, child := range n.Children {
			grow(child, level+1)
		}
	}
	roots := append([]*treeNode{}, children[nil]...)
	for _, n := range roots {
		grow(n, 1)
	}
	return roots
}
