//go:build walk

package console

import (
	"fmt"
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
		{"/", "home"},
		{"/agents", ""},
		{"/agents?q=nothing", ""},
		{"/agents/new", "new-agent"},
		{mine, "agent"},
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
		{"/calls", "calls"},
		{"/calls?outcome=problems", ""},
		{"/calls?outcome=busy", ""},
		{"/calls/" + l.redelivered, "call-redelivered"},
		{"/calls/" + l.redelivered + "/compare/" + l.replay, "compare"},
		{"/usage", "usage"},
		{"/usage?by=day&days=7", ""},
		{"/budgets", "budgets"},
		{"/connect", ""},
		{"/connect/go", ""},
		{"/connect/python", ""},
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
		switch stop.picture {
		case "":
		case "home", "agent", "calls", "compare":
			b.pictureEachWay(stop.picture)
		default:
			b.picture(stop.picture)
		}
	}
	for _, call := range l.calls(b) {
		b.Do(chromedp.Navigate(l.Web + "/calls/" + call.id))
		eval[bool](b, `document.querySelectorAll("main details").forEach(d => d.open = true); true`)
		b.inspectIn(telephone, "walk call "+call.name)
		if call.name == "approved" {
			eval[bool](b, `document.querySelectorAll("main details").forEach(d => d.open = !!d.closest(".bars")); true`)
			b.pictureEachWay("call")
			b.Look(1280, "light")
			eval[bool](b, `document.querySelector(".moments").open = true; document.querySelector(".moments").scrollIntoView(); true`)
			b.picture("call-moments")
		}
	}
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(l.Web+"/"), chromedp.Click(`form[action="/signout"] button`), chromedp.WaitVisible(`input[name="password"]`))
	b.inspectIn(telephone, "walk signin")
	b.Look(1280, "light")
	b.picture("signin")
	b.Do(chromedp.Navigate(l.link), chromedp.WaitVisible(`button[value="approve"]`))
	b.inspectIn(telephone, "walk link")
	b.NoComplaints("404 (Not Found) at " + l.Web + "/nowhere")
}

// pictureEachWay keeps what a page looks like wide, dark, and on a telephone.
func (b *tab) pictureEachWay(name string) {
	b.T.Helper()
	for _, way := range []struct {
		look
		suffix string
	}{{look{1280, "light"}, ""}, {look{1280, "dark"}, "-dark"}, {look{390, "light"}, "-narrow"}} {
		b.Look(way.width, way.scheme)
		b.picture(name + way.suffix)
	}
	b.Look(1280, "light")
}

// namedCall is a call, and what it shows.
type namedCall struct{ name, id string }

// calls picks a call of each kind from the list.
func (l *load) calls(b *tab) (list []namedCall) {
	l.t.Helper()
	for name, query := range map[string]string{
		"mcp": "surface=mcp", "a2a": "surface=a2a", "failed": "outcome=failed", "stopped": "outcome=canceled", "waiting": "outcome=working&agent=" + l.assistant, "denied": "outcome=ok&agent=" + l.assistant, "approved": "outcome=ok&agent=" + l.assistant,
	} {
		b.Do(chromedp.Navigate(l.Web+"/calls?"+query), chromedp.WaitVisible(`[data-call]`))
		at := 0
		if name == "approved" { // before the one that was denied
			at = -1
		}
		list = append(list, namedCall{name, eval[string](b, fmt.Sprintf(`[...document.querySelectorAll("[data-call]")].at(%d).dataset.call`, at))})
	}
	return list
}
