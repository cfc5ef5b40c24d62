// The command soak runs the built server for a long time under load and says what became of it: memory, goroutines,
// descriptors, unexplained lines in the log, and how fast the console answers. It is for people to read, no test.
//
//	go run ./app/testbed/soak fleet   --duration 1h
//	go run ./app/testbed/soak console --duration 15m
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are what both runs share.
type options struct {
	binary   string // of the server; empty: built from this tree
	dir      string // for data and logs
	duration time.Duration
	settle   time.Duration // after the load, before the last look
	seed     uint64
	out      io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	kind := ""
	if len(args) > 0 {
		kind, args = args[0], args[1:]
	}
	o := options{}
	f := flag.NewFlagSet("soak "+kind, flag.ContinueOnError)
	f.StringVar(&o.binary, "binary", "", "built server; empty: built from this tree")
	f.StringVar(&o.dir, "dir", "", "directory for data and logs; empty: a temporary one, which is kept")
	f.Uint64Var(&o.seed, "seed", 1, "of the simulated fleet")
	report := f.String("out", "", "file that gets the report too")
	var load func(context.Context, options) error
	switch kind {
	case "fleet":
		l := fleetFlags(f, &o)
		load = l.run
	case "console":
		l := consoleFlags(f, &o)
		load = l.run
	default:
		return errors.New("say what to run: fleet or console")
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	o.out = os.Stdout
	if *report != "" {
		file, err := os.Create(*report)
		if err != nil {
			return err
		}
		defer file.Close()
		o.out = io.MultiWriter(os.Stdout, file)
	}
	if err := o.prepare(ctx); err != nil {
		return err
	}
	return load(ctx, o)
}

// prepare makes the directory and the binary.
func (o *options) prepare(ctx context.Context) (err error) {
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "eruptcloud-soak-"); err != nil {
			return err
		}
	} else if err = os.MkdirAll(o.dir, 0o750); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "logs and data are in", o.dir)
	if o.binary == "" {
		o.binary = filepath.Join(o.dir, "eruptcloud")
		err = build(ctx, o.binary)
	}
	return err
}
