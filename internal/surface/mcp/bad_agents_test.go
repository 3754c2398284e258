package mcp

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/agentgateway"
)

// badAgent is an agent behind the real agent gateway whose every answer is
// written down: for a message's id, what it sends.
type badAgent struct {
	id   string
	said chan beeos.Frame // what the gateway says to it besides messages
}

// badAgent connects one by a raw WebSocket. say returns the WebSocket messages
// that answer a call.
func (s *stack) badAgent(t *testing.T, def beeos.Definition, say func(call beeos.Call, id string) []string) *badAgent {
	t.Helper()
	g := agentgateway.New(agentgateway.Options{Agents: s.db.Agents, Instances: s.db.Instances, Audit: s.db.Audit, Auth: s.gateway.opt.Auth, Ledger: s.ledger, Bus: s.bus, Calls: s.calls})
	server := httptest.NewServer(g)
	ctx, stop := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return g.Run(ctx) })

	public, private, err := ed25519.GenerateKey(nil)
	s.must(err)
	inst := beeos.Instance{ID: "inst_" + beeos.NewID(), OwnerID: s.owner.ID, Name: "bad", PublicKey: public, CreatedAt: time.Now()}
	s.must(s.db.Instances.Create(ctx, inst))
	def.Name, def.TimeoutMS = "bad", 3000
	synced, err := s.db.Agents.Sync(ctx, inst, []beeos.Definition{def})
	s.must(err)
	a := &badAgent{id: synced.IDs()["bad"], said: make(chan beeos.Frame, 1000)}
	s.agents["bad"] = a.id
	const path = "/api/v1/agents/connect"
	ws, _, err := websocket.Dial(ctx, server.URL+path, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {beeos.Sign(private, inst.ID, "GET", path, nil)}}})
	s.must(err)
	group.Go(func() error {
		for {
			_, data, err := ws.Read(ctx)
			if err != nil {
				return nil
			}
			for line := range strings.Lines(string(data)) {
				var f beeos.Frame
				s.must(json.Unmarshal([]byte(line), &f))
				if f.Type != beeos.FrameType(beeos.ChatMessage) {
					a.said <- f
					continue
				}
				var call beeos.Call
				s.must(json.Unmarshal(f.Payload, &call))
				for _, message := range say(call, f.MessageID) {
					if ws.Write(ctx, websocket.MessageText, []byte(message)) != nil {
						return nil
					}
				}
			}
		}
	})
	t.Cleanup(func() {
		stop()
		ws.CloseNow() //nolint:errcheck // it is over either way
		s.must(group.Wait())
		server.Close()
	})
	s.until(t, "the agent is there", func() bool { return s.bus.Present(ctx, a.id) })
	return a
}

// answersOf returns the messages of a response that have an id: its answers.
func answersOf(t *testing.T, resp *http.Response) (answers []string) {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{string(body)}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		lines = nil
		for line := range strings.Lines(string(body)) {
			if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: {"); ok {
				lines = append(lines, "{"+data)
			}
		}
	}
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %.300s", line)
		}
		if field([]byte(line), "id") != "" {
			answers = append(answers, line)
		}
	}
	return answers
}

// TestAgentAnswersTwice: one answer counts, the same on every way to it, and
// the agent hears that the others do not.
func TestAgentAnswersTwice(t *testing.T) {
	s := newStack(t)
	turns := make(chan string, 1)
	a := s.badAgent(t, beeos.Definition{}, func(_ beeos.Call, id string) []string {
		turns <- id
		reply := func(kind, text string) string {
			return `{"type":"` + kind + `","message_id":"` + id + `","body":"` + text + `","text":"` + text + `"}`
		}
		return []string{
			reply("delta", "before"),
			reply("reply", "first") + "\n" + reply("reply", "second") + "\n" + reply("error", "third"),
			reply("delta", "after"), reply("progress", "after"), reply("reply", "fourth"),
		}
	})
	session := s.handshake(t, "bad", "user", `{}`)
	const calls = 20
	got := map[string]string{} // turn -> what its caller got
	for n := range calls {
		resp := s.send(t.Context(), t, []string{s.server.URL, s.other.URL}[n%2], "bad", "user", session,
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+a.id+`","arguments":{"message":"x"},"_meta":{"progressToken":1}}}`)
		answers := answersOf(t, resp)
		if len(answers) != 1 || field([]byte(answers[0]), "result") == "" {
			t.Fatalf("%d answers: %s", len(answers), answers)
		}
		got[<-turns] = answers[0]
	}
	accepted, refused := map[string]int{}, map[string]int{}
	for len(accepted) < calls || refusedTotal(refused) < 3*calls {
		select {
		case f := <-a.said:
			switch {
			case f.Type == beeos.FrameAck && f.Error == nil:
				accepted[f.MessageID]++
			case f.Type == beeos.FrameAck && f.Error.Code == string(beeos.MessageTerminal):
				refused[f.MessageID]++
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%d accepted, %d refused", len(accepted), refusedTotal(refused))
		}
	}
	for id, n := range accepted {
		if n != 1 {
			t.Errorf("%d replies to %s were accepted", n, id)
		}
		stored, err := s.ledger.Terminal(t.Context(), id)
		s.must(err)
		if !strings.Contains(got[id], `"text":"`+stored.Body+`"`) {
			t.Errorf("the ledger has %q, the caller got %s", stored.Body, got[id])
		}
	}
}

func refusedTotal(refused map[string]int) (total int) {
	for _, n := range refused {
		total += n
	}
	return total
}

// TestAgentTalksGarbage: whatever an agent says, its caller gets one answer
// that an official client can read, and hears whose fault it is.
func TestAgentTalksGarbage(t *testing.T) {
	const reply = `{"type":"reply","message_id":"ID",`
	tests := []struct {
		name    string
		says    []string
		isError bool
		want    string // in the answer
	}{
		{"noise first", []string{`nonsense`, `{`, `[]`, `{"type":5}`, `{"type":"no such"}`, `{"type":"reply"}`, "\xff\xfe", `{"type":"delta","message_id":"ID","text":7}`, `{"type":"reply","message_id":"ID","body":{}}`, reply + `"body":"fine"}`}, false, "fine"},
		{"another's message", []string{`{"type":"reply","message_id":"0192f3a0-0000-7000-8000-000000000000","body":"x"}`, reply + `"body":"mine"}`}, false, "mine"},
		{"nothing", []string{reply + `"body":""}`}, false, `"content":[]`},
		{"parts that are no blocks", []string{reply + `"body":"b","parts":[1,"x",null,[],{},{"type":7}]}`}, false, `"text":"b"`},
		{"text without text", []string{reply + `"parts":[{"type":"text"}]}`}, true, "a block of type text was left out"},
		{"text that is none", []string{reply + `"body":"b","parts":[{"type":"text","text":{"a":1}}]}`}, true, "a block of type text"},
		{"image without data", []string{reply + `"parts":[{"type":"image","mimeType":"image/png"},{"type":"text","text":"rest"}]}`}, true, `"text":"rest"`},
		{"audio without type", []string{reply + `"parts":[{"type":"audio","data":"AAAA","mimeType":null}]}`}, true, "a block of type audio"},
		{"resource without contents", []string{reply + `"parts":[{"type":"resource","resource":{"uri":"a://b"}}]}`}, true, "a block of type resource"},
		{"resource of both kinds", []string{reply + `"parts":[{"type":"resource","resource":{"uri":"a://b","text":"x","blob":"AAAA"}}]}`}, true, "a block of type resource"},
		{"link without name", []string{reply + `"parts":[{"type":"resource_link","uri":"a://b"}]}`}, true, "a block of type resource_link"},
		{"annotations that are none", []string{reply + `"parts":[{"type":"text","text":"x","annotations":5}]}`}, true, "a block of type text"},
		{"structured number", []string{reply + `"parts":[{"type":"structured","data":5}]}`}, false, `"text":"5"`},
		{"meta that is none", []string{reply + `"body":"b","payload":{"_meta":5}}`}, false, `"text":"b"`},
		{"an error that is none", []string{`{"type":"error","message_id":"ID","body":"oh","payload":{"error":{"code":"x"}}}`}, true, "oh"},
		{"an error of nobody's", []string{`{"type":"error","message_id":"ID","payload":{"error":{"code":-32020,"message":"m","data":{"code":"x","more":1}}}}`}, true, `"code":-32603`},
		{"questions that are none", []string{reply + `"body":"b","payload":{"input_required":{"requests":{"q":5}}}}`}, true, "cannot be asked"},
		{"no reason", []string{`{"type":"error","message_id":"ID"}`}, true, "without saying why"},
		{"a megabyte", []string{reply + `"body":"` + strings.Repeat("x", 1<<20) + `"}`}, false, "xxxx"},
		{"too much, then less", []string{reply + `"body":"` + strings.Repeat("x", 2<<20) + `"}`, reply + `"body":"less"}`}, false, "less"},
	}
	s := newStack(t)
	def := beeos.Definition{}
	for _, tt := range tests {
		def.Skills = append(def.Skills, beeos.Skill{Name: strings.NewReplacer(" ", "_", ",", "", "'", "").Replace(tt.name)})
	}
	s.badAgent(t, def, func(call beeos.Call, id string) (says []string) {
		for i, skill := range def.Skills {
			if skill.Name == call.Tool {
				for _, text := range tests[i].says {
					says = append(says, strings.ReplaceAll(text, "ID", id))
				}
			}
		}
		return says
	})
	session := s.handshake(t, "bad", "user", `{}`)
	for i, tt := range tests {
		for _, in := range []string{"", session} {
			resp := s.send(t.Context(), t, s.server.URL, "bad", "user", in, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+def.Skills[i].Name+`","_meta":{"progressToken":1}}}`)
			answers := answersOf(t, resp)
			if len(answers) != 1 || !strings.Contains(answers[0], tt.want) {
				t.Errorf("%s: %d answers, %.400s", tt.name, len(answers), answers)
				continue
			}
			answer := []byte(answers[0])
			failed := field(answer, "error") != "" || field(answer, "result", "isError") == "true"
			var result mcp.CallToolResult
			if err := json.Unmarshal([]byte(field(answer, "result")), &result); field(answer, "error") == "" && err != nil || failed != tt.isError {
				t.Errorf("%s: %v %.400s", tt.name, err, answer)
			}
		}
	}
}

// TestAgentAnswersOffShape: the methods whose results cannot say that they
// failed have an error instead of a result that clients choke on.
func TestAgentAnswersOffShape(t *testing.T) {
	s := newStack(t)
	results := []string{
		`{}`, `{"contents":5,"messages":5,"completion":5}`,
		`{"contents":[5],"messages":[5],"completion":{"values":[5]}}`,
		`{"contents":[{"uri":"a://b"}],"messages":[{"role":"robot","content":{"type":"text","text":"x"}}],"completion":{"values":"x"}}`,
		`{"contents":[{"uri":5,"text":"x"}],"messages":[{"role":"user","content":{"type":"image"}}],"completion":{}}`,
		`{"contents":[],"messages":[],"completion":{"values":[]},"_meta":5}`,
		`{"contents":[],"messages":[],"completion":{"values":[]}}`,
	}
	next := 0
	def := beeos.Definition{Completions: true, Resources: []beeos.Resource{{URI: "a://b", Name: "b"}}, Prompts: []beeos.Prompt{{Name: "p"}}}
	s.badAgent(t, def, func(_ beeos.Call, id string) []string {
		return []string{`{"type":"reply","message_id":"` + id + `","payload":{"result":` + results[next] + `}}`}
	})
	for next = range results {
		for method, params := range map[string]string{
			"resources/read":      `"uri":"a://b"`,
			"prompts/get":         `"name":"p"`,
			"completion/complete": `"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}`,
		} {
			resp := s.send(t.Context(), t, s.server.URL, "bad", "user", "", `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{`+params+`}}`)
			answer, err := io.ReadAll(resp.Body)
			s.must(err)
			if good := next == len(results)-1; good != (field(answer, "result") != "") || !good && (field(answer, "error", "code") != "-32603" || !strings.Contains(string(answer), "agent's answer")) {
				t.Errorf("%s %s: %s", method, results[next], answer)
			}
		}
	}
}
