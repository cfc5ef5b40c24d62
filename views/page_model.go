package views

import (
	"net/url"
	"strings"
	"time"
)

// PagesPath is the menu of all nodes' pages; a page is PagesPath/NODE.ERUPT.
const PagesPath = "/console/pages"

// PagePath returns the address of a page or, with sub, of something below it.
func PagePath(full string, sub ...string) string {
	return strings.Join(append([]string{PagesPath, url.PathEscape(full)}, sub...), "/")
}

// FindPages returns the menu of pages, searched.
func FindPages(query string) string { return PagesPath + "?" + url.Values{"q": {query}}.Encode() }

// RecordPath returns the address of one record of a page. Ids come from nodes and may hold anything, so they travel in the
// query.
func RecordPath(full, id, back string) string {
	q := url.Values{"id": {id}}
	if back != "" {
		q.Set("back", back)
	}
	return PagePath(full, "record") + "?" + q.Encode()
}

// The fragments of a page.
const (
	PageMenuFragment    = "page-menu"
	PageTableFragment   = "page-table"
	PageRecordFragment  = "record"
	PageOptionsFragment = "page-options"
	PageConfirmFragment = "page-confirm"
)

// PageNode is a node in the menu of pages, with those of its pages that the viewer may open.
type PageNode struct {
	Name, Display string
	State         StateKind
	Pages         []PageEntry
	More          int // pages that are not listed
	Current       bool
}

// Down reports whether no instance of the node can be asked.
func (n PageNode) Down() bool {
	return n.State != StateUp && n.State != StateSlow && n.State != StateProbing
}

// Label is the display name, or the name.
func (n PageNode) Label() string {
	if n.Display != "" {
		return n.Display
	}
	return n.Name
}

// PageEntry is one page.
type PageEntry struct {
	Full, Title string
	Tree        bool
	Current     bool
	Offer       PageOffer
}

// PageOffer says what a page has to do with menus: only a page that has one can be granted to a role.
type PageOffer struct {
	Menu string // code of its menu, for viewers who may open it
	Can  bool   // it has none and the viewer may make one
}

// PageMenuModel is the menu of all nodes' pages.
type PageMenuModel struct {
	Query string
	Nodes []PageNode // matching Query
	// Pages and NodeCount count all that the viewer may open, Down the nodes among them that have no usable instance.
	Pages, NodeCount, Down int
	More                   int    // matching nodes that are not listed
	DownNode               string // one of those that are down
	Admin                  bool
	Said                   string
}

// PageHead is what table, tree and record of a page have in common.
type PageHead struct {
	Full, Title, Desc string
	Node, NodeLabel   string
	Nodes             []PageNode // side list
	Pages, NodeCount  int        // all that the viewer may open
	Said              string
	Source            PageSource
}

// PageSource says which instance answered and what the viewer may do there.
type PageSource struct {
	Instance, Address, Version string
	Took                       time.Duration
	Rights                     []string // query, add, edit, delete, view, export, import
}

// PageProblem is a node that gave no page: it fills the place of the table or the form, the rest stays usable.
type PageProblem struct {
	Code    string
	State   StateKind
	Title   Say
	Message string // the node's own words or the proxy's; untrusted
	Retry   string // path
}

// PageParam is a query parameter that a form keeps.
type PageParam struct{ Name, Value string }

// PageTableModel is a page's table or tree.
type PageTableModel struct {
	PageHead
	Problem *PageProblem
	NoModel bool   // with Problem: the node did not even give the page
	Self    string // address of exactly this view, for reloading and for coming back
	Search  []PageField
	More    []PageField // search fields that are folded away
	Open    bool        // the folded ones are shown
	Wrong   map[string]string
	// Alert is a note of the node's application; AlertKind a class without is-.
	Alert, AlertKind string
	Refused          string // the node refused the query; its words
	Columns          []PageColumn
	Rows             []PageRow
	Tree             bool // rows are indented lines
	Total            int
	First, Last      int
	Page, Pages      int
	Size             int
	Sizes            []int
	Prev, Next       string
	Keep             []PageParam // what the pager's forms carry along
	KeepSearch       []PageParam // what the search form carries along
	Filtered         bool
	Reset            string
	NewPath          string // empty: no right
	DeletePath       string
	Confirm          *PageConfirm
	OtherView        string // the same rows as tree or as table
	Find             string // text that a tree is filtered by
	NeedsNode        string // title of the left tree that must be chosen first
}

// Selectable reports whether rows can be marked.
func (m PageTableModel) Selectable() bool { return m.DeletePath != "" }

// PageColumn is a heading.
type PageColumn struct {
	Title, Desc string
	SortPath    string // empty: cannot be sorted
	Sorted      string // ascending, descending
	End         bool   // numbers stand right
}

// PageRow is a record in a table.
type PageRow struct {
	ID, Open  string // Open: path of the record, empty: no right to look
	Label     string
	Cells     []PageCell
	Depth     int
	Children  int
	CanDelete bool
	Editable  bool
	AddBelow  string // path of the form for a record below this one
}

// PageCell is a value. All of it is a node's text except Kind, Color and URL, which are checked.
type PageCell struct {
	Kind, Text, Label string
	Items             []string
	Color, URL        string
	Yes               *bool
	Exact             string // the value behind the text
	Main, End         bool
}

// PageConfirm is the second step of a deletion.
type PageConfirm struct {
	Path   string
	IDs    []string
	Labels []string
	Back   string
	Nonce  string
	Error  string
	Record bool // asked from the record's own form
}

// PageRecordModel is the form of one record.
type PageRecordModel struct {
	PageHead
	Problem    *PageProblem
	ID, Label  string
	Add        bool
	Drawer     bool
	Action     string // where the form goes
	Options    string // where choices for references come from
	Back       string // list to return to
	Nonce      string
	Base       string // JSON of what the form started from
	Link       string // chosen node of the left tree, for new records
	Fields     []PageField
	Notice     PageNotice
	Dirty      bool // holds text that is not saved
	CanSave    bool
	DeletePath string
	Kept       []PageParam // with Problem: what was typed and could not be sent
}

// PageNotice is the message above a form. Kind is a class without is-.
type PageNotice struct {
	Kind, Code string
	Title      Say
	Message    string
	Field      string // name of the field it is about
	FieldLabel string
}

// PageField is one field of a record or of a search.
type PageField struct {
	ID, Name, Label, Hint, PlaceHolder string
	Control                            string
	Value, To                          string
	Many                               []string
	Options                            []PageOption
	Prefix, Suffix                     []PageOption
	Required, Wide, Hidden             bool
	Radio                              bool
	Stored                             bool // a password is set
	Reload                             bool // other fields depend on it
	Max                                int
	Min, Highest, Step                 string
	Date                               string // DATE, TIME, …
	Free                               bool   // tags of one's own
	Ref                                PageRef
	Cell                               PageCell     // ControlShown
	Columns                            []PageColumn // of the rows of a tab
	Rows                               [][]PageCell
	Error                              string
}

// PageOption is a choice.
type PageOption struct {
	Value, Label, Desc string
	On, Disabled       bool
	Depth              int
}

// PageRef is the state of a reference field.
type PageRef struct {
	ID, Label string // chosen
	Query     string // what was searched
	Depends   string // field whose value the choice needs
	Open      bool   // options are shown
	Options   []PageOption
	Total     int
	Problem   string // why there are none: the node's words
}

// RefValue packs a reference into one form value.
func RefValue(id, label string) string {
	if id == "" {
		return ""
	}
	return id + "\t" + label
}

// ParseRefValue is the reverse of RefValue.
func ParseRefValue(v string) (id, label string) {
	id, label, found := strings.Cut(v, "\t")
	if !found {
		label = id
	}
	return id, label
}
