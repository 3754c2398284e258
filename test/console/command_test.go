package console

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// TestCommandsCallAgain: the command on the page of a call makes that call, of a
// message and of a tool.
func TestCommandsCallAgain(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	id := forecaster(t, a, nil)
	rest := client.New(a.REST, a.UserKey)
	found, err := rest.Agent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("it's raining; ", 400) + "will it end?"
	if _, err := rest.Invoke(t.Context(), id, client.InvokeRequest{Message: long}); err != nil {
		t.Fatal(err)
	}
	if _, err := rest.CallTool(t.Context(), found, "forecast", json.RawMessage(`{"city":"Zürich","unit":"celsius","api_key":"hush"}`)); err != nil {
		t.Fatal(err)
	}
	b := open(t)
	b.Look(1280, "light")
	b.SignUp(a.Setup)
	for query, want := range map[string]string{"surface=rest": "will it end?", "surface=mcp": "Tomorrow in Zürich: sunny"} {
		b.Do(chromedp.Navigate(a.Web+"/calls?"+query), chromedp.WaitVisible(`[data-call]`))
		made := eval[string](b, `document.querySelector("[data-call]").dataset.call`)
		b.Do(chromedp.Navigate(a.Web+"/calls/"+made), chromedp.WaitVisible(`#curl-title`))
		command := eval[string](b, `document.querySelector("[aria-labelledby=curl-title] [data-copy]").dataset.copy`)
		run := exec.CommandContext(t.Context(), "bash", "-c", command)
		run.Env = append(os.Environ(), "BEEOS_KEY="+a.UserKey)
		out, err := run.Output()
		if err != nil || !strings.Contains(string(out), want) || strings.Contains(command, "hush") {
			t.Errorf("%s\nsays %s, %v", command, out, err)
		}
	}
	b.NoComplaints()
}
