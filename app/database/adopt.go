package database

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"eruptcloud/ent/migrate/migrations"
)

// Rows of the record that are no files: the mark of an adopted database, and each table that was there before ours. An older
// program takes them for migrations that it does not know, and keeps off.
const (
	adoptedMark  = "adopted"
	adoptedTable = "adopted: "
)

// ErrNotErupts says that there is nothing to adopt or to leave.
var ErrNotErupts = errors.New("the database holds no tables of an erupt installation")

// Adopt is Migrate for a database of erupt's: it makes our tables, and those of erupt's that are absent, beside the ones that
// are there, which no statement of this or a later migration touches. The record says which they are. It may be called again,
// by several processes too, and goes on where a crash left it.
func Adopt(ctx context.Context, db *DB) (applied []string, err error) {
	return migrateFrom(ctx, db, migrations.Files, true)
}

// adopt records the tables that are there, in one statement, before anything else is made. Nothing is done if they are
// recorded already.
func (st *state) adopt(ctx context.Context, driver string, q execer) error {
	if st.adopted {
		return nil
	}
	theirs, err := st.adoptable(ctx, driver, q)
	if err != nil {
		return err
	}
	create := mysqlRecordTable
	if driver == SQLite {
		create = sqliteRecordTable
	}
	if _, err := q.ExecContext(ctx, create); err != nil {
		return fmt.Errorf("create %s: %w", recordTable, err)
	}
	at := now()
	args := []any{adoptedMark, "", 0, at}
	for _, t := range theirs {
		args = append(args, adoptedTable+t, "", 0, at)
		st.theirs[t] = true
	}
	rows := strings.Repeat(", (?, ?, ?, ?)", len(theirs)+1)[2:]
	if _, err := q.ExecContext(ctx, "INSERT INTO "+recordTable+" (name, checksum, statements, applied_at) VALUES "+rows, args...); err != nil {
		return fmt.Errorf("record the adoption: %w", err)
	}
	st.adopted = true
	return nil
}

// adoptable returns those of erupt's tables that we know and the database has, or says why it cannot be adopted.
func (st *state) adoptable(ctx context.Context, driver string, q execer) ([]string, error) {
	if len(st.had) > 0 {
		return nil, fmt.Errorf("%w: this program made all that are in it", ErrNotErupts)
	}
	var theirs []string
	for _, t := range st.tables {
		switch {
		case isOurs(t):
			return nil, fmt.Errorf("the table %s is this program's, but %s, which says so, is missing or empty; restore it from a backup", t, recordTable)
		case slices.Contains(eruptTables, t):
			theirs = append(theirs, t)
		}
	}
	if len(theirs) == 0 {
		return nil, fmt.Errorf("%w; without --adopt tables are made from scratch", ErrNotErupts)
	}
	shape, err := shapeOf(ctx, driver, q)
	if err != nil {
		return nil, err
	}
	return theirs, shape.unfit()
}

// onTable finds the table that a statement of a migration changes.
var onTable = regexp.MustCompile("(?is)^(?:CREATE TABLE(?: IF NOT EXISTS)?|ALTER TABLE|DROP TABLE(?: IF EXISTS)?|INSERT INTO|UPDATE|DELETE FROM|" +
	"CREATE(?: UNIQUE)? INDEX [`\"]?\\w+[`\"]? ON)\\s+[`\"]?(\\w+)")

// skips reports whether a statement would change a table that is not ours. A statement that it cannot read is an error where
// that could be.
func (st state) skips(statement string) (bool, error) {
	if !st.adopted {
		return false, nil
	}
	found := onTable.FindStringSubmatch(statement)
	if found == nil {
		return false, fmt.Errorf("a statement of unknown kind cannot be run in an adopted database: %.80s", statement)
	}
	// SQLite rebuilds a table under this name to change it.
	table := strings.TrimPrefix(strings.ToLower(found[1]), "new_")
	return st.theirs[table], nil
}

// Plan is what a migration would do.
type Plan struct {
	Shape Shape
	// Statements would be run, in this order.
	Statements []string
	// Untouched are tables that were there before.
	Untouched []string
}

// Planned returns what Migrate, or Adopt, would do, and does nothing. Its errors are theirs.
func Planned(ctx context.Context, db *DB, adopt bool) (Plan, error) {
	files, err := embedded(migrations.Files, db.Driver)
	if err != nil {
		return Plan{}, err
	}
	st, err := inspect(ctx, db.Driver, db.SQL)
	if err != nil {
		return Plan{}, err
	}
	todo, err := st.pending(files, adopt)
	if err != nil {
		return Plan{}, err
	}
	if adopt && !st.adopted {
		theirs, err := st.adoptable(ctx, db.Driver, db.SQL)
		if err != nil {
			return Plan{}, err
		}
		st.adopted = true
		for _, t := range theirs {
			st.theirs[t] = true
		}
	}
	p := Plan{}
	for t := range st.theirs {
		p.Untouched = append(p.Untouched, t)
	}
	slices.Sort(p.Untouched)
	if p.Shape, err = shapeOf(ctx, db.Driver, db.SQL); err != nil {
		return Plan{}, err
	}
	for _, f := range todo {
		statements, err := f.statements()
		if err != nil {
			return Plan{}, err
		}
		for _, s := range statements[st.had[f.name].done:] {
			if skip, err := st.skips(s); err != nil {
				return Plan{}, err
			} else if !skip {
				p.Statements = append(p.Statements, s)
			}
		}
	}
	return p, nil
}
