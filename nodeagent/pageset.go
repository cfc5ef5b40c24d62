package nodeagent

import (
	"slices"
	"strings"
	"sync"
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
