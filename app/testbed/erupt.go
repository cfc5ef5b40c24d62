package testbed

import (
	"database/sql"
	"embed"
	"strings"
	"testing"

	"eruptcloud/app/database"
)

//go:embed erupt/*.sql
var eruptFiles embed.FS

// eruptParts are the files that make the database of a version of erupt, in the order in which they are loaded.
var eruptParts = map[string][]string{
	"1.12": {"1.12-tables", "1.12-menus", "1.12-rows"},
	"2.0":  {"2.0-tables", "2.0-menus", "2.0-rows"},
	"2.3":  {"2.0-tables", "2.0-menus", "2.0-rows", "2.3-more"},
}

// EruptVersions are those that EruptDatabase knows.
var EruptVersions = []string{"1.12", "2.0", "2.3"}

// EruptDatabase returns the DSN of a fresh database in the shared mariadbd as an erupt server of that version and its admins
// leave it: its tables with their own constraints and collation, the menus of the first start, and rows of every kind, also
// with what old versions left null. Nothing of ours is in it.
//
// Nodes are shop (group retail, token 7H2KQ9ZX4M1CVB0P), bill (token 0PQW8E3RT6YU1IOA, status null) and old.name (disabled);
// the user lin holds the role sales, and with it the page shop.Customer with ADD and EDIT.
func EruptDatabase(t testing.TB, version string) string {
	t.Helper()
	parts := eruptParts[version]
	if parts == nil {
		t.Fatalf("no database of erupt %s is known", version)
	}
	dsn := MariaDB(t)
	db, err := sql.Open("mysql", dsn+"?multiStatements=true")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	script := strings.Builder{}
	script.WriteString("ALTER DATABASE CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci; SET foreign_key_checks = 0;\n")
	for _, name := range parts {
		text, err := eruptFiles.ReadFile("erupt/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		script.Write(text)
	}
	script.WriteString("SET foreign_key_checks = 1;")
	if _, err := db.Exec(script.String()); err != nil {
		t.Fatalf("load the database of erupt %s: %v", version, err)
	}
	return dsn
}

// Adopted returns such a database, opened and adopted.
func Adopted(t testing.TB, version string) *database.DB {
	t.Helper()
	return Adopt(t, EruptDatabase(t, version))
}

// Adopt opens a database of erupt's and adopts it.
func Adopt(t testing.TB, dsn string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), database.Options{Driver: database.MySQL, DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close database: %v", err)
		}
	})
	if _, err := database.Adopt(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}

// EruptUser is an account of EruptDatabase.
type EruptUser struct {
	Account, Password string
	// Opens says whether the password opens the account, as on erupt itself; Why says what it shows.
	Opens bool
	Why   string
}

// EruptUsers are the accounts of a version's database.
func EruptUsers(version string) []EruptUser {
	users := []EruptUser{
		{"erupt", "erupt", true, "the administrator, with erupt's default password, never changed"},
		{"lin", "lin-pass-1", true, "a user with roles, an org, a post and a home page"},
		{"plain", "plain-pass-1", true, "a plain password; is_admin is null"},
		{"nullflag", "null-pass-1", false, "a plain password whose is_md5 is null"},
		{"locked", "lock-pass-1", false, "status is false"},
		{"nullstatus", "stat-pass-1", false, "status is null"},
		{"expired", "past-pass-1", false, "expired on 2026-01-01"},
		{"fenced", "ring-pass-1", false, "only from 10.9.8.7 and 10.9.9.0"},
		{"uppermd5", "caps-pass-1", false, "an MD5 hash in upper case"},
		{"oldlin", "oldl-pass-1", true, "MD5; the display name of lin"},
	}
	if version == "1.12" {
		return append(users,
			EruptUser{"double", "twin-pass-1", false, "one of two rows with this account"},
			EruptUser{"double", "twin-pass-2", false, "the other row"},
		)
	}
	users = append(users,
		EruptUser{"sha", "sha-pass-1", true, "SHA512 with salt, the type in lower case"},
		EruptUser{"nosalt", "nosalt-pass-1", true, "SHA512 without salt"},
		EruptUser{"uppersha", "upper-pass-1", false, "a SHA512 hash in upper case"},
	)
	if version == "2.3" {
		users = append(users,
			EruptUser{"factor", "mfa-pass-1", false, "a second factor: secret JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP, recovery code k7x2m9q4ab"},
			EruptUser{"halfway", "half-pass-1", true, "mfa_enabled without a secret, which is no second factor yet"},
		)
	}
	return users
}
