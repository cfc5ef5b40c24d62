package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"eruptcloud/app/sim"
)

const simLong = `Plays a fleet against a running server: real agents on real ports of this machine, which come, go, crash, flap, hang,
refuse, answer late, lie about their names, show wrong tokens, claim others' addresses and flood their logs, with versions
from 1.12 to 2.3 and clocks that are wrong. It logs in to make the nodes' records, or takes names and tokens from a file with
one "NAME TOKEN" a line. The same --seed plays the same faults in the same order. Each fault is printed as a JSON line when
it begins and when it ends; "surprise" is a request that failed although nothing was wrong with its node.`

// newSim returns the command sim.
func newSim() *cobra.Command {
	var spec sim.CrowdSpec
	var login struct{ account, passwordFile, tokens, faults string }
	var duration time.Duration
	c := &cobra.Command{
		Use: "sim --server URL", Short: "Play a fleet of hundreds of nodes with faults against a running server", Long: simLong,
		Example: `  eruptcloud sim --server http://127.0.0.1:8080 --password-file pw.txt --nodes 300 --churn 10m --clean
  eruptcloud sim --server http://127.0.0.1:8080 --tokens tokens.txt --faults stop,crash,flap --churn 2m --seed 7`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := completeSim(cmd, &spec, login.account, login.passwordFile, login.tokens, login.faults); err != nil {
				return usageError{err}
			}
			crowd, err := sim.NewCrowd(spec)
			if err != nil {
				return usageError{err}
			}
			ctx := cmd.Context()
			if duration > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, duration)
				defer cancel()
			}
			return crowd.Run(ctx)
		},
	}
	f := c.Flags()
	f.StringVar(&spec.Server, "server", "", "address of the server, e.g. http://127.0.0.1:8080 (required)")
	f.StringVar(&login.account, "account", "erupt", "account that makes the nodes' records")
	f.StringVar(&login.passwordFile, "password-file", "", "file that holds its password, - for standard input")
	f.StringVar(&login.tokens, "tokens", "", "file of names and access tokens, in place of a login")
	f.IntVar(&spec.Nodes, "nodes", 300, "nodes")
	f.IntVar(&spec.Instances, "instances", 2, "instances of each node")
	f.IntVar(&spec.Groups, "groups", 5, "groups that the nodes lie in")
	f.StringVar(&spec.Prefix, "prefix", "sim", "beginning of the nodes' names")
	f.Uint64Var(&spec.Seed, "seed", 1, "decides on everything that is drawn by lot")
	f.DurationVar(&spec.Churn, "churn", 10*time.Minute, "mean time between two faults of one instance; 0: no faults")
	f.DurationVar(&spec.Last, "last", 20*time.Second, "mean time that a fault lasts")
	f.StringVar(&login.faults, "faults", "all", "which: all, none, or some of "+joined(sim.AllFaults()))
	f.Float64Var(&spec.Changes, "changes", 0, "instances a second that report another version")
	f.Float64Var(&spec.Visits, "visits", 0, "requests a second that go through the server to nodes")
	f.DurationVar(&spec.LogEvery, "log-every", 5*time.Second, "mean time between two log lines of an instance; 0: none")
	f.DurationVar(&spec.Ramp, "ramp", 15*time.Second, "time in which the instances come")
	f.DurationVar(&duration, "duration", 0, "end after this time; 0: at Ctrl-C")
	f.BoolVar(&spec.Clean, "clean", false, "remove the nodes' records at the end")
	return c
}

func completeSim(cmd *cobra.Command, spec *sim.CrowdSpec, account, passwordFile, tokens, faults string) (err error) {
	spec.Report = cmd.OutOrStdout()
	if spec.Server == "" {
		return errors.New("--server is missing")
	}
	if spec.Faults, err = sim.ParseFaults(faults); err != nil {
		return fmt.Errorf("--faults: %w", err)
	}
	if spec.Nodes < 1 || spec.Instances < 1 || spec.Nodes*spec.Instances > 20_000 {
		return errors.New("--nodes and --instances: at least one of each, and at most 20,000 instances in all")
	}
	if tokens != "" {
		spec.Groups = 0
		spec.Tokens, err = readTokens(tokens)
		return err
	}
	password, err := readSecret(cmd.InOrStdin(), passwordFile)
	if err != nil {
		return err
	}
	if password == "" {
		return errors.New("give --password-file, or --tokens")
	}
	spec.Records = sim.NewRecords(spec.Server, account, password)
	return nil
}

// readTokens reads one name and token a line.
func readTokens(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tokens := map[string]string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		if len(words) != 2 {
			return nil, fmt.Errorf("%s, line %d: want NAME TOKEN", file, n) // without the line, which holds a token
		}
		tokens[words[0]] = words[1]
	}
	return tokens, lines.Err()
}

func joined(faults []sim.Fault) string {
	words := make([]string, len(faults))
	for i, f := range faults {
		words[i] = string(f)
	}
	return strings.Join(words, ", ")
}
