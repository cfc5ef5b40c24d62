package database_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"eruptcloud/app/database"
	"eruptcloud/app/fault"
	"eruptcloud/app/testbed"
	"eruptcloud/ent/node"
)

func TestSQLiteDSN(t *testing.T) {
	const (
		busy  = "_pragma=busy_timeout(5000)"
		tuned = "&_pragma=synchronous(NORMAL)&_pragma=cache_size(-1024)&_pragma=journal_size_limit(8388608)"
		fixed = "&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_txlock=immediate&_time_format=sqlite&_timezone=UTC"
	)
	tests := map[string]struct{ path, want string }{
		"a path":                      {"data/control.db", "file:data/control.db?" + busy + tuned + fixed},
		"a path that a URI would cut": {"a?b#c%20.db", "file:a%3fb%23c%2520.db?" + busy + tuned + fixed},
		"a URI":                       {"file:/x?vfs=memdb", "file:/x?" + busy + tuned + fixed + "&vfs=memdb"},
		"a URI that would undo ours":  {"file:x?_txlock=deferred&_fk=0&_pragma=foreign_keys(0)&_pragma=busy_timeout(50)", "file:x?_pragma=busy_timeout(50)" + tuned + fixed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := database.SQLiteDSN(tt.path); got != tt.want {
				t.Errorf("DSN of %q =\n%q, want\n%q", tt.path, got, tt.want)
			}
		})
	}
}

func TestMySQLDSN(t *testing.T) {
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	dsn, err := database.MySQLDSN(database.Options{DSN: "u:p@tcp(h)/d?charset=latin1&parseTime=false&clientFoundRows=false&multiStatements=true&loc=Local", Zone: zone})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"u:p@tcp(h:3306)/d?", "charset=utf8mb4", "parseTime=true", "clientFoundRows=true", "loc=Asia%2FShanghai",
		"timeout=5s", "readTimeout=30s", "writeTimeout=30s", "innodb_lock_wait_timeout=5", "STRICT_TRANS_TABLES"} {
		if !strings.Contains(dsn, want) {
			t.Errorf("DSN %q lacks %q", dsn, want)
		}
	}
	if strings.Contains(dsn, "latin1") || strings.Contains(dsn, "multiStatements") {
		t.Errorf("DSN %q keeps what we must override", dsn)
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := map[string]struct {
		o    database.Options
		want string
	}{
		"an unknown driver":     {database.Options{Driver: "oracle"}, `"oracle" is neither`},
		"no path":               {database.Options{Driver: database.SQLite}, "must be the path"},
		"memory":                {database.Options{Driver: database.SQLite, DSN: ":memory:"}, "must be the path"},
		"a DSN without a slash": {database.Options{Driver: database.MySQL, DSN: "u:hunter2@tcp(h)"}, "database dsn: invalid DSN"},
		"no database":           {database.Options{Driver: database.MySQL, DSN: "u:hunter2@tcp(h)/"}, "names no database"},
		"nobody there":          {database.Options{Driver: database.MySQL, DSN: "u:hunter2@tcp(127.0.0.1:1)/d"}, "open mysql database"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			db, err := database.Open(t.Context(), tt.o)
			if err == nil {
				_ = db.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("Open = %q, want %q and no password", err, tt.want)
			}
		})
	}
}

func TestSQLiteFileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "control.db")
	db, err := database.Open(t.Context(), database.Options{Driver: database.SQLite, DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := database.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if err := db.Client.Node.Create().SetNodeName("n").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, path + "-wal": 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", filepath.Base(name), got, want)
		}
	}
}

func TestPing(t *testing.T) {
	server := testbed.MySQL(t)
	if err := server.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	db := testbed.SQLite(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("Ping of a closed database = %v, want unavailable", err)
	}
}

// TestTimesAreUTC holds S72: a time written in another zone is found by a range in UTC and comes back as UTC.
func TestTimesAreUTC(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		shanghai := time.FixedZone("UTC+8", 8*3600)
		at := time.Date(2026, 3, 1, 7, 30, 0, 123456000, shanghai) // 23:30 of the day before in UTC
		if err := db.Client.Node.Create().SetNodeName("n").SetCreateTime(at).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := db.Client.Node.Query().Where(node.CreateTimeLT(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))).Only(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !got.CreateTime.Equal(at) || got.CreateTime.Location() != time.UTC {
			t.Errorf("read %v, want %v in UTC", got.CreateTime, at.UTC())
		}
	})
}

// TestAnyUnicodeIsStored holds S97.
func TestAnyUnicodeIsStored(t *testing.T) {
	const text = "订单服务 𠮷野家 🚀 Bestellung-Ä e\u0301"
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		if err := db.Client.Node.Create().SetNodeName("n").SetName(text).SetConfig(text).SetRemark(strings.Repeat("注", 2000)).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := db.Client.Node.Query().OnlyX(t.Context())
		if got.Name != text || got.Config != text || got.Remark != strings.Repeat("注", 2000) {
			t.Errorf("read %q, %q, want %q", got.Name, got.Config, text)
		}
	})
}

// TestUnchangedRowsCount: without clientFoundRows an update to the same value would look like a missing row.
func TestUnchangedRowsCount(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		row := db.Client.Node.Create().SetNodeName("n").SetName("same").SaveX(t.Context())
		n, err := db.Client.Node.Update().Where(node.ID(row.ID)).SetName("same").SetUpdateTime(*row.UpdateTime).Save(t.Context())
		if err != nil || n != 1 {
			t.Errorf("an update that changes nothing = %d, %v; want 1", n, err)
		}
	})
}

// TestServersShortPatience holds S96: connections that the server dropped while idle are not handed to a request.
func TestServersShortPatience(t *testing.T) {
	dsn := testbed.MariaDB(t)
	db, err := database.Open(t.Context(), database.Options{Driver: database.MySQL, DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := database.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	// The server ends every connection that is now idle in the pool, as it does after a night.
	killer, err := database.Open(t.Context(), database.Options{Driver: database.MySQL, DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	defer killer.Close()
	var own int64
	conn, err := killer.SQL.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&own); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.QueryContext(t.Context(), "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> ?", own)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil || len(ids) == 0 {
		t.Fatalf("%d idle connections, %v; want some", len(ids), err)
	}
	for _, id := range ids {
		if _, err := conn.ExecContext(t.Context(), "KILL ?", id); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Client.Node.Create().SetNodeName("n").Exec(t.Context()); err != nil {
		t.Errorf("first write after the server dropped the connection: %v", err)
	}
	if n := db.Client.Node.Query().CountX(t.Context()); n != 1 {
		t.Errorf("%d rows, want the write to have happened once", n)
	}
}
