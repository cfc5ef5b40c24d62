package testbed_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/redis/go-redis/v9"

	"eruptcloud/app/database"
	"eruptcloud/app/testbed"
)

func dial(t *testing.T, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestRedisDatabasesAreApart(t *testing.T) {
	a, b := dial(t, testbed.Redis(t)), dial(t, testbed.Redis(t))
	if err := a.Set(t.Context(), "k", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Exists(t.Context(), "k").Result(); err != nil || n != 0 {
		t.Errorf("the second database sees %d keys of the first, %v; want none", n, err)
	}
}

func TestRedisServerStopsAndStarts(t *testing.T) {
	server := testbed.RedisServer(t)
	c := dial(t, server.URL())
	if err := c.Set(t.Context(), "k", "1", 0).Err(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a killed server answers")
	}
	server.Start(t)
	if n, err := c.Exists(t.Context(), "k").Result(); err != nil || n != 0 {
		t.Errorf("after a restart %d keys, %v; want the same address and no data", n, err)
	}
	server.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Ping(ctx).Err(); err == nil {
		t.Error("a paused server answers")
	}
	server.Resume()
	server.Stop()
}

func TestEachDBIsMigratedAndEmpty(t *testing.T) {
	testbed.EachDB(t, func(t *testing.T, db *database.DB) {
		if err := database.CheckVersion(t.Context(), db); err != nil {
			t.Error(err)
		}
		if n, err := db.Client.Node.Query().Count(t.Context()); err != nil || n != 0 {
			t.Errorf("%d nodes, %v; want none", n, err)
		}
	})
}

func TestBrowsersShareNoCookies(t *testing.T) {
	node := testbed.NewFakeNode(t, "pages")
	node.Handle("/page", func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("seen")
		http.SetCookie(w, &http.Cookie{Name: "seen", Value: "yes"})
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<title>cookie: %t</title>", err == nil && c.Value == "yes")
	})
	for i := range 2 {
		tab := testbed.Browser(t)
		for _, want := range []string{"cookie: false", "cookie: true"} {
			if err := chromedp.Do(tab, chromedp.Navigate(node.URL()+"/page")); err != nil {
				t.Fatal(err)
			}
			if title, err := chromedp.Run(tab, chromedp.Title()); err != nil || title != want {
				t.Errorf("browser %d: title %q, %v; want %q", i, title, err, want)
			}
		}
	}
}

func TestFakeNodeBehaves(t *testing.T) {
	node := testbed.NewFakeNode(t, "orders")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 200 * time.Millisecond}
	get := func() string {
		res, err := client.Get(node.URL() + "/node-health?a=1")
		if err != nil {
			switch {
			case errors.Is(err, syscall.ECONNREFUSED):
				return "refused"
			case os.IsTimeout(err):
				return "timeout"
			}
			return err.Error()
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return "cut"
		}
		return fmt.Sprintf("%d %s", res.StatusCode, bytes.TrimSpace(body))
	}
	for _, tt := range []struct {
		behaviour testbed.Behaviour
		want      string
	}{
		{testbed.Answers, "200 orders"}, {testbed.Lies, "200 not-orders"}, {testbed.Cuts, "cut"}, {testbed.Hangs, "timeout"},
		{testbed.Refuses, "refused"}, {testbed.Fails, "500 fake node fails"}, {testbed.Answers, "200 orders"},
	} {
		node.Behave(tt.behaviour)
		if got := get(); got != tt.want {
			t.Errorf("behaviour %d: %q, want %q", tt.behaviour, got, tt.want)
		}
	}
	if seen := node.Requests("/node-health"); len(seen) != 6 || seen[0].Query != "a=1" || node.Count("/node") != 6 {
		t.Errorf("remembered %d requests, want all 6 that reached it", len(seen))
	}
}

// verdict is a testing.TB that remembers how a helper ended the test.
type verdict struct {
	testing.TB
	how string
}

func (*verdict) Helper()                 {}
func (v *verdict) Fatalf(string, ...any) { v.how = "failed"; panic(v) }
func (v *verdict) Skipf(string, ...any)  { v.how = "skipped"; panic(v) }

func TestRequire(t *testing.T) {
	for env, want := range map[string]string{"1": "failed", "": "skipped", "0": "skipped"} {
		t.Setenv("EC_TEST_REQUIRE", env)
		v := &verdict{}
		func() {
			defer func() { _ = recover() }()
			testbed.Require(v, "no-such-program")
		}()
		if v.how != want {
			t.Errorf("with EC_TEST_REQUIRE=%q a missing program %s the test, want %s", env, v.how, want)
		}
	}
	t.Setenv("PATH", "/nowhere")
	t.Setenv("EC_TEST_REQUIRE", "")
	if p := testbed.Require(t, "mariadbd"); p != "/usr/sbin/mariadbd" && p != "/usr/local/sbin/mariadbd" && p != "/usr/libexec/mariadbd" {
		t.Errorf("mariadbd is %q, want it found off the search path", p)
	}
}

// TestMain also plays the child of the two tests below: it starts servers, says where, and dies of a panic.
func TestMain(m *testing.M) {
	if os.Getenv("EC_TESTBED_CHILD") == "" {
		os.Exit(m.Run())
	}
	t := &child{}
	fmt.Println("REDIS", testbed.Redis(t))
	fmt.Println("MARIA", testbed.MariaDB(t))
	var pid int
	db, err := sql.Open("mysql", testbed.MariaDB(t))
	if err == nil {
		err = db.QueryRow("SELECT 1").Scan(&pid)
	}
	fmt.Println("ANSWER", pid, err)
	dirs, _ := filepath.Glob("/dev/shm/ec-*")
	more, _ := filepath.Glob("/tmp/ec-*")
	for _, d := range append(dirs, more...) {
		if _, err := os.ReadDir(d); err == nil {
			if log, err := os.Stat(filepath.Join(d, "log")); err == nil && log.Sys().(*syscall.Stat_t).Uid == uint32(os.Geteuid()) {
				fmt.Println("DIR", d)
			}
		}
	}
	panic("a test panics")
}

// child is a testing.TB for a process that is not a test.
type child struct{ testing.TB }

func (*child) Helper()                   {}
func (*child) Cleanup(func())            {}
func (*child) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (*child) Skipf(f string, a ...any)  { panic(fmt.Sprintf(f, a...)) }
func (*child) Context() context.Context  { return context.Background() }

// runChild runs this binary as a child and returns what it said.
func runChild(t *testing.T, program string, attr *syscall.SysProcAttr) map[string][]string {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = []string{"EC_TESTBED_CHILD=1", "PATH=" + os.Getenv("PATH")}
	cmd.Dir = "/"
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("a test panics")) || !bytes.Contains(out, []byte("ANSWER 1 <nil>")) {
		t.Fatalf("child: %v\n%s", err, out)
	}
	said := map[string][]string{}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), " "); ok {
			said[k] = append(said[k], v)
		}
	}
	return said
}

// eventually polls for up to ten seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("still not after 10 s: %s", what)
			return
		}
	}
}

func TestNothingOutlivesAPanic(t *testing.T) {
	testbed.Require(t, "redis-server")
	testbed.Require(t, "mariadbd")
	said := runChild(t, os.Args[0], nil)
	redisURL, err := redis.ParseURL(said["REDIS"][0])
	if err != nil {
		t.Fatal(err)
	}
	_, dsn, _ := strings.Cut(said["MARIA"][0], "@tcp(")
	maria, _, _ := strings.Cut(dsn, ")")
	for _, addr := range []string{redisURL.Addr, maria} {
		eventually(t, addr+" is closed", func() bool {
			c, err := net.DialTimeout("tcp", addr, time.Second)
			if err == nil {
				_ = c.Close()
			}
			return err != nil
		})
	}
}

func TestOrdinaryUser(t *testing.T) {
	testbed.Require(t, "redis-server")
	testbed.Require(t, "mariadbd")
	if os.Geteuid() != 0 {
		return // all the other tests show it already
	}
	dir, err := os.MkdirTemp("/tmp", "ecu-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "test")
	if out, err := exec.Command("cp", os.Args[0], program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, p := range []string{dir, program} {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const nobody = 65534
	said := runChild(t, program, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}})
	if len(said["DIR"]) == 0 {
		t.Error("the child named no directories")
	}
	for _, d := range said["DIR"] {
		eventually(t, d+" is removed", func() bool {
			_, err := os.Stat(d)
			return errors.Is(err, os.ErrNotExist)
		})
	}
}
