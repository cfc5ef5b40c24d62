package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Bounds of a body that is checked.
const (
	maxDeep     = 64  // values inside values
	maxShownKey = 100 // bytes of a text of the body in a refusal
)

// scan walks through a JSON text that is known to be valid, and refuses an object that says a key twice: of two readers one
// takes the first and the other the last.
type scan struct {
	in   []byte
	at   int
	deep int
}

// scanOf checks that a body is one JSON value, in UTF-8, and nothing else.
func scanOf(body []byte) (*scan, error) {
	if !utf8.Valid(body) {
		return nil, Fail(Invalid, "the request body must be UTF-8")
	}
	if !json.Valid(body) {
		return nil, Fail(Invalid, "the request body is no JSON")
	}
	return &scan{in: body}, nil
}

// peek returns the first byte of the value that comes next.
func (s *scan) peek() byte {
	for {
		switch c := s.in[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
}

// isNull passes a null, if that comes next.
func (s *scan) isNull() bool {
	if s.peek() != 'n' {
		return false
	}
	s.at += len("null")
	return true
}

// text reads a string as a reader of JSON understands it.
func (s *scan) text() string {
	s.peek()
	start, plain := s.at, true
	for s.at++; s.in[s.at] != '"'; s.at++ {
		if s.in[s.at] == '\\' {
			plain = false
			s.at++
		}
	}
	s.at++
	if plain {
		return string(s.in[start+1 : s.at-1])
	}
	var text string
	_ = json.Unmarshal(s.in[start:s.at], &text) // valid, as is the whole
	return text
}

// word reads a number, true, false or null.
func (s *scan) word() string {
	s.peek()
	start := s.at
	if n := bytes.IndexAny(s.in[s.at:], ",]} \t\r\n"); n >= 0 {
		s.at += n
	} else {
		s.at = len(s.in)
	}
	return string(s.in[start:s.at])
}

// members calls each for the keys of an object; each passes the value.
func (s *scan) members(each func(key string) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	seen := keys{}
	for s.peek() != '}' {
		key := s.text()
		if !seen.add(key) {
			return Fail(Invalid, "the request body has the key %q twice", shorten(key, maxShownKey))
		}
		s.peek()
		s.at++ // the colon
		if err := each(key); err != nil {
			return err
		}
		if s.peek() == ',' {
			s.at++
		}
	}
	s.leave()
	return nil
}

// elements calls each for the elements of a list; each passes the value.
func (s *scan) elements(each func(i int) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	for i := 0; s.peek() != ']'; i++ {
		if err := each(i); err != nil {
			return err
		}
		if s.peek() == ',' {
			s.at++
		}
	}
	s.leave()
	return nil
}

func (s *scan) enter() error {
	s.peek()
	s.at++
	if s.deep++; s.deep > maxDeep {
		return Fail(Invalid, "the request body has more than %d values inside each other", maxDeep)
	}
	return nil
}

func (s *scan) leave() {
	s.at++
	s.deep--
}

// pass goes over a value of any shape.
func (s *scan) pass() error {
	switch s.peek() {
	case '{':
		return s.members(func(string) error { return s.pass() })
	case '[':
		return s.elements(func(int) error { return s.pass() })
	case '"':
		_ = s.text()
	default:
		_ = s.word()
	}
	return nil
}

// scalar reads a text or a number.
func (s *scan) scalar(place string) (text string, err error) {
	switch c := s.peek(); {
	case c == '"':
		return s.text(), nil
	case c == '-', c >= '0' && c <= '9':
		return s.word(), nil
	}
	return "", Fail(Invalid, "'%s' in the request body must be a text or a number", place)
}

// expect refuses a value that does not begin like an object or a list.
func (s *scan) expect(open byte, place string) error {
	switch {
	case s.peek() == open:
		return nil
	case open == '{':
		return Fail(Invalid, "'%s' in the request body must be an object", place)
	}
	return Fail(Invalid, "'%s' in the request body must be a list", place)
}

// keys are those of one object.
type keys struct {
	few  [8]string
	n    int
	many map[string]struct{}
}

// add is false for a key that is there already.
func (k *keys) add(key string) bool {
	for i := range min(k.n, len(k.few)) {
		if k.few[i] == key {
			return false
		}
	}
	if k.n < len(k.few) {
		k.few[k.n] = key
		k.n++
		return true
	}
	if _, ok := k.many[key]; ok {
		return false
	}
	if k.many == nil {
		k.many = map[string]struct{}{}
	}
	k.many[key] = struct{}{}
	return true
}

func placeOf(list string, i int, member string) string {
	return fmt.Sprintf("%s[%d].%s", list, i, member)
}
