package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// process is a child that says where it listens.
type process struct {
	cmd   *exec.Cmd
	lines *bufio.Reader
	log   string
	URL   string
	Ops   string // where its metrics and profiles are
}

// startProcess runs a program until ctx ends. Its log goes to a file: writing it is part of the work.
func startProcess(ctx context.Context, log string, env []string, program string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, program, args...), log: log}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.WaitDelay = 5 * time.Second
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the child has its own
	p.cmd.Stderr = file
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if p.URL, err = p.listening(); err != nil {
		text, _ := os.ReadFile(log)
		return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(program), err, text)
	}
	return p, nil
}

func (p *process) listening() (string, error) {
	for {
		line, err := p.lines.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("it ended without listening: %w", err)
		}
		for _, before := range []string{"listening on ", "READY "} { // ours; the original's
			if at, ok := strings.CutPrefix(strings.TrimSpace(line), before); ok {
				return at, nil
			}
		}
	}
}

func (p *process) name() string { return filepath.Base(p.log) }

// stop ends the child in order.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended
	_ = p.cmd.Wait()                       // how it ends is not measured
}

// ticks are the units of /proc/PID/stat on Linux, whatever the machine.
const ticks = 100

// cpu returns the processor time that the child has used.
func (p *process) cpu() (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return parseCPU(string(raw))
}

func parseCPU(stat string) (time.Duration, error) {
	rest := stat[strings.LastIndex(stat, ")")+1:] // the name before may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("%q is no line of /proc/PID/stat", stat)
	}
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / ticks, err
}

// resident returns the memory that the child has in RAM, in bytes.
func (p *process) resident() (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return parseResident(string(raw))
}

func parseResident(status string) (float64, error) {
	for line := range strings.Lines(status) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kb * 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS in %q", status)
}

var sample = regexp.MustCompile(`(?m)^(go_memstats_heap_alloc_bytes|go_memstats_stack_inuse_bytes) ([0-9.e+]+)$`)

// memory returns what the child holds after a collection: heap in use and stacks, in bytes.
func (p *process) memory(ctx context.Context) (float64, error) {
	for range 2 { // the second also frees what finalizers kept
		if _, err := get(ctx, p.Ops+"/debug/pprof/heap?gc=1"); err != nil {
			return 0, err
		}
	}
	text, err := get(ctx, p.Ops+"/metrics")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, m := range sample.FindAllSubmatch(text, -1) {
		v, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return 0, err
		}
		sum += v
	}
	if sum == 0 {
		return 0, fmt.Errorf("%s tells no memory", p.Ops)
	}
	return sum, nil
}

func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // read to its end
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s = %s", url, res.Status)
	}
	return body, err
}

// save keeps a profile of the child.
func (p *process) save(ctx context.Context, folder, name, profile string) error {
	raw, err := get(ctx, p.Ops+"/debug/pprof/"+profile)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), raw, 0o600)
}
