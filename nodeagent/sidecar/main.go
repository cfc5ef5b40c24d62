// Command sidecar makes any process a node of the control plane: it registers and beats for it, guards what only the server may
// call, shows its log, and drains it when it stops. See --help.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"eruptcloud/nodeagent"
)

// Exit codes. With a child process, its own code is returned: 128 and the signal's number if a signal ended it.
const (
	exitOK      = 0
	exitFailure = 1 // it could not do its work
	exitUsage   = 2 // wrong arguments
)

const usage = `sidecar makes a process that cannot embed the Go agent a node of the control plane.

  sidecar --name orders --token-file /run/secrets/node --servers http://plane:8080 \
          --listen :9080 --upstream http://127.0.0.1:8000 [--log-file app.log] [--exec PROGRAM ARGUMENTS…]

With --upstream it listens itself: it answers the server's probes at /node-health and /node-probe (well only while the upstream
is), lets below /erupt-api only the server through, and passes everything else on. Without --upstream it only registers
--host-address, and the process there must answer /node-health with the node's name.

With --exec it starts the process, passes signals on, stops it after the drain, and exits with its exit code. Its output goes
to the server's log drawer too.

Every flag has an environment variable, given in brackets; flags win.

`

// settings is what the command line says beyond the agent's own Config.
type settings struct {
	nodeagent.Config
	upstream   string
	listen     string
	healthPath string
	logFiles   []string
	tokenFile  string
	program    string
	arguments  []string
	stopGrace  time.Duration
}

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is main without globals.
func run(ctx context.Context, args []string, env func(string) string, stdout, stderr io.Writer) int {
	s, err := parse(args, env, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	ring := nodeagent.NewLogRing(0)
	s.LogRing = ring
	log := slog.New(ring.Handler(slog.NewTextHandler(stderr, nil)))
	s.Logger = log
	code, err := s.serve(ctx, log, ring, stdout, stderr)
	if err != nil {
		log.Error("sidecar failed", "error", err)
		return max(code, exitFailure)
	}
	return code
}

// parse reads flags over environment.
func parse(args []string, env func(string) string, stderr io.Writer) (*settings, error) {
	config, err := nodeagent.FromEnv()
	if err != nil {
		return nil, err
	}
	s := &settings{Config: config}
	fs := flag.NewFlagSet("sidecar", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, usage)
		fs.PrintDefaults()
	}
	s.Flags(fs)
	fs.StringVar(&s.upstream, "upstream", env("EC_NODE_UPSTREAM"), "base URL of the process (EC_NODE_UPSTREAM)")
	fs.StringVar(&s.listen, "listen", env("EC_NODE_LISTEN"), "address to listen at, default :9080 (EC_NODE_LISTEN)")
	fs.StringVar(&s.healthPath, "health-path", env("EC_NODE_HEALTH_PATH"), "path of the upstream that must answer 2xx; default: it accepts connections (EC_NODE_HEALTH_PATH)")
	fs.StringVar(&s.tokenFile, "token-file", env("EC_NODE_TOKEN_FILE"), "file with the access token, read again when it changes (EC_NODE_TOKEN_FILE)")
	fs.StringVar(&s.program, "exec", env("EC_NODE_EXEC"), "program to start; what follows the flags are its arguments (EC_NODE_EXEC)")
	grace := 10 * time.Second
	if text := env("EC_NODE_STOP_GRACE"); text != "" {
		if grace, err = time.ParseDuration(text); err != nil {
			return nil, fmt.Errorf("EC_NODE_STOP_GRACE: %q is no duration such as 10s", text)
		}
	}
	fs.DurationVar(&s.stopGrace, "stop-grace", grace, "how long the program may take to end after SIGTERM (EC_NODE_STOP_GRACE)")
	logFiles := env("EC_NODE_LOG_FILES")
	fs.Func("log-file", "log file to show, may be repeated (EC_NODE_LOG_FILES, comma separated)", func(v string) error {
		s.logFiles = append(s.logFiles, v)
		return nil
	})
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, flag.ErrHelp
		}
		return nil, fmt.Errorf("see sidecar --help: %w", err)
	}
	if len(s.logFiles) == 0 && logFiles != "" {
		s.logFiles = strings.Split(logFiles, ",")
	}
	s.arguments = fs.Args()
	return s, s.check()
}

// check finds what does not go together.
func (s *settings) check() error {
	if s.program == "" && len(s.arguments) > 0 {
		return fmt.Errorf("%q: what follows the flags belongs to --exec", s.arguments[0])
	}
	if s.tokenFile != "" {
		token, err := readToken(s.tokenFile)
		if err != nil {
			return err
		}
		s.AccessToken = token
	}
	if s.upstream == "" {
		if len(s.HostAddress) == 0 {
			return errors.New("either --upstream or --host-address is needed")
		}
		if s.listen != "" || s.healthPath != "" {
			return errors.New("--listen and --health-path need --upstream")
		}
		return nil
	}
	if s.listen == "" {
		s.listen = ":9080"
	}
	u, err := url.Parse(s.upstream)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--upstream %q is not an absolute http or https URL", s.upstream)
	}
	return nil
}

func readToken(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(raw))
	if token == "" {
		return "", fmt.Errorf("--token-file: %s is empty", path)
	}
	return token, nil
}

// serve does the work until a signal, the end of ctx, or the end of the child process.
func (s *settings) serve(ctx context.Context, log *slog.Logger, ring *nodeagent.LogRing, stdout, stderr io.Writer) (code int, err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	front, err := s.front()
	if err != nil {
		return exitFailure, err
	}
	agent, err := nodeagent.New(s.Config)
	if err != nil {
		return exitUsage, err
	}
	var work sync.WaitGroup
	defer work.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, path := range s.logFiles {
		work.Go(func() { (&tail{path: path, ring: ring}).run(ctx) })
	}
	if s.tokenFile != "" {
		work.Go(func() { s.followToken(ctx, agent, log) })
	}
	var process *child
	if s.program != "" {
		if process, err = startChild(s.program, s.arguments, io.MultiWriter(stdout, ring), io.MultiWriter(stderr, ring)); err != nil {
			return exitFailure, err
		}
		work.Go(func() {
			process.wait()
			cancel() // nothing is left to be a node of
		})
		defer func() {
			// Only now, out of routing and idle, is the process told to end.
			code = process.stop(s.stopGrace)
			if err == nil && code != 0 {
				log.Info("program has ended", "code", code)
			}
		}()
	}
	if front == nil {
		return exitOK, agent.Run(ctx)
	}
	front.waitUntilHealthy(ctx, log)
	return exitOK, agent.Serve(ctx, front.server(s.listen))
}

const tokenPoll = 30 * time.Second

// followToken takes over a new token when its file changes, so that a rotation needs no restart.
func (s *settings) followToken(ctx context.Context, agent *nodeagent.Agent, log *slog.Logger) {
	last := s.AccessToken
	ticker := time.NewTicker(tokenPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		token, err := readToken(s.tokenFile)
		if err != nil {
			log.Warn("token file", "error", err) // the old one stays
			continue
		}
		if token != last {
			last = token
			agent.SetToken(token)
			log.Info("access token was replaced")
		}
	}
}
