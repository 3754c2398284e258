//go:build unix && clients

package frameworks

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/test/apptest"
)

// timedOut is all that mcpadapt says of a refusal: it keeps the reason to itself.
const timedOut = "Couldn't connect to the MCP server"

func TestHeavyPythonClients(t *testing.T) {
	testPython(t, []client{
		{"mcp_1", "mcp-1.txt", true, statusOnly},
		{"langchain", "mcp-1.txt", true, statusOnly},
		{"smolagents", "mcp-1.txt", false, timedOut},
		{"google_adk", "google-adk.txt", true, ourWords},
		{"crewai_tools", "crewai.txt", false, timedOut},
	})
}

func TestHeavyNodeClients(t *testing.T) {
	testNode(t, "node-heavy", []client{
		{name: "mastra", progress: true, refusal: "the server requires authorization (HTTP 401)"},
		{name: "mcpuse", progress: true, refusal: "Authentication required"},
	})
}

// TestADKTalksA2A makes an agent of Google's kit from nothing but an agent's
// card and a key, and talks to it twice in one session: whole, and in pieces.
func TestADKTalksA2A(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	heard := make(chan struct{})
	id := connectHelper(t, app, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		if err := r.Delta("you said: "); err != nil {
			return err
		}
		if m.Text == "one two three" {
			select {
			case <-heard: // so the first piece was seen before there was a second
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return r.Delta(m.Text)
	})
	told := func(s step) {
		if s.Step == "piece" {
			close(heard)
		}
	}
	got := runPython(t, "google-adk.txt", told, "adk_a2a.py", app.A2A+"/"+id, app.UserKey)
	if !strings.Contains(got["card"].Text, "Greets, pings and counts.") { // it marks words that are not its own
		t.Errorf("card: %+v", got["card"])
	}
	if send := got["send"]; send.Text != "you said: hello there" || send.Error != "" {
		t.Errorf("send: %+v", send)
	}
	if stream := got["stream"]; stream.Text != "you said: one two three" || !slices.Equal(stream.Pieces, []string{"you said: ", "one two three"}) {
		t.Errorf("stream: %+v", stream)
	}
	if contexts := slices.Compact([]string{got["send"].Context, got["stream"].Context}); len(contexts) != 1 || contexts[0] == "" {
		t.Errorf("one session became the conversations %q", contexts)
	}
	if !strings.Contains(got["refused"].Error, statusOnly) {
		t.Errorf("a wrong key was told %q", got["refused"].Error)
	}
}
