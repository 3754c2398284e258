//go:build unix

package signin

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// asked has a client ask for the demo's agent and returns the address that it
// opens, and what becomes of it.
func asked(t *testing.T, w *world, c *goClient) (address string, ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	connected := make(chan error, 1)
	done := make(chan struct{})
	go func() { // ends with the test at the latest
		defer close(done)
		connected <- c.connect(ctx, w.endpoint(w.AgentID))
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	select {
	case address := <-c.opened():
		return address, connected
	case err := <-connected:
		t.Fatalf("it did not ask for a person: %v", err)
		return "", nil
	}
}

// nothingCame checks that the client's redirect was not called.
func nothingCame(t *testing.T, c *goClient) {
	t.Helper()
	select {
	case q := <-c.answers:
		t.Errorf("the client got %v", q)
	default:
	}
}

// TestRefusals: who says no, and whom somebody else leads here.
func TestRefusals(t *testing.T) {
	w := newWorld(t)

	t.Run("deny", func(t *testing.T) {
		c := newGoClient(t, w, "Gopher", "")
		address, ended := asked(t, w, c)
		b := open(t)
		b.Do(chromedp.Navigate(address))
		b.SignIn()
		for {
			b.Do(chromedp.WaitVisible(`#consent`), chromedp.Click(`button[value="deny"]`))
			// By a page that goes on by itself: whatever is opened before the browser
			// has arrived would be given up for that.
			b.Await("the browser comes back to the client", `!["`+w.Web+`", "`+w.MCP+`"].includes(location.origin) && document.readyState === "complete"`)
			select {
			case address = <-c.opened(): // this one asks again, for an older protocol
				b.Do(chromedp.Navigate(address))
				continue
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), "access_denied") {
					t.Errorf("the client ended with %v", err)
				}
			}
			break
		}
	})

	// Somebody begins in a browser of their own, and sends the link of the
	// consent page to a person who is signed in and trusts it.
	t.Run("consent in another browser", func(t *testing.T) {
		c := newGoClient(t, w, "Gopher", "")
		address, _ := asked(t, w, c)
		stranger := open(t)
		stranger.Do(chromedp.Navigate(address))
		stranger.Await("the sign-in page comes", `location.pathname === "/signin"`)
		next := eval[string](stranger, `new URLSearchParams(location.search).get("next")`)
		if !strings.HasPrefix(next, "/mcp-login?return_to=") {
			t.Fatalf("after signing in it goes on to %q", next)
		}
		b := open(t)
		b.Do(chromedp.Navigate(w.Web + next))
		b.SignIn()
		b.Do(chromedp.WaitVisible(`#consent`), chromedp.Click(`button[value="allow"]`))
		b.Await("the browser comes back", `location.pathname === "/oauth/return"`)
		if text := b.Sees(); !strings.Contains(text, "Another browser began this request") {
			t.Errorf("the person sees %s", text)
		}
		if status := eval[int](b, `performance.getEntriesByType("navigation")[0].responseStatus`); status != http.StatusForbidden {
			t.Errorf("status %d", status)
		}
		if width := eval[string](b, `getComputedStyle(document.querySelector("main")).maxWidth`); width != "512px" {
			t.Errorf("the page's own look is not applied: %s", width)
		}
		nothingCame(t, c)
	})

	// The ticket of a consent gets into other hands before its browser uses it.
	t.Run("ticket in another browser", func(t *testing.T) {
		c := newGoClient(t, w, "Gopher", "")
		address, _ := asked(t, w, c)
		b := open(t)
		b.Do(chromedp.Navigate(address))
		b.SignIn()
		b.Do(chromedp.WaitVisible(`#consent`))
		ticket := eval[string](b, `(async () => {
			const form = new URLSearchParams(new FormData(document.querySelector("#consent")));
			form.set("decision", "allow");
			const answer = await fetch("/mcp-login", {method: "POST", body: form});
			const page = new DOMParser().parseFromString(await answer.text(), "text/html");
			return page.querySelector("#continue").href;
		})()`)
		if !strings.HasPrefix(ticket, w.MCP+"/oauth/return?") || !strings.Contains(ticket, "_bt=") {
			t.Fatalf("the page leads to %q", ticket)
		}
		if status := open(t).Open(ticket); status != http.StatusForbidden {
			t.Errorf("in another browser: %d", status)
		}
		if status := b.Open(ticket); status != http.StatusForbidden {
			t.Errorf("in its own browser afterwards: %d", status)
		}
		nothingCame(t, c)
	})
}
