package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// drainOptions are the flags of the command drain.
type drainOptions struct {
	remote
	instance, reason, output string
	wait, force, undo        bool
	timeout                  time.Duration
}

func newDrain(s *settings) *cobra.Command {
	var o drainOptions
	c := &cobra.Command{
		Use: "drain NODE", Short: "Take a node's instance out of routing and wait until it is safe to stop",
		Long: `Asks a running server to send nothing more to an instance (or to all instances of a node), which finishes what it works on.
With --wait it ends when no replica of the server has a request open to it. The drain ends by itself when the instance leaves;
what starts at its address afterwards takes requests. --undo calls it off.

  eruptcloud drain orders --instance http://10.0.3.17:8081 --wait --timeout 5m && systemctl restart orders

Exit codes: 0 safe to stop (without --wait: ordered), 1 failure or interrupted, 2 wrong arguments,
5 refused (no permission, not logged in, no other instance takes requests and no --force, or the drain was called off),
6 no such node or instance, or none is registered, 7 not safe to stop within --timeout (the drain stays), 8 no connection to the server, or it is not found at this address (base path).`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.output != "text" && o.output != "json" {
				return usageError{fmt.Errorf("-o %s: want text or json", o.output)}
			}
			if o.instance == "" && cmd.Flags().Changed("instance") { // of a script whose variable is empty: not all of the node
				return usageError{errors.New("--instance is empty: name an instance, or leave the flag out for all of them")}
			}
			if o.timeout < 0 {
				return usageError{fmt.Errorf("--timeout %s: want 0 or more", o.timeout)}
			}
			if o.undo && (o.wait || o.force) {
				return usageError{errors.New("--undo goes with neither --wait nor --force")}
			}
			api, done, err := o.open(cmd.Context(), s, cmd.InOrStdin())
			if err == nil {
				defer done()
				d := &drainer{drainOptions: o, api: api, node: args[0], out: cmd.OutOrStdout(), progress: cmd.ErrOrStderr()}
				err = d.run(cmd.Context())
			}
			return drainExit(cmd.Context(), api.located(cmd.Context(), err))
		},
	}
	f := c.Flags()
	o.bind(f)
	f.StringVar(&o.instance, "instance", "", "instance id, or one of its addresses (default: all instances of the node)")
	f.StringVar(&o.reason, "reason", "", "reason that the console shows")
	f.BoolVar(&o.wait, "wait", false, "wait until it is safe to stop")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "how long to wait; 0 waits without end")
	f.BoolVar(&o.force, "force", false, "also when no other instance takes requests")
	f.BoolVar(&o.undo, "undo", false, "call the drain off")
	f.StringVarP(&o.output, "output", "o", "text", "text or json")
	return c
}

// errNotSafe tells that the time was over before the work was.
var errNotSafe = errors.New("not safe to stop yet")

// drainExit gives an error the exit code that the command documents.
func drainExit(ctx context.Context, err error) error {
	var p *problem
	var lost unreached
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return exitError{exitFailure, errors.New("interrupted: the drain stays as it was ordered")} // no script may take this for done
	case errors.Is(err, errNotSafe):
		return exitError{exitTimeout, err}
	case errors.As(err, &lost):
		return exitError{exitNoConnection, err}
	case errors.As(err, &p) && p.Status == http.StatusNotFound:
		return exitError{exitNotFound, err}
	case errors.As(err, &p) && p.Status < 500:
		return exitError{exitRefused, err}
	}
	return err
}

// drainer carries out one call of the command.
type drainer struct {
	drainOptions
	api           *client
	node          string
	out, progress io.Writer
	said          string
}

func (d *drainer) run(ctx context.Context) error {
	path := "/api/v1/nodes/" + url.PathEscape(d.node)
	if d.instance != "" {
		id, err := d.resolve(ctx, path)
		if err != nil {
			return err
		}
		path += "/instances/" + url.PathEscape(id)
	}
	path += "/drain"
	if d.undo {
		return d.callOff(ctx, path)
	}
	now, err := d.order(ctx, path)
	if err != nil {
		return err
	}
	these := now.all()
	if len(these) == 0 { // nothing was ordered: what runs all the same, as after a restart of the server, gets requests with its next beat
		return &problem{Status: http.StatusNotFound, Message: fmt.Sprintf("no instance of node %q is registered", d.node)}
	}
	report := d.reportOf(these, now.Instances, now.Away...)
	if d.wait && !report.SafeToStop {
		report, err = d.await(ctx, these, report)
	}
	if printErr := d.print(report); err == nil {
		err = printErr
	}
	return err
}

// resolve finds the id of an instance that is named by an address: a Java node draws a new id at each start.
func (d *drainer) resolve(ctx context.Context, path string) (string, error) {
	if !strings.Contains(d.instance, "://") {
		return d.instance, nil
	}
	var all nodeStatus
	if err := d.api.call(ctx, http.MethodGet, path+"/drain", nil, &all); err != nil {
		return "", err
	}
	wanted := strings.TrimRight(d.instance, "/")
	for _, in := range all.Instances {
		if slices.Contains(in.Locations, wanted) {
			return in.InstanceID, nil
		}
	}
	return "", &problem{Status: http.StatusNotFound, Message: fmt.Sprintf("node %q has no instance at %s", d.node, d.instance)}
}

// order starts the drain and returns the instances that it is for, with those of earlier orders that are away.
func (d *drainer) order(ctx context.Context, path string) (nodeStatus, error) {
	wish := map[string]any{"reason": d.reason, "force": d.force}
	if d.instance == "" {
		var all nodeStatus
		err := d.api.call(ctx, http.MethodPut, path, wish, &all)
		return all, err
	}
	var one drainStatus
	err := d.api.call(ctx, http.MethodPut, path, wish, &one)
	return nodeStatus{Instances: []drainStatus{one}}, err
}

func (d *drainer) callOff(ctx context.Context, path string) error {
	if err := d.api.call(ctx, http.MethodDelete, path, nil, nil); err != nil {
		return err
	}
	if d.output == "json" {
		return json.NewEncoder(d.out).Encode(map[string]any{"node": d.node, "undone": true})
	}
	_, err := fmt.Fprintf(d.out, "the drain of %s is called off\n", d.subject())
	return err
}

// pollInterval is how often a waiting command asks.
const pollInterval = 500 * time.Millisecond

// await asks until it is safe to stop these. A server that restarts meanwhile is asked again until the time is over.
func (d *drainer) await(ctx context.Context, these []drainStatus, report drainReport) (drainReport, error) {
	if d.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d.timeout, errNotSafe)
		defer cancel()
	}
	ticks := time.NewTicker(pollInterval)
	defer ticks.Stop()
	var failed error
	away := awayWatch{drainer: d, orders: map[string]int64{}}
	for {
		d.say(report, failed)
		select {
		case <-ctx.Done():
			if failed != nil && errors.Is(context.Cause(ctx), errNotSafe) {
				return report, failed
			}
			return report, fmt.Errorf("%w: in flight %d after %s", context.Cause(ctx), report.InFlight, d.timeout)
		case <-ticks.C:
		}
		var now nodeStatus
		err := d.api.call(ctx, http.MethodGet, "/api/v1/nodes/"+url.PathEscape(d.node)+"/drain", nil, &now)
		if ctx.Err() != nil {
			continue
		}
		if failed = err; err != nil {
			if !passes(err) {
				return report, err
			}
			continue
		}
		report = d.reportOf(these, now.Instances, now.Away...)
		settled, err := away.look(ctx, report)
		if failed = err; err != nil && !passes(err) {
			return report, err
		}
		if !settled {
			continue
		}
		for _, in := range report.Instances {
			if in.State != "draining" {
				return report, &problem{Status: http.StatusConflict, Message: fmt.Sprintf("the drain of instance %s was called off", in.InstanceID)}
			}
		}
		if report.SafeToStop {
			d.say(report, nil)
			return report, nil
		}
	}
}

// passes reports whether a failure may be over at the next try.
func passes(err error) bool {
	var p *problem
	var lost unreached
	return errors.As(err, &lost) || errors.As(err, &p) && (p.Status >= 500 || p.Status == http.StatusTooManyRequests)
}
