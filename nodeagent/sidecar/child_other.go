//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// passedOn is empty: these systems know no signals to pass on.
var passedOn []os.Signal

func ownGroup(*exec.Cmd) {}

func terminate(p *os.Process) error { return p.Kill() }

func signalCode(*os.ProcessState) int { return 0 }
