package agent_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// TestAgentsCallAgents: one asks another, a circle is stopped, and so is what
// was asked on behalf of a call that is cancelled.
func TestAgentsCallAgents(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	began, stopped := make(chan struct{}, 10), make(chan struct{}, 10)
	ids := map[string]string{}
	for name, handler := range map[string]agent.Handler{
		"front": func(ctx context.Context, m agent.Message, r *agent.Reply) error {
			call := agent.AgentCall{Agent: "back", Message: m.Text}
			if tool, city, ok := strings.Cut(m.Text, " in "); ok {
				call = agent.AgentCall{Agent: "back", Tool: tool, Arguments: map[string]string{"city": city}, Key: "the tool"}
			}
			text, err := r.CallAgent(ctx, call)
			if err != nil {
				return err
			}
			return r.Send("back says: " + text)
		},
		"back": func(ctx context.Context, m agent.Message, r *agent.Reply) error {
			switch m.Text {
			case "circle":
				_, err := r.Call(ctx, "front", "circle")
				return err
			case "fail":
				return r.Fail("no")
			case "wait":
				began <- struct{}{}
				<-ctx.Done()
				stopped <- struct{}{}
				return ctx.Err()
			}
			return r.Send(m.Protocol + " " + m.Metadata["call_chain"])
		},
	} {
		var tools []agent.Tool
		if name == "back" {
			tools = []agent.Tool{
				{Name: "forecast", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","minLength":2}}}`), Handle: func(_ context.Context, m agent.Message, r *agent.Reply) error {
					return r.Send("forecast for " + string(m.Arguments))
				}},
				{Name: "inside", Hidden: true},
			}
		}
		connected, ended := make(chan string, 10), make(chan error, 1)
		ctx, cancel := context.WithCancel(context.Background())
		go func() { // awaited by the cleanup
			ended <- agent.Run(ctx, agent.Options{
				Name: name, Gateway: app.Agents, Key: app.UserKey, Identity: filepath.Join(t.TempDir(), name+".json"), Tools: tools,
				Log: slog.New(slog.DiscardHandler), Connected: func(id string) { connected <- id },
			}, handler)
		}()
		t.Cleanup(func() { cancel(); <-ended })
		ids[name] = <-connected
	}
	cl := client.New(app.REST, app.UserKey)
	for message, want := range map[string]string{
		"hello":  "back says: agent " + ids["front"],
		"circle": "already working on this",
		"fail":   "no",

		"forecast in Bern": `back says: forecast for {"city":"Bern"}`,
		"forecast in B":    "these arguments do not fit the tool forecast",
		"storm in Bern":    `agent back has no tool "storm"`,
		"inside in Bern":   `agent back has no tool "inside"`,
	} {
		a, err := cl.Invoke(t.Context(), ids["front"], client.InvokeRequest{Message: message})
		if err != nil || !strings.Contains(a.Text, want) || a.IsError == strings.HasPrefix(want, "back says") {
			t.Errorf("%s: %+v %v", message, a, err)
		}
	}
	task, err := cl.CreateTask(t.Context(), ids["front"], client.TaskRequest{Message: "wait"})
	if err != nil {
		t.Fatal(err)
	}
	<-began
	if _, err := cl.CancelTask(t.Context(), ids["front"], task.ID, ""); err != nil {
		t.Fatal(err)
	}
	<-stopped
}
