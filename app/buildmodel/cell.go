package buildmodel

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Column is one view of one field, as the table shows it.
type Column struct {
	Field *Field
	View  View
	Key   string // key in rows
	Sort  string // name to sort by, empty: not sortable
}

// Columns returns the visible columns in order.
func (m *Model) Columns() []Column {
	var out []Column
	for i := range m.Fields {
		f := &m.Fields[i]
		for _, v := range f.Views {
			if !v.Show || v.Title == "" || v.Type == "TAB_VIEW" {
				continue
			}
			out = append(out, column(f, v))
		}
	}
	return out
}

func column(f *Field, v View) Column {
	c := Column{Field: f, View: v, Key: f.Name}
	sort := f.Name
	if v.Column != "" {
		c.Key, sort = f.Name+"_"+flat(v.Column), f.Name+"."+v.Column
	}
	// The name goes into the query language of 2.0 to 2.2 nodes unchecked (erupt-wire 10.7).
	if v.Sortable && sortName.MatchString(sort) {
		c.Sort = sort
	}
	return c
}

var sortName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// Kind tells how a cell is drawn.
type Kind string

// The kinds of cells. Markup is shown as text, everything unknown is KindText.
const (
	KindText   Kind = "text"
	KindNumber Kind = "number"
	KindBool   Kind = "bool"
	KindDate   Kind = "date"
	KindTag    Kind = "tag"
	KindTags   Kind = "tags"
	KindColor  Kind = "color"
	KindLink   Kind = "link"
	KindFile   Kind = "file"
)

// Cell is one value ready to be shown. All of it is untrusted text except Color, URL and Yes.
type Cell struct {
	Kind  Kind
	Text  string
	Items []string // KindTags, KindFile
	Color string   // #rrggbb or empty
	URL   string   // absolute http or https, for KindLink
	Yes   *bool    // KindBool: nil if it cannot be told
	Raw   string   // the value behind Text, where it differs
}

// Cell returns what the column shows of a row.
func (c Column) Cell(row Row) Cell {
	raw := row[c.Key]
	if c.View.Template != "" && !isNull(raw) {
		if v, ok := Eval(c.View.Template, Scope{Value: raw, Item: row}); ok {
			return Cell{Kind: KindText, Text: v.Text(), Raw: Text(raw)}
		}
	}
	if isNull(raw) {
		return Cell{Kind: KindText}
	}
	if c.View.Column == "" {
		return c.Field.show(c.View.Type, raw)
	}
	return plain(c.View.Type, raw)
}

// Show returns the value of a detail as text for people: the form's counterpart of Cell.
func (f *Field) Show(raw json.RawMessage) Cell {
	if isNull(raw) {
		return Cell{Kind: KindText}
	}
	switch {
	case refTypes[f.Edit.Type]:
		return Cell{Kind: KindText, Text: f.RefOf(raw).Label}
	case pickTypes[f.Edit.Type]:
		ids := Texts(raw)
		return Cell{Kind: KindTags, Items: ids, Text: strings.Join(ids, ", ")}
	case f.Edit.Type == "ATTACHMENT":
		return f.show("ATTACHMENT", raw)
	}
	return f.show("", raw)
}

// show applies the rules of erupt-wire 4.7: whether a node sends the raw value or already the label is told by comparing, not
// by its version.
func (f *Field) show(view string, raw json.RawMessage) Cell {
	text := Text(raw)
	switch {
	case f.Edit.Type == "CHOICE":
		if c, ok := f.Label(text); ok {
			return Cell{Kind: KindTag, Text: c.Label, Color: hexColor(c.Color), Raw: c.Value}
		}
		return Cell{Kind: KindTag, Text: text}
	case f.Edit.Type == "MULTI_CHOICE":
		cell := Cell{Kind: KindTags}
		for _, v := range Texts(raw) {
			if c, ok := f.Label(v); ok {
				v = c.Label
			}
			cell.Items = append(cell.Items, v)
		}
		cell.Text = strings.Join(cell.Items, ", ")
		return cell
	case f.Edit.Type == "BOOLEAN":
		return f.boolCell(raw, text)
	case f.Edit.Type == "TAGS":
		tags := f.ParseTags(text)
		return Cell{Kind: KindTags, Items: tags, Text: strings.Join(tags, ", ")}
	case f.Edit.Type == "DATE":
		return Cell{Kind: KindDate, Text: f.DateText(text), Raw: text}
	}
	return plain(view, raw)
}

func (f *Field) boolCell(raw json.RawMessage, text string) Cell {
	yes := text == "true" || text == f.Edit.Bool.True
	no := text == "false" || text == f.Edit.Bool.False
	cell := Cell{Kind: KindBool, Text: text, Raw: text}
	switch {
	case yes && no: // both words alike: nothing to tell apart
	case yes:
		cell.Yes = &yes
	case no:
		cell.Yes = &yes // yes is false here
	}
	switch string(raw) {
	case "true":
		cell.Text = f.Edit.Bool.True
	case "false":
		cell.Text = f.Edit.Bool.False
	}
	return cell
}

// plain draws a value by its view type alone.
func plain(view string, raw json.RawMessage) Cell {
	text := Text(raw)
	switch view {
	case "NUMBER", "PROGRESS":
		return Cell{Kind: KindNumber, Text: text}
	case "DATE":
		return Cell{Kind: KindDate, Text: dateText("DATE", text), Raw: text}
	case "DATE_TIME":
		return Cell{Kind: KindDate, Text: dateText("DATE_TIME", text), Raw: text}
	case "COLOR":
		return Cell{Kind: KindColor, Text: text, Color: hexColor(text)}
	case "LINK", "LINK_DIALOG":
		return Cell{Kind: KindLink, Text: text, URL: httpURL(text)}
	case "ATTACHMENT", "DOWNLOAD", "ATTACHMENT_DIALOG", "IMAGE":
		files := strings.FieldsFunc(text, func(r rune) bool { return r == '|' })
		return Cell{Kind: KindFile, Text: text, Items: files}
	case "BOOLEAN":
		if text == "true" || text == "false" {
			yes := text == "true"
			return Cell{Kind: KindBool, Text: text, Yes: &yes}
		}
	}
	return Cell{Kind: KindText, Text: text}
}

var hexForm = regexp.MustCompile(`^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$`)

// hexColor returns c if it is a plain hex colour: everything else could smuggle style.
func hexColor(c string) string {
	if hexForm.MatchString(c) {
		return c
	}
	return ""
}

// httpURL returns s if it is safe to link to.
func httpURL(s string) string {
	lower := strings.ToLower(s)
	if (strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")) && Keeps(s) && !strings.ContainsAny(s, " \t\r\n\"<>\\") {
		return s
	}
	return ""
}
