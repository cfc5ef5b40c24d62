// The command mutate changes one rule of the program at a time, in a copy, and runs the tests that should notice. It prints a
// table of what was noticed and what survived, and fails if more than one in thirty did.
//
//	go run ./app/testbed/mutate [-only REGEXP] [-list]
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	only := f.String("only", "", "only mutations whose rule or file matches this regular expression")
	list := f.Bool("list", false, "list them and change nothing")
	limit := f.Duration("limit", 4*time.Minute, "for the tests of one mutation")
	if err := f.Parse(args); err != nil {
		return err
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(slices.Clone(mutations), func(m mutation) bool {
		return !wanted.MatchString(m.rule) && !wanted.MatchString(m.file)
	})
	if *list {
		for _, m := range chosen {
			fmt.Fprintf(out, "%s: %s\n", m.file, m.rule)
		}
		return nil
	}
	c, err := newCopy(ctx)
	if err != nil {
		return err
	}
	defer c.remove()
	return c.judge(ctx, chosen, *limit, out)
}

// checkout is a copy of the committed tree that may be changed.
type checkout struct{ dir string }

func newCopy(ctx context.Context) (*checkout, error) {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return nil, err
	}
	c := &checkout{dir: filepath.Join(dir, "tree")}
	if text, err := exec.CommandContext(ctx, "git", "worktree", "add", "--quiet", "--detach", c.dir, "HEAD").CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("copy the tree: %w\n%s", err, text), os.RemoveAll(dir))
	}
	return c, nil
}

func (c *checkout) remove() {
	_ = exec.Command("git", "worktree", "remove", "--force", c.dir).Run()
	_ = os.RemoveAll(filepath.Dir(c.dir))
}

// outcome is what became of one mutation.
type outcome string

const (
	noticed  outcome = "noticed"
	survived outcome = "SURVIVED"
	invalid  outcome = "INVALID"
)

// judge tries all mutations, one after the other.
func (c *checkout) judge(ctx context.Context, all []mutation, limit time.Duration, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	counts := map[outcome]int{}
	healthy := map[string]error{} // packages, before any change
	for _, m := range all {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		start := time.Now()
		what, why := c.try(ctx, m, limit, healthy)
		counts[what]++
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", what, m.file, m.rule, why)
		fmt.Fprintf(os.Stderr, "%s %s: %s (%s) %s\n", what, m.file, m.rule, time.Since(start).Round(time.Second), why)
	}
	_ = table.Flush()
	fmt.Fprintf(out, "%d of %d noticed, %d survived, %d invalid\n", counts[noticed], len(all), counts[survived], counts[invalid])
	if counts[invalid] > 0 || 30*counts[survived] > len(all) {
		return errors.New("rules can break without a test that notices")
	}
	return nil
}

// try applies one mutation, runs its tests, and takes it back.
func (c *checkout) try(ctx context.Context, m mutation, limit time.Duration, healthy map[string]error) (outcome, string) {
	key := strings.Join(m.tests, " ") + " " + m.only
	before, known := healthy[key]
	if !known {
		_, before = c.test(ctx, m, limit)
		healthy[key] = before
	}
	if before != nil {
		return invalid, "its tests fail without any change"
	}
	file := filepath.Join(c.dir, m.file)
	source, err := os.ReadFile(file)
	if err != nil {
		return invalid, err.Error()
	}
	changed, err := m.apply(source)
	if err != nil {
		return invalid, err.Error()
	}
	if err := os.WriteFile(file, changed, 0o600); err != nil {
		return invalid, err.Error()
	}
	defer func() { _ = os.WriteFile(file, source, 0o600) }()
	text, err := c.test(ctx, m, limit)
	switch {
	case err == nil:
		return survived, ""
	case bytes.Contains(text, []byte("[build failed]")), bytes.Contains(text, []byte("[setup failed]")):
		return invalid, "does not compile: " + firstLines(text)
	}
	return noticed, firstFailure(text)
}

// apply returns the source with the change; that the old text is not there exactly once is an error.
func (m mutation) apply(source []byte) ([]byte, error) {
	if n := bytes.Count(source, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s holds %d times: %s", m.file, n, m.old)
	}
	return bytes.Replace(source, []byte(m.old), []byte(m.new), 1), nil
}

func (c *checkout) test(ctx context.Context, m mutation, limit time.Duration) ([]byte, error) {
	args := []string{"test", "-count=1", "-failfast", "-vet=off", "-timeout", limit.String()}
	if m.only != "" {
		args = append(args, "-run", m.only)
	}
	for _, p := range m.tests {
		args = append(args, "./"+p)
	}
	ctx, cancel := context.WithTimeout(ctx, limit+2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = c.dir
	return cmd.CombinedOutput()
}

func firstLines(text []byte) string {
	lines := strings.SplitN(string(text), "\n", 4)
	return strings.Join(lines[:min(len(lines), 3)], " ")
}

// firstFailure names the test that noticed.
func firstFailure(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			return name
		}
		if strings.HasPrefix(line, "panic: ") {
			return strings.TrimSpace(line)
		}
	}
	return firstLines(text)
}
