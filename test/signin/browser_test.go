//go:build unix

package signin

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/test/browser"
)

// chromium is the one of all tests; each has windows of its own in it.
var chromium browser.Chromium

// tab is a person's window.
type tab struct{ *browser.Tab }

func open(t *testing.T) *tab {
	t.Helper()
	return &tab{chromium.Open(t)}
}

func eval[T any](b *tab, expression string) T {
	b.T.Helper()
	return browser.Eval[T](b.Tab, expression)
}

// pick leaves exactly these agents ticked.
func (b *tab) pick(agents ...string) {
	b.T.Helper()
	for _, id := range eval[[]string](b, `[...document.querySelectorAll('input[name="agent"]')].map(e => e.value)`) {
		box := fmt.Sprintf(`input[name="agent"][value=%q]`, id)
		if slices.Contains(agents, id) != eval[bool](b, fmt.Sprintf(`document.querySelector(%q).checked`, box)) {
			b.Do(chromedp.Click(box))
		}
	}
	if got := b.picked(); !slices.Equal(got, agents) {
		b.T.Fatalf("%v are ticked, not %v", got, agents)
	}
}

func (b *tab) picked() []string {
	b.T.Helper()
	return eval[[]string](b, `[...document.querySelectorAll('input[name="agent"]:checked')].map(e => e.value)`)
}

// consents opens the address that a client gives, signs in and allows it some
// agents. Where that leads is for the client to notice.
func (b *tab) consents(address, client string, agents ...string) {
	b.T.Helper()
	b.Do(chromedp.Navigate(address), chromedp.WaitVisible(`#app`))
	b.SignIn()
	b.Do(chromedp.WaitVisible(`#consent`))
	host := eval[string](b, `document.querySelector("#client-host")?.innerText ?? ""`)
	if documented := client == documentedName; documented != (host == documents.Listener.Addr().String()) {
		b.T.Errorf("the page says that the client comes from %q", host)
	}
	if got := eval[string](b, `document.querySelector("#client").innerText`); got != client {
		b.T.Errorf("the page names the client %q, not %q", got, client)
	}
	b.pick(agents...)
	b.Do(chromedp.Click(`button[value="allow"]`))
}

// disconnects takes back in the console what a client was allowed.
func (b *tab) disconnects(web, client string) {
	b.T.Helper()
	b.Do(chromedp.Navigate(web+"/apps"), chromedp.WaitVisible(`[data-grant]`))
	if got := eval[string](b, `[...document.querySelectorAll("[data-grant] strong")].map(e => e.innerText).join()`); got != client {
		b.T.Fatalf("connected apps: %q, not %q", got, client)
	}
	eval[bool](b, `window.confirm = () => true; true`)
	b.Do(chromedp.Click(`[data-grant] .danger`), chromedp.WaitNotPresent(`[data-grant]`))
}

// presses clicks the button of that text, on a page that is not ours.
func (b *tab) presses(text string) {
	b.T.Helper()
	b.Await("there is a button "+text, fmt.Sprintf(`(() => {
		const found = [...document.querySelectorAll("button")].find(e => e.innerText.trim() === %q && !e.disabled);
		found?.setAttribute("data-press", %[1]q);
		return !!found;
	})()`, text))
	b.Do(chromedp.Click(fmt.Sprintf(`[data-press=%q]`, text)))
}
