package database

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
)

// errTurn says that a writer did not get its turn in time.
var errTurn = errors.New("another writer of this process did not finish in time")

// writers lets the writers of this process take turns before they ask for a connection. SQLite would make them wait on the
// connection, and a few of them would take the whole pool away from the readers, heartbeats among them (S91).
type writers struct {
	*entsql.Driver
	turn     chan struct{} // full while somebody writes
	patience time.Duration
}

func newWriters(d *entsql.Driver, patience time.Duration) *writers {
	return &writers{Driver: d, turn: make(chan struct{}, 1), patience: patience}
}

// take waits for the turn and returns what ends it; more than one call of that does no harm.
func (w *writers) take(ctx context.Context) (end func(), err error) {
	timer := time.NewTimer(w.patience)
	defer timer.Stop()
	select {
	case w.turn <- struct{}{}:
		return sync.OnceFunc(func() { <-w.turn }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, errTurn
	}
}

// Tx implements dialect.Driver.
func (w *writers) Tx(ctx context.Context) (dialect.Tx, error) { return w.BeginTx(ctx, nil) }

// BeginTx is what ent's Client.BeginTx asks for.
func (w *writers) BeginTx(ctx context.Context, opts *sql.TxOptions) (dialect.Tx, error) {
	if opts != nil && opts.ReadOnly {
		return w.Driver.BeginTx(ctx, opts)
	}
	end, err := w.take(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := w.Driver.BeginTx(ctx, opts)
	if err != nil {
		end()
		return nil, err
	}
	return &turnTx{Tx: tx.(*entsql.Tx), end: end}, nil
}

// Exec implements dialect.Driver.
func (w *writers) Exec(ctx context.Context, query string, args, v any) error {
	end, err := w.take(ctx)
	if err != nil {
		return err
	}
	defer end()
	return w.Driver.Exec(ctx, query, args, v)
}

// Query implements dialect.Driver. An insert comes this way too, since it returns the row's id.
func (w *writers) Query(ctx context.Context, query string, args, v any) error {
	if !strings.HasPrefix(query, "SELECT") {
		end, err := w.take(ctx)
		if err != nil {
			return err
		}
		defer end()
	}
	return w.Driver.Query(ctx, query, args, v)
}

// ExecContext is what ent's Client.ExecContext asks for.
func (w *writers) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	end, err := w.take(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return w.Driver.ExecContext(ctx, query, args...)
}

// turnTx is a transaction that ends its writer's turn.
type turnTx struct {
	*entsql.Tx
	end func()
}

// Commit implements driver.Tx.
func (t *turnTx) Commit() error {
	defer t.end()
	return t.Tx.Commit()
}

// Rollback implements driver.Tx.
func (t *turnTx) Rollback() error {
	defer t.end()
	return t.Tx.Rollback()
}
