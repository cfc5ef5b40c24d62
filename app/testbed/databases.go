package testbed

import (
	"path/filepath"
	"testing"

	"eruptcloud/app/database"
)

// SQLite returns a migrated database in a file that goes away with the test.
func SQLite(t testing.TB) *database.DB {
	t.Helper()
	return migrated(t, database.Options{Driver: database.SQLite, DSN: filepath.Join(t.TempDir(), "test.db")})
}

// MySQL returns a migrated database in the shared mariadbd.
func MySQL(t testing.TB) *database.DB {
	t.Helper()
	return migrated(t, database.Options{Driver: database.MySQL, DSN: MariaDB(t)})
}

// EachDB runs a test on SQLite and on MariaDB, each time on a migrated database without rows.
func EachDB(t *testing.T, test func(t *testing.T, db *database.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, SQLite(t)) })
	t.Run("mariadb", func(t *testing.T) { test(t, MySQL(t)) })
}

func migrated(t testing.TB, o database.Options) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close database: %v", err)
		}
	})
	if _, err := database.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}
