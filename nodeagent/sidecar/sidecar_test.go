//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"eruptcloud/nodeagent"
	"eruptcloud/nodeagent/wire"
)

const token = "7H2KQ9ZX4M1CVB0P"

func TestMain(m *testing.M) {
	if role := os.Getenv("SIDECAR_TEST_CHILD"); role != "" {
		os.Exit(playChild(role))
	}
	goleak.VerifyTestMain(m)
}

// playChild is what the test binary does when the sidecar starts it.
func playChild(role string) int {
	switch role {
	case "ends with 7":
		fmt.Println("working")
		return 7
	case "kills itself":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "waits for TERM":
		signals := make(chan os.Signal, 4)
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGUSR1, os.Interrupt)
		fmt.Println("child is ready")
		for s := range signals {
			if s == syscall.SIGUSR1 {
				fmt.Println("got USR1")
				continue
			}
			fmt.Println("got", s)
			return 5
		}
	case "ignores TERM":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("child is ready")
		select {}
	}
	return 0
}

// journal is what happened, in order.
type journal struct {
	mu   sync.Mutex
	all  []string
	news chan struct{}
}

func newJournal() *journal { return &journal{news: make(chan struct{}, 1)} }

func (j *journal) add(what string) {
	j.mu.Lock()
	j.all = append(j.all, what)
	j.mu.Unlock()
	select {
	case j.news <- struct{}{}:
	default:
	}
}

// Write makes it the output of a child.
func (j *journal) Write(p []byte) (int, error) {
	j.add(strings.TrimSpace(string(p)))
	return len(p), nil
}

// await blocks until what has happened.
func (j *journal) await(t *testing.T, what string) {
	t.Helper()
	for {
		j.mu.Lock()
		found := slices.ContainsFunc(j.all, func(s string) bool { return strings.Contains(s, what) })
		all := fmt.Sprint(j.all)
		j.mu.Unlock()
		if found {
			return
		}
		if strings.Contains(all, "ended early") {
			t.Fatalf("waiting for %q: %s", what, all)
		}
		select {
		case <-j.news:
		case <-t.Context().Done():
			t.Fatalf("%q has not happened, only %s", what, all)
		}
	}
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.all, " | ")
}

// plane plays the control plane and writes into the journal.
func plane(t *testing.T, j *journal) string {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == wire.RegisterPath:
			body, _ := io.ReadAll(r.Body)
			j.add("register " + string(body))
		case r.FormValue(wire.FormDrain) != "":
			j.add("drain")
		case r.URL.Path == wire.RemovePath:
			j.add("goodbye")
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// start runs the sidecar and returns a function that ends it and gives its exit code.
func start(t *testing.T, j *journal, env map[string]string, args ...string) (end func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	var log bytes.Buffer
	go func() {
		c := run(ctx, args, func(k string) string { return env[k] }, j, &log)
		if ctx.Err() == nil {
			j.add("ended early: " + log.String())
		}
		code <- c
	}()
	return func() int { cancel(); return <-code }
}

// freePort returns an address that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func fetch(t *testing.T, method, url string, header ...string) (status int, body string, h http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(all), res.Header
}

func TestArguments(t *testing.T) {
	base := []string{"--name", "n", "--token", token, "--servers", "http://plane"}
	tests := map[string]struct {
		args []string
		env  map[string]string
		want string // part of the error; empty: none
	}{
		"upstream":                {append(base, "--upstream", "http://127.0.0.1:1"), nil, ""},
		"address only":            {append(base, "--host-address", "http://h:1"), nil, ""},
		"from the environment":    {base, map[string]string{"EC_NODE_UPSTREAM": "http://127.0.0.1:1", "EC_NODE_LOG_FILES": "a,b"}, ""},
		"neither":                 {base, nil, "either --upstream or --host-address"},
		"listen without upstream": {append(base, "--host-address", "http://h:1", "--listen", ":1"), nil, "need --upstream"},
		"upstream that is no URL": {append(base, "--upstream", "localhost:1"), nil, "--upstream"},
		"stray arguments":         {append(base, "--upstream", "http://h:1", "python3", "app.py"), nil, "belongs to --exec"},
		"token file missing":      {append(base, "--upstream", "http://h:1", "--token-file", "/nowhere"), nil, "--token-file"},
		"unknown flag":            {append(base, "--nonsense"), nil, "nonsense"},
		"flag that cannot be":     {append(base, "--port", "x"), nil, "whole number"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(tt.args, func(k string) string { return tt.env[k] }, io.Discard)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("parse = %v, want an error with %q", err, tt.want)
			}
		})
	}
	s, err := parse([]string{"--upstream", "http://h:1", "--exec", "python3", "app.py", "--port", "8000"}, func(string) string { return "" }, io.Discard)
	if err != nil || s.program != "python3" || !slices.Equal(s.arguments, []string{"app.py", "--port", "8000"}) || s.listen != ":9080" {
		t.Errorf("exec = %+v, %v", s, err)
	}
}

func TestHelpAndUsageExitCodes(t *testing.T) {
	var out bytes.Buffer
	none := func(string) string { return "" }
	if code := run(t.Context(), []string{"--help"}, none, io.Discard, &out); code != 0 || !strings.Contains(out.String(), "EC_NODE_UPSTREAM") || !strings.Contains(out.String(), "--upstream") {
		t.Errorf("--help = %d, %s", code, out.String())
	}
	if code := run(t.Context(), []string{"--nonsense"}, none, io.Discard, io.Discard); code != exitUsage {
		t.Errorf("unknown flag = %d, want %d", code, exitUsage)
	}
	if code := run(t.Context(), []string{"--upstream", "http://127.0.0.1:1"}, none, io.Discard, io.Discard); code != exitUsage {
		t.Errorf("no name = %d, want %d", code, exitUsage)
	}
}

func TestFront(t *testing.T) {
	j := newJournal()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s token=%q user=%q for=%q", r.URL.RequestURI(), r.Header.Get("Access-Token"), r.Header.Get("user"), r.Header.Get("X-Forwarded-For"))
	}))
	defer upstream.Close()
	listen := freePort(t)
	end := start(t, j, nil, "--name", "legacy", "--token", token, "--servers", plane(t, j), "--listen", listen, "--upstream", upstream.URL,
		"--erupts", "Customer", "--drain-settle", "1ms", "--version", "8.1")
	j.await(t, `"nodeAddress":["http://`+listen+`"]`)
	if !strings.Contains(j.String(), `"erupts":["Customer"]`) || !strings.Contains(j.String(), `"version":"go-8.1"`) {
		t.Errorf("registered as %s", j)
	}
	base := "http://" + listen
	if status, body, h := fetch(t, "GET", base+"/node-health"); status != 200 || body != "legacy" || h.Get(wire.HeaderNode) != "legacy" {
		t.Errorf("probe = %d %q", status, body)
	}
	tests := map[string]struct {
		path   string
		header []string
		status int
		body   string
	}{
		"own path":             {"/shop?a=1;b=2", nil, 200, `/shop?a=1;b=2 token=""`},
		"own path from a page": {"/shop", []string{"Origin", "https://x"}, 200, "/shop"},
		"erupt, no token":      {"/erupt-api/build/Customer", nil, 401, "AccessToken incorrect"},
		"erupt, Origin":        {"/erupt-api/build/Customer", []string{"Access-Token", token, "Origin", "https://x"}, 403, ""},
		"erupt not hosted":     {"/erupt-api/build/Secret", []string{"Access-Token", token, "erupt", "Secret"}, 404, ""},
		"erupt":                {"/erupt-api/build/Customer", []string{"Access-Token", token, "erupt", "Customer", "user", "e30="}, 200, `/erupt-api/build/Customer token="" user="e30="`},
		"log":                  {"/erupt-api/tool/erupt-log", []string{"Access-Token", token}, 200, "node is starting"},
	}
	for name, tt := range tests {
		if status, body, _ := fetch(t, "GET", base+tt.path, tt.header...); status != tt.status || !strings.Contains(body, tt.body) {
			t.Errorf("%s = %d %q, want %d %q", name, status, body, tt.status, tt.body)
		}
	}
	upstream.Close()
	if status, body, _ := fetch(t, "GET", base+"/node-probe"); status != 503 || !strings.Contains(body, "upstream") {
		t.Errorf("probe with the upstream gone = %d %q, want 503", status, body)
	}
	if status, _, _ := fetch(t, "GET", base+"/shop"); status != 502 {
		t.Errorf("request with the upstream gone = %d, want 502", status)
	}
	if code := end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := j.String(); !strings.Contains(got, "drain | goodbye") {
		t.Errorf("farewell = %s", got)
	}
}

func TestHealthPath(t *testing.T) {
	status := 200
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/app/alive" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
	}))
	defer upstream.Close()
	s := &settings{upstream: upstream.URL + "/app", healthPath: "/alive"}
	f, err := s.front()
	if err != nil {
		t.Fatal(err)
	}
	defer f.client.CloseIdleConnections()
	for _, tt := range []struct {
		status int
		ok     bool
	}{{200, true}, {204, true}, {302, false}, {503, false}} {
		status = tt.status
		if err := f.healthy(t.Context()); (err == nil) != tt.ok {
			t.Errorf("upstream answers %d: %v", tt.status, err)
		}
	}
}

func TestEventStreamsPassEventByEvent(t *testing.T) {
	next := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "data: %d\n", i)
			_ = http.NewResponseController(w).Flush()
			<-next // the next event comes only when this one was read
		}
	}))
	defer upstream.Close()
	j, listen := newJournal(), freePort(t)
	end := start(t, j, nil, "--name", "n", "--token", token, "--servers", plane(t, j), "--listen", listen, "--upstream", upstream.URL, "--drain-settle", "1ms")
	j.await(t, "register")
	res, err := http.Get("http://" + listen + "/events")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(res.Body)
	for i := range 3 {
		if !lines.Scan() || lines.Text() != fmt.Sprint("data: ", i) {
			t.Fatalf("event %d = %q", i, lines.Text())
		}
		next <- struct{}{}
	}
	res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	end()
}

func TestAddressOnly(t *testing.T) {
	j := newJournal()
	end := start(t, j, nil, "--name", "n", "--token", token, "--servers", plane(t, j), "--host-address", "http://app:8000/x", "--drain-settle", "1ms")
	j.await(t, `"nodeAddress":["http://app:8000/x"]`)
	if code := end(); code != 0 || !strings.HasSuffix(j.String(), "drain | goodbye") {
		t.Errorf("exit code %d after %s", code, j)
	}
}

// withChild starts a sidecar whose program is this test binary in a role, before an upstream that is always up.
func withChild(t *testing.T, j *journal, role string, args ...string) (end func() int) {
	t.Helper()
	t.Setenv("SIDECAR_TEST_CHILD", role)
	upstream := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(upstream.Close)
	all := append([]string{"--name", "n", "--token", token, "--servers", plane(t, j), "--listen", freePort(t), "--upstream", upstream.URL,
		"--drain-settle", "1ms"}, args...)
	return start(t, j, nil, append(all, "--exec", os.Args[0])...)
}

func TestChildIsDrainedBeforeItIsStopped(t *testing.T) {
	j := newJournal()
	end := withChild(t, j, "waits for TERM")
	j.await(t, "register")
	j.await(t, "child is ready")
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil { // passed on
		t.Fatal(err)
	}
	j.await(t, "got USR1")
	if code := end(); code != 5 {
		t.Errorf("exit code %d, want the program's 5", code)
	}
	if got := j.String(); !strings.HasSuffix(got, "drain | goodbye | got terminated") {
		t.Errorf("order of the end: %s", got)
	}
}

func TestEndOfTheChildEndsTheNode(t *testing.T) {
	for role, want := range map[string]int{"ends with 7": 7, "kills itself": 128 + 9} {
		t.Run(role, func(t *testing.T) {
			t.Setenv("SIDECAR_TEST_CHILD", role)
			j := newJournal()
			args := []string{"--name", "n", "--token", token, "--servers", plane(t, j), "--host-address", "http://h:1", "--drain-settle", "1ms", "--exec", os.Args[0]}
			if code := run(t.Context(), args, func(string) string { return "" }, j, io.Discard); code != want {
				t.Errorf("exit code %d, want %d", code, want)
			}
		})
	}
}

func TestStubbornChildIsKilled(t *testing.T) {
	j := newJournal()
	end := withChild(t, j, "ignores TERM", "--stop-grace", "50ms")
	j.await(t, "register")
	j.await(t, "child is ready")
	if code := end(); code != 128+9 {
		t.Errorf("exit code %d, want 137", code)
	}
}

func TestProgramThatCannotStart(t *testing.T) {
	args := []string{"--name", "n", "--token", token, "--servers", "http://127.0.0.1:1", "--host-address", "http://h:1", "--exec", "/nowhere/program"}
	if code := run(t.Context(), args, func(string) string { return "" }, io.Discard, io.Discard); code != exitFailure {
		t.Errorf("exit code %d, want %d", code, exitFailure)
	}
}

func TestTokenFile(t *testing.T) {
	path := t.TempDir() + "/token"
	if err := os.WriteFile(path, []byte(" "+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := parse([]string{"--name", "n", "--servers", "http://p", "--host-address", "http://h:1", "--token-file", path}, func(string) string { return "" }, io.Discard)
	if err != nil || s.AccessToken != token {
		t.Errorf("token = %q, %v", s.AccessToken, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readToken(path); err == nil {
		t.Error("an empty token file was accepted")
	}
}

func TestTokenFileIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := t.TempDir() + "/token"
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		must(os.WriteFile(path, []byte(token), 0o600))
		s := &settings{Config: nodeagent.Config{NodeName: "n", AccessToken: token, EnableRegister: new(false)}, tokenFile: path}
		agent, err := nodeagent.New(s.Config)
		must(err)
		ctx, cancel := context.WithCancel(t.Context())
		go s.followToken(ctx, agent, slog.New(slog.DiscardHandler))
		accepts := func(shown string) bool {
			r := httptest.NewRequest(http.MethodGet, wire.LogPath, nil)
			r.Header.Set(wire.HeaderAccessToken, shown)
			w := httptest.NewRecorder()
			agent.Handler().ServeHTTP(w, r)
			return w.Code == http.StatusOK
		}
		must(os.WriteFile(path, []byte("NEW"), 0o600))
		time.Sleep(tokenPoll + time.Second)
		if accepts(token) || !accepts("NEW") {
			t.Error("the new token was not taken over")
		}
		must(os.Remove(path))
		time.Sleep(tokenPoll)
		if !accepts("NEW") {
			t.Error("the token was lost with its file")
		}
		cancel()
		synctest.Wait()
	})
}

func texts(ring *nodeagent.LogRing) string {
	var out []string
	for _, l := range ring.Since(0, 1000) {
		out = append(out, l.Content)
	}
	return strings.Join(out, "|")
}

func TestTail(t *testing.T) { // S80, S82
	dir := t.TempDir()
	path := dir + "/app.log"
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		name string
		act  func()
		want string // what is new
	}{
		{"not there yet", func() {}, ""},
		{"first lines", func() { write("one\ntwo\n") }, "one|two"},
		{"nothing new", func() {}, ""},
		{"half a line", func() { write("thr") }, ""},
		{"and its end", func() { write("ee\n") }, "three"},
		{"a stack trace is one event", func() { write("panic: x\n\tat a\n  at b\nCaused by: y\nfour\n") }, "panic: x\n\tat a\n  at b\nCaused by: y|four"},
		{"truncated", func() { must(os.Truncate(path, 0)); write("new\n") }, "--- " + path + " was truncated ---|new"},
		{"rotated", func() { write("last\n"); must(os.Rename(path, path+".1")); write("first\n") }, "last|--- " + path + " was rotated ---|first"},
		{"deleted", func() { must(os.Remove(path)) }, ""},
		{"and back", func() { write("again\n") }, "--- " + path + " was rotated ---|again"},
		{"an endless line", func() { write(strings.Repeat("x", 3<<20) + "\nafter\n") }, "x|after"},
		{"bytes that are no text", func() { write("a\xffb\n") }, "a\uFFFDb"},
	}
	ring := nodeagent.NewLogRing(0)
	follow := &tail{path: path, ring: ring}
	defer follow.close()
	seen := ""
	for _, step := range steps {
		step.act()
		follow.pollOnce(t.Context())
		all := texts(ring)
		fresh := strings.TrimPrefix(strings.TrimPrefix(all, seen), "|")
		if step.name == "an endless line" && strings.HasPrefix(fresh, "xxx") && len(fresh) < 20_000 {
			fresh = "x|" + fresh[strings.LastIndex(fresh, "|")+1:]
		}
		if fresh != step.want {
			t.Errorf("%s: new is %q, want %q", step.name, fresh, step.want)
		}
		seen = all
	}
}

func TestTailStartsNearTheEnd(t *testing.T) {
	path := t.TempDir() + "/app.log"
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "line %05d\n", i)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ring := nodeagent.NewLogRing(10_000)
	follow := &tail{path: path, ring: ring}
	defer follow.close()
	follow.pollOnce(t.Context())
	lines := ring.Since(0, 10_000)
	if len(lines) > tailStart/11+1 || len(lines) < tailStart/12 || len(lines[0].Content) != len("line 00000") || lines[len(lines)-1].Content != "line 19999" {
		t.Errorf("%d lines from %q on", len(lines), lines[0].Content)
	}
}

func TestTailEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	(&tail{path: t.TempDir() + "/none", ring: nodeagent.NewLogRing(0)}).run(ctx)
}
