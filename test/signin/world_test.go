//go:build unix

package signin

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
)

// clock is the server's. A test moves it on instead of waiting.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *clock) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// world is a server with two agents, and with a person who owns them.
type world struct {
	*apptest.App
	clock   *clock
	weather string // the agent besides the demo's echo
}

// newWorld starts one. Its person came in by the first-run link.
func newWorld(t *testing.T) *world {
	t.Helper()
	cfg := apptest.Config(t)
	cfg.AllowPrivate = true // documents are on this machine
	return worldOf(t, cfg)
}

func worldOf(t *testing.T, cfg config.Config) *world {
	t.Helper()
	w := &world{clock: &clock{}}
	w.App = apptest.StartWith(t, cfg, app.Options{Demo: true, Now: w.clock.now})
	w.connect(t)
	open(t).SignUp(w.Setup)
	return w
}

// connect runs the second agent until the test ends.
func (w *world) connect(t *testing.T) {
	t.Helper()
	w.weather = w.Connect(t, agent.Options{Name: "weather", Description: "Knows tomorrow's weather, most of the time."},
		func(_ context.Context, _ agent.Message, r *agent.Reply) error { return r.Send("sunny") })
}

// endpoint is where an agent is reached; none is all of them.
func (w *world) endpoint(agentID string) string {
	if agentID == "" {
		return w.MCP + "/mcp"
	}
	return w.MCP + "/" + agentID + "/mcp"
}

// refusal is what a server said about a credential.
type refusal struct {
	status    int
	challenge string
}

// ask calls an endpoint with a token, past every client.
func ask(t *testing.T, endpoint, token string) refusal {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Error json.RawMessage }
	if err := json.Unmarshal(text, &answer); err != nil || (resp.StatusCode == http.StatusOK) != (answer.Error == nil) {
		t.Errorf("%s: %d %s", endpoint, resp.StatusCode, text)
	}
	return refusal{resp.StatusCode, resp.Header.Get("WWW-Authenticate")}
}
