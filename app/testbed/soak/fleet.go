package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// fleetLoad is a fleet that comes, goes, flaps and lies.
type fleetLoad struct {
	nodes, instances, consoles int
	churn, last                time.Duration
	visits, changes            float64
}

func fleetFlags(f *flag.FlagSet, o *options) *fleetLoad {
	l := &fleetLoad{}
	f.DurationVar(&o.duration, "duration", time.Hour, "of the load")
	f.DurationVar(&o.settle, "settle", 6*time.Minute, "after the load, before the last look; idle connections of the database last five minutes")
	f.IntVar(&l.nodes, "nodes", 300, "nodes")
	f.IntVar(&l.instances, "instances", 2, "of each node")
	f.IntVar(&l.consoles, "consoles", 3, "open consoles")
	f.DurationVar(&l.churn, "churn", 10*time.Minute, "mean time between two faults of one instance")
	f.DurationVar(&l.last, "last", 20*time.Second, "mean time of a fault")
	f.Float64Var(&l.visits, "visits", 12, "requests a second to nodes; what is kept of the last requests of each node is full in the first half then")
	f.Float64Var(&l.changes, "changes", 1, "changes of a version a second")
	return l
}

func (l *fleetLoad) run(ctx context.Context, o options) error {
	s, err := startServer(o)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := pause(ctx, 20*time.Second); err != nil { // the start is over
		return err
	}
	before, err := s.sample(ctx)
	if err != nil {
		return err
	}
	beat := &pulse{}
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	go beat.run(background)

	loadCtx, stopLoad := context.WithTimeout(ctx, o.duration)
	defer stopLoad()
	events, wait, err := s.simulate(loadCtx, o, "--nodes", fmt.Sprint(l.nodes), "--instances", fmt.Sprint(l.instances), "--churn", l.churn.String(),
		"--last", l.last.String(), "--visits", fmt.Sprint(l.visits), "--changes", fmt.Sprint(l.changes), "--ramp", "30s", "--clean")
	if err != nil {
		return err
	}
	viewers := &viewers{url: s.url, started: time.Now()}
	var consoles sync.WaitGroup
	for i := range l.consoles {
		consoles.Go(func() { viewers.run(loadCtx, i) })
	}
	samples := s.watch(loadCtx, max(o.duration/240, 5*time.Second))
	simErr := wait()
	consoles.Wait()
	viewers.close()
	plain.CloseIdleConnections()
	if err := pause(ctx, o.settle); err != nil {
		return err
	}
	after, err := s.sample(ctx)
	if err != nil {
		return err
	}
	s.saveProfile(ctx, "goroutine?debug=1", filepath.Join(o.dir, "goroutines.txt"))
	s.saveProfile(ctx, "heap", filepath.Join(o.dir, "heap.pprof"))
	stopBackground()
	code := s.stop()
	return l.report(o, s, events, simErr, code, before, after, samples, beat, viewers)
}

func (l *fleetLoad) report(o options, s *server, events string, simErr error, code int, before, after sample, samples []sample, beat *pulse, v *viewers) error {
	faults, surprises, counts, err := readFaults(events)
	if err != nil {
		return err
	}
	log, err := judgeLog(s.log, faults, beat.starved)
	if err != nil {
		return err
	}
	half := secondHalf(samples)
	heap, rss := trendOf(half, heapOf), trendOf(half, rssOf)
	t := &table{}
	t.note("load", fmt.Sprintf("%d nodes × %d instances for %s, %d faults, %d consoles", l.nodes, l.instances, o.duration, len(faults), l.consoles))
	t.row("heap held, second half", fmt.Sprintf("%s, %s in %s", mib(heap.mean), percent(heap.grown), rounded(heap.over)), "+5 %", heap.grown <= 0.05)
	t.row("resident memory, second half", fmt.Sprintf("%s, %s in %s", mib(rss.mean), percent(rss.grown), rounded(rss.over)), "+5 %", rss.grown <= 0.05)
	t.row("heap held afterwards", fmt.Sprintf("%s, was %s", mib(after.heap), mib(before.heap)), "+8 MiB", after.heap-before.heap <= 8<<20)
	t.row("goroutines afterwards", fmt.Sprintf("%.0f, was %.0f", after.goroutines, before.goroutines), "+5", after.goroutines-before.goroutines <= 5)
	t.row("descriptors afterwards", fmt.Sprintf("%.0f, was %.0f", after.descriptors, before.descriptors), "+5", after.descriptors-before.descriptors <= 5)
	t.row("warnings and errors without a fault", fmt.Sprint(len(log.unexplained)), "0", len(log.unexplained) == 0)
	t.row("requests that failed at nodes without a fault", fmt.Sprint(len(surprises)), "0", len(surprises) == 0)
	t.row("exit code of the server", fmt.Sprint(code), "0", code == 0)
	t.row("end of the fleet", fmt.Sprint(simErr), "<nil>", simErr == nil)
	if len(samples) > 1 {
		last, first := samples[len(samples)-1], samples[0]
		t.note("CPU of the server", fmt.Sprintf("%.0f %% of one core", 100*(last.cpu-first.cpu)/last.at.Sub(first.at).Seconds()))
		t.note("most goroutines, descriptors", fmt.Sprintf("%.0f, %.0f", most(samples, func(s sample) float64 { return s.goroutines }), most(samples, func(s sample) float64 { return s.descriptors })))
	}
	late, worst := beat.state()
	t.note("times this machine was late, at worst", fmt.Sprintf("%d, %s", late, worst.Round(time.Millisecond)))
	t.print(o.out)
	if counts != nil {
		fmt.Fprintf(o.out, "faults %v, changes %d, answers to visits %v\n", counts.Faults, counts.Changes, counts.Visits)
	}
	fmt.Fprintf(o.out, "lines explained by faults: %s\nlines while the machine was late: %s\n", counted(log.explained), counted(log.starved))
	for _, line := range log.unexplained[:min(len(log.unexplained), 40)] {
		fmt.Fprintln(o.out, "unexplained:", line)
	}
	for _, e := range surprises[:min(len(surprises), 40)] {
		fmt.Fprintf(o.out, "surprise at %s: %s %d %s\n", e.At.Format(time.TimeOnly), e.Node, e.Status, shorten(e.Error))
	}
	fmt.Fprintln(o.out, v.summary())
	fmt.Fprintln(o.out, "minute, heap MiB, resident MiB, goroutines, descriptors:")
	for i, one := range samples {
		if i%max(len(samples)/30, 1) == 0 {
			fmt.Fprintf(o.out, "%5.1f %7.1f %7.1f %6.0f %6.0f\n", one.at.Sub(samples[0].at).Minutes(), one.heap/(1<<20), one.rss/(1<<20), one.goroutines, one.descriptors)
		}
	}
	return nil
}

func most(all []sample, value func(sample) float64) float64 {
	m := 0.0
	for _, s := range all {
		m = max(m, value(s))
	}
	return m
}

// pause waits; an error means that ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
