package agent_test

import (
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// TestOwnerRestartsAgent: an agent that is asked to restart connects anew, and the
// work that it has in hand is done once and answered. One that is not connected
// cannot be asked.
func TestOwnerRestartsAgent(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	p := startPatient(t, app)
	id := <-p.connected
	c := client.New(app.REST, app.UserKey)
	a, err := c.Agent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	channel := post(t, app, "/channels", `{"agent_id":"`+id+`"}`).Channel
	turn := post(t, app, "/channels/"+channel+"/messages", `{"body":"take your time"}`).Message
	<-p.started
	if err := c.RunInstance(t.Context(), a.InstanceID, "restart"); err != nil {
		t.Fatal(err)
	}
	<-p.connected
	p.finish <- struct{}{}
	if got := post(t, app, "/channels/"+channel+"/wait", `{"in_reply_to":"`+turn+`"}`); got.Body != "worth the wait" {
		t.Errorf("got %+v", got)
	}
	p.stop(t)
	for err = nil; err == nil; { // until the gateway has noticed
		err = c.RunInstance(t.Context(), a.InstanceID, "restart")
	}
	if beeos.CodeOf(err) != beeos.Conflict || !strings.Contains(err.Error(), "is not connected") {
		t.Errorf("asked one that is not there: %v", err)
	}
	if err := c.RunInstance(t.Context(), "inst_of_nobody", "restart"); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("asked nobody: %v", err)
	}
}

// TestTwoToolsOfOneNameAreRefused: one of them would never be called.
func TestTwoToolsOfOneNameAreRefused(t *testing.T) {
	tools := []agent.Tool{{Name: "add"}, {Name: "sub"}, {Name: "add"}}
	_, err := agent.New(agent.Options{Name: "clerk", Tools: tools}, nil)
	if err == nil || !strings.Contains(err.Error(), `two tools are called "add"`) {
		t.Error(err)
	}
}
