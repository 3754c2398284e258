package rest_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/beeos/beeos"
)

// bodies are what the operations that want a body are called with. An
// operation of the contract that wants one and has no row here fails.
var bodies = map[string]string{
	"createApiKey": `{"name":"k"}`, "createAgentKey": `{"name":"k"}`, "createJoinToken": `{}`, "deployInstance": `{"name":"private words"}`,
	"updateAgent": `{"mcpEnabled":true}`, "invokeAgent": `{"message":"x"}`, "createTask": `{"message":"x"}`,
	"updateAgentLimits": `{"rate_limit_per_minute":5}`, "updateApiKey": `{"rate_limit_per_minute":5}`, "updateAgentKey": `{"rate_limit_per_minute":5}`,
	"cancelTask": `{}`, "continueTask": `{"input":"x"}`, "createConversation": `{}`, "renameConversation": `{"title":"x"}`,
	"sendConversationMessage": `{"message":"x"}`, "cancelConversation": `{"target_message_id":"TASK"}`, "setConversationModel": `{"modelOverrideId":null}`,
	"createChannel": `{"agent_id":"AGENT"}`, "sendMessage": `{"body":"x"}`, "waitReply": `{"in_reply_to":"TASK","timeout_ms":1}`,
	"presignFileUpload": `{"filename":"x","content_type":"text/plain"}`, "registerTaskWebhook": `{"url":"http://127.0.0.1:9/"}`,
	"setBudget": `{"subject_type":"agent","subject_id":"AGENT","unit":"calls","period":"month","limit":1000000}`, "createNotificationChannel": `{"kind":"webhook","url":"http://127.0.0.1:9/private"}`, "replayCall": `{}`, "approve": `{}`, "reject": `{}`, "updateApprovalPolicy": `{"auto_approve":false}`,
	"login": `{"email":"nobody@example.com","password":"wrong, and long enough"}`, "refreshLogin": `{"refresh_token":"x"}`,
}

// ownersOnly are the operations on an agent that others may call, but not own:
// to them it exists, and it is not theirs.
var ownersOnly = strings.Fields(`updateAgent deleteAgent listAgentKeys createAgentKey updateAgentKey revokeAgentKey getApprovalPolicy updateApprovalPolicy`)

// things are one of each kind, by the names that they have in paths.
type things map[string]string

// nothing has the looks of things and names none.
func nothing() things {
	return things{
		"agentId": "agent_0000000000000000", "taskId": beeos.NewID(), "convId": beeos.NewChannelID(), "conversationId": beeos.NewChannelID(),
		"keyId": beeos.NewID(), "id": beeos.NewID(), "instanceId": beeos.NewID(), "channel": beeos.NewChannelID(),
		"webhookId": "wh_" + beeos.NewID(), "deliveryId": "whd_" + beeos.NewID(), "notificationChannelId": "nch_" + beeos.NewID(), "notificationDeliveryId": "nd_" + beeos.NewID(),
		"approvalGrantId": "apg_" + beeos.NewID(),
	}
}

// all makes one of everything on an agent of the owner's.
func (s *stack) all(agent string) things {
	s.t.Helper()
	base := "/api/v1/agents/" + agent
	conv := ok[conversationJSON](s, "POST", base+"/conversations", `{"title":"private words"}`)
	sent := ok[messageJSON](s, "POST", base+"/conversations/"+conv.ID+"/messages", `{"message":"private words"}`)
	key := ok[struct{ ID string }](s, "POST", base+"/keys", `{"name":"private words"}`)
	hook := ok[webhookJSON](s, "POST", base+"/tasks/"+sent.ID+"/webhooks", `{"url":"http://127.0.0.1:9/private"}`)
	channel := ok[struct{ ID string }](s, "POST", "/api/v1/notification-channels", `{"kind":"webhook","url":"http://127.0.0.1:9/private/`+beeos.NewID()+`"}`)
	told := ok[struct {
		ID string `json:"delivery_id"`
	}](s, "POST", "/api/v1/notification-channels/"+channel.ID+"/test", "")
	return things{
		"notificationChannelId": channel.ID, "notificationDeliveryId": told.ID,
		"approvalGrantId": s.grants(agent),
		"webhookId":       hook.ID, "deliveryId": "whd_" + beeos.NewID(),
		"agentId": agent, "taskId": sent.ID, "convId": conv.ID, "conversationId": conv.ID, "channel": conv.ID, "keyId": key.ID, "id": s.instance, "instanceId": s.instance,
	}
}

// call makes the request of an operation on some things.
func (s *stack) call(id, method, path string, op *openapi3.Operation, on things, key string) answer {
	s.t.Helper()
	for name, value := range on {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	if strings.Contains(path, "{") {
		s.t.Fatalf("%s: the path %s names something that the matrix knows nothing of; add it to things", id, path)
	}
	body := bodies[id]
	if body == "" && op.RequestBody != nil {
		s.t.Fatalf("%s wants a body and has none in the matrix", id)
	}
	body = strings.NewReplacer("TASK", on["taskId"], "AGENT", on["agentId"]).Replace(body)
	resp := s.send(method, path, key, body, "Idempotency-Key", beeos.NewID())
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		return answer{status: resp.StatusCode, raw: "events"}
	}
	return s.read(method, path, resp)
}

// blind is an answer without the names that were asked for.
func (a answer) blind(on things) string {
	raw := a.raw
	for _, value := range on {
		raw = strings.ReplaceAll(raw, value, "NAME")
	}
	return fmt.Sprintf("%d %s", a.status, regexp.MustCompile(`"request_id":"[^"]*"`).ReplaceAllString(raw, ""))
}

// TestStrangersSeeNothing: every operation, by everybody who must not get through. What
// is somebody else's answers exactly as if it did not exist.
func TestStrangersSeeNothing(t *testing.T) {
	s := start(t)
	s.silent()
	mine := s.all(s.agent)
	public := s.sync(beeos.Definition{Name: "echo"}, beeos.Definition{Name: "asleep"}, beeos.Definition{Name: "shop"})["shop"]
	s.serveToo(public)
	ok[struct{}](s, "PATCH", "/api/v1/agents/"+public, `{"visibility":"public"}`)
	shared := s.all(public)
	shared["id"] = s.deploy(`{"name":"private words","systemPrompt":"private words"}`).ID // a built-in agent, and mine is a machine
	doomed := s.sync(beeos.Definition{Name: "echo"}, beeos.Definition{Name: "asleep"}, beeos.Definition{Name: "shop"}, beeos.Definition{Name: "doomed"})["doomed"]
	s.serveToo(doomed)
	gone := s.all(doomed)
	if a := s.do("DELETE", "/api/v1/agents/"+doomed, s.key, ""); a.status != 204 {
		t.Fatal(a.raw)
	}
	made := ok[struct{ ID, Key string }](s, "POST", "/api/v1/api-keys", `{"name":"revoked"}`)
	if a := s.do("DELETE", "/api/v1/api-keys/"+made.ID, s.key, ""); a.status != 204 {
		t.Fatal(a.raw)
	}

	theContract().operations(func(id, method, path string, op *openapi3.Operation) {
		t.Run(id, func(t *testing.T) {
			defer func(outer *testing.T) { s.t = outer }(s.t)
			s.t = t
			if op.Security == nil || len(*op.Security) > 0 {
				if a := s.call(id, method, path, op, mine, made.Key); a.status != http.StatusUnauthorized || a.code != "invalid_token" {
					t.Errorf("a revoked key: %d %s", a.status, a.raw)
				}
				if a := s.call(id, method, path, op, mine, ""); a.status != http.StatusUnauthorized || a.code != "missing_token" {
					t.Errorf("no key: %d %s", a.status, a.raw)
				}
				if a := s.call(id, method, path, op, mine, "new_1"); a.status != http.StatusUnauthorized || a.code != "unauthorized" {
					t.Errorf("a kind of credential that nobody knows: %d %s", a.status, a.raw)
				}
			}
			if !strings.Contains(path, "{") && !strings.Contains(bodies[id], "AGENT") {
				if a := s.call(id, method, path, op, mine, s.other); names(a.raw, mine, shared) {
					t.Errorf("somebody else sees %s", a.raw)
				}
				return
			}
			none := nothing()
			blank := s.call(id, method, path, op, none, s.other)
			if blank.status != http.StatusNotFound {
				t.Fatalf("what does not exist: %d %s", blank.status, blank.raw)
			}
			if a := s.call(id, method, path, op, mine, s.other); a.blind(mine) != blank.blind(none) {
				t.Errorf("of somebody else's private agent: %s\nof nothing: %s", a.blind(mine), blank.blind(none))
			}
			s.stranger(id, method, path, op, shared, none)
			if strings.Contains(path, "{agentId}") {
				want := s.call(id, method, path, op, none, s.key)
				if a := s.call(id, method, path, op, gone, s.key); a.blind(gone) != want.blind(none) {
					t.Errorf("of a deleted agent: %s\nof nothing: %s", a.blind(gone), want.blind(none))
				}
			}
		})
	})
}

// stranger looks at what hangs on an agent that everybody may call: the agent
// is there, the owner's things are not.
func (s *stack) stranger(id, method, path string, op *openapi3.Operation, shared, none things) {
	s.t.Helper()
	if slices.Contains(ownersOnly, id) {
		if a := s.call(id, method, path, op, shared, s.other); a.code != "forbidden" {
			s.t.Errorf("of somebody else's public agent: %d %s", a.status, a.raw)
		}
		return
	}
	inside := strings.Contains(strings.Replace(path, "{agentId}", "", 1), "{")
	switch {
	case strings.Contains(path, "{agentId}") && inside:
		other := things{}
		for name, value := range none {
			other[name] = value
		}
		other["agentId"] = shared["agentId"]
		want := s.call(id, method, path, op, other, s.other)
		if want.status != http.StatusNotFound {
			s.t.Errorf("of nothing on a public agent: %d %s", want.status, want.raw)
		}
		if a := s.call(id, method, path, op, shared, s.other); a.blind(shared) != want.blind(other) {
			s.t.Errorf("the owner's, on a public agent: %s\nnothing: %s", a.blind(shared), want.blind(other))
		}
	case inside:
		if a := s.call(id, method, path, op, shared, s.other); a.status != http.StatusNotFound {
			s.t.Errorf("the owner's: %d %s", a.status, a.raw)
		}
	case method == http.MethodGet:
		if a := s.call(id, method, path, op, shared, s.other); strings.Contains(a.raw, "private words") || strings.Contains(a.raw, shared["taskId"]) {
			s.t.Errorf("a stranger sees %s", a.raw)
		}
	}
}

// names reports whether a text has one of the things in it.
func names(raw string, of ...things) bool {
	for _, t := range of {
		for _, value := range t {
			if strings.Contains(raw, value) {
				return true
			}
		}
	}
	return false
}

// serveToo lets nobody wait for an agent to be online.
func (s *stack) serveToo(agent string) {
	s.t.Helper()
	stop, err := s.bus.Serve(agent, deaf)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(stop)
}

// TestEveryRouteIsInTheContract compares the site map with the document.
func TestEveryRouteIsInTheContract(t *testing.T) {
	var text []byte
	for _, file := range []string{"rest.go", "calls/calls.go"} {
		part, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	name := regexp.MustCompile(`\{[^}]*\}`)
	documented := map[string]bool{}
	theContract().operations(func(_, method, path string, _ *openapi3.Operation) {
		documented[method+" "+name.ReplaceAllString(path, "{}")] = true
	})
	routes := regexp.MustCompile(`"([A-Z]+ /[^"]*)": +(route\.With\(|[sh]\.)`).FindAllSubmatch(text, -1)
	for _, m := range routes {
		route := name.ReplaceAllString(string(m[1]), "{}")
		if !documented[route] {
			t.Errorf("%s is served and not in api/openapi.yaml", m[1])
		}
		delete(documented, route)
	}
	for route := range documented {
		t.Errorf("%s is in api/openapi.yaml and not served", route)
	}
	if len(routes) < 40 {
		t.Errorf("found %d routes in the two site maps", len(routes))
	}
}
