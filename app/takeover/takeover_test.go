package takeover_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"eruptcloud/app/takeover"
	"eruptcloud/app/testbed"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of testdata, with what differs in every run left out.
func golden(t *testing.T, name, got string) {
	t.Helper()
	for pattern, with := range map[string]string{
		`127\.0\.0\.1:\d+\)/ec_\d+`: "127.0.0.1:3306)/erupt", `redis://127\.0\.0\.1:\d+/\d+`: "redis://127.0.0.1:6379/0",
		`Database: [^,]+,`: "Database: VERSION,", `Redis: [0-9.]+,`: "Redis: VERSION,",
	} {
		got = regexp.MustCompile(pattern).ReplaceAllString(got, with)
	}
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the report differs from %s (go test -update writes it):\n%s", file, got)
	}
}

// loadRedis fills a Redis with what a real server left in it.
func loadRedis(t *testing.T, file string) string {
	t.Helper()
	url := testbed.Redis(t)
	client := dial(t, url)
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var dump struct {
		Keys []struct {
			Key    string
			Type   string
			Left   int64           `json:"pttl_ms"`
			Value  json.RawMessage `json:"value"`
			Binary string          `json:"value_base64"`
		} `json:"keys"`
		Node struct {
			Key    string
			Binary string `json:"value_base64"`
		} `json:"node_entry"`
	}
	if err := json.Unmarshal(raw, &dump); err != nil {
		t.Fatal(err)
	}
	set := func(key string, value any, left time.Duration) {
		if err := client.Set(t.Context(), key, value, left).Err(); err != nil {
			t.Fatal(err)
		}
	}
	binary := func(text string) []byte {
		value, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	if dump.Node.Key != "" {
		set(dump.Node.Key, binary(dump.Node.Binary), 597*time.Second)
	}
	for _, k := range dump.Keys {
		left := time.Duration(k.Left) * time.Millisecond
		var text string
		var fields map[string]string
		switch {
		case k.Binary != "":
			set(k.Key, binary(k.Binary), left)
		case json.Unmarshal(k.Value, &text) == nil:
			set(k.Key, text, left)
		case json.Unmarshal(k.Value, &fields) == nil:
			client.HSet(t.Context(), k.Key, fields)
			client.PExpire(t.Context(), k.Key, left)
		default:
			t.Fatalf("%s cannot be read", k.Key)
		}
	}
	return url
}

func dial(t *testing.T, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// reader is a user who may do nothing but read.
func reader(t *testing.T, dsn string) string {
	t.Helper()
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	user := "r" + c.DBName
	for _, s := range []string{
		fmt.Sprintf("CREATE OR REPLACE USER '%s'@'127.0.0.1' IDENTIFIED BY 'of-the-reader'", user),
		fmt.Sprintf("GRANT SELECT ON `%s`.* TO '%s'@'127.0.0.1'", c.DBName, user),
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	c.User, c.Passwd = user, "of-the-reader"
	return c.FormatDSN()
}

func read(t *testing.T, o takeover.Options) *takeover.Report {
	t.Helper()
	r, err := takeover.Read(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func text(t *testing.T, r *takeover.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.Text(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The reports on databases of three generations, read by a user who may only read, with what real servers left in Redis.
func TestReports(t *testing.T) {
	for version, dump := range map[string]string{"1.12": "redis-1.12.json", "2.0": "redis-2.0.json", "2.3": "redis-2.0.json"} {
		t.Run(version, func(t *testing.T) {
			dsn := testbed.EruptDatabase(t, version)
			before := checksum(t, dsn)
			url := loadRedis(t, dump)
			r := read(t, takeover.Options{DSN: reader(t, dsn), RedisURL: url})
			out := text(t, r)
			golden(t, "report-"+version+".txt", regexp.MustCompile(`rec_\d+:`).ReplaceAllString(out, "reader:"))
			if after := checksum(t, dsn); after != before {
				t.Errorf("the database was\n%s\nand is\n%s", before, after)
			}
			asJSON, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{
				"of-the-reader", "7H2KQ9ZX4M1CVB0P", "0PQW8E3RT6YU1IOA", "plain-pass-1", "610d44f73b7709169e8e06ca4ac5af8e", "RAY5QRRPV94GOGJQ",
				"UOZZVLUDSBAHUAEMV", "JBSWY3DPEHPK3PXP", "19C7ji0kZzYYPFb9", "of-corp",
			} {
				if strings.Contains(out, secret) || bytes.Contains(asJSON, []byte(secret)) {
					t.Errorf("the report shows %q", secret)
				}
			}
		})
	}
}

// checksum tells of every table what is in it.
func checksum(t *testing.T, dsn string) string {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tables := column(t, db, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1")
	var out strings.Builder
	for _, table := range tables {
		var name, sum sql.NullString
		if err := db.QueryRow("CHECKSUM TABLE `"+table+"`").Scan(&name, &sum); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, table, sum.String)
	}
	return out.String()
}

func column(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func exec(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// What would not work is refused with the reason, each for itself.
func TestRefused(t *testing.T) {
	tests := map[string]struct {
		statement string
		want      string // of the finding
		level     takeover.Level
	}{
		"a circle of menus": {"UPDATE e_upms_menu SET parent_menu_id = 201 WHERE id = 201", "below themselves", takeover.Refused},
		"names that differ in case": {"ALTER TABLE e_cloud_node MODIFY node_name varchar(255) COLLATE utf8mb4_bin; INSERT INTO e_cloud_node (node_name, status, access_token) VALUES ('SHOP', b'1', 'ABCDEFGH12345678')",
			"differ in case alone", takeover.Refused},
		"a node name for no path": {"INSERT INTO e_cloud_node (node_name, status) VALUES ('a/b', b'1')", "no page of the node", takeover.Refused},
		"a node without token":    {"UPDATE e_cloud_node SET access_token = '' WHERE node_name = 'shop'", "no access token", takeover.Care},
		"a short token":           {"UPDATE e_cloud_node SET access_token = 'abc' WHERE node_name = 'shop'", "less than 8", takeover.Care},
		"one token for two":       {"UPDATE e_cloud_node SET access_token = 'ABCDEFGH12345678'", "same access token", takeover.Care},
		"config that is no JSON":  {"UPDATE e_cloud_node SET config = 'a: 1' WHERE node_name = 'shop'", "configuration is no JSON", takeover.Care},
		"a page of the server":    {"INSERT INTO e_upms_menu (code, name, type, value, status) VALUES ('zz', 'Invoices', 'table', 'Invoice', 1)", "only a Java application can serve", takeover.Care},
		"an unknown type":         {"INSERT INTO e_upms_menu (code, name, type, value, status) VALUES ('zz', 'Chart', 'bi', 'x', 1)", "greyed out", takeover.Care},
		"a page without a node":   {"INSERT INTO e_upms_menu (code, name, type, value, status) VALUES ('zz', 'Gone', 'table', 'gone.Page', 1)", "no record", takeover.Care},
		"no administrator":        {"UPDATE e_upms_user SET is_admin = b'0'", "no administrator", takeover.Care},
		"no users":                {"DROP TABLE e_upms_user_role; ALTER TABLE e_open_api DROP FOREIGN KEY FKq22btcw7mfptn0sgvpjtp3tjh; DROP TABLE IF EXISTS e_upms_user_org_head; DROP TABLE IF EXISTS e_upms_user_org_division; DROP TABLE e_upms_user", "e_upms_user is missing", takeover.Refused},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dsn := testbed.EruptDatabase(t, "2.0")
			exec(t, dsn, strings.Split(tt.statement, "; ")...)
			r := read(t, takeover.Options{DSN: dsn})
			i := slices.IndexFunc(r.Findings, func(f takeover.Finding) bool { return strings.Contains(f.Text, tt.want) })
			if i < 0 || r.Findings[i].Level != tt.level || r.CanBeTakenOver == (tt.level == takeover.Refused) {
				t.Errorf("can be taken over: %t, findings %+v; want %q as %s", r.CanBeTakenOver, r.Findings, tt.want, tt.level)
			}
		})
	}
}

// A database that this program made or adopted is known as such.
func TestOwnDatabases(t *testing.T) {
	dsn := testbed.EruptDatabase(t, "2.0")
	testbed.Adopt(t, dsn)
	if out := text(t, read(t, takeover.Options{DSN: dsn})); !strings.Contains(out, "adopted already") || !strings.Contains(out, "can be taken over") {
		t.Errorf("of an adopted database it says\n%s", out)
	}
	empty := testbed.MariaDB(t)
	if r := read(t, takeover.Options{DSN: empty}); r.CanBeTakenOver {
		t.Errorf("an empty database can be taken over: %+v", r.Findings)
	}
}

// What nodes and people wrote reaches the terminal as text: no control characters, nothing of a megabyte.
func TestHostileContent(t *testing.T) {
	dsn := testbed.EruptDatabase(t, "1.12")
	evil := `<script>alert(1)</script>\x1b[31m` + "\x1b]0;title\x07\u202e\r\nfake line"
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("UPDATE e_cloud_node SET name = ? WHERE node_name = 'shop'", evil); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO e_upms_user (account, name, status) VALUES (?, ?, b'1')", evil, evil); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO e_cloud_node (node_name, name, status, access_token) VALUES (?, ?, b'1', 'x')", evil, evil); err != nil {
		t.Fatal(err)
	}
	url := testbed.Redis(t)
	client := dial(t, url)
	huge, _ := json.Marshal(map[string]any{"version": strings.Repeat("9", 1<<20) + evil, "locations": []string{strings.Repeat("h", 1<<20), evil}, "nodeName": evil})
	client.Set(t.Context(), "erupt-cloud:node:shop", huge, time.Minute)
	client.Set(t.Context(), "erupt-cloud:node:"+evil+strings.Repeat("n", 1<<20), huge, time.Minute)
	client.Set(t.Context(), "erupt-cloud:node:bill", "\xac\xed\x00\x05"+strings.Repeat("s", 1<<20), time.Minute)
	client.HSet(t.Context(), "erupt-cloud:node:hash", "a", "b")
	r := read(t, takeover.Options{DSN: dsn, RedisURL: url, URL: "http://" + "\x1b[2J" + "host"})
	out := text(t, r)
	for _, bad := range []string{"\x1b", "\x07", "\u202e", "\r", "\nfake line"} {
		if strings.Contains(out, bad) {
			t.Errorf("the text holds %q", bad)
		}
	}
	if len(out) > 20_000 {
		t.Errorf("the text has %d bytes", len(out))
	}
	if !strings.Contains(out, `\u{1b}`) {
		t.Error("nothing of it is shown at all")
	}
}

// design 18.24: erupt's own settings are read here, and make a configuration that this program accepts.
func TestSettings(t *testing.T) {
	r, err := takeover.Read(context.Background(), takeover.Options{
		DSN: testbed.EruptDatabase(t, "2.0"), RedisURL: testbed.Redis(t), URL: "http://fleet.example:9200/fleet",
		Applications: []string{"testdata/application.yml", "testdata/shop.properties"},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := text(t, r)
	golden(t, "report-settings.txt", out)
	for _, secret := range []string{"of-the-database", "of-redis", "of-the-node", "of-the-address"} {
		if strings.Contains(out, secret) {
			t.Errorf("the report shows %q", secret)
		}
	}
	checkConfig(t, r.Config)
}
