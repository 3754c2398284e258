//go:build unix

package frameworks

import (
	"context"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/test/apptest"
)

// connectHelper runs an agent with three tools: one that takes an argument, one
// that takes none, and one that tells how far it is. Who talks to it, as over
// A2A, is answered by talk.
func connectHelper(t *testing.T, app *apptest.App, talk agent.Handler) (id string) {
	t.Helper()
	none := []byte(`{"type":"object","properties":{}}`)
	return app.Connect(t, agent.Options{
		Name: "helper", Description: "Greets, pings and counts.",
		Tools: []agent.Tool{
			{Name: "greet", Description: "Says hello.", Schema: []byte(`{"type":"object","properties":{"name":{"type":"string","description":"Who is greeted."}},"required":["name"]}`), Handle: greet},
			{Name: "ping", Description: "Says pong.", Schema: none, Handle: ping},
			{Name: "count", Description: "Counts to three.", Schema: none, Handle: count},
		},
	}, talk)
}

func greet(_ context.Context, m agent.Message, r *agent.Reply) error {
	var in struct{ Name string }
	if err := m.Bind(&in); err != nil {
		return err
	}
	return r.Send("Hello, " + in.Name + "!")
}

func ping(_ context.Context, _ agent.Message, r *agent.Reply) error { return r.Send("pong") }

func count(_ context.Context, _ agent.Message, r *agent.Reply) error {
	for i, word := range []string{"one", "two", "three"} {
		if err := r.Progress(float64(i+1), 3, word); err != nil {
			return err
		}
	}
	return r.Send("one two three")
}
