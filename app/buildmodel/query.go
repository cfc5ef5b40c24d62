package buildmodel

import (
	"encoding/json"
	"strings"
)

// maxPageSize bounds what one table query may ask a node for.
const maxPageSize = 500

// Query is what to ask a node's table for. Write turns it into the dialect of the node.
type Query struct {
	Page, Size int
	Sort       string // a Column.Sort; empty: the node's order
	Desc       bool
	Conditions []Condition
	Link       []string // chosen node of the left tree; 2.x nodes want its descendants, too
}

// Condition restricts one field.
type Condition struct {
	Key        string
	Value      json.RawMessage
	Expression string // only sent to 2.x nodes
}

// Find is what a person entered into one search field.
type Find struct {
	Text     string   // one value
	Many     []string // CHOICE: several values
	From, To string   // a range, each end may be empty
	Ref      Ref
}

// StartFind is the entry that the class wants a fresh search form to have for a field.
func (m *Model) StartFind(f *Field) Find {
	text := func(v any) string { return f.DateText(scalar(v)) }
	switch x := m.SearchDefaults[f.Name].(type) {
	case nil:
		return Find{}
	case []any:
		switch {
		case m.Ranged(f) && len(x) == 2:
			return Find{From: text(x[0]), To: text(x[1])}
		case len(x) > 0:
			return Find{Text: text(x[0])}
		}
		return Find{}
	case map[string]any:
		return Find{Ref: Ref{ID: scalar(x[f.Edit.Ref.ID]), Label: scalar(x[f.Edit.Ref.Label])}}
	default:
		return Find{Text: text(x)}
	}
}

// DayForm tells how a 1.x node wants the days of a range. Its model does not say which Java type a field has; its rows do.
type DayForm int

// The forms. DaysUnknown is written like DaysOnly; if the node refuses it, the other one is worth a try.
const (
	DaysUnknown DayForm = iota
	DaysOnly            // LocalDate
	DaysAsTimes         // java.util.Date, LocalDateTime
)

// LearnDays looks at the rows of a table and notes for each DATE field with days how the node writes them.
func (m *Model) LearnDays(rows []Row, into map[string]DayForm) {
	for i := range m.Fields {
		f := &m.Fields[i]
		if !m.Classic || f.Edit.Type != "DATE" || f.Edit.Date.Kind != "DATE" {
			continue
		}
		for _, r := range rows {
			if t, ok := ParseMoment(r.Text(f.Name)); ok && t.HasDate {
				if into[f.Name] = DaysOnly; t.HasTime {
					into[f.Name] = DaysAsTimes
				}
				break
			}
		}
	}
}

// Searchable returns the fields that a search form can offer. PASSWORD is left out: a node compares it with the stored value,
// which makes the search an oracle (erupt-wire 10.7).
func (m *Model) Searchable() []*Field {
	var out []*Field
	for i := range m.Fields {
		f := &m.Fields[i]
		t := f.Edit.Type
		if f.Edit.Search.On && (textTypes[t] || numberTypes[t] || refTypes[t] || t == "DATE" || t == "CHOICE" || t == "BOOLEAN" || t == "HTML_EDITOR") {
			out = append(out, f)
		}
	}
	return out
}

// Ranged reports whether the search of the field takes two ends.
func (m *Model) Ranged(f *Field) bool {
	switch {
	case f.Edit.Type == "DATE":
		kind := f.Edit.Date.Kind
		if kind != "DATE" && kind != "DATE_TIME" {
			return false
		}
		return f.Edit.Search.Vague || f.Edit.Search.Operator == "RANGE"
	case numberTypes[f.Edit.Type]:
		return f.Edit.Search.Vague || f.Edit.Search.Operator == "RANGE"
	}
	return false
}

// Condition makes the condition for what was entered. ok is false for an empty entry, problem is set for one that a node would
// answer with an exception: "number" or "date".
func (m *Model) Condition(f *Field, in Find, days DayForm) (c Condition, ok bool, problem string) {
	c = Condition{Key: f.Name, Expression: f.Edit.Search.Operator}
	switch t := f.Edit.Type; {
	case m.Ranged(f):
		return m.rangeCondition(f, c, in, days)
	case refTypes[t]:
		if in.Ref.ID == "" {
			return c, false, ""
		}
		c.Value = rawOf(map[string]any{f.Edit.Ref.ID: in.Ref.ID, f.Edit.Ref.Label: in.Ref.Label})
	case t == "CHOICE":
		return m.choiceCondition(f, c, in)
	case in.Text == "":
		return c, false, ""
	case t == "BOOLEAN":
		c.Value = rawOf(in.Text == "true")
	case numberTypes[t]:
		if !isNumber(in.Text) {
			return c, false, "number"
		}
		c.Value = numberRaw(in.Text)
	case t == "DATE":
		text, valid := m.datePayload(f, in.Text, "")
		if !valid {
			return c, false, "date"
		}
		if c.Expression == "RANGE" {
			c.Expression = "EQ"
		}
		c.Value = quote(text)
	default:
		if c.Expression != "LIKE" && !f.Edit.Search.Locked {
			c.Expression = "LIKE" // what people expect of a search box; 1.x goes by its own setting
		}
		c.Value = quote(in.Text)
	}
	return c, true, ""
}

func (m *Model) choiceCondition(f *Field, c Condition, in Find) (Condition, bool, string) {
	many := in.Many
	if len(many) == 0 && in.Text != "" {
		many = []string{in.Text}
	}
	switch {
	case len(many) == 0:
		return c, false, ""
	case m.Classic && f.Edit.Search.Vague, !m.Classic && len(many) > 1:
		c.Expression, c.Value = "IN", rawOf(anys(many))
	default:
		c.Expression, c.Value = "EQ", quote(many[0])
	}
	return c, true, ""
}

func (m *Model) rangeCondition(f *Field, c Condition, in Find, days DayForm) (Condition, bool, string) {
	if in.From == "" && in.To == "" {
		return c, false, ""
	}
	from, okFrom, problem := m.rangeEnd(f, in.From, false, days)
	to, okTo, problem2 := m.rangeEnd(f, in.To, true, days)
	if problem+problem2 != "" {
		return c, false, problem + strings.TrimPrefix(problem2, problem)
	}
	switch {
	case okFrom && okTo:
		c.Expression = "RANGE"
		c.Value = pair(from, to)
	case m.Classic: // 1.x knows only pairs: the open end takes the widest value that every column type can hold
		c.Value = pair(m.orWidest(f, from, false, days), m.orWidest(f, to, true, days))
	case okFrom:
		c.Expression, c.Value = "GTE", from
	default:
		c.Expression, c.Value = "LTE", to
	}
	return c, true, ""
}

func pair(from, to json.RawMessage) json.RawMessage { return rawOf([]any{from, to}) }

func (m *Model) orWidest(f *Field, end json.RawMessage, upper bool, days DayForm) json.RawMessage {
	if end != nil {
		return end
	}
	if numberTypes[f.Edit.Type] {
		bound, widest := f.Edit.Number.Min, "-2147483647"
		if upper {
			bound, widest = f.Edit.Number.Max, "2147483647"
		}
		if bound != "" {
			widest = bound
		}
		return json.RawMessage(widest)
	}
	day := "1000-01-01"
	if upper {
		day = "9999-12-31"
	}
	raw, _, _ := m.rangeEnd(f, day, upper, days)
	return raw
}

// rangeEnd writes one end of a range; a bare day covers the whole day.
func (m *Model) rangeEnd(f *Field, text string, upper bool, days DayForm) (json.RawMessage, bool, string) {
	if text == "" {
		return nil, false, ""
	}
	if numberTypes[f.Edit.Type] {
		if !isNumber(text) {
			return nil, false, "number"
		}
		return numberRaw(text), true, ""
	}
	at, ok := ParseMoment(text)
	if !ok || !at.HasDate {
		return nil, false, "date"
	}
	day, clock := at.Time.Format("2006-01-02"), at.Time.Format("15:04:05")
	if !at.HasTime && upper {
		clock = "23:59:59"
	}
	onlyDays := f.Edit.Date.Kind == "DATE" && (f.Returns == "LocalDate" || f.Returns == "String" || m.Classic && days != DaysAsTimes)
	switch {
	case onlyDays:
		return quote(day), true, ""
	case m.Classic, f.Returns == "String":
		return quote(day + " " + clock), true, ""
	case upper && !at.HasTime:
		return quote(day + "T23:59:59.999"), true, ""
	}
	return quote(day + "T" + clock + ".000"), true, ""
}

// Write returns the body of a table query in the node's dialect. Sort must be one of the model's own sort names: 2.0 to 2.2
// nodes put it into their query language as it is.
func (m *Model) Write(q Query) []byte {
	type condition struct {
		Key        string          `json:"key"`
		Value      json.RawMessage `json:"value"`
		Expression string          `json:"expression,omitempty"`
	}
	body := struct {
		Page      int         `json:"pageIndex"`
		Size      int         `json:"pageSize"`
		Sort      any         `json:"sort"`
		Condition []condition `json:"condition"`
		Link      any         `json:"linkTreeVal,omitempty"`
	}{Page: max(q.Page, 1), Size: min(max(q.Size, 1), maxPageSize), Condition: []condition{}}
	if sort := m.sortName(q.Sort); sort != "" {
		word := "ASC"
		if q.Desc {
			word = "DESC"
		}
		if m.Classic {
			body.Sort = sort + " " + strings.ToLower(word)
		} else {
			body.Sort = []any{map[string]string{"field": sort, "direction": word}}
		}
	}
	for _, c := range q.Conditions {
		if m.Classic {
			c.Expression = ""
		}
		body.Condition = append(body.Condition, condition(c))
	}
	if len(q.Link) > 0 {
		if body.Link = q.Link; m.Classic {
			body.Link = q.Link[0]
		}
	}
	return rawOf(body)
}

func (m *Model) sortName(wish string) string {
	for _, c := range m.Columns() {
		if c.Sort != "" && c.Sort == wish {
			return wish
		}
	}
	return ""
}

// numberRaw writes a number that a person entered: as a JSON number while every reader takes it exactly, else as text, which
// nodes accept for numbers, too.
func numberRaw(text string) json.RawMessage {
	digits := strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(text), "0")
	if len(digits) <= 15 && !strings.ContainsAny(text, "eE") {
		return json.RawMessage(text)
	}
	return quote(text)
}
