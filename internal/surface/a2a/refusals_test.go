package a2a_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/config"
)

// TestGuessingKeysIsSlowedDown: whoever tries one key after the other is told to slow down,
// here as on the other surfaces.
func TestGuessingKeysIsSlowedDown(t *testing.T) {
	s := start(t)
	status := 0
	for range 2000 { // they are forgotten with time, and this machine may be slow
		resp := s.open(t.Context(), "POST", s.url, strings.NewReader(`{}`), "Authorization", "Bearer bak_"+strings.Repeat("0", 64))
		resp.Body.Close()
		if status = resp.StatusCode; status != http.StatusUnauthorized {
			break
		}
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("the last of many unknown keys got %d", status)
	}
	if got := s.rpc("ListTasks", `{}`); got["error"] != nil {
		t.Errorf("a good key from the same address: %v", got)
	}
}

// TestDeletedPushConfigIsAnswered: JSON-RPC wants a result, and 0.3 wants it to
// be null.
func TestDeletedPushConfigIsAnswered(t *testing.T) {
	s := start(t)
	task := at(s.rpc("SendMessage", message("m", "hi")), "result", "task", "id").(string)
	body := `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/delete","params":{"id":"` + task + `","pushNotificationConfigId":"none"}}`
	var got map[string]json.RawMessage
	if err := json.Unmarshal(s.do("POST", s.url, body, "A2A-Version", "").body, &got); err != nil {
		t.Fatal(err)
	}
	if result, ok := got["result"]; !ok || string(result) != "null" {
		t.Errorf("no result of null: %s", got)
	}
}

// TestRefusedPushConfigSendsNothing: a request that is refused must not have
// reached the agent.
func TestRefusedPushConfigSendsNothing(t *testing.T) {
	s := start(t)
	for name, conf := range map[string]string{
		"scheme":     `{"url":"ftp://example.com/"}`,
		"no address": `{"token":"t"}`,
		"token":      `{"url":"http://127.0.0.1:9/","token":"two words"}`,
	} {
		send := strings.TrimSuffix(message(name, "hi"), "}") + `,"configuration":{"taskPushNotificationConfig":` + conf + `}}`
		if got := s.rpc("SendMessage", send); at(got, "error", "code") != -32602.0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if n := at(s.rpc("ListTasks", `{}`), "result", "totalSize"); n != 0.0 {
		t.Errorf("%v tasks were made by requests that were refused", n)
	}
}

// TestKeyThatIsNoTextIsRefused: a database would refuse it, and with it everybody who is
// stored at the same moment.
func TestKeyThatIsNoTextIsRefused(t *testing.T) {
	s := start(t)
	if got := s.rpc("SendMessage", message("m", "hi"), "Idempotency-Key", "k\xff"); at(got, "error", "code") != -32602.0 {
		t.Errorf("%v", got)
	}
}

// TestRevokedKeyHearsNothingMore: a stream can outlive its credential, and tells
// nothing from then on but why.
func TestRevokedKeyHearsNothingMore(t *testing.T) {
	s := start(t)
	task := at(s.rpc("SendMessage", message("m", "pause")), "result", "task", "id").(string)
	made := s.do("POST", s.REST+"/api/v1/api-keys", `{"name":"short-lived"}`).json(t)
	subscribe := `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"` + task + `"}}`
	events := s.stream(t.Context(), s.url, subscribe, "Authorization", "Bearer "+at(made, "data", "key").(string))
	if first := <-events; at(first, "result", "task", "id") != task {
		t.Fatalf("%v", first)
	}
	s.do("DELETE", s.REST+"/api/v1/api-keys/"+at(made, "data", "id").(string), "")
	s.rpc("SendMessage", message("m2", "blue", `,"taskId":"`+task+`"`))
	for ev := range events {
		if at(ev, "error", "code") != 401.0 {
			t.Errorf("after the key was revoked: %v", ev)
		}
	}
}

// TestRepeatedMessageJoinsRunningTask: whoever repeats a message whose task takes long
// gets that task, as with the first one.
func TestRepeatedMessageJoinsRunningTask(t *testing.T) {
	s := start(t, func(c *config.Config) { c.CallTimeout = 300 * time.Millisecond })
	first := s.rpc("SendMessage", message("m", "wait"))
	again := s.rpc("SendMessage", message("m", "wait"))
	s.rpc("CancelTask", `{"id":"`+at(first, "result", "task", "id").(string)+`"}`)
	if task := at(first, "result", "task", "id"); task == nil || at(again, "result", "task", "id") != task {
		t.Errorf("first %v, again %v", first, again)
	}
}

// TestDeletingPushConfigNeedsItsID: who does not say which one is meant deletes none.
func TestDeletingPushConfigNeedsItsID(t *testing.T) {
	s := start(t)
	task := at(s.rpc("SendMessage", message("m", "hi")), "result", "task", "id").(string)
	for _, id := range []string{"one", "two"} {
		s.rpc("CreateTaskPushNotificationConfig", `{"taskId":"`+task+`","id":"`+id+`","url":"http://127.0.0.1:9/`+id+`"}`)
	}
	if got := s.rpc("DeleteTaskPushNotificationConfig", `{"taskId":"`+task+`"}`); at(got, "error", "code") != -32602.0 {
		t.Errorf("without an id: %v", got)
	}
	if got, _ := at(s.rpc("ListTaskPushNotificationConfigs", `{"taskId":"`+task+`"}`), "result", "configs").([]any); len(got) != 2 {
		t.Errorf("left: %v", got)
	}
}
