package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"eruptcloud/app/boot"
	"eruptcloud/app/config"
)

// migrateFlags are what the command migrate is asked for.
type migrateFlags struct{ adopt, dryRun, leave, yes bool }

func newMigrate(s *settings) *cobra.Command {
	var f migrateFlags
	c := &cobra.Command{
		Use: "migrate", Short: "Apply pending database migrations, or adopt the database of an erupt installation",
		Long: `Applies pending migrations. A database that holds an erupt installation is refused (exit code 3) unless --adopt is given.

--adopt lets this program work on the database of erupt 1.12 to 2.3, beside a Java server or in its place. Tables of its own,
and those of erupt's that are absent, are added; a table that was there before is never altered, neither now nor by later
migrations. Users log in with the passwords that they have, access tokens stay readable for a Java server. Menus are added by
'init-menus' only. It may be called again.

--leave drops what --adopt made: config history, holds, drains, limits of roles. Erupt's tables stay, with all rows.
Stop this program's servers first.

Exit codes: 0 done, 2 wrong arguments, 3 the database is not usable, or not one to adopt or to leave.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.load(nil)
			if err != nil {
				return err
			}
			return migrate(cmd, c, f)
		},
	}
	c.Flags().BoolVar(&f.adopt, "adopt", false, "work on the database of an erupt installation, none of whose tables is altered")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the statements that would be run, and run none")
	c.Flags().BoolVar(&f.leave, "leave", false, "drop this program's tables from an adopted database; needs --yes")
	c.Flags().BoolVar(&f.yes, "yes", false, "with --leave: do it")
	return c
}

func migrate(cmd *cobra.Command, c *config.Config, f migrateFlags) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	switch {
	case f.leave && (f.adopt || f.dryRun):
		return usageError{errors.New("--leave goes with neither --adopt nor --dry-run")}
	case f.leave && !f.yes:
		return usageError{errors.New("--leave drops config history, holds, drains and limits of roles for good; say so with --yes")}
	case f.leave:
		dropped, kept, err := boot.Leave(ctx, c)
		for _, table := range dropped {
			fmt.Fprintln(out, "dropped", table)
		}
		for _, table := range kept {
			fmt.Fprintln(out, "kept", table, "because it has rows; it was made by this program for erupt")
		}
		return err
	case f.dryRun:
		return printPlan(cmd, c, f.adopt, out)
	}
	applied, err := boot.Migrate(ctx, c, f.adopt)
	for _, name := range applied {
		fmt.Fprintln(out, "applied", name)
	}
	if err == nil && len(applied) == 0 {
		fmt.Fprintln(out, "nothing to do")
	}
	return err
}

func printPlan(cmd *cobra.Command, c *config.Config, adopt bool, out io.Writer) error {
	plan, err := boot.PlanMigration(cmd.Context(), c, adopt)
	if err != nil {
		return err
	}
	if plan.Shape.Adopted {
		fmt.Fprintf(out, "-- tables of erupt %s, not touched: %s\n", plan.Shape.Generation, strings.Join(plan.Untouched, ", "))
	}
	for _, statement := range plan.Statements {
		fmt.Fprintln(out, strings.TrimSuffix(statement, ";")+";")
	}
	if len(plan.Statements) == 0 {
		fmt.Fprintln(out, "-- nothing to do")
	}
	return nil
}
