package fleet

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"eruptcloud/app/fault"
)

// MaxConfig is the largest config in bytes.
const MaxConfig = 10 << 20

// CheckConfig says whether a text could be published as a config. fault.Invalid has line and column as its first arguments.
func CheckConfig(text string) error {
	_, err := checkConfig(text)
	return err
}

// checkConfig returns the text to store: text itself, empty if it has only blanks. It must be one JSON object in which no key
// stands twice, since readers would disagree on which one counts.
func checkConfig(text string) (string, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	if len(text) > MaxConfig {
		return "", fault.New(fault.TooLarge, "the config has more than %d MiB", MaxConfig>>20)
	}
	if strings.TrimSpace(text) == "" {
		return "", nil
	}
	_, err := parseObject(text)
	return text, err
}

// member is one entry of a JSON object; a value that is no object is kept as it was written, so numbers keep every digit.
type member struct {
	key   string
	value json.RawMessage // nil if object is not
	child object
}

// object is a JSON object in the order of its text.
type object []member

// parseObject reads one JSON object. Its errors are for people and name line and column.
func parseObject(text string) (object, error) {
	if i := invalidUTF8(text); i >= 0 {
		return nil, configError(text, i, "these bytes are not UTF-8")
	}
	var whole json.RawMessage
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		var syntax *json.SyntaxError
		if !errors.As(err, &syntax) {
			return nil, err
		}
		at, format, args := fault.JSONProblem([]byte(text), syntax)
		return nil, configError(text, at, format, args...)
	}
	p := parser{text: text, dec: json.NewDecoder(strings.NewReader(text))}
	p.dec.UseNumber()
	first, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	if first != json.Delim('{') {
		return nil, configError(text, len(text)-len(strings.TrimLeft(text, " \t\r\n")), "the config must be a JSON object: {…}")
	}
	return p.object()
}

func invalidUTF8(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// configError names the place of a byte in the text, lines and characters counted from 1.
func configError(text string, at int, format string, args ...any) error {
	at = min(max(at, 0), len(text))
	before := text[:at]
	lineNo := 1 + strings.Count(before, "\n")
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return invalid("config", "config, line %d, column %d: "+format, append([]any{lineNo, column}, args...)...)
}

// parser walks over text that is known to be valid.
type parser struct {
	text string
	dec  *json.Decoder
}

// object reads the rest of an object whose brace was read.
func (p *parser) object() (object, error) {
	out := object{}
	seen := map[string]bool{}
	for p.dec.More() {
		token, err := p.dec.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string)
		if seen[key] {
			return nil, configError(p.text, p.startOfKey(), "the key %q stands twice in one object", key)
		}
		seen[key] = true
		m := member{key: key}
		if err := p.value(&m); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	_, err := p.dec.Token() // the closing brace
	return out, err
}

// startOfKey returns where the key that was just read begins: its quote is the last one that opens before the offset.
func (p *parser) startOfKey() int {
	end := int(p.dec.InputOffset()) - 1 // on the closing quote
	for i := end - 1; i >= 0; i-- {
		if p.text[i] == '"' && !escaped(p.text, i) {
			return i
		}
	}
	return 0
}

// escaped reports whether an odd number of backslashes stands before i.
func escaped(text string, i int) bool {
	n := 0
	for i > n && text[i-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// value reads the value of m. Objects are taken apart, also inside arrays for the sake of their keys.
func (p *parser) value(m *member) error {
	start := p.dec.InputOffset()
	token, err := p.dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		m.child, err = p.object()
		return err
	case json.Delim('['):
		if err := p.array(); err != nil {
			return err
		}
	}
	raw := strings.TrimLeft(p.text[start:p.dec.InputOffset()], " \t\r\n:,")
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(raw)); err != nil {
		return err
	}
	m.value = compact.Bytes()
	return nil
}

func (p *parser) array() error {
	for p.dec.More() {
		var ignored member
		if err := p.value(&ignored); err != nil {
			return err
		}
	}
	_, err := p.dec.Token()
	return err
}

// merge applies patch to target as RFC 7396 says: null removes, objects merge, everything else replaces. Neither is changed.
func merge(target, patch object) object {
	out := make(object, len(target), len(target)+len(patch))
	copy(out, target)
	at := make(map[string]int, len(target))
	for i, m := range target {
		at[m.key] = i
	}
	removed := false
	for _, m := range patch {
		i, known := at[m.key]
		switch {
		case m.child != nil && known:
			m.child = merge(out[i].child, m.child) // the child of a value that is no object is empty
		case m.child != nil:
			m.child = merge(nil, m.child)
		case string(m.value) == "null":
			if known {
				out[i].key, removed = "", true
				out[i].value, out[i].child = nil, nil
			}
			continue
		}
		if known {
			out[i] = m
		} else {
			out = append(out, m)
		}
	}
	if removed {
		out = slices.DeleteFunc(out, func(m member) bool { return m.value == nil && m.child == nil })
	}
	return out
}

// write prints the object without blanks and with its keys in order, so that equal configs are equal texts.
func (o object) write(w *bytes.Buffer) {
	sorted := slices.SortedFunc(slices.Values(o), func(a, b member) int { return cmp.Compare(a.key, b.key) })
	w.WriteByte('{')
	for i, m := range sorted {
		if i > 0 {
			w.WriteByte(',')
		}
		writeString(w, m.key)
		w.WriteByte(':')
		if m.child != nil {
			m.child.write(w)
		} else {
			w.Write(m.value)
		}
	}
	w.WriteByte('}')
}

func writeString(w io.Writer, s string) {
	enc := json.NewEncoder(trimNewline{w})
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string and a buffer do not fail
}

// trimNewline drops the newline that an Encoder adds.
type trimNewline struct{ w io.Writer }

func (t trimNewline) Write(p []byte) (int, error) {
	_, err := t.w.Write(bytes.TrimSuffix(p, []byte("\n")))
	return len(p), err
}
