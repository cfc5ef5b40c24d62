package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"eruptcloud/app/database"
	"eruptcloud/app/testbed"
)

// snapshot is how tables are made and what is in them, by name.
func snapshot(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, table := range column(t, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()") {
		var name, create string
		if err := db.QueryRow("SHOW CREATE TABLE "+table).Scan(&name, &create); err != nil {
			t.Fatal(err)
		}
		rows := column(t, db, "SELECT JSON_ARRAYAGG(JSON_ARRAY("+strings.Join(column(t, db,
			"SELECT CONCAT('HEX(`', column_name, '`)') FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = '"+table+
				"' ORDER BY ordinal_position"), ", ")+")) FROM "+table)
		out[table] = create + "\n" + strings.Join(rows, "\n")
	}
	return out
}

func column(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var v sql.NullString
		if err := rows.Scan(&v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// changed names the tables of before that are not the same in after.
func changed(before, after map[string]string) (names []string) {
	for _, table := range slices.Sorted(maps.Keys(before)) {
		if after[table] != before[table] {
			names = append(names, table)
		}
	}
	return names
}

// opened opens a database of erupt's without adopting it.
func opened(t *testing.T, dsn string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), database.Options{Driver: database.MySQL, DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestAdoptAltersNothing: A24, erupt-wire 6: tables of an installation stay as they are, to the last constraint and row.
func TestAdoptAltersNothing(t *testing.T) {
	for _, version := range testbed.EruptVersions {
		t.Run(version, func(t *testing.T) {
			db := opened(t, testbed.EruptDatabase(t, version))
			before := snapshot(t, db.SQL)
			for what, err := range map[string]error{"Migrate": second(database.Migrate(t.Context(), db)), "CheckVersion": database.CheckVersion(t.Context(), db)} {
				if !errors.Is(err, database.ErrForeign) || !strings.Contains(err.Error(), "migrate --adopt") {
					t.Fatalf("%s = %v, want ErrForeign, which names the way", what, err)
				}
			}
			applied, err := database.Adopt(t.Context(), db)
			if err != nil || len(applied) == 0 {
				t.Fatalf("Adopt = %v, %v", applied, err)
			}
			if db.Shape.Generation != version || !db.Shape.Adopted {
				t.Errorf("Shape = %+v, want generation %s, adopted", db.Shape, version)
			}
			if applied, err := database.Adopt(t.Context(), db); err != nil || len(applied) != 0 {
				t.Errorf("a second Adopt = %v, %v; want nothing to do", applied, err)
			}
			if err := database.CheckVersion(t.Context(), opened(t, dsnOf(t, db))); err != nil {
				t.Errorf("CheckVersion of another process: %v", err)
			}
			after := snapshot(t, db.SQL)
			if names := changed(before, after); len(names) > 0 {
				t.Errorf("Adopt changed %v", names)
			}
			if len(after) <= len(before)+5 {
				t.Errorf("%d tables after, %d before: ours were not made", len(after), len(before))
			}
			dropped, kept, err := database.Leave(t.Context(), db)
			if err != nil || len(kept) > 0 {
				t.Fatalf("Leave = %v, %v, %v", dropped, kept, err)
			}
			left := snapshot(t, db.SQL)
			if names := changed(before, left); len(names) > 0 || len(left) != len(before) {
				t.Errorf("after Leave %v differ and %d tables are there, want %d", names, len(left), len(before))
			}
			if err := database.CheckVersion(t.Context(), opened(t, dsnOf(t, db))); !errors.Is(err, database.ErrForeign) {
				t.Errorf("CheckVersion after Leave = %v, want ErrForeign", err)
			}
		})
	}
}

// dsnOf returns a DSN of the same database.
func dsnOf(t *testing.T, db *database.DB) string {
	t.Helper()
	return database.DSNOf(db)
}

func TestShapeOfErupts(t *testing.T) {
	want := map[string]map[string]string{
		"1.12": {"e_upms_user": "avatar encrypt_type mfa_enabled mfa_recovery_codes mfa_secret salt", "e_upms_operate_log": "before_data"},
		"2.0":  {"e_upms_user": "mfa_enabled mfa_recovery_codes mfa_secret"},
		"2.3":  {},
	}
	for version, missing := range want {
		t.Run(version, func(t *testing.T) {
			db := opened(t, testbed.EruptDatabase(t, version))
			shape, err := database.Inspect(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for table, columns := range shape.Missing {
				got[table] = strings.Join(slices.Sorted(slices.Values(columns)), " ")
			}
			if !maps.Equal(got, missing) || len(shape.Absent) > 0 || shape.Generation != version {
				t.Errorf("Inspect = %+v, want missing %v", shape, missing)
			}
		})
	}
	shape, err := database.Inspect(t.Context(), testbed.SQLite(t))
	if err != nil || shape.Adopted || len(shape.Missing) > 0 {
		t.Errorf("Inspect of a database of ours = %+v, %v; want the zero Shape", shape, err)
	}
}

// TestAdoptMakesAbsentTables: an installation without the cloud server, dictionaries and open API.
func TestAdoptMakesAbsentTables(t *testing.T) {
	db := opened(t, testbed.EruptDatabase(t, "2.0"))
	for _, table := range []string{"e_cloud_node", "e_cloud_node_group", "e_dict_item", "e_dict", "e_open_api"} {
		if _, err := db.SQL.Exec("DROP TABLE " + table); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, db.SQL)
	if _, err := database.Adopt(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if len(db.Shape.Absent) > 0 || len(db.Shape.Missing) != 1 {
		t.Errorf("Shape after Adopt = %+v, want the absent tables made whole", db.Shape)
	}
	if err := db.Client.Dict.Create().SetCode("d").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	dropped, kept, err := database.Leave(t.Context(), db)
	if err != nil || !slices.Equal(kept, []string{"e_dict"}) || !slices.Contains(dropped, "e_cloud_node") {
		t.Fatalf("Leave = %v, %v, %v; want e_dict kept for its row", dropped, kept, err)
	}
	if names := changed(before, snapshot(t, db.SQL)); len(names) > 0 {
		t.Errorf("%v changed", names)
	}
}

func TestAdoptRefuses(t *testing.T) {
	tests := map[string]struct {
		prepare []string
		want    string
	}{
		"an empty database":                   {nil, "no tables of an erupt installation"},
		"a database of another program":       {[]string{"CREATE TABLE orders (id integer)"}, "no tables of an erupt installation"},
		"an installation without users":       {[]string{"CREATE TABLE e_cloud_node (id integer, node_name text, access_token text, status bit)"}, "no e_upms_user"},
		"an installation before 1.12":         {[]string{"CREATE TABLE e_upms_user (id integer, account text)"}, "no column password"},
		"tables of ours without their record": {[]string{"CREATE TABLE e_upms_user (id integer)", "CREATE TABLE e_cloud_node_hold (id integer)"}, "e_cloud_migration"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			db := opened(t, testbed.MariaDB(t))
			for _, s := range tt.prepare {
				if _, err := db.SQL.Exec(s); err != nil {
					t.Fatal(err)
				}
			}
			before := snapshot(t, db.SQL)
			if _, err := database.Planned(t.Context(), db, true); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Planned = %v, want an error with %q", err, tt.want)
			}
			if _, err := database.Adopt(t.Context(), db); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Adopt = %v, want an error with %q", err, tt.want)
			}
			if after := snapshot(t, db.SQL); !maps.Equal(before, after) {
				t.Errorf("a refused Adopt left %d tables, want %d", len(after), len(before))
			}
		})
	}
	t.Run("a database of ours", func(t *testing.T) {
		if _, err := database.Adopt(t.Context(), testbed.MySQL(t)); !errors.Is(err, database.ErrNotErupts) {
			t.Errorf("Adopt = %v, want ErrNotErupts", err)
		}
		if _, _, err := database.Leave(t.Context(), testbed.MySQL(t)); !errors.Is(err, database.ErrNotErupts) {
			t.Errorf("Leave = %v, want ErrNotErupts", err)
		}
	})
}

// TestLaterMigrationsSpareAdoptedTables: also those that another release brings.
func TestLaterMigrationsSpareAdoptedTables(t *testing.T) {
	db := opened(t, testbed.EruptDatabase(t, "1.12"))
	before := snapshot(t, db.SQL)
	files := fstest.MapFS{"mysql/0001_a.sql": {Data: []byte("CREATE TABLE `e_upms_user` (`id` bigint);\nCREATE TABLE `e_cloud_node_hold` (`id` bigint PRIMARY KEY);")}}
	if _, err := database.AdoptFrom(t.Context(), db, files); err != nil {
		t.Fatal(err)
	}
	files["mysql/0002_b.sql"] = &fstest.MapFile{Data: []byte("ALTER TABLE `e_upms_user` ADD COLUMN `salt` text;\nUPDATE `e_upms_user` SET `salt` = 'x';\n" +
		"CREATE UNIQUE INDEX `uk` ON `e_upms_user` (`account`);\nALTER TABLE `e_cloud_node_hold` ADD COLUMN `why` text;")}
	if applied, err := database.MigrateFrom(t.Context(), db, files); err != nil || len(applied) != 1 {
		t.Fatalf("MigrateFrom = %v, %v", applied, err)
	}
	if names := changed(before, snapshot(t, db.SQL)); len(names) > 0 {
		t.Errorf("a later migration changed %v", names)
	}
	if _, err := db.SQL.Exec("SELECT `why` FROM `e_cloud_node_hold`"); err != nil {
		t.Errorf("our own table was spared too: %v", err)
	}
	files["mysql/0003_c.sql"] = &fstest.MapFile{Data: []byte("CALL something();")}
	if _, err := database.MigrateFrom(t.Context(), db, files); err == nil || !strings.Contains(err.Error(), "unknown kind") {
		t.Errorf("a statement that cannot be judged: %v, want it refused", err)
	}
}

func TestStatementsOfAllMigrationsAreUnderstood(t *testing.T) {
	for _, driver := range []string{database.MySQL, database.SQLite} {
		for _, s := range database.Statements(t, driver) {
			if strings.HasPrefix(s, "PRAGMA") {
				continue
			}
			if _, err := database.Skips(s); err != nil {
				t.Errorf("%s: %v", driver, err)
			}
		}
	}
	for statement, table := range map[string]string{
		"CREATE TABLE `e_upms_user` (`id` int)": "e_upms_user", "ALTER TABLE E_UPMS_USER ADD x int": "e_upms_user", "DROP TABLE IF EXISTS `e_dict`": "e_dict",
		"CREATE UNIQUE INDEX `a` ON `e_dict` (`code`)": "e_dict", "CREATE TABLE `new_e_dict` (`id` int)": "e_dict", "INSERT INTO `new_e_dict` (`id`) SELECT 1": "e_dict",
		"update e_dict set id = 1": "e_dict", "DELETE FROM `e_dict`": "e_dict",
	} {
		if skip, err := database.Skips(statement, table); err != nil || !skip {
			t.Errorf("%s: skips = %v, %v; want it skipped", statement, skip, err)
		}
		if skip, err := database.Skips(statement); err != nil || skip {
			t.Errorf("%s on a table of ours: skips = %v, %v; want it run", statement, skip, err)
		}
	}
}

// TestAdoptingProcesses: two replicas that are told to adopt at once, as processes of their own.
func TestAdoptingProcesses(t *testing.T) {
	dsn := testbed.EruptDatabase(t, "1.12")
	var wg sync.WaitGroup
	var idle atomic.Int64
	for range 4 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "EC_TEST_MIGRATE="+database.MySQL+" "+dsn, "EC_TEST_ADOPT=1")
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
	if idle.Load() != 3 {
		t.Errorf("%d of 4 processes found nothing to do, want 3", idle.Load())
	}
}

// TestAdoptGoesOnAfterACrash at every statement: before the record of it, and behind it.
func TestAdoptGoesOnAfterACrash(t *testing.T) {
	db := opened(t, testbed.EruptDatabase(t, "1.12"))
	before := snapshot(t, db.SQL)
	if _, err := database.Adopt(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	whole := snapshot(t, db.SQL)
	for _, unrecorded := range []bool{false, true} {
		crash(t, db, unrecorded)
		if err := database.CheckVersion(t.Context(), db); !errors.Is(err, database.ErrPending) {
			t.Errorf("CheckVersion in the middle = %v, want ErrPending", err)
		}
		if _, err := database.Adopt(t.Context(), db); err != nil {
			t.Fatalf("Adopt after a crash, statement unrecorded %v: %v", unrecorded, err)
		}
		after := snapshot(t, db.SQL)
		delete(after, "e_cloud_migration")
		for table := range after {
			if after[table] != whole[table] {
				t.Errorf("statement unrecorded %v: %s is\n%s, want\n%s", unrecorded, table, after[table], whole[table])
			}
		}
	}
	if names := changed(before, snapshot(t, db.SQL)); len(names) > 0 {
		t.Errorf("%v changed", names)
	}
}

// crash leaves the database as a process does that died at the last statement that makes a table of ours.
func crash(t *testing.T, db *database.DB, unrecorded bool) {
	t.Helper()
	statements := []string{"UPDATE e_cloud_migration SET applied_at = NULL, statements = statements - 1 WHERE name = '0002_console_depth.sql'"}
	if !unrecorded {
		statements = append(statements, "DROP TABLE e_upms_role_extra")
	}
	for _, s := range statements {
		if _, err := db.SQL.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPlannedDoesNothing(t *testing.T) {
	db := opened(t, testbed.EruptDatabase(t, "2.0"))
	before := snapshot(t, db.SQL)
	plan, err := database.Planned(t.Context(), db, true)
	if err != nil {
		t.Fatal(err)
	}
	if after := snapshot(t, db.SQL); !maps.Equal(before, after) {
		t.Errorf("Planned changed %v", changed(before, after))
	}
	text := strings.Join(plan.Statements, "\n")
	if !strings.Contains(text, "`e_cloud_node_extra`") || strings.Contains(text, "TABLE `e_upms_user`") || !slices.Contains(plan.Untouched, "e_upms_user") {
		t.Errorf("Planned = %+v, want tables of ours only", plan)
	}
	if _, err := database.Adopt(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if plan, err = database.Planned(t.Context(), db, true); err != nil || len(plan.Statements) > 0 {
		t.Errorf("Planned afterwards = %v, %v; want nothing", plan.Statements, err)
	}
}

// adoptAsChild is what a process of TestAdoptingProcesses does.
func adoptAsChild(ctx context.Context, db *database.DB) error {
	applied, err := database.Adopt(ctx, db)
	fmt.Println("applied", len(applied))
	return err
}
