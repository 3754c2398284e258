package console

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/browser"
)

func npmContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 5*time.Minute)
}

// look is a window of a width, on a system that prefers a scheme.
type look struct {
	width  int64
	scheme string
}

// looks are the windows that every page is seen in.
var looks = []look{{1280, "light"}, {1280, "dark"}, {360, "light"}, {360, "dark"}}

// inspect visits a page in every look: nothing serious for axe, nothing that
// sticks out of a narrow window.
func (b *tab) inspect(target string) {
	b.T.Helper()
	b.Do(chromedp.Navigate(target))
	b.inspectHere(target)
}

func (b *tab) inspectHere(target string) {
	b.T.Helper()
	b.inspectIn(looks, target)
}

func (b *tab) inspectIn(looks []look, target string) {
	b.T.Helper()
	for _, l := range looks {
		b.Look(l.width, l.scheme)
		where := fmt.Sprintf("%s at %d %s", target, l.width, l.scheme)
		if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > l.width {
			b.T.Errorf("%s: the page is %d wide: %s", where, wide, eval[string](b,
				`[...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest("nav, pre, .unseen")).slice(0, 4).map(e => e.outerHTML.slice(0, 120)).join("\n\t")`))
		}
		b.accessible(where)
		if *album != "" {
			name := strings.NewReplacer("http://", "", "/", "_", "?", "_", " ", "_", ":", "_").Replace(where)
			b.Save(filepath.Join(*album, name+".png"), chromedp.FullScreenshot(100))
		}
	}
}

// TestRooms: somebody comes in by the first-run link and looks at everything.
func TestRooms(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	weatherID, _ := weather(t, a)
	b := open(t)
	b.inspect(a.Web + "/signin")
	b.inspect(a.Setup)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	b.inspect(a.Web + "/apps") // empty states, while they are
	b.inspect(a.Web + "/")
	b.inspect(a.Web + "/marketplace")
	for _, path := range []string{"/tasks", "/tasks?state=ended", "/conversations", "/webhooks", "/webhooks?only=problems", "/usage", "/usage?by=day&days=7", "/budgets", "/approvals/channels"} {
		b.inspect(a.Web + path)
	}
	offer(t, a, weatherID)

	call(t, a, weatherID)
	for _, path := range []string{"/", "/agents", "/agents?q=nothing", "/agents/" + weatherID, "/agents/" + weatherID + "/access", "/agents/" + weatherID + "/settings", "/agents/new", "/marketplace", "/marketplace?q=nothing", "/marketplace/" + weatherID, "/keys", "/account", "/users", "/system", "/audit", "/audit?of=everyone", "/nowhere"} {
		b.inspect(a.Web + path)
	}

	b.Look(1280, "light")
	b.Do(
		chromedp.Navigate(a.Web+"/approvals/channels"),
		chromedp.SendKeys(`input[name="url"]`, "http://127.0.0.1:9/approvals"),
		chromedp.Click(`section[aria-labelledby="webhook-title"] button`),
		chromedp.WaitVisible(`.once`),
	)
	b.inspectHere("a fresh channel")
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(a.Web+"/approvals/channels"), chromedp.Click(`form[action$="/test"] button`), chromedp.WaitVisible(`[data-delivery]`))
	b.inspectHere("what was sent")
	b.Look(1280, "light")
	b.picture("channels")

	b.Look(1280, "light")
	b.Do(
		chromedp.Navigate(a.Web+"/keys"),
		chromedp.SendKeys(`input[name="name"]`, "n8n"),
		chromedp.Click(`form.row button`),
		chromedp.WaitVisible(`.once`),
	)
	b.inspectHere("a fresh key")
	b.Look(1280, "light")
	b.Do(chromedp.Click(`tr .menu summary`), chromedp.WaitVisible(`tr .menu input[name="rate"]`))
	b.inspectHere("the limit of a key")
	b.Do(chromedp.SendKeys(`tr .menu input[name="rate"]`, "25"), chromedp.Click(`tr .menu button`), chromedp.WaitVisible(`.note.good`))
	if got := eval[string](b, `document.querySelector("tr .menu summary").textContent`); got != "25" {
		t.Errorf("the key's limit is %q", got)
	}
	b.Do(
		chromedp.Navigate(a.Web+"/users"),
		chromedp.SendKeys(`input[name="email"]`, "bob@example.com"),
		chromedp.Click(`form.row button`),
		chromedp.WaitVisible(`.once`),
	)
	b.inspectHere("a fresh invitation")
	link := eval[string](b, `document.querySelector(".once [data-copy]").dataset.copy`)

	b.Do(chromedp.Click(`form[action="/signout"] button`), chromedp.WaitVisible(`input[name="password"]`))
	b.inspect(link)
	b.NoComplaints("404 (Not Found) at " + a.Web + "/nowhere")
}

// offer lists an agent in the marketplace.
func offer(t *testing.T, a *apptest.App, agentID string) {
	t.Helper()
	listed := "marketplace"
	if _, err := client.New(a.REST, a.UserKey).UpdateAgent(t.Context(), agentID, client.AgentUpdate{Visibility: &listed}); err != nil {
		t.Fatal(err)
	}
}

// TestKeyboard: the first Tab skips to the content, and focus can be seen.
func TestKeyboard(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	b.Do(chromedp.Navigate(a.Web+"/agents"), chromedp.KeyEvent("\t"))
	if got := eval[string](b, "document.activeElement.textContent"); got != "Skip to content" {
		t.Errorf("the first stop is %q", got)
	}
	if top := eval[float64](b, "document.activeElement.getBoundingClientRect().top"); top < 0 {
		t.Error("the skip link stays out of sight")
	}
	b.Do(chromedp.KeyEvent("\r"))
	b.Await("the skip link leads to the content", `document.activeElement.id === "main" || location.hash === "#main"`)
	b.Do(chromedp.KeyEvent("\t"), chromedp.KeyEvent("\t"))
	if outline := eval[string](b, "getComputedStyle(document.activeElement).outlineStyle"); outline != "solid" {
		t.Errorf("what has the focus (%s) does not show it: outline %s", eval[string](b, "document.activeElement.outerHTML.slice(0, 80)"), outline)
	}
}

// TestWithoutJavaScript: forms do their work as plain forms.
func TestWithoutJavaScript(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	b := open(t)
	b.Look(1280, "light")
	b.WithoutScripts()
	b.SignUp(a.Setup)
	b.Do(
		chromedp.Navigate(a.Web+"/keys"), chromedp.SendKeys(`input[name="name"]`, "n8n"), browser.Leads(chromedp.Click(`form.row button`)), chromedp.WaitVisible(`.once`),
		chromedp.Navigate(a.Web+"/agents/"+a.AgentID+"/settings"), chromedp.Click(`form.card input[name="self"]`), browser.Leads(chromedp.Click(`form.card button[type="submit"]`)), chromedp.WaitVisible(`.note.good`),
		browser.Leads(chromedp.Click(`.tabs a[href$="/access"]`)), chromedp.SetValue(`select[name="all"]`, "ask"), browser.Leads(chromedp.Click(`form.rules button[type="submit"]`)), chromedp.WaitVisible(`.note.good`),
		chromedp.Navigate(a.Web+"/agents"), browser.Leads(chromedp.SendKeys(`#q`, "echo\r")), chromedp.WaitVisible(`[data-agent]`),
		browser.Leads(chromedp.Click(`form[action="/signout"] button`)), chromedp.WaitVisible(`input[name="password"]`),
	)
}

// TestThemeIsKept: the server knows it before the first byte.
func TestThemeIsKept(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	b.Do(chromedp.Navigate(a.Web+"/account"), chromedp.Click(`.theme button[value="dark"]`), chromedp.WaitVisible(`html[data-theme="dark"]`))
	b.Do(chromedp.Navigate(a.Web + "/agents"))
	if ground := eval[string](b, "getComputedStyle(document.documentElement).backgroundColor"); ground != "rgb(22, 21, 15)" {
		t.Errorf("the dark page is %s", ground)
	}
}

// call asks an agent something, from outside.
func call(t *testing.T, a *apptest.App, agentID string) {
	t.Helper()
	if _, err := client.New(a.REST, a.UserKey).Invoke(t.Context(), agentID, client.InvokeRequest{Message: "will it rain?"}); err != nil {
		t.Fatal(err)
	}
}
