package testbed

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver "mysql"
)

// mariaServer is the mariadbd of this test binary.
type mariaServer struct {
	user, password string
	port           int
}

var sharedMaria struct {
	sync.Mutex
	server *mariaServer
	failed error // a server that did not come up once is not tried for every test
}

var mariaCalls atomic.Int64

// MariaDB returns the DSN of a fresh, empty database in a mariadbd that the tests of this binary share.
func MariaDB(t testing.TB) string {
	t.Helper()
	daemon, installer := Require(t, "mariadbd"), Require(t, "mariadb-install-db")
	server, err := mariaDB(daemon, installer)
	if err != nil {
		t.Fatalf("mariadbd: %v", err)
	}
	name := fmt.Sprintf("ec_%d", mariaCalls.Add(1))
	if err := server.exec("CREATE DATABASE " + name); err != nil {
		t.Fatalf("create database: %v", err)
	}
	t.Cleanup(func() {
		if err := server.exec("DROP DATABASE " + name); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	return server.dsn(name)
}

func (s *mariaServer) dsn(name string) string {
	return fmt.Sprintf("%s:%s@tcp(127.0.0.1:%d)/%s", s.user, s.password, s.port, name)
}

func mariaDB(daemon, installer string) (*mariaServer, error) {
	sharedMaria.Lock()
	defer sharedMaria.Unlock()
	if sharedMaria.server == nil && sharedMaria.failed == nil {
		sharedMaria.server, sharedMaria.failed = startMariaDB(daemon, installer)
	}
	return sharedMaria.server, sharedMaria.failed
}

func startMariaDB(daemon, installer string) (*mariaServer, error) {
	dir, err := shortDir()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "d")
	if err := prepareData(daemon, installer, dir, data); err != nil {
		return nil, err
	}
	// The password is of this run, so that nobody else's server on the same port can pass for ours.
	s := &mariaServer{user: "ec", password: rand.Text()}
	grants := filepath.Join(dir, "init.sql")
	if err := os.WriteFile(grants, fmt.Appendf(nil, "CREATE OR REPLACE USER 'ec'@'127.0.0.1' IDENTIFIED BY '%s';\n"+
		"GRANT ALL ON *.* TO 'ec'@'127.0.0.1' WITH GRANT OPTION;\n", s.password), 0o600); err != nil {
		return nil, err
	}
	var failed error
	for range attempts {
		if failed = s.run(daemon, dir, data, grants); failed == nil {
			return s, nil
		}
	}
	return nil, failed
}

func (s *mariaServer) run(daemon, dir, data, grants string) (err error) {
	if s.port, err = freePort(); err != nil {
		return err
	}
	args := []string{"--no-defaults", "--datadir=" + data, "--socket=" + filepath.Join(dir, "s"), "--pid-file=" + filepath.Join(dir, "p"),
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(s.port), "--init-file=" + grants, "--tmpdir=" + dir,
		"--character-set-server=utf8mb4", "--collation-server=utf8mb4_unicode_ci",
		"--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M", "--skip-log-bin", "--skip-name-resolve",
		// Nothing here needs to survive a crash of the machine.
		"--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite", "--max-connections=500"}
	p, err := start(exec.Command(daemon, append(args, asRoot()...)...), filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	return p.await(func() error { return s.exec("DO 0") })
}

// exec runs one statement on a connection of its own: a pool that stayed open would look like a leak of the tests.
func (s *mariaServer) exec(statement string) (err error) {
	db, err := sql.Open("mysql", s.dsn("")+"?timeout=2s")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.Exec(statement)
	return err
}

// asRoot adds what MariaDB's programs ask of root; as an ordinary user they run as they are.
func asRoot() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

// prepareData fills data with the system tables. Making them takes two seconds, so a copy is kept in the user's cache.
func prepareData(daemon, installer, dir, data string) error {
	template := templateDir(daemon)
	if template != "" && copyTree(template, data) == nil {
		return nil
	}
	if err := os.RemoveAll(data); err != nil {
		return err
	}
	args := append([]string{"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal", "--skip-test-db",
		"--innodb-log-file-size=16M"}, asRoot()...)
	if out, err := exec.Command(installer, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(installer), err, tail(out))
	}
	if template != "" {
		keepTemplate(data, template)
	}
	return nil
}

// templateDir is where the copy for this very mariadbd is kept, empty if there is no place.
func templateDir(daemon string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	info, err := os.Stat(daemon)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "1 %s %d %d", daemon, info.Size(), info.ModTime().UnixNano()))
	return filepath.Join(cache, "eruptcloud-testbed", "mariadb-"+hex.EncodeToString(sum[:8]))
}

// keepTemplate copies data into the cache. A rename makes it appear whole or not at all; losing a race, or not having a
// cache, costs only time.
func keepTemplate(data, template string) {
	if err := os.MkdirAll(filepath.Dir(template), 0o700); err != nil {
		return
	}
	half, err := os.MkdirTemp(filepath.Dir(template), "half-")
	if err != nil {
		return
	}
	defer os.RemoveAll(half)
	if copyTree(data, filepath.Join(half, "d")) == nil {
		_ = os.Rename(filepath.Join(half, "d"), template)
	}
}

func copyTree(from, to string) error {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return exec.CommandContext(ctx, "cp", "-R", "--sparse=always", from, to).Run()
}
