package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/stock"
)

// TestOneToolIsTalkedTo: over REST, which has no tools, an agent with a single one
// is that tool. What does not fit its schema never reaches it, and of what cannot be
// checked here nothing does.
func TestOneToolIsTalkedTo(t *testing.T) {
	const notChecked = "this agent does not chat; call one of its tools"
	app := apptest.Start(t, apptest.Config(t))
	cl := client.New(app.REST, app.UserKey)
	for i, tt := range []struct{ schema, said, want string }{
		{`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer","default":1}},"required":["city"]}`, "Oslo", `forecast {"city":"Oslo"}`},
		{`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`, ` {"city": "Oslo", "days": 3}`, `forecast {"city":"Oslo","days":3}`},
		{`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`, `{"city": "Oslo", "days": 1.5}`, "the arguments do not fit: days must be of type integer"},
		{`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`, `{Oslo "x"`, `forecast {"city":"{Oslo \"x\""}`},
		{`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`, `{"town":"Oslo"}`, "the arguments do not fit: city is missing"},
		{`{"type":"object","properties":{"city":{"type":"string","enum":["Oslo"]}},"required":["city"]}`, "Rome", `the arguments do not fit: city must be one of ["Oslo"]`},
		{`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`, `{"city":"Oslo","x":1}`, "the arguments do not fit: there is no argument x"},
		{``, `{"anything":[1]}`, `forecast {"anything":[1]}`},
		{``, "Oslo", notChecked},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}`, "Oslo", notChecked},
		{`{"type":"object","properties":{"city":{"type":"string","pattern":"^O"}},"required":["city"]}`, "Oslo", notChecked},
		{`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"minProperties":2}`, `{"city":"Oslo"}`, notChecked},
	} {
		id, stop := serveTool(t, app, fmt.Sprint("one-", i), tt.schema)
		answer, err := cl.Invoke(t.Context(), id, client.InvokeRequest{Message: tt.said})
		switch {
		case err != nil:
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%d %s: %v, want %s", i, tt.said, err, tt.want)
			}
		case answer.Text != tt.want:
			t.Errorf("%d %s: %+v, want %s", i, tt.said, answer, tt.want)
		}
		stop()
	}
}

// serveTool serves an agent with a single tool, which says what it was given.
func serveTool(t *testing.T, app *apptest.App, name, schema string) (id string, stop func()) {
	t.Helper()
	connected, ended := make(chan string, 10), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // awaited by stop
		ended <- agent.Run(ctx, agent.Options{
			Name: name, Gateway: app.Agents, Key: app.UserKey, Identity: filepath.Join(t.TempDir(), name+".json"),
			Log: slog.New(slog.DiscardHandler), Connected: func(id string) { connected <- id },
			Tools: []agent.Tool{{Name: "forecast", Schema: json.RawMessage(schema), Handle: func(_ context.Context, m agent.Message, r *agent.Reply) error {
				return r.Send(m.Tool + " " + string(m.Arguments))
			}}},
		}, nil)
	}()
	select {
	case id = <-connected:
	case err := <-ended:
		cancel()
		t.Fatalf("%s: %v", name, err)
	}
	return id, func() { cancel(); <-ended }
}

// TestOneToolOnAllSurfaces: clients that others wrote call it over MCP and A2A.
func TestOneToolOnAllSurfaces(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	id, stop := serveTool(t, app, "weather", `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	defer stop()
	found, err := client.New(app.REST, app.UserKey).Agent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := stock.CallTool(t.Context(), found.MCPURL, app.UserKey, "forecast", map[string]any{"city": "Rome"}); err != nil || got != `forecast {"city":"Rome"}` {
		t.Errorf("MCP: %q, %v", got, err)
	}
	if got, err := stock.Say(t.Context(), found.A2AURL, app.UserKey, "Oslo"); err != nil || got != `forecast {"city":"Oslo"}` {
		t.Errorf("A2A: %q, %v", got, err)
	}
}
