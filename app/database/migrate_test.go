package database_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"eruptcloud/app/database"
	"eruptcloud/app/testbed"
)

// eachEmpty runs a test on a database of each kind that has no tables; open may be called again for another process's view.
func eachEmpty(t *testing.T, test func(t *testing.T, open func() *database.DB)) {
	t.Helper()
	run := func(name string, options func(t *testing.T) database.Options) {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			test(t, func() *database.DB {
				db, err := database.Open(t.Context(), o)
				if err != nil {
					t.Error(err)
					return nil
				}
				t.Cleanup(func() { _ = db.Close() })
				return db
			})
		})
	}
	run("sqlite", func(t *testing.T) database.Options {
		return database.Options{Driver: database.SQLite, DSN: filepath.Join(t.TempDir(), "new", "c 100%?#.db")}
	})
	run("mariadb", func(t *testing.T) database.Options {
		return database.Options{Driver: database.MySQL, DSN: testbed.MariaDB(t)}
	})
}

func TestManyProcessesMigrateAtOnce(t *testing.T) {
	eachEmpty(t, func(t *testing.T, open func() *database.DB) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		worked := 0
		for range 8 {
			wg.Go(func() {
				db := open()
				if db == nil {
					return
				}
				applied, err := database.Migrate(t.Context(), db)
				if err != nil {
					t.Error(err)
				}
				if err := database.CheckVersion(t.Context(), db); err != nil {
					t.Errorf("after Migrate: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if len(applied) > 0 {
					worked++
				}
			})
		}
		wg.Wait()
		if worked != 1 {
			t.Errorf("%d of 8 concurrent calls applied migrations, want one to work and the others to wait", worked)
		}
	})
}

// TestMain also plays a starting process for TestStartingProcesses.
func TestMain(m *testing.M) {
	driver, dsn, child := strings.Cut(os.Getenv("EC_TEST_MIGRATE"), " ")
	if !child {
		goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("eruptcloud/app/testbed.start.func1")) // waits for the servers, which live as long as we do
		return
	}
	ctx := context.Background()
	db, err := database.Open(ctx, database.Options{Driver: driver, DSN: dsn})
	if err == nil && os.Getenv("EC_TEST_ADOPT") != "" {
		err = adoptAsChild(ctx, db)
	} else if err == nil {
		var applied []string
		applied, err = database.Migrate(ctx, db)
		fmt.Println("applied", len(applied))
	}
	if err == nil {
		err = database.CheckVersion(ctx, db)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestStartingProcesses is the same with real processes: SQLite's locks work differently between them.
func TestStartingProcesses(t *testing.T) {
	for driver, dsn := range map[string]string{database.SQLite: filepath.Join(t.TempDir(), "t.db"), database.MySQL: testbed.MariaDB(t)} {
		t.Run(driver, func(t *testing.T) {
			var wg sync.WaitGroup
			var idle atomic.Int64
			for range 8 {
				wg.Go(func() {
					cmd := exec.Command(os.Args[0])
					cmd.Env = append(os.Environ(), "EC_TEST_MIGRATE="+driver+" "+dsn)
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Errorf("%v: %s", err, out)
					}
					if strings.Contains(string(out), "applied 0") {
						idle.Add(1)
					}
				})
			}
			wg.Wait()
			if idle.Load() != 7 {
				t.Errorf("%d of 8 processes found nothing to do, want 7", idle.Load())
			}
		})
	}
}

func TestMigrateRefusesForeignDatabases(t *testing.T) {
	tests := map[string]struct {
		prepare []string
		message string
		foreign bool
	}{
		"tables of an erupt installation": {
			[]string{"CREATE TABLE E_UPMS_USER (id integer)"}, "e_upms_user", true},
		"an empty record beside them": {
			[]string{"CREATE TABLE e_cloud_node (id integer)",
				"CREATE TABLE e_cloud_migration (name varchar(99), checksum varchar(64), statements int, applied_at datetime)"}, "e_cloud_node", true},
		"a changed migration": {
			[]string{"CREATE TABLE e_cloud_migration (name varchar(99), checksum varchar(64), statements int, applied_at datetime)",
				"INSERT INTO e_cloud_migration VALUES ('0001_init.sql', 'beef', 1, '2026-01-01 00:00:00')"}, "0001_init.sql was changed", false},
		"a newer program": {
			[]string{"CREATE TABLE e_cloud_migration (name varchar(99), checksum varchar(64), statements int, applied_at datetime)",
				"INSERT INTO e_cloud_migration VALUES ('9999_future.sql', 'beef', 1, '2026-01-01 00:00:00')"}, "newer than this program: it had migration 9999_future.sql", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			eachEmpty(t, func(t *testing.T, open func() *database.DB) {
				db := open()
				for _, s := range tt.prepare {
					if _, err := db.SQL.Exec(s); err != nil {
						t.Fatal(err)
					}
				}
				for what, err := range map[string]error{"Migrate": second(database.Migrate(t.Context(), db)), "CheckVersion": database.CheckVersion(t.Context(), db)} {
					if err == nil || !strings.Contains(err.Error(), tt.message) || errors.Is(err, database.ErrForeign) != tt.foreign {
						t.Errorf("%s = %v, want an error with %q, foreign %v", what, err, tt.message, tt.foreign)
					}
				}
			})
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestCheckVersionOfAnEmptyDatabase(t *testing.T) {
	eachEmpty(t, func(t *testing.T, open func() *database.DB) {
		if err := database.CheckVersion(t.Context(), open()); !errors.Is(err, database.ErrPending) {
			t.Errorf("CheckVersion = %v, want ErrPending", err)
		}
	})
}

func TestForeignTablesOfOtherProgramsAreNoObstacle(t *testing.T) {
	eachEmpty(t, func(t *testing.T, open func() *database.DB) {
		db := open()
		if _, err := db.SQL.Exec("CREATE TABLE orders (id integer)"); err != nil {
			t.Fatal(err)
		}
		if _, err := database.Migrate(t.Context(), db); err != nil {
			t.Errorf("Migrate beside another program's table: %v", err)
		}
	})
}

// TestMigrateGoesOnAfterACrash: MySQL commits each statement by itself, so the record counts them.
func TestMigrateGoesOnAfterACrash(t *testing.T) {
	db, err := database.Open(t.Context(), database.Options{Driver: database.MySQL, DSN: testbed.MariaDB(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := database.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	// As if we had died behind the last statement but one of the first file.
	var statements int
	if err := db.SQL.QueryRow("SELECT statements FROM e_cloud_migration WHERE name = '0001_init.sql'").Scan(&statements); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"DROP TABLE e_upms_user_role",
		"UPDATE e_cloud_migration SET applied_at = NULL, statements = statements - 1 WHERE name = '0001_init.sql'"} {
		if _, err := db.SQL.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := database.CheckVersion(t.Context(), db); !errors.Is(err, database.ErrPending) {
		t.Errorf("CheckVersion = %v in the middle of a file, want ErrPending", err)
	}
	applied, err := database.Migrate(t.Context(), db)
	if err != nil || len(applied) != 1 || applied[0] != "0001_init.sql" {
		t.Fatalf("Migrate = %v, %v; want it to finish 0001_init.sql", applied, err)
	}
	if _, err := db.SQL.Exec("SELECT * FROM e_upms_user_role"); err != nil {
		t.Errorf("the missing table was not made: %v", err)
	}
	var after int
	if err := db.SQL.QueryRow("SELECT statements FROM e_cloud_migration WHERE name = '0001_init.sql'").Scan(&after); err != nil || after != statements {
		t.Errorf("statements = %d, %v; want %d", after, err, statements)
	}
}

func TestAFailedMigrationLeavesNothingOnSQLite(t *testing.T) {
	db, err := database.Open(t.Context(), database.Options{Driver: database.SQLite, DSN: filepath.Join(t.TempDir(), "t.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	files := fstest.MapFS{
		"sqlite/0001_a.sql": {Data: []byte("CREATE TABLE a (id integer PRIMARY KEY);\nINSERT INTO a VALUES (1);")},
		"sqlite/0002_b.sql": {Data: []byte("CREATE TABLE b (id integer);\nINSERT INTO nowhere VALUES (1);")},
	}
	if _, err := database.MigrateFrom(t.Context(), db, files); err == nil || !strings.Contains(err.Error(), "0002_b.sql, statement 2") {
		t.Fatalf("Migrate = %v, want the file and the statement that failed", err)
	}
	var tables int
	if err := db.SQL.QueryRow("SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables are left, %v; want none", tables, err)
	}
}

// TestRebuiltTablesKeepTheirChildren: SQLite rebuilds a table to change it, and dropping the old one must not delete what
// points to it; a row that then points nowhere undoes the migration.
func TestRebuiltTablesKeepTheirChildren(t *testing.T) {
	db, err := database.Open(t.Context(), database.Options{Driver: database.SQLite, DSN: filepath.Join(t.TempDir(), "t.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	files := fstest.MapFS{
		"sqlite/0001_a.sql": {Data: []byte("CREATE TABLE a (id integer PRIMARY KEY);\nCREATE TABLE b (a integer REFERENCES a (id) ON DELETE CASCADE);\n" +
			"INSERT INTO a VALUES (1);\nINSERT INTO b VALUES (1);")},
		"sqlite/0002_rebuild.sql": {Data: []byte("PRAGMA foreign_keys = off;\nCREATE TABLE new_a (id integer PRIMARY KEY, x text);\nINSERT INTO new_a (id) SELECT id FROM a;\n" +
			"DROP TABLE a;\nALTER TABLE new_a RENAME TO a;\nPRAGMA foreign_keys = on;")},
	}
	if _, err := database.MigrateFrom(t.Context(), db, files); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.SQL.QueryRow("SELECT count(*) FROM b JOIN a ON a.id = b.a").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d children are left, %v; want 1", n, err)
	}
	if _, err := db.SQL.Exec("INSERT INTO b VALUES (7)"); err == nil {
		t.Error("foreign keys are off after a migration")
	}
	files["sqlite/0003_orphan.sql"] = &fstest.MapFile{Data: []byte("DELETE FROM a;")}
	if _, err := database.MigrateFrom(t.Context(), db, files); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("Migrate = %v, want the orphan to be refused", err)
	}
}
