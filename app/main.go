// The command eruptcloud is the control plane of a fleet of application nodes: console, node API, proxy and registry in one
// binary. README.md shows its commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by -ldflags "-X main.version=…"; a plain build is a development build.
var version = "0.1.0-dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the default returns, so that a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:])
	stop()
	os.Exit(exitCode(err))
}

func run(ctx context.Context, args []string) error {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if code := exitCode(err); code != exitOK {
		fmt.Fprintln(os.Stderr, "eruptcloud:", err)
		if code == exitUsage {
			fmt.Fprintln(os.Stderr, "'eruptcloud --help' shows the commands, 'eruptcloud config keys' the settings.")
		}
	}
	return err
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "eruptcloud",
		Short: "Control plane of a fleet of application nodes",
		Long: `eruptcloud is the control plane of a fleet of application nodes.

Settings come from flags, then environment (EC_SECTION_KEY), then a TOML file (--config, EC_CONFIG or ./config.toml).
'eruptcloud config keys' lists them all.

Exit codes: 0 done or stopped by a signal, 1 failure while running, 2 wrong arguments or configuration,
3 database not usable, 4 address not available, 5 request refused (exists, not found, invalid); 'eruptcloud drain --help' has more.`,
		SilenceUsage: true, SilenceErrors: true, SuggestionsMinimumDistance: 2,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	s := &settings{}
	s.bind(root.PersistentFlags())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(
		newDemo(s), newServe(s), newMigrate(s), newMigrateFromErupt(), newInitMenus(s), newConfig(s), newAdmin(s), newNode(s), newDrain(s), newHealth(s), newSim(), newVersion(),
	)
	for _, c := range root.Commands() {
		refuseStrayArguments(c)
	}
	return root
}

// knownCommand refuses what is no command and says which are near.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	msg := fmt.Sprintf("%q is no command", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		msg += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usageError{errors.New(msg)}
}

// refuseStrayArguments makes wrong arguments of any command a usage error.
func refuseStrayArguments(c *cobra.Command) {
	check := c.Args
	if check == nil {
		check = cobra.NoArgs
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
	for _, sub := range c.Commands() {
		refuseStrayArguments(sub)
	}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version)
			return err
		},
	}
}
