package database

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"entgo.io/ent/dialect/sql"

	"eruptcloud/app/fault"
	"eruptcloud/ent"
	"eruptcloud/ent/intercept"
	"eruptcloud/ent/loginlog"
	"eruptcloud/ent/operatelog"
)

// spare has ent leave alone the columns that an adopted database lacks: reading gives their zero value, and writing anything
// else is refused, so that nothing is lost without anybody noticing.
func (db *DB) spare() {
	db.Client.Intercept(intercept.TraverseFunc(func(_ context.Context, q intercept.Query) error {
		if missing := db.Shape.Missing[eruptTypes[q.Type()]]; len(missing) > 0 {
			q.WhereP(func(s *sql.Selector) { deselect(s, missing) })
		}
		return nil
	}))
	db.Client.Use(func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			table := eruptTypes[m.Type()]
			if missing := db.Shape.Missing[table]; len(missing) > 0 {
				if err := leaveOut(m, table, missing); err != nil {
					return nil, err
				}
			}
			return next.Mutate(ctx, m)
		})
	})
}

// deselect takes missing columns out of a selection. Aggregates select what they need afterwards, and are not concerned.
func deselect(s *sql.Selector, missing []string) {
	selected := s.SelectedColumns()
	left := slices.DeleteFunc(slices.Clone(selected), func(c string) bool {
		name := strings.Trim(c[strings.LastIndexByte(c, '.')+1:], "`\"")
		return slices.Contains(missing, name)
	})
	switch {
	case len(left) == len(selected):
	case len(left) == 0:
		s.SelectExpr(sql.Raw("NULL")) // no columns at all would select every one
	default:
		s.Select(left...)
	}
}

// trivial are columns whose loss nobody notices: times and names of the last change, and details of log rows, which are worth
// more without them than not at all.
func trivial(table, column string) bool {
	return table == operatelog.Table || table == loginlog.Table || strings.HasPrefix(column, "create_") || strings.HasPrefix(column, "update_")
}

// leaveOut takes missing columns out of a change. A fault if that would lose a value.
func leaveOut(m ent.Mutation, table string, missing []string) error {
	if m.Op().Is(ent.OpUpdateOne) {
		return fmt.Errorf("%s lacks columns that an update of one row reads back; update it with Update().Where", table)
	}
	for _, column := range missing {
		value, set := m.Field(column)
		added, adds := m.AddedField(column)
		if !set && !adds && !m.FieldCleared(column) {
			continue
		}
		if !trivial(table, column) && (set && !isZero(value) || adds && !isZero(added)) {
			return fault.New(fault.Invalid, "this database cannot keep it: the table %s has no column %s; update erupt, which adds it, or leave the value empty",
				table, column).Field(column, "the table %s has no column %s", table, column)
		}
		if err := m.ResetField(column); err != nil {
			return err
		}
	}
	return nil
}

func isZero(value any) bool {
	v := reflect.ValueOf(value)
	return !v.IsValid() || v.IsZero()
}
