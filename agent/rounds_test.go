package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

// TestAskTogether: questions that are put at once say so, and are answered by
// name.
func TestAskTogether(t *testing.T) {
	g := newFakeGateway(t)
	conn, _ := g.start(g.options(), func(ctx context.Context, m Message, r *Reply) error {
		answers, err := r.AskAll(ctx, map[string]Question{
			"who":   {Method: "elicitation/create", Params: map[string]string{"message": "who?"}},
			"where": {Method: "roots/list"},
		})
		if err != nil {
			return err
		}
		if _, err := r.Elicit(ctx, "sure?", nil); err != nil {
			return err
		}
		if _, err := r.Ask(ctx, "odd", "tools/list", nil); err == nil {
			t.Error("asked for what no caller answers")
		}
		return r.Send(fmt.Sprintf("%s %s", answers["who"], answers["where"]))
	})
	conn.message("m1", "", beeos.Call{Can: []string{"elicitation", "roots"}})
	for range 2 {
		f := conn.expect(beeos.FrameRequest)
		if f.Total != 2 {
			t.Errorf("request: %s", encode(f))
		}
		conn.send(beeos.Frame{Type: beeos.FrameAnswer, RequestID: f.RequestID, Result: json.RawMessage(`{"key":"` + f.Key + `"}`)})
	}
	f := conn.expect(beeos.FrameRequest)
	if f.Key != "elicitation-1" || f.Total != 0 {
		t.Errorf("request: %s", encode(f))
	}
	conn.send(beeos.Frame{Type: beeos.FrameAnswer, RequestID: f.RequestID, Result: json.RawMessage(`{"action":"accept"}`)})
	if f := conn.expect(beeos.FrameReply); f.Body != `{"key":"who"} {"key":"where"}` {
		t.Errorf("reply: %s", encode(f))
	}
	conn.ack("m1", "")
}

// TestFaults: errors that are the program's to read, not the model's.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		handle Handler
		body   string
		want   string
	}{
		{"fault", func(context.Context, Message, *Reply) error {
			return fmt.Errorf("look up: %w", &Fault{Code: -32603, Message: "gone", Data: 5})
		}, "gone", `{"error":{"code":-32603,"message":"gone","data":5}}`},
		{"data is no JSON", func(context.Context, Message, *Reply) error {
			return &Fault{Code: 1, Message: "odd", Data: func() {}}
		}, "odd", `{"error":{"code":1,"message":"odd"}}`},
		{"at once", func(_ context.Context, _ Message, r *Reply) error { return r.Fault(7, "no", nil) }, "no", `{"error":{"code":7,"message":"no"}}`},
		{"cannot ask", func(ctx context.Context, _ Message, r *Reply) error {
			_, err := r.Sample(ctx, nil)
			return err
		}, "sampling/createMessage: the caller cannot be asked this", `{"error":{"code":-32021,"message":"sampling/createMessage: the caller cannot be asked this","data":{"requiredCapabilities":{"sampling":{}}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newFakeGateway(t)
			conn, _ := g.start(g.options(), c.handle)
			conn.message("m1", "", beeos.Call{})
			want := beeos.Frame{Type: beeos.FrameError, MessageID: "m1", Body: c.body, StopReason: beeos.StopError, Payload: json.RawMessage(c.want)}
			if diff := cmp.Diff(want, conn.expect(beeos.FrameError)); diff != "" {
				t.Error(diff)
			}
			conn.ack("m1", "")
		})
	}
}

// TestChange: an agent that grows a tool is declared again and answers it.
func TestChange(t *testing.T) {
	g := newFakeGateway(t)
	a, err := New(g.options(), func(_ context.Context, _ Message, r *Reply) error {
		if err := r.Background(); err != nil {
			return err
		}
		return errors.New("the old handler")
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }() // awaited below
	defer func() { cancel(); <-done }()
	conn := g.next()
	conn.message("m1", "", beeos.Call{Method: "tools/call", Tool: "new"})
	conn.expect(beeos.FrameBackground)
	conn.expect(beeos.FrameReply)
	conn.ack("m1", "")
	err = a.Change(t.Context(), func(o *Options) {
		o.Name = "another" // has no effect: it is the same agent
		o.Tools = append(o.Tools, Tool{Name: "new", Handle: func(_ context.Context, _ Message, r *Reply) error { return r.Send("new") }})
	})
	if err != nil {
		t.Fatal(err)
	}
	conn.message("m2", "", beeos.Call{Method: "tools/call", Tool: "new"})
	if f := conn.expect(beeos.FrameReply); f.Body != "new" {
		t.Errorf("reply: %s", encode(f))
	}
	conn.ack("m2", "")
	if len(g.syncs) != 2 || g.syncs[1].Name != "echo" || len(g.syncs[1].Skills) != 1 {
		t.Errorf("declared: %+v", g.syncs)
	}
	if err := a.Change(t.Context(), func(o *Options) { o.Tools[0].Schema = json.RawMessage("{") }); err == nil {
		t.Error("a schema that is no JSON was declared")
	}
}

// TestNeedInput: a caller is sent away with questions and comes back with the
// answers.
func TestNeedInput(t *testing.T) {
	g := newFakeGateway(t)
	o := g.options()
	o.Complete = func(_ context.Context, _ Message, r *Reply) error { return r.Send("completed") }
	conn, _ := g.start(o, func(_ context.Context, m Message, r *Reply) error {
		if m.State == "" {
			return r.NeedInput(map[string]Question{"b": {Method: "roots/list"}, "a": {Method: "elicitation/create", Params: struct{}{}}}, "s1")
		}
		return r.Send(m.State + string(m.Input["a"]))
	})
	conn.message("m1", "", beeos.Call{})
	want := beeos.Frame{
		Type: beeos.FrameReply, MessageID: "m1", Body: "input required: a, b",
		Payload: json.RawMessage(`{"input_required":{"requests":{"a":{"method":"elicitation/create","params":{}},"b":{"method":"roots/list"}},"state":"s1"}}`),
	}
	if diff := cmp.Diff(want, conn.expect(beeos.FrameReply)); diff != "" {
		t.Error(diff)
	}
	conn.ack("m1", "")
	conn.message("m2", "", beeos.Call{Input: map[string]json.RawMessage{"a": json.RawMessage(`{}`)}, State: "s1"})
	if f := conn.expect(beeos.FrameReply); f.Body != "s1{}" {
		t.Errorf("reply: %s", encode(f))
	}
	conn.ack("m2", "")
	conn.message("m3", "", beeos.Call{Method: "completion/complete"})
	if f := conn.expect(beeos.FrameReply); f.Body != "completed" {
		t.Errorf("reply: %s", encode(f))
	}
	conn.ack("m3", "")
}
