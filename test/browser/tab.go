package browser

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// StepsWithin is how long steps, and what they lead to, may take.
const StepsWithin = 2 * time.Minute // generous: the machine may be busy

// Await asks the page itself to watch, by a timer: a busy browser may draw no
// frame for long. A page that has made way for another may take the question
// with it, so it is asked again.
const (
	looksEvery = 20 * time.Millisecond
	asksEvery  = 10 * time.Second
)

// Tab is a window. Whatever fails in it fails its test.
type Tab struct {
	T *testing.T

	ctx  context.Context
	mu   sync.Mutex
	said []string // by the browser, see complaints.go
}

func newTab(t *testing.T, parent context.Context, options ...chromedp.ContextOption) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent, options...)
	b := &Tab{T: t, ctx: ctx}
	// The first steps bind the window to their context, so this one is not to
	// end before the test does.
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800)); err != nil {
		cancel()
		t.Fatalf("open a window: %v", err)
	}
	heard := b.listen()
	t.Cleanup(func() {
		cancel()
		<-heard
	})
	return b
}

// Window opens another window, with the same cookies, at an address.
func (b *Tab) Window(address string) *Tab {
	b.T.Helper()
	w := newTab(b.T, b.ctx)
	w.Do(chromedp.Navigate(address))
	return w
}

// Do takes steps, all of which must work.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, StepsWithin)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.T.Fatalf("%v\non %s", err, b.Sees())
	}
}

// Leads takes steps that lead to another page, and waits for that page. What
// one looks for after them may be on the page that is left as well.
func Leads(steps ...chromedp.Action[chromedp.Void]) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.RunResponse(ctx, steps...)
		return err
	})
}

// Open goes to an address and returns the status of the page that it ends on.
func (b *Tab) Open(address string) int64 {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, StepsWithin)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, chromedp.Navigate(address))
	if err != nil {
		b.T.Fatalf("%s: %v", address, err)
	}
	return response.Status
}

// Eval returns what an expression gives on the page, now or later.
func Eval[T any](b *Tab, expression string) T {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, StepsWithin)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.T.Fatalf("%.80s: %v", expression, err)
	}
	return v
}

// Await waits until the page is there as a whole and makes an expression true;
// what says which hope that is.
func (b *Tab) Await(what, expression string) {
	b.T.Helper()
	whole := `document.readyState !== "loading" && (` + expression + `)`
	ctx, cancel := context.WithTimeout(b.ctx, StepsWithin)
	defer cancel()
	for {
		err := ask(ctx, whole)
		if err == nil {
			return
		}
		again := errors.Is(err, chromedp.ErrPollingTimeout) || errors.Is(err, context.DeadlineExceeded) ||
			strings.Contains(err.Error(), "navigated or closed") || strings.Contains(err.Error(), "Cannot find context")
		if ctx.Err() != nil || !again {
			b.T.Fatalf("%s: %v\nwaiting for %s\non %s", what, err, expression, b.Sees())
		}
	}
}

// ask waits a while until the page that is there makes an expression true.
func ask(ctx context.Context, expression string) error {
	ctx, cancel := context.WithTimeout(ctx, asksEvery+asksEvery/2) // for a page that does not even say that it was in vain
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(looksEvery), chromedp.WithPollingTimeout(asksEvery)))
	return err
}

// Sees is what is in the window: its address, and its text.
func (b *Tab) Sees() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body?.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}
