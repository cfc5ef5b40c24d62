package buildmodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// object is a decoded JSON object of unknown shape. Its getters give a default for a key that is missing or of another
// type: every key of a build document is optional, and which ones exist differs from version to version.
type object map[string]any

// decode reads one JSON value and keeps numbers as text: an id beyond 2^53 must come out as it went in.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

func asObject(v any) object {
	m, _ := v.(map[string]any)
	return m
}

func (o object) has(key string) bool { return o[key] != nil }

func (o object) obj(key string) object { return asObject(o[key]) }

func (o object) list(key string) []any {
	l, _ := o[key].([]any)
	return l
}

// text returns strings, numbers and booleans as text, everything else as "".
func (o object) text(key string) string { return scalar(o[key]) }

// words returns text that is only shown.
func (o object) words(key string) string { return Printable(o.text(key)) }

// Printable replaces in a text what would do something on a screen beside being read: control characters but tab and line
// end, and those that turn the direction of writing around for everything that follows.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r':
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return utf8.RuneError
		}
		return r
	}, s)
}

func (o object) textOr(key, otherwise string) string {
	if t := o.text(key); t != "" {
		return t
	}
	return otherwise
}

func (o object) flag(key string, otherwise bool) bool {
	switch v := o[key].(type) {
	case bool:
		return v
	case string:
		if b, err := strconv.ParseBool(v); err == nil {
			return b
		}
	}
	return otherwise
}

// whole reads an integer; the Java side also writes it as 5.0 or "5".
func (o object) whole(key string, otherwise int) int {
	t := strings.TrimSuffix(o.text(key), ".0")
	if n, err := strconv.Atoi(t); err == nil {
		return n
	}
	return otherwise
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// rawOf writes a decoded value back; numbers keep their digits.
func rawOf(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
