package buildmodel

import (
	"encoding/json"
	"slices"
	"strings"
)

// Control is how a field is edited.
type Control string

// The controls. Shown values cannot be edited here and go back to the node as they came; ControlNone has no place in a form.
const (
	ControlText     Control = "text"
	ControlArea     Control = "area"
	ControlNumber   Control = "number"
	ControlDate     Control = "date"
	ControlBool     Control = "bool"
	ControlChoice   Control = "choice"
	ControlMulti    Control = "multi"
	ControlTags     Control = "tags"
	ControlPassword Control = "password"
	ControlColor    Control = "color"
	ControlRef      Control = "ref"
	ControlRows     Control = "rows"
	ControlShown    Control = "shown"
	ControlNone     Control = "none"
)

// Stored is what a node sends instead of a stored password; sent back, it keeps the password.
const Stored = "••••••"

var controls = map[string]Control{
	"INPUT": ControlText, "AUTO_COMPLETE": ControlText, "TEXTAREA": ControlArea, "CODE_EDITOR": ControlArea, "MARKDOWN": ControlArea,
	"NUMBER": ControlNumber, "SLIDER": ControlNumber, "RATE": ControlNumber, "DATE": ControlDate, "BOOLEAN": ControlBool,
	"CHOICE": ControlChoice, "MULTI_CHOICE": ControlMulti, "TAGS": ControlTags, "PASSWORD": ControlPassword, "COLOR": ControlColor,
	"REFERENCE_TREE": ControlRef, "REFERENCE_TABLE": ControlRef, "TAB_TABLE_ADD": ControlRows, "TAB_TABLE_REFER": ControlRows,
	"MULTI_FORM": ControlRows, "HIDDEN": ControlNone, "DIVIDE": ControlNone, "EMPTY": ControlNone, "GROUP": ControlNone,
	"BUTTON": ControlNone,
}

// Control returns how the field is edited in the form of a row that holds raw; add tells the form of a new row.
func (m *Model) Control(f *Field, raw json.RawMessage, add bool) Control {
	c, known := controls[f.Edit.Type]
	switch {
	case !f.InForm():
		return ControlNone
	case !known:
		return ControlShown
	case c == ControlNone, c == ControlRows:
		return c
	case add && f.Edit.ReadOnlyAdd, !add && (f.Edit.ReadOnlyEdit || f.Name == m.Key):
		return ControlShown
	}
	text := Text(raw)
	if !Keeps(text) {
		return ControlShown // the browser would change it without anybody touching it
	}
	if c == ControlText && strings.ContainsAny(text, "\r\n") {
		return ControlArea
	}
	return c
}

// Entry is what a form holds for one field.
type Entry struct {
	Text  string
	Many  []string // ControlMulti, ControlTags
	Ref   Ref      // ControlRef
	Clear bool     // ControlPassword: forget the stored one
}

// Entry returns what the form shows for a stored value.
func (m *Model) Entry(f *Field, raw json.RawMessage) Entry {
	text := Text(raw)
	switch controls[f.Edit.Type] {
	case ControlRef:
		if isNull(raw) {
			return Entry{}
		}
		return Entry{Ref: f.RefOf(raw)}
	case ControlMulti:
		return Entry{Many: Texts(raw)}
	case ControlTags:
		return Entry{Many: f.ParseTags(text)}
	case ControlPassword:
		return Entry{}
	case ControlDate:
		return Entry{Text: f.DateText(text)}
	}
	return Entry{Text: text}
}

// Same reports whether two entries of a field mean the same, so that a browser's habits do not count as a change.
func (m *Model) Same(f *Field, a, b Entry) bool {
	switch controls[f.Edit.Type] {
	case ControlRef:
		return a.Ref.ID == b.Ref.ID
	case ControlMulti:
		x, y := slices.Clone(a.Many), slices.Clone(b.Many)
		slices.Sort(x)
		slices.Sort(y)
		return slices.Equal(x, y)
	case ControlTags:
		return slices.Equal(a.Many, b.Many)
	case ControlPassword:
		return a.Text == b.Text && a.Clear == b.Clear
	case ControlDate:
		x, okX := dateOK(f.Edit.Date.Kind, a.Text)
		y, okY := dateOK(f.Edit.Date.Kind, b.Text)
		return a.Text == b.Text || okX && okY && x == y
	}
	return lines(a.Text) == lines(b.Text)
}

func lines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// Merge compares what a person sent with the row that the form was made from. changed are the fields that the person changed;
// conflicts are those that somebody else changed meanwhile to something else.
func (m *Model) Merge(base, fresh Row, sent map[string]Entry) (changed map[string]Entry, conflicts []string) {
	changed = map[string]Entry{}
	for i := range m.Fields {
		f := &m.Fields[i]
		entry, ok := sent[f.Name]
		before, now := m.Entry(f, base[f.Name]), m.Entry(f, fresh[f.Name])
		if !ok || m.Same(f, entry, before) {
			continue
		}
		changed[f.Name] = entry
		if !m.Same(f, before, now) && !m.Same(f, entry, now) {
			conflicts = append(conflicts, f.Name)
		}
	}
	return changed, conflicts
}

// SplitAffix cuts the offered prefix and suffix off the text of an INPUT.
func (f *Field) SplitAffix(text string) (prefix, middle, suffix string) {
	for _, c := range f.Edit.Input.Prefix {
		if strings.HasPrefix(text, c.Value) && len(c.Value) > len(prefix) {
			prefix = c.Value
		}
	}
	middle = text[len(prefix):]
	for _, c := range f.Edit.Input.Suffix {
		if strings.HasSuffix(middle, c.Value) && len(c.Value) > len(suffix) {
			suffix = c.Value
		}
	}
	return prefix, middle[:len(middle)-len(suffix)], suffix
}

// State is how a field stands because of another field's value.
type State struct{ Hidden, Required, Locked bool }

// State computes dynamic and showBy with the present values. What cannot be computed counts as matched (erupt-wire 10.7).
func (m *Model) State(f *Field, values Row) State {
	s := State{Required: f.Edit.Required}
	d := f.Edit.Dynamic
	if d == nil {
		return s
	}
	effect := d.Match
	if v, ok := Eval(d.Condition, Scope{Value: values[d.Field], Item: values}); ok && !v.Truth() {
		effect = d.NoMatch
	}
	switch effect {
	case "HIDE":
		s.Hidden = true
	case "NOTNULL":
		s.Required = true
	case "READONLY":
		s.Locked = true
	}
	return s
}

// Raw returns an entry as a row would hold it, for State and for forms that come back with what was typed.
func (m *Model) Raw(f *Field, e Entry) json.RawMessage {
	switch controls[f.Edit.Type] {
	case ControlRef:
		if e.Ref.ID == "" {
			return nil
		}
		return rawOf(map[string]any{f.Edit.Ref.ID: e.Ref.ID, f.Edit.Ref.Label: e.Ref.Label})
	case ControlMulti:
		return rawOf(anys(e.Many))
	case ControlBool:
		if e.Text == "true" || e.Text == "false" {
			return json.RawMessage(e.Text)
		}
		return nil
	case ControlTags:
		text, err := f.JoinTags(e.Many)
		if err != nil || text == "" {
			return nil
		}
		return quote(text)
	}
	if e.Text == "" {
		return nil
	}
	return quote(e.Text)
}
