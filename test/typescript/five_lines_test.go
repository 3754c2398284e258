//go:build unix

package typescript

import (
	"testing"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/stock"
)

// TestFiveLines: the program of docs/start, an agent that is one tool, answers
// clients that others wrote over MCP and A2A, and REST. It finds the server by itself.
func TestFiveLines(t *testing.T) {
	s := startServer(t)
	s.startAgent("first.js")
	a := s.find("weather-ts")
	if got, err := stock.CallTool(t.Context(), a.MCPURL, s.UserKey, "forecast", map[string]any{"city": "Rome", "days": 3}); err != nil || got != "sunny in Rome for 3 days" {
		t.Errorf("MCP: %q, %v", got, err)
	}
	if got, err := stock.CallTool(t.Context(), a.MCPURL, s.UserKey, "forecast", map[string]any{"town": "Rome"}); err == nil {
		t.Errorf("MCP: arguments that do not fit: %q", got)
	}
	for said, want := range map[string]string{"Oslo": "sunny in Oslo for 1 days", `{"city": "Oslo", "days": 2}`: "sunny in Oslo for 2 days"} {
		if got, err := stock.Say(t.Context(), a.A2AURL, s.UserKey, said); err != nil || got != want {
			t.Errorf("A2A: %q, %v", got, err)
		}
		if answer, err := s.client().Invoke(t.Context(), a.ID, client.InvokeRequest{Message: said}); err != nil || answer.Text != want {
			t.Errorf("REST: %+v, %v", answer, err)
		}
	}
}
