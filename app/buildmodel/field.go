package buildmodel

import (
	"encoding/json"
	"strings"
)

// Field is one property of a class.
type Field struct {
	Name string
	// Returns is the Java type, or the class behind a reference or tab; empty on 1.x.
	Returns string
	Views   []View
	Edit    Edit
	Choices []Choice
	// Tags are the values that a TAGS field offers.
	Tags []string

	classic bool
}

// View is one column of the table.
type View struct {
	Title, Desc, Column, Type, Template string
	Show, Sortable                      bool
}

// Choice is one option. Value is always text.
type Choice struct {
	Value, Label, Desc, Color string
	Disabled                  bool
}

// Edit is the form component of a field. An empty Title: the field is not part of the form.
type Edit struct {
	Title, Desc, Type, PlaceHolder string
	Required, Show                 bool
	// ReadOnlyAdd and ReadOnlyEdit lock the field in the form of a new or an existing row.
	ReadOnlyAdd, ReadOnlyEdit bool
	Search                    Search
	Dynamic                   *Dynamic
	Input                     InputType
	Number                    NumberType
	Date                      DateType
	Bool                      BoolType
	Ref                       RefType
	Tags                      TagsType
	// Radio shows choices as buttons.
	Radio bool
}

// Search tells whether and how a field can be searched.
type Search struct {
	On, Required, Vague, Locked bool
	Operator                    string // resolved by the node; empty on 1.x
}

// Dynamic ties a field to the value of another. Match and NoMatch are SHOW, HIDE, NOTNULL or READONLY.
type Dynamic struct{ Field, Condition, Match, NoMatch string }

// InputType is the setting of INPUT.
type InputType struct {
	Length         int
	Kind           string
	Prefix, Suffix []Choice
}

// NumberType is the setting of NUMBER, SLIDER and RATE. Empty bounds: none.
type NumberType struct{ Min, Max, Step string }

// DateType is the setting of DATE: DATE, TIME, DATE_TIME, MONTH, WEEK, YEAR.
type DateType struct{ Kind, Picker string }

// BoolType holds the words for true and false.
type BoolType struct{ True, False string }

// RefType is the setting of references: which keys hold id and label, and the field that must be chosen first.
type RefType struct{ ID, Label, DependField string }

// TagsType is the setting of TAGS. Separator "[]": the value is a JSON array as text.
type TagsType struct {
	Separator string
	Free      bool // values beside the offered ones are allowed
	Max       int
}

func parseField(fm object) Field {
	fj := fm.obj("eruptFieldJson")
	f := Field{Name: fm.text("fieldName"), Returns: fm.text("fieldReturnName")}
	for _, v := range fj.list("views") {
		o := asObject(v)
		if o.has("viewType") {
			f.classic = true
		}
		f.Views = append(f.Views, View{
			Title: o.words("title"), Desc: o.words("desc"), Column: o.text("column"), Template: o.text("template"),
			Type: o.textOr("type", o.textOr("viewType", "TEXT")), Show: o.flag("show", true), Sortable: o.flag("sortable", false),
		})
	}
	edit := fj.obj("edit")
	if edit.obj("search").has("vague") {
		f.classic = true
	}
	f.Edit = parseEdit(edit)
	for _, v := range fm.list("componentValue") {
		if o := asObject(v); o != nil {
			f.Choices = append(f.Choices, parseChoice(o))
		} else if t := scalar(v); t != "" {
			f.Tags = append(f.Tags, t)
		}
	}
	return f
}

func parseChoice(o object) Choice {
	return Choice{
		Value: o.text("value"), Label: Printable(o.textOr("label", o.text("value"))), Desc: o.words("desc"), Color: o.text("color"),
		Disabled: o.flag("disable", false),
	}
}

func parseEdit(o object) Edit {
	readOnly, search := o.obj("readOnly"), o.obj("search")
	e := Edit{
		Title: o.words("title"), Desc: o.words("desc"), Type: o.textOr("type", "INPUT"), PlaceHolder: o.words("placeHolder"),
		Required: o.flag("notNull", false), Show: o.flag("show", true),
		ReadOnlyAdd: readOnly.flag("add", false), ReadOnlyEdit: readOnly.flag("edit", false),
		Search: Search{
			On: search.flag("value", false), Required: search.flag("notNull", false), Vague: search.flag("vague", false),
			Locked: search.flag("lockOperator", false), Operator: search.text("operator"),
		},
		Dynamic: parseDynamic(o),
		Input:   parseInput(o.obj("inputType")),
		Number:  parseNumber(o),
		Date:    DateType{Kind: o.obj("dateType").textOr("type", "DATE"), Picker: o.obj("dateType").textOr("pickerMode", "ALL")},
		Bool:    BoolType{True: o.obj("boolType").textOr("trueText", "Y"), False: o.obj("boolType").textOr("falseText", "N")},
		Tags: TagsType{
			Separator: o.obj("tagsType").textOr("joinSeparator", "[]"), Free: o.obj("tagsType").flag("allowExtension", true),
			Max: o.obj("tagsType").whole("maxTagCount", 9999),
		},
		Radio: o.obj("choiceType").text("type") == "RADIO",
	}
	ref := o.obj("referenceTableType")
	if ref == nil {
		ref = o.obj("referenceTreeType")
	}
	e.Ref = RefType{ID: ref.textOr("id", "id"), Label: ref.textOr("label", "name"), DependField: ref.text("dependField")}
	return e
}

// parseDynamic reads dynamic, or showBy, which stands in for it on 1.x.
func parseDynamic(o object) *Dynamic {
	if d := o.obj("dynamic"); d.text("dependField") != "" {
		return &Dynamic{
			Field: d.text("dependField"), Condition: d.text("condition"), Match: d.textOr("match", "SHOW"), NoMatch: d.textOr("noMatch", "HIDE"),
		}
	}
	if d := o.obj("showBy"); d.text("dependField") != "" {
		return &Dynamic{Field: d.text("dependField"), Condition: d.text("expr"), Match: "SHOW", NoMatch: "HIDE"}
	}
	return nil
}

func parseInput(o object) InputType {
	in := InputType{Length: o.whole("length", 255), Kind: o.textOr("type", "text")}
	for _, v := range o.list("prefix") {
		in.Prefix = append(in.Prefix, parseChoice(asObject(v)))
	}
	for _, v := range o.list("suffix") {
		in.Suffix = append(in.Suffix, parseChoice(asObject(v)))
	}
	return in
}

// parseNumber reads the bounds of the three number types. The annotation's defaults mean "none": they are smaller than the
// ids and amounts that such fields hold.
func parseNumber(o object) NumberType {
	n := NumberType{}
	if t := o.obj("numberType"); t != nil {
		n.Min, n.Max, n.Step = t.text("min"), t.text("max"), t.text("step")
	}
	if t := o.obj("sliderType"); t != nil {
		n.Min, n.Max, n.Step = t.text("min"), t.text("max"), t.text("step")
	}
	if t := o.obj("rateType"); t != nil {
		n.Min, n.Max = "0", t.textOr("count", "5")
		if n.Step = "1"; t.flag("allowHalf", false) {
			n.Step = "0.5"
		}
	}
	trim := func(s string) string {
		s = strings.TrimSuffix(s, ".0")
		if s == "2147483647" || s == "-2147483647" || !isNumber(s) {
			return ""
		}
		return s
	}
	n.Min, n.Max, n.Step = trim(n.Min), trim(n.Max), trim(n.Step)
	return n
}

// isNumber reports whether s is written like a JSON number.
func isNumber(s string) bool {
	if s == "" || len(s) > 400 || (s[0] != '-' && (s[0] < '0' || s[0] > '9')) {
		return false
	}
	return json.Valid([]byte(s))
}

// InForm reports whether the field has a place in the form.
func (f *Field) InForm() bool { return f.Edit.Title != "" && f.Edit.Show }

// Label returns the option's label for a raw value, or for a value that already is a label; ok is false for neither.
func (f *Field) Label(value string) (Choice, bool) {
	for _, c := range f.Choices {
		if c.Value == value {
			return c, true
		}
	}
	for _, c := range f.Choices {
		if c.Label == value {
			return c, true
		}
	}
	return Choice{}, false
}

// The edit types that hold one text, one number, one reference, many of something, or nothing at all.
var (
	textTypes   = set("INPUT", "TEXTAREA", "AUTO_COMPLETE", "CODE_EDITOR", "MARKDOWN")
	numberTypes = set("NUMBER", "SLIDER", "RATE")
	refTypes    = set("REFERENCE_TREE", "REFERENCE_TABLE")
	rowTypes    = set("TAB_TABLE_ADD", "MULTI_FORM")
	pickTypes   = set("CHECKBOX", "TRANSFER", "TAB_TREE", "TAB_TABLE_REFER")
	layoutTypes = set("DIVIDE", "EMPTY", "CALLOUT", "GROUP", "BUTTON")
	classTypes  = set("CHECKBOX", "TRANSFER", "TAB_TREE", "TAB_TABLE_REFER", "TAB_TABLE_ADD", "MULTI_FORM", "COMBINE",
		"REFERENCE_TREE", "REFERENCE_TABLE")
)

// IsNumber reports whether the field holds one number.
func IsNumber(f *Field) bool { return numberTypes[f.Edit.Type] }

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}
