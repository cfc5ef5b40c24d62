package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"eruptcloud/app/boot"
	"eruptcloud/app/takeover"
)

// errNotYet ends a report that found something to put right; what, it has printed.
var errNotYet = errors.New("something has to be put right before this installation can be taken over")

func newMigrateFromErupt() *cobra.Command {
	var o takeover.Options
	var dsnFile, redisFile, output string
	c := &cobra.Command{
		Use: "migrate-from-erupt", Short: "Report what would be taken over from an erupt installation; changes nothing",
		Long: `Reads the database and the Redis of an erupt server and the settings of the server and of its nodes, and says what this
program takes over, what it refuses and why, which configuration it needs, and what to change on the nodes. It writes
nothing: the right to read the tables is enough. Passwords and tokens are not shown.

Exit code 0: it can be taken over; 10: something has to be put right first; 2: wrong arguments; 3: the database cannot be
read; 8: Redis does not answer.`,
		Example: `  eruptcloud migrate-from-erupt --application application.yml --application node/application.properties
  eruptcloud migrate-from-erupt --dsn-file dsn --redis redis://cache:6379/0 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return usageError{fmt.Errorf("-o %s: want text or json", output)}
			}
			for file, to := range map[string]*string{dsnFile: &o.DSN, redisFile: &o.RedisURL} {
				if file == "" {
					continue
				}
				secret, err := readSecret(cmd.InOrStdin(), file)
				if err != nil {
					return err
				}
				*to = secret
			}
			report, err := takeover.Read(cmd.Context(), o)
			if err != nil {
				return failedReport(err)
			}
			if output == "json" {
				enc := json.NewEncoder(cmd.OutOrStdout())
				enc.SetIndent("", "  ")
				err = enc.Encode(report)
			} else {
				err = report.Text(cmd.OutOrStdout())
			}
			if err == nil && !report.CanBeTakenOver {
				err = exitError{exitNotYet, errNotYet}
			}
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&o.DSN, "dsn", "", "database of the erupt server: user:password@tcp(host:3306)/name (default: what --application says)")
	f.StringVar(&dsnFile, "dsn-file", "", "file that holds it, - for standard input")
	f.StringVar(&o.RedisURL, "redis", "", "Redis of the erupt server: redis://[:password@]host:6379/0 (default: what --application says)")
	f.StringVar(&redisFile, "redis-file", "", "file that holds it, - for standard input")
	f.StringVar(&o.Namespace, "namespace", "", "prefix of its keys (default: what --application says, else erupt-cloud:)")
	f.StringArrayVar(&o.Applications, "application", nil, "application.yml or .properties of the server or of a node; may be repeated, later files win")
	f.StringArrayVar(&o.Profiles, "profile", nil, "active Spring profile; may be repeated")
	f.StringVar(&o.URL, "url", "", "address at which nodes will find this program")
	f.StringVarP(&output, "output", "o", "text", "text or json")
	c.MarkFlagsMutuallyExclusive("dsn", "dsn-file")
	c.MarkFlagsMutuallyExclusive("redis", "redis-file")
	return c
}

// failedReport gives an error of the report its exit code.
func failedReport(err error) error {
	switch {
	case errors.Is(err, takeover.ErrUsage):
		return usageError{err}
	case errors.Is(err, takeover.ErrDatabase):
		return fmt.Errorf("%w: %w", boot.ErrDatabase, err)
	case errors.Is(err, takeover.ErrRedis):
		return exitError{exitNoConnection, err}
	}
	return err
}
