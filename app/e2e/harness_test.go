// Package e2e drives the built binary as its users do: over HTTP, with real nodes, a real browser and real services.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const adminPassword = "correct-horse-9"

// binary is the built program, made once per test run.
var binary = sync.OnceValues(func() (string, error) { return build("./app") })

var built struct {
	sync.Mutex
	dir string
}

// build compiles a package of this module into the folder that TestMain removes.
func build(pkg string) (string, error) {
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "ec-e2e-")
		if err != nil {
			return "", err
		}
		built.dir = dir
	}
	out := filepath.Join(built.dir, strings.ReplaceAll(strings.Trim(pkg, "./"), "/", "-"))
	cmd := exec.Command("go", "build", "-o", out, pkg)
	cmd.Dir = "../.."
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, text)
	}
	return out, nil
}

func TestMain(m *testing.M) {
	if os.Getenv(goNodeName) != "" {
		if err := runGoNode(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	if sharedFarm != nil {
		sharedFarm.end()
	}
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// process is a child whose output lines can be awaited.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	exited chan struct{}
	mu     sync.Mutex
	lines  []string
	more   chan struct{} // closed and replaced at each line
	err    error
}

// start runs a program; it is killed at the end of the test if it still runs.
func start(t testing.TB, env []string, program string, args ...string) *process {
	t.Helper()
	p := &process{t: t, exited: make(chan struct{}), more: make(chan struct{})}
	p.cmd = exec.Command(program, args...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	w.Close()
	said := make(chan struct{})
	go func() {
		defer close(said)
		p.read(r)
	}()
	go func() {
		p.err = p.cmd.Wait()
		select {
		case <-said: // its last lines are in output
		case <-time.After(time.Second): // a child of it has the pipe still
		}
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s %s printed:\n%s", filepath.Base(program), strings.Join(args, " "), tail(p.notable(), 6000))
		}
	})
	return p
}

func (p *process) read(r io.ReadCloser) {
	defer r.Close()
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			p.mu.Lock()
			p.lines = append(p.lines, strings.TrimRight(line, "\n"))
			close(p.more)
			p.more = make(chan struct{})
			p.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// await returns the first line that contains text, also one that was printed before.
func (p *process) await(text string, limit time.Duration) string {
	p.t.Helper()
	deadline := time.After(limit)
	for seen := 0; ; {
		p.mu.Lock()
		fresh, more := p.lines[seen:], p.more
		seen = len(p.lines)
		p.mu.Unlock()
		for _, line := range fresh {
			if strings.Contains(line, text) {
				return line
			}
		}
		select {
		case <-more:
		case <-p.exited:
			// one more look: the last lines may have come with the exit
			p.mu.Lock()
			rest := p.lines[seen:]
			p.mu.Unlock()
			for _, line := range rest {
				if strings.Contains(line, text) {
					return line
				}
			}
			p.t.Fatalf("it ended (%v) without printing %q:\n%s", p.err, text, tail(p.output(), 6000))
		case <-deadline:
			p.t.Fatalf("it did not print %q within %s:\n%s", text, limit, tail(p.output(), 6000))
		}
	}
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// notable is the output without the lines about requests that went well: a test that waits makes many.
func (p *process) notable() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	lines := slices.DeleteFunc(slices.Clone(p.lines), func(l string) bool {
		return strings.Contains(l, "msg=request ") && strings.Contains(l, " status=2")
	})
	return strings.Join(lines, "\n")
}

// stop sends SIGTERM and returns the exit code.
func (p *process) stop(limit time.Duration) int {
	p.t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	return p.wait(limit)
}

func (p *process) wait(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		p.kill()
		p.t.Fatalf("it did not end within %s:\n%s", limit, tail(p.output(), 6000))
		return -1
	}
}

// kill ends the whole process group at once.
func (p *process) kill() {
	select {
	case <-p.exited:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.exited
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// server is a running control plane with an admin's session.
type server struct {
	*process
	URL   string // with the base path
	Data  string
	Token string
}

// serve starts the built binary with its own data directory and logs in. env are settings; args go behind "serve".
func serve(t testing.TB, env []string, args ...string) *server {
	t.Helper()
	return serveIn(t, t.TempDir(), env, args...)
}

func serveIn(t testing.TB, data string, env []string, args ...string) *server {
	t.Helper()
	s := launch(t, data, env, args...)
	s.Token = s.login("erupt", adminPassword)
	return s
}

// launch is serveIn without a session.
func launch(t testing.TB, data string, env []string, args ...string) *server {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return launchProgram(t, program, data, env, args...)
}

// launchProgram is launch with another build of the binary.
func launchProgram(t testing.TB, program, data string, env []string, args ...string) *server {
	t.Helper()
	env = append([]string{
		"EC_ADMIN_PASSWORD=" + adminPassword, "EC_OPS_LISTEN=off", "EC_SERVER_SHUTDOWN_GRACE=0s", "EC_LOG_FORMAT=text",
	}, env...)
	s := &server{Data: data}
	s.process = start(t, env, program, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, args...)...)
	s.URL = strings.TrimSpace(strings.TrimPrefix(s.await("listening on ", 60*time.Second), "listening on "))
	return s
}

// login returns a session token, through the API that erupt's front end uses.
func (s *server) login(account, password string) string {
	s.t.Helper()
	encoded := url.QueryEscape(password)
	for range 3 {
		encoded = base64.StdEncoding.EncodeToString([]byte(encoded))
	}
	var out struct {
		Pass   bool
		Token  string
		Reason string
	}
	s.must(http.MethodPost, "/erupt-api/login", map[string]string{"account": account, "pwd": encoded}, http.StatusOK, &out)
	if !out.Pass || out.Token == "" {
		s.t.Fatalf("login of %s refused: %s", account, out.Reason)
	}
	return out.Token
}

// hires makes an account that has chosen its password itself, as the console asks of everybody whom somebody else gave one.
func (s *server) hires(account, name, password string, more map[string]any) {
	s.t.Helper()
	body := map[string]any{"account": account, "name": name, "password": "given-" + password}
	maps.Copy(body, more)
	s.must(http.MethodPost, "/api/v1/users", body, http.StatusCreated, nil)
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Timeout: patience}
	for _, form := range []struct {
		path   string
		values url.Values
	}{
		{"/console/login", url.Values{"account": {account}, "password": {"given-" + password}}},
		{"/console/me/password", url.Values{"old": {"given-" + password}, "new": {password}, "again": {password}, "next": {"/console/me"}, "first": {"1"}}},
		{"/console/logout", url.Values{}},
	} {
		resp, err := browser.PostForm(s.URL+form.path, form.values)
		if err != nil {
			s.t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			s.t.Fatalf("%s: %s = %d", account, form.path, resp.StatusCode)
		}
	}
}

// must sends a request with the admin's session, expects the status and decodes the answer.
func (s *server) must(method, path string, body any, status int, out any) http.Header {
	s.t.Helper()
	resp, raw := s.call(method, path, body, nil)
	if resp.StatusCode != status {
		s.t.Fatalf("%s %s = %d, want %d: %s", method, path, resp.StatusCode, status, raw)
	}
	if out != nil {
		if err := json.Unmarshal(raw, out); err != nil {
			s.t.Fatalf("%s %s answered %q: %v", method, path, raw, err)
		}
	}
	return resp.Header
}

// call sends a request with the admin's session; a body that is no reader is sent as JSON.
func (s *server) call(method, path string, body any, header http.Header) (*http.Response, []byte) {
	s.t.Helper()
	var reader io.Reader
	contentType := ""
	switch b := body.(type) {
	case nil:
	case io.Reader:
		reader = b
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		reader, contentType = bytes.NewReader(raw), "application/json"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if s.Token != "" {
		req.Header.Set("token", s.Token)
	}
	for k, v := range header {
		req.Header[http.CanonicalHeaderKey(k)] = v
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, raw
}

// node creates a node's record and returns its access token.
func (s *server) node(name string) string {
	s.t.Helper()
	var out struct{ AccessToken string }
	s.must(http.MethodPost, "/api/v1/nodes", map[string]any{"nodeName": name, "name": name}, http.StatusCreated, &out)
	if out.AccessToken == "" {
		s.t.Fatalf("creating %s answered no token", name)
	}
	return out.AccessToken
}

type instance struct {
	InstanceID, Location, Version, State string
	Locations                            []string
	LastHeartbeat, Registered            time.Time
	Hold                                 json.RawMessage
}

func (s *server) instances(node string) []instance {
	s.t.Helper()
	var out struct {
		Items []instance
		Total int
	}
	s.must(http.MethodGet, "/api/v1/nodes/"+node+"/instances?pageSize=500", nil, http.StatusOK, &out)
	if out.Total != len(out.Items) {
		s.t.Fatalf("total %d, %d items", out.Total, len(out.Items))
	}
	return out.Items
}

// awaitInstances waits until exactly n instances of the node are up.
func (s *server) awaitInstances(node string, n int, limit time.Duration) []instance {
	s.t.Helper()
	var got []instance
	eventually(s.t, limit, func() bool {
		got = nil
		for _, in := range s.instances(node) {
			if in.State == "up" {
				got = append(got, in)
			}
		}
		return len(got) == n
	}, func() string { return fmt.Sprintf("%s has %d instances up, want %d", node, len(got), n) })
	return got
}

// eventually polls until done; it fails with why after limit.
func eventually(t testing.TB, limit time.Duration, done func() bool, why func() string) {
	t.Helper()
	look, end := time.NewTicker(50*time.Millisecond), time.After(limit)
	defer look.Stop()
	for !done() {
		select {
		case <-look.C:
		case <-end:
			t.Fatalf("not within %s: %s", limit, why())
		}
	}
}

// rss returns a process's resident memory in bytes.
func rss(t testing.TB, pid int) int64 {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(raw), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatalf("process %d has no VmRSS", pid)
	return 0
}
