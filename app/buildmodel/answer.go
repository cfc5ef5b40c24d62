package buildmodel

import (
	"encoding/json"
	"errors"
	"strconv"
)

// Page is the answer to a table query.
type Page struct {
	Rows         []Row
	Index, Size  int
	Total, Pages int
	// Alert is a note of the application above the table, untrusted text; AlertType is info, success, warning or error.
	Alert, AlertType string
}

// ParsePage reads the answer to a table query. list is null below a left tree where nothing is chosen yet: no rows.
func ParsePage(raw []byte) (Page, error) {
	var doc struct {
		Index json.RawMessage   `json:"pageIndex"`
		Size  json.RawMessage   `json:"pageSize"`
		Pages json.RawMessage   `json:"totalPage"`
		Total json.RawMessage   `json:"total"`
		List  []json.RawMessage `json:"list"`
		Alert json.RawMessage   `json:"alert"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return Page{}, err
	}
	p := Page{Index: whole(doc.Index), Size: whole(doc.Size), Pages: whole(doc.Pages), Total: whole(doc.Total)}
	for _, r := range doc.List {
		row, err := ParseRow(r)
		if err != nil {
			return Page{}, err
		}
		p.Rows = append(p.Rows, row)
	}
	if v, err := decode(orNull(doc.Alert)); err == nil {
		a := asObject(v)
		p.Alert, p.AlertType = shorten(a.text("message")), a.textOr("uiType", "info")
	}
	p.Total = max(p.Total, len(p.Rows))
	return p, nil
}

func whole(raw json.RawMessage) int {
	n, err := strconv.Atoi(Text(raw))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// TreeNode is one line of a tree, flattened: parents come before their children.
type TreeNode struct {
	ID, Label string
	Level     int // from 0
	Children  int // direct ones
}

// maxTree bounds how many lines of a tree are read.
const maxTree = 20000

// ParseTree reads a tree answer into indented lines. Some trees come flat with parents that are not among them; those lines
// stand at the left.
func ParseTree(raw []byte) ([]TreeNode, error) {
	var roots []treeItem
	if err := json.Unmarshal(raw, &roots); err != nil {
		return nil, err
	}
	return flatten(nil, roots, 0)
}

type treeItem struct {
	ID       json.RawMessage `json:"id"`
	Label    json.RawMessage `json:"label"`
	Children []treeItem      `json:"children"`
}

func flatten(out []TreeNode, list []treeItem, level int) ([]TreeNode, error) {
	var err error
	for _, n := range list {
		if len(out) >= maxTree || level > 100 {
			return nil, errors.New("the tree is too large to show")
		}
		out = append(out, TreeNode{ID: Text(n.ID), Label: Text(n.Label), Level: level, Children: len(n.Children)})
		if out, err = flatten(out, n.Children, level+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Box is one option of a CHECKBOX field.
type Box struct{ ID, Label, Remark string }

// ParseBoxes reads the options of a CHECKBOX field.
func ParseBoxes(raw []byte) ([]Box, error) {
	var rows []Row
	if err := json.Unmarshal(raw, &rows); err != nil {
		return nil, err
	}
	out := make([]Box, 0, len(rows))
	for _, r := range rows {
		out = append(out, Box{ID: r.Text("id"), Label: r.Text("label"), Remark: r.Text("remark")})
	}
	return out, nil
}
