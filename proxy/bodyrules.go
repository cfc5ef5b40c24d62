package proxy

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// bodyKind is what a request's body says, where that is checked before the node gets it: nodes of 2.0 to 2.2 put the names in
// it into their query language as they are (erupt-wire 10.7).
type bodyKind uint8

const (
	bodyAny    bodyKind = iota // passed on unread
	bodyQuery                  // of a table (erupt-wire 4.7)
	bodyExport                 // the same; 1.12 sends the bare list of conditions
	bodyIDs                    // a list of keys
	bodyOrder                  // places in a sort order by key
	bodyAction                 // keys of the rows of an operation, and its form
	bodyCell                   // key, field and value of one cell
	bodyVis                    // a move in a visualisation
)

// Bounds of a query. The page size is the node's to clamp; none serves more rows than this in earnest.
const (
	maxConditions = 100
	maxSorts      = 10
	maxPageSize   = 50_000
	maxKeyText    = 255 // of a row's key
)

// checkBody holds a body against the rules that need no knowledge of the class, and returns the names in it.
func checkBody(kind bodyKind, body []byte) (n Names, err error) {
	s, err := scanOf(body)
	if err != nil {
		return n, err
	}
	switch c := s.peek(); {
	case kind == bodyIDs:
		return n, s.scalars("ids")
	case kind == bodyExport && c == '[':
		return n, s.conditions("condition", &n)
	}
	if err := s.expect('{', "{}"); err != nil {
		return n, err
	}
	return n, s.members(func(key string) error { return s.member(kind, key, &n) })
}

// member reads a member of a body. Keys are taken in any case: there is no reader that has to be trusted to tell them apart.
func (s *scan) member(kind bodyKind, key string, n *Names) error {
	is := func(name string) bool { return strings.EqualFold(key, name) }
	switch query := kind == bodyQuery || kind == bodyExport; {
	case query && is("sort"):
		return s.sorts(n)
	case query && is("condition"):
		return s.conditions("condition", n)
	case query && is("linkTreeVal"):
		return s.linked()
	case query && is("pageSize"):
		return s.pageSize()
	case kind == bodyAction && is("ids"):
		return s.scalars("ids")
	case kind == bodyOrder:
		return s.place(key)
	case kind == bodyCell && is("field"):
		_, err := s.fieldName("field")
		return err
	case kind == bodyCell && is("id"), kind == bodyVis && is("pk"):
		return s.scalarOrNull(key)
	case kind == bodyVis && (s.peek() == '{' || s.peek() == '['): // true and false, too, are groups of a board
		return s.scalarOrNull(shorten(key, maxShownKey))
	}
	return s.pass()
}

func (s *scan) scalarOrNull(place string) error {
	if s.isNull() {
		return nil
	}
	_, err := s.scalar(place)
	return err
}

// sorts reads the order of a table: a list since 2.0, a text such as "name asc" in 1.x.
func (s *scan) sorts(n *Names) error {
	switch {
	case s.isNull():
		return nil
	case s.peek() == '"':
		return classicSorts(s.text(), n)
	}
	if err := s.expect('[', "sort"); err != nil {
		return err
	}
	return s.elements(func(i int) error {
		if i == maxSorts {
			return Fail(Invalid, "'%s' in the request body has more than %d entries", "sort", maxSorts)
		}
		if err := s.expect('{', fmt.Sprintf("sort[%d]", i)); err != nil {
			return err
		}
		return s.named(&n.Sort, placeOf("sort", i, "field"), "field", func(key string) error {
			if !strings.EqualFold(key, "direction") || s.isNull() {
				return s.pass()
			}
			if place := placeOf("sort", i, "direction"); s.peek() != '"' || !isDirection(s.text()) {
				return Fail(Invalid, "'%s' in the request body must be ASC or DESC", place)
			}
			return nil
		})
	})
}

// named reads an object with one member that names a field, which must be there.
func (s *scan) named(into *[]string, place, member string, other func(key string) error) error {
	before := len(*into)
	err := s.members(func(key string) error {
		if !strings.EqualFold(key, member) {
			return other(key)
		}
		text, err := s.fieldName(place)
		*into = append(*into, text)
		return err
	})
	if err == nil && len(*into) == before {
		return notNamed(place, "")
	}
	return err
}

func (s *scan) fieldName(place string) (string, error) {
	if s.peek() != '"' {
		return "", notNamed(place, "")
	}
	text := s.text()
	if !isFieldName(text) {
		return "", notNamed(place, text)
	}
	return text, nil
}

func notNamed(place, text string) error {
	return Fail(Invalid, "'%s' in the request body must be the name of a field, not %q", place, shorten(text, maxShownKey))
}

func classicSorts(text string, n *Names) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	parts := strings.SplitN(text, ",", maxSorts+1)
	if len(parts) > maxSorts {
		return Fail(Invalid, "'%s' in the request body has more than %d entries", "sort", maxSorts)
	}
	for _, part := range parts {
		name, direction, _ := strings.Cut(strings.Trim(part, " "), " ")
		if !isFieldName(name) {
			return notNamed("sort", part)
		}
		if direction = strings.Trim(direction, " "); direction != "" && !isDirection(direction) {
			return Fail(Invalid, "'%s' in the request body must be ASC or DESC", "sort")
		}
		n.Sort = append(n.Sort, name)
	}
	return nil
}

func isDirection(text string) bool {
	return strings.EqualFold(text, "ASC") || strings.EqualFold(text, "DESC")
}

func (s *scan) conditions(place string, n *Names) error {
	if s.isNull() {
		return nil
	}
	if err := s.expect('[', place); err != nil {
		return err
	}
	return s.elements(func(i int) error {
		if i == maxConditions {
			return Fail(Invalid, "'%s' in the request body has more than %d entries", place, maxConditions)
		}
		if err := s.expect('{', fmt.Sprintf("%s[%d]", place, i)); err != nil {
			return err
		}
		return s.named(&n.Keys, placeOf(place, i, "key"), "key", func(string) error { return s.pass() })
	})
}

// linked reads the chosen nodes of the tree beside a table: one in 1.12, a list since 2.0.
func (s *scan) linked() error {
	if s.peek() == '[' {
		return s.scalars("linkTreeVal")
	}
	return s.scalarOrNull("linkTreeVal")
}

func (s *scan) scalars(place string) error {
	if s.isNull() {
		return nil
	}
	if err := s.expect('[', place); err != nil {
		return err
	}
	return s.elements(func(i int) error {
		_, err := s.scalar(place)
		return err
	})
}

func (s *scan) pageSize() error {
	if s.isNull() {
		return nil // a node's own answer says that it is missing
	}
	text, err := s.scalar("pageSize")
	if err != nil {
		return err
	}
	size, err := strconv.ParseFloat(text, 64)
	if err != nil || !isNumberText(text) || size > maxPageSize {
		return Fail(Invalid, "'%s' in the request body must be a number up to %d", "pageSize", maxPageSize)
	}
	return nil
}

// place reads one row's place in an order.
func (s *scan) place(key string) error {
	if key == "" || len(key) > maxKeyText || strings.ContainsAny(key, "'\"`\\();") || strings.ContainsFunc(key, unicode.IsControl) {
		return Fail(Invalid, "the request body has the key %q, which no row can have", shorten(key, maxShownKey))
	}
	text, err := s.scalar(shorten(key, maxShownKey))
	if err == nil && !isNumberText(text) {
		return Fail(Invalid, "'%s' in the request body must be a number", shorten(key, maxShownKey))
	}
	return err
}

// isNumberText reports whether a text is written like a number in JSON.
func isNumberText(text string) bool {
	return text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && json.Valid([]byte(text)) &&
		!strings.ContainsAny(text, " \t\r\n")
}

// isFieldName reports whether a text is the name of a Java field, or some joined by dots.
func isFieldName(text string) bool {
	if len(text) > maxErupt {
		return false
	}
	start := true
	for _, c := range text {
		switch {
		case c == '_', unicode.IsLetter(c):
			start = false
		case start:
			return false
		case c == '.':
			start = true
		case !unicode.In(c, unicode.Nd, unicode.Mn, unicode.Mc):
			return false
		}
	}
	return !start
}
