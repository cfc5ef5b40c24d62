package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"eruptcloud/app/fault"
	"eruptcloud/app/fleet"
	"eruptcloud/views"
)

// jsonTree is a JSON value that keeps the order of its keys, so that what comes out of a merge reads like what went in.
type jsonTree struct {
	scalar  string // compact JSON of anything that is no object
	members []jsonMember
	object  bool
}

type jsonMember struct {
	key   string
	value jsonTree
}

// parseTree reads a configuration: one JSON object, or nothing at all. ok is false for any other text.
func parseTree(text string) (t jsonTree, ok bool) {
	if strings.TrimSpace(text) == "" {
		return jsonTree{object: true}, true
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	t, err := readTree(dec, 0)
	if err != nil || !t.object {
		return jsonTree{object: true}, false
	}
	_, err = dec.Token()
	return t, errors.Is(err, io.EOF)
}

// problemOf says where a text breaks the rules, in the viewer's language; Line is 0 if it does not.
func problemOf(lang, text string) views.Problem {
	err := fleet.CheckConfig(text)
	if err == nil {
		return views.Problem{}
	}
	f := fault.Of(err)
	p := views.Problem{Line: 1, Column: 1, Message: views.Translate(lang, f.Format, f.Args...)}
	if len(f.Args) >= 2 && f.Code == fault.Invalid {
		if line, ok := f.Args[0].(int); ok {
			p.Line = line
		}
		if column, ok := f.Args[1].(int); ok {
			p.Column = column
		}
	}
	return p
}

var errDeep = errors.New("nested too deeply")

// maxDepth bounds how deeply values may be nested.
const maxDepth = 100

func readTree(dec *json.Decoder, depth int) (jsonTree, error) {
	if depth > maxDepth {
		return jsonTree{}, errDeep
	}
	tok, err := dec.Token()
	if err != nil {
		return jsonTree{}, err
	}
	switch tok {
	case json.Delim('{'):
		return readObject(dec, depth)
	case json.Delim('['):
		return readArray(dec, depth)
	}
	return jsonTree{scalar: compact(tok)}, nil
}

func readObject(dec *json.Decoder, depth int) (jsonTree, error) {
	t := jsonTree{object: true}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return t, err
		}
		key, ok := tok.(string)
		if !ok {
			return t, fmt.Errorf("key %v is no text", tok)
		}
		v, err := readTree(dec, depth+1)
		if err != nil {
			return t, err
		}
		t.members = append(t.members, jsonMember{key, v})
	}
	_, err := dec.Token()
	return t, err
}

func readArray(dec *json.Decoder, depth int) (jsonTree, error) {
	var items []string
	for dec.More() {
		v, err := readTree(dec, depth+1)
		if err != nil {
			return jsonTree{}, err
		}
		items = append(items, v.compact())
	}
	_, err := dec.Token()
	return jsonTree{scalar: "[" + strings.Join(items, ",") + "]"}, err
}

func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "null" // tokens always encode
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// compact writes the value on one line.
func (t jsonTree) compact() string {
	if !t.object {
		return t.scalar
	}
	parts := make([]string, 0, len(t.members))
	for _, m := range t.members {
		parts = append(parts, compact(m.key)+":"+m.value.compact())
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// pretty writes the value with two blanks a level.
func (t jsonTree) pretty() string {
	if t.object && len(t.members) == 0 {
		return "{}"
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(t.compact()), "", "  "); err != nil {
		return t.compact() // cannot fail: it is JSON that we wrote
	}
	return b.String()
}

// leaf is one value of a configuration with the path of keys that leads to it.
type leaf struct{ top, key, value string }

// leaves lists all values that are no objects, in order; an empty object is a value too.
func (t jsonTree) leaves() []leaf {
	var out []leaf
	var walk func(prefix, top string, t jsonTree)
	walk = func(prefix, top string, t jsonTree) {
		if !t.object || len(t.members) == 0 && prefix != "" {
			out = append(out, leaf{top, prefix, t.compact()})
			return
		}
		for _, m := range t.members {
			key, first := m.key, top
			if prefix == "" {
				first = m.key
			} else {
				key = prefix + "." + m.key
			}
			walk(key, first, m.value)
		}
	}
	walk("", "", t)
	return out
}

// changedKeys lists the keys whose values differ, in the order of the newer text, removed ones last.
func changedKeys(old, new jsonTree) []string {
	before := map[string]string{}
	for _, l := range old.leaves() {
		before[l.key] = l.value
	}
	var out []string
	after := map[string]bool{}
	for _, l := range new.leaves() {
		after[l.key] = true
		if v, ok := before[l.key]; !ok || v != l.value {
			out = append(out, l.key)
		}
	}
	for _, l := range old.leaves() {
		if !after[l.key] {
			out = append(out, l.key)
		}
	}
	return out
}

func (t jsonTree) get(key string) (jsonTree, bool) {
	i := slices.IndexFunc(t.members, func(m jsonMember) bool { return m.key == key })
	if i < 0 {
		return jsonTree{}, false
	}
	return t.members[i].value, true
}

// merge joins what two people made of base: what only one changed is taken, what both changed differently stays as mine
// and is named as a clash.
func merge(base, theirs, mine jsonTree, prefix string) (out jsonTree, clashes []string) {
	out.object = true
	keys := make([]string, 0, len(mine.members)+len(theirs.members))
	for _, m := range append(slices.Clone(mine.members), theirs.members...) {
		if !slices.Contains(keys, m.key) {
			keys = append(keys, m.key)
		}
	}
	for _, key := range keys {
		b, inBase := base.get(key)
		t, inTheirs := theirs.get(key)
		m, inMine := mine.get(key)
		path := key
		if prefix != "" {
			path = prefix + "." + key
		}
		theyChanged := inBase != inTheirs || b.compact() != t.compact()
		iChanged := inBase != inMine || b.compact() != m.compact()
		switch {
		case theyChanged && iChanged && t.object && m.object && inTheirs && inMine:
			v, more := merge(b, t, m, path)
			out.members, clashes = append(out.members, jsonMember{key, v}), append(clashes, more...)
		case theyChanged && !iChanged:
			if inTheirs {
				out.members = append(out.members, jsonMember{key, t})
			}
		default:
			if theyChanged && (inTheirs != inMine || t.compact() != m.compact()) {
				clashes = append(clashes, path)
			}
			if inMine {
				out.members = append(out.members, jsonMember{key, m})
			}
		}
	}
	return out, clashes
}
