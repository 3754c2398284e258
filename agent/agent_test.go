package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

func echo(_ context.Context, m Message, r *Reply) error {
	r.Delta("you said: ") //nolint:errcheck // as an author would
	return r.Send(m.Text)
}

// TestAnswers is what becomes of everything that a handler can do.
func TestAnswers(t *testing.T) {
	delta := func(text string) beeos.Frame {
		return beeos.Frame{Type: beeos.FrameDelta, MessageID: "m1", Text: text}
	}
	failed := func(text string) beeos.Frame {
		return beeos.Frame{Type: beeos.FrameReply, MessageID: "m1", Body: text, IsError: true, StopReason: beeos.StopError}
	}
	for _, c := range []struct {
		name   string
		handle Handler
		want   []beeos.Frame
	}{
		{"send", echo, []beeos.Frame{delta("you said: "), {Type: beeos.FrameReply, MessageID: "m1", Body: "you said: hi"}}},
		{"deltas alone", func(_ context.Context, _ Message, r *Reply) error {
			return errors.Join(r.Delta("a"), r.Delta(""), r.Delta("b"))
		}, []beeos.Frame{delta("a"), delta("b"), {Type: beeos.FrameReply, MessageID: "m1", Body: "ab"}}},
		{"nothing", func(context.Context, Message, *Reply) error { return nil }, []beeos.Frame{{Type: beeos.FrameReply, MessageID: "m1"}}},
		{"error", func(context.Context, Message, *Reply) error { return errors.New("out of paper") }, []beeos.Frame{failed("out of paper")}},
		{"panic", func(context.Context, Message, *Reply) error { panic("secret") }, []beeos.Frame{failed("the agent crashed over this message; its log has the details")}},
		{"fail", func(_ context.Context, _ Message, r *Reply) error { return r.Fail("no") }, []beeos.Frame{failed("no")}},
		{"refuse", func(_ context.Context, _ Message, r *Reply) error { return r.Refuse("never") }, []beeos.Frame{{Type: beeos.FrameRefuse, MessageID: "m1", Body: "never"}}},
		{"busy", func(_ context.Context, _ Message, r *Reply) error { return r.Busy("later") }, []beeos.Frame{{Type: beeos.FrameBusy, MessageID: "m1", Body: "later"}}},
		{"twice", func(_ context.Context, _ Message, r *Reply) error {
			if err := r.Send("one"); err != nil {
				return err
			}
			if err := r.Send("two"); !errors.Is(err, ErrEnded) {
				t.Errorf("second Send: %v", err)
			}
			return r.Delta("three")
		}, []beeos.Frame{{Type: beeos.FrameReply, MessageID: "m1", Body: "one"}}},
		{"too large", func(_ context.Context, _ Message, r *Reply) error { return r.Send(strings.Repeat("x", maxReply)) }, []beeos.Frame{
			failed("the agent's answer is too large (1048620 bytes, the limit is 1048576); it should send a link to a file"),
		}},
		{"live", func(_ context.Context, _ Message, r *Reply) error {
			r.Log(slog.LevelWarn, "db", map[string]int{"n": 1})
			r.LogForOwner(slog.LevelInfo, "stderr", "a<b")
			return errors.Join(r.Reasoning("hm"), r.Progress(1, 2, "half"), r.Part(map[string]string{"type": "source", "url": "a<b"}))
		}, []beeos.Frame{
			{Type: beeos.FrameLog, MessageID: "m1", Level: "warning", Logger: "db", Data: json.RawMessage(`{"n":1}`)},
			{Type: beeos.FrameLog, MessageID: "m1", Level: "info", Logger: "stderr", Data: json.RawMessage(`"a<b"`), Reason: beeos.LogForOwner},
			{Type: beeos.FrameDelta, MessageID: "m1", Reasoning: "hm"},
			{Type: beeos.FrameProgress, MessageID: "m1", Progress: 1, Total: 2, Text: "half"},
			{Type: beeos.FrameDelta, MessageID: "m1", Part: json.RawMessage(`{"type":"source","url":"a<b"}`)},
			{Type: beeos.FrameReply, MessageID: "m1", Parts: json.RawMessage(`[{"type":"source","url":"a<b"}]`)},
		}},
		{"content", func(_ context.Context, _ Message, r *Reply) error {
			r.Text("one")
			r.Image("image/png", []byte{1})
			r.Audio("audio/wav", []byte{2})
			r.Resource("file:///a", "text/plain", "")
			r.ResourceBlob("file:///b", "", []byte{3})
			r.ResourceLink("file:///c", "c", "")
			return errors.Join(r.Structured(map[string]int{"n": 1}), r.Meta(map[string]int{"cost": 2}), r.Result(struct{}{}))
		}, []beeos.Frame{{Type: beeos.FrameReply, MessageID: "m1", Body: "one", Payload: json.RawMessage(`{"_meta":{"cost":2},"result":{}}`), Parts: json.RawMessage(
			`[{"type":"text","text":"one"},{"type":"image","data":"AQ==","mimeType":"image/png"},{"type":"audio","data":"Ag==","mimeType":"audio/wav"},` +
				`{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":""}},{"type":"resource","resource":{"uri":"file:///b","blob":"Aw=="}},` +
				`{"type":"resource_link","uri":"file:///c","name":"c"},{"type":"structured","data":{"n":1}}]`)}}},
		{"no JSON", func(_ context.Context, _ Message, r *Reply) error {
			for _, err := range []error{r.Structured(func() {}), r.Part(5), r.Part(map[string]int{"type": 1}), r.Result(json.RawMessage("{"))} {
				if err == nil {
					t.Error("accepted what is no JSON, or no part")
				}
			}
			return nil
		}, []beeos.Frame{{Type: beeos.FrameReply, MessageID: "m1"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newFakeGateway(t)
			conn, _ := g.start(g.options(), c.handle)
			conn.message("m1", "hi", beeos.Call{})
			for _, want := range c.want {
				if diff := cmp.Diff(want, conn.expect(want.Type)); diff != "" {
					t.Error(diff)
				}
			}
			conn.ack("m1", "")
		})
	}
}

// TestRoutes: who answers what.
func TestRoutes(t *testing.T) {
	g := newFakeGateway(t)
	says := func(text string) Handler {
		return func(_ context.Context, m Message, r *Reply) error { return r.Send(text) }
	}
	o := g.options()
	o.Tools = []Tool{
		{Name: "add", Schema: json.RawMessage(`{ "type": "object", "description": "a<b" }`), Handle: func(_ context.Context, m Message, r *Reply) error {
			var in struct{ A, B int }
			if err := m.Bind(&in); err != nil {
				return err
			}
			return r.Send(fmt.Sprint(in.A + in.B))
		}},
		{Name: "hidden", Hidden: true},
	}
	o.Resources = []Resource{
		{Resource: beeos.Resource{URI: "note://one", Name: "one"}, Read: says("one")},
		{Resource: beeos.Resource{URITemplate: "note://by/{author}?x={x}", Name: "by"}, Read: says("by")},
	}
	o.Prompts = []Prompt{{Prompt: beeos.Prompt{Name: "greet"}, Get: says("greet")}}
	conn, _ := g.start(o, says("handler"))
	for i, c := range []struct {
		call beeos.Call
		want string
	}{
		{beeos.Call{}, "handler"},
		{beeos.Call{Method: "tools/call", Tool: "add", Arguments: json.RawMessage(`{"a":1,"b":2}`)}, "3"},
		{beeos.Call{Method: "tools/call", Tool: "add", Arguments: json.RawMessage(`{"a":"x"}`)}, "the arguments do not fit: json: cannot unmarshal string into Go struct field .A of type int"},
		{beeos.Call{Method: "tools/call", Tool: "hidden"}, "handler"},
		{beeos.Call{Method: "resources/read", Params: json.RawMessage(`{"uri":"note://one"}`)}, "one"},
		{beeos.Call{Method: "resources/read", Params: json.RawMessage(`{"uri":"note://by/me?x=1"}`)}, "by"},
		{beeos.Call{Method: "resources/read", Params: json.RawMessage(`{"uri":"note://two"}`)}, "handler"},
		{beeos.Call{Method: "prompts/get", Params: json.RawMessage(`{"name":"greet"}`)}, "greet"},
		{beeos.Call{Method: "completion/complete"}, "handler"},
	} {
		id := fmt.Sprint("m", i)
		conn.message(id, "hi", c.call)
		if got := conn.expect(beeos.FrameReply); got.Body != c.want {
			t.Errorf("%+v: %q, want %q", c.call, got.Body, c.want)
		}
		conn.ack(id, "")
	}
	off := false
	want := beeos.Definition{
		Name: "echo",
		Skills: []beeos.Skill{
			{Name: "add", InputSchema: json.RawMessage(`{"type":"object","description":"a<b"}`)},
			{Name: "hidden", ExposeAsTool: &off},
		},
		Resources: []beeos.Resource{{URI: "note://one", Name: "one"}, {URITemplate: "note://by/{author}?x={x}", Name: "by"}},
		Prompts:   []beeos.Prompt{{Name: "greet"}},
	}
	if diff := cmp.Diff([]beeos.Definition{want}, g.syncs); diff != "" {
		t.Error(diff)
	}
}

func TestMessage(t *testing.T) {
	g := newFakeGateway(t)
	got := make(chan Message, 1)
	conn, _ := g.start(g.options(), func(ctx context.Context, m Message, r *Reply) error {
		got <- m
		all, err := r.History(ctx)
		if err != nil || len(all) != 2 || all[0].Body != "after 0" || all[1].Body != "after 1" {
			t.Errorf("history: %+v, %v", all, err)
		}
		return nil
	})
	deadline := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	payload, _ := json.Marshal(beeos.Call{
		Protocol: "mcp", Method: "tools/call", Tool: "t", Arguments: json.RawMessage(`{"a":1}`), Metadata: map[string]string{"k": "v"},
		Can: []string{"elicitation"}, Attachments: json.RawMessage(`[{"file_id":"f","filename":"a.txt","content_type":"text/plain","size":3,"url":"http://x"}]`),
	})
	conn.send(beeos.Frame{
		Type: beeos.FrameMessage, MessageID: "m1", ChannelID: "ch-1", PublisherID: "user:1", Body: "hi", Attempt: 2, DeadlineMS: deadline.UnixMilli(),
		Parts: json.RawMessage(`[1]`), Payload: payload,
	})
	want := Message{
		ID: "m1", Channel: "ch-1", From: "user:1", Text: "hi", Parts: json.RawMessage(`[1]`),
		Method: "tools/call", Tool: "t", Arguments: json.RawMessage(`{"a":1}`), Protocol: "mcp", Metadata: map[string]string{"k": "v"},
		Attachments: []Attachment{{FileID: "f", Filename: "a.txt", ContentType: "text/plain", Size: 3, URL: "http://x"}},
		Attempt:     2, Deadline: deadline, can: []string{"elicitation"},
	}
	m := <-got
	if diff := cmp.Diff(want, m, cmp.AllowUnexported(Message{})); diff != "" {
		t.Error(diff)
	}
	if !m.Can("elicitation") || m.Can("sampling") {
		t.Error("Can is wrong")
	}
	conn.expect(beeos.FrameReply)
	conn.ack("m1", "")

	// What cannot be read is answered, not dropped.
	conn.send(beeos.Frame{Type: beeos.FrameMessage, MessageID: "m2", Payload: json.RawMessage(`{"tool":5}`)})
	if f := conn.expect(beeos.FrameError); f.MessageID != "m2" {
		t.Errorf("got %s", encode(f))
	}
}

func TestCancelAndDeadline(t *testing.T) {
	g := newFakeGateway(t)
	started := make(chan struct{}, 10)
	conn, _ := g.start(g.options(), func(ctx context.Context, _ Message, r *Reply) error {
		started <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	conn.message("m1", "hi", beeos.Call{})
	<-started
	conn.send(beeos.Frame{Type: beeos.FrameCancel, MessageID: "unknown"}, beeos.Frame{Type: beeos.FrameCancel, MessageID: "m1", Reason: "enough"})
	if f := conn.expect(beeos.FrameError); f.StopReason != beeos.StopUser || f.MessageID != "m1" {
		t.Errorf("cancelled: %s", encode(f))
	}
	conn.ack("m1", "")
	conn.send(beeos.Frame{Type: beeos.FrameMessage, MessageID: "m2", DeadlineMS: time.Now().Add(20 * time.Millisecond).UnixMilli()})
	if f := conn.expect(beeos.FrameError); f.StopReason != beeos.StopTimeout || f.MessageID != "m2" {
		t.Errorf("too late: %s", encode(f))
	}
	conn.ack("m2", "")
}

func TestAsk(t *testing.T) {
	g := newFakeGateway(t)
	conn, _ := g.start(g.options(), func(ctx context.Context, m Message, r *Reply) error {
		if _, err := r.Sample(ctx, nil); !errors.Is(err, ErrCannotAsk) {
			t.Errorf("sample: %v", err)
		}
		e, err := r.Elicit(ctx, "name?", json.RawMessage(`{"type":"object"}`))
		if err != nil || !e.Accepted() || string(e.Content) != `{"name":"Bo"}` {
			t.Errorf("elicit: %+v, %v", e, err)
		}
		roots, err := r.Roots(ctx)
		if err != nil || len(roots) != 1 || roots[0].URI != "file:///a" {
			t.Errorf("roots: %+v, %v", roots, err)
		}
		_, err = r.Elicit(ctx, "again?", nil)
		if beeos.CodeOf(err) != "cannot_ask" {
			t.Errorf("refused: %v", err)
		}
		more, err := r.InputRequired(ctx, "which?", map[string]int{"n": 1})
		if err != nil || more.Text != "this" {
			t.Errorf("input: %+v, %v", more, err)
		}
		return r.Send("ok")
	})
	conn.message("m1", "hi", beeos.Call{Can: []string{"elicitation", "roots"}})
	f := conn.expect(beeos.FrameRequest)
	if f.Method != "elicitation/create" || string(f.Params) != `{"message":"name?","requestedSchema":{"type":"object"}}` {
		t.Errorf("request: %s", encode(f))
	}
	conn.send(beeos.Frame{Type: beeos.FrameAnswer, RequestID: f.RequestID, Result: json.RawMessage(`{"action":"accept","content":{"name":"Bo"}}`)})
	f = conn.expect(beeos.FrameRequest)
	conn.send(beeos.Frame{Type: beeos.FrameAnswer, RequestID: f.RequestID, Result: json.RawMessage(`{"roots":[{"uri":"file:///a"}]}`)})
	f = conn.expect(beeos.FrameRequest)
	conn.send(beeos.Frame{Type: beeos.FrameAnswer, RequestID: f.RequestID, Error: &beeos.FrameFault{Code: "cannot_ask", Message: "no"}})
	f = conn.expect(beeos.FrameInputRequired)
	if f.Body != "which?" || string(f.Payload) != `{"n":1}` {
		t.Errorf("pause: %s", encode(f))
	}
	conn.send(beeos.Frame{Type: beeos.FrameContinue, MessageID: "m1", Body: "this"})
	if f := conn.expect(beeos.FrameReply); f.Body != "ok" {
		t.Errorf("reply: %s", encode(f))
	}
	conn.ack("m1", "")
}

func TestConcurrency(t *testing.T) {
	g := newFakeGateway(t)
	o := g.options()
	o.Concurrency = 2
	running, release := make(chan string, 10), make(chan struct{})
	conn, _ := g.start(o, func(_ context.Context, m Message, r *Reply) error {
		running <- m.ID
		<-release
		return nil
	})
	for i := range 5 {
		conn.message(fmt.Sprint("m", i), "hi", beeos.Call{})
	}
	<-running
	<-running
	conn.send(beeos.Frame{Type: beeos.FrameCancel, MessageID: "m4"}) // reaches one that waits, too
	select {
	case id := <-running:
		t.Errorf("a third, %s, is running", id)
	case <-time.After(20 * time.Millisecond):
	}
	close(release)
	for range 5 {
		f := <-conn.frames
		if cancelled := f.Type == beeos.FrameError && f.StopReason == beeos.StopUser; cancelled != (f.MessageID == "m4") {
			t.Errorf("got %s", encode(f))
		}
		conn.ack(f.MessageID, "")
	}
	if len(running) != 2 {
		t.Errorf("%d more have run, want m2 and m3: m4 was cancelled before it began", len(running))
	}
}
