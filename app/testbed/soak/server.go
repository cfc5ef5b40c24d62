package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	account  = "erupt"
	password = "soak-of-the-fleet-9"
)

func build(ctx context.Context, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", to, "eruptcloud/app")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// server is the server under test.
type server struct {
	cmd      *exec.Cmd
	url, ops string
	log      string // path of what it wrote
	ended    chan struct{}
}

// startServer starts the binary with a database of its own and waits until it accepts requests.
func startServer(o options, settings ...string) (*server, error) {
	s := &server{log: filepath.Join(o.dir, "server.log"), ended: make(chan struct{})}
	errFile, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer errFile.Close()
	args := []string{"serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(o.dir, "data"), "--set", "ops.listen=127.0.0.1:0", "--set", "server.shutdown_grace=0s"}
	for _, set := range settings {
		args = append(args, "--set", set)
	}
	s.cmd = exec.Command(o.binary, args...)
	s.cmd.Env = append(os.Environ(), "EC_ADMIN_PASSWORD="+password)
	s.cmd.Stderr = errFile
	// Ctrl-C is for us; we end the server when its load is gone.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			s.url = strings.Replace(url, "localhost", "127.0.0.1", 1)
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out); _ = s.cmd.Wait(); close(s.ended) }()
	if s.url == "" {
		return nil, errors.New("the server did not come up; see " + s.log)
	}
	s.ops, err = opsAddress(s.log)
	return s, err
}

// opsAddress reads from the log where metrics are.
func opsAddress(log string) (string, error) {
	for range 100 {
		text, err := os.ReadFile(log)
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(text)) {
			var l struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "metrics and profiles" {
				return "http://" + l.Address, nil
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return "", errors.New("the server does not say where its metrics are")
}

// stop ends the server and returns its exit code.
func (s *server) stop() int {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	return s.cmd.ProcessState.ExitCode()
}

// sample is how the server stands at one moment.
type sample struct {
	at                                      time.Time
	rss, heap, goroutines, descriptors, cpu float64
}

var plain = &http.Client{Timeout: 30 * time.Second}

// sample looks at the server. It has the garbage collected first: what is left then is what is held.
func (s *server) sample(ctx context.Context) (sample, error) {
	if _, err := get(ctx, s.ops+"/debug/pprof/heap?gc=1"); err != nil {
		return sample{}, err
	}
	text, err := get(ctx, s.ops+"/metrics")
	if err != nil {
		return sample{}, err
	}
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		values[name], _ = strconv.ParseFloat(value, 64)
	}
	return sample{
		at: time.Now(), rss: values["process_resident_memory_bytes"], heap: values["go_memstats_heap_alloc_bytes"],
		goroutines: values["go_goroutines"], descriptors: values["process_open_fds"], cpu: values["process_cpu_seconds_total"],
	}, nil
}

func get(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	res, err := plain.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answered %s", url, res.Status)
	}
	return string(body), err
}

// saveProfile keeps a profile for whoever has to find out.
func (s *server) saveProfile(ctx context.Context, name, file string) {
	if text, err := get(ctx, s.ops+"/debug/pprof/"+name); err == nil {
		_ = os.WriteFile(file, []byte(text), 0o600)
	}
}

// watch samples every interval until ctx ends.
func (s *server) watch(ctx context.Context, every time.Duration) []sample {
	var all []sample
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return all
		case <-ticker.C:
		}
		if one, err := s.sample(ctx); err == nil {
			all = append(all, one)
		} else if ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "sample:", err)
		}
	}
}

// simulate runs the simulated fleet of the same binary against the server; its events go to a file.
func (s *server) simulate(ctx context.Context, o options, args ...string) (events string, wait func() error, err error) {
	events = filepath.Join(o.dir, "events.jsonl")
	out, err := os.Create(events)
	if err != nil {
		return "", nil, err
	}
	pw := filepath.Join(o.dir, "password")
	if err := os.WriteFile(pw, []byte(password), 0o600); err != nil {
		return "", nil, err
	}
	base := []string{"sim", "--server", s.url, "--account", account, "--password-file", pw, "--seed", strconv.FormatUint(o.seed, 10)}
	cmd := exec.CommandContext(ctx, o.binary, append(base, args...)...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Minute
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	return events, func() error {
		err := cmd.Wait()
		_ = out.Close()
		if ctx.Err() != nil && cmd.ProcessState.ExitCode() == 0 {
			return nil
		}
		return err
	}, nil
}
