package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// TestOnePromptManyWays: the same prompt over MCP, REST, a stream, a task and
// a conversation gets the same reply, and one list has them all.
func TestOnePromptManyWays(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	ctx := t.Context()
	c := client.New(app.REST, app.UserKey)
	a, err := c.Find(ctx, "echo")
	if err != nil {
		t.Fatal(err)
	}
	const prompt, want = "wie geht's, 世界?", "you said: wie geht's, 世界?"
	got := map[string]string{}
	if r, err := c.CallTool(ctx, a, a.ID, []byte(`{"message":"`+prompt+`"}`)); err == nil {
		got["mcp"] = r.Text()
	}
	if r, err := c.Invoke(ctx, a.ID, client.InvokeRequest{Message: prompt}); err == nil {
		got["invoke"] = r.Text
	}
	for ev, err := range c.Stream(ctx, a.ID, client.InvokeRequest{Message: prompt}) {
		if err == nil && ev.Done != nil {
			got["stream"] = ev.Done.Text
		}
	}
	task, err := c.CreateTask(ctx, a.ID, client.TaskRequest{Message: prompt, Metadata: map[string]string{"k": "v"}})
	if err != nil {
		t.Fatal(err)
	}
	got["task"] = last(t, c, a.ID, task.ID)
	conv, err := c.CreateConversation(ctx, a.ID, "talk")
	if err != nil {
		t.Fatal(err)
	}
	said, err := c.Say(ctx, a.ID, conv.ID, prompt)
	if err != nil {
		t.Fatal(err)
	}
	for u, err := range c.WatchConversation(ctx, a.ID, conv.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Message.Type.Terminal() && u.Message.InReplyTo == said {
			got["conversation"] = u.Message.Body
			break
		}
	}
	for _, way := range []string{"mcp", "invoke", "stream", "task", "conversation"} {
		if got[way] != want {
			t.Errorf("by %s: %q", way, got[way])
		}
	}
	n := 0
	for task, err := range c.Tasks(ctx, client.TaskFilter{AgentID: a.ID, State: "closed"}) {
		if err != nil {
			t.Fatal(err)
		}
		full, err := c.FindTask(ctx, task.ID)
		if err != nil || full.Result == nil || full.Result.Text != want || full.Status != beeos.TaskCompleted {
			t.Errorf("%s: %+v, %v", task.ID, full, err)
		}
		n++
	}
	if n != len(got) {
		t.Errorf("%d tasks, want %d", n, len(got))
	}
	if done, err := c.CancelTask(ctx, a.ID, task.ID, "late"); err != nil || done.Status != beeos.TaskCompleted {
		t.Errorf("cancel what has ended: %+v, %v", done, err)
	}
	if _, err := c.ContinueTask(ctx, a.ID, task.ID, "more"); beeos.CodeOf(err) != beeos.Conflict {
		t.Errorf("continue what has ended: %v", err)
	}
	if _, err := c.GrantTask(ctx, a.ID, task.ID, true); beeos.CodeOf(err) != beeos.Conflict {
		t.Errorf("grant what has ended: %v", err)
	}
	if _, err := c.FindTask(ctx, beeos.NewID()); beeos.CodeOf(err) != beeos.AgentNotFound {
		t.Errorf("an unknown task: %v", err)
	}
	list := 0
	for v, err := range c.Conversations(ctx, a.ID) {
		if err != nil || v.ID != conv.ID || v.Title != "talk" {
			t.Errorf("conversation %+v, %v", v, err)
		}
		list++
	}
	if err := c.DeleteConversation(ctx, a.ID, conv.ID); err != nil || list != 1 {
		t.Errorf("%d conversations; delete: %v", list, err)
	}
}

func last(t *testing.T, c *client.Client, agentID, taskID string) (text string) {
	t.Helper()
	for u, err := range c.WatchTask(t.Context(), agentID, taskID) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Message.Type.Terminal() {
			text = u.Message.Body
		}
	}
	return text
}

// TestWatchComesBack: a stream that breaks goes on where it was, one that the
// server ends does not.
func TestWatchComesBack(t *testing.T) {
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("since"))
		switch len(asked) {
		case 2: // the server is restarting
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"success":false,"error":{"code":"agent_service_unavailable","message":"m"}}`)
			return
		case 3: // and the line breaks in the middle of that
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"success":false,`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(offset int, kind, body, payload string) {
			fmt.Fprintf(w, "event: message\nid: %d\ndata: {\"message_id\":\"m%d\",\"offset\":%d,\"type\":\"%s\",\"body\":\"%s\"%s}\n\n", offset, offset, offset, kind, body, payload)
		}
		switch len(asked) {
		case 1:
			say(100, "chat_message", "hi", "")
			say(101, "agent_reply_delta", "a", "")
		case 4:
			say(102, "agent_reply_delta", "ab", `,"payload":{"so_far":true}`)
			fmt.Fprint(w, "event: end\ndata: {\"reason\":\"stream_closed\"}\n\n")
		case 5:
			say(200, "agent_reply", "abc", "")
			fmt.Fprint(w, "event: end\ndata: {\"reason\":\"task_terminal\"}\n\n")
		default:
			t.Error("it came back after the end")
		}
	}))
	defer srv.Close()
	c := client.New(srv.URL, "k")
	var got []string
	for u, err := range c.WatchTask(t.Context(), "a", "t") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %v %v", u.Message.Type, u.Message.Body, u.Delta, u.SoFar))
	}
	want := "chat_message hi false false|agent_reply_delta a true false|agent_reply_delta ab true true|agent_reply abc false false"
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("got %s", s)
	}
	if s := strings.Join(asked, " "); s != "0 101 101 101 102" {
		t.Errorf("asked since %s", s)
	}
}

func TestWatchRefused(t *testing.T) {
	var asked atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"success":false,"error":{"code":"agent_not_found","message":"m"}}`)
	}))
	defer srv.Close()
	for _, err := range client.New(srv.URL, "k").WatchTask(t.Context(), "a", "t") {
		if beeos.CodeOf(err) != beeos.AgentNotFound {
			t.Errorf("err = %v", err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("it asked %d times", n)
	}
}

// TestFilesGoAlong: with a call, a task and a message of a conversation.
func TestFilesGoAlong(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	ctx := t.Context()
	id := app.Connect(t, agent.Options{Name: "reader"}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		content, err := m.Attachments[0].Download(ctx)
		if err != nil {
			return err
		}
		return r.Send(m.Attachments[0].Filename + ": " + string(content))
	})
	c := client.New(app.REST, app.UserKey)
	file, err := c.Upload(ctx, "notes.txt", "text/plain", strings.NewReader("buy milk"), 8)
	if err != nil {
		t.Fatal(err)
	}
	attached := client.Attachment{FileID: file.FileID, Filename: "list.txt"}
	const want = "list.txt: buy milk"
	if a, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "read", Attachments: []client.Attachment{attached}}); err != nil || a.Text != want {
		t.Errorf("a call: %+v, %v", a, err)
	}
	task, err := c.CreateTask(ctx, id, client.TaskRequest{Message: "read", Attachments: []client.Attachment{attached}})
	if err != nil {
		t.Fatal(err)
	}
	if got := last(t, c, id, task.ID); got != want {
		t.Errorf("a task: %q", got)
	}
	conv, err := c.CreateConversation(ctx, id, "")
	if err != nil {
		t.Fatal(err)
	}
	said, err := c.Say(ctx, id, conv.ID, "read", attached)
	if err != nil {
		t.Fatal(err)
	}
	for u, err := range c.WatchConversation(ctx, id, conv.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Message.InReplyTo == said && u.Message.Type.Terminal() {
			if u.Message.Body != want {
				t.Errorf("a conversation: %q", u.Message.Body)
			}
			break
		}
	}
}
