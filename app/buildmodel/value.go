package buildmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// Row is one record as a node sent it: table row, detail, initial values. Values stay raw.
type Row map[string]json.RawMessage

// ParseRow reads a detail or the like. An empty body or null is an empty row.
func ParseRow(raw []byte) (Row, error) {
	if t := bytes.TrimSpace(raw); len(t) == 0 || string(t) == "null" {
		return Row{}, nil
	}
	var r Row
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, err
	}
	return r, nil
}

// Has reports whether the row has a value for key that is not null.
func (r Row) Has(key string) bool { return !isNull(r[key]) }

// Text returns the value of key as text, see Text.
func (r Row) Text(key string) string { return Text(r[key]) }

// Power returns what the user may do with this row: the page's rights, or fewer where the node says so for the row.
func (r Row) Power(page Power) Power {
	v, err := decode(orNull(r["__power__"]))
	o := asObject(v)
	if err != nil || o == nil {
		return page
	}
	page.Edit = page.Edit && o.flag("edit", page.Edit)
	page.Delete = page.Delete && o.flag("delete", page.Delete)
	page.View = page.View && o.flag("viewDetails", page.View)
	return page
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func orNull(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}

// Text returns a JSON value as text: strings decoded, numbers with the digits they came with, null as "", lists and objects as
// JSON.
func Text(raw json.RawMessage) string {
	if isNull(raw) {
		return ""
	}
	if raw[0] == '"' {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
	}
	return string(raw)
}

// quote writes s as a JSON string. The characters of HTML stay readable; where JSON is put into a page, the page escapes.
func quote(s string) json.RawMessage {
	return rawOf(strings.ToValidUTF8(s, "\uFFFD"))
}

// elements splits a JSON array; a single value counts as one element.
func elements(raw json.RawMessage) []json.RawMessage {
	if isNull(raw) {
		return nil
	}
	var list []json.RawMessage
	if raw[0] == '[' && json.Unmarshal(raw, &list) == nil {
		return list
	}
	return []json.RawMessage{raw}
}

// Texts returns the elements of a list as text; a single value counts as a list of one.
func Texts(raw json.RawMessage) []string {
	var out []string
	for _, e := range elements(raw) {
		if !isNull(e) {
			out = append(out, Text(e))
		}
	}
	return out
}

// Ref is a reference: the row it points to, and what people call it.
type Ref struct{ ID, Label string }

// RefOf reads the value of a reference field.
func (f *Field) RefOf(raw json.RawMessage) Ref {
	r, err := ParseRow(orNull(raw))
	if err != nil {
		return Ref{ID: Text(raw), Label: Text(raw)}
	}
	ref := Ref{ID: r.Text(f.Edit.Ref.ID), Label: r.Text(flat(f.Edit.Ref.Label))}
	if ref.Label == "" {
		ref.Label = r.Text(f.Edit.Ref.Label)
	}
	if ref.Label == "" {
		ref.Label = ref.ID
	}
	return ref
}

func flat(column string) string { return strings.ReplaceAll(column, ".", "_") }

// Keeps reports whether a text comes back from an HTML form as it was sent: control characters and lone carriage returns
// would not. Fields whose value does not are shown, not edited.
func Keeps(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\r' && (i+1 == len(s) || s[i+1] != '\n'):
			return false
		case c < 0x20 && c != '\t' && c != '\n' && c != '\r', c == 0x7f:
			return false
		}
	}
	return true
}

// ParseTags splits the stored text of a TAGS field.
func (f *Field) ParseTags(stored string) []string {
	if stored == "" {
		return nil
	}
	if f.Edit.Tags.Separator == "[]" {
		if strings.HasPrefix(stored, "[") && json.Valid([]byte(stored)) {
			return Texts(json.RawMessage(stored))
		}
		return []string{stored}
	}
	var out []string
	for _, t := range strings.Split(stored, f.Edit.Tags.Separator) {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}

// JoinTags is the stored text for tags, the reverse of ParseTags. An error if a tag contains the separator.
func (f *Field) JoinTags(tags []string) (string, error) {
	if len(tags) == 0 {
		return "", nil
	}
	sep := f.Edit.Tags.Separator
	if sep == "[]" {
		return string(rawOf(anys(tags))), nil
	}
	for _, t := range tags {
		if strings.Contains(t, sep) {
			return "", errors.New("a tag contains the separator")
		}
	}
	return strings.Join(tags, sep), nil
}

func anys(in []string) []any {
	out := make([]any, len(in))
	for i, s := range in {
		out[i] = s
	}
	return out
}

// RefOfRow makes a reference out of a row of the referenced class, as a picker offers it.
func (f *Field) RefOfRow(r Row) Ref {
	ref := Ref{ID: r.Text(f.Edit.Ref.ID), Label: r.Text(flat(f.Edit.Ref.Label))}
	if ref.Label == "" {
		ref.Label = ref.ID
	}
	return ref
}

// Rows reads the rows of a tab.
func Rows(raw []byte) []Row {
	var out []Row
	for _, e := range elements(raw) {
		if r, err := ParseRow(e); err == nil && len(r) > 0 {
			out = append(out, r)
		}
	}
	return out
}
