package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"
)

// outputDelay is how long output of the program's own children may follow its end.
const outputDelay = 2 * time.Second

// child is the supervised program.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and code is set
	code int
}

// startChild starts the program. Signals that do not mean the end are passed on from now until it ends.
func startChild(program string, args []string, stdout, stderr io.Writer) (*child, error) {
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr, cmd.Stdin = stdout, stderr, os.Stdin
	cmd.WaitDelay = outputDelay
	ownGroup(cmd) // Ctrl-C must reach it through us, after the drain
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("--exec: %w", err)
	}
	return &child{cmd: cmd, done: make(chan struct{})}, nil
}

// wait passes signals on and returns when the program has ended.
func (c *child) wait() {
	signals := make(chan os.Signal, 8)
	if len(passedOn) > 0 { // none would mean all
		signal.Notify(signals, passedOn...)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = c.cmd.Process.Signal(s) // it may just have ended
		case err := <-ended:
			signal.Stop(signals)
			c.code = exitCode(c.cmd, err)
			close(c.done)
			return
		}
	}
}

// stop asks the program to end, makes it end after grace, and returns its exit code.
func (c *child) stop(grace time.Duration) int {
	select {
	case <-c.done:
		return c.code
	default:
	}
	_ = terminate(c.cmd.Process) // it may just have ended
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		_ = c.cmd.Process.Kill()
		<-c.done
	}
	return c.code
}

func exitCode(cmd *exec.Cmd, err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success():
		return exitOK
	case errors.As(err, &exit), cmd.ProcessState != nil:
		if code := signalCode(cmd.ProcessState); code > 0 {
			return code
		}
		return max(cmd.ProcessState.ExitCode(), exitFailure)
	}
	return exitFailure
}
