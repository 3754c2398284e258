package console

import (
	"context"
	"errors"
	"testing"

	"github.com/chromedp/chromedp"
	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// clerk connects an agent that asks before it saves, and tells what it was
// told.
func clerk(t *testing.T, a *apptest.App) string {
	t.Helper()
	return a.Connect(t, agent.Options{
		Name: "clerk", DisplayName: "Clerk", Description: "Writes down what you tell it.",
	}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		args := map[string]any{"path": "reports/\u202efdp.exe", "rows": [][]any{{"city", "rain"}, {"Bern", 4.5}}, "note": m.Text}
		var denied *agent.Denied
		switch err := r.Gate(ctx, agent.Approval{Skill: "files", Tool: "save_csv", Arguments: args}); {
		case errors.As(err, &denied):
			return r.Send("not saved: " + denied.Reason)
		case err != nil:
			return err
		}
		return r.Send("saved")
	})
}

// TestApprovals: what an agent asks shows up while the page is open, with a
// badge; it is decided by mouse, by keys and by link, and the caller gets its
// answer.
func TestApprovals(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	id := clerk(t, a)
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	b.inspect(a.Web + "/approvals")
	b.inspect(a.Web + "/approvals/history")

	cl := client.New(a.REST, a.UserKey)
	ask := func(text, want string) func() {
		var g errgroup.Group
		g.Go(func() error {
			got, err := cl.Invoke(t.Context(), id, client.InvokeRequest{Message: text})
			if err == nil && got.Text != want {
				err = errors.New("answered " + got.Text)
			}
			return err
		})
		return func() {
			t.Helper()
			if err := g.Wait(); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}

	b.Look(1280, "light")
	b.Do(chromedp.Navigate(a.Web + "/keys")) // a page without a stream of its own
	eval[bool](b, "window.same = true")
	first := ask("first", "saved")
	b.Await("the badge appears", `document.querySelector("#badge .badge")?.textContent.startsWith("1")`)
	if !eval[bool](b, "window.same === true") {
		t.Error("the page was loaded anew")
	}
	b.Do(chromedp.Navigate(a.Web + "/"))
	b.Await("Home says so", `document.querySelector("#needs").textContent.includes("Clerk wants to call files / save_csv.")`)
	b.inspect(a.Web + "/approvals")
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(a.Web + "/approvals"))
	if text := eval[string](b, `document.querySelector(".arguments").innerText`); !containsAll(text, `"path": "reports/⟨U+202E⟩fdp.exe"`, `"note": "first"`, `4.5`) {
		t.Errorf("the arguments are shown as %s", text)
	}
	second := ask("second", "not saved: wrong folder")
	b.Await("the second shows up", `document.querySelectorAll("[data-ask]").length === 2`)
	b.picture("approvals")
	b.inspectHere("two that wait")
	b.Look(1280, "light")

	// The newest stands first: j goes to it, r to its reason, Enter sends.
	b.Do(chromedp.KeyEvent("j"), chromedp.KeyEvent("r"), chromedp.KeyEvent("wrong folder"), chromedp.KeyEvent("\r"))
	b.Await("it says what was done", `document.querySelector(".note.good")?.textContent.includes("Rejected")`)
	second()
	b.Do(chromedp.KeyEvent("a"))
	b.Await("a leads to the button", `document.activeElement.matches("[data-approve]")`)
	b.Do(chromedp.KeyEvent("\r"))
	b.Await("the other is approved", `document.querySelector(".note.good")?.textContent.includes("Approved")`)
	b.Await("nothing waits", `document.querySelector("#inbox .empty") && !document.querySelector("#badge .badge")`)
	first()
	b.inspect(a.Web + "/approvals/history")
	b.inspect(a.Web + "/agents/" + id)

	third := ask("third", "saved")
	b.Await("somebody is asked", `!!document.querySelector("#badge .badge")`)
	list, err := cl.Approvals(t.Context(), "pending")
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	link, err := cl.ApprovalLink(t.Context(), list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	b.Look(1280, "light")
	b.Do(chromedp.Navigate(a.Web+"/"), chromedp.Click(`form[action="/signout"] button`), chromedp.WaitVisible(`input[name="password"]`))
	b.inspect(link)
	b.Look(1280, "light")
	b.Do(chromedp.Click(`button[value="approve"]`), chromedp.WaitNotPresent(`button[value="approve"]`))
	b.Await("the link has decided", `document.querySelector("h1").textContent === "Approved"`)
	third()
	b.NoComplaints()
}
