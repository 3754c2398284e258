//go:build walk

package console

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// telephone has the width that most telephones have.
var telephone = []look{{1280, "light"}, {1280, "dark"}, {390, "light"}, {390, "dark"}}

// TestWalk looks at every page of the console, full of what a mixed load has left:
// wide and as narrow as a telephone, light and dark, nothing sticks out, nobody is
// kept out, and the browser has nothing to complain about. Pages that the other
// tests take no picture of have theirs taken here.
func TestWalk(t *testing.T) {
	b := open(t)
	l := newLoad(t, b)
	mine, built := "/agents/"+l.forecaster, "/agents/"+l.assistant
	for _, stop := range []struct{ path, picture string }{
		{"/", ""},
		{"/agents", ""},
		{"/agents?q=nothing", ""},
		{"/agents/new", "new-agent"},
		{mine, ""},
		{mine + "/chat", ""},
		{mine + "/tools", "tools"},
		{mine + "/tools/forecast", ""},
		{mine + "/tools/recalibrate", ""},
		{mine + "/health", ""},
		{mine + "/access", "access"},
		{mine + "/settings", ""},
		{mine + "/delete", ""},
		{"/agents/" + l.clerk + "/health", ""},
		{built, ""},
		{built + "/chat", ""},
		{built + "/tools", ""},
		{built + "/skills", ""},
		{built + "/health", ""},
		{built + "/access", ""},
		{built + "/settings", "settings"},
		{"/calls", ""},
		{"/calls?outcome=problems", ""},
		{"/calls?outcome=busy", ""},
		{"/calls/" + l.redelivered, ""},
		{"/calls/" + l.redelivered + "/compare/" + l.replay, ""},
		{"/usage", "usage"},
		{"/usage?by=day&days=7", ""},
		{"/budgets", "budgets"},
		{"/connect", ""},
		{"/connect/go", ""},
		{"/connect/protocol", ""},
		{"/conversations", "conversations"},
		{"/conversations?q=nothing", ""},
		{"/tasks", ""},
		{"/tasks?state=ended", ""},
		{"/tasks/" + l.asks, ""},
		{"/approvals", ""},
		{"/approvals/history", "history"},
		{"/approvals/channels", ""},
		{"/marketplace", "marketplace"},
		{"/marketplace/" + l.forecaster, "offer"},
		{"/apps", "apps"},
		{"/keys", "keys"},
		{"/webhooks", ""},
		{"/users", "users"},
		{"/system", "system"},
		{"/audit", "audit"},
		{"/audit?of=everyone", ""},
		{"/account", "account"},
		{"/nowhere", ""},
	} {
		b.Do(chromedp.Navigate(l.Web + stop.path))
		b.inspectIn(telephone, "walk"+strings.ReplaceAll(strings.ReplaceAll(stop.path, l.forecaster, "FORECASTER"), l.assistant, "ASSISTANT"))
		b.Look(1280, "light")
		if stop.picture != "" {
			b.picture(stop.picture)
		}
	}
	for _, call := range l.calls(b) {
		b.Do(chromedp.Navigate(l.Web + "/calls/" + call.id))
		b.inspectIn(telephone, "walk call "+call.name)
	}
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(l.Web+"/"), chromedp.Click(`form[action="/signout"] button`), chromedp.WaitVisible(`input[name="password"]`))
	b.inspectIn(telephone, "walk signin")
	b.Look(1280, "light")
	b.picture("signin")
	b.Do(chromedp.Navigate(l.link), chromedp.WaitVisible(`button[value="approve"]`))
	b.inspectIn(telephone, "walk link")
	b.NoComplaints("404") // the page that is not there
}

// namedCall is a call, and what it shows.
type namedCall struct{ name, id string }

// calls picks a call of each kind from the list.
func (l *load) calls(b *tab) (list []namedCall) {
	l.t.Helper()
	for name, query := range map[string]string{
		"mcp": "surface=mcp", "a2a": "surface=a2a", "failed": "outcome=failed", "stopped": "outcome=canceled", "waiting": "outcome=working&agent=" + l.assistant, "builtin": "outcome=ok&agent=" + l.assistant,
	} {
		b.Do(chromedp.Navigate(l.Web+"/calls?"+query), chromedp.WaitVisible(`[data-call]`))
		list = append(list, namedCall{name, eval[string](b, `document.querySelector("[data-call]").dataset.call`)})
	}
	return list
}
