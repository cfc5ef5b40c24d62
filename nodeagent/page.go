package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"

	"eruptcloud/nodeagent/wire"
)

const (
	defaultKey      = "id"
	defaultPageSize = 20
	maxPageSize     = 5_000
	maxTreeRows     = 20_000
)

// Page declares an erupt of this node: a table with a form, or a tree.
type Page struct {
	// Name is the erupt's simple name, such as "Customer". Together with the node's name it is the page's permission code.
	Name string
	// Title is what people call the page.
	Title string
	// Description is shown above the table.
	Description string
	// Fields in the order of form and columns.
	Fields []Field
	// Source keeps the rows. A page of Items needs none.
	Source Source

	// Key is the field of the primary key, "id" by default. It need not be declared. TextKey says that it holds text rather
	// than a 64-bit number.
	Key     string
	TextKey bool

	// Tree makes the rows a tree.
	Tree *Tree
	// LinkTree names a reference field whose page is shown as a tree beside the table.
	LinkTree string
	// DefaultSort orders the table until people choose otherwise.
	DefaultSort []Order
	// PageSize is how many rows a page of the table has at first, 20 by default.
	PageSize int

	// Power is what the page offers at most; nil means everything. The server's rights and these must both allow an action.
	Power *Power
	// Hooks are called around reading and writing.
	Hooks Hooks
	// Export answers downloads of the table; nil means that there are none.
	Export *Export
}

// Tree says how rows of a page hang together.
type Tree struct {
	Parent string // a ReferenceTree field that leads to the same page
	Label  string // the field that names a row; "name" by default
}

// Hooks are code of the program. An error stops what was going on; make it with Refuse or RefuseField if people should read it.
type Hooks struct {
	// Init may change the values of a new form.
	Init func(ctx context.Context, row Row) error
	// BeforeAdd may change a new row, which has passed all checks.
	BeforeAdd func(ctx context.Context, row Row) error
	// BeforeUpdate may change a row that replaces old.
	BeforeUpdate func(ctx context.Context, old, row Row) error
	// BeforeDelete sees the rows that are to go.
	BeforeDelete func(ctx context.Context, rows []Row) error
	// BeforeQuery may add conditions to a search, for instance to hide rows from a user. Rows that do not meet them cannot be
	// opened, changed or deleted either.
	BeforeQuery func(ctx context.Context, q *Query) error
	// AfterQuery may change the rows of a table or of a detail before they leave the node.
	AfterQuery func(ctx context.Context, rows []Row) error
}

// Export answers downloads of a table.
type Export struct {
	Name        string // of the file, for instance "Customers.csv"
	ContentType string // "application/x-download" by default
	// Write streams the file. It may take its time and any amount of bytes; an error after the first byte breaks the transfer.
	Write func(ctx context.Context, q Query, w io.Writer) error
}

// Power says what may be done with a page.
type Power = wire.Power

// ReadOnlyPower is the Power of a page that people may look at and no more.
func ReadOnlyPower() *Power {
	return &Power{Query: true, ViewDetails: true, Export: true, Print: true}
}

// Host makes the agent answer for pages. References may lead to pages hosted before, in the same call or to the page itself.
// It returns everything that is wrong with the declarations.
func (a *Agent) Host(pages ...Page) error {
	if err := a.pages.add(pages); err != nil {
		return fmt.Errorf("nodeagent: %w", err)
	}
	return nil
}

var (
	simpleName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,99}$`)
	// reservedNames are path segments that stand where a page's name could stand.
	reservedNames = []string{"table", "tree", "modify", "tab", "init-value", "depend-tree", "extra-row", "onchange", "form-view"}
)

// find returns a row that exists and that BeforeQuery does not hide from the user; ErrNoRow otherwise.
func (p *page) find(ctx context.Context, id ID) (Row, error) {
	row, err := p.Source.Find(ctx, id)
	if errors.Is(err, ErrNoRow) || err == nil && row == nil {
		return nil, ErrNoRow
	} else if err != nil {
		return nil, fmt.Errorf("find row of %s: %w", p.Name, err)
	}
	row = p.normal(row)
	var q Query
	if err := p.restrict(ctx, &q); err != nil {
		return nil, err
	}
	if !q.Matches(row) {
		return nil, ErrNoRow
	}
	return row, nil
}

// restrict lets the hook narrow a search.
func (p *page) restrict(ctx context.Context, q *Query) error {
	if p.Hooks.BeforeQuery == nil {
		return nil
	}
	return p.Hooks.BeforeQuery(ctx, q)
}

// query searches the source for rows that the user may see.
func (p *page) query(ctx context.Context, q Query) ([]Row, int, error) {
	if err := p.restrict(ctx, &q); err != nil {
		return nil, 0, err
	}
	rows, total, err := p.Source.Query(ctx, q)
	if err != nil {
		return nil, 0, fmt.Errorf("query %s: %w", p.Name, err)
	}
	for i, row := range rows {
		rows[i] = p.normal(row)
	}
	return rows, total, nil
}

// offered is what the page allows at most.
func (p *page) offered() wire.Power {
	all := wire.Power{Add: true, Edit: true, Delete: true, Query: true, ViewDetails: true, Export: p.Export != nil, Print: true, Copy: true}
	if p.Power != nil {
		return both(all, *p.Power)
	}
	return all
}

// both allows what a and b allow. What the agent does not offer at all is false.
func both(a, b wire.Power) wire.Power {
	return wire.Power{
		Add: a.Add && b.Add, Edit: a.Edit && b.Edit, Delete: a.Delete && b.Delete, Query: a.Query && b.Query,
		ViewDetails: a.ViewDetails && b.ViewDetails, Export: a.Export && b.Export, Print: a.Print && b.Print, Copy: a.Copy && b.Copy,
	}
}
