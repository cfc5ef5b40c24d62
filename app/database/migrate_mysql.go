package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const mysqlRecordTable = "CREATE TABLE IF NOT EXISTS " + recordTable +
	" (name varchar(255) NOT NULL PRIMARY KEY, checksum varchar(64) NOT NULL, statements int NOT NULL," +
	" applied_at datetime(6) NULL) CHARSET utf8mb4 COLLATE utf8mb4_bin"

// migrateMySQL applies the files one statement after the other. MySQL commits each by itself, so the record counts them,
// and a start after a crash goes on behind the last one that is known to have run.
func migrateMySQL(ctx context.Context, db *DB, files []migration, adopt bool) (applied []string, err error) {
	// On connections of its own, since a statement that rebuilds a large table may run longer than our read timeout.
	cfg := db.mysql.Clone()
	cfg.ReadTimeout, cfg.WriteTimeout = 0, 0
	pool, err := mysqlPool(cfg)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	pool.SetConnMaxLifetime(0)
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	defer conn.Close()
	unlock, err := lockMySQL(ctx, conn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	st, err := inspect(ctx, MySQL, conn)
	if err != nil {
		return nil, err
	}
	todo, err := st.pending(files, adopt)
	if err != nil {
		return nil, err
	}
	if adopt {
		if err := st.adopt(ctx, MySQL, conn); err != nil {
			return nil, err
		}
	}
	if len(todo) == 0 {
		return nil, nil
	}
	if _, err := conn.ExecContext(ctx, mysqlRecordTable); err != nil {
		return nil, fmt.Errorf("create %s: %w", recordTable, err)
	}
	for _, f := range todo {
		if err := applyMySQL(ctx, conn, f, st); err != nil {
			return applied, err
		}
		applied = append(applied, f.name)
	}
	return applied, nil
}

// applyMySQL runs the statements of f that the record does not count yet, but for those on tables that are not ours.
func applyMySQL(ctx context.Context, conn *sql.Conn, f migration, st state) error {
	statements, err := f.statements()
	if err != nil {
		return err
	}
	r, begun := st.had[f.name]
	if !begun {
		if _, err := conn.ExecContext(ctx, "INSERT INTO "+recordTable+" (name, checksum, statements) VALUES (?, ?, 0)", f.name, f.checksum); err != nil {
			return fmt.Errorf("record migration %s: %w", f.name, err)
		}
	}
	for i := r.done; i < len(statements); i++ {
		skip, err := st.skips(statements[i])
		if err != nil {
			return fmt.Errorf("migration %s, statement %d of %d: %w", f.name, i+1, len(statements), err)
		}
		if !skip {
			_, err = conn.ExecContext(ctx, statements[i])
		}
		// We may have died between a statement and the record of it.
		if died := begun && i == r.done; err != nil && !(died && mysqlDone(err)) {
			return fmt.Errorf("migration %s, statement %d of %d: %w", f.name, i+1, len(statements), err)
		}
		if _, err := conn.ExecContext(ctx, "UPDATE "+recordTable+" SET statements = ? WHERE name = ?", i+1, f.name); err != nil {
			return fmt.Errorf("record migration %s after statement %d: %w", f.name, i+1, err)
		}
	}
	if _, err := conn.ExecContext(ctx, "UPDATE "+recordTable+" SET applied_at = ? WHERE name = ?", now(), f.name); err != nil {
		return fmt.Errorf("record migration %s: %w", f.name, err)
	}
	return nil
}

// mysqlDone reports whether err says that what a statement of the schema makes is there.
func mysqlDone(err error) bool {
	switch mysqlNumber(err) {
	case mysqlTableExists, mysqlColumnExists, mysqlIndexExists:
		return true
	}
	return false
}

// lockMySQL takes the server's lock for migrations of this database. It ends with the connection, should we die.
func lockMySQL(ctx context.Context, conn *sql.Conn) (unlock func() error, err error) {
	// Names of locks are short and hold for the whole server, names of databases are neither.
	const name = "CONCAT('ec-migrate-', LEFT(SHA1(DATABASE()), 16))"
	for deadline := time.Now().Add(migrateWait); ; {
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+name+", 2)").Scan(&got); err != nil {
			return nil, fmt.Errorf("lock for migration: %w", err)
		}
		if got.Int64 == 1 {
			break
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("another process has been migrating this database for %s", migrateWait)
		}
	}
	return func() error {
		// Even if ctx has ended: the connection goes back to a pool only for a moment, but must not take the lock along.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mysqlDial)
		defer cancel()
		if _, err := conn.ExecContext(ctx, "DO RELEASE_LOCK("+name+")"); err != nil {
			return fmt.Errorf("release lock for migration: %w", err)
		}
		return nil
	}, nil
}
