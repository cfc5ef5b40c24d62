package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"eruptcloud/app/boot"
	"eruptcloud/app/config"
	"eruptcloud/app/fleet"
	"eruptcloud/app/sim"
	"eruptcloud/app/telemetry"
)

func newServe(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Run the control plane",
		Long: "Runs the control plane until SIGINT or SIGTERM. One line 'listening on URL' on standard output says that requests\nare accepted; logs go to standard error.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := s.load(nil)
			if err != nil {
				return err
			}
			return serve(cmd.Context(), c, cmd.OutOrStdout(), nil)
		},
	}
}

// serve runs the server, and beside it what beside starts once requests are accepted.
func serve(ctx context.Context, c *config.Config, out io.Writer, beside func(ctx context.Context, server *boot.Server) error) error {
	tail := &telemetry.Tail{}
	log := telemetry.NewLogger(tail.Beside(os.Stderr), c.Log.Level, c.Log.Format)
	slog.SetDefault(log)
	for _, w := range c.Warnings() {
		log.Warn(w)
	}
	server, err := boot.New(ctx, boot.Options{
		Config: c, Log: log, Tail: tail, Version: version, AdminPassword: os.Getenv("EC_ADMIN_PASSWORD"), Throwaway: beside != nil,
	})
	if err != nil {
		return err
	}
	if beside == nil {
		return server.Run(ctx, func() { announce(out, server) })
	}
	return together(ctx, server, func(ctx context.Context) error { return beside(ctx, server) }, func() { announce(out, server) })
}

// together runs the server and what is beside it; at the end the other leaves first, so that it can still say goodbye.
func together(ctx context.Context, server *boot.Server, beside func(context.Context) error, ready func()) error {
	serverCtx, stopServer := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServer()
	besideCtx, stopBeside := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error {
		defer stopBeside()
		return server.Run(serverCtx, func() {
			ready()
			group.Go(func() error {
				defer stopServer()
				return beside(besideCtx)
			})
		})
	})
	// Until the server is ready nothing is beside it that would stop it.
	stop := context.AfterFunc(ctx, func() {
		if !server.Ready() {
			stopServer()
		}
	})
	defer stop()
	return group.Wait()
}

func announce(out io.Writer, server *boot.Server) {
	if account, password, generated := server.FirstLogin(); generated {
		// shown once: only its hash is kept
		fmt.Fprintf(out, "first login: account %s, password %s (shown only now)\n", account, password)
	}
	fmt.Fprintf(out, "listening on %s\n", server.URL())
}

func newDemo(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Run the control plane with a small fleet beside it",
		Long: `Runs the control plane on the embedded default with three nodes, four instances, that register, beat and host pages.
Without --data everything lives in a temporary directory and is gone afterwards.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := os.MkdirTemp("", "eruptcloud-demo-")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			c, err := s.load(map[string]string{
				"server.data_dir": dir, "server.shutdown_grace": "0s", "log.format": "text", "log.level": "warn",
			})
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			return serve(cmd.Context(), c, out, func(ctx context.Context, server *boot.Server) error {
				return runFleet(ctx, server, out)
			})
		},
	}
}

// runFleet makes the demo's records where they are missing and runs its instances until ctx ends.
func runFleet(ctx context.Context, server *boot.Server, out io.Writer) error {
	tokens := make(map[string]string)
	for _, n := range sim.DemoNodes() {
		token, err := server.EnsureNode(ctx, fleet.NewNode{Name: n.Name, Display: n.Display, Group: n.Group, Enabled: true, Remark: n.Remark, Config: n.Config, By: "demo"}, n.GroupName)
		if err != nil {
			return fmt.Errorf("demo node %s: %w", n.Name, err)
		}
		tokens[n.Name] = token
	}
	fmt.Fprintf(out, "the demo fleet runs beside it: %d node names; Ctrl-C ends everything\n", len(tokens))
	return sim.New(sim.Spec{Server: server.LoopbackURL(), Tokens: tokens}).Run(ctx)
}
