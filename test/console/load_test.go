//go:build walk

package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/browser"
)

// load is a server that has seen a bit of everything: calls over MCP, REST, A2A
// and the console, to programs and to a built-in agent with tools, which went
// well, failed, waited for people, were lost and delivered again.
type load struct {
	*apptest.App
	t    *testing.T
	rest *client.Client

	forecaster, clerk, assistant, archivist string // agents

	redelivered, replay string // calls
	asks                string // a task that asks
	link                string // that lets somebody decide
}

// newLoad starts the server and lets the person in the window work with it.
func newLoad(t *testing.T, b *tab) *load {
	t.Helper()
	cfg := apptest.Config(t)
	cfg.LLM.Provider = "scripted"
	l := &load{App: apptest.Start(t, cfg), t: t}
	l.rest = client.New(l.REST, l.UserKey)
	l.forecaster = forecaster(t, l.App, nil)
	l.archivist = l.Connect(t, agent.Options{Name: "archivist", DisplayName: "Archivist", Description: "Files what it is given, and asks where."}, askWhere)
	b.Look(1280, "light")
	b.SignUp(l.Setup)
	l.redeliver()
	l.callEveryWay()
	l.askForApproval(b)
	l.workOnTasks()
	l.grant(b)
	offer(t, l.App, l.forecaster)
	l.setBudgets()
	fillPast(t, cfg, l.forecaster)
	b.Do(chromedp.Navigate(l.Web + "/agents/" + l.archivist + "/chat"))
	b.typeIn("Where is the letter of Mr. Fox?")
	b.Do(chromedp.WaitVisible(`form.question`))
	return l
}

// setBudgets bounds an agent that has much left, and one that has nothing.
func (l *load) setBudgets() {
	l.t.Helper()
	for _, r := range []client.BudgetRequest{
		{SubjectType: "agent", SubjectID: l.forecaster, WarnAt: 80, Unit: "calls", Period: "day", Limit: 40},
		{SubjectType: "agent", SubjectID: l.assistant, Unit: "tokens", Period: "month", Limit: 2_000_000},
		{SubjectType: "agent", SubjectID: l.clerk, Unit: "calls", Period: "day", Limit: 1},
	} {
		_, err := l.rest.SetBudget(l.t.Context(), r)
		l.must(err)
	}
}

// askWhere is an agent that cannot go on without an answer.
func askWhere(ctx context.Context, m agent.Message, r *agent.Reply) error {
	if m.Text == "count everything" {
		<-ctx.Done()
		return ctx.Err()
	}
	got, err := r.InputRequired(ctx, "Under which letter shall it go?", nil)
	if err != nil {
		return err
	}
	return r.Send("Filed under " + got.Text + ".")
}

func (l *load) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// redeliver lets a process go away over its work; another one does it.
func (l *load) redeliver() {
	l.t.Helper()
	had := make(chan struct{})
	var leave context.CancelFunc
	l.clerk, leave = frail(l.t, l.App, func(ctx context.Context, _ agent.Message, _ *agent.Reply) error {
		close(had)
		<-ctx.Done()
		return ctx.Err()
	})
	task, err := l.rest.CreateTask(l.t.Context(), l.clerk, client.TaskRequest{Message: "file this"})
	l.must(err)
	l.redelivered = task.ID
	<-had
	leave()
	frail(l.t, l.App, func(_ context.Context, m agent.Message, r *agent.Reply) error {
		if m.Text == "fail" {
			return errors.New("the cabinet is locked; unlock it and call again")
		}
		think := r.Step("choose a drawer", agent.StepModel).Tokens("gpt-4o-mini", 2100, 120)
		think.Step("read the labels", agent.StepRetrieval).Set("drawers", "26").End(nil)
		think.End(nil)
		r.Step("file", agent.StepTool).End(nil)
		if strings.Contains(m.Text, "urgent") {
			return r.Send("Filed under U, on top.\nSomebody should look at it.")
		}
		return r.Send("Filed under F.\nSomebody should look at it.")
	})
	for _, err := range l.rest.WatchTask(l.t.Context(), l.clerk, l.redelivered) {
		l.must(err)
	}
}

// callEveryWay calls over each surface, also what goes wrong.
func (l *load) callEveryWay() {
	l.t.Helper()
	ctx := l.t.Context()
	clerk, err := l.rest.Agent(ctx, l.clerk)
	l.must(err)
	forecaster, err := l.rest.Agent(ctx, l.forecaster)
	l.must(err)
	for _, city := range []string{"Bern", "Geneva", "Atlantis", "Bern", "Zürich"} {
		args, err := json.Marshal(map[string]string{"city": city, "unit": "celsius"})
		l.must(err)
		_, err = l.rest.CallTool(ctx, forecaster, "forecast", args)
		l.must(err)
		for _, err := range l.rest.StreamA2A(ctx, clerk, client.InvokeRequest{Message: "file the report of " + city}) {
			l.must(err)
		}
		call(l.t, l.App, l.AgentID)
	}
	_, err = l.rest.Invoke(ctx, l.clerk, client.InvokeRequest{Message: "fail"})
	l.must(err)
	urgent := "file this, it is urgent"
	made, err := l.rest.ReplayCall(ctx, l.redelivered, client.ReplayRequest{Confirm: true, Text: &urgent})
	l.must(err)
	_, err = l.rest.AwaitReplay(ctx, made, func(string) {})
	l.must(err)
	l.replay = made.ID
}

// askForApproval has the built-in agent ask before it uses a tool: one call goes
// ahead, one is rejected, and one waits.
func (l *load) askForApproval(b *tab) {
	l.t.Helper()
	b.Do(chromedp.Navigate(l.Web + "/agents"))
	b.Await("the assistant is there", `!!document.evaluate("//li[contains(., 'Assistant')]", document, null, 9).singleNodeValue?.querySelector(".dot.on")`)
	l.assistant = eval[string](b, `document.evaluate("//li[contains(., 'Assistant')]", document, null, 9).singleNodeValue.dataset.agent`)
	b.Do(
		chromedp.Navigate(l.Web+"/agents/"+l.assistant+"/skills"), chromedp.WaitVisible(`select[name="all"]`),
		chromedp.SetValue(`select[name="all"]`, "ask"), chromedp.SetValue(`input[name="minutes"]`, "55"), chromedp.Click(`form:has(select[name="all"]) button`), chromedp.WaitVisible(".note.good"),
		chromedp.Navigate(l.Web+"/agents/"+l.assistant+"/chat"),
	)
	b.typeIn("What is 2 and 3.5?")
	b.Do(chromedp.WaitVisible("[data-ask]"), chromedp.Click("[data-approve]"))
	b.Await("the answer", lastProse+` === "The answer is 5.5." && !document.querySelector("[data-ask]")`)
	b.typeIn("And 4 and 5?")
	b.Await("it asks again", `!!document.querySelector("[data-ask]")`)
	b.Do(chromedp.SendKeys("[data-reject]", "no more sums\r"))
	b.Await("it is told", lastProse+`?.includes("no more sums")`)
	_, err := l.rest.CreateTask(l.t.Context(), l.assistant, client.TaskRequest{Message: "What is 20 and 22?"})
	l.must(err)
	b.Do(chromedp.Navigate(l.Web+"/approvals"), chromedp.WaitVisible(`[data-ask]`))
	waiting, err := l.rest.Approvals(l.t.Context(), "pending")
	l.must(err)
	l.link, err = l.rest.ApprovalLink(l.t.Context(), waiting[0].ID)
	l.must(err)
}

// workOnTasks leaves a task that asks, one that was canceled, and a webhook that
// is down.
func (l *load) workOnTasks() {
	l.t.Helper()
	ctx := l.t.Context()
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "down for repairs", http.StatusServiceUnavailable)
	}))
	l.t.Cleanup(hook.Close)
	asks, err := l.rest.CreateTask(ctx, l.archivist, client.TaskRequest{Message: "file the letter of Mr. Fox"})
	l.must(err)
	l.asks = asks.ID
	_, err = l.rest.AddWebhook(ctx, l.archivist, asks.ID, client.WebhookRequest{URL: hook.URL + "/tasks?token=hush"})
	l.must(err)
	long, err := l.rest.CreateTask(ctx, l.archivist, client.TaskRequest{Message: "count everything"})
	l.must(err)
	_, err = l.rest.CancelTask(ctx, l.archivist, long.ID, "it takes too long")
	l.must(err)
	_, err = l.rest.CreateKey(ctx, "", client.KeyRequest{Name: "nightly report", RatePerMinute: 60})
	l.must(err)
	_, err = l.rest.CreateKey(ctx, l.forecaster, client.KeyRequest{Name: "n8n"})
	l.must(err)
}

// grant lets a program use an agent.
func (l *load) grant(b *tab) {
	l.t.Helper()
	answers := make(chan url.Values, 1)
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			answers <- r.URL.Query()
		}
		w.Write([]byte("<!doctype html><title>program</title><p id=thanks>Thank you")) //nolint:errcheck // the browser has gone
	}))
	l.t.Cleanup(back.Close)
	b.Do(
		chromedp.Navigate(begin(l.t, l.App, "Claude Code", back.URL+"/callback", l.MCP+"/"+l.forecaster+"/mcp")), chromedp.WaitVisible(`#consent`),
		browser.Leads(chromedp.Click(`button[value="allow"]`)), chromedp.WaitVisible(`#thanks`),
	)
	<-answers
}
