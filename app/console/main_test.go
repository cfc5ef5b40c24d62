package console

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// the browser that tests share lives as long as we do
	const lib = "github.com/chromedp/chromedp."
	browser := []goleak.Option{goleak.IgnoreAnyFunction("os/exec.(*Cmd).watchCtx")}
	for _, f := range []string{
		"(*Browser).run", "(*Browser).run.func1", "(*ExecAllocator).Allocate.func3", "(*ExecAllocator).Allocate.func4", "(*PipeConn).Read",
		"(*Target).run", "(*Target).run.func1", "(*browserOutput).copy", "NewContext.func1", "startCmd.func1",
	} {
		browser = append(browser, goleak.IgnoreAnyFunction(lib+f))
	}
	goleak.VerifyTestMain(m, browser...)
}
