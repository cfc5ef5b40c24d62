package database_test

import (
	"path/filepath"
	"slices"
	"testing"

	"eruptcloud/app/database"
)

// TestAdoptOnSQLite: the rules do not depend on the kind of database.
func TestAdoptOnSQLite(t *testing.T) {
	db, err := database.Open(t.Context(), database.Options{Driver: database.SQLite, DSN: filepath.Join(t.TempDir(), "t.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const users = "CREATE TABLE e_upms_user (id integer PRIMARY KEY, account text, name text, password text, is_md5 bit, status bit, is_admin bit, create_time datetime, update_time datetime)"
	for _, s := range []string{users, "INSERT INTO e_upms_user (id, account, status) VALUES (7, 'lin', 1)"} {
		if _, err := db.SQL.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := database.Planned(t.Context(), db, true)
	if err != nil || !slices.Equal(plan.Untouched, []string{"e_upms_user"}) || len(plan.Statements) == 0 {
		t.Fatalf("Planned = %+v, %v", plan, err)
	}
	if _, err := database.Adopt(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if !db.Shape.Lacks("e_upms_user", "salt") || db.Shape.Lacks("e_upms_user", "name") || len(db.Shape.Absent) != 0 {
		t.Errorf("Shape = %+v", db.Shape)
	}
	row, err := db.Client.User.Query().WithRoles().Only(t.Context())
	if err != nil || row.Account != "lin" || !bool(row.Status) {
		t.Errorf("the user that was there = %+v, %v", row, err)
	}
	var sql string
	if err := db.SQL.QueryRow("SELECT sql FROM sqlite_master WHERE name = 'e_upms_user'").Scan(&sql); err != nil || sql != users {
		t.Errorf("the table is now %s, %v", sql, err)
	}
	var indexes int
	if err := db.SQL.QueryRow("SELECT COUNT(*) FROM sqlite_master WHERE type = 'index' AND tbl_name = 'e_upms_user'").Scan(&indexes); err != nil || indexes != 0 {
		t.Errorf("%d indexes were made on it, %v", indexes, err)
	}
	if _, kept, err := database.Leave(t.Context(), db); err != nil || len(kept) > 0 {
		t.Fatalf("Leave kept %v, %v", kept, err)
	}
	var tables int
	if err := db.SQL.QueryRow("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").Scan(&tables); err != nil || tables != 1 {
		t.Errorf("%d tables are left, %v; want the one that was there", tables, err)
	}
}

func TestZoneNamed(t *testing.T) {
	tests := map[string]struct {
		name   string
		offset int
		want   string
	}{
		"UTC":                            {"UTC", 0, "UTC"},
		"a zone by its name":             {"Asia/Shanghai", 8 * 3600, "Asia/Shanghai"},
		"an offset":                      {"-03:30", -(3*3600 + 1800), "-03:30"},
		"a name that stands for several": {"CST", 8 * 3600, "+08:00"},
		"a zone that has another offset": {"Asia/Shanghai", 3600, "+01:00"},
		"no name":                        {"", 2 * 3600, "+02:00"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := database.ZoneNamed(tt.name, tt.offset); got.String() != tt.want {
				t.Errorf("zoneNamed(%q, %d) = %s, want %s", tt.name, tt.offset, got, tt.want)
			}
		})
	}
}
