package testbed

import (
	"context"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

var sharedBrowser struct {
	sync.Mutex
	ctx    context.Context // of the running browser
	failed error
}

// Browser returns a chromedp context with a tab of its own: cookies and storage are not shared with other tests, the
// Chromium is. It ends with the test.
func Browser(t testing.TB) context.Context {
	t.Helper()
	parent, err := browser(Require(t, "chromium"))
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("chromium: open a tab: %v", err)
	}
	return ctx
}

func browser(program string) (context.Context, error) {
	sharedBrowser.Lock()
	defer sharedBrowser.Unlock()
	if sharedBrowser.ctx != nil || sharedBrowser.failed != nil {
		return sharedBrowser.ctx, sharedBrowser.failed
	}
	ctx, err := startBrowser(program)
	if err != nil {
		sharedBrowser.failed = err
		return nil, err
	}
	sharedBrowser.ctx = ctx
	return ctx, nil
}

func startBrowser(program string) (context.Context, error) {
	dir, err := shortDir()
	if err != nil {
		return nil, err
	}
	var cmd *exec.Cmd
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en-US"),
		chromedp.WindowSize(1280, 900),
		chromedp.ModifyCmdFunc(func(c *exec.Cmd) {
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
			cmd = c
		}))
	allocator, _ := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil { // starts the browser
		return nil, err
	}
	return ctx, killAtEnd(cmd.Process.Pid)
}
