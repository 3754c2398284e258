package a2a_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// official is an agent on the A2A project's own server.
type official struct{ begun, cancelled chan struct{} }

func (o *official) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		text := x.Message.Parts[0].Text()
		if x.StoredTask != nil {
			yield(a2a.NewArtifactEvent(x, a2a.NewTextPart("You chose "+text)), nil)
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
			return
		}
		if text == "message" {
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("just words")), nil)
			return
		}
		if !yield(a2a.NewSubmittedTask(x, x.Message), nil) || !yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateWorking, nil), nil) {
			return
		}
		switch text {
		case "pause":
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateInputRequired, a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart("Which colour?"))), nil)
			return
		case "wait":
			o.begun <- struct{}{}
			<-ctx.Done()
			return
		}
		ev := a2a.NewArtifactEvent(x, a2a.NewTextPart("you said: "))
		yield(ev, nil)
		yield(a2a.NewArtifactUpdateEvent(x, ev.Artifact.ID, a2a.NewTextPart(text+" in "+x.ContextID)), nil)
		yield(a2a.NewArtifactEvent(x, &a2a.Part{Content: a2a.Raw("bytes"), Filename: "b.bin", MediaType: "application/octet-stream"}), nil)
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
	}
}

func (o *official) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		o.cancelled <- struct{}{}
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
	}
}

// TestOfficialGoServer: the Go SDK's server, by both bindings, with streams and
// without.
func TestOfficialGoServer(t *testing.T) {
	for name, c := range map[string]struct {
		binding a2a.TransportProtocol
		stream  bool
	}{
		"JSON-RPC": {a2a.TransportProtocolJSONRPC, true}, "HTTP+JSON": {a2a.TransportProtocolHTTPJSON, true},
		"JSON-RPC, no streams": {a2a.TransportProtocolJSONRPC, false}, "HTTP+JSON, no streams": {a2a.TransportProtocolHTTPJSON, false},
	} {
		t.Run(name, func(t *testing.T) {
			app := apptest.Start(t, apptest.Config(t))
			o := &official{make(chan struct{}, 16), make(chan struct{}, 16)}
			h := a2asrv.NewHandler(o)
			mux := http.NewServeMux()
			s := httptest.NewServer(mux)
			t.Cleanup(s.Close)
			if mux.Handle("/", a2asrv.NewJSONRPCHandler(h)); c.binding == a2a.TransportProtocolHTTPJSON {
				mux = http.NewServeMux()
				s.Config.Handler = mux
				mux.Handle("/", a2asrv.NewRESTHandler(h))
			}
			mux.Handle("/.well-known/agent-card.json", a2asrv.NewStaticAgentCardHandler(&a2a.AgentCard{
				Name: "official", Version: "3", Description: "By the SDK.", DefaultInputModes: []string{"text"}, DefaultOutputModes: []string{"text/plain"},
				Capabilities: a2a.AgentCapabilities{Streaming: c.stream}, Skills: []a2a.AgentSkill{{ID: "say", Name: "Say", Tags: []string{"x"}}},
				SupportedInterfaces: []*a2a.AgentInterface{{URL: s.URL, ProtocolBinding: c.binding, ProtocolVersion: "1.0"}},
			}))
			id := near(t, app, &bridgetest.Journal{}, s.URL)
			converse(t, client.New(app.REST, app.UserKey), id, o.begun, o.cancelled)
		})
	}
}

// converse talks to an agent that says back what it is told, and in which
// context; that asks for a colour when told to pause; and that waits.
func converse(t *testing.T, c *client.Client, id string, begun, cancelled <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	first, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "hello"})
	if err != nil || !strings.HasPrefix(first.Text, "you said: hello in ") || !strings.Contains(string(first.Parts), "b.bin") {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "hello", ContextID: first.ContextID})
	if err != nil || second.Text != first.Text {
		t.Errorf("another context: %+v, %v, first %+v", second, err, first)
	}
	if got, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "message"}); err != nil || got.Text != "just words" {
		t.Errorf("%+v, %v", got, err)
	}
	until := func(text string, want beeos.TaskStatus) string {
		t.Helper()
		task, err := c.CreateTask(ctx, id, client.TaskRequest{Message: text})
		if err != nil {
			t.Fatal(err)
		}
		for now := task; now.Status != want; {
			if now, err = c.Task(ctx, id, task.ID); err != nil {
				t.Fatal(err)
			}
		}
		return task.ID
	}
	task := until("pause", beeos.TaskInputRequired)
	if _, err := c.ContinueTask(ctx, id, task, "blue"); err != nil {
		t.Fatal(err)
	}
	last := ""
	for u, err := range c.WatchTask(ctx, id, task) {
		if err != nil {
			t.Fatal(err)
		}
		last = u.Message.Body
	}
	if last != "You chose blue" {
		t.Errorf("continued: %q", last)
	}
	task = until("wait", beeos.TaskRunning)
	<-begun
	if _, err := c.CancelTask(ctx, id, task, "enough"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-cancelled:
	case <-time.After(10 * time.Second):
		t.Error("the agent behind was not told")
	}
}
