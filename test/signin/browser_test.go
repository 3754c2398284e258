//go:build unix

package signin

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser is the one Chromium of all tests; each has profiles of its own in it.
var browser context.Context

const (
	startsWithin = time.Minute
	stepsWithin  = time.Minute // generous: the machine may be busy
)

// startBrowser starts it with nothing in it.
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

// tab is a person's window.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// newProfile is a browser that has never been anywhere, and shares no cookie
// with any other.
func newProfile(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	// The first steps bind the window to their context, so this one is not to
	// end before the test does.
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800)); err != nil {
		t.Fatalf("open a window: %v", err)
	}
	return &tab{t, ctx}
}

// do takes steps, all of which must work.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepsWithin)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v\non %s", err, b.sees())
	}
}

// sees is what is in the window, for the report of a failure.
func (b *tab) sees() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body?.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// eval returns what an expression gives on the page, now or later.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.80s: %v", expression, err)
	}
	return v
}

// opens goes to an address and returns the status of the page that it ends on.
func (b *tab) opens(address string) int64 {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepsWithin)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, chromedp.Navigate(address))
	if err != nil {
		b.t.Fatalf("%s: %v", address, err)
	}
	return response.Status
}

const (
	personEmail    = "ann@example.com"
	personPassword = "honey in the morning"
)

// signUp uses a link that works once.
func (b *tab) signUp(link string) {
	b.t.Helper()
	b.do(
		chromedp.Navigate(link),
		chromedp.SendKeys(`input[name="name"]`, "Ann"),
		chromedp.Clear(`input[name="email"]`),
		chromedp.SendKeys(`input[name="email"]`, personEmail),
		chromedp.SendKeys(`input[name="password"]`, personPassword),
		chromedp.Click(`button[type="submit"]`),
		chromedp.WaitVisible(`#calls-title`),
	)
}

// signIn fills in the page that one gets to see who is not signed in.
func (b *tab) signIn() {
	b.t.Helper()
	b.awaits(`document.readyState === "complete" && location.pathname === "/signin"`)
	b.do(
		chromedp.SendKeys(`input[name="email"]`, personEmail),
		chromedp.SendKeys(`input[name="password"]`, personPassword),
		chromedp.Click(`form[action="/signin"] button[type="submit"]`),
	)
}

// pick leaves exactly these agents ticked.
func (b *tab) pick(agents ...string) {
	b.t.Helper()
	for _, id := range eval[[]string](b, `[...document.querySelectorAll('input[name="agent"]')].map(e => e.value)`) {
		box := fmt.Sprintf(`input[name="agent"][value=%q]`, id)
		if slices.Contains(agents, id) != eval[bool](b, fmt.Sprintf(`document.querySelector(%q).checked`, box)) {
			b.do(chromedp.Click(box))
		}
	}
	if got := b.picked(); !slices.Equal(got, agents) {
		b.t.Fatalf("%v are ticked, not %v", got, agents)
	}
}

func (b *tab) picked() []string {
	b.t.Helper()
	return eval[[]string](b, `[...document.querySelectorAll('input[name="agent"]:checked')].map(e => e.value)`)
}

// consents opens the address that a client gives, signs in and allows it some
// agents. Where that leads is for the client to notice.
func (b *tab) consents(address, client string, agents ...string) {
	b.t.Helper()
	b.do(chromedp.Navigate(address), chromedp.WaitVisible(`#app`))
	b.signIn()
	b.do(chromedp.WaitVisible(`#consent`))
	host := eval[string](b, `document.querySelector("#client-host")?.innerText ?? ""`)
	if documented := client == documentedName; documented != (host == documents.Listener.Addr().String()) {
		b.t.Errorf("the page says that the client comes from %q", host)
	}
	if got := eval[string](b, `document.querySelector("#client").innerText`); got != client {
		b.t.Errorf("the page names the client %q, not %q", got, client)
	}
	b.pick(agents...)
	b.do(chromedp.Click(`button[value="allow"]`))
}

// disconnects takes back in the console what a client was allowed.
func (b *tab) disconnects(web, client string) {
	b.t.Helper()
	b.do(chromedp.Navigate(web+"/apps"), chromedp.WaitVisible(`[data-grant]`))
	if got := eval[string](b, `[...document.querySelectorAll("[data-grant] strong")].map(e => e.innerText).join()`); got != client {
		b.t.Fatalf("connected apps: %q, not %q", got, client)
	}
	eval[bool](b, `window.confirm = () => true; true`)
	b.do(chromedp.Click(`[data-grant] .danger`), chromedp.WaitNotPresent(`[data-grant]`))
}

// awaits waits until the page makes an expression true.
func (b *tab) awaits(expression string) {
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

// presses clicks the button of that text, on a page that is not ours.
func (b *tab) presses(text string) {
	b.t.Helper()
	b.awaits(fmt.Sprintf(`(() => {
		const found = [...document.querySelectorAll("button")].find(e => e.innerText.trim() === %q && !e.disabled);
		found?.setAttribute("data-press", %[1]q);
		return !!found;
	})()`, text))
	b.do(chromedp.Click(fmt.Sprintf(`[data-press=%q]`, text)))
}
