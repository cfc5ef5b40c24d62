// Package diff plans migrations and holds the committed ones against the schema. It is tests only, since it needs a MariaDB:
//
//	go test ./ent/migrate/diff -count=1 -run TestWrite -name=add_placement
//
// writes the next file of both dialects. Read it before you commit it.
package diff

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	atlas "ariga.io/atlas/sql/migrate"
	"entgo.io/ent/dialect/sql/schema"

	"eruptcloud/app/database"
	"eruptcloud/app/testbed"
	"eruptcloud/ent/migrate/migrations"
)

var name = flag.String("name", "", "name of the migration to write, in snake case")

const root = "../migrations"

// dialects returns an empty database of each; EC_DEV_MYSQL names one to use instead of a private MariaDB.
func dialects(t *testing.T) map[string]*database.DB {
	dsn := os.Getenv("EC_DEV_MYSQL")
	if dsn == "" {
		dsn = testbed.MariaDB(t)
	}
	out := map[string]*database.DB{}
	for driver, dsn := range map[string]string{database.SQLite: filepath.Join(t.TempDir(), "dev.db"), database.MySQL: dsn} {
		db, err := database.Open(t.Context(), database.Options{Driver: driver, DSN: dsn})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		out[driver] = db
	}
	return out
}

// TestFilesMakeTheSchema is the drift test: all files, applied to an empty database, leave nothing to plan. With -name it writes
// what is left as the next file of each dialect instead.
func TestFilesMakeTheSchema(t *testing.T) {
	if *name != "" && !regexp.MustCompile(`^[a-z0-9_]+$`).MatchString(*name) {
		t.Fatalf("-name=%q is not snake case", *name)
	}
	for driver, db := range dialects(t) {
		file := plan(t, driver, db, migrations.Files)
		switch {
		case file == nil:
			t.Logf("%s: the files make the schema", driver)
		case *name == "":
			t.Errorf("%s: the schema needs a migration that no file has:\n%s", driver, file.Bytes())
		default:
			path := filepath.Join(root, driver, file.Name())
			if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			t.Logf("wrote %s", path)
		}
	}
}

// TestApplierMakesTheSchema is the same for a database that Migrate made, as a running server has it.
func TestApplierMakesTheSchema(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		dir := atlas.OpenMemDir(t.Name())
		defer dir.Close()
		err := db.Client.Schema.NamedDiff(t.Context(), "drift", schema.WithDir(dir), schema.WithMigrationMode(schema.ModeInspect),
			schema.WithFormatter(formatter{number: 1}), schema.WithDropColumn(true), schema.WithDropIndex(true))
		if err != nil {
			t.Fatal(err)
		}
		files, err := dir.Files()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			t.Errorf("a migrated %s database differs from the schema:\n%s", db.Driver, f.Bytes())
		}
	})
}

// plan replays the files of a dialect on db, which is empty, and returns the file that would lead on to the schema, nil if
// they are there already.
func plan(t *testing.T, driver string, db *database.DB, files fs.FS) atlas.File {
	t.Helper()
	dir := atlas.OpenMemDir(t.Name() + driver)
	defer dir.Close()
	paths, err := fs.Glob(files, driver+"/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	for _, p := range paths {
		text, err := fs.ReadFile(files, p)
		if err != nil {
			t.Fatal(err)
		}
		if err := dir.WriteFile(filepath.Base(p), text); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := dir.Checksum()
	if err != nil {
		t.Fatal(err)
	}
	if err := atlas.WriteSumFile(dir, sum); err != nil {
		t.Fatal(err)
	}
	err = db.Client.Schema.NamedDiff(t.Context(), *name, schema.WithDir(dir), schema.WithMigrationMode(schema.ModeReplay),
		schema.WithFormatter(formatter{number: len(paths) + 1}), schema.WithDropColumn(true), schema.WithDropIndex(true))
	if err != nil {
		t.Fatalf("%s: %v", driver, err)
	}
	all, err := dir.Files()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == len(paths) {
		return nil
	}
	return all[len(all)-1]
}

// formatter names files NNNN_name.sql and writes one statement a line.
type formatter struct{ number int }

// Format implements atlas.Formatter.
func (f formatter) Format(p *atlas.Plan) ([]atlas.File, error) {
	var b bytes.Buffer
	for _, c := range p.Changes {
		if c.Comment != "" {
			fmt.Fprintf(&b, "-- %s\n", c.Comment)
		}
		fmt.Fprintf(&b, "%s;\n", c.Cmd)
	}
	return []atlas.File{atlas.NewLocalFile(fmt.Sprintf("%04d_%s.sql", f.number, p.Name), b.Bytes())}, nil
}
