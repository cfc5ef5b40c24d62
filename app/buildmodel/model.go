// Package buildmodel understands what a node says about its pages: the build document with fields, columns and rights, the
// values of rows and forms, queries and answers, in the dialects of erupt 1.12 and 2.x. It does no I/O, trusts nothing it
// reads, and never turns a number into a float: ids and amounts stay the text they came as.
package buildmodel

import (
	"errors"
	"fmt"
	"strings"
)

// MaxDocument is the size up to which Parse takes a build document, in bytes (erupt-wire 10.4).
const MaxDocument = 16 << 20

// Limits against documents made to hurt: fields of one class, and classes inside classes.
const (
	maxFields = 2000
	maxDepth  = 4
)

// Model is one class of a node as its build document describes it.
type Model struct {
	Name  string // as the document has it: "Customer" from a node, "shop.Customer" through the proxy
	Title string // what people call it; only our own agents say so, Java nodes leave it to the menu
	Desc  string // help text, plain
	// Key is the field that holds the primary key.
	Key    string
	Tree   Tree
	Link   LinkTree
	Layout Layout
	Fields []Field
	// Operations and Drills are those that the node offers to this user.
	Operations []Operation
	Drills     []Drill
	Power      Power
	// SearchDefaults are the values that a fresh search form starts with, by field.
	SearchDefaults map[string]any
	ExtraRow       bool
	// Tabs, Combines and Forms are the classes behind TAB_* fields, COMBINE fields and operations, by field or code.
	Tabs, Combines, Forms map[string]*Model
	// Classic is the dialect of erupt 1.x; it decides how queries and payloads are written.
	Classic bool
}

// Tree says how rows hang together on a tree page; without Parent they are a flat list.
type Tree struct {
	ID, Label, Parent string
	Expand            int
}

// LinkTree is the tree at the left of a table. An empty Field: there is none.
type LinkTree struct {
	Field    string
	Required bool // rows exist only below a chosen node
}

// Paging tells who cuts a table into pages.
type Paging string

// The ways of paging. With the latter two a node ignores the wished page size and takes its largest.
const (
	PagingBackend Paging = "BACKEND"
	PagingFront   Paging = "FRONT"
	PagingNone    Paging = "NONE"
)

// Layout holds what the class says about its table and form.
type Layout struct {
	Paging    Paging
	PageSize  int
	PageSizes []int
	FullLine  bool // one form field a line
}

// Operation is an action on rows.
type Operation struct {
	Code, Title, Tip, Hint, Mode, Type, IfExpr string
	Hide, Fold                                 bool   // Hide: when IfExpr is false the button goes, else it greys out
	Class                                      string // simple name of its form, empty: none
}

// Drill leads from a row to a table of another class.
type Drill struct{ Code, Title, Target string }

// Power is what the user may do, as the node sees it.
type Power struct {
	Add, Edit, Delete, Query, View, Export, Import bool
}

// Parse reads a build document as GET /erupt-api/build answers it, from the node or through the proxy.
func Parse(raw []byte) (*Model, error) {
	if len(raw) > MaxDocument {
		return nil, fmt.Errorf("build document of %d bytes is over the limit", len(raw))
	}
	v, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("build document: %w", err)
	}
	doc := asObject(v)
	if doc.obj("eruptModel") == nil {
		return nil, errors.New("build document has no eruptModel")
	}
	m, err := parseDocument(doc, 0)
	if err != nil {
		return nil, err
	}
	m.spread(m.anyClassic())
	return m, nil
}

// parseDocument reads a build document, or a bare eruptModel as COMBINE and operation classes come.
func parseDocument(doc object, depth int) (*Model, error) {
	em := doc.obj("eruptModel")
	if em == nil {
		em = doc
	}
	m := parseModel(em)
	if m.Name == "" {
		return nil, errors.New("build document names no class")
	}
	if len(m.Fields) > maxFields {
		return nil, fmt.Errorf("class %.100q has %d fields, more than anyone can use", m.Name, len(m.Fields))
	}
	m.Power = parsePower(doc.obj("power"), em.obj("eruptJson").obj("power"))
	if depth >= maxDepth {
		return m, nil
	}
	var err error
	for key, into := range map[string]*map[string]*Model{"tabErupts": &m.Tabs, "combineErupts": &m.Combines, "operationErupts": &m.Forms} {
		children := doc.obj(key)
		*into = make(map[string]*Model, len(children))
		for name := range children {
			if child := children.obj(name); child != nil {
				if (*into)[name], err = parseDocument(child, depth+1); err != nil {
					delete(*into, name) // a broken class inside costs its own tab, not the page
				}
			}
		}
	}
	return m, nil
}

func parseModel(em object) *Model {
	ej := em.obj("eruptJson")
	tree, link, layout := ej.obj("tree"), ej.obj("linkTree"), ej.obj("layout")
	m := &Model{
		Name: em.text("eruptName"), Title: ej.text("name"), Desc: ej.words("desc"), Key: ej.textOr("primaryKeyCol", "id"),
		Tree: Tree{
			ID: tree.textOr("id", "id"), Label: tree.textOr("label", "name"), Parent: tree.text("pid"),
			Expand: tree.whole("expandLevel", 999),
		},
		Link: LinkTree{Field: link.text("field"), Required: link.flag("dependNode", false)},
		Layout: Layout{
			Paging: Paging(layout.textOr("pagingType", string(PagingBackend))), PageSize: layout.whole("pageSize", 10),
			FullLine: layout.text("formSize") == "FULL_LINE",
		},
		SearchDefaults: em.obj("searchCondition"), ExtraRow: em.flag("extraRow", false),
	}
	for _, s := range layout.list("pageSizes") {
		if n := (object{"n": s}).whole("n", 0); n > 0 && n <= maxPageSize && len(m.Layout.PageSizes) < 20 {
			m.Layout.PageSizes = append(m.Layout.PageSizes, n)
		}
	}
	for _, f := range em.list("eruptFieldModels") {
		if fm := asObject(f); fm.text("fieldName") != "" {
			m.Fields = append(m.Fields, parseField(fm))
		}
	}
	for _, v := range ej.list("rowOperation") {
		m.Operations = append(m.Operations, parseOperation(asObject(v)))
	}
	for _, v := range ej.list("drills") {
		d := asObject(v)
		m.Drills = append(m.Drills, Drill{Code: d.text("code"), Title: d.words("title"), Target: d.obj("link").text("linkErupt")})
	}
	return m
}

func parseOperation(o object) Operation {
	op := Operation{
		Code: o.text("code"), Title: o.words("title"), Tip: o.words("tip"), Hint: o.words("callHint"),
		Mode: o.textOr("mode", "MULTI"), Type: o.textOr("type", "ERUPT"), IfExpr: o.text("ifExpr"),
		Hide: o.text("ifExprBehavior") == "HIDE", Fold: o.flag("fold", false), Class: o.text("eruptClass"),
	}
	if op.Class == "void" {
		op.Class = ""
	}
	return op
}

// parsePower reads the rights; a missing flag is no right, and no object at all grants nothing.
func parsePower(of ...object) Power {
	for _, o := range of {
		if o != nil {
			return Power{
				Add: o.flag("add", false), Edit: o.flag("edit", false), Delete: o.flag("delete", false), Query: o.flag("query", false),
				View: o.flag("viewDetails", false), Export: o.flag("export", false), Import: o.flag("importable", false),
			}
		}
	}
	return Power{}
}

// Simple returns the class name without the node.
func (m *Model) Simple() string { return simple(m.Name) }

func simple(full string) string { return full[strings.LastIndexByte(full, '.')+1:] }

// Field returns the field of that name, nil if there is none.
func (m *Model) Field(name string) *Field {
	for i := range m.Fields {
		if m.Fields[i].Name == name {
			return &m.Fields[i]
		}
	}
	return nil
}

// IsTree reports whether rows of the class hang below each other.
func (m *Model) IsTree() bool { return m.Tree.Parent != "" }

// ParentField returns the field through which a tree's row names its parent, nil if there is none.
func (m *Model) ParentField() *Field {
	name, _, _ := strings.Cut(m.Tree.Parent, ".")
	return m.Field(name)
}

func (m *Model) children() []*Model {
	var out []*Model
	for _, in := range []map[string]*Model{m.Tabs, m.Combines, m.Forms} {
		for _, c := range in {
			out = append(out, c)
		}
	}
	return out
}

// anyClassic decides the dialect by the shape of the data: only 1.x writes viewType and search.vague.
func (m *Model) anyClassic() bool {
	for i := range m.Fields {
		if m.Fields[i].classic {
			return true
		}
	}
	for _, c := range m.children() {
		if c.anyClassic() {
			return true
		}
	}
	return false
}

func (m *Model) spread(classic bool) {
	m.Classic = classic
	for _, c := range m.children() {
		c.spread(classic)
	}
}
