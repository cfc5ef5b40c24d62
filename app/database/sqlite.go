package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	sqlite "modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"eruptcloud/ent"
)

// sqliteBusy is how long a writer waits for another one, in this process or beside it, before it gives up.
const sqliteBusy = 5 * time.Second

// sqliteConns is small: there is one writer at a time anyway, and each connection keeps a page cache of its own.
const sqliteConns = 4

// sqliteFixed holds for every connection: immediate transactions take the write lock at their start, so a read in one cannot
// lose it to another writer (S91); times are written as UTC text that compares in order.
const sqliteFixed = "_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_txlock=immediate&_time_format=sqlite&_timezone=UTC"

// sqliteTunable are pragmas that an operator may set otherwise in the DSN. busy_timeout comes first of all, since the change
// to WAL already needs it.
var sqliteTunable = []struct{ name, value string }{
	{"busy_timeout", strconv.FormatInt(sqliteBusy.Milliseconds(), 10)},
	{"synchronous", "NORMAL"},
	{"cache_size", "-1024"}, // 1 MiB a connection
	{"journal_size_limit", "8388608"},
	{"mmap_size", ""},
	{"temp_store", ""},
}

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
	var patience int64 // milliseconds
	err = turnToWAL(ctx, pool)
	if err == nil {
		err = pool.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&patience) // the DSN may have changed it
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite database: %w", err), pool.Close())
	}
	driver := newWriters(entsql.OpenDB(dialect.SQLite, pool), time.Duration(patience)*time.Millisecond)
	return &DB{SQL: pool, Driver: SQLite, Client: ent.NewClient(ent.Driver(driver))}, nil
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

// sqliteDSN returns the DSN of a path or file: URI. What else the URI asks for is kept, if we do not rely on the contrary.
func sqliteDSN(path string) string {
	var others url.Values
	if !strings.HasPrefix(path, "file:") {
		// Only what ends or escapes the path in a URI needs escaping.
		path = "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	} else if base, query, ok := strings.Cut(path, "?"); ok {
		path = base
		others, _ = url.ParseQuery(query) // what cannot be read is dropped
	}
	var params []string
	for _, p := range sqliteTunable {
		value := p.value
		for _, asked := range others["_pragma"] {
			if name, v, ok := strings.Cut(asked, "("); ok && strings.EqualFold(strings.TrimSpace(name), p.name) {
				value = strings.TrimSuffix(strings.TrimSpace(v), ")")
			}
		}
		if value != "" {
			params = append(params, "_pragma="+p.name+"("+url.QueryEscape(value)+")")
		}
	}
	params = append(params, sqliteFixed)
	for k := range others {
		if strings.HasPrefix(k, "_") {
			others.Del(k)
		}
	}
	if len(others) > 0 {
		params = append(params, others.Encode())
	}
	return path + "?" + strings.Join(params, "&")
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
