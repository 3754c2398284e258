package console

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/test/apptest"
)

// TestHelp: somebody without an account finds their way through the manual;
// who is signed in has it in the menu.
func TestHelp(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	b := open(t)
	for _, path := range []string{"/help", "/help/how-to/connect-cursor", "/help/search?q=offline"} {
		b.inspect(a.Web + path)
	}
	b.Look(1280, "light")
	b.Do(
		chromedp.Navigate(a.Web+"/signin"),
		chromedp.Click(`.who a[href="/help"]`),
		chromedp.WaitVisible(`.pages`),
		chromedp.SendKeys(`input[name="q"]`, "agent_offline\r"),
		chromedp.WaitVisible(`[data-result] a`),
		chromedp.Click(`[data-result] a`),
		chromedp.WaitVisible(`h2[id="agent_offline"]`),
	)
	b.Await("the section that was looked for", `location.pathname + location.hash === "/help/reference/errors#agent_offline"`)
	b.Do(chromedp.Navigate(a.Web + "/help/how-to/connect-cursor"))
	if got := eval[string](b, `document.querySelector(".manual [data-copy]").dataset.copy`); !strings.Contains(got, a.MCP+"/{agentId}/mcp") {
		t.Errorf("the lines to copy are not for this server: %s", got)
	}
	b.SignUp(a.Setup)
	b.Do(chromedp.Click(`.bar nav a[href="/help"]`), chromedp.WaitVisible(`.pages`))
	b.inspect(a.Web + "/help/reference/clients")
	b.NoComplaints()
}

// TestRESTPage: the page of the REST contract finds operations and sends them.
func TestRESTPage(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	b := open(t)
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(a.REST+"/docs"), chromedp.SendKeys(`input[id="search"]`, "invokeAgent"))
	b.Await("one operation", `document.querySelectorAll("article[data-path]:not([hidden])").length === 1`) // a page small enough for axe
	const invoke = `article[data-path="/api/v1/agents/{agentId}/invoke"]`
	b.Do(
		chromedp.SendKeys(`input[id="key"]`, a.UserKey),
		chromedp.Click(invoke+` summary`),
		chromedp.WaitVisible(invoke+` form`),
		chromedp.SendKeys(invoke+` input[name="agentId"]`, a.AgentID),
	)
	eval[bool](b, `document.querySelector('`+invoke+` textarea').value = '{"message": "hello"}'; true`)
	b.Do(chromedp.Click(invoke + ` button[type="submit"]`))
	b.Await("the agent's answer", `document.querySelector('`+invoke+` output').textContent.includes("you said: hello")`)
	b.inspectIn(looks, "an answer on the REST page")
	if kept := eval[string](b, `JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])`); strings.Contains(kept, a.UserKey) {
		t.Error("the key is kept")
	}
	b.Do(chromedp.Reload(), chromedp.WaitVisible(`input[id="key"]`))
	if got := eval[string](b, `document.getElementById("key").value`); got != "" {
		t.Error("the key is still there after the page was loaded again")
	}
	b.NoComplaints()
}
