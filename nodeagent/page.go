package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

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

// page is a Page that was checked.
type page struct {
	Page
	fields []*Field
	byName map[string]*Field
	owner  *page            // of a page of Items
	items  map[string]*page // by field name
	set    *pageSet
}

// pageSet holds the pages of an agent, by lower-case name.
type pageSet struct {
	mu  sync.RWMutex
	all map[string]*page
}

// page returns a page by its name in any case, nil if there is none.
func (s *pageSet) page(name string) *page {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.all[strings.ToLower(name)]
}

func (s *pageSet) names() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := make([]string, 0, len(s.all))
	for _, p := range s.all {
		names = append(names, p.Name)
	}
	return names
}

// each calls fn with all pages, items included, in the order of their names.
func (s *pageSet) each(fn func(p *page)) {
	s.mu.RLock()
	pages := make([]*page, 0, len(s.all))
	for _, p := range s.all {
		pages = append(pages, p)
	}
	s.mu.RUnlock()
	slices.SortFunc(pages, func(a, b *page) int { return strings.Compare(a.Name, b.Name) })
	for _, p := range pages {
		fn(p)
	}
}

func (s *pageSet) add(declared []Page) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := make(map[string]*page, len(s.all)+len(declared))
	for name, p := range s.all {
		next[name] = p
	}
	var problems problemList
	var fresh []*page
	enter := func(p *page) {
		key := strings.ToLower(p.Name)
		problems.check(next[key] == nil, "page %s is declared twice", p.Name)
		next[key] = p
		fresh = append(fresh, p)
	}
	for _, d := range declared {
		p := compile(d, s, &problems)
		enter(p)
		for _, item := range p.items {
			enter(item)
		}
	}
	for _, p := range fresh {
		p.checkReferences(next, &problems)
	}
	if err := problems.err(); err != nil {
		return err
	}
	s.all = next
	for _, p := range fresh {
		if c, ok := p.Source.(Constrained); ok {
			c.Constrain(p.uniqueFields())
		}
	}
	return nil
}

// compile checks what can be checked of a page alone.
func compile(d Page, set *pageSet, problems *problemList) *page {
	p := &page{Page: d, byName: map[string]*Field{}, items: map[string]*page{}, set: set}
	where := "page " + d.Name
	problems.check(simpleName.MatchString(d.Name), "page %q: a name is letters, digits and underscores", d.Name)
	problems.check(!slices.Contains(reservedNames, strings.ToLower(d.Name)), "%s: the name stands for something else in paths", where)
	p.Key = orDefault(d.Key, defaultKey)
	problems.check(simpleName.MatchString(p.Key), "%s: Key %q is no name", where, p.Key)
	p.PageSize = orDefault(d.PageSize, defaultPageSize)
	problems.check(p.PageSize > 0 && p.PageSize <= maxPageSize, "%s: PageSize %d is not between 1 and %d", where, p.PageSize, maxPageSize)
	for i := range d.Fields {
		f := d.Fields[i] // a copy: the declaration stays the program's
		p.fields = append(p.fields, &f)
		problems.check(simpleName.MatchString(f.Name), "%s: field %q: a name is letters, digits and underscores", where, f.Name)
		problems.check(f.Name != p.Key, "%s: the key %s needs no declaration", where, f.Name)
		problems.check(p.byName[f.Name] == nil, "%s: field %s is declared twice", where, f.Name)
		p.byName[f.Name] = &f
		f.check(where+": field "+f.Name, problems)
		if f.Type == TypeItems && f.items != nil {
			item := compile(*f.items, set, problems)
			item.owner = p
			p.items[f.Name] = item
			problems.check(len(item.items) == 0, "%s: field %s: items have no items of their own", where, f.Name)
		}
	}
	if d.Export != nil {
		problems.check(d.Export.Write != nil, "%s: Export has no Write", where)
	}
	return p
}

// check finds what is wrong with a field alone.
func (f *Field) check(where string, problems *problemList) {
	problems.check(f.Type != "", "%s was made by hand: use Input, Number and so on", where)
	problems.check(f.Type == TypeDivide || f.Title != "", "%s has no title", where)
	problems.check(!f.search || len(f.operators()) > 0, "%s: %s cannot be searched by", where, f.Type)
	problems.check(!f.search || slices.Contains(f.operators(), f.operator), "%s: operator %s does not go with %s", where, f.operator, f.Type)
	problems.check(!f.sortable || !f.isReference() && f.Type != TypeItems && f.Type != TypeTags && f.Type != TypeMultiChoice && f.Type != TypePassword,
		"%s: %s cannot be sorted by", where, f.Type)
	problems.check(f.Type != TypeItems || f.items != nil, "%s has no page for its items", where)
	problems.check(f.min == nil || f.max == nil || *f.min <= *f.max, "%s: the lower limit lies above the upper one", where)
	problems.check(f.places <= 10, "%s: more than 10 decimal places", where)
	problems.check(!f.unique || f.isText() || f.isNumber() || f.Type == TypeChoice, "%s: %s cannot be unique", where, f.Type)
	if (f.Type == TypeChoice || f.Type == TypeMultiChoice) && f.optionsFrom == nil {
		problems.check(len(f.options) > 0, "%s has no options", where)
	}
	seen := map[string]bool{}
	for _, o := range f.options {
		problems.check(o.Value != "" && !seen[o.Value], "%s: option %q is empty or declared twice", where, o.Value)
		seen[o.Value] = true
	}
	for _, ext := range f.files.Extensions {
		problems.check(extension.MatchString(ext), "%s: extension %q: lower-case letters and digits without a dot", where, ext)
	}
}

// checkReferences finds references that lead nowhere.
func (p *page) checkReferences(all map[string]*page, problems *problemList) {
	where := "page " + p.Name
	problems.check(p.Source != nil || p.owner != nil, "%s has no Source", where)
	for _, f := range p.fields {
		if !f.isReference() {
			continue
		}
		target := all[strings.ToLower(f.target)]
		if target == nil || target.owner != nil {
			problems.check(false, "%s: field %s leads to page %q, which is not hosted", where, f.Name, f.target)
			continue
		}
		problems.check(target.byName[f.label] != nil, "%s: field %s: page %s has no field %q", where, f.Name, target.Name, f.label)
		for _, s := range f.shown {
			problems.check(target.byName[s.column] != nil, "%s: field %s: page %s has no field %q", where, f.Name, target.Name, s.column)
		}
		if f.dependField != "" {
			problems.check(p.byName[f.dependField] != nil, "%s: field %s depends on %q, which is not declared", where, f.Name, f.dependField)
			problems.check(target.byName[f.dependColumn] != nil, "%s: field %s: page %s has no field %q", where, f.Name, target.Name, f.dependColumn)
		}
	}
	if p.Tree != nil {
		parent := p.byName[p.Tree.Parent]
		problems.check(parent != nil && parent.Type == TypeReferenceTree && strings.EqualFold(parent.target, p.Name),
			"%s: Tree.Parent %q is no ReferenceTree to the page itself", where, p.Tree.Parent)
		problems.check(p.byName[p.treeLabel()] != nil, "%s: Tree.Label %q is not declared", where, p.treeLabel())
	}
	if p.LinkTree != "" {
		link := p.byName[p.LinkTree]
		problems.check(link != nil && link.isReference(), "%s: LinkTree %q is no reference", where, p.LinkTree)
	}
	for _, o := range p.DefaultSort {
		problems.check(p.canSort(o.Field), "%s: DefaultSort by %q, which is not sortable", where, o.Field)
	}
}

func (p *page) treeLabel() string {
	if p.Tree == nil {
		return "name"
	}
	return orDefault(p.Tree.Label, "name")
}

func (p *page) canSort(field string) bool {
	f := p.byName[field]
	return field == p.Key || f != nil && f.sortable && !f.noColumn
}

func (p *page) uniqueFields() []string {
	var names []string
	for _, f := range p.fields {
		if f.unique {
			names = append(names, f.Name)
		}
	}
	return names
}

// contains reports whether child is a page that belongs to forms of p: its items, or what its fields refer to.
func (p *page) contains(child *page) bool {
	for _, holder := range append([]*page{p}, p.itemPages()...) {
		for _, f := range holder.fields {
			if f.isReference() && strings.EqualFold(f.target, child.Name) {
				return true
			}
		}
	}
	return child.owner == p
}

func (p *page) itemPages() []*page {
	pages := make([]*page, 0, len(p.items))
	for _, item := range p.items {
		pages = append(pages, item)
	}
	return pages
}

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
