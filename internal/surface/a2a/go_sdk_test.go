package a2a_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// withKey sends a credential along.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// TestGoSDKClientUsesBothBindings holds a conversation by each binding: card, send, stream,
// list, cancel, push, resubscribe.
func TestGoSDKClientUsesBothBindings(t *testing.T) {
	s := start(t)
	web := &http.Client{Transport: withKey(s.key)}
	for name, only := range map[string]a2aclient.FactoryOption{
		"JSON-RPC": a2aclient.WithJSONRPCTransport(web), "HTTP+JSON": a2aclient.WithRESTTransport(web),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			card, err := agentcard.NewResolver(web).Resolve(ctx, s.url)
			if err != nil || card.Name != "worker" || len(card.Signatures) == 0 {
				t.Fatalf("%v %v", card, err)
			}
			c, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(), only)
			if err != nil {
				t.Fatal(err)
			}
			talkGo(ctx, t, c)
		})
	}
}

func talkGo(ctx context.Context, t *testing.T, c *a2aclient.Client) {
	ask := func(text string, more ...func(*a2a.SendMessageRequest)) *a2a.SendMessageRequest {
		req := &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
		for _, m := range more {
			m(req)
		}
		return req
	}
	send := func(req *a2a.SendMessageRequest) *a2a.Task {
		t.Helper()
		got, err := c.SendMessage(ctx, req)
		task, ok := got.(*a2a.Task)
		if err != nil || !ok {
			t.Fatalf("%v %v", got, err)
		}
		return task
	}
	if task := send(ask("hi")); task.Artifacts[0].Parts[0].Text() != "you said: hi" {
		t.Errorf("%+v", task)
	}
	var text string
	for ev, err := range c.SendStreamingMessage(ctx, ask("one two")) {
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := ev.(*a2a.TaskArtifactUpdateEvent); ok {
			if !a.Append {
				text = ""
			}
			text += a.Artifact.Parts[0].Text()
		}
	}
	if text != "you said: one two" {
		t.Errorf("streamed %q", text)
	}
	if list, err := c.ListTasks(ctx, &a2a.ListTasksRequest{PageSize: 1}); err != nil || len(list.Tasks) != 1 || list.NextPageToken == "" {
		t.Errorf("%+v %v", list, err)
	}
	waiting := send(ask("wait", func(r *a2a.SendMessageRequest) { r.Config = &a2a.SendMessageConfig{ReturnImmediately: true} }))
	if task, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: waiting.ID}); err != nil || task.Status.State != a2a.TaskStateCanceled {
		t.Errorf("%+v %v", task, err)
	}
	if _, err := c.CancelTask(ctx, &a2a.CancelTaskRequest{ID: waiting.ID}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		t.Errorf("cancelled again: %v", err)
	}
	if _, err := c.GetTask(ctx, &a2a.GetTaskRequest{ID: "nobody's"}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("nobody's: %v", err)
	}
	paused := send(ask("pause"))
	conf, err := c.CreateTaskPushConfig(ctx, &a2a.PushConfig{TaskID: paused.ID, ID: "go", URL: "http://127.0.0.1:9/nobody"})
	if err != nil || conf.ID != "go" {
		t.Errorf("%+v %v", conf, err)
	}
	if all, err := c.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: paused.ID}); err != nil || len(all) != 1 {
		t.Errorf("%+v %v", all, err)
	}
	if err := c.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: paused.ID, ID: "go"}); err != nil {
		t.Error(err)
	}
	var last a2a.Event
	for ev, err := range c.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: paused.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, first := ev.(*a2a.Task); first {
			send(ask("red", func(r *a2a.SendMessageRequest) { r.Message.TaskID = paused.ID }))
		}
		last = ev
	}
	if end, ok := last.(*a2a.TaskStatusUpdateEvent); !ok || end.Status.State != a2a.TaskStateCompleted {
		t.Errorf("it ends with %+v", last)
	}
	if card, err := c.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{}); err != nil || card.Name != "worker" {
		t.Errorf("%+v %v", card, err)
	}
}
