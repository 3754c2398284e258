package faults

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/test/browser"
	"github.com/beeos/beeos/test/otlp"
)

// chromium is the browser of the tests that look at pages.
var chromium browser.Chromium

// checkPage: the console's page of the call shows each attempt of the trace with how
// it ended, and the wait for a person who decided.
func (c *traced) checkPage(at *node, tr otlp.Trace) {
	c.t.Helper()
	b := chromium.Open(c.t)
	b.Do(
		chromedp.Navigate(at.resetLink()),
		chromedp.SendKeys(`input[name="password"]`, browser.Password),
		browser.Leads(chromedp.Click(`button[type="submit"]`)),
		chromedp.Navigate(at.web()+"/calls/"+tr.Span(c.t, "invoke_agent files").Attrs["beeos.request.id"]),
	)
	b.Await("the page of the call", `document.querySelector(".bars tbody tr") !== null`)
	rows := browser.Eval[[]string](b, `[...document.querySelectorAll(".bars tbody tr")].map(tr => tr.className + ": " + [...tr.cells].map(c => c.innerText.trim()).join(" | "))`)
	shown := func(kind, what, note string) bool {
		for _, row := range rows {
			if strings.HasPrefix(row, kind+": "+what) && strings.Contains(row, note) {
				return true
			}
		}
		return false
	}
	attempts := len(tr.Named("attempt"))
	for n := 1; n < attempts; n++ {
		if !shown("lost", fmt.Sprint("attempt ", n), "") {
			c.t.Errorf("attempt %d is not shown as lost in\n%s", n, strings.Join(rows, "\n"))
		}
	}
	if !shown("work", fmt.Sprint("attempt ", attempts), "replied") || !shown("person", "approval of save_csv", "approved by") {
		c.t.Errorf("the last of %d attempts and the approval are not shown in\n%s", attempts, strings.Join(rows, "\n"))
	}
	if shown("person", "question", "") {
		c.t.Errorf("the approval is shown as a question, too, in\n%s", strings.Join(rows, "\n"))
	}
	if lead := browser.Eval[string](b, `document.querySelector(".lead").innerText`); !strings.Contains(lead, fmt.Sprint(attempts, " attempts")) {
		c.t.Errorf("the page says %q", lead)
	}
	b.NoComplaints()
}

func (n *node) web() string { return "http://" + n.setting("WEB_ADDR") }

// resetLink is where the owner chooses a password, and is then signed in.
func (n *node) resetLink() string {
	n.t.Helper()
	cmd := exec.Command(binary(n.t), "users", "reset", "owner@example.com")
	cmd.Env = append([]string{"HOME=" + n.t.TempDir()}, n.env...)
	out, err := cmd.Output()
	if err != nil {
		n.t.Fatalf("make a link: %v", err)
	}
	_, query, _ := strings.Cut(strings.TrimSpace(string(out)), "?")
	return n.web() + "/welcome?" + query
}
