package console

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// frail connects an instance of an agent whose first instance goes away over the
// work that it is given.
func frail(t *testing.T, a *apptest.App, handle agent.Handler) (id string, leave context.CancelFunc) {
	t.Helper()
	connected := make(chan string, 1)
	w, err := agent.New(agent.Options{
		Name: "clerk", DisplayName: "Clerk", Log: slog.New(slog.DiscardHandler), Gateway: a.Agents, Key: a.UserKey,
		Identity: filepath.Join(t.TempDir(), "clerk.json"), Redelivery: "always", Connected: func(id string) { connected <- id },
	}, handle)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }() // awaited below
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the clerk ended with: %v", err)
		}
	})
	return <-connected, cancel
}

// TestCalls: an owner finds the call that went wrong among all others, and sees
// where its time went; one that is under way changes by itself.
func TestCalls(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	rest := client.New(a.REST, a.UserKey)
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	b.inspect(a.Web + "/calls") // empty

	had, answer := make(chan struct{}), make(chan struct{})
	clerk, leave := frail(t, a, func(ctx context.Context, _ agent.Message, _ *agent.Reply) error {
		close(had)
		<-ctx.Done()
		return ctx.Err()
	})
	made, err := rest.CreateTask(t.Context(), clerk, client.TaskRequest{Message: "file this"})
	if err != nil {
		t.Fatal(err)
	}
	<-had
	leave()
	frail(t, a, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		if m.Text == "fail" {
			return errors.New("the cabinet is locked; unlock it and call again")
		}
		if err := r.Delta("Looking for the right drawer. "); err != nil {
			return err
		}
		think := r.Step("choose a drawer", agent.StepModel).Tokens("small-1", 210, 12)
		think.Step("read the labels", agent.StepRetrieval).Set("drawers", "26").End(nil)
		think.End(nil)
		filing := r.Step("file", agent.StepTool)
		select {
		case <-answer:
		case <-ctx.Done():
			return ctx.Err()
		}
		filing.End(nil)
		if strings.Contains(m.Text, "urgent") {
			return r.Send("Filed under U, on top.\nSomebody should look at it.")
		}
		return r.Send("Filed under F.\nSomebody should look at it.")
	})
	page := a.Web + "/calls/" + made.ID
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(page))
	b.Await("two attempts", `document.querySelectorAll(".bars tr.work").length === 1 && document.querySelectorAll(".bars tr.lost").length === 1`)
	close(answer)
	b.Await("the answer, without a reload", `document.querySelector("main").innerText.includes("Filed under F.")`)
	if text := eval[string](b, `document.querySelector(".bars").innerText`); !containsAll(text, "choose a drawer", "210 tokens in, 12 out", "read the labels", "drawers 26") {
		t.Errorf("what the agent did: %s", text)
	}
	b.inspect(page)
	b.Look(1280, "light")

	if got, err := rest.Invoke(t.Context(), clerk, client.InvokeRequest{Message: "fail"}); err != nil || !got.IsError {
		t.Fatal(got, err)
	}
	for range 3 {
		call(t, a, a.AgentID)
	}
	b.Do(chromedp.Navigate(a.Web+"/calls"), chromedp.WaitVisible(`[data-call]`))
	if n := eval[int](b, `document.querySelectorAll("[data-call]").length`); n != 5 {
		t.Errorf("%d calls are shown", n)
	}
	call(t, a, a.AgentID)
	b.Await("a call that comes, without a reload", `document.querySelectorAll("[data-call]").length === 6`)
	b.Do(chromedp.SetValue(`select[name="outcome"]`, "problems"), chromedp.Click(`.filter button`), chromedp.WaitVisible(`.filter a.button`))
	b.Await("the one that failed", `document.querySelectorAll("[data-call]").length === 1`)
	b.inspectHere("the calls that failed")
	b.Look(1280, "light")
	b.Do(chromedp.Click(`[data-call] a`), chromedp.WaitVisible(`.bars`))
	if text := eval[string](b, `document.querySelector("main").innerText`); !strings.Contains(text, "The cabinet is locked") && !strings.Contains(text, "the cabinet is locked") || !strings.Contains(text, "The agent answered with an error") {
		t.Errorf("the page says %s", text)
	}
	b.inspectHere("a call that failed")
	b.replay(page)
	b.NoComplaints("status of 409") // the replay that is not confirmed
}

// replay makes a call again with another text: the page asks whether it may, and
// then shows both answers.
func (b *tab) replay(page string) {
	b.T.Helper()
	const send = `form[action$="/replay"] button`
	b.Look(1280, "light")
	b.Do(
		chromedp.Navigate(page), chromedp.WaitVisible(send), chromedp.SetValue(`textarea[name="input"]`, "file this, it is urgent"),
		chromedp.Click(send), chromedp.WaitVisible(`.note.bad[role="alert"]`),
	)
	b.inspectHere("a replay that is not confirmed")
	if text := eval[string](b, `document.querySelector('textarea[name="input"]').value`); text != "file this, it is urgent" {
		b.T.Errorf("what was typed is %q now", text)
	}
	b.Look(1280, "light")
	b.Do(chromedp.Click(`input[name="confirm"]`), chromedp.Click(send), chromedp.WaitVisible(`#compare`))
	b.Await("both answers, without a reload", `document.querySelectorAll(".diff").length === 2`)
	if text := eval[string](b, `document.querySelector("main").innerText`); !containsAll(text, "different", "Filed under F.", "Filed under U, on top.", "it is urgent", "210") {
		b.T.Errorf("the comparison: %s", text)
	}
	b.inspectHere("two answers")
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(page), chromedp.WaitVisible(`#replays-title`), chromedp.Click(`input[name="confirm"]`), chromedp.Click(send), chromedp.WaitVisible(`#compare`))
	b.Await("the same answer", `document.querySelector("main").innerText.includes("the same")`)
	b.inspectHere("the same answer twice")
	b.inspect(page) // which names its replays now
}
