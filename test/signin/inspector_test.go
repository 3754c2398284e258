//go:build unix

package signin

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/test/ports"
)

// TestInspector connects the page of the official Inspector, which signs in by
// itself: the browser goes from its page to ours and back.
func TestInspector(t *testing.T) {
	page := startInspector(t)
	for _, way := range []string{"proxy", "direct"} { // direct: the page itself talks to us
		t.Run(way, func(t *testing.T) { inspect(t, *page, way) })
	}
}

func inspect(t *testing.T, page url.URL, way string) {
	w := newWorld(t)
	person := open(t)
	person.Open(page.String())
	eval[bool](person, fmt.Sprintf(`localStorage.setItem("lastConnectionType", %q); true`, way))
	q := page.Query()
	// Only this form of the proxy's address survives its way to us and back.
	q.Set("MCP_PROXY_FULL_ADDRESS", "http://localhost:"+q.Get("MCP_PROXY_PORT"))
	q.Set("transport", "streamable-http")
	q.Set("serverUrl", w.endpoint(w.AgentID))
	page.RawQuery = q.Encode()

	person.Open(page.String())
	person.presses("Connect")
	person.SignIn()
	person.Do(chromedp.WaitVisible(`#consent`))
	person.pick(w.AgentID)
	person.Do(chromedp.Click(`button[value="allow"]`))
	person.comesBack()
	person.picksTool("Echo")
	person.runsTool("by hand", "you said: by hand")

	w.clock.pass(hour)
	person.presses("Reconnect") // refreshes: nobody is asked
	person.Await("it is connected again", `document.body.innerText.match(/\. logging\/setLevel/g)?.length === 2`)
	person.runsTool("an hour later", "you said: an hour later")

	console := open(t)
	console.Do(chromedp.Navigate(w.Web + "/signin"))
	console.SignIn()
	console.Do(chromedp.WaitVisible(`#calls-title`))
	console.disconnects(w.Web, "MCP Inspector")
	person.runsTool("once more", "or revoked; ")
}

// comesBack waits until the Inspector, which has its token now, has connected. On
// a slow machine it may forget to; then a person presses the button again.
func (b *tab) comesBack() {
	b.T.Helper()
	b.Await("the Inspector is connected", `(() => {
		const button = text => [...document.querySelectorAll("button")].find(e => e.innerText.trim() === text && !e.disabled);
		if (button("Tools")) return true;
		if (!button("Connect")) {
			window.idleSince = 0;
			return false;
		}
		window.idleSince ||= Date.now();
		if (Date.now() - window.idleSince > 5000) {
			window.idleSince = Infinity;
			button("Connect").click();
		}
		return false;
	})()`)
}

// picksTool lists the tools on the Inspector's page, and opens one.
func (b *tab) picksTool(tool string) {
	b.T.Helper()
	b.presses("Tools")
	b.presses("List Tools")
	b.Await("the tool is listed", fmt.Sprintf(`(() => {
		const found = [...document.querySelectorAll("span, div")].find(e => e.children.length === 0 && e.innerText === %q);
		found?.setAttribute("data-press", "tool");
		return !!found;
	})()`, tool))
	b.Do(chromedp.Click(`[data-press="tool"]`), chromedp.WaitVisible(`textarea#message`))
}

// runsTool calls the one that is open, and sees the answer.
func (b *tab) runsTool(message, answer string) {
	b.T.Helper()
	eval[bool](b, `document.querySelector("textarea#message").select(); true`) // to write over it
	b.Do(chromedp.SendKeys(`textarea#message`, message))
	b.presses("Run Tool")
	b.Await("the answer comes", fmt.Sprintf(`document.body.innerText.includes(%q)`, answer))
}

// startInspector runs it until the test ends, and returns the address that it
// wants to open.
func startInspector(t *testing.T) *url.URL {
	t.Helper()
	tools := tools(t)
	desk := newOpener(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := tools.Node(ctx, tools.Module("@modelcontextprotocol/inspector/client/bin/start.js"))
	cmd.Env = append(desk.environ(t, cmd), fmt.Sprint("CLIENT_PORT=", ports.Number(t)), fmt.Sprint("SERVER_PORT=", ports.Number(t)))
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its own
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // awaited by the clean-up
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	select {
	case address := <-desk.addresses:
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return u
	case err := <-ended:
		ended <- err
		t.Fatalf("the Inspector did not start: %v", err)
		return nil
	}
}
