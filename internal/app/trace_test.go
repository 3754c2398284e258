package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/telemetry"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/hands"
	"github.com/beeos/beeos/test/otlp"
)

const (
	callerTrace = "0af7651916cd43dd8448eb211c80319c"
	callerSpan  = "b7ad6b7169203331"
	callerPlace = "00-" + callerTrace + "-" + callerSpan + "-01"
	mcpVersion  = "2025-11-25"
	proxyPlace  = "00-11111111111111111111111111111111-2222222222222222-01"
)

// postTraced posts JSON with a traceparent of its own, and with more headers: names
// and values.
func postTraced(t *testing.T, url, key, traceparent string, body any, header ...string) string {
	t.Helper()
	answer, _ := postWithHeaders(t, url, key, traceparent, body, header...)
	return answer
}

func postWithHeaders(t *testing.T, url, key, traceparent string, body any, header ...string) (string, http.Header) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", traceparent)
	req.Header.Set("A2A-Version", "1.0")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer), resp.Header
}

// within bounds what happens at once, on a machine that has other things to do.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// deployClerk deploys a built-in agent with the tools of a drive.
func deployClerk(t *testing.T, a *apptest.App, d *hands.Drive) *client.Client {
	t.Helper()
	api := client.New(a.REST, a.UserKey)
	if _, err := api.Deploy(t.Context(), d.Deployment("clerk"), false); err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	for {
		found, err := api.Find(ctx, "clerk")
		if err == nil && found.Online {
			return api
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the agent does not come: %+v, %v", found, err)
		}
	}
}

// approveFirst approves the tool call that comes to wait.
func approveFirst(ctx context.Context, api *client.Client) error {
	for {
		list, err := api.Approvals(ctx, "pending")
		if err != nil {
			return err
		}
		if len(list) > 0 {
			_, err := api.Approve(ctx, list[0].ID)
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("nothing waits for approval: %w", ctx.Err())
		}
	}
}

// TestOneTraceOverEverybody: a caller's MCP client, BeeOS, an agent on the Go SDK,
// the built-in agent that it calls, its model, and the skill server whose tool a
// person approves: one trace, span by span.
func TestOneTraceOverEverybody(t *testing.T) {
	receiver := otlp.Start(t)
	receiver.Use(t)
	drive := hands.NewDrive(t)
	model := hands.NewModel(t, func(talk hands.Talk) hands.Words {
		if last := talk.Last(); last.Role == "tool" {
			return hands.Words{Text: "The drive says: " + last.Content}
		}
		return hands.Words{Calls: []hands.Call{hands.Save(hands.Invoice{Filename: "secret-file", Rows: []hands.Row{}})}}
	})
	cfg := apptest.Config(t)
	cfg.LLM = model.Settings()
	a := apptest.Start(t, cfg)
	api := deployClerk(t, a, drive)
	place := make(chan beeos.Trace, 2)
	id := a.Connect(t, agent.Options{Name: "front", Tools: []agent.Tool{{Name: "file", Schema: json.RawMessage(`{"type":"object"}`)}}},
		func(ctx context.Context, m agent.Message, r *agent.Reply) error {
			place <- m.Trace
			s := r.Step("look_up", agent.StepTool).Set("query", "secret-query")
			inner := s.Step("library", agent.StepRetrieval)
			place <- beeos.TraceOf(inner.Context(ctx))
			inner.End(nil)
			s.End(errors.New("secret-failure"))
			delegate := r.Step("delegate", agent.StepOther)
			said, err := r.Call(delegate.Context(ctx), "clerk", "file the secret-invoice")
			if err != nil {
				return err
			}
			return r.Send(said)
		})
	approved := make(chan error, 1)
	_, told := postWithHeaders(t, a.MCP+"/"+id+"/mcp", a.UserKey, "", map[string]any{
		"jsonrpc": "2.0", "id": "hello", "method": "initialize",
		"params": map[string]any{"protocolVersion": mcpVersion, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}},
	})
	session := told.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatalf("there is no session in %v", told)
	}
	asking := within(t)
	go func() { approved <- approveFirst(asking, api) }()
	answer := postTraced(t, a.MCP+"/"+id+"/mcp", a.UserKey, proxyPlace, map[string]any{
		"jsonrpc": "2.0", "id": "call-7", "method": "tools/call",
		"params": map[string]any{"name": "file", "arguments": map[string]any{"what": "secret-argument"}, "_meta": map[string]any{"traceparent": callerPlace, "tracestate": "vendor=1"}},
	}, "Mcp-Session-Id", session, "MCP-Protocol-Version", mcpVersion)
	if err := <-approved; err != nil || !strings.Contains(answer, "CSV saved") {
		t.Fatalf("%s, %v", answer, err)
	}
	given, inStep := <-place, <-place

	tr := receiver.Await(t, callerTrace, "tools/call file", "invoke_agent front", "invoke_agent clerk", "approval save_csv", "tools/call files__save_csv", "chat script")
	tr.Check(t)
	if gaps := tr.Gaps(callerSpan); len(gaps) > 0 {
		t.Errorf("no parent is there of %v", gaps)
	}
	if len(tr) != 12 {
		t.Errorf("%d spans:\n%s", len(tr), tr)
	}
	span := func(name, kind, parent string, attrs map[string]string) otlp.Span {
		t.Helper()
		s := tr.Span(t, name)
		got := map[string]string{}
		for key := range attrs {
			got[key] = s.Attrs[key]
		}
		if diff := cmp.Diff(attrs, got); diff != "" || s.Kind != kind || s.Parent != parent {
			t.Errorf("%s: kind %s, parent %s (want %s, %s) %s", name, s.Kind, s.Parent, kind, parent, diff)
		}
		return s
	}
	entry := span("tools/call file", "SERVER", callerSpan, map[string]string{
		"mcp.method.name": "tools/call", "gen_ai.tool.name": "file", "gen_ai.operation.name": "execute_tool", "jsonrpc.request.id": "call-7",
		"gen_ai.agent.name": "front", "gen_ai.agent.id": id, "error.type": "", "mcp.protocol.version": mcpVersion,
	})
	for _, name := range []string{"mcp.session.id", "beeos.request.id", "gen_ai.conversation.id"} {
		if entry.Attrs[name] == "" {
			t.Errorf("%s is empty in %+v", name, entry)
		}
	}
	if strings.Contains(session, entry.Attrs["mcp.session.id"]) {
		t.Error("the span has the token of the session, with which others could go on with it")
	}
	if diff := cmp.Diff([]string{"11111111111111111111111111111111-2222222222222222"}, entry.Links); diff != "" {
		t.Errorf("the trace of the headers is no link: %s", diff)
	}
	front := span("invoke_agent front", "CLIENT", entry.ID, map[string]string{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "front", "gen_ai.agent.id": id, "gen_ai.provider.name": "beeos", "gen_ai.tool.name": "file",
		"beeos.surface": "mcp", "beeos.outcome": "ok", "beeos.request.id": entry.Attrs["beeos.request.id"], "gen_ai.conversation.id": entry.Attrs["gen_ai.conversation.id"], "error.type": "",
	})
	delegate := span("delegate", "INTERNAL", given.Span(), map[string]string{"beeos.step.kind": "other"})
	clerk := span("invoke_agent clerk", "CLIENT", delegate.ID, map[string]string{"beeos.surface": "agent", "gen_ai.agent.name": "clerk", "beeos.outcome": "ok"})
	attempts := map[string]otlp.Span{} // by what they are part of
	for _, s := range tr.Named("attempt") {
		attempts[s.Parent] = s
		if s.Kind != "CLIENT" || s.Attrs["beeos.attempt.number"] != "1" || s.Attrs["beeos.node"] == "" || s.Attrs["beeos.instance"] == "" || s.Failed {
			t.Errorf("%+v", s)
		}
	}
	if len(attempts) != 2 || attempts[front.ID].ID != given.Span() || given.ID() != callerTrace || given.State != "vendor=1" {
		t.Errorf("the agent was told of %+v, the attempts are %+v", given, attempts)
	}
	lookUp := span("execute_tool look_up", "INTERNAL", given.Span(), map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look_up", "error.type": "tool_error"})
	library := span("retrieval library", "INTERNAL", lookUp.ID, map[string]string{"gen_ai.operation.name": "retrieval"})
	if inStep.Span() != library.ID {
		t.Errorf("within the step the trace is at %s, and its span is %s", inStep.Span(), library.ID)
	}
	work := attempts[clerk.ID].ID
	chats := tr.Named("chat script")
	for _, s := range chats {
		if s.Kind != "CLIENT" || s.Parent != work || s.Attrs["gen_ai.usage.input_tokens"] != "10" || s.Attrs["gen_ai.usage.output_tokens"] != "10" || s.Attrs["gen_ai.provider.name"] != "openai" || s.Attrs["gen_ai.request.model"] != "script" {
			t.Errorf("%+v", s)
		}
	}
	tool := span("tools/call files__save_csv", "CLIENT", work, map[string]string{"gen_ai.operation.name": "execute_tool", "mcp.method.name": "tools/call", "beeos.skill": "files", "gen_ai.tool.name": "files__save_csv"})
	wait := span("approval save_csv", "INTERNAL", clerk.ID, map[string]string{"beeos.approval.state": "approved", "gen_ai.tool.name": "save_csv", "beeos.skill": "files"})
	if !strings.HasPrefix(wait.Attrs["beeos.approval.decided_by"], "user:") {
		t.Errorf("%+v", wait)
	}
	inside := func(of otlp.Span, late time.Duration, parts ...otlp.Span) {
		t.Helper()
		for _, s := range parts {
			if s.Start.Before(of.Start.Add(-time.Millisecond)) || s.End.After(of.End.Add(late)) {
				t.Errorf("%s is from %s to %s, %s from %s to %s", s.Name, s.Start, s.End, of.Name, of.Start, of.End)
			}
		}
	}
	// A step is told in time since its agent had the request, and shown from when the
	// gateway gave it: it seems to end before its parts by as much as that took.
	const atOnce, onItsWay = time.Millisecond, time.Second
	inside(entry, atOnce, front)
	inside(front, atOnce, attempts[front.ID], lookUp, library, delegate)
	inside(delegate, onItsWay, clerk)
	inside(clerk, atOnce, append(chats, attempts[clerk.ID], tool, wait)...)
	inside(tool, onItsWay, wait)

	// What the model and the skill server were told names the spans of the calls.
	at := func(id string) string { return "00-" + callerTrace + "-" + id + "-01" }
	if diff := cmp.Diff([]string{at(tool.ID), at(tool.ID)}, drive.Traces()); diff != "" {
		t.Errorf("the skill server: %s", diff)
	}
	if diff := cmp.Diff([]string{at(chats[0].ID), at(chats[1].ID)}, model.Traces()); len(chats) != 2 || diff != "" {
		t.Errorf("the model: %s", diff)
	}
	for _, s := range tr {
		if text := s.Name + s.Words + strings.Join(values(s.Attrs), " "); strings.Contains(text, "secret") || strings.Contains(text, "CSV saved") {
			t.Errorf("what was said is in the span %+v", s)
		}
	}
}

// sharedBuffer is one that is read while others write.
type sharedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *sharedBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sharedBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func values(m map[string]string) (all []string) {
	for _, v := range m {
		all = append(all, v)
	}
	return all
}

// TestEntriesOfAllSurfaces: each names its span as its convention says; failures
// have an error.type, and a trace that nobody has begun begins here.
func TestEntriesOfAllSurfaces(t *testing.T) {
	receiver := otlp.Start(t)
	receiver.Use(t)
	var log sharedBuffer
	a := apptest.StartWith(t, apptest.Config(t), app.Options{Demo: true, Log: telemetry.NewLogger(&log, "json", slog.LevelDebug)})
	id := a.Connect(t, agent.Options{Name: "moody"}, func(_ context.Context, m agent.Message, r *agent.Reply) error {
		if m.Text == "fail" {
			return r.Fail("the oracle is silent")
		}
		return r.Send("the oracle has spoken")
	})
	place := func(n string) string { return "00-" + strings.Repeat(n, 32) + "-" + callerSpan + "-01" }
	message := func(text string) map[string]any {
		return map[string]any{"role": "ROLE_USER", "messageId": "m-" + text, "parts": []any{map[string]string{"text": text}}}
	}
	rpc := func(method string, params any) any {
		return map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
	}
	full, err := client.New(a.REST, a.UserKey).Agent(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for n, c := range map[string]struct {
		url    string
		body   any
		name   string
		answer string
		attrs  map[string]string
	}{
		"1": {a.REST + "/api/v1/agents/" + id + "/invoke", map[string]any{"message": "hi"}, "POST /api/v1/agents/{agentId}/invoke", "spoken", map[string]string{"http.route": "/api/v1/agents/{agentId}/invoke", "http.request.method": "POST", "error.type": ""}},
		"2": {a.REST + "/api/v1/agents/" + id + "/tasks", map[string]any{"message": "hi"}, "POST /api/v1/agents/{agentId}/tasks", "task_id", map[string]string{"beeos.surface": "rest"}},
		"3": {full.A2AURL, rpc("SendMessage", map[string]any{"message": message("hi")}), "SendMessage", "spoken", map[string]string{"a2a.method.name": "SendMessage", "a2a.message.id": "m-hi"}},
		"4": {full.A2AURL, rpc("SendMessage", map[string]any{"message": message("fail")}), "SendMessage", "silent", map[string]string{"error.type": "agent_reply_error"}},
		"5": {full.MCPURL, rpc("tools/call", map[string]any{"name": id, "arguments": map[string]any{"message": "fail"}}), "tools/call " + id, "silent", map[string]string{"error.type": "tool_error", "gen_ai.tool.name": id}},
	} {
		if answer := postTraced(t, c.url, a.UserKey, place(n), c.body); !strings.Contains(answer, c.answer) {
			t.Errorf("%s: %s", c.name, answer)
		}
		tr := receiver.Await(t, strings.Repeat(n, 32), c.name, "invoke_agent moody", "attempt")
		s := tr.Span(t, c.name)
		for key, want := range c.attrs {
			if s.Attrs[key] != want {
				t.Errorf("%s: %s is %q, want %q", c.name, key, s.Attrs[key], want)
			}
		}
		request := tr.Span(t, "invoke_agent moody").Attrs["beeos.request.id"]
		if s.Kind != "SERVER" || s.Parent != callerSpan || s.Failed != (c.attrs["error.type"] != "") || request == "" || s.Attrs["beeos.request.id"] != request || len(tr.Gaps(callerSpan)) > 0 {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
	if _, err := client.New(a.REST, a.UserKey).Invoke(t.Context(), id, client.InvokeRequest{Message: "hi"}); err != nil {
		t.Fatal(err)
	}
	begun, late := "", within(t)
	for begun == "" { // the line is written after the answer
		if late.Err() != nil {
			t.Fatalf("the call is not in the log:\n%s", log.String())
		}
		for line := range strings.SplitSeq(log.String(), "\n") {
			var l struct{ Msg, Path, Request, Trace string }
			if json.Unmarshal([]byte(line), &l) == nil && l.Msg == "request" && strings.HasSuffix(l.Path, "/invoke") && l.Trace != strings.Repeat("1", 32) {
				if begun = l.Trace; l.Request == "" || begun == "" {
					t.Fatalf("no id of the request, or of the trace, in %s", line)
				}
			}
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late.Done():
		}
	}
	tr := receiver.Await(t, begun, "POST /api/v1/agents/{agentId}/invoke", "invoke_agent moody")
	if s := tr.Span(t, "POST /api/v1/agents/{agentId}/invoke"); s.Parent != "" || len(tr.Gaps("")) > 0 {
		t.Errorf("%s", tr)
	}
}

// TestTracesPassWithoutTracing: where nobody wants spans, agents and webhooks get
// the caller's trace as it came, and nothing where there is none.
func TestTracesPassWithoutTracing(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	place, goOn := make(chan string, 1), make(chan struct{})
	id := a.Connect(t, agent.Options{Name: "listener"}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		s := r.Step("x", agent.StepTool)
		place <- m.Trace.Parent + " " + m.Trace.State + " " + s.Trace().Parent
		if m.Text == "wait" {
			<-goOn
		}
		return r.Send("heard")
	})
	hooked := make(chan string, 8)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case hooked <- r.Header.Get("Traceparent"):
		default:
		}
	}))
	t.Cleanup(hook.Close)
	url := a.REST + "/api/v1/agents/" + id
	postTraced(t, url+"/invoke", a.UserKey, callerPlace, map[string]any{"message": "hi"})
	if got, want := <-place, callerPlace+"  "+callerPlace; got != want {
		t.Errorf("the agent was told %q, want %q", got, want)
	}
	postTraced(t, url+"/invoke", a.UserKey, "nonsense", map[string]any{"message": "hi"})
	if got := <-place; got != "  " {
		t.Errorf("the agent was told %q", got)
	}
	var made struct {
		Data struct {
			TaskID string `json:"task_id"`
		} `json:"data"`
	}
	answer := postTraced(t, url+"/tasks", a.UserKey, callerPlace, map[string]any{"message": "wait"})
	if err := json.Unmarshal([]byte(answer), &made); err != nil || made.Data.TaskID == "" {
		t.Fatalf("%s, %v", answer, err)
	}
	<-place
	if _, err := client.New(a.REST, a.UserKey).AddWebhook(t.Context(), id, made.Data.TaskID, client.WebhookRequest{URL: hook.URL}); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	if got := <-hooked; got != callerPlace {
		t.Errorf("the webhook was told %q", got)
	}
}

// TestUnsampledCalls: the agent of a call that nobody looks at is told so, and
// there is no span.
func TestUnsampledCalls(t *testing.T) {
	receiver := otlp.Start(t)
	receiver.Use(t)
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
	a := apptest.Start(t, apptest.Config(t))
	place := make(chan beeos.Trace, 1)
	id := a.Connect(t, agent.Options{Name: "listener"}, func(_ context.Context, m agent.Message, r *agent.Reply) error {
		s := r.Step("x", agent.StepTool)
		if place <- m.Trace; !m.Trace.IsSampled() && s.Trace() != m.Trace {
			t.Errorf("a step has the place %+v in a trace that nobody looks at", s.Trace())
		}
		return r.Send("heard")
	})
	url := a.REST + "/api/v1/agents/" + id + "/invoke"
	postTraced(t, url, a.UserKey, "", map[string]any{"message": "hi"})
	if got := <-place; got.IsZero() || got.IsSampled() {
		t.Errorf("of a call without a trace the agent was told %+v", got)
	}
	postTraced(t, url, a.UserKey, strings.TrimSuffix(callerPlace, "1")+"0", map[string]any{"message": "hi"})
	if got := <-place; got.ID() != callerTrace || got.IsSampled() {
		t.Errorf("of one with a trace that nobody looks at it was told %+v", got)
	}
	postTraced(t, url, a.UserKey, callerPlace, map[string]any{"message": "hi"})
	if got := <-place; got.ID() != callerTrace || !got.IsSampled() {
		t.Errorf("of one with a trace that somebody looks at it was told %+v", got)
	}
	if tr := receiver.Await(t, callerTrace, "invoke_agent listener", "attempt"); len(tr.Named("invoke_agent listener")) != 1 {
		t.Errorf("spans of calls that nobody looks at\n%s", tr)
	}
	for _, s := range receiver.All() {
		if s.Trace != callerTrace {
			t.Errorf("%+v", s)
		}
	}
}
