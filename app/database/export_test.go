package database

import (
	"context"
	"io/fs"
	"testing"

	"eruptcloud/ent/migrate/migrations"
)

// MigrateFrom is Migrate with other files than the embedded ones.
func MigrateFrom(ctx context.Context, db *DB, files fs.FS) ([]string, error) {
	return migrateFrom(ctx, db, files, false)
}

// SQLiteDSN and MySQLDSN show what becomes of a DSN.
var SQLiteDSN = sqliteDSN

func MySQLDSN(o Options) (string, error) {
	cfg, err := mysqlConfig(o)
	if err != nil {
		return "", err
	}
	return cfg.FormatDSN(), nil
}

// AdoptFrom is Adopt with other files than the embedded ones.
func AdoptFrom(ctx context.Context, db *DB, files fs.FS) ([]string, error) {
	return migrateFrom(ctx, db, files, true)
}

// Skips shows what becomes of a statement in an adopted database.
func Skips(statement string, theirs ...string) (bool, error) {
	st := state{adopted: true, theirs: map[string]bool{}}
	for _, t := range theirs {
		st.theirs[t] = true
	}
	return st.skips(statement)
}

// DSNOf returns the DSN that a database was opened with.
func DSNOf(db *DB) string { return db.mysql.FormatDSN() }

// Statements returns all statements of the embedded migrations.
func Statements(t *testing.T, driver string) (out []string) {
	t.Helper()
	files, err := embedded(migrations.Files, driver)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		s, err := f.statements()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s...)
	}
	return out
}

// ZoneNamed and EruptTables are for tests alone.
var (
	ZoneNamed   = zoneNamed
	EruptTables = eruptTables
)
