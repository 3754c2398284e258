package console

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/browser"
)

// forecaster connects an agent with tools: one that only reads and has arguments
// of many kinds, one that may change things and waits for release.
func forecaster(t *testing.T, a *apptest.App, release <-chan struct{}) string {
	t.Helper()
	return a.Connect(t, agent.Options{
		Name: "forecaster", DisplayName: "Forecaster", Version: "1.4.0", Description: "Knows **tomorrow's** weather, most of the time.",
		Tools: []agent.Tool{
			{
				Name: "forecast", Title: "Forecast", Description: "Tomorrow's weather at a place, in the unit that you like.", Annotations: json.RawMessage(`{"readOnlyHint":true}`),
				Schema: json.RawMessage(`{"type":"object","required":["city","unit"],"properties":{
					"city":{"type":"string","description":"Where it is wanted for."},
					"days":{"type":"integer","minimum":1,"maximum":7,"default":1,"description":"How far ahead."},
					"unit":{"enum":["celsius","fahrenheit"]},
					"hourly":{"type":"boolean"},
					"stations":{"type":"array","items":{"type":"string"},"description":"Ask these alone."},
					"api_key":{"type":"string","writeOnly":true,"description":"Of your subscription."},
					"near":{"type":"object","description":"A place without a name.","properties":{"lat":{"type":"number"},"lon":{"type":"number"}}},
					"extra":{"oneOf":[{"type":"string"},{"type":"number"}]}}}`),
				Handle: func(_ context.Context, m agent.Message, r *agent.Reply) error {
					var args struct{ City string }
					if err := json.Unmarshal(m.Arguments, &args); err != nil {
						return err
					}
					r.Log(slog.LevelInfo, "stations", "asking 3 stations near "+args.City)
					if args.City == "Atlantis" {
						r.Log(slog.LevelError, "stations", map[string]any{"city": args.City, "found": 0})
						return errors.New("there is no station in Atlantis; name a city on land")
					}
					return r.Send("Tomorrow in " + args.City + ": sunny, 21 °C, no rain.")
				},
			},
			{
				Name: "recalibrate", Description: "Sets all instruments back to zero.", Annotations: json.RawMessage(`{"destructiveHint":true}`),
				Handle: func(ctx context.Context, _ agent.Message, r *agent.Reply) error {
					select {
					case <-release:
						return r.Send("All at zero.")
					case <-ctx.Done():
						return ctx.Err()
					}
				},
			},
			{Name: "internal_state", Description: "For the agent's own use.", Hidden: true},
		},
	}, func(_ context.Context, m agent.Message, r *agent.Reply) error { return r.Send("You said " + m.Text) })
}

// TestAgentTabs: what is about an agent is a few tabs; a tool is tried by a form,
// what was wrong stays on it, and what comes of it shows by itself.
func TestAgentTabs(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	release := make(chan struct{})
	id := forecaster(t, a, release)
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	call(t, a, id)
	for _, tab := range []string{"", "/access", "/settings", "/tools"} {
		b.inspect(a.Web + "/agents/" + id + tab)
	}
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(a.Web + "/agents/" + id))
	b.Do(chromedp.Click(`.tabs a[href$="/tools"]`), chromedp.WaitVisible(`[data-tool]`))
	if lit := eval[string](b, `document.querySelector(".tabs [aria-current]").innerText`); lit != "Tools" {
		t.Errorf("the tab that is lit: %s", lit)
	}
	b.Do(chromedp.Click(`a[aria-label="Try it: Forecast"]`), chromedp.WaitVisible(`[name="/city"]`))
	b.Do(
		chromedp.SendKeys(`[name="/city"]`, "Atlantis"), chromedp.SetValue(`[name="/unit"]`, `"celsius"`), chromedp.SendKeys(`[name="/api_key"]`, "hush"),
		chromedp.SendKeys(`[name="/near/lat"]`, "46.9"), browser.Leads(chromedp.Click(`.try button`)), chromedp.WaitVisible(`#run`),
	)
	b.Await("what went wrong", `document.querySelector("#run").innerText.includes("there is no station in Atlantis")`)
	if text := eval[string](b, `document.querySelector("#run").innerText`); !containsAll(text, "failed", "change them and run it again", "Open the call") {
		t.Errorf("a call that failed: %s", text)
	}
	if eval[string](b, `document.querySelector('[name="/city"]').value`) != "Atlantis" || eval[string](b, `document.querySelector('[name="/api_key"]').value`) != "" || strings.Contains(eval[string](b, "document.documentElement.innerHTML"), "hush") {
		t.Error("the form lost what was filled in, or kept a secret")
	}
	b.inspectHere("a tool that failed")
	b.Look(1280, "light")
	b.Do(
		chromedp.Clear(`[name="/city"]`), chromedp.SendKeys(`[name="/city"]`, "Bern"), chromedp.SendKeys(`[name="/stations"]`, "Zollikofen\nJungfraujoch"),
		browser.Leads(chromedp.Click(`.try button`)),
	)
	b.Await("the answer", `document.querySelector("#run")?.innerText.includes("Tomorrow in Bern: sunny")`)
	b.Do(chromedp.ScrollIntoView(`.tool-title`))
	b.picture("tool")
	b.Do(chromedp.Navigate(a.Web+"/agents/"+id+"/tools/forecast?as=json"), chromedp.SetValue(`[name="arguments"]`, `{"city":"Bern"}`), browser.Leads(chromedp.Click(`.try button`)), chromedp.WaitVisible(`.note.bad`))
	if text := eval[string](b, `document.querySelector(".note.bad").innerText`); !containsAll(text, "do not fit the tool", "unit") {
		t.Errorf("arguments that do not fit: %s", text)
	}
	b.inspectHere("arguments that do not fit")

	b.Look(1280, "light")
	b.Do(chromedp.Navigate(a.Web+"/agents/"+id+"/tools/recalibrate"), chromedp.Click(`.try button`))
	if at := eval[string](b, "location.search"); at != "" {
		t.Errorf("it ran without a word: %s", at)
	}
	b.Do(chromedp.Click(`[name="sure"]`), browser.Leads(chromedp.Click(`.try button`)), chromedp.WaitVisible(`#run form button`))
	b.inspectHere("a tool under way")
	close(release)
	b.Await("the answer, without a reload", `document.querySelector("#run").innerText.includes("All at zero.")`)
	b.Do(chromedp.Click(`#run a`), chromedp.WaitVisible(`.bars`))
	b.NoComplaints("status of 400")
}

// TestHealth: an owner sees a process come and go without a reload, what it has in
// hand, what went wrong last and what it logged.
func TestHealth(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	rest := client.New(a.REST, a.UserKey)
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	answer := make(chan struct{})
	id, leave := frail(t, a, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		if m.Text == "fail" {
			r.Log(slog.LevelError, "cabinet", "the key does not turn")
			return errors.New("the cabinet is locked; unlock it and call again")
		}
		r.Log(slog.LevelInfo, "cabinet", map[string]any{"drawer": "F", "sheets": 3})
		select {
		case <-answer:
		case <-ctx.Done():
			return ctx.Err()
		}
		return r.Send("Filed under F.")
	})
	page := a.Web + "/agents/" + id + "/health"
	b.Do(chromedp.Navigate(page), chromedp.WaitVisible(`[data-connection]`))
	if got, err := rest.Invoke(t.Context(), id, client.InvokeRequest{Message: "fail"}); err != nil || !got.IsError {
		t.Fatal(got, err)
	}
	if _, err := rest.CreateTask(t.Context(), id, client.TaskRequest{Message: "file this"}); err != nil {
		t.Fatal(err)
	}
	b.Await("what went wrong, and what it has in hand", `document.querySelector("#health").innerText.includes("the cabinet is locked") && document.querySelector("[data-connection] .num").innerText === "1"`)
	b.Await("what it logged", `document.querySelectorAll("[data-line]").length === 2`)
	if text := eval[string](b, `document.querySelector("#health").innerText`); !containsAll(text, "beeos-agent/", "the key does not turn", `"drawer":"F"`) {
		t.Errorf("the page says %s", text)
	}
	b.picture("health")
	b.inspectHere(page)
	leave()
	b.Await("that it is gone", `document.querySelector("#health").innerText.includes("No process of it is connected")`)
	b.Await("what waits", `[...document.querySelectorAll(".about div")].find(d => d.innerText.startsWith("Waiting")).innerText.endsWith("1")`)
	b.inspectHere("an agent that is away")
	close(answer)
	frail(t, a, func(_ context.Context, _ agent.Message, r *agent.Reply) error { return r.Send("Filed.") })
	b.Await("that it is back, without a reload", `document.querySelectorAll("[data-connection]").length === 1`)
	b.NoComplaints()
}
