package database

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	atlas "ariga.io/atlas/sql/migrate"

	"eruptcloud/ent/migrate/migrations"
)

// recordTable says which migrations a database has had. A database with erupt's tables but without it is somebody else's.
const recordTable = "e_cloud_migration"

// ErrForeign says that the database belongs to an erupt installation.
var ErrForeign = errors.New("the database holds the tables of an erupt installation that this program did not create; " +
	"give it an empty database of its own, or let it work on this one beside erupt with 'eruptcloud migrate --adopt', which adds " +
	"tables of its own and alters none of erupt's (--dry-run shows them)")

// ErrPending says that the schema is older than this program.
var ErrPending = errors.New("the database schema is older than this program; run the migrate command")

// migration is one embedded file.
type migration struct {
	name     string // NNNN_what.sql
	checksum string // SHA-256 of the file, hex
	text     string
}

// record is one row of recordTable.
type record struct {
	checksum string
	done     int  // statements that ran; counts on MySQL, where each commits by itself
	whole    bool // all of them
}

// execer is what a migration needs of a connection or transaction.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Migrate brings the schema up to date and returns the names of the files that it applied. Several processes may call it
// at once: one works, the others wait and find nothing to do. It refuses a database of somebody else (ErrForeign), one
// that a newer program has migrated, and one whose applied files differ from ours.
func Migrate(ctx context.Context, db *DB) (applied []string, err error) {
	return migrateFrom(ctx, db, migrations.Files, false)
}

func migrateFrom(ctx context.Context, db *DB, fsys fs.FS, adopt bool) (applied []string, err error) {
	files, err := embedded(fsys, db.Driver)
	if err != nil {
		return nil, err
	}
	if db.Driver == MySQL {
		applied, err = migrateMySQL(ctx, db, files, adopt)
	} else {
		applied, err = migrateSQLite(ctx, db, files, adopt)
	}
	if err != nil {
		return applied, err
	}
	return applied, db.see(ctx, db.SQL)
}

// CheckVersion reports whether the schema is exactly that of this program. ErrPending if it is older, another error if
// it is newer or not ours.
func CheckVersion(ctx context.Context, db *DB) error {
	files, err := embedded(migrations.Files, db.Driver)
	if err != nil {
		return err
	}
	st, err := inspect(ctx, db.Driver, db.SQL)
	if err != nil {
		return err
	}
	todo, err := st.pending(files, false)
	if err != nil {
		return err
	}
	if len(todo) > 0 {
		return fmt.Errorf("%w (missing: %s)", ErrPending, names(todo))
	}
	return db.see(ctx, db.SQL)
}

// embedded returns the files of a dialect in order.
func embedded(fsys fs.FS, driver string) ([]migration, error) {
	paths, err := fs.Glob(fsys, path.Join(driver, "*.sql"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	out := make([]migration, 0, len(paths))
	for _, p := range paths {
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		out = append(out, migration{name: path.Base(p), checksum: hex.EncodeToString(sum[:]), text: string(text)})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no migrations for %s are built in", driver)
	}
	return out, nil
}

// state is what a database has had.
type state struct {
	tables  []string          // all, in lower case
	had     map[string]record // files
	adopted bool              // erupt's tables were there before ours
	theirs  map[string]bool   // those tables: no statement on them is ever run
}

// inspect returns what the database has had.
func inspect(ctx context.Context, driver string, q execer) (st state, err error) {
	st = state{had: map[string]record{}, theirs: map[string]bool{}}
	if st.tables, err = tableNames(ctx, driver, q); err != nil {
		return st, err
	}
	if !slices.Contains(st.tables, recordTable) {
		return st, nil
	}
	had, err := records(ctx, q)
	if err != nil {
		return st, err
	}
	for name, r := range had {
		if table, ok := strings.CutPrefix(name, adoptedTable); ok {
			st.theirs[table] = true
		} else if name == adoptedMark {
			st.adopted = true
		} else {
			st.had[name] = r
		}
	}
	return st, nil
}

// foreign reports whether the database holds erupt's tables, or ours, and no record of ours.
func (st state) foreign() bool { return st.firstForeign() != "" }

func (st state) firstForeign() string {
	if st.adopted || len(st.had) > 0 {
		return ""
	}
	for _, t := range st.tables {
		if isErupts(t) || isOurs(t) {
			return t
		}
	}
	return ""
}

// tableNames lists all tables, in lower case.
func tableNames(ctx context.Context, driver string, q execer) ([]string, error) {
	query := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if driver == MySQL {
		query = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
	}
	rows, err := q.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list tables: %w", err)
		}
		out = append(out, strings.ToLower(name))
	}
	return out, rows.Err()
}

func records(ctx context.Context, q execer) (map[string]record, error) {
	rows, err := q.QueryContext(ctx, "SELECT name, checksum, statements, applied_at IS NOT NULL FROM "+recordTable)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", recordTable, err)
	}
	defer rows.Close()
	out := map[string]record{}
	for rows.Next() {
		var name string
		var r record
		if err := rows.Scan(&name, &r.checksum, &r.done, &r.whole); err != nil {
			return nil, fmt.Errorf("read %s: %w", recordTable, err)
		}
		out[name] = r
	}
	return out, rows.Err()
}

// pending returns the files that are still to be applied, wholly or in part. ErrForeign for a database of somebody else that
// is not to be adopted.
func (st state) pending(files []migration, adopt bool) ([]migration, error) {
	if t := st.firstForeign(); t != "" && !adopt {
		return nil, fmt.Errorf("%w (found: %s)", ErrForeign, t)
	}
	known := make(map[string]bool, len(files))
	var todo []migration
	for _, f := range files {
		known[f.name] = true
		r, ok := st.had[f.name]
		switch {
		case ok && r.checksum != f.checksum:
			return nil, fmt.Errorf("migration %s was changed after it had been applied: the database has checksum %s, "+
				"this program %s; restore the file or the database", f.name, r.checksum, f.checksum)
		case !ok || !r.whole:
			todo = append(todo, f)
		}
	}
	for name := range st.had {
		if !known[name] {
			return nil, fmt.Errorf("the database is newer than this program: it had migration %s, "+
				"which this program does not know; use the newer program or restore a backup", name)
		}
	}
	return todo, nil
}

func names(files []migration) string {
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.name
	}
	return strings.Join(out, ", ")
}

// statements splits a file at its semicolons, comments dropped.
func (m migration) statements() ([]string, error) {
	parsed, err := atlas.Stmts(m.text)
	if err != nil {
		return nil, fmt.Errorf("migration %s: %w", m.name, err)
	}
	out := make([]string, 0, len(parsed))
	for _, s := range parsed {
		out = append(out, s.Text)
	}
	return out, nil
}

// now is the moment of an applied migration, in the precision that both databases keep.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
