package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	sqlite "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

// sqliteBusy is how long a writer waits for another one, in this process or beside it, before it gives up.
const sqliteBusy = 5 * time.Second

// sqliteConns is small: there is one writer at a time anyway, and each connection keeps a page cache of its own.
const sqliteConns = 4

// sqliteParams hold for every connection. busy_timeout comes first, since the change to WAL already needs it; immediate
// transactions take the write lock at their start, so a read in one cannot lose it to another writer (S91); times are
// written as UTC text that compares in order.
const sqliteParams = "_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)" +
	"&_pragma=cache_size(-1024)&_pragma=journal_size_limit(8388608)&_txlock=immediate&_time_format=sqlite&_timezone=UTC"

func openSQLite(ctx context.Context, o Options) (*DB, error) {
	path := o.DSN
	if !strings.HasPrefix(path, "file:") {
		if path == "" || strings.HasPrefix(path, ":memory:") {
			return nil, errors.New("database dsn must be the path of a SQLite file")
		}
		if err := createPrivate(path); err != nil {
			return nil, err
		}
	}
	pool, err := sql.Open("sqlite", sqliteDSN(path))
	if err != nil {
		return nil, fmt.Errorf("open sqlite database: %w", err)
	}
	pool.SetMaxOpenConns(sqliteConns)
	pool.SetMaxIdleConns(sqliteConns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	if err := turnToWAL(ctx, pool); err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite database: %w", err), pool.Close())
	}
	return wrap(ctx, SQLite, dialect.SQLite, pool)
}

// createPrivate makes the file readable by its owner only: it holds password hashes and sealed tokens.
func createPrivate(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the database's folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the database's file: %w", err)
	}
	return f.Close()
}

// sqliteDSN returns the DSN of a path or file: URI.
func sqliteDSN(path string) string {
	params := fmt.Sprintf(sqliteParams, sqliteBusy.Milliseconds())
	if !strings.HasPrefix(path, "file:") {
		// Only what ends or escapes the path in a URI needs escaping.
		path = "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	}
	if base, query, ok := strings.Cut(path, "?"); ok {
		return base + "?" + params + "&" + keepForeign(query)
	}
	return path + "?" + params
}

// keepForeign drops from a URI's query what sqliteParams decide, so that the DSN cannot undo it.
func keepForeign(query string) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		return query // the driver reports it
	}
	for _, k := range []string{"_txlock", "_time_format", "_timezone", "_fk", "_foreign_keys"} {
		values.Del(k)
	}
	return values.Encode()
}

// turnToWAL opens the first connection. Several processes that create the same file at once can meet in the switch to WAL,
// for which SQLite does not wait, so it is tried again for as long as a writer would wait.
func turnToWAL(ctx context.Context, pool *sql.DB) error {
	deadline := time.Now().Add(sqliteBusy)
	for {
		err := pool.PingContext(ctx)
		if err == nil || !sqliteIsBusy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// sqliteIsBusy reports whether err says that another connection holds the lock.
func sqliteIsBusy(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	primary := e.Code() & 0xff
	return primary == sqlitelib.SQLITE_BUSY || primary == sqlitelib.SQLITE_LOCKED
}

// sqliteIsUnique reports whether err is a violated unique index or primary key.
func sqliteIsUnique(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) &&
		(e.Code() == sqlitelib.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlitelib.SQLITE_CONSTRAINT_PRIMARYKEY)
}
