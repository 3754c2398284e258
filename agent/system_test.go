package agent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/ports"
)

// TestRestart: the whole of BeeOS stops and comes back while an agent works.
// The work is done once, and its answer arrives.
func TestRestart(t *testing.T) {
	cfg := apptest.Config(t)
	cfg.Agents.Addr = ports.Addr(t) // the agent must find it again
	app := apptest.Start(t, cfg)

	p := startPatient(t, app)
	id := <-p.connected
	channel := post(t, app, "/channels", `{"agent_id":"`+id+`"}`).Channel
	turn := post(t, app, "/channels/"+channel+"/messages", `{"body":"take your time"}`).Message
	<-p.started

	if err := app.Stop(); err != nil {
		t.Fatal(err)
	}
	app = apptest.Start(t, cfg)
	<-p.connected
	p.finish <- struct{}{}
	if got := post(t, app, "/channels/"+channel+"/wait", `{"in_reply_to":"`+turn+`"}`); got.Body != "worth the wait" {
		t.Errorf("got %+v", got)
	}
	p.stop(t)
}

// patient is an agent that begins to work at once and ends when it is told to.
type patient struct {
	connected       chan string
	started, finish chan struct{}
	runs            atomic.Int32
	cancel          context.CancelFunc
	done            chan error
}

func startPatient(t *testing.T, app *apptest.App) *patient {
	t.Helper()
	p := &patient{connected: make(chan string, 10), started: make(chan struct{}, 10), finish: make(chan struct{}), done: make(chan error, 1)}
	var ctx context.Context
	ctx, p.cancel = context.WithCancel(t.Context())
	opt := agent.Options{
		Name: "patient", Gateway: app.Agents, Key: app.UserKey, Identity: filepath.Join(t.TempDir(), "id.json"),
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Connected: func(id string) { p.connected <- id },
	}
	go func() { p.done <- agent.Run(ctx, opt, p.work) }() // awaited by stop
	return p
}

func (p *patient) work(ctx context.Context, _ agent.Message, r *agent.Reply) error {
	p.runs.Add(1)
	r.Delta("worth ") //nolint:errcheck // as an author would
	p.started <- struct{}{}
	select {
	case <-p.finish:
	case <-ctx.Done():
	}
	return r.Send("the wait")
}

// stop ends the agent, which must have worked once.
func (p *patient) stop(t *testing.T) {
	t.Helper()
	if n := p.runs.Load(); n != 1 {
		t.Errorf("the handler ran %d times", n)
	}
	p.cancel()
	if err := <-p.done; err != nil {
		t.Error(err)
	}
}

// answer is what the message service says about a channel or a message.
type answer struct {
	Channel string `json:"channel_id"`
	Message string `json:"message_id"`
	Body    string `json:"body"`
}

func post(t *testing.T, app *apptest.App, path, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, app.REST+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+app.UserKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Data  answer `json:"data"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	err = json.NewDecoder(resp.Body).Decode(&got)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s: %s %v", path, cmp.Or(got.Error.Message, resp.Status), err)
	}
	return got.Data
}
