//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// passedOn are the signals that a program may use for itself.
var passedOn = []os.Signal{syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGQUIT, syscall.SIGWINCH, syscall.SIGCONT}

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// signalCode is what a shell reports for a program that a signal ended: 128 and the signal's number.
func signalCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return 0
}
