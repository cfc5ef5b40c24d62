package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed tab.js
var tabScript string

// tabFigures are what a real browser's tab on the node list showed.
type tabFigures struct {
	mu       sync.Mutex
	heap     []sample // heap only
	nodes    []int64  // of the DOM
	counts   tabCounts
	problems []string
	err      error
}

// tabCounts are what tab.js counts.
type tabCounts struct {
	Updates    int      `json:"updates"`
	Rows       int      `json:"rows"`
	Fragments  int      `json:"fragments"`
	FocusLost  int      `json:"focusLost"`
	ScrollLost int      `json:"scrollLost"`
	Lost       []string `json:"lost"`
}

// watchTab keeps the node list open in a browser until ctx ends, and looks every interval.
func watchTab(ctx context.Context, program, url string, every time.Duration) *tabFigures {
	f := &tabFigures{}
	if err := f.watch(ctx, program, url, max(every, 2*time.Second)); err != nil && ctx.Err() == nil {
		f.err = err
	}
	return f
}

func (f *tabFigures) watch(ctx context.Context, program, url string, every time.Duration) error {
	dir, err := os.MkdirTemp("", "soak-browser-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(ctx), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(dir), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 900),
		chromedp.ModifyCmdFunc(func(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL} }))...)
	defer stop()
	tab, closeTab := chromedp.NewContext(allocator)
	defer closeTab()
	if err := f.open(tab, url); err != nil {
		return err
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for n := 0; ; n++ {
		held, err := chromedp.Run(tab, chromedp.Evaluate[string](fmt.Sprintf("window.soak.hold(%q)", []string{"row", "search"}[n%2])))
		if err != nil {
			return err
		}
		if strings.HasPrefix(held, "nothing") {
			f.problem(held)
		}
		select {
		case <-ctx.Done():
			return f.look(tab)
		case <-ticker.C:
		}
		if err := f.look(tab); err != nil {
			return err
		}
	}
}

// open logs in and opens the node list.
func (f *tabFigures) open(tab context.Context, url string) error {
	if err := chromedp.Do(tab); err != nil {
		return err
	}
	err := chromedp.Listen(tab, func(ev any) {
		if e, ok := ev.(*runtime.EventExceptionThrown); ok && e.ExceptionDetails != nil {
			f.problem("exception: " + e.ExceptionDetails.Text)
		}
	})
	if err != nil {
		return err
	}
	return chromedp.Do(tab,
		func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
			_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: tabScript})
			return chromedp.Void{}, err
		},
		chromedp.Navigate(url+"/console/login"),
		chromedp.SetValue(chromedp.CSS("input[name=account]"), account),
		chromedp.SetValue(chromedp.CSS("input[name=password]"), password),
		chromedp.Submit(chromedp.CSS("input[name=password]")),
		chromedp.WaitVisible(chromedp.CSS("main")),
		chromedp.Navigate(url+"/console/nodes"),
		chromedp.WaitVisible(chromedp.CSS("tbody tr")),
	)
}

// look collects garbage and notes what is left, and what the page has counted.
func (f *tabFigures) look(tab context.Context) error {
	var used runtime.GetHeapUsageResult
	var dom memory.GetDOMCountersResult
	err := chromedp.Do(tab, func(ctx context.Context, t *chromedp.Target) (_ chromedp.Void, err error) {
		for range 2 { // what the first leaves to finalizers the second takes
			if _, err = cdp.Call(ctx, t, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
				return
			}
		}
		if used, err = cdp.Call(ctx, t, runtime.GetHeapUsage, cdp.Empty{}); err != nil {
			return
		}
		dom, err = cdp.Call(ctx, t, memory.GetDOMCounters, cdp.Empty{})
		return
	})
	if err != nil {
		return err
	}
	counts, err := chromedp.Run(tab, chromedp.Evaluate[tabCounts]("({...window.soak})"))
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heap = append(f.heap, sample{at: time.Now(), heap: used.UsedSize})
	f.nodes = append(f.nodes, dom.Nodes)
	f.counts = counts
	return nil
}

func (f *tabFigures) problem(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.problems) < 20 {
		f.problems = append(f.problems, what)
	}
}

func (f *tabFigures) rows(t *table) {
	if f.err != nil {
		t.row("browser", f.err.Error(), "runs", false)
		return
	}
	heap := trendOf(secondHalf(f.heap), heapOf)
	t.row("heap of the browser's page, second half", fmt.Sprintf("%s, %s in %s", mib(heap.mean), percent(heap.grown), rounded(heap.over)), "+5 % or 256 KiB", heap.grown <= 0.05 || heap.grown*heap.mean <= 256<<10)
	c := f.counts
	t.row("updates of the page", fmt.Sprintf("%d, with %d rows, from %d fragments", c.Updates, c.Rows, c.Fragments), fmt.Sprintf("at least %d rows", updatesWanted), c.Rows >= updatesWanted)
	t.row("focus lost", fmt.Sprint(c.FocusLost), "0", c.FocusLost == 0)
	t.row("scroll lost", fmt.Sprint(c.ScrollLost), "0", c.ScrollLost == 0)
	t.row("problems in the page", fmt.Sprint(len(f.problems)), "0", len(f.problems) == 0)
}

// course is how the page's memory went, and what was lost.
func (f *tabFigures) course() string {
	var b strings.Builder
	b.WriteString("browser, minute: heap MiB (nodes of the DOM):")
	for i, s := range f.heap {
		if i%max(len(f.heap)/15, 1) == 0 {
			fmt.Fprintf(&b, " %.0f: %.1f (%d)", s.at.Sub(f.heap[0].at).Minutes(), s.heap/(1<<20), f.nodes[i])
		}
	}
	for _, what := range append(f.counts.Lost, f.problems...) {
		b.WriteString("\n" + what)
	}
	return b.String()
}
