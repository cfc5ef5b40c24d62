package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"
)

const sqliteRecordTable = "CREATE TABLE IF NOT EXISTS " + recordTable +
	" (name text NOT NULL PRIMARY KEY, checksum text NOT NULL, statements integer NOT NULL, applied_at datetime)"

// migrateWait is how long a starting process waits for another one that is migrating.
const migrateWait = 2 * time.Minute

// migrateSQLite applies all files in one immediate transaction: its write lock keeps other processes out, and a failure
// leaves nothing behind.
func migrateSQLite(ctx context.Context, db *DB, files []migration, adopt bool) (applied []string, err error) {
	conn, err := db.SQL.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	defer conn.Close()
	// Rebuilding a table drops the old one; with foreign keys on, that would delete the rows that point to it. The switch
	// has no effect inside a transaction, and the connection is given up afterwards rather than switched back.
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA foreign_keys = OFF; PRAGMA busy_timeout = %d", migrateWait.Milliseconds())); err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	defer conn.Raw(func(any) error { return driver.ErrBadConn })

	tx, err := conn.BeginTx(ctx, nil) // immediate, by the DSN
	if err != nil {
		return nil, fmt.Errorf("migrate: wait for another process that migrates: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	st, err := inspect(ctx, SQLite, tx)
	if err != nil {
		return nil, err
	}
	todo, err := st.pending(files, adopt)
	if err != nil {
		return nil, err
	}
	if adopt {
		if err := st.adopt(ctx, SQLite, tx); err != nil {
			return nil, err
		}
	}
	if len(todo) > 0 {
		if err := applySQLite(ctx, tx, todo, st); err != nil {
			return nil, err
		}
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("migrate: commit: %w", err)
	}
	for _, f := range todo {
		applied = append(applied, f.name)
	}
	return applied, nil
}

func applySQLite(ctx context.Context, tx *sql.Tx, todo []migration, st state) error {
	if _, err := tx.ExecContext(ctx, sqliteRecordTable); err != nil {
		return fmt.Errorf("create %s: %w", recordTable, err)
	}
	for _, f := range todo {
		statements, err := f.statements()
		if err != nil {
			return err
		}
		for i, s := range statements {
			if strings.HasPrefix(strings.ToUpper(s), "PRAGMA FOREIGN_KEYS") {
				continue // the planner writes them; see above
			}
			if skip, err := st.skips(s); err != nil {
				return fmt.Errorf("migration %s, statement %d: %w", f.name, i+1, err)
			} else if skip {
				continue
			}
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return fmt.Errorf("migration %s, statement %d: %w", f.name, i+1, err)
			}
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO "+recordTable+" (name, checksum, statements, applied_at) VALUES (?, ?, ?, ?)",
			f.name, f.checksum, len(statements), now()); err != nil {
			return fmt.Errorf("record migration %s: %w", f.name, err)
		}
	}
	return checkForeignKeys(ctx, tx)
}

// checkForeignKeys makes up for having them off: a row that points nowhere undoes the migration.
func checkForeignKeys(ctx context.Context, tx *sql.Tx) error {
	var table, parent string
	var row, key sql.NullInt64
	err := tx.QueryRowContext(ctx, "PRAGMA foreign_key_check").Scan(&table, &row, &parent, &key)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("check foreign keys: %w", err)
	default:
		return fmt.Errorf("after the migration row %d of %s points to a row of %s that does not exist", row.Int64, table, parent)
	}
}
