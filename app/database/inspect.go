package database

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"eruptcloud/ent/user"
)

// Inspect reads which tables and columns a database has. That of a database of our own is the zero Shape; that of erupt's is
// told also before it is adopted.
func Inspect(ctx context.Context, db *DB) (Shape, error) {
	return shapeOf(ctx, db.Driver, db.SQL)
}

func shapeOf(ctx context.Context, driver string, q execer) (Shape, error) {
	st, err := inspect(ctx, driver, q)
	if err != nil {
		return Shape{}, err
	}
	if !st.adopted && !st.foreign() {
		return Shape{}, nil
	}
	columns, err := columnNames(ctx, driver, q, st.tables)
	if err != nil {
		return Shape{}, err
	}
	s := Shape{Adopted: true, Missing: map[string][]string{}}
	for _, table := range eruptTables {
		have, ok := columns[table]
		if !ok {
			s.Absent = append(s.Absent, table)
			continue
		}
		for _, c := range columnsOf(table) {
			if !slices.Contains(have, c) {
				s.Missing[table] = append(s.Missing[table], c)
			}
		}
	}
	for _, table := range userTables {
		if slices.Contains(st.tables, table) {
			s.UserTables = append(s.UserTables, table)
		}
	}
	s.Generation = s.generation()
	return s, nil
}

// generation tells the versions of erupt apart by what each added to the users.
func (s Shape) generation() string {
	switch {
	case slices.Contains(s.Absent, user.Table):
		return ""
	case s.Lacks(user.Table, user.FieldSalt) || s.Lacks(user.Table, user.FieldEncryptType):
		return "1.12"
	case s.Lacks(user.Table, user.FieldMfaEnabled) || s.Lacks(user.Table, user.FieldMfaSecret):
		return "2.0"
	}
	return "2.3"
}

// unfit says why a database of erupt's cannot be adopted.
func (s Shape) unfit() error {
	if slices.Contains(s.Absent, user.Table) {
		return fmt.Errorf("the database has some of erupt's tables and no %s; it is not that of an erupt server", user.Table)
	}
	for _, table := range eruptTables {
		for _, c := range needed[table] {
			if s.Lacks(table, c) {
				return fmt.Errorf("the table %s has no column %s; a database of erupt before 1.12 cannot be adopted", table, c)
			}
		}
	}
	return nil
}

// columnNames lists the columns of erupt's tables, all names in lower case.
func columnNames(ctx context.Context, driver string, q execer, tables []string) (map[string][]string, error) {
	out := map[string][]string{}
	query := "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE()"
	if driver == SQLite {
		query = "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'"
	}
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list columns: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return nil, fmt.Errorf("list columns: %w", err)
		}
		if table = strings.ToLower(table); slices.Contains(tables, table) && slices.Contains(eruptTables, table) {
			out[table] = append(out[table], strings.ToLower(column))
		}
	}
	return out, rows.Err()
}

// see reads the shape of the database and has ent keep to it.
func (db *DB) see(ctx context.Context, q execer) error {
	shape, err := shapeOf(ctx, db.Driver, q)
	if err != nil {
		return err
	}
	db.Shape = shape
	if shape.Adopted && !db.spared {
		db.spared = true
		db.spare()
	}
	return nil
}
