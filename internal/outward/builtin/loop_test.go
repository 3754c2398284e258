package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
)

func files(url string, auto bool) []skill.Server {
	return []skill.Server{{Name: "files", URL: url, AutoApprove: auto}}
}

// ask is say that must work.
func (s *stack) ask(t *testing.T, agentID, conversation, text string) *client.Answer {
	t.Helper()
	a, err := s.say(t.Context(), agentID, conversation, text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestModelUsesATool(t *testing.T) {
	srv := skillServer(t)
	s := start(t, builtin.Options{Model: llm.Script(saving)})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Prompt: "You file invoices.", Servers: files(srv.URL, true)}, nil)

	var text, reasoning string
	var done *client.Answer
	for ev, err := range client.New(s.REST, s.UserKey).Stream(t.Context(), id, client.InvokeRequest{Message: "invoice-1"}) {
		if err != nil {
			t.Fatal(err)
		}
		text, reasoning = text+ev.Delta, reasoning+ev.Reasoning
		done = ev.Done
	}
	want := "Saving.\n\nThe tool says: CSV saved to /shared/invoices/invoice-1.csv (1 rows)"
	if text != want || done == nil || done.Text != want || done.IsError {
		t.Errorf("streamed %q, ended with %+v, want %q", text, done, want)
	}
	if reasoning != "A file." {
		t.Errorf("reasoned %q", reasoning)
	}
	if got := srv.files(); len(got) != 1 || got[0] != "invoice-1" {
		t.Errorf("saved %v", got)
	}
}

// TestRecord: the answer keeps what was thought, which tools were called where
// in the text, and what they said.
func TestRecord(t *testing.T) {
	srv := skillServer(t)
	s := start(t, builtin.Options{Model: llm.Script(saving)})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, true)}, nil)
	c := client.New(s.REST, s.UserKey)
	task, err := c.CreateTask(t.Context(), id, client.TaskRequest{Message: "invoice-1"})
	if err != nil {
		t.Fatal(err)
	}
	var parts string
	for u, err := range c.WatchTask(t.Context(), id, task.ID) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Message.Type == beeos.AgentReply {
			parts = string(u.Message.Parts)
		}
	}
	for _, want := range []string{`"type":"tool_use"`, `"text_offset":7`, `"type":"tool_result"`, `{"text":"A file.","type":"thinking"}`} {
		if !strings.Contains(parts, want) {
			t.Errorf("no %s in %s", want, parts)
		}
	}
}

func TestToolTroubleGoesBackToTheModel(t *testing.T) {
	srv := skillServer(t)
	s := start(t, builtin.Options{Model: llm.Script(saving)})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, true)}, nil)
	if a := s.ask(t, id, "", "forbidden"); !strings.Contains(a.Text, "The tool says: permission denied on /shared/invoices/") || a.IsError {
		t.Errorf("%+v", a)
	}
	srv.CloseClientConnections()
	srv.Close()
	if a := s.ask(t, id, "", "invoice-2"); !strings.Contains(a.Text, "files cannot be reached") || a.IsError {
		t.Errorf("%+v", a)
	}
}

func TestNobodyToAskMeansNo(t *testing.T) {
	srv := skillServer(t)
	s := start(t, builtin.Options{Model: llm.Script(saving)})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, false)}, nil)
	if a := s.ask(t, id, "", "invoice-1"); !strings.Contains(a.Text, "denied") || len(srv.files()) != 0 {
		t.Errorf("%+v, saved %v", a, srv.files())
	}
}

func TestApprovalSeesWhatIsCalled(t *testing.T) {
	srv := skillServer(t)
	var seen []answer.Approval
	s := start(t, builtin.Options{Model: llm.Script(saving), Approve: func(_ context.Context, _ *agent.Reply, a answer.Approval) error {
		seen = append(seen, a)
		if strings.Contains(string(a.Arguments), "secret") {
			return errors.New("not this one")
		}
		return nil
	}})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, false)}, nil)
	s.ask(t, id, "", "invoice-1")
	if a := s.ask(t, id, "", "secret-1"); !strings.Contains(a.Text, "not this one") {
		t.Errorf("the model was not told: %+v", a)
	}
	if len(seen) != 2 || seen[0].Skill != "files" || seen[0].Tool != "save_csv" || seen[0].Auto || string(seen[0].Arguments) != `{"filename":"invoice-1","rows":[{"amount":1250.5}]}` {
		t.Errorf("%+v", seen)
	}
	if got := srv.files(); len(got) != 1 {
		t.Errorf("saved %v", got)
	}
}

func TestConversationIsRemembered(t *testing.T) {
	s := start(t, builtin.Options{Model: llm.Script(func(r llm.Request) []llm.Delta {
		var all []string
		for _, m := range r.Messages {
			all = append(all, string(m.Role)+":"+m.Text)
		}
		return []llm.Delta{{Text: fmt.Sprintf("(%s)", strings.Join(all, " "))}}
	})})
	_, id := s.create(t, builtin.Definition{Name: "parrot"}, nil)
	first := s.ask(t, id, "", "one")
	second := s.ask(t, id, first.ContextID, "two")
	if want := "(user:one assistant:(user:one) user:two)"; second.Text != want {
		t.Errorf("%q, want %q", second.Text, want)
	}
	if other := s.ask(t, id, "", "three"); other.Text != "(user:three)" {
		t.Errorf("another conversation knows: %q", other.Text)
	}
}

func TestToolsAreListedWhenAConversationBeginsAndWhenTheyChange(t *testing.T) {
	srv := skillServer(t)
	s := start(t, builtin.Options{Model: llm.Script(func(r llm.Request) []llm.Delta {
		var names []string
		for _, t := range r.Tools {
			names = append(names, t.Name)
		}
		return llm.Say(strings.Join(names, " "))
	})})
	inst, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, true)}, nil)
	first := s.ask(t, id, "", "hello")
	if first.Text != "files__save_csv" {
		t.Fatalf("%+v", first)
	}
	mcp.AddTool(srv.mcp, &mcp.Tool{Name: "now"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	accepted, within := false, time.After(10*time.Second)
	for { // the server's notice takes its own way
		switch a := s.ask(t, id, first.ContextID, "and now?"); {
		case a.Text == "files__now files__save_csv" && accepted:
			return
		case a.Text != "files__save_csv":
			t.Fatalf("offered %q before anybody has accepted it", a.Text)
		}
		held, err := s.rt.ListHeldTools(t.Context(), s.owner, inst)
		if err != nil {
			t.Fatal(err)
		}
		if len(held) == 1 {
			if err := s.rt.AcceptTool(t.Context(), s.owner, inst, "files", "now", held[0].Hash); err != nil {
				t.Fatal(err)
			}
			accepted = true
		}
		select {
		case <-within:
			t.Fatal("the change was never seen")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestParallelCalls(t *testing.T) {
	gate, arrived := make(chan struct{}), atomic.Int32{}
	srv := skillServer(t)
	type in struct {
		N int `json:"n"`
	}
	mcp.AddTool(srv.mcp, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, i in) (*mcp.CallToolResult, any, error) {
		if arrived.Add(1) == 3 {
			close(gate)
		}
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint("done ", i.N)}}}, nil, nil
	})
	s := start(t, builtin.Options{Model: llm.Script(func(r llm.Request) []llm.Delta {
		if len(r.Messages) == 1 {
			return []llm.Delta{call("a", "files__wait", in{1}), call("b", "files__wait", in{2}), call("c", "files__wait", in{3}), call("d", "files__none", in{4})}
		}
		var all []string
		for _, m := range r.Messages[2:] {
			all = append(all, m.CallID+"="+m.Text)
		}
		return llm.Say(strings.Join(all, " "))
	})})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, true)}, nil)
	a := s.ask(t, id, "", "go")
	if !strings.HasPrefix(a.Text, `a=done 1 b=done 2 c=done 3 d=there is no tool "files__none"`) {
		t.Errorf("%q", a.Text)
	}
}

func TestLimitsEndWithAWord(t *testing.T) {
	srv := skillServer(t)
	endless := llm.Script(func(r llm.Request) []llm.Delta {
		return []llm.Delta{{Text: "again "}, call("c", "files__save_csv", csv{Filename: "f", Rows: []map[string]any{}})}
	})
	for name, c := range map[string]struct {
		limits answer.Limits
		model  llm.Model
		want   string
	}{
		"turns":   {answer.Limits{Turns: 3}, endless, "again \n\nagain \n\nagain \n\nI stopped here: one answer may ask the model 3 times."},
		"calls":   {answer.Limits{Calls: 1}, endless, "one answer may call 1 tools"},
		"tokens":  {answer.Limits{Tokens: 5}, endless, "one answer may use 5 tokens"},
		"wall":    {answer.Limits{Wall: 200 * time.Millisecond}, stuck{}, "one answer may take 200ms"},
		"at once": {answer.Limits{Wall: time.Nanosecond}, stuck{}, "one answer may take 1ns"}, // over before the model is asked
		"length":  {answer.Limits{}, llm.Script(func(llm.Request) []llm.Delta { return []llm.Delta{{Text: "and so", Stop: llm.StopLength}} }), "and so\n\n[The answer was cut off here"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, builtin.Options{Model: c.model})
			_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, true), Limits: c.limits}, nil)
			if a := s.ask(t, id, "", "go"); !strings.Contains(a.Text, c.want) || a.IsError {
				t.Errorf("%+v, want %q", a, c.want)
			}
		})
	}
}

// TestOperatorCapsTokens: what the operator allows comes before what owners say,
// when they say it and in every answer, also of a service that does not count.
func TestOperatorCapsTokens(t *testing.T) {
	talkative := uncounted(func(yield func(llm.Delta, error) bool) {
		for yield(llm.Delta{Text: strings.Repeat("word ", 100)}, nil) {
		}
	})
	s := start(t, builtin.Options{Model: talkative, MaxTokens: 2000})
	_, err := s.rt.Create(t.Context(), s.owner, builtin.Definition{Name: "rich", Limits: answer.Limits{Tokens: 3000}}, nil)
	if beeos.CodeOf(err) != beeos.InvalidParam || !strings.Contains(err.Error(), "at most 2000 tokens") || !strings.Contains(err.Error(), "BEEOS_ANSWER_TOKENS") {
		t.Errorf("taken, or not told: %v", err)
	}
	_, id := s.create(t, builtin.Definition{Name: "clerk"}, nil)
	a := s.ask(t, id, "", "go")
	if !strings.Contains(a.Text, "one answer may use 2000 tokens") || len(a.Text) > 2*4*2000 {
		t.Errorf("%d bytes, ending with %q", len(a.Text), a.Text[max(0, len(a.Text)-200):])
	}
}

// uncounted is a model that says what it wants to and never how much that was.
type uncounted iter.Seq2[llm.Delta, error]

func (m uncounted) Stream(context.Context, llm.Request) iter.Seq2[llm.Delta, error] {
	return iter.Seq2[llm.Delta, error](m)
}

// TestApprovalUsesUpNoTime: an answer that waits for its owner longer than it may
// take goes on afterwards.
func TestApprovalUsesUpNoTime(t *testing.T) {
	srv := skillServer(t)
	s := start(t, builtin.Options{Model: llm.Script(saving), Approve: func(ctx context.Context, _ *agent.Reply, _ answer.Approval) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(1500 * time.Millisecond): // half as much again as the answer may take
			return nil
		}
	}})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL, false), Limits: answer.Limits{Wall: time.Second}}, nil)
	if a := s.ask(t, id, "", "invoice-1"); !strings.Contains(a.Text, "CSV saved") {
		t.Errorf("%+v", a)
	}
}

func TestCancelReachesTheModel(t *testing.T) {
	begun, ended := make(chan struct{}, 1), make(chan error, 1)
	s := start(t, builtin.Options{Model: stuck{begun, ended}})
	_, id := s.create(t, builtin.Definition{Name: "clerk"}, nil)
	session := s.mcp(t, id)
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) == 0 {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // ends with the call
		select {
		case <-begun:
			cancel()
		case <-ctx.Done():
		}
	}()
	if got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tools.Tools[0].Name, Arguments: map[string]any{"message": "go"}}); err == nil {
		t.Errorf("answered %+v", got)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the model was asked on")
	}
}

func TestNoModel(t *testing.T) {
	s := start(t, builtin.Options{})
	_, id := s.create(t, builtin.Definition{Name: "clerk"}, nil)
	if a := s.ask(t, id, "", "go"); !a.IsError || !strings.Contains(a.Text, "LLM_MODEL") {
		t.Errorf("%+v", a)
	}
}

func TestDeployedAgentsComeAndGo(t *testing.T) {
	s := start(t, builtin.Options{Model: llm.Script(func(r llm.Request) []llm.Delta { return llm.Say(r.System) })})
	inst, id := s.create(t, builtin.Definition{Name: "clerk", Prompt: "one"}, nil)
	if a := s.ask(t, id, "", "go"); a.Text != "one" {
		t.Fatalf("%+v", a)
	}
	if _, err := s.rt.Create(t.Context(), s.owner, builtin.Definition{Name: "clerk"}, nil); beeos.CodeOf(err) != beeos.Conflict {
		t.Errorf("a second one: %v", err)
	}
	if _, err := s.rt.Create(t.Context(), s.owner, builtin.Definition{Name: "echo"}, nil); beeos.CodeOf(err) != beeos.Conflict {
		t.Errorf("a second echo: %v", err)
	}
	if err := s.rt.Change(t.Context(), s.owner, inst, builtin.Definition{Prompt: "two"}, nil); err != nil {
		t.Fatal(err)
	}
	s.until(t, id, func(a *client.Answer, err error) bool { return err == nil && a.Text == "two" })
	if err := s.rt.SetStopped(t.Context(), s.owner, inst, true); err != nil {
		t.Fatal(err)
	}
	s.until(t, id, func(_ *client.Answer, err error) bool {
		return beeos.CodeOf(err) == beeos.AgentServiceUnavailable || beeos.CodeOf(err) == beeos.AgentNotFound
	})
	if err := s.rt.SetStopped(t.Context(), s.owner, inst, false); err != nil {
		t.Fatal(err)
	}
	s.until(t, id, func(a *client.Answer, err error) bool { return err == nil && a.Text == "two" })
	if err := s.rt.Delete(t.Context(), "somebody else", inst); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("deleted by another: %v", err)
	}
	if err := s.rt.Delete(t.Context(), s.owner, inst); err != nil {
		t.Fatal(err)
	}
	s.until(t, id, func(_ *client.Answer, err error) bool {
		return beeos.CodeOf(err) == beeos.AgentServiceUnavailable || beeos.CodeOf(err) == beeos.AgentNotFound
	})
}

// until asks until the answer is as it should be.
func (s *stack) until(t *testing.T, agentID string, fine func(*client.Answer, error) bool) {
	t.Helper()
	within := time.After(20 * time.Second)
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // one that meets the change half way waits for its lease
		a, err := s.say(ctx, agentID, "", "go")
		cancel()
		if fine(a, err) {
			return
		}
		select {
		case <-within:
			t.Fatalf("still %+v, %v", a, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestCommandsComeFromTheAdminAlone(t *testing.T) {
	s := start(t, builtin.Options{Commands: map[string][]string{"sqlite": {"/usr/bin/mcp-sqlite"}}})
	for _, raw := range []string{
		`{"x": {"command": "/bin/sh"}}`,
		`{"x": {"command": "sqlite", "args": ["-c", "id"]}}`,
		`{"x": {"command": "sqlite", "env": {"LD_PRELOAD": "/tmp/x.so"}}}`,
		`{"x": {"url": "https://x", "headers": {"Authorization": "Bearer abc"}}}`,
		`{"X!": {"url": "https://x"}}`,
		`{"x": {"url": "file:///etc/passwd"}}`,
		`{"x": {}}`,
		`{"x": {"url": "https://x", "auth": {"grant": "password"}}}`,
		`[]`,
	} {
		servers, secrets, err := builtin.ParseServers(json.RawMessage(raw))
		if err == nil {
			_, err = s.rt.Create(t.Context(), s.owner, builtin.Definition{Name: "x", Servers: servers}, secrets)
		}
		if err == nil {
			t.Errorf("taken: %s", raw)
		}
	}
	servers, secrets, err := builtin.ParseServers(json.RawMessage(`{"files": {"url": "https://files.example/mcp", "autoApprove": true, "auth": {"grant": "client_credentials", "clientId": "c", "clientSecret": "s3cret"}}}`))
	if err != nil || len(servers) != 1 || !servers[0].AutoApprove || servers[0].Auth.ClientID != "c" || secrets["files"].ClientSecret != "s3cret" {
		t.Fatalf("%+v, %v", servers, err)
	}
	row, err := s.rt.Create(t.Context(), s.owner, builtin.Definition{Name: "x", Servers: servers}, secrets)
	if err != nil || strings.Contains(row.Definition+string(row.Sealed), "s3cret") {
		t.Errorf("%v, or the secret can be read", err)
	}
}

// stuck is a model that says one word and then nothing.
type stuck struct {
	begun chan<- struct{}
	ended chan<- error
}

func (m stuck) Stream(ctx context.Context, _ llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if !yield(llm.Delta{Text: "Well"}, nil) {
			return
		}
		if m.begun != nil {
			m.begun <- struct{}{}
		}
		<-ctx.Done()
		if m.ended != nil {
			m.ended <- ctx.Err()
		}
		yield(llm.Delta{}, context.Cause(ctx))
	}
}

// TestAddressesAreTheOwners: people put keys into the addresses of skill
// servers. When one cannot be reached, neither the model, which tells callers
// what it reads, nor the log sees the address.
func TestAddressesAreTheOwners(t *testing.T) {
	srv := skillServer(t)
	srv.Close()
	var log bytes.Buffer
	t.Cleanup(func() { // the runtime has ended by then
		if !strings.Contains(log.String(), "a skill server cannot be reached") || strings.Contains(log.String(), "s3cret") {
			t.Errorf("the log has %s", log.String())
		}
	})
	s := start(t, builtin.Options{
		Log:   slog.New(slog.NewTextHandler(&log, nil)),
		Model: llm.Script(func(r llm.Request) []llm.Delta { return []llm.Delta{{Text: r.System}} }),
	})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: files(srv.URL+"/mcp?key=s3cret", true)}, nil)
	if got := s.ask(t, id, "", "hello").Text; !strings.Contains(got, "cannot be reached") || strings.Contains(got, "s3cret") {
		t.Errorf("a caller hears %q", got)
	}
}
