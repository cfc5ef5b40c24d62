package database

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"entgo.io/ent/dialect/sql/schema"

	entmigrate "eruptcloud/ent/migrate"
)

// Leave undoes Adopt: it drops our tables, and those of erupt's that we made and that are empty. Tables that were there before
// stay as they are, with every row in them. It returns which it dropped and which of those that we made it kept because of
// their rows. ErrNotErupts for a database that was not adopted. No server of ours may run on it; it may be called again after
// a crash.
func Leave(ctx context.Context, db *DB) (dropped, kept []string, err error) {
	conn, err := db.SQL.Conn(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("leave: %w", err)
	}
	defer conn.Close()
	if db.Driver == MySQL {
		unlock, failed := lockMySQL(ctx, conn)
		if failed != nil {
			return nil, nil, failed
		}
		defer func() { err = errors.Join(err, unlock()) }()
	}
	st, err := inspect(ctx, db.Driver, conn)
	if err != nil {
		return nil, nil, err
	}
	if !st.adopted {
		return nil, nil, fmt.Errorf("%w that this program adopted", ErrNotErupts)
	}
	for _, table := range st.made() {
		if !isOurs(table) {
			empty, err := isEmpty(ctx, conn, table)
			if err != nil {
				return dropped, kept, err
			} else if !empty {
				kept = append(kept, table)
				continue
			}
		}
		if _, err := conn.ExecContext(ctx, "DROP TABLE "+table); err != nil {
			return dropped, kept, fmt.Errorf("drop %s: %w", table, err)
		}
		dropped = append(dropped, table)
	}
	// Last, so that a crash before it leaves something to go on from.
	if _, err := conn.ExecContext(ctx, "DROP TABLE "+recordTable); err != nil {
		return dropped, kept, fmt.Errorf("drop %s: %w", recordTable, err)
	}
	return append(dropped, recordTable), kept, nil
}

// made returns the tables of a database that we made, those that refer to others first.
func (st state) made() []string {
	var out []string
	for _, t := range slices.Backward(sortedByReference()) {
		if slices.Contains(st.tables, t.Name) && !st.theirs[t.Name] {
			out = append(out, t.Name)
		}
	}
	return out
}

// sortedByReference returns our tables, each behind those that it refers to.
func sortedByReference() []*schema.Table {
	var out []*schema.Table
	done := map[*schema.Table]bool{}
	var add func(*schema.Table)
	add = func(t *schema.Table) {
		if done[t] {
			return
		}
		done[t] = true
		for _, key := range t.ForeignKeys {
			add(key.RefTable)
		}
		out = append(out, t)
	}
	for _, t := range entmigrate.Tables {
		add(t)
	}
	return out
}

func isEmpty(ctx context.Context, q execer, table string) (bool, error) {
	rows, err := q.QueryContext(ctx, "SELECT 1 FROM "+table+" LIMIT 1")
	if err != nil {
		return false, fmt.Errorf("look into %s: %w", table, err)
	}
	defer rows.Close()
	found := rows.Next()
	return !found, rows.Err()
}
