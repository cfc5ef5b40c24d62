package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-sql-driver/mysql"

	"eruptcloud/app/fault"
	"eruptcloud/ent"
)

// deadlockTries is how often a transaction that the server chose as a deadlock's victim is run in all.
const deadlockTries = 8

// InTx runs work in one transaction: it commits when work returns nil and rolls back otherwise, also on a panic. work must
// use tx alone (another connection would wait for this one) and must bear being run again: a deadlock's victim is. A lock
// that does not come free in time is fault.Unavailable with a time to try again.
func (db *DB) InTx(ctx context.Context, work func(ctx context.Context, tx *ent.Tx) error) error {
	for try := 1; ; try++ {
		err := db.run(ctx, nil, work)
		if err == nil {
			return nil
		}
		if !isVictim(err) || try == deadlockTries {
			return Mapped(err, nil, nil)
		}
		// Two victims that start again at once would meet again.
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(rand.Int64N(int64(try) * int64(10*time.Millisecond)))):
		}
	}
}

// InSnapshot runs work in a transaction that only reads and sees the database as it was at its first read, so that rows of
// several tables belong together. It never waits for a writer.
func (db *DB) InSnapshot(ctx context.Context, work func(ctx context.Context, tx *ent.Tx) error) error {
	return Mapped(db.run(ctx, &sql.TxOptions{ReadOnly: true}, work), nil, nil)
}

// RowLocks reports whether a transaction has to lock the rows that its decision rests on (ForUpdate). On SQLite transactions
// run one after the other, and asking for such a lock is an error.
func (db *DB) RowLocks() bool { return db.Driver == MySQL }

func (db *DB) run(ctx context.Context, opts *sql.TxOptions, work func(context.Context, *ent.Tx) error) (err error) {
	tx, err := db.Client.BeginTx(ctx, opts)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	done := false
	defer func() {
		if !done { // an error, a panic or runtime.Goexit
			// A context that ended has rolled it back already.
			if rollback := tx.Rollback(); rollback != nil && err != nil && !errors.Is(rollback, sql.ErrTxDone) {
				err = errors.Join(err, fmt.Errorf("rollback: %w", rollback))
			}
		}
	}()
	if err := work(ctx, tx); err != nil {
		return err
	}
	done = true
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// isVictim reports whether the server rolled the transaction back because of another one, so that it may run again.
func isVictim(err error) bool {
	n := mysqlNumber(err)
	return n == mysqlDeadlock || n == mysqlChanged
}

// Mapped turns an error of ent or a driver into a fault: notFound for a missing row, conflict for a violated constraint
// (each returned with its cause, and skipped if nil), fault.Unavailable with a time to try again for a lock or a connection.
// A fault passes through; every other error too, and becomes "internal" at the edge.
func Mapped(err error, notFound, conflict *fault.Error) error {
	var known *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case notFound != nil && ent.IsNotFound(err):
		return notFound.Because(err)
	case conflict != nil && (ent.IsConstraintError(err) || isDuplicate(err)):
		return conflict.Because(err)
	case errors.Is(err, errTurn), sqliteIsBusy(err), mysqlNumber(err) == mysqlLockWait, isVictim(err):
		return fault.New(fault.Unavailable, "the database is busy; try again").Retry(2 * time.Second).Because(err)
	case ent.IsValidationError(err), mysqlNumber(err) == mysqlTooLong:
		return fault.New(fault.Invalid, "a value does not fit its column").Because(err)
	case mysqlNumber(err) == mysqlBadText:
		return fault.New(fault.Invalid, "a text holds characters that its column cannot store; convert the table to utf8mb4").Because(err)
	case errors.Is(err, mysql.ErrPktTooLarge), mysqlNumber(err) == mysqlPacket:
		return fault.New(fault.TooLarge, "the database refuses a statement of this size; raise its max_allowed_packet").Because(err)
	case unreachable(err):
		return fault.New(fault.Unavailable, "the database does not answer").Retry(5 * time.Second).Because(err)
	default:
		return err
	}
}

// isDuplicate reports whether err is a violated unique index, also where ent did not wrap it.
func isDuplicate(err error) bool { return mysqlNumber(err) == mysqlDuplicate || sqliteIsUnique(err) }
