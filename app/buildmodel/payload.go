package buildmodel

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
)

// Problem is why an entry cannot be sent: "number", "date", "min", "max", "choice", "color", "tag", "tags". Arg is the bound.
type Problem struct{ Kind, Arg string }

// Payload writes the body of an insert (add) or update. row is the detail as the node has it now, or the initial values of a new
// row; changed are the entries that differ from it. Everything that nobody changed goes back as it came, in the form that the
// node takes: what is left out, a node sets to null (erupt-wire 4.6).
func (m *Model) Payload(row Row, changed map[string]Entry, add bool) (body []byte, problems map[string]Problem) {
	problems = map[string]Problem{}
	var out bytes.Buffer
	put := func(name string, raw json.RawMessage) {
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		out.Write(quote(name))
		out.WriteByte(':')
		out.Write(raw)
	}
	keySeen := false
	for i := range m.Fields {
		f := &m.Fields[i]
		raw, problem := m.fieldPayload(f, row[f.Name], changed, add)
		if problem.Kind != "" {
			problems[f.Name] = problem
		}
		// Nulls are left out: 1.x answers a JSON null of a text or number with an exception.
		if !isNull(raw) {
			put(f.Name, raw)
			keySeen = keySeen || f.Name == m.Key
		}
	}
	if !add && !keySeen && row.Has(m.Key) {
		put(m.Key, row[m.Key])
	}
	return []byte("{" + out.String() + "}"), problems
}

func (m *Model) fieldPayload(f *Field, stored json.RawMessage, changed map[string]Entry, add bool) (json.RawMessage, Problem) {
	entry, isChanged := changed[f.Name]
	switch {
	case layoutTypes[f.Edit.Type]:
		return nil, Problem{}
	case f.Name == m.Key && !add:
		return stored, Problem{}
	case f.Name == m.Key && !f.InForm(): // the node makes it
		return nil, Problem{}
	case isChanged && m.Control(f, stored, add) != ControlShown:
		return m.newValue(f, entry, stored)
	}
	raw := m.asRead(f, stored)
	if isNull(raw) && rowTypes[f.Edit.Type] {
		raw = json.RawMessage("[]") // leaving it out is a null pointer on the node
	}
	return raw, Problem{}
}

// asRead turns a value of a detail into what the node takes back for "unchanged".
func (m *Model) asRead(f *Field, raw json.RawMessage) json.RawMessage {
	t := f.Edit.Type
	switch {
	case isNull(raw):
		return nil
	case rowTypes[t]:
		return eachElement(raw, m.Tabs[f.Name].rowAsRead)
	case pickTypes[t]:
		return m.picksAsRead(f, raw)
	case t == "COMBINE":
		return m.Combines[f.Name].rowAsRead(raw)
	case refTypes[t]:
		return f.refAsRead(raw)
	case t == "DATE" && raw[0] == '"':
		if text, as := Text(raw), m.dateAsRead(Text(raw)); as != text {
			return quote(as)
		}
	}
	return raw
}

func eachElement(raw json.RawMessage, convert func(json.RawMessage) json.RawMessage) json.RawMessage {
	list := []json.RawMessage{}
	for _, e := range elements(raw) {
		list = append(list, convert(e))
	}
	return rawOf(list)
}

// rowAsRead converts a nested row; without a model of its class it goes back untouched.
func (m *Model) rowAsRead(raw json.RawMessage) json.RawMessage {
	row, err := ParseRow(raw)
	if m == nil || err != nil {
		return raw
	}
	touched := false
	for i := range m.Fields {
		f := &m.Fields[i]
		if refTypes[f.Edit.Type] || !row.Has(f.Name) {
			continue // nested references are taken with all their keys
		}
		if was := row[f.Name]; !bytes.Equal(was, m.asRead(f, was)) {
			row[f.Name], touched = m.asRead(f, was), true
		}
	}
	if !touched {
		return raw
	}
	return rawOf(row)
}

// picksAsRead writes chosen rows as objects with nothing but the key, which is literally "id" for boxes.
func (m *Model) picksAsRead(f *Field, raw json.RawMessage) json.RawMessage {
	key := "id"
	if t := m.Tabs[f.Name]; t != nil && strings.HasPrefix(f.Edit.Type, "TAB_") {
		key = t.Key
	}
	return eachElement(raw, func(e json.RawMessage) json.RawMessage {
		if row, err := ParseRow(e); err == nil {
			if !row.Has(key) {
				return e
			}
			e = row[key]
		}
		return rawOf(map[string]json.RawMessage{key: e})
	})
}

func (f *Field) refAsRead(raw json.RawMessage) json.RawMessage {
	row, err := ParseRow(raw)
	ref := f.Edit.Ref
	if err != nil || !row.Has(ref.ID) {
		return raw
	}
	out := map[string]json.RawMessage{ref.ID: row[ref.ID]}
	if row.Has(ref.Label) {
		out[ref.Label] = row[ref.Label]
	}
	return rawOf(out)
}

// newValue writes what a person entered; nil means null.
func (m *Model) newValue(f *Field, e Entry, stored json.RawMessage) (json.RawMessage, Problem) {
	switch controls[f.Edit.Type] {
	case ControlRef, ControlBool:
		return m.Raw(f, e), Problem{}
	case ControlMulti:
		return f.multiValue(e, stored)
	case ControlTags:
		return f.tagsValue(e)
	case ControlPassword:
		switch {
		case e.Text != "":
			return quote(e.Text), Problem{}
		case e.Clear:
			return nil, Problem{}
		}
		return stored, Problem{}
	case ControlRows:
		return m.asRead(f, stored), Problem{}
	}
	if e.Text == "" {
		return nil, Problem{}
	}
	switch controls[f.Edit.Type] {
	case ControlNumber:
		return f.numberValue(strings.TrimSpace(e.Text))
	case ControlDate:
		text, ok := m.datePayload(f, e.Text, Text(stored))
		if !ok {
			return nil, Problem{Kind: "date"}
		}
		return quote(text), Problem{}
	case ControlChoice:
		if !slices.ContainsFunc(f.Choices, func(c Choice) bool { return c.Value == e.Text }) {
			return nil, Problem{Kind: "choice"}
		}
	case ControlColor:
		if hexColor(e.Text) == "" {
			return nil, Problem{Kind: "color"}
		}
	}
	text := e.Text
	if !strings.Contains(Text(stored), "\r\n") {
		text = lines(text) // browsers send every line end as CRLF
	}
	return quote(text), Problem{}
}

func (f *Field) multiValue(e Entry, stored json.RawMessage) (json.RawMessage, Problem) {
	had := map[string]json.RawMessage{}
	for _, r := range elements(stored) {
		had[Text(r)] = r
	}
	list := []json.RawMessage{}
	for _, v := range e.Many {
		raw, ok := had[v]
		if !ok {
			if !slices.ContainsFunc(f.Choices, func(c Choice) bool { return c.Value == v }) {
				return nil, Problem{Kind: "choice"}
			}
			raw = quote(v)
		}
		list = append(list, raw)
	}
	return rawOf(list), Problem{}
}

func (f *Field) tagsValue(e Entry) (json.RawMessage, Problem) {
	text, err := f.JoinTags(e.Many)
	switch {
	case err != nil:
		return nil, Problem{Kind: "tag", Arg: f.Edit.Tags.Separator}
	case len(e.Many) > f.Edit.Tags.Max:
		return nil, Problem{Kind: "tags", Arg: string(rawOf(f.Edit.Tags.Max))}
	case text == "":
		return nil, Problem{}
	}
	return quote(text), Problem{}
}

func (f *Field) numberValue(text string) (json.RawMessage, Problem) {
	if !isNumber(text) {
		return nil, Problem{Kind: "number"}
	}
	bounds := f.Edit.Number
	if less(text, bounds.Min) {
		return nil, Problem{Kind: "min", Arg: bounds.Min}
	}
	if bounds.Max != "" && less(bounds.Max, text) {
		return nil, Problem{Kind: "max", Arg: bounds.Max}
	}
	return numberRaw(text), Problem{}
}

// less compares two numbers exactly; false if one is no plain number.
func less(a, b string) bool {
	plain := func(s string) *big.Rat { return rational(Value{json.Number(s)}) }
	x, y := plain(a), plain(b)
	return x != nil && y != nil && x.Cmp(y) < 0
}
