package a2a_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
)

// TestEachDialectIsAnsweredInItsWords: one agent, three ways to speak to it, each answered in its own
// words.
func TestEachDialectIsAnsweredInItsWords(t *testing.T) {
	s := start(t)
	old := `{"message":{"kind":"message","role":"user","messageId":"m-old","parts":[{"kind":"text","text":"hi"}]}}`
	for _, c := range []struct {
		name, method, params, version string
		text, state                   []any
		want                          string
	}{
		{"1.0", "SendMessage", message("m-10", "hi"), "1.0", []any{"task", "artifacts", 0, "parts", 0, "text"}, []any{"task", "status", "state"}, "TASK_STATE_COMPLETED"},
		{"1.0 in snake_case", "SendMessage", `{"message":{"role":"ROLE_USER","message_id":"m-snake","parts":[{"text":"hi","media_type":"text/plain"}]},"configuration":{"return_immediately":false}}`, "1.0", []any{"task", "artifacts", 0, "parts", 0, "text"}, []any{"task", "status", "state"}, "TASK_STATE_COMPLETED"},
		{"0.3 by its header", "message/send", strings.ReplaceAll(old, "m-old", "m-03h"), "0.3", []any{"artifacts", 0, "parts", 0, "text"}, []any{"status", "state"}, "completed"},
		{"0.3 by its methods", "message/send", strings.ReplaceAll(old, "m-old", "m-03m"), "", []any{"artifacts", 0, "parts", 0, "text"}, []any{"status", "state"}, "completed"},
		{"no version", "SendMessage", `{"message":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}`, "", []any{"artifacts", 0, "parts", 0, "text"}, []any{"status", "state"}, "completed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.rpc(c.method, c.params, "A2A-Version", c.version)
			result := at(got, "result")
			if text, state := at(result, c.text...), at(result, c.state...); text != "you said: hi" || state != c.want {
				t.Errorf("text %v, state %v in %v", text, state, got)
			}
		})
	}
	for _, version := range []string{"99.0", "2.0", "0.2", "x"} {
		got := s.do("POST", s.url, `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`, "A2A-Version", version)
		if got.StatusCode != 400 || at(got.json(t), "error", "code") != -32009.0 {
			t.Errorf("version %s: %d %s", version, got.StatusCode, got.body)
		}
	}
}

// addChunk puts an artifact together; what does not append begins anew.
func addChunk(sofar string, update map[string]any) string {
	piece, _ := at(update, "artifact", "parts", 0, "text").(string)
	if update["append"] == true {
		return sofar + piece
	}
	return piece
}

// TestStreamsOfBothVersions: the same call, as 1.0 and 0.3 stream it.
func TestStreamsOfBothVersions(t *testing.T) {
	s := start(t)
	call := `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":` + message("s-10", "a b") + `}`
	var kinds, text string
	for ev := range s.stream(t.Context(), s.url, call) {
		for kind := range at(ev, "result").(map[string]any) {
			kinds += kind + " "
		}
		if u, ok := at(ev, "result", "artifactUpdate").(map[string]any); ok {
			text = addChunk(text, u)
		}
	}
	if text != "you said: a b" || !strings.HasPrefix(kinds, "task ") || !strings.HasSuffix(kinds, "statusUpdate ") {
		t.Errorf("%q from %s", text, kinds)
	}
	call = `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"kind":"message","role":"user","messageId":"s-03","parts":[{"kind":"text","text":"a b"}]}}}`
	text = ""
	var last map[string]any
	for ev := range s.stream(t.Context(), s.url, call, "A2A-Version", "") {
		last, _ = at(ev, "result").(map[string]any)
		if last["kind"] == "artifact-update" {
			text = addChunk(text, last)
		}
	}
	if text != "you said: a b" || last["kind"] != "status-update" || last["final"] != true || at(last, "status", "state") != "completed" {
		t.Errorf("%q, then %v", text, last)
	}
}

// TestHTTPOf03: over HTTP+JSON, 0.3 has its protocol buffers as JSON: messages
// with content, wrapped data, and a word of their own for cancelled tasks.
func TestHTTPOf03(t *testing.T) {
	s := start(t)
	content := `[{"text":"meta"},{"data":{"data":{"n":1}}},{"file":{"fileWithBytes":"aGk=","mimeType":"text/plain","name":"hi.txt"}}]`
	send := func(id, content, more string) map[string]any {
		return s.do("POST", s.url+"/v1/message:send", `{"message":{"role":"ROLE_USER","messageId":"`+id+`","content":`+content+`}`+more+`}`, "A2A-Version", "").json(t)
	}
	got := send("h-1", content, "")
	want := `{"data":{"n":1},"type":"structured"},{"type":"file","url":"data:text/plain;base64,aGk=","mime_type":"text/plain","name":"hi.txt"}`
	if text, _ := at(got, "task", "artifacts", 0, "parts", 0, "text").(string); !strings.Contains(text, want) {
		t.Errorf("the agent got %q of %v", text, got)
	}
	history := at(got, "task", "history", 0)
	if at(history, "role") != "ROLE_USER" || at(history, "content", 1, "data", "data", "n") != 1.0 || at(history, "content", 2, "file", "fileWithBytes") != "aGk=" {
		t.Errorf("history: %v", history)
	}
	if at(got, "task", "kind") != nil || at(got, "task", "status", "state") != "TASK_STATE_COMPLETED" {
		t.Errorf("%v", got)
	}
	waiting := at(send("h-2", `[{"text":"wait"}]`, `,"configuration":{"historyLength":1}`), "task", "id").(string) // no blocking is false
	cancelled := s.do("POST", s.url+"/v1/tasks/"+waiting+":cancel", `{"name":"tasks/`+waiting+`"}`, "A2A-Version", "").json(t)
	if at(cancelled, "status", "state") != "TASK_STATE_CANCELLED" {
		t.Errorf("cancelled: %v", cancelled)
	}
	var last map[string]any
	for last = range s.stream(t.Context(), s.url+"/v1/message:stream", `{"message":{"role":"ROLE_USER","messageId":"h-3","content":[{"text":"a b"}]}}`, "A2A-Version", "") {
	}
	if at(last, "statusUpdate", "final") != true {
		t.Errorf("the last event: %v", last)
	}
	if none := s.do("GET", s.url+"/v1/tasks/nothing", "", "A2A-Version", ""); none.StatusCode != 404 || at(none.json(t), "code") != -32001.0 {
		t.Errorf("no such task: %d %s", none.StatusCode, none.body)
	}
	odd := s.do("POST", s.url+"/v1/message:send", `{"message":{"kind":"message","role":"user","messageId":"h-4","parts":[{"kind":"text","text":"hi"}]}}`, "A2A-Version", "").json(t)
	if at(odd, "kind") != "task" || at(odd, "status", "state") != "completed" {
		t.Errorf("with parts: %v", odd)
	}
}

// TestPausedTaskGetsWhatItWaitsFor: a task that waits for words, or for consent, gets them.
func TestPausedTaskGetsWhatItWaitsFor(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ word, state, reply string }{
		{"pause", "TASK_STATE_INPUT_REQUIRED", "You chose blue"},
		{"consent", "TASK_STATE_AUTH_REQUIRED", "Thank you"},
	} {
		got := s.rpc("SendMessage", message("p-"+c.word, c.word))
		task := at(got, "result", "task")
		if at(task, "status", "state") != c.state || at(task, "status", "message", "parts", 0, "text") == nil {
			t.Fatalf("%v", got)
		}
		id := at(task, "id").(string)
		if got := s.rpc("SendMessage", message("other", "blue", `,"taskId":"`+id+`","contextId":"another"`)); at(got, "error", "code") != -32602.0 {
			t.Errorf("with another context: %v", got)
		}
		got = s.rpc("SendMessage", message("p2-"+c.word, "blue", `,"taskId":"`+id+`"`))
		if at(got, "result", "task", "artifacts", 0, "parts", 0, "text") != c.reply || at(got, "result", "task", "id") != id {
			t.Errorf("%v", got)
		}
		if n := at(got, "result", "task", "history", 2, "messageId"); n != "p2-"+c.word {
			t.Errorf("the history's third is %v", n)
		}
		if got := s.rpc("SendMessage", message("late-"+c.word, "more", `,"taskId":"`+id+`"`)); at(got, "error", "code") != -32004.0 {
			t.Errorf("to a task that is done: %v", got)
		}
	}
}

// TestClientNamesItsContext: a client's own name for a context is kept, and finds the same
// conversation; nobody else's.
func TestClientNamesItsContext(t *testing.T) {
	s := start(t)
	first := at(s.rpc("SendMessage", message("c1", "one", `,"contextId":"mine"`)), "result", "task")
	second := at(s.rpc("SendMessage", message("c2", "two", `,"contextId":"mine"`)), "result", "task")
	if at(first, "contextId") != "mine" || at(second, "contextId") != "mine" || at(first, "id") == at(second, "id") {
		t.Errorf("%v, %v", first, second)
	}
	fresh := at(s.rpc("SendMessage", message("c3", "three")), "result", "task", "contextId").(string)
	if got := at(s.rpc("SendMessage", message("c4", "four", `,"contextId":"`+fresh+`"`)), "result", "task", "contextId"); got != fresh {
		t.Errorf("%v, want %s", got, fresh)
	}
	got := s.rpc("ListTasks", `{"contextId":"mine","includeArtifacts":true,"historyLength":1,"pageSize":1}`)
	if at(got, "result", "totalSize") != 2.0 || at(got, "result", "tasks", 0, "id") != at(second, "id") ||
		at(got, "result", "tasks", 0, "artifacts", 0, "parts", 0, "text") != "you said: two" {
		t.Errorf("%v", got)
	}
	token, _ := at(got, "result", "nextPageToken").(string)
	got = s.rpc("ListTasks", `{"context_id":"mine","page_token":"`+token+`","page_size":1}`)
	if at(got, "result", "tasks", 0, "id") != at(first, "id") || at(got, "result", "nextPageToken") != "" || at(got, "result", "tasks", 0, "artifacts") != nil {
		t.Errorf("%v", got)
	}
	if got := s.rpc("ListTasks", `{"status":"TASK_STATE_FAILED"}`); at(got, "result", "totalSize") != 0.0 {
		t.Errorf("%v", got)
	}
}

// TestRepeatedMessageIDIsTheSameTask: the same message again is the same task, not another
// one; other words under its id are refused.
func TestRepeatedMessageIDIsTheSameTask(t *testing.T) {
	s := start(t)
	first := at(s.rpc("SendMessage", message("same", "once")), "result", "task")
	again := at(s.rpc("SendMessage", message("same", "once")), "result", "task")
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
	if got := s.rpc("SendMessage", message("same", "other words")); at(got, "error", "code") != 409.0 {
		t.Errorf("%v", got)
	}
	if got := s.rpc("SendMessage", message("same", "other words"), "Idempotency-Key", "mine"); at(got, "result") == nil {
		t.Errorf("with a key of its own: %v", got)
	}
}

// TestTaskSaysHowTheAgentEndedIt: how an agent ends a task is what the task says.
func TestTaskSaysHowTheAgentEndedIt(t *testing.T) {
	s := start(t)
	for word, want := range map[string][2]string{"fail": {"TASK_STATE_FAILED", "it broke"}, "refuse": {"TASK_STATE_REJECTED", "not today"}} {
		got := at(s.rpc("SendMessage", message("o-"+word, word)), "result", "task", "status")
		if at(got, "state") != want[0] || at(got, "message", "parts", 0, "text") != want[1] {
			t.Errorf("%s: %v", word, got)
		}
	}
	got := s.rpc("SendMessage", message("meta", "meta"), "X-A2A-Agent-ID", "peer-7")
	if text := at(got, "result", "task", "artifacts", 0, "parts", 0, "text"); text != "peer-7||" {
		t.Errorf("%v", text)
	}
	got = s.rpc("SendMessage", `{"message":{"role":"ROLE_USER","messageId":"parts","metadata":{"colour":"red"},"parts":[{"text":"meta"},{"url":"https://x.test/a.png","mediaType":"image/png","filename":"a.png"}]}}`)
	text, _ := at(got, "result", "task", "artifacts", 0, "parts", 0, "text").(string)
	var parts []map[string]any
	if _, raw, ok := strings.Cut(text, "|red|"); !ok || json.Unmarshal([]byte(raw), &parts) != nil || len(parts) != 1 || parts[0]["url"] != "https://x.test/a.png" {
		t.Errorf("the agent got %s", text)
	}
	if got := s.rpc("SendMessage", `{"message":{"role":"ROLE_USER","messageId":"odd","parts":[{"raw":"eA==","mediaType":"application/x-odd"}]}}`); at(got, "error", "code") != -32005.0 {
		t.Errorf("%v", got)
	}
	if got := s.rpc("SendMessage", `{"message":{"role":"ROLE_USER","messageId":"file","parts":[{"text":"x"},{"url":"beeos:file_nobody"}]}}`); at(got, "error", "code") != -32602.0 {
		t.Errorf("somebody else's file: %v", got)
	}
}

// TestOnlyOwnerAndOwnKeysMayCall: the agent's own keys and its owner's, and nobody else.
func TestOnlyOwnerAndOwnKeysMayCall(t *testing.T) {
	s := start(t)
	call := `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`
	for _, c := range []struct {
		name, url, key string
		status         int
	}{
		{"the owner's key", s.url, s.UserKey, 200},
		{"another agent's key", s.url, s.AgentKey, 401},
		{"the agent's key", s.A2A + "/" + s.AgentID, s.AgentKey, 200},
		{"with a slash", s.A2A + "/" + s.AgentID + "/", s.AgentKey, 200},
		{"no such key", s.url, "bak_" + strings.Repeat("0", 64), 401},
		{"none", s.url, "", 401},
		{"no such agent", s.A2A + "/agent_nobody", s.UserKey, 404},
	} {
		headers := []string{"Authorization", "Bearer " + c.key}
		if c.key == "" {
			headers[1] = ""
		}
		got := s.do("POST", c.url, call, headers...)
		if !strings.Contains(string(got.body), `"id":1,`) && !strings.Contains(string(got.body), `"id":1}`) {
			t.Errorf("%s: no id in %s", c.name, got.body)
		}
		if got.StatusCode != c.status || c.status == 401 && got.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %s", c.name, got.StatusCode, got.body)
		}
	}
	if got := s.do("POST", s.A2A+"/"+s.AgentID, call, "Authorization", "", "X-Agent-API-Key", s.AgentKey); got.StatusCode != 200 {
		t.Errorf("in X-Agent-API-Key: %d %s", got.StatusCode, got.body)
	}
}

// TestAnswerToPausedTaskMayBeFiles: what a task waits for may be a file: one that was
// uploaded, one elsewhere, and bytes. Somebody else's is none of theirs.
func TestAnswerToPausedTaskMayBeFiles(t *testing.T) {
	s := start(t)
	c := client.New(s.REST, s.key)
	f, err := c.Upload(t.Context(), "note.txt", "text/plain", strings.NewReader("uploaded"), 8)
	if err != nil {
		t.Fatal(err)
	}
	s.agent = s.connect("collector", func(ctx context.Context, _ agent.Message, r *agent.Reply) error {
		said, err := r.InputRequired(ctx, "Which file?", nil)
		if err != nil {
			return err
		}
		var b strings.Builder
		for _, f := range said.Attachments {
			text, err := f.Download(ctx)
			fmt.Fprintf(&b, "%s %s %s %v; ", f.Filename, f.ContentType, text, err)
		}
		return r.Send(said.Text + ": " + b.String() + string(said.Parts))
	})
	s.url = s.A2A + "/" + s.agent
	for name, step := range map[string]struct{ part, want string }{
		"by id":        {`{"url":"beeos:` + f.FileID + `"}`, "here: note.txt text/plain uploaded <nil>; "},
		"by metadata":  {`{"metadata":{"file_id":"` + f.FileID + `"},"filename":"other.txt"}`, "here: other.txt text/plain uploaded <nil>; "},
		"by address":   {`{"url":"https://example.com/a.png","mediaType":"image/png"}`, `here: [{"type":"file","url":"https://example.com/a.png","mime_type":"image/png"}]`},
		"bytes":        {`{"raw":"aGk=","filename":"b.txt"}`, `here: [{"type":"file","url":"data:application/octet-stream;base64,aGk=","mime_type":"","name":"b.txt"}]`},
		"bytes of 0.3": {`{"kind":"file","file":{"bytes":"aGk=","name":"b.txt"}}`, `here: [{"type":"file","url":"data:application/octet-stream;base64,aGk=","mime_type":"","name":"b.txt"}]`},
	} {
		paused := s.rpc("SendMessage", message("p "+name, "pause"))
		id, _ := at(paused, "result", "task", "id").(string)
		answer := `{"message":{"role":"ROLE_USER","messageId":"a ` + name + `","taskId":"` + id + `","parts":[{"text":"here"},` + step.part + `]}}`
		if bad := s.rpc("SendMessage", strings.Replace(answer, f.FileID, "file_of_somebody_else", 1)); strings.Contains(step.part, f.FileID) && at(bad, "error", "code") != -32602.0 {
			t.Errorf("%s, somebody else's: %v", name, bad)
		} else if !strings.Contains(step.part, f.FileID) {
			if text, _ := at(bad, "result", "task", "artifacts", 0, "parts", 0, "text").(string); text != step.want {
				t.Errorf("%s: %v", name, bad)
			}
			continue
		}
		got := s.rpc("SendMessage", strings.Replace(answer, `"a `, `"b `, 1))
		if text, _ := at(got, "result", "task", "artifacts", 0, "parts", 0, "text").(string); !strings.HasPrefix(text, step.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	// And with the first message of a task.
	s.agent = s.connect("reader", func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		if len(m.Attachments) != 1 {
			return r.Send("no file")
		}
		text, err := m.Attachments[0].Download(ctx)
		return r.Send(fmt.Sprintf("%s %v", text, err))
	})
	s.url = s.A2A + "/" + s.agent
	got := s.rpc("SendMessage", `{"message":{"role":"ROLE_USER","messageId":"first","parts":[{"url":"beeos:`+f.FileID+`"}]}}`)
	if text := at(got, "result", "task", "artifacts", 0, "parts", 0, "text"); text != "uploaded <nil>" {
		t.Errorf("with the first message: %v", got)
	}
}
