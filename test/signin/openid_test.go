//go:build unix

package signin

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/openid"
)

// TestOpenID signs in through a provider of somebody else, on the way from a
// client to the consent page.
func TestOpenID(t *testing.T) {
	provider := openid.Start(t)
	cfg := apptest.Config(t)
	cfg.OIDC = config.OIDC{Issuer: provider.URL, ClientID: openid.ClientID, ClientSecret: openid.Secret}
	w := worldOf(t, cfg)
	provider.Redirect = w.Web + "/signin/oidc/return"
	c := newGoClient(t, w, "Gopher", "")
	address, ended := asked(t, w, c)

	b := open(t)
	through := func() {
		b.Await("the sign-in page comes", `document.readyState === "complete" && location.pathname === "/signin"`)
		b.Do(chromedp.Click(`a[href^="/signin/oidc"]`))
	}
	// The provider knows this one, and nobody here does.
	provider.Claims = map[string]any{"sub": "7", "email": "eve@example.com"}
	b.Do(chromedp.Navigate(address))
	through()
	b.Do(chromedp.WaitVisible(`[role="alert"]`))
	if text := b.Sees(); !strings.Contains(text, "eve@example.com") || !strings.Contains(text, "/signin") {
		t.Errorf("a stranger sees %s", text)
	}

	provider.Claims = nil // its good ID token is of the person
	b.Do(chromedp.Navigate(address))
	through()
	b.Do(chromedp.WaitVisible(`#consent`))
	b.pick(w.AgentID)
	b.Do(chromedp.Click(`button[value="allow"]`))
	if err := <-ended; err != nil {
		t.Fatalf("connect: %v\nthe person sees %s", err, b.Sees())
	}
	if got, err := c.call(t.Context(), w.AgentID, "hello there"); err != nil || got != "you said: hello there" {
		t.Errorf("call: %q, %v", got, err)
	}
}
