package hands

import (
	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/test/browser"
)

// chromium is the browser of everybody who decides.
var chromium browser.Chromium

// window is a person's, with cookies of its own.
type window struct{ *browser.Tab }

// window opens one that is signed in and shows the inbox.
func (w *world) window() *window {
	w.t.Helper()
	b := &window{chromium.Open(w.t)}
	b.Do(chromedp.Navigate(w.web + "/approvals"))
	b.SignIn()
	b.Do(chromedp.WaitVisible(`#inbox`))
	return b
}

// read returns what an expression gives on the page.
func (b *window) read(expression string) string {
	b.T.Helper()
	return browser.Eval[string](b.Tab, expression)
}

// asked waits for the one question in the inbox, which comes by itself, and
// returns which tool it is about and with which arguments.
func (b *window) asked() (tool, arguments string) {
	b.T.Helper()
	b.Await("somebody is asked", `document.querySelectorAll("[data-ask]").length === 1`)
	return b.read(`document.querySelector("[data-ask] .tool").innerText`), b.read(`document.querySelector("[data-ask] .arguments").innerText`)
}

// approve presses the button.
func (b *window) approve() {
	b.T.Helper()
	b.Do(chromedp.Click(`[data-approve]`))
	b.Await("it is approved", `!!document.querySelector(".note.good")?.textContent.includes("Approved")`)
}

// reject gives a reason and presses the other.
func (b *window) reject(reason string) {
	b.T.Helper()
	b.Do(chromedp.SendKeys(`input[data-reject]`, reason), chromedp.Click(`form.reject button`))
	b.Await("it is rejected", `!!document.querySelector(".note.good")?.textContent.includes("Rejected")`)
}

// empty waits until nothing is left to decide.
func (b *window) empty() {
	b.T.Helper()
	b.Await("the inbox is empty", `!!document.querySelector("#inbox .empty")`)
}
