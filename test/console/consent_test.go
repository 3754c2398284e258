package console

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/test/apptest"
)

// TestConsent: a program sends the browser here, a person signs in, picks one
// of two agents and allows, and the browser comes back to the program. Then
// the app is disconnected in the console.
func TestConsent(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	weatherID, _ := weather(t, a)
	answers := make(chan url.Values, 4)
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			answers <- r.URL.Query()
		}
		w.Write([]byte("<!doctype html><title>program</title><p id=thanks>Thank you")) //nolint:errcheck // the browser has gone
	}))
	t.Cleanup(program.Close)
	authorize := begin(t, a, "Claude Code", program.URL+"/callback", a.MCP+"/"+weatherID+"/mcp")

	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	b.Do(chromedp.Click(`form[action="/signout"] button`), chromedp.WaitVisible(`input[name="password"]`))
	b.Do(chromedp.Navigate(authorize))
	b.SignIn()
	b.Do(chromedp.WaitVisible(`#consent`))
	if got := eval[string](b, `[...document.querySelectorAll('input[name="agent"]:checked')].map(e => e.value).join()`); got != weatherID {
		t.Errorf("picked beforehand: %s", got)
	}
	b.inspectHere("consent")
	b.Look(1280, "light")
	b.picture("consent")
	b.Do(chromedp.Click(`button[value="allow"]`), chromedp.WaitVisible(`#thanks`))
	if got := <-answers; got.Get("code") == "" || got.Get("state") != "st" || got.Get("iss") != a.MCP {
		t.Errorf("the program got %v", got)
	}

	for range 3 {
		call(t, a, weatherID)
		call(t, a, a.AgentID)
	}
	b.Do(chromedp.Navigate(a.Web + "/agents"))
	b.picture("agents")

	b.Do(chromedp.Navigate(authorize), chromedp.WaitVisible(`#consent`), chromedp.Click(`button[value="deny"]`), chromedp.WaitVisible(`#thanks`))
	if got := <-answers; got.Get("error") != "access_denied" {
		t.Errorf("the program got %v", got)
	}

	b.inspect(a.Web + "/apps")
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(a.Web + "/apps"))
	if text := eval[string](b, `document.querySelector("[data-grant]").innerText`); !strings.Contains(text, "Claude Code") || !strings.Contains(text, "1 agent") {
		t.Errorf("the app is shown as %q", text)
	}
	eval[bool](b, "window.confirm = () => true; true")
	b.Do(chromedp.Click(`[data-grant] .danger`))
	b.Await("the app is gone", `!document.querySelector("[data-grant]") && document.querySelector(".note.good") !== null`)
	b.NoComplaints()
}

// begin registers a program and returns where it sends the browser.
func begin(t *testing.T, a *apptest.App, name, redirect, resource string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"client_name": name, "redirect_uris": []string{redirect}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(a.MCP+"/oauth/register", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var registered struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&registered); err != nil || registered.ID == "" {
		t.Fatalf("registering gave %d, %v", res.StatusCode, err)
	}
	return a.MCP + "/oauth/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {registered.ID}, "redirect_uri": {redirect}, "state": {"st"},
		"code_challenge": {strings.Repeat("A", 43)}, "code_challenge_method": {"S256"}, "resource": {resource},
	}.Encode()
}
