package nodeagent

import (
	"context"
	"regexp"
	"slices"
)

// FieldType is the edit type of a field, spelled as on the wire.
type FieldType string

// The edit types that a page can declare.
const (
	TypeInput          FieldType = "INPUT"
	TypeTextarea       FieldType = "TEXTAREA"
	TypeMarkdown       FieldType = "MARKDOWN"
	TypeCode           FieldType = "CODE_EDITOR"
	TypeNumber         FieldType = "NUMBER"
	TypeSlider         FieldType = "SLIDER"
	TypeRate           FieldType = "RATE"
	TypeDate           FieldType = "DATE"
	TypeBoolean        FieldType = "BOOLEAN"
	TypeChoice         FieldType = "CHOICE"
	TypeMultiChoice    FieldType = "MULTI_CHOICE"
	TypeTags           FieldType = "TAGS"
	TypePassword       FieldType = "PASSWORD"
	TypeColor          FieldType = "COLOR"
	TypeReferenceTable FieldType = "REFERENCE_TABLE"
	TypeReferenceTree  FieldType = "REFERENCE_TREE"
	TypeItems          FieldType = "TAB_TABLE_ADD"
	TypeAttachment     FieldType = "ATTACHMENT"
	TypeHidden         FieldType = "HIDDEN"
	TypeDivide         FieldType = "DIVIDE"
)

// Operator compares a field with the value of a search.
type Operator string

// The operators of a table query.
const (
	EQ      Operator = "EQ"
	NEQ     Operator = "NEQ" // not equal; rows without a value do not match
	GT      Operator = "GT"
	GTE     Operator = "GTE"
	LT      Operator = "LT"
	LTE     Operator = "LTE"
	LIKE    Operator = "LIKE" // contains, whatever the case
	NOTLIKE Operator = "NOT_LIKE"
	RANGE   Operator = "RANGE" // both ends included; an end without a value matches nothing
	IN      Operator = "IN"
	NOTIN   Operator = "NOT_IN"
	NULL    Operator = "NULL"
	NOTNULL Operator = "NOT_NULL"
)

// Option is one choice.
type Option struct {
	Value    string
	Label    string
	Color    string // "#rrggbb", or empty
	Desc     string
	Disabled bool // shown for rows that have it, not offered
}

// Field declares one property of a page's rows: its form input, its table columns and what is allowed in it. Make one with
// Input, Number and the other constructors and refine it with its methods, each of which returns a changed copy.
//
// The values of a row (see Row) are, by type: string for INPUT, TEXTAREA, MARKDOWN, CODE_EDITOR, PASSWORD, COLOR, CHOICE,
// ATTACHMENT and HIDDEN; int64 for whole NUMBER fields; float64 for Decimal, SLIDER and RATE; bool for BOOLEAN; "2006-01-02" and
// "2006-01-02T15:04:05.000" as string for Date and DateTime; []string for MULTI_CHOICE and TAGS; the id of the referenced row
// for references; []Row for TAB_TABLE_ADD. A missing value is absent or nil.
type Field struct {
	Name  string // key in rows
	Title string // what people read
	Type  FieldType

	desc, placeholder     string
	required, unique      bool
	readOnAdd, readOnEdit bool
	noForm                bool
	initial               any

	hidden, sortable bool // of the column
	width            string
	noColumn         bool

	search         bool
	searchRequired bool
	operator       Operator

	maxLength                 int
	pattern                   *regexp.Regexp
	patternText               string
	min, max                  *float64
	places                    int // decimal places; -1: whole numbers
	step                      float64
	half                      bool
	withTime                  bool
	trueText, falseText       string
	language                  string
	options                   []Option
	optionsFrom               func(ctx context.Context, form Row) ([]Option, error)
	extensible                bool
	target                    string // page that a reference leads to
	label                     string // its field that stands for the row
	shown                     []shownColumn
	dependField, dependColumn string
	items                     *Page
	files                     Files
}

// shownColumn is a column of a referenced row.
type shownColumn struct{ column, title string }

// Files limits an ATTACHMENT field.
type Files struct {
	Extensions []string // without dot, lower case; empty: any
	MaxKB      int64    // of one file; zero: Config.MaxUpload; -1: without limit
	Max        int      // how many; zero: one
	Images     bool     // only pictures, shown as such
}

const (
	defaultInputLength = 255
	defaultTextLength  = 20_000
	maxTags            = 100
	maxItems           = 500
)

// Input is one line of text, at most 255 characters unless Length says otherwise.
func Input(name, title string) Field {
	return Field{Name: name, Title: title, Type: TypeInput, maxLength: defaultInputLength, operator: LIKE}
}

// Textarea is text of several lines.
func Textarea(name, title string) Field {
	return Field{Name: name, Title: title, Type: TypeTextarea, maxLength: defaultTextLength, operator: LIKE}
}

// Markdown is text in Markdown.
func Markdown(name, title string) Field {
	return Field{Name: name, Title: title, Type: TypeMarkdown, maxLength: defaultTextLength}
}

// Code is program text in a language such as "json" or "sql".
func Code(name, title, language string) Field {
	return Field{Name: name, Title: title, Type: TypeCode, maxLength: defaultTextLength, language: language, operator: LIKE}
}

// Number is a whole number of 64 bits.
func Number(name, title string) Field {
	return Field{Name: name, Title: title, Type: TypeNumber, places: -1, operator: EQ}
}

// Decimal is a number with at most so many decimal places, and at most 15 significant digits.
func Decimal(name, title string, places int) Field {
	return Field{Name: name, Title: title, Type: TypeNumber, places: places, operator: EQ}
}

// Slider is a number from low to high in steps; a step of zero leaves the steps free.
func Slider(name, title string, low, high, step float64) Field {
	return Field{Name: name, Title: title, Type: TypeSlider, min: &low, max: &high, step: step, operator: EQ}
}

// Rate is a number of stars, from 0 to count, halves if half is set.
func Rate(name, title string, count int, half bool) Field {
	zero, top := 0.0, float64(count)
	step := 1.0
	if half {
		step = 0.5
	}
	return Field{Name: name, Title: title, Type: TypeRate, min: &zero, max: &top, step: step, half: half, operator: EQ}
}

// Date is a day.
func Date(name, title string) Field {
	return Field{Name: name, Title: title, Type: TypeDate, operator: RANGE}
}

// DateTime is a moment of local time, to the millisecond.
func DateTime(name, title string) Field {
	return Field{Name: name, Title: title, Type: TypeDate, withTime: true, operator: RANGE}
}

// Boolean is yes or no, shown with the two texts.
func Boolean(name, title, trueText, falseText string) Field {
	return Field{Name: name, Title: title, Type: TypeBoolean, trueText: trueText, falseText: falseText, operator: EQ}
}

// Choice is one of the options.
func Choice(name, title string, options ...Option) Field {
	return Field{Name: name, Title: title, Type: TypeChoice, options: options, operator: EQ}
}

// MultiChoice is any of the options.
func MultiChoice(name, title string, options ...Option) Field {
	return Field{Name: name, Title: title, Type: TypeMultiChoice, options: options}
}

// Tags are words; the suggestions may be left out or added to, unless OnlySuggested says otherwise. A search for tags finds the
// rows that have all of them.
func Tags(name, title string, suggestions ...string) Field {
	options := make([]Option, len(suggestions))
	for i, s := range suggestions {
		options[i] = Option{Value: s, Label: s}
	}
	return Field{Name: name, Title: title, Type: TypeTags, options: options, extensible: true, operator: EQ}
}

// Password is text that never leaves the node again: people see six dots.
func Password(name, title string) Field {
	return Field{Name: name, Title: title, Type: TypePassword, maxLength: defaultInputLength}
}

// Color is "#rrggbb".
func Color(name, title string) Field { return Field{Name: name, Title: title, Type: TypeColor} }

// ReferenceTable leads to a row of another page of this node, picked from its table. The row is shown by its field "name"
// unless Label says otherwise.
func ReferenceTable(name, title, page string) Field {
	return Field{Name: name, Title: title, Type: TypeReferenceTable, target: page, label: "name", operator: EQ}
}

// ReferenceTree leads to a row of another page of this node, or of the same one, picked from its tree.
func ReferenceTree(name, title, page string) Field {
	return Field{Name: name, Title: title, Type: TypeReferenceTree, target: page, label: "name", operator: EQ}
}

// Items is a table of its own within the form, such as the lines of an order. The page says what an item is; it needs no
// source, since items are stored with their row.
func Items(name, title string, item Page) Field {
	return Field{Name: name, Title: title, Type: TypeItems, items: &item}
}

// Attachment is one or more files.
func Attachment(name, title string, files Files) Field {
	return Field{Name: name, Title: title, Type: TypeAttachment, files: files}
}

// Hidden is carried through the form unseen.
func Hidden(name string) Field {
	return Field{Name: name, Title: name, Type: TypeHidden, maxLength: defaultInputLength, noColumn: true}
}

// Divide is a line with a title between the inputs of a form.
func Divide(name, title string) Field {
	return Field{Name: name, Title: title, Type: TypeDivide, noColumn: true}
}

// Hint explains the input to people.
func (f Field) Hint(text string) Field { f.desc = text; return f }

// Placeholder is shown in an empty input.
func (f Field) Placeholder(text string) Field { f.placeholder = text; return f }

// Required refuses rows without a value.
func (f Field) Required() Field { f.required = true; return f }

// Unique refuses rows whose value another row has already.
func (f Field) Unique() Field { f.unique = true; return f }

// ReadOnly shows the value but takes none from people; Default, hooks and the source set it.
func (f Field) ReadOnly() Field { f.readOnAdd, f.readOnEdit = true, true; return f }

// ReadOnlyOnEdit takes a value for new rows only.
func (f Field) ReadOnlyOnEdit() Field { f.readOnEdit = true; return f }

// NoForm leaves the field out of the form: a column only, never taken from people.
func (f Field) NoForm() Field { f.noForm = true; return f }

// Default is the value of a new form.
func (f Field) Default(v any) Field { f.initial = v; return f }

// NoColumn leaves the field out of the table.
func (f Field) NoColumn() Field { f.noColumn = true; return f }

// HiddenColumn sends the column with the rows but does not show it at first.
func (f Field) HiddenColumn() Field { f.hidden = true; return f }

// Sortable lets people sort the table by the column.
func (f Field) Sortable() Field { f.sortable = true; return f }

// Width of the column, such as "160px".
func (f Field) Width(css string) Field { f.width = css; return f }

// Search lets people search by the field. The first operator is the one used when a search names none.
func (f Field) Search(operator ...Operator) Field {
	f.search = true
	if len(operator) > 0 {
		f.operator = operator[0]
	}
	return f
}

// SearchRequired refuses to show the table until the field is searched for.
func (f Field) SearchRequired() Field { f.search, f.searchRequired = true, true; return f }

// Length is the longest text, in characters.
func (f Field) Length(most int) Field { f.maxLength = most; return f }

// Pattern is a regular expression that the whole text must match; message says so to people.
func (f Field) Pattern(expr *regexp.Regexp, message string) Field {
	f.pattern, f.patternText = expr, message
	return f
}

// Between limits a number, both ends included.
func (f Field) Between(low, high float64) Field { f.min, f.max = &low, &high; return f }

// OptionsFrom takes the options from code, given what the form holds so far (nil where there is no form). They replace those
// of the declaration.
func (f Field) OptionsFrom(fn func(ctx context.Context, form Row) ([]Option, error)) Field {
	f.optionsFrom = fn
	return f
}

// OnlySuggested refuses tags that were not suggested.
func (f Field) OnlySuggested() Field { f.extensible = false; return f }

// Label is the field of the referenced page that stands for a row.
func (f Field) Label(field string) Field { f.label = field; return f }

// Show adds a column with a field of the referenced row. Without any, the label is shown under the field's own title.
func (f Field) Show(field, title string) Field {
	f.shown = append(slices.Clone(f.shown), shownColumn{field, title})
	return f
}

// DependsOn offers only rows of the referenced page whose field column equals what the form holds in field.
func (f Field) DependsOn(field, column string) Field {
	f.dependField, f.dependColumn = field, column
	return f
}

// isReference reports whether the value is the id of another row.
func (f *Field) isReference() bool {
	return f.Type == TypeReferenceTable || f.Type == TypeReferenceTree
}

// isText reports whether the value is free text.
func (f *Field) isText() bool {
	switch f.Type {
	case TypeInput, TypeTextarea, TypeMarkdown, TypeCode, TypeHidden:
		return true
	}
	return false
}

func (f *Field) isNumber() bool {
	return f.Type == TypeNumber || f.Type == TypeSlider || f.Type == TypeRate
}

// operators returns what a search by the field may use (erupt-wire 4.7).
func (f *Field) operators() []Operator {
	switch {
	case f.isText():
		return []Operator{EQ, NEQ, LIKE, NOTLIKE, IN, NOTIN, NULL, NOTNULL}
	case f.isNumber():
		return []Operator{EQ, NEQ, GT, GTE, LT, LTE, RANGE, IN, NOTIN, NULL, NOTNULL}
	case f.Type == TypeDate:
		return []Operator{RANGE, EQ, GT, GTE, LT, LTE, NULL, NOTNULL}
	case f.Type == TypeChoice, f.isReference():
		return []Operator{EQ, NEQ, IN, NOTIN, NULL, NOTNULL}
	case f.Type == TypeBoolean, f.Type == TypeTags:
		return []Operator{EQ, NULL, NOTNULL}
	}
	return nil
}
