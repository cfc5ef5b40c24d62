package console

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"eruptcloud/views"
)

// pageMenuDocument is the menu of all nodes' pages for scripts (U80): what the viewer may open.
type pageMenuDocument struct {
	Pages int           `json:"pages"` // all that the viewer may open, also those that are not listed
	Nodes []pageDocNode `json:"nodes"`
	More  int           `json:"more,omitempty"` // nodes that are not listed; ?q= finds them
}

type pageDocNode struct {
	Node    string         `json:"node"`
	Display string         `json:"display,omitempty"`
	State   string         `json:"state"`
	Pages   []pageDocEntry `json:"pages"`
	More    int            `json:"more,omitempty"` // pages that are not listed; ?q=NODE lists them
}

type pageDocEntry struct {
	Page  string `json:"page"` // NODE.ERUPT
	Title string `json:"title"`
	Tree  bool   `json:"tree,omitempty"`
	URL   string `json:"url"` // with the base path
	Menu  string `json:"menu,omitempty"`
}

func pageMenuDocumentOf(c *gin.Context, m views.PageMenuModel) pageMenuDocument {
	d := pageMenuDocument{Pages: m.Pages, Nodes: []pageDocNode{}, More: m.More}
	for _, n := range m.Nodes {
		node := pageDocNode{Node: n.Name, Display: n.Display, State: string(n.State), Pages: []pageDocEntry{}, More: n.More}
		for _, p := range n.Pages {
			node.Pages = append(node.Pages, pageDocEntry{p.Full, p.Title, p.Tree, views.URL(c.Request.Context(), views.PagePath(p.Full)), p.Offer.Menu})
		}
		d.Nodes = append(d.Nodes, node)
	}
	return d
}

// pageDocument is one page of a node for scripts: the rows of the address, as the table shows them. Values are those behind the
// texts; what a node says of an answer that it refused stands in refused.
type pageDocument struct {
	Page     string          `json:"page"`
	Title    string          `json:"title"`
	Node     string          `json:"node"`
	Instance string          `json:"instance,omitempty"` // that answered
	Rights   []string        `json:"rights"`
	Problem  *pageDocProblem `json:"problem,omitempty"`
	Refused  string          `json:"refused,omitempty"`
	Columns  []string        `json:"columns"`
	Rows     []pageDocRow    `json:"rows"`
	Total    int             `json:"total"`
	PageNo   int             `json:"pageNumber"`
	Pages    int             `json:"pages"`
}

type pageDocProblem struct {
	Code    string `json:"code"`
	Title   string `json:"title"`
	Message string `json:"message,omitempty"`
}

type pageDocRow struct {
	ID     string   `json:"id"`
	Depth  int      `json:"depth,omitempty"` // of a tree
	Values []string `json:"values"`          // one a column
}

func pageDocumentOf(c *gin.Context, m views.PageTableModel) pageDocument {
	d := pageDocument{
		Page: m.Full, Title: m.Title, Node: m.Node, Instance: m.Source.Instance, Rights: append([]string{}, m.Source.Rights...), Refused: m.Refused,
		Columns: []string{}, Rows: []pageDocRow{}, Total: m.Total, PageNo: m.Page, Pages: m.Pages,
	}
	d.Problem = pageDocProblemOf(c, m.Problem)
	for _, col := range m.Columns {
		d.Columns = append(d.Columns, col.Title)
	}
	for _, r := range m.Rows {
		row := pageDocRow{ID: r.ID, Depth: r.Depth, Values: []string{}}
		for _, cell := range r.Cells {
			row.Values = append(row.Values, cellText(cell))
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

func pageDocProblemOf(c *gin.Context, p *views.PageProblem) *pageDocProblem {
	if p == nil {
		return nil
	}
	return &pageDocProblem{p.Code, p.Title.Text(c.Request.Context()), p.Message}
}

// cellText is a cell's value: what stands behind its text, where that is shortened.
func cellText(c views.PageCell) string {
	switch {
	case c.Yes != nil:
		return strconv.FormatBool(*c.Yes)
	case c.Exact != "":
		return c.Exact
	case c.Text == "" && len(c.Items) > 0:
		return strings.Join(c.Items, ", ")
	}
	return cmp.Or(c.Text, c.URL)
}

// recordDocument is one record for scripts, as its form shows it.
type recordDocument struct {
	Page    string           `json:"page"`
	ID      string           `json:"id,omitempty"` // empty: of a new one
	Label   string           `json:"label,omitempty"`
	Problem *pageDocProblem  `json:"problem,omitempty"`
	Fields  []recordDocField `json:"fields"`
	CanSave bool             `json:"canSave"`
}

type recordDocField struct {
	Name     string   `json:"name"`
	Label    string   `json:"label"`
	Value    string   `json:"value,omitempty"`
	Values   []string `json:"values,omitempty"`
	Required bool     `json:"required,omitempty"`
}

func recordDocumentOf(c *gin.Context, m views.PageRecordModel) recordDocument {
	d := recordDocument{Page: m.Full, ID: m.ID, Label: m.Label, Problem: pageDocProblemOf(c, m.Problem), Fields: []recordDocField{}, CanSave: m.CanSave}
	for _, f := range m.Fields {
		field := recordDocField{Name: f.Name, Label: f.Label, Value: f.Value, Values: f.Many, Required: f.Required}
		if f.Ref.ID != "" {
			field.Value = f.Ref.ID
		}
		if field.Value == "" {
			field.Value = cellText(f.Cell)
		}
		d.Fields = append(d.Fields, field)
	}
	return d
}

// nodePagesDocument is what a node announces to host, for scripts.
type nodePagesDocument struct {
	Node    string           `json:"node"`
	Modules []string         `json:"modules"`
	Pages   []nodePageForDoc `json:"pages"`
	Checked bool             `json:"checked"` // the node was asked which of them it has: ?checked=1
}

type nodePageForDoc struct {
	Page    string `json:"page"`
	URL     string `json:"url,omitempty"` // with the base path; empty: the caller may not open it
	Menu    string `json:"menu,omitempty"`
	Missing bool   `json:"missing,omitempty"` // announced, and not there
}

func pagesTwin(c *gin.Context, m views.NodePages) nodePagesDocument {
	d := nodePagesDocument{Node: m.Name, Modules: append([]string{}, m.Modules...), Pages: []nodePageForDoc{}, Checked: m.Checked}
	for _, l := range m.Links {
		page := nodePageForDoc{Page: l.Erupt, Menu: l.Offer.Menu, Missing: l.Missing}
		if l.Path != "" {
			page.URL = views.URL(c.Request.Context(), l.Path)
		}
		d.Pages = append(d.Pages, page)
	}
	return d
}
