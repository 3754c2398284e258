package mcp

import (
	"bufio"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

const taskable = `{"elicitation":{},"roots":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// startTask calls a tool and returns the task that it became.
func (s *stack) startTask(t *testing.T, tool, how string) (id string) {
	t.Helper()
	_, answer := s.modern(t, s.server.URL, "user", "tools/call", tool, taskable, `"name":"`+tool+`","arguments":{"how":"`+how+`"}`)
	id, _ = strictjson.StringValue([]byte(field(answer, "result", "taskId")))
	if field(answer, "result", "resultType") != `"task"` || id == "" {
		t.Fatalf("%s %s: %s", tool, how, answer)
	}
	return id
}

// task asks the other replica about a task, until it has the status.
func (s *stack) task(t *testing.T, id, status string) []byte {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		_, answer := s.modern(t, s.other.URL, "user", "tasks/get", id, taskable, `"taskId":"`+id+`"`)
		switch got := field(answer, "result", "status"); {
		case got == `"`+status+`"` && field(answer, "result", "resultType") == `"complete"`:
			return strictjson.Field(answer, "result")
		case time.Now().After(end):
			t.Fatalf("%s, want %s", answer, status)
		}
	}
}

func TestTasks(t *testing.T) {
	s := newStack(t)
	t.Run("completed", func(t *testing.T) {
		done := s.task(t, s.startTask(t, "job", ""), "completed")
		if field(done, "result", "content") != `[{"type":"text","text":"done"}]` || field(done, "ttlMs") == "" {
			t.Errorf("%s", done)
		}
	})
	t.Run("failed in the tool's words", func(t *testing.T) {
		if done := s.task(t, s.startTask(t, "job", "fail"), "completed"); field(done, "result", "isError") != "true" {
			t.Errorf("%s", done)
		}
	})
	t.Run("failed in the protocol's words", func(t *testing.T) {
		if done := s.task(t, s.startTask(t, "job", "fault"), "failed"); field(done, "error", "code") != "-32603" || field(done, "result") != "" {
			t.Errorf("%s", done)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		id := s.startTask(t, "job", "hang")
		for range 2 { // the second time it is over
			_, ack := s.modern(t, s.other.URL, "user", "tasks/cancel", id, taskable, `"taskId":"`+id+`"`)
			if field(ack, "result", "resultType") != `"complete"` || field(ack, "result", "taskId") != "" {
				t.Errorf("%s", ack)
			}
			s.task(t, id, "cancelled")
		}
	})
	t.Run("quick enough for a result", func(t *testing.T) {
		_, answer := s.modern(t, s.server.URL, "user", "tools/call", "slow", taskable, `"name":"slow"`)
		if field(answer, "result", "resultType") != `"complete"` {
			t.Errorf("%s", answer)
		}
	})
	t.Run("slow enough for a task", func(t *testing.T) { s.task(t, s.startTask(t, "slow", "hang"), "working") })
	t.Run("asked before it is a task", func(t *testing.T) {
		_, answer := s.modern(t, s.server.URL, "user", "tools/call", "slow", taskable, `"name":"slow","arguments":{"how":"again"}`)
		if field(answer, "result", "resultType") != `"input_required"` || field(answer, "result", "taskId") != "" {
			t.Errorf("%s", answer)
		}
	})
	t.Run("input", func(t *testing.T) { taskInput(t, s) })
}

// taskInput answers the questions of a task one after the other.
func taskInput(t *testing.T, s *stack) {
	id := s.startTask(t, "job", "asks")
	update := func(responses string) {
		t.Helper()
		_, ack := s.modern(t, s.server.URL, "user", "tasks/update", id, taskable, `"taskId":"`+id+`","inputResponses":`+responses)
		if field(ack, "result", "resultType") != `"complete"` {
			t.Errorf("%s", ack)
		}
	}
	waiting := s.task(t, id, "input_required")
	if field(waiting, "inputRequests", "one", "method") != `"elicitation/create"` {
		t.Errorf("%s", waiting)
	}
	update(`{"one":{"action":"accept"},"odd":{}}`)
	if waiting = s.task(t, id, "input_required"); field(waiting, "inputRequests") != `{"two":{"method":"roots/list"}}` {
		t.Errorf("%s", waiting)
	}
	update(`{"two":{"roots":[]}}`)
	if done := s.task(t, id, "completed"); !strings.Contains(field(done, "result"), "accept") {
		t.Errorf("%s", done)
	}
}

// TestTasksRefused: a task is its owner's, and for those who know tasks.
func TestTasksRefused(t *testing.T) {
	s := newStack(t)
	id := s.startTask(t, "slow", "background")
	for _, tt := range []struct{ method, key, id, capabilities, code string }{
		{"tasks/get", "user", id, `{}`, "-32021"},
		{"tasks/update", "user", id, `{}`, "-32021"},
		{"tasks/cancel", "user", id, `{}`, "-32021"},
		{"tasks/get", "clerk", id, taskable, "-32602"}, // the agent's key is somebody else
		{"tasks/cancel", "clerk", id, taskable, "-32602"},
		{"tasks/get", "user", "nope", taskable, "-32602"},
		{"tasks/get", "user", "0192f3a0-0000-7000-8000-000000000000", taskable, "-32602"},
		{"tasks/result", "user", id, taskable, "-32601"},
		{"tasks/list", "user", id, taskable, "-32601"},
	} {
		_, answer := s.modern(t, s.server.URL, tt.key, tt.method, tt.id, tt.capabilities, `"taskId":"`+tt.id+`","inputResponses":{}`)
		if got := field(answer, "error", "code"); got != tt.code {
			t.Errorf("%s of %s by %s: %s", tt.method, tt.id, tt.key, answer)
		}
	}
	_, answer := s.modern(t, s.server.URL, "user", "tools/call", "job", `{}`, `"name":"job"`)
	if field(answer, "error", "data", "requiredCapabilities") != `{"extensions":{"`+wire.TasksExtension+`":{}}}` {
		t.Errorf("a tool that is always a task: %s", answer)
	}
	s.task(t, id, "input_required")
}

// TestTaskNotifications: a listening client need not poll.
func TestTaskNotifications(t *testing.T) {
	s := newStack(t)
	id := s.startTask(t, "job", "asks")
	resp := s.modernStream(t.Context(), t, s.other.URL, "user", "subscriptions/listen", "", taskable, `"notifications":{"taskIds":["`+id+`","nope"]}`)
	events := bufio.NewScanner(resp.Body)
	if ack := nextEvent(t, events); field(ack, "params", "notifications") != `{"taskIds":["`+id+`"]}` {
		t.Errorf("%s", ack)
	}
	until := func(status string) {
		t.Helper()
		for {
			ev := nextEvent(t, events)
			if field(ev, "method") != `"notifications/tasks"` || field(ev, "params", "_meta", wire.MetaSubscription) != "1" {
				t.Fatalf("%s", ev)
			}
			if field(ev, "params", "status") == `"`+status+`"` {
				return
			}
		}
	}
	until("input_required")
	s.modern(t, s.server.URL, "user", "tasks/update", id, taskable, `"taskId":"`+id+`","inputResponses":{"one":{},"two":{}}`)
	until("completed")
}
