package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"eruptcloud/app/sim"
)

// consoleLoad is a large fleet that changes all the time, and consoles that are open on it.
type consoleLoad struct {
	nodes, consoles int
	changes         float64
	warm            time.Duration
	browser         string
}

func consoleFlags(f *flag.FlagSet, o *options) *consoleLoad {
	l := &consoleLoad{}
	f.DurationVar(&o.duration, "duration", 15*time.Minute, "of the measurement")
	f.IntVar(&l.nodes, "nodes", 2000, "nodes with one instance each")
	f.IntVar(&l.consoles, "consoles", 20, "open consoles")
	f.Float64Var(&l.changes, "changes", 50, "changes a second")
	f.DurationVar(&l.warm, "warm", 4*time.Minute, "changes before the measurement, which fill the history with 10,000 events")
	f.StringVar(&l.browser, "browser", "chromium", "program; empty: no browser")
	return l
}

// The limits that the console promises.
const (
	fragmentLimit = 50 * time.Millisecond
	firstLimit    = 150 << 10
	afterLimit    = 30 << 10
	updatesWanted = 1000
)

func (l *consoleLoad) run(ctx context.Context, o options) error {
	if l.browser != "" {
		program, err := exec.LookPath(l.browser)
		if err != nil {
			return err
		}
		l.browser = program
	}
	s, err := startServer(o, "session.ttl=10h")
	if err != nil {
		return err
	}
	defer s.stop()
	loadCtx, stopLoad := context.WithCancel(ctx)
	defer stopLoad()
	events, wait, err := s.simulate(loadCtx, o, "--nodes", fmt.Sprint(l.nodes), "--instances", "1", "--groups", "20", "--faults", "none", "--churn", "0",
		"--log-every", "0", "--changes", fmt.Sprint(l.changes), "--ramp", "90s")
	if err != nil {
		return err
	}
	if err := l.everybodyCame(ctx, events); err != nil {
		return err
	}
	if err := pause(ctx, l.warm); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "measuring for", o.duration)
	m, err := l.measure(ctx, o, s)
	s.saveProfile(ctx, "heap?gc=1", filepath.Join(o.dir, "heap.pprof"))
	stopLoad()
	simErr := wait()
	if err != nil {
		return err
	}
	if err := m.price(ctx, s); err != nil {
		return err
	}
	_, _, counts, err := readFaults(events)
	if err != nil {
		return err
	}
	m.simErr, m.counts = simErr, counts
	m.report(l, o)
	return nil
}

// everybodyCame waits until all nodes have started.
func (l *consoleLoad) everybodyCame(ctx context.Context, events string) error {
	for deadline := time.Now().Add(15 * time.Minute); time.Now().Before(deadline); {
		if err := pause(ctx, 3*time.Second); err != nil {
			return err
		}
		text, err := os.ReadFile(events)
		if err != nil {
			return err
		}
		if strings.Count(string(text), `"event":"`+sim.EventStart+`"`) >= l.nodes {
			return nil
		}
	}
	return errors.New("the fleet did not come")
}

// measured is what a run of consoles showed.
type measured struct {
	first, after int // bytes
	fragmentCPU  time.Duration
	pageCPU      time.Duration
	samples      []sample
	viewers      *viewers
	tab          *tabFigures // nil: no browser
	beat         *pulse
	simErr       error
	counts       *sim.Counts
}

func (l *consoleLoad) measure(ctx context.Context, o options, s *server) (*measured, error) {
	m := &measured{viewers: &viewers{url: s.url, started: time.Now()}, beat: &pulse{}}
	defer m.viewers.close()
	if err := m.viewers.session(ctx); err != nil {
		return nil, err
	}
	var err error
	if m.first, m.after, err = m.viewers.weigh(ctx, "/console/nodes"); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.duration)
	defer cancel()
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { m.beat.run(ctx) })
	for i := range l.consoles {
		beside.Go(func() { m.viewers.run(ctx, i) })
	}
	beside.Go(func() {
		if pause(ctx, min(20*time.Second, o.duration/10)) == nil {
			m.viewers.reset() // opening the pages is no fragment
		}
	})
	if l.browser != "" {
		beside.Go(func() { m.tab = watchTab(ctx, l.browser, s.url, o.duration/60) })
	}
	m.samples = s.watch(ctx, max(o.duration/60, 2*time.Second))
	beside.Wait()
	return m, nil
}

// price asks for the same thing again and again while nothing else happens, and sees what CPU it takes: a figure that does not
// depend on what else the machine does.
func (m *measured) price(ctx context.Context, s *server) error {
	const times = 100
	defer m.viewers.close()
	for _, fragment := range []bool{true, false} {
		before, err := s.sample(ctx)
		if err != nil {
			return err
		}
		for range times {
			if _, _, _, err := m.viewers.fetch(ctx, "/console/nodes", fragment); err != nil {
				return err
			}
		}
		after, err := s.sample(ctx)
		if err != nil {
			return err
		}
		each := time.Duration((after.cpu - before.cpu) / times * float64(time.Second))
		if fragment {
			m.fragmentCPU = each
		} else {
			m.pageCPU = each
		}
	}
	return nil
}

func (m *measured) report(l *consoleLoad, o options) {
	t := &table{}
	changes := 0
	if m.counts != nil {
		changes = m.counts.Changes
	}
	t.note("load", fmt.Sprintf("%d nodes, %d consoles for %s, %d changes in all", l.nodes, l.consoles, o.duration, changes))
	p95 := percentile(m.viewers.took, 0.95)
	t.note("fragments, each on the wire", fmt.Sprintf("%d, %.1f KiB", len(m.viewers.took), float64(m.viewers.bytes)/1024/float64(max(len(m.viewers.took), 1))))
	t.note("fragment p50", millis(percentile(m.viewers.took, 0.5)))
	t.row("fragment p95", millis(p95), millis(fragmentLimit), p95 < fragmentLimit)
	calm := m.viewers.undisturbed(m.beat)
	calm95 := percentile(calm, 0.95)
	t.row("fragment p95 while the machine had time", fmt.Sprintf("%s, of %d", millis(calm95), len(calm)), millis(fragmentLimit), calm95 < fragmentLimit)
	t.note("CPU of the server for a fragment, and for a page, of the node list", millis(m.fragmentCPU)+", "+millis(m.pageCPU))
	t.note("fragment p99", millis(percentile(m.viewers.took, 0.99)))
	t.row("failed requests of consoles", fmt.Sprint(len(m.viewers.failed))+" "+counted(m.viewers.failed), "0", len(m.viewers.failed) == 0)
	t.row("first load, compressed", fmt.Sprintf("%.1f KB", float64(m.first)/1000), "150 KB", m.first < firstLimit)
	t.row("loads after it", fmt.Sprintf("%.1f KB", float64(m.after)/1000), "30 KB", m.after < afterLimit)
	if m.tab != nil {
		m.tab.rows(t)
	}
	if n := len(m.samples); n > 1 {
		last, first := m.samples[n-1], m.samples[0]
		heap := trendOf(secondHalf(m.samples), heapOf)
		t.row("heap of the server, second half", fmt.Sprintf("%s, %s", mib(heap.mean), percent(heap.grown)), "+5 %", heap.grown <= 0.05)
		t.note("CPU of the server", fmt.Sprintf("%.0f %% of one core", 100*(last.cpu-first.cpu)/last.at.Sub(first.at).Seconds()))
		t.note("resident memory, goroutines, descriptors", fmt.Sprintf("%s, %.0f, %.0f", mib(last.rss), last.goroutines, last.descriptors))
	}
	late, worst := m.beat.state()
	t.note("times this machine was late, at worst", fmt.Sprintf("%d, %s", late, worst.Round(time.Millisecond)))
	t.row("end of the fleet", fmt.Sprint(m.simErr), "<nil>", m.simErr == nil)
	t.print(o.out)
	if m.tab != nil {
		fmt.Fprintln(o.out, m.tab.course())
	}
}

var asset = regexp.MustCompile(`(?:href|src|data-worker)="(/[^"]*static/[^"]*)"`)

// weigh counts the bytes of a page and of all that it needs: at first, and with what a browser has kept.
func (v *viewers) weigh(ctx context.Context, page string) (first, after int, err error) {
	body, status, _, err := v.fetch(ctx, page, false)
	if err != nil || status != http.StatusOK {
		return 0, 0, errors.Join(err, fmt.Errorf("%s answered %d", page, status))
	}
	size := func(path string) (n int, kept bool, err error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.url+path, http.NoBody)
		if err != nil {
			return 0, false, err
		}
		r.Header.Set("Accept-Encoding", "gzip, br")
		r.Header.Set("Accept", "*/*")
		res, err := v.http().Do(r)
		if err != nil {
			return 0, false, err
		}
		defer res.Body.Close()
		n, err = drained(res)
		return n, strings.Contains(res.Header.Get("Cache-Control"), "immutable"), err
	}
	seen := map[string]bool{}
	for _, path := range append([]string{page}, matches(asset, body)...) {
		if seen[path] {
			continue
		}
		seen[path] = true
		n, kept, err := size(path)
		if err != nil {
			return 0, 0, err
		}
		first += n
		if !kept {
			after += n
		}
	}
	return first, after, nil
}

func matches(re *regexp.Regexp, text string) []string {
	var all []string
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}
