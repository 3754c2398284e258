package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
)

type taskJSON struct {
	ID          string `json:"task_id"`
	AgentID     string `json:"agent_id"`
	ContextID   string `json:"context_id"`
	Status      string
	State       string
	CloseReason string `json:"close_reason"`
	Result      struct{ Text string }
	Error       string
	Metadata    map[string]string
	CreatedAt   time.Time `json:"created_at"`
	CompletedAt time.Time `json:"completed_at"`
	DeadlineAt  time.Time `json:"deadline_at"`
}

type tasksJSON struct {
	Tasks []taskJSON
	Next  string `json:"next_since"`
}

func (s *stack) tasksPath() string { return "/api/v1/agents/" + s.agent + "/tasks" }

// reply answers a turn that the played agent left open.
func (s *stack) reply(f beeos.Frame, m beeos.Message) {
	s.t.Helper()
	m.Channel, m.InReplyTo, m.Publisher = f.ChannelID, f.MessageID, "agent:"+f.AgentID
	if _, err := s.ledger.Finish(context.Background(), m); err != nil {
		s.t.Fatal(err)
	}
}

// pause lets the agent ask.
func (s *stack) pause(f beeos.Frame, kind beeos.MessageType) {
	s.t.Helper()
	m := beeos.Message{Channel: f.ChannelID, InReplyTo: f.MessageID, Publisher: "agent:" + f.AgentID, Type: kind, State: beeos.StateCompleted, Body: "which?"}
	if _, err := s.ledger.Append(context.Background(), m); err != nil {
		s.t.Fatal(err)
	}
}

// silent plays an agent that leaves turns open, and returns them.
func (s *stack) silent() <-chan beeos.Frame {
	turns := make(chan beeos.Frame, 100)
	s.play(func(f beeos.Frame) *beeos.Message { turns <- f; return nil })
	return turns
}

func (s *stack) getTask(id string) taskJSON {
	s.t.Helper()
	return ok[taskJSON](s, "GET", s.tasksPath()+"/"+id, "")
}

// watch reads a task's events to their end.
func (s *stack) watch(path string) []string {
	s.t.Helper()
	return frames(s.t, s.send("GET", path, s.key, ""))
}

func TestTaskRunsToItsResult(t *testing.T) {
	s := start(t)
	turns := s.silent()
	made := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"count","deadline_ms":60000,"metadata":{"ticket":"7"},"idempotency_key":"k1"}`)
	if made.Status != "queued" || made.AgentID != s.agent || made.CreatedAt.IsZero() {
		t.Fatalf("created %+v", made)
	}
	f := <-turns
	got := s.getTask(made.ID)
	if got.Status != "running" || got.Metadata["ticket"] != "7" || got.DeadlineAt.Sub(got.CreatedAt).Round(time.Second) != time.Minute {
		t.Errorf("running: %+v", got)
	}
	again := s.do("POST", s.tasksPath(), s.key, `{"message":"count","deadline_ms":60000,"metadata":{"ticket":"7"}}`, "Idempotency-Key", "k1")
	if again.status != 202 || again.header.Get("Idempotent-Replayed") != "true" || !strings.Contains(again.raw, made.ID) {
		t.Errorf("repeat: %d %s %v", again.status, again.raw, again.header)
	}
	if a := s.do("POST", s.tasksPath(), s.key, `{"message":"other"}`, "Idempotency-Key", "k1"); a.code != "conflict" {
		t.Errorf("another payload: %d %s", a.status, a.raw)
	}
	if a := s.do("POST", s.tasksPath(), s.key, `{"message":"x","idempotency_key":"a"}`, "Idempotency-Key", "b"); a.code != "invalid_param" {
		t.Errorf("two keys: %d %s", a.status, a.raw)
	}
	s.reply(f, beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "one two", Parts: json.RawMessage(`[{"type":"thinking","text":"hm"}]`)})
	if got = s.getTask(made.ID); got.Status != "completed" || got.Result.Text != "one two" || got.CompletedAt.IsZero() || got.DeadlineAt.IsZero() {
		t.Errorf("done: %+v", got)
	}
	events := s.watch(s.tasksPath() + "/" + made.ID + "/events")
	if len(events) != 3 || !strings.Contains(events[1], `"one two"`) || events[2] != `end|{"reason":"task_terminal"}` {
		t.Errorf("events %q", events)
	}
	list := ok[messagesJSON](s, "GET", s.tasksPath()+"/"+made.ID+"/messages?limit=1", "")
	if len(list.Messages) != 1 || !list.More || list.Messages[0].ID != made.ID {
		t.Errorf("messages %+v", list)
	}
	rest := ok[messagesJSON](s, "GET", s.tasksPath()+"/"+made.ID+"/messages?include_deltas=true&since="+list.Next, "")
	if len(rest.Messages) != 1 || rest.More || rest.Messages[0].Body != "one two" {
		t.Errorf("messages %+v", rest)
	}
	// Who has seen the end is told so, and not left to wait.
	if events := s.watch(s.tasksPath() + "/" + made.ID + "/events?since=" + fmt.Sprint(rest.Latest)); len(events) != 1 || events[0] != `end|{"reason":"task_terminal"}` {
		t.Errorf("events after the end: %q", events)
	}
}

// TestTaskEvents: whoever watches gets the deltas as they come, whoever joins
// late, or again, the text so far, all of them the same durable messages, and
// none those of another task of the same context.
func TestTaskEvents(t *testing.T) {
	s := start(t)
	turns := s.silent()
	var mu sync.Mutex
	var soFar beeos.Event
	s.bus.ServeSnapshots(func(turn string) (beeos.Event, bool) {
		mu.Lock()
		defer mu.Unlock()
		return soFar, soFar.Turn == turn
	})
	made := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"a","context_id":"mine"}`)
	f := <-turns
	other := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"b","context_id":"mine"}`)
	g := <-turns
	if made.ContextID != other.ContextID {
		t.Fatalf("one context is %s and %s", made.ContextID, other.ContextID)
	}
	path := s.tasksPath() + "/" + made.ID + "/events"
	early := newReader(t, s.send("GET", path, s.key, ""))
	if m := early.next(); m.Type != "chat_message" || m.ID != made.ID {
		t.Fatalf("first %+v", m)
	}
	s.delta(f, 1, "Quiet ")
	first := early.next()
	if first.Body != "Quiet " || first.So() {
		t.Fatalf("delta %+v", first)
	}
	mu.Lock() // only now, or the first reader might have been late, too
	soFar = beeos.Event{Kind: beeos.EventDelta, Turn: made.ID, Attempt: f.Attempt, Seq: 1, Text: "Quiet ", SoFar: true, Reasoning: "hm", Parts: []byte(`[{"type":"tool_use"}]`)}
	mu.Unlock()
	late := newReader(t, s.send("GET", path, s.key, "", "Last-Event-ID", fmt.Sprint(first.Offset)))
	if m := late.next(); m.Body != "Quiet " || !m.So() || m.Offset <= first.Offset {
		t.Fatalf("the text so far is %+v", m)
	}
	s.delta(g, 1, "not mine")
	s.delta(f, 1, "Quiet ") // the snapshot had it
	s.delta(f, 2, "morning")
	for _, r := range []*reader{early, late} {
		if m := r.next(); m.Body != "morning" || m.So() {
			t.Fatalf("delta %+v", m)
		}
	}
	s.reply(g, beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "not mine"})
	s.reply(f, beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "Quiet morning"})
	for _, r := range []*reader{early, late} {
		if m := r.next(); m.Type != "agent_reply" || m.Body != "Quiet morning" || m.InReplyTo != made.ID {
			t.Fatalf("reply %+v", m)
		}
		if end := r.end(); end != `{"reason":"task_terminal"}` {
			t.Errorf("end %s", end)
		}
	}
}

func TestTaskPauses(t *testing.T) {
	s := start(t)
	turns := s.silent()
	said := make(chan beeos.Frame, 1)
	s.t.Cleanup(s.bus.OnControl(func(c bus.Control) {
		if c.Kind == bus.Continue {
			var f beeos.Frame
			if err := json.Unmarshal(c.Data, &f); err != nil {
				t.Error(err)
			}
			said <- f
		}
	}))
	made := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"book"}`)
	path := s.tasksPath() + "/" + made.ID
	f := <-turns
	if a := s.do("POST", path+"/continue", s.key, `{"input":"x"}`); a.code != "conflict" {
		t.Errorf("continue a running task: %d %s", a.status, a.raw)
	}
	if a := s.do("POST", path+"/continue", s.key, `{}`); a.code != "missing_param" {
		t.Errorf("continue with nothing: %d %s", a.status, a.raw)
	}
	s.pause(f, beeos.AgentInputRequired)
	if got := s.getTask(made.ID); got.Status != "input_required" {
		t.Errorf("paused: %+v", got)
	}
	if a := s.do("POST", path+"/continue", s.key, `{"auth_grant":true}`); a.code != "conflict" {
		t.Errorf("grant what needs input: %d %s", a.status, a.raw)
	}
	if got := ok[taskJSON](s, "POST", path+"/continue", `{"input":{"seat":"12A"}}`); got.Status != "running" {
		t.Errorf("continued: %+v", got)
	}
	if f := <-said; f.Type != beeos.FrameContinue || f.Body != `{"seat":"12A"}` || string(f.Payload) != `{"input":{"seat":"12A"}}` || f.MessageID != made.ID {
		t.Errorf("the agent hears %+v", f)
	}
	s.pause(f, beeos.AgentAuthRequired)
	if got := s.getTask(made.ID); got.Status != "auth_required" {
		t.Errorf("paused: %+v", got)
	}
	if got := ok[taskJSON](s, "POST", path+"/continue", `{"auth_grant":true}`); got.Status != "running" {
		t.Errorf("granted: %+v", got)
	}
	if f := <-said; f.Type != beeos.FrameAuthGrant || string(f.Payload) != `{"auth_grant":true}` {
		t.Errorf("the agent hears %+v", f)
	}
	s.reply(f, beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateFailed, Body: "sold out"})
	if got := s.getTask(made.ID); got.Status != "failed" || got.Error != "sold out" {
		t.Errorf("failed: %+v", got)
	}
	if a := s.do("POST", path+"/continue", s.key, `{"input":"x"}`); a.code != "conflict" {
		t.Errorf("continue what has ended: %d %s", a.status, a.raw)
	}
}

func TestTaskCancel(t *testing.T) {
	s := start(t)
	turns := s.silent()
	s.t.Cleanup(s.bus.OnControl(func(c bus.Control) { // an agent that acknowledges, if the reason is kind
		if c.Kind == bus.Cancel && c.Reason == "please" {
			go func() {
				s.reply(beeos.Frame{ChannelID: c.Channel, MessageID: c.ID, AgentID: s.agent},
					beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateCancelled, StopReason: beeos.StopUser, Body: "stopped"})
			}()
		}
	}))
	kind := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"x"}`)
	<-turns
	path := s.tasksPath() + "/" + kind.ID + "/cancel"
	for range 2 { // the second finds it cancelled
		if got := ok[taskJSON](s, "POST", path, `{"reason":"please"}`); got.Status != "canceled" || got.Error != "stopped" {
			t.Errorf("cancelled: %+v", got)
		}
	}
	deaf := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"y"}`)
	f := <-turns
	begun := time.Now()
	if got := ok[taskJSON](s, "POST", s.tasksPath()+"/"+deaf.ID+"/cancel", ""); got.Status != "canceled" {
		t.Errorf("forced: %+v", got)
	}
	if took := time.Since(begun); took < 4500*time.Millisecond || took > 30*time.Second {
		t.Errorf("the agent had %s to acknowledge", took)
	}
	late := beeos.Message{Channel: f.ChannelID, InReplyTo: f.MessageID, Type: beeos.AgentReply, Body: "done after all"}
	if _, err := s.ledger.Finish(t.Context(), late); beeos.CodeOf(err) != beeos.MessageTerminal {
		t.Errorf("a late reply: %v", err)
	}
	if got := s.getTask(deaf.ID); got.Status != "canceled" {
		t.Errorf("after a late reply: %+v", got)
	}
	list := ok[messagesJSON](s, "GET", s.tasksPath()+"/"+deaf.ID+"/messages", "")
	if len(list.Messages) != 3 || list.Messages[1].Type != "chat_cancel" {
		t.Errorf("messages %+v", list.Messages)
	}
}

// TestOneListForEverySurface: what was asked by invoke, blocking or streamed,
// in a conversation or as a task is in one list, newest first, by pages.
func TestOneListForEverySurface(t *testing.T) {
	s := start(t)
	s.play(func(f beeos.Frame) *beeos.Message {
		if f.Body == "open" {
			return nil
		}
		return &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "you said: " + f.Body}
	})
	ok[struct{}](s, "POST", s.invokePath(), `{"message":"hi"}`)
	frames(t, s.send("POST", s.invokePath(), s.key, `{"message":"hi"}`, "Accept", "text/event-stream"))
	task := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"hi"}`)
	s.watch(s.tasksPath() + "/" + task.ID + "/events")
	conv := ok[struct {
		ID string `json:"conversation_id"`
	}](s, "POST", "/api/v1/agents/"+s.agent+"/conversations", `{}`)
	sent := ok[messageJSON](s, "POST", "/api/v1/agents/"+s.agent+"/conversations/"+conv.ID+"/messages", `{"message":"hi"}`)
	s.watch(s.tasksPath() + "/" + sent.ID + "/events")
	waiting := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"open"}`)

	for query, want := range map[string]int{
		"?state=all": 5, "": 5, "?state=closed": 4, "?state=active": 1, "?state=open": 1,
		"?agent_id=" + s.agent: 5, "?agent_id=" + s.offline: 0, "?agent_id=nobody": 0, "?agent_id=" + s.agent + "&state=open": 1,
		"?instance_id=nobody": 0, "?instance_id=" + s.instance: 5, "?instance_id=" + s.instance + "&agent_id=" + s.offline: 0,
	} {
		list := ok[tasksJSON](s, "GET", "/api/v1/tasks"+query, "")
		if len(list.Tasks) != want || list.Next != "" {
			t.Errorf("%s: %d tasks, want %d: %+v", query, len(list.Tasks), want, list)
		}
		for _, task := range list.Tasks {
			if open := task.ID == waiting.ID; open != (task.State == "active") || open == (task.CloseReason != "") {
				t.Errorf("%s: %+v", query, task)
			}
			if got := s.getTask(task.ID); task.State == "closed" && got.Result.Text != "you said: hi" {
				t.Errorf("%s replied %q", task.ID, got.Result.Text)
			}
		}
	}
	var seen []string
	for next := ""; ; {
		page := ok[tasksJSON](s, "GET", s.tasksPath()+"?limit=2&since="+next, "")
		for _, task := range page.Tasks {
			seen = append(seen, task.ID)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if len(seen) != 5 || seen[0] != waiting.ID {
		t.Errorf("by pages: %v", seen)
	}
	if a := s.do("GET", "/api/v1/tasks", s.other, ""); a.status != 200 || strings.Contains(a.raw, "task_id") {
		t.Errorf("somebody else sees %s", a.raw)
	}
}

func TestTasksRefuseBadRequests(t *testing.T) {
	s := start(t)
	s.silent()
	made := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"x"}`)
	path := s.tasksPath() + "/" + made.ID
	for _, c := range []struct{ method, path, body, code string }{
		{"POST", s.tasksPath(), `{}`, "missing_param"},
		{"POST", s.tasksPath(), `{"message":" "}`, "invalid_param"},
		{"POST", s.tasksPath(), `{"message":"x","deadline_ms":604800001}`, "invalid_param"},
		{"POST", s.tasksPath(), `{"message":"x","deadline_ms":-1}`, "invalid_param"},
		{"POST", s.tasksPath(), `{"message":"x","deadline_ms":"soon"}`, "invalid_body"},
		{"POST", s.tasksPath(), `{"message":"x","metadata":{"protocol":"mcp"}}`, "invalid_param"},
		{"POST", s.tasksPath(), `{"message":"x","metadata":{"n":1}}`, "invalid_body"},
		{"POST", s.tasksPath(), `{"message":"x","attachments":[{"file_id":"f"}]}`, "invalid_param"},
		{"POST", "/api/v1/agents/" + s.offline + "/tasks", `{"message":"x"}`, "agent_offline"},
		{"GET", s.tasksPath() + "?state=done", "", "invalid_param"},
		{"GET", s.tasksPath() + "?limit=0", "", "invalid_param"},
		{"GET", s.tasksPath() + "?since=x", "", "invalid_param"},
		{"GET", s.tasksPath() + "/unknown", "", "agent_not_found"},
		{"GET", "/api/v1/agents/" + s.offline + "/tasks/" + made.ID, "", "agent_not_found"},
		{"GET", path + "/events?since=-1", "", "invalid_param"},
		{"GET", path + "/messages?include_deltas=maybe", "", "invalid_param"},
		{"POST", path + "/cancel", `{"reason":1}`, "invalid_body"},
		{"POST", path + "/continue", `{"auth_grant":"yes"}`, "invalid_body"},
		{"POST", path + "/continue", `{"inputs":"x"}`, "invalid_body"},
	} {
		if a := s.do(c.method, c.path, s.key, c.body); a.code != c.code {
			t.Errorf("%s %s %s: %d %s, want %s", c.method, c.path, c.body, a.status, a.raw, c.code)
		}
	}
}

// reader reads one event stream message by message.
type reader struct {
	t     *testing.T
	lines *bufio.Scanner
}

func newReader(t *testing.T, resp *http.Response) *reader {
	t.Helper()
	if resp.StatusCode != 200 {
		t.Fatalf("events: %s", resp.Status)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return &reader{t, bufio.NewScanner(resp.Body)}
}

type eventJSON struct {
	messageJSON
	Payload struct {
		SoFar bool `json:"so_far"`
	}
}

func (e eventJSON) So() bool { return e.Payload.SoFar }

func (r *reader) next() (m eventJSON) {
	r.t.Helper()
	for r.lines.Scan() {
		if d, ok := strings.CutPrefix(r.lines.Text(), "data: "); ok {
			if err := json.Unmarshal([]byte(d), &m); err != nil {
				r.t.Fatalf("%s: %v", d, err)
			}
			return m
		}
	}
	r.t.Fatalf("the stream ended: %v", r.lines.Err())
	return m
}

func (r *reader) end() (data string) {
	r.t.Helper()
	for ended := false; r.lines.Scan(); {
		ended = ended || r.lines.Text() == "event: end"
		if d, ok := strings.CutPrefix(r.lines.Text(), "data: "); ok && ended {
			return d
		}
	}
	r.t.Fatalf("the stream has no end: %v", r.lines.Err())
	return ""
}
