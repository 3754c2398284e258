package console

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/test/apptest"
)

// TestLive: calls appear and agents go off and on without a reload, and the
// page that shows it is the one that was opened.
func TestLive(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	id, stop := weather(t, a)
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	eval[bool](b, "window.same = true")
	call(t, a, id)
	b.Await("the call shows up", `document.querySelectorAll("tr[data-call]").length === 1 && document.querySelector("tr[data-call]").textContent.includes("ok")`)
	call(t, a, id)
	b.Await("so does the next", `document.querySelectorAll("tr[data-call]").length === 2`)
	if !eval[bool](b, "window.same === true") {
		t.Error("the page was loaded anew")
	}

	b.Do(chromedp.Navigate(a.Web + "/agents"))
	dot := fmt.Sprintf(`document.querySelector('[data-agent=%q] .dot').textContent`, id)
	b.Await("the agent is online", dot+` === "online"`)
	eval[bool](b, "window.same = true")
	stop()
	b.Await("it is seen to leave", dot+` === "offline"`)
	again, _ := weather(t, a)
	if again != id {
		t.Fatalf("the agent came back as %s", again)
	}
	b.Await("it is seen to come back", dot+` === "online"`)
	if !eval[bool](b, "window.same === true") {
		t.Error("the page was loaded anew")
	}

	b.Do(chromedp.Navigate(a.Web+"/agents/"+id), chromedp.Click(`[data-copy]`))
	b.Await("copying says so", `document.querySelector("[data-copy] span").textContent === "Copied"`)
	b.Do(chromedp.Navigate(a.Web+"/agents/"+id+"/settings"), chromedp.Click(`form.card input[name="self"]`), chromedp.Click(`form.card button[type="submit"]`))
	b.Await("saving says so", `document.querySelector(".note.good")?.textContent.includes("Saved")`)
	b.NoComplaints()
}
