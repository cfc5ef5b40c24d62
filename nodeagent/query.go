package nodeagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	maxQueryBody  = 1 << 20
	maxConditions = 100
	maxMembers    = 1000 // of an IN, and of linkTreeVal
	maxSorts      = 8
)

// invalidError is a request that cannot be meant; its text is for whoever wrote the client.
type invalidError struct{ text string }

func (e *invalidError) Error() string { return e.text }

func invalid(format string, args ...any) error { return &invalidError{fmt.Sprintf(format, args...)} }

// tableQuery is the body of a table query and, completed, the beginning of its answer.
type tableQuery struct {
	LinkTreeVal []any          `json:"linkTreeVal"`
	Condition   []condition    `json:"condition"`
	Vis         any            `json:"vis"`
	PageIndex   flexibleNumber `json:"pageIndex"`
	PageSize    flexibleNumber `json:"pageSize"`
	Sort        []sorting      `json:"sort"`
}

type condition struct {
	Key        string   `json:"key"`
	Expression Operator `json:"expression"`
	Value      any      `json:"value"`
}

type sorting struct {
	Field     string `json:"field"`
	Direction string `json:"direction"`
}

// flexibleNumber is a number that may also be sent as text.
type flexibleNumber int

// UnmarshalJSON implements json.Unmarshaler.
func (n *flexibleNumber) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	if text == "null" {
		return nil
	}
	v, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return invalid("%q is not a whole number", cutText(text, 20))
	}
	*n = flexibleNumber(v)
	return nil
}

// decodeJSON reads exactly one JSON value. Numbers inside any stay as they were written.
func decodeJSON(body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		var unfit *invalidError
		if errors.As(err, &unfit) {
			return unfit
		}
		return invalid("the body is not the JSON expected here: %s", printable(err.Error(), 120))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalid("the body has something behind its JSON value")
	}
	return nil
}

// searchMissing is a table that is not shown until a field is searched for.
type searchMissing struct{ field *Field }

func (e *searchMissing) Error() string { return "a search by " + e.field.Name + " is required" }

// decodeTable reads and checks a table query against p. t is what to echo. The error is an *invalidError or a *searchMissing.
func (p *page) decodeTable(body []byte) (t tableQuery, q Query, err error) {
	if err := decodeJSON(body, &t); err != nil {
		return t, q, err
	}
	if t.PageIndex < 1 || t.PageSize < 1 {
		return t, q, invalid("pageIndex and pageSize must be at least 1")
	}
	t.PageSize = min(t.PageSize, maxPageSize)
	q.Limit = int(t.PageSize)
	q.Offset = math.MaxInt32
	if offset := (int64(t.PageIndex) - 1) * int64(t.PageSize); offset < math.MaxInt32 {
		q.Offset = int(offset)
	}
	t.Vis = nil // an unknown visualisation is ignored, and there are none here
	if q.Sort, err = p.decodeSort(t.Sort); err != nil {
		return t, q, err
	}
	if len(t.Condition) > maxConditions {
		return t, q, invalid("more than %d conditions", maxConditions)
	}
	for i := range t.Condition {
		c, used, err := p.decodeCondition(&t.Condition[i])
		if err != nil {
			return t, q, err
		}
		if used {
			q.Conditions = append(q.Conditions, c)
		}
	}
	if err := p.decodeLinkTree(t.LinkTreeVal, &q); err != nil {
		return t, q, err
	}
	return t, q, p.requireSearch(q)
}

func (p *page) decodeSort(asked []sorting) ([]Order, error) {
	if len(asked) > maxSorts {
		return nil, invalid("more than %d sort fields", maxSorts)
	}
	if len(asked) == 0 {
		return slices.Clone(p.DefaultSort), nil
	}
	orders := make([]Order, len(asked))
	for i := range asked {
		if !p.canSort(asked[i].Field) {
			return nil, invalid("%q is not a sortable column", cutText(asked[i].Field, 60))
		}
		switch strings.ToUpper(asked[i].Direction) {
		case "", "ASC":
			asked[i].Direction = "ASC"
		case "DESC":
			asked[i].Direction = "DESC"
		default:
			return nil, invalid("sort direction must be ASC or DESC")
		}
		orders[i] = Order{Field: asked[i].Field, Descending: asked[i].Direction == "DESC"}
	}
	return orders, nil
}

// decodeCondition checks one condition and writes the operator that applies back into it, for the echo. Unknown and unsearchable
// keys, empty texts and empty lists are left out silently, as erupt does.
func (p *page) decodeCondition(c *condition) (out Condition, used bool, err error) {
	f := p.byName[c.Key]
	if f == nil || !f.search {
		return out, false, nil
	}
	if !knownOperator(c.Expression) {
		c.Expression = f.operator
	}
	if !slices.Contains(f.operators(), c.Expression) {
		return out, false, invalid("operator %s does not go with field %s", c.Expression, f.Name)
	}
	out = Condition{Field: f.Name, Operator: c.Expression}
	textKey := f.isReference() && p.target(f).TextKey
	switch c.Expression {
	case NULL, NOTNULL:
		return out, true, nil
	case IN, NOTIN, RANGE:
		list, ok := c.Value.([]any)
		if !ok {
			return out, false, invalid("operator %s of field %s needs a list", c.Expression, f.Name)
		}
		if len(list) == 0 {
			return out, false, nil
		}
		if len(list) > maxMembers || c.Expression == RANGE && len(list) != 2 {
			return out, false, invalid("operator %s of field %s: wrong number of values", c.Expression, f.Name)
		}
		for _, raw := range list {
			v, err := f.searchValue(raw, textKey)
			if err != nil {
				return out, false, err
			}
			out.Values = append(out.Values, v)
		}
		return out, true, nil
	}
	if out.Value, err = f.searchValue(c.Value, textKey); err != nil {
		return out, false, err
	}
	return out, out.Value != nil, nil
}

// searchValue parses the value of a search. Texts keep their blanks inside and lose those around.
func (f *Field) searchValue(raw any, textKey bool) (any, error) {
	if f.Type == TypeTextarea || f.Type == TypeCode {
		raw = trimmed(raw)
	}
	if f.isReference() {
		if _, isObject := raw.(map[string]any); !isObject && raw != nil {
			return nil, invalid("a search by %s needs an object with the id of the row", f.Name)
		}
	}
	v, err := f.parse(raw, textKey)
	if p, ok := isProblem(err); ok {
		return nil, invalid("%s", p.text("", f.Name))
	}
	return v, err
}

func trimmed(raw any) any {
	if s, ok := raw.(string); ok {
		return strings.TrimSpace(s)
	}
	return raw
}

func knownOperator(o Operator) bool {
	switch o {
	case EQ, NEQ, GT, GTE, LT, LTE, LIKE, NOTLIKE, RANGE, IN, NOTIN, NULL, NOTNULL:
		return true
	}
	return false
}

// decodeLinkTree narrows the table to rows under the chosen node of the tree beside it.
func (p *page) decodeLinkTree(chosen []any, q *Query) error {
	if p.LinkTree == "" || len(chosen) == 0 {
		return nil
	}
	if len(chosen) > maxMembers {
		return invalid("linkTreeVal: more than %d values", maxMembers)
	}
	c := Condition{Field: p.LinkTree, Operator: IN}
	textKey := p.target(p.byName[p.LinkTree]).TextKey
	for _, raw := range chosen {
		id, ok := parseID(raw, textKey)
		if !ok || id == nil {
			return invalid("linkTreeVal: not an id")
		}
		c.Values = append(c.Values, id)
	}
	q.Conditions = append(q.Conditions, c)
	return nil
}

func (p *page) requireSearch(q Query) error {
	for _, f := range p.fields {
		if f.searchRequired && !slices.ContainsFunc(q.Conditions, func(c Condition) bool { return c.Field == f.Name }) {
			return &searchMissing{f}
		}
	}
	return nil
}
