package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/browser"
)

// TestTasks: what a program asked for in a person's name asks back; the person
// finds it, answers it, cancels another, and has a webhook that was down told
// again.
func TestTasks(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	id := a.Connect(t, agent.Options{Name: "archivist", DisplayName: "Archivist", Description: "Files what it is given."}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		if m.Text == "count everything" {
			<-ctx.Done()
			return ctx.Err()
		}
		got, err := r.InputRequired(ctx, "Under which letter shall it go?", nil)
		if err != nil {
			return err
		}
		return r.Send("Filed under " + got.Text + ".")
	})
	var up atomic.Bool
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			http.Error(w, "down for repairs", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(hook.Close)
	rest := client.New(a.REST, a.UserKey)
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	b.Do(chromedp.Navigate(a.Web + "/tasks"))
	asks, err := rest.CreateTask(t.Context(), id, client.TaskRequest{Message: "file the letter of Mr. Fox"})
	if err != nil {
		t.Fatal(err)
	}
	long, err := rest.CreateTask(t.Context(), id, client.TaskRequest{Message: "count everything"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rest.AddWebhook(t.Context(), id, asks.ID, client.WebhookRequest{URL: hook.URL}); err != nil {
		t.Fatal(err)
	}
	b.Await("both, without a reload", `document.querySelectorAll("[data-task]").length === 2 && document.querySelector("#tasks").innerText.includes("asks you something")`)
	b.inspectHere("tasks under way")
	b.Look(1280, "light")
	b.picture("tasks")
	b.Do(chromedp.Navigate(a.Web+"/tasks/"+asks.ID), chromedp.WaitVisible(`form.question`))
	b.inspectHere("a task that asks")
	b.Look(1280, "light")
	b.picture("task")
	b.Do(chromedp.SendKeys(`form.question [name="f.message"]`, "F"), browser.Leads(chromedp.Click(`form.question button`)))
	b.Await("the answer, without a reload", `document.querySelector("#said").innerText.includes("Filed under F.") && document.querySelector("#task").innerText.includes("completed")`)
	b.inspectHere("a task that has ended")
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(a.Web+"/tasks/"+long.ID), browser.Leads(chromedp.Click(`#task button`)))
	b.Await("that it was canceled", `document.querySelector("#task").innerText.includes("canceled")`)

	b.Do(chromedp.Navigate(a.Web+"/webhooks"), chromedp.WaitVisible(`[data-delivery]`))
	b.Await("that it will be tried again", `document.querySelector("#deliveries").innerText.includes("will be tried again")`)
	b.inspectHere("webhooks")
	b.Look(1280, "light")
	b.picture("webhooks")
	up.Store(true)
	b.Do(chromedp.Click(`[data-delivery] button`))
	b.Await("that it was delivered now", `document.querySelector("#deliveries").innerText.includes("delivered")`)

	b.Do(chromedp.Navigate(a.Web+"/agents/"+id+"/chat"), chromedp.SendKeys(`#message`, "Where is the letter of Mr. Fox?"), browser.Leads(chromedp.Click(`button.send`)), chromedp.WaitVisible(`form.question`))
	b.Do(chromedp.Navigate(a.Web+"/conversations"), chromedp.WaitVisible(`[data-conversation]`))
	b.inspectHere("conversations")
	b.Look(1280, "light")
	b.Do(browser.Leads(chromedp.SendKeys(`#q`, "fox\r")), chromedp.WaitVisible(`[data-conversation]`), browser.Leads(chromedp.Click(`[data-conversation] a`)), chromedp.WaitVisible(`#transcript`))

	b.Do(chromedp.Navigate(a.Web+"/system"), chromedp.WaitVisible(`[data-setting]`))
	if text := eval[string](b, `document.querySelector("main").innerText`); !containsAll(text, "SQLite", "shows this page", "BEEOS_DATA", "free of") {
		t.Errorf("the system page says %s", text)
	}
	b.inspectHere("the system page")
	b.NoComplaints()
}
