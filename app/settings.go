package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"eruptcloud/app/config"
)

// settings are the flags that all commands share.
type settings struct {
	file, listen, data, basePath string
	set                          []string
}

func (s *settings) bind(f *pflag.FlagSet) {
	f.StringVar(&s.file, "config", "", "configuration file (default EC_CONFIG, then ./config.toml if it exists)")
	f.StringVar(&s.listen, "listen", "", "address to listen on, e.g. :8080 or 127.0.0.1:0 (server.listen)")
	f.StringVar(&s.data, "data", "", "directory of database, keys and uploads (server.data_dir)")
	f.StringVar(&s.basePath, "base-path", "", "path that everything is served under, e.g. /fleet (server.base_path)")
	f.StringArrayVar(&s.set, "set", nil, "any setting as KEY=VALUE, e.g. --set log.level=debug; may be repeated")
}

// load reads the configuration; defaults are the command's own, which file, environment and flags override.
func (s *settings) load(defaults map[string]string) (*config.Config, error) {
	flags := make(map[string]string, len(s.set)+3)
	for _, pair := range s.set {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, usageError{fmt.Errorf("--set %s: want KEY=VALUE", pair)}
		}
		flags[k] = v
	}
	for k, v := range map[string]string{"server.listen": s.listen, "server.data_dir": s.data, "server.base_path": s.basePath} {
		if v != "" {
			flags[k] = v
		}
	}
	file := s.file
	if file == "" {
		file = os.Getenv("EC_CONFIG")
	}
	c, err := config.Load(config.Sources{File: file, Flags: flags, Environ: os.Environ(), Defaults: defaults})
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

func newConfig(s *settings) *cobra.Command {
	parent := &cobra.Command{Use: "config", Short: "Check and show settings"}
	parent.AddCommand(
		&cobra.Command{
			Use: "check", Short: "Say whether the configuration is valid",
			RunE: func(cmd *cobra.Command, _ []string) error {
				c, err := s.load(nil)
				if err != nil {
					return err
				}
				for _, w := range c.Warnings() {
					fmt.Fprintln(cmd.ErrOrStderr(), "warning:", w)
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "the configuration is valid")
				return err
			},
		},
		&cobra.Command{
			Use: "dump", Short: "Show every setting in effect as TOML, secrets masked",
			RunE: func(cmd *cobra.Command, _ []string) error {
				c, err := s.load(nil)
				if err != nil {
					return err
				}
				return c.Dump(cmd.OutOrStdout())
			},
		},
		&cobra.Command{
			Use: "keys", Short: "List all settings with variable, default and meaning",
			RunE: func(cmd *cobra.Command, _ []string) error {
				for _, k := range config.Keys() {
					def := k.Default
					if def == "" {
						def = "-"
					}
					if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%-40s %-46s %-14s %s\n", k.Path, k.Env(), def, k.Doc); err != nil {
						return err
					}
				}
				return nil
			},
		},
	)
	return parent
}
