// Package database opens SQLite or MySQL, brings the schema up to date and runs transactions. Nothing outside it knows a
// dialect.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"eruptcloud/app/fault"
	"eruptcloud/ent"
)

// The drivers that Options.Driver may name.
const (
	SQLite = "sqlite"
	MySQL  = "mysql"
)

// Options say which database to open.
type Options struct {
	Driver string // SQLite or MySQL
	// DSN is a path or file: URI for SQLite, the Go driver's data source name for MySQL. What must hold for us to work
	// (character set, found rows, time parsing) is set whatever the DSN says.
	DSN string
	// Zone is the zone of times in MySQL columns. If nil it is UTC, and in an adopted database that of the server's session,
	// as a Java server beside us writes it. SQLite always keeps UTC.
	Zone *time.Location
}

// DB is an open database.
type DB struct {
	Client *ent.Client
	SQL    *sql.DB
	Driver string
	// Shape is how the tables differ from ours: that of an adopted database once Open, Migrate, Adopt or CheckVersion has
	// seen it. ent's client leaves alone what it lacks.
	Shape Shape

	spared bool          // the client knows of Shape
	mysql  *mysql.Config // of MySQL: migrations connect without its read timeout
}

// Open connects to the database and checks that it answers. The schema is left alone: see Migrate and CheckVersion.
func Open(ctx context.Context, o Options) (db *DB, err error) {
	switch o.Driver {
	case SQLite:
		db, err = openSQLite(ctx, o)
	case MySQL:
		db, err = openMySQL(ctx, o)
	default:
		return nil, fmt.Errorf("database driver %q is neither %q nor %q", o.Driver, SQLite, MySQL)
	}
	if err != nil {
		return nil, err
	}
	if err := db.see(ctx, db.SQL); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close ends all connections.
func (db *DB) Close() error { return db.Client.Close() }

// Ping asks whether the database answers. fault.Unavailable if not.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.SQL.PingContext(ctx); err != nil {
		return fault.New(fault.Unavailable, "the database does not answer").Because(err)
	}
	return nil
}
