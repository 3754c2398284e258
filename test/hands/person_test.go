package hands

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const (
	startsWithin = time.Minute
	stepsWithin  = time.Minute // generous: the machine may be busy
)

// startBrowser starts a Chromium with nothing in it.
func startBrowser(ctx context.Context, dir string) (context.Context, func(), error) {
	var path string
	for _, name := range []string{"chromium", "google-chrome", "chromium-browser"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		return nil, nil, errors.New("Chromium is missing; run: apt-get install -y chromium") //nolint:staticcheck // a name
	}
	ctx, stopAll := chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.UserDataDir(dir+"/chromium"), chromedp.WSURLReadTimeout(startsWithin),
	)
	ctx, stop := chromedp.NewContext(ctx)
	if err := chromedp.Do(ctx); err != nil {
		stopAll()
		return nil, nil, fmt.Errorf("start Chromium: %w", err)
	}
	return ctx, func() {
		if err := chromedp.Cancel(ctx); err != nil {
			fmt.Println("Chromium did not close by itself:", err)
		}
		stop()
		stopAll()
	}, nil
}

// window is a person's, with cookies of its own.
type window struct {
	t   *testing.T
	ctx context.Context
}

// window opens one that is signed in and shows the inbox.
func (w *world) window() *window {
	w.t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	w.t.Cleanup(cancel)
	// The first steps bind the window to their context, so this one is not to
	// end before the test does.
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800)); err != nil {
		w.t.Fatalf("open a window: %v", err)
	}
	b := &window{w.t, ctx}
	b.do(
		chromedp.Navigate(w.web+"/approvals"), chromedp.WaitVisible(`form[action="/signin"]`),
		chromedp.SendKeys(`input[name="email"]`, owner),
		chromedp.SendKeys(`input[name="password"]`, password),
		chromedp.Click(`form[action="/signin"] button[type="submit"]`), chromedp.WaitVisible(`#inbox`),
	)
	return b
}

// do takes steps, all of which must work.
func (b *window) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepsWithin)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v\non %s", err, b.sees())
	}
}

// sees is what is in the window.
func (b *window) sees() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body?.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// read returns what an expression gives on the page.
func (b *window) read(expression string) string {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		b.t.Fatalf("%.80s: %v", expression, err)
	}
	return v
}

// awaits waits until the page makes an expression true.
func (b *window) awaits(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepsWithin)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(stepsWithin)))
		if err == nil {
			return
		}
		// The page that it asked has made way for another.
		left := strings.Contains(err.Error(), "navigated or closed") || strings.Contains(err.Error(), "Cannot find context")
		if ctx.Err() != nil || !left {
			b.t.Fatalf("%s: %v\non %s", expression, err, b.sees())
		}
	}
}

// asked waits for the one question in the inbox, which comes by itself, and
// returns which tool it is about and with which arguments.
func (b *window) asked() (tool, arguments string) {
	b.t.Helper()
	b.awaits(`document.querySelectorAll("[data-ask]").length === 1`)
	return b.read(`document.querySelector("[data-ask] .tool").innerText`), b.read(`document.querySelector("[data-ask] .arguments").innerText`)
}

// approve presses the button.
func (b *window) approve() {
	b.t.Helper()
	b.do(chromedp.Click(`[data-approve]`))
	b.awaits(`!!document.querySelector(".note.good")?.textContent.includes("Approved")`)
}

// reject gives a reason and presses the other.
func (b *window) reject(reason string) {
	b.t.Helper()
	b.do(chromedp.SendKeys(`input[data-reject]`, reason), chromedp.Click(`form.reject button`))
	b.awaits(`!!document.querySelector(".note.good")?.textContent.includes("Rejected")`)
}

// empty waits until nothing is left to decide.
func (b *window) empty() {
	b.t.Helper()
	b.awaits(`!!document.querySelector("#inbox .empty")`)
}
