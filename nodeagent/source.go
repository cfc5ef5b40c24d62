package nodeagent

import (
	"context"
	"errors"
	"fmt"
)

// ID is the primary key of a row: int64, or string on a page with TextKey.
type ID = any

// Row is one row of a page: field name to value. Field says which Go type the value of each field has. The primary key lies under
// the page's key name ("id").
type Row map[string]any

// Text returns a text value, empty if there is none.
func (r Row) Text(field string) string { s, _ := r[field].(string); return s }

// Int returns a whole number, zero if there is none.
func (r Row) Int(field string) int64 { n, _ := r[field].(int64); return n }

// Float returns a number, zero if there is none.
func (r Row) Float(field string) float64 {
	switch n := r[field].(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

// Bool returns whether a value is true.
func (r Row) Bool(field string) bool { b, _ := r[field].(bool); return b }

// Items returns the rows of an Items field.
func (r Row) Items(field string) []Row { rows, _ := r[field].([]Row); return rows }

// Source keeps the rows of a page. The agent calls it with values that were checked against the declaration, from many
// goroutines at once. ctx ends with the request; UserFrom(ctx) tells who is behind it. Rows that a source returns belong to the
// agent; they may hold all of Go's number types, and time.Time for days and moments.
type Source interface {
	// Query returns the rows that match q's conditions, sorted and cut as q says, and how many match in all.
	Query(ctx context.Context, q Query) (rows []Row, total int, err error)
	// Find returns one row. ErrNoRow if there is none.
	Find(ctx context.Context, id ID) (Row, error)
	// Insert stores a row and returns its new id. A *DuplicateError if a unique value is taken.
	Insert(ctx context.Context, row Row) (ID, error)
	// Update replaces the row with row's primary key. ErrNoRow if there is none, a *DuplicateError as for Insert.
	Update(ctx context.Context, row Row) error
	// Delete removes all of the rows or, with ErrNoRow if one is missing, none.
	Delete(ctx context.Context, ids []ID) error
}

// ManyFinder is a Source that can look up many rows at once; references of a table page are then resolved in one call.
type ManyFinder interface {
	// FindMany returns the rows that exist, in any order.
	FindMany(ctx context.Context, ids []ID) ([]Row, error)
}

// Constrained is a Source that keeps unique values unique by itself. It is told at Host which fields those are.
type Constrained interface {
	Constrain(fields []string)
}

// Query is a checked table query.
type Query struct {
	Conditions []Condition // all must hold
	Sort       []Order     // empty: the source's own order
	Offset     int
	Limit      int // zero: all
}

// Condition compares one field.
type Condition struct {
	Field    string
	Operator Operator
	// Value is what EQ, NEQ, GT, GTE, LT, LTE, LIKE and NOT_LIKE compare with, of the field's own type. A search by tags has
	// a []string.
	Value any
	// Values are the members for IN and NOT_IN, and the two ends of RANGE; an end may be nil.
	Values []any
}

// Order sorts by one field.
type Order struct {
	Field      string
	Descending bool
}

// ErrNoRow is returned by sources for a row that does not exist, or that the user may not see.
var ErrNoRow = errors.New("no such row")

// DuplicateError is returned by sources when a value that must be unique is taken.
type DuplicateError struct{ Field string }

func (e *DuplicateError) Error() string { return fmt.Sprintf("%s is taken", e.Field) }

// Refusal is an error of hooks and sources whose text is meant for people. Anything else that they return is logged and shown
// as an internal error.
type Refusal struct {
	Message string
	Field   string // what it is about, or empty
	Info    bool   // a piece of information rather than an error
}

func (e *Refusal) Error() string { return e.Message }

// Refuse returns a *Refusal.
func Refuse(format string, args ...any) error {
	return &Refusal{Message: fmt.Sprintf(format, args...)}
}

// RefuseField returns a *Refusal about one field.
func RefuseField(field, format string, args ...any) error {
	return &Refusal{Message: fmt.Sprintf(format, args...), Field: field}
}
