// Package console tests the web console in a real Chromium: that a person can
// come in and look around, wide and narrow, light and dark (rooms_test.go),
// that what is live is (live_test.go), that an agent is made and its skills
// looked after (skills_test.go), that people can talk with agents and decide
// while they do (chat_test.go), that the inbox works (approvals_test.go), that
// consent leads back to the program
// that asked (consent_test.go), and that nobody is kept out who uses no mouse
// or no eyes (axe_test.go). browser_test.go drives the browser.
//
// Pictures for docs/images are taken with: go test ./test/console -pictures
// Every page in every look is put into a folder with: -album FOLDER
package console

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/apptest"
)

var (
	pictures = flag.Bool("pictures", false, "write docs/images")
	album    = flag.String("album", "", "folder for a picture of every page in every look")
)

const (
	testWithin   = 4 * time.Minute
	stepsWithin  = time.Minute // generous: the machine may be busy
	testEmail    = "ann@example.com"
	testPassword = "honey in the morning"
)

// tab is one page of a browser, and what its console said.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu   sync.Mutex
	said []string
}

// open starts a browser with nothing in it.
func open(t *testing.T) *tab {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "google-chrome", "chromium-browser"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("Chromium is missing; run: apt-get install -y chromium")
	}
	ctx, cancel := context.WithTimeout(t.Context(), testWithin)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx,
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("hide-scrollbars", true), chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(time.Minute),
	)
	t.Cleanup(cancel)
	return newTab(t, ctx)
}

// window opens another window of the same browser, with the same cookies.
func (b *tab) window(target string) *tab {
	b.t.Helper()
	w := newTab(b.t, b.ctx)
	w.do(chromedp.Navigate(target))
	return w
}

func newTab(t *testing.T, parent context.Context) *tab {
	ctx, cancel := chromedp.NewContext(parent)
	b := &tab{t: t, ctx: ctx}
	messages := chromedp.Console(ctx)
	listening := make(chan struct{})
	go func() { // ends with the browser, which Cleanup waits for
		defer close(listening)
		for m, err := range messages {
			if err != nil {
				return
			}
			b.mu.Lock()
			b.said = append(b.said, string(m.Type)+": "+m.Text)
			b.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Logf("the browser did not close by itself: %v", err)
		}
		cancel()
		<-listening
	})
	return b
}

// do takes steps, all of which must work.
func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepsWithin)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v\non %s", err, eval[string](b, "location.href + '\\n' + document.body.innerText"))
	}
}

// eval returns what an expression gives on the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.80s: %v", expression, err)
	}
	return v
}

// await waits until an expression is true on the page.
func (b *tab) await(what, expression string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(stepsWithin))); err != nil {
		b.t.Fatalf("%s: %v\non %s", what, err, eval[string](b, "location.href + '\\n' + document.body.innerText"))
	}
}

// look sets how wide the window is and what the system prefers.
func (b *tab) look(width int64, scheme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, 800))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}, // colours are there at once
		},
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// complaints are what the browser said that a healthy page makes it not say.
func (b *tab) complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var bad []string
	for _, line := range b.said {
		if strings.Contains(line, "Content Security Policy") || strings.HasPrefix(line, "error") || strings.HasPrefix(line, "exception") {
			bad = append(bad, line)
		}
	}
	return bad
}

// picture keeps what the window shows for the documents.
func (b *tab) picture(name string) {
	b.t.Helper()
	if *pictures {
		b.save(filepath.Join("..", "..", "docs", "images", name+".png"), chromedp.CaptureScreenshot())
	}
}

func (b *tab) save(path string, shot chromedp.Action[[]byte]) {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, shot)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// signUp uses the first-run link.
func (b *tab) signUp(setup string) {
	b.t.Helper()
	b.do(
		chromedp.Navigate(setup),
		chromedp.SendKeys(`input[name="name"]`, "Ann"),
		chromedp.Clear(`input[name="email"]`),
		chromedp.SendKeys(`input[name="email"]`, testEmail),
		chromedp.SendKeys(`input[name="password"]`, testPassword),
		chromedp.Click(`button[type="submit"]`),
		chromedp.WaitVisible(`#calls-title`),
	)
}

// weather connects a second agent and returns its id and how to stop it.
func weather(t *testing.T, a *apptest.App) (id string, stop func()) {
	t.Helper()
	connected := make(chan string, 1)
	w, err := agent.New(agent.Options{
		Name: "weather", DisplayName: "Weather", Description: "Knows tomorrow's weather, most of the time.",
		Tools: []agent.Tool{
			{Name: "forecast", Description: "Tomorrow's weather at a place."},
			{Name: "warnings", Description: "Storms and floods to come."},
		},
		Log: slog.New(slog.DiscardHandler), Gateway: a.Agents, Key: a.UserKey, Identity: filepath.Join(t.TempDir(), "weather.json"),
		Connected: func(id string) { connected <- id },
	}, func(_ context.Context, _ agent.Message, r *agent.Reply) error { return r.Send("sunny") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }() // awaited by stop
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the weather agent ended with: %v", err)
		}
	})
	t.Cleanup(stop)
	select {
	case id = <-connected:
	case err := <-ended:
		t.Fatalf("the weather agent did not connect: %v", err)
	}
	return id, stop
}

func containsAll(s string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}
