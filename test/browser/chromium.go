// Package browser is a real Chromium for tests, and somebody in front of it.
// chromium.go starts the one browser of a test program, tab.go takes steps in a
// window of it and waits for what they lead to, look.go says how a window looks
// and keeps pictures of it, complaints.go is what the browser thinks of the
// pages, and person.go comes in at the console. What the steps are about is
// said by the tests: test/console, test/signin and test/hands. A person without
// a browser, for programs that need nothing but a yes, is in test/person.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const startsWithin = time.Minute

// Chromium is a browser that starts with the first window and stays, as
// starting takes long, until Close. Its zero value is ready.
type Chromium struct {
	once sync.Once
	ctx  context.Context
	stop func()
	err  error
}

// Open opens a window that has never been anywhere, and shares no cookie with
// any other. It closes when the test ends.
func (c *Chromium) Open(t *testing.T) *Tab {
	t.Helper()
	c.once.Do(c.start)
	if c.err != nil {
		t.Fatal(c.err)
	}
	return newTab(t, c.ctx, chromedp.WithNewBrowserContext())
}

// Close ends the browser, if it was needed.
func (c *Chromium) Close() {
	if c.stop != nil {
		c.stop()
	}
}

func (c *Chromium) start() {
	path, err := find()
	if err != nil {
		c.err = err
		return
	}
	ctx, stopAll := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.WSURLReadTimeout(startsWithin),
	)
	ctx, stop := chromedp.NewContext(ctx)
	if err := chromedp.Do(ctx); err != nil {
		stop()
		stopAll()
		c.err = fmt.Errorf("start Chromium: %w", err)
		return
	}
	c.ctx = ctx
	c.stop = func() {
		if err := chromedp.Cancel(ctx); err != nil {
			fmt.Println("Chromium did not close by itself:", err)
		}
		stop()
		stopAll()
	}
}

func find() (string, error) {
	for _, name := range []string{"chromium", "google-chrome", "chromium-browser"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("Chromium is missing; run: apt-get install -y chromium") //nolint:staticcheck // a name
}
