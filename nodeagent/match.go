package nodeagent

import (
	"cmp"
	"slices"
	"strings"
)

// Matches reports whether a row meets all conditions, for sources that search in memory.
func (q Query) Matches(row Row) bool {
	for _, c := range q.Conditions {
		if !c.matches(row[c.Field]) {
			return false
		}
	}
	return true
}

// Arrange sorts rows as q says and returns those of its page, for sources that search in memory. Rows without a value come first.
func (q Query) Arrange(rows []Row) []Row {
	if len(q.Sort) > 0 {
		slices.SortStableFunc(rows, func(a, b Row) int {
			for _, o := range q.Sort {
				c := compareForSort(a[o.Field], b[o.Field])
				if o.Descending {
					c = -c
				}
				if c != 0 {
					return c
				}
			}
			return 0
		})
	}
	if q.Offset >= len(rows) {
		return nil
	}
	rows = rows[q.Offset:]
	if q.Limit > 0 && len(rows) > q.Limit {
		rows = rows[:q.Limit]
	}
	return rows
}

func (c Condition) matches(v any) bool {
	if c.Operator == NULL || c.Operator == NOTNULL {
		return isEmpty(v) == (c.Operator == NULL)
	}
	if isEmpty(v) {
		return false // as in SQL, also for the negative operators
	}
	switch c.Operator {
	case EQ:
		return equalValues(v, c.Value)
	case NEQ:
		return !equalValues(v, c.Value)
	case LIKE:
		return contains(v, c.Value)
	case NOTLIKE:
		return !contains(v, c.Value)
	case IN:
		return slices.ContainsFunc(c.Values, func(m any) bool { return equalValues(v, m) })
	case NOTIN:
		return !slices.ContainsFunc(c.Values, func(m any) bool { return equalValues(v, m) })
	case RANGE:
		return len(c.Values) == 2 && ordered(v, c.Values[0], 0, 1) && ordered(v, c.Values[1], -1, 0)
	case GT:
		return ordered(v, c.Value, 1, 1)
	case GTE:
		return ordered(v, c.Value, 0, 1)
	case LT:
		return ordered(v, c.Value, -1, -1)
	case LTE:
		return ordered(v, c.Value, -1, 0)
	}
	return false
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []string:
		return len(v) == 0
	case []Row:
		return len(v) == 0
	}
	return false
}

// equalValues compares values of one field. Tags are equal when the row has all that were asked for.
func equalValues(v, want any) bool {
	if tags, ok := v.([]string); ok {
		asked, _ := want.([]string)
		for _, t := range asked {
			if !slices.Contains(tags, t) {
				return false
			}
		}
		return len(asked) > 0
	}
	c, ok := compareValues(v, want)
	return ok && c == 0
}

// ordered reports whether comparing v with bound gives something between low and high.
func ordered(v, bound any, low, high int) bool {
	c, ok := compareValues(v, bound)
	return ok && c >= low && c <= high
}

func contains(v, part any) bool {
	text, ok := v.(string)
	want, ok2 := part.(string)
	return ok && ok2 && strings.Contains(strings.ToLower(text), strings.ToLower(want))
}

// compareValues compares two values of one kind; ok is false for different kinds.
func compareValues(a, b any) (c int, ok bool) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b), true
		}
	case bool:
		if b, ok := b.(bool); ok {
			return cmp.Compare(rank(a), rank(b)), true
		}
	case int64:
		switch b := b.(type) {
		case int64:
			return cmp.Compare(a, b), true
		case float64:
			return cmp.Compare(float64(a), b), true
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return cmp.Compare(a, float64(b)), true
		case float64:
			return cmp.Compare(a, b), true
		}
	}
	return 0, false
}

func compareForSort(a, b any) int {
	if isEmpty(a) || isEmpty(b) {
		return cmp.Compare(rank(!isEmpty(a)), rank(!isEmpty(b)))
	}
	c, _ := compareValues(a, b)
	return c
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}
