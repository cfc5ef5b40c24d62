package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// command runs the binary to its end and returns what it printed and its exit code.
func command(t testing.TB, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Dir = t.TempDir()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // the code says how it ended
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestExitCodes(t *testing.T) { // F3
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	notOurs := filepath.Join(t.TempDir(), "control.db")
	if err := os.WriteFile(notOurs, []byte("this is no database, and long enough to be read as a header of one"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	tests := map[string]struct {
		env  []string
		args []string
		code int
		want string
	}{
		"help":               {nil, []string{"--help"}, 0, ""},
		"version":            {nil, []string{"version"}, 0, ""},
		"valid config":       {nil, []string{"config", "check"}, 0, ""},
		"unknown command":    {nil, []string{"sevre"}, 2, "serve"},
		"unknown flag":       {nil, []string{"serve", "--port", "1"}, 2, "--port"},
		"stray argument":     {nil, []string{"serve", "now"}, 2, "now"},
		"unknown setting":    {[]string{"EC_SERVER_LISTN=:1"}, []string{"serve"}, 2, "EC_SERVER_LISTEN"},
		"unknown --set":      {nil, []string{"config", "check", "--set", "server.listn=:1"}, 2, "server.listen"},
		"--set without ":     {nil, []string{"config", "check", "--set", "server.listen"}, 2, "KEY=VALUE"},
		"database not ours":  {nil, []string{"serve", "--data", filepath.Dir(notOurs), "--listen", "127.0.0.1:0"}, 3, "database"},
		"address taken":      {nil, []string{"serve", "--data", data, "--listen", taken.Addr().String()}, 4, "in use"},
		"password too short": {[]string{"EC_ADMIN_PASSWORD=short"}, []string{"serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0"}, 2, "EC_ADMIN_PASSWORD"},
		"bad node name":      {nil, []string{"node", "create", "a b", "--data", t.TempDir()}, 5, "name"},
		"unknown node group": {nil, []string{"node", "create", "a", "--group", "nope", "--data", t.TempDir()}, 5, "nope"},
		"bad output":         {nil, []string{"node", "create", "a", "-o", "yaml", "--data", t.TempDir()}, 2, "json"},
		"server not running": {nil, []string{"health", "--url", "http://127.0.0.1:1"}, 1, "refused"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := command(t, append(tt.env, "EC_OPS_LISTEN=off"), tt.args...)
			if code != tt.code || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit code %d, want %d, with %q on stderr\nstdout: %s\nstderr: %s", code, tt.code, tt.want, stdout, stderr)
			}
		})
	}
}

func TestNodeCreateBesideARunningServer(t *testing.T) { // F3
	s := serve(t, nil)
	stdout, stderr, code := command(t, nil, "node", "create", "beside", "--token", "A-TOKEN-OF-MY-OWN", "-o", "json", "--data", s.Data)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var out struct{ NodeName, AccessToken string }
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || out.NodeName != "beside" || out.AccessToken != "A-TOKEN-OF-MY-OWN" {
		t.Fatalf("printed %q (%v), want the node as JSON", stdout, err)
	}
	// The running server has never heard of it: the wrong token must be told from an unknown name at once.
	resp, raw := s.call(http.MethodPost, "/erupt-cloud-api/register-node", map[string]any{
		"instanceId": "a", "version": "2.0.4", "nodeName": "beside", "accessToken": "wrong", "nodeAddress": []string{"http://127.0.0.1:1"}, "erupts": []string{},
	}, nil)
	if resp.StatusCode != http.StatusUnauthorized || !strings.Contains(string(raw), "beside Access token invalid") {
		t.Errorf("registration with a wrong token = %d %s, want 401 and the reason", resp.StatusCode, raw)
	}
	if _, stderr, code := command(t, nil, "node", "create", "Beside", "--data", s.Data); code != 5 || !strings.Contains(stderr, "beside") {
		t.Errorf("a name that differs in case: exit code %d, %s; want 5 and the name of the clash (S29)", code, stderr)
	}
}

func TestServeUnderABasePath(t *testing.T) { // F3, S18
	s := serve(t, nil, "--base-path", "/ops/fleet")
	if !strings.HasSuffix(s.URL, "/ops/fleet") {
		t.Fatalf("listening on %s, want the base path in it", s.URL)
	}
	root := strings.TrimSuffix(s.URL, "/ops/fleet")
	for _, base := range []string{root, s.URL} {
		for _, path := range []string{"/livez", "/readyz"} {
			resp, err := http.Get(base + path)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("GET %s%s = %d, want 200", base, path, resp.StatusCode)
			}
		}
	}
}

func TestStopLeavesNothing(t *testing.T) { // F3, F7
	s := serve(t, nil)
	if code := s.stop(15 * time.Second); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0\n%s", code, s.output())
	}
	// a second start on the same directory: no lock is left, the account is kept
	again := serveIn(t, s.Data, nil)
	if again.Token == "" {
		t.Error("no login after a restart")
	}
}

func TestDemo(t *testing.T) { // F1
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	p := start(t, []string{"EC_OPS_LISTEN=off", "TMPDIR=" + tmp}, program, "demo", "--listen", "127.0.0.1:0")
	login := p.await("first login: account erupt, password ", 60*time.Second)
	password := strings.Fields(strings.SplitN(login, "password ", 2)[1])[0]
	s := &server{process: p}
	s.URL = strings.TrimPrefix(p.await("listening on ", 60*time.Second), "listening on ")
	s.Token = s.login("erupt", password)
	var nodes struct {
		Items []struct {
			NodeName  string
			Instances int
			Erupts    []string
			State     string
		}
		Total int
	}
	total := 0
	eventually(t, 30*time.Second, func() bool {
		s.must(http.MethodGet, "/api/v1/nodes", nil, http.StatusOK, &nodes)
		total = 0
		for _, n := range nodes.Items {
			total += n.Instances
		}
		return nodes.Total == 3 && total == 4
	}, func() string { return "the demo's three nodes do not have four instances" })
	for _, n := range nodes.Items {
		if len(n.Erupts) == 0 {
			t.Errorf("node %s hosts no page", n.NodeName)
		}
	}
	if size := rss(t, p.cmd.Process.Pid); size >= 80<<20 {
		t.Errorf("resident memory is %d MiB with the fleet up, want less than 80", size>>20)
	}
	before := s.newestLogLine("crm")
	eventually(t, 30*time.Second, func() bool { return s.newestLogLine("crm") > before }, func() string {
		return fmt.Sprintf("the log of crm stands still at line %d", before)
	})
	if demoDirs(t, tmp) == 0 {
		t.Errorf("the demo keeps nothing in %s: the check below would see nothing", tmp)
	}
	family := descendants(t, p.cmd.Process.Pid)
	if code := p.stop(40 * time.Second); code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, p.output())
	}
	if strings.Contains(p.output(), "panic") {
		t.Errorf("it panicked:\n%s", p.output())
	}
	if n := demoDirs(t, tmp); n != 0 {
		t.Errorf("%d temporary directories are left", n)
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("a process of its group is left (%v)", err)
	}
	for _, pid := range family {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d, which it started, is left (%v)", pid, err)
		}
	}
}

// newestLogLine returns the number of the newest line that a node's log has; 0: none yet.
func (s *server) newestLogLine(node string) int64 {
	s.t.Helper()
	var lines []struct{ Num int64 }
	s.must(http.MethodGet, "/erupt-cloud-api/erupt-cloud-node-log?size=100&nodeName="+node, nil, http.StatusOK, &lines)
	if len(lines) == 0 {
		return 0
	}
	return lines[len(lines)-1].Num
}

func demoDirs(t testing.TB, tmp string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(tmp, "eruptcloud-demo-*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// descendants returns the processes that a process has started, and theirs.
func descendants(t testing.TB, pid int) []int {
	t.Helper()
	var all []int
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		for _, child := range strings.Fields(readFile(t, task)) {
			n, err := strconv.Atoi(child)
			if err != nil {
				t.Fatal(err)
			}
			all = append(append(all, n), descendants(t, n)...)
		}
	}
	return all
}
