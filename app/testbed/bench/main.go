// Command bench measures the built server against what it is made of, all in one run: the proxy against a bare
// httputil.ReverseProxy, leases against a bare write to their store. It prints one table; a row is over when its ratio is
// above its limit, and then the exit code is 1. Run it with the task bench. With -java it is measured beside a real
// erupt-cloud-server instead (task bench:java).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// roleName is the environment variable that makes a child of this program another part of the rig.
const roleName = "EC_BENCH_ROLE"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch os.Getenv(roleName) {
	case "node":
		err = runNode(ctx)
	case "bare":
		err = runBare(ctx)
	default:
		err = run(ctx)
	}
	if err != nil && !errors.Is(err, errOver) {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil {
		os.Exit(1)
	}
}

var errOver = errors.New("over a limit")

// settings are how long and how often things are measured.
type settings struct {
	program string        // built server
	slice   time.Duration // of load, taken by ours and the bare one in turns
	rounds  int
	streams int
	only    string
	profile string // folder for profiles of the server under load; empty: none
	java    bool
	warm    time.Duration // of load on the JVM before anything is measured
}

func run(ctx context.Context) error {
	var s settings
	flag.StringVar(&s.program, "server", "", "built server `file`; by default it is built from ./app")
	flag.DurationVar(&s.slice, "slice", 300*time.Millisecond, "how long one load lasts")
	flag.IntVar(&s.rounds, "rounds", 20, "how often the loads take turns")
	flag.IntVar(&s.streams, "streams", 1000, "open idle streams")
	flag.StringVar(&s.only, "only", "", "one part: proxy, streams, leases, start, idle")
	flag.StringVar(&s.profile, "profile", "", "`folder` for CPU and heap profiles of the server")
	flag.BoolVar(&s.java, "java", false, "measure beside a real erupt-cloud-server 1.12.23 (JDK 17, Maven)")
	flag.DurationVar(&s.warm, "warm", 20*time.Second, "with -java: load of each kind before the first measurement, so that the JVM has compiled")
	flag.Parse()
	dir, err := os.MkdirTemp("", "ec-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what stays is in the temporary folder
	if s.program == "" {
		if s.program, err = buildServer(ctx, dir); err != nil {
			return err
		}
	}
	t := &table{}
	if s.java {
		return besideJava(ctx, t, &s, dir)
	}
	if s.wants("leases") {
		if err := measureLeases(ctx, t, dir); err != nil {
			return err
		}
	}
	if s.wants("proxy", "streams", "start", "idle") {
		if err := measureServer(ctx, t, &s, dir); err != nil {
			return err
		}
	}
	t.print(os.Stdout)
	if t.over {
		return errOver
	}
	return nil
}

func (s *settings) wants(parts ...string) bool {
	for _, p := range parts {
		if s.only == "" || s.only == p {
			return true
		}
	}
	return false
}

// measureServer starts the rig and takes all measurements that need it.
func measureServer(ctx context.Context, t *table, s *settings, dir string) error {
	r, err := newRig(ctx, s, dir)
	if err != nil {
		return err
	}
	defer r.close()
	if s.wants("proxy") {
		if err := r.measureProxy(ctx, t); err != nil {
			return err
		}
	}
	if s.wants("streams") {
		if err := r.measureStreams(ctx, t); err != nil {
			return err
		}
	}
	if s.wants("idle") {
		if err := r.measureIdle(ctx, t); err != nil {
			return err
		}
	}
	if s.wants("start") {
		return r.measureStart(ctx, t)
	}
	return nil
}
