package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
)

// The fixture of the transcripts; sdk/spec/README.md says what it has and does.

func echo(_ context.Context, m agent.Message, r *agent.Reply) error {
	if err := r.Delta("you said: "); err != nil {
		return err
	}
	return r.Send(m.Text)
}

// equip gives the fixture what it offers.
func (s *stage) equip(o *agent.Options) {
	o.Tools = []agent.Tool{{
		Name: "script", Description: "Does what it is told.", Handle: s.performScript,
		Schema: json.RawMessage(`{"type":"object","properties":{"do":{"type":"array","items":{"type":"object"}}},"required":["do"]}`),
	}}
	o.Resources = []agent.Resource{{
		Resource: beeos.Resource{URITemplate: "note://{name}", Name: "note", Description: "A note.", MIMEType: "text/plain"},
		Read: func(_ context.Context, m agent.Message, r *agent.Reply) error {
			r.Resource(m.URI(), "text/plain", "the note at "+m.URI())
			return nil
		},
	}}
	o.Prompts = []agent.Prompt{{
		Prompt: beeos.Prompt{Name: "greet", Description: "Greets somebody.", Arguments: []beeos.PromptArgument{{Name: "who", Required: true}}},
		Get: func(_ context.Context, m agent.Message, r *agent.Reply) error {
			var in struct{ Who string }
			if err := m.Bind(&in); err != nil {
				return err
			}
			text := map[string]string{"type": "text", "text": "Say hello to " + in.Who + "."}
			return r.Result(map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}})
		},
	}}
	o.Complete = func(_ context.Context, m agent.Message, r *agent.Reply) error {
		var in struct{ Argument struct{ Value string } }
		if err := m.Bind(&in); err != nil {
			return err
		}
		values := []string{in.Argument.Value + "a", in.Argument.Value + "b"}
		return r.Result(map[string]any{"completion": map[string]any{"values": values}})
	}
}

func (s *stage) performScript(ctx context.Context, m agent.Message, r *agent.Reply) error {
	var in struct {
		Do []map[string]json.RawMessage `json:"do"`
	}
	if err := m.Bind(&in); err != nil {
		return err
	}
	a := &actor{stage: s, m: m, r: r, begin: r.Step}
	return a.do(ctx, in.Do)
}

// actor does the operations of a script.
type actor struct {
	stage *stage
	m     agent.Message
	r     *agent.Reply
	begin func(name string, kind beeos.StepKind) *agent.Step
	last  any
}

func (a *actor) do(ctx context.Context, operations []map[string]json.RawMessage) error {
	for _, operation := range operations {
		for name, raw := range operation {
			if bytes.Equal(raw, []byte(`"$last"`)) {
				raw, _ = beeos.EncodeJSON(a.last)
			}
			if err := a.perform(ctx, name, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *actor) perform(ctx context.Context, name string, raw json.RawMessage) (err error) {
	act, known := operations[name]
	if !known {
		return fmt.Errorf("there is no operation %q", name)
	}
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // of another shape: then it has no arguments
	return act(ctx, a, arguments{raw, list})
}

// arguments are those of an operation: one value, or a list of them.
type arguments struct {
	whole json.RawMessage
	list  []json.RawMessage
}

func (g arguments) text(i int) string { return get[string](g, i) }

// get reads an argument; -1 is the whole.
func get[T any](g arguments, i int) (v T) {
	raw := g.whole
	if i >= 0 && i < len(g.list) {
		raw = g.list[i]
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		panic(fmt.Sprintf("%s: %v", raw, err))
	}
	return v
}

type operation func(ctx context.Context, a *actor, g arguments) error

var operations map[string]operation

func init() {
	operations = map[string]operation{
		"delta":     func(_ context.Context, a *actor, g arguments) error { return a.r.Delta(g.text(-1)) },
		"reasoning": func(_ context.Context, a *actor, g arguments) error { return a.r.Reasoning(g.text(-1)) },
		"progress": func(_ context.Context, a *actor, g arguments) error {
			return a.r.Progress(get[float64](g, 0), get[float64](g, 1), g.text(2))
		},
		"log": func(_ context.Context, a *actor, g arguments) error {
			a.r.LogAs(g.text(0), g.text(1), g.list[2])
			return nil
		},
		"background": func(_ context.Context, a *actor, _ arguments) error { return a.r.Background() },
		"part":       func(_ context.Context, a *actor, g arguments) error { return a.r.Part(g.whole) },
		"text":       func(_ context.Context, a *actor, g arguments) error { a.r.Text(g.text(-1)); return nil },
		"image": func(_ context.Context, a *actor, g arguments) error {
			a.r.Image(g.text(0), fromBase64(g.text(1)))
			return nil
		},
		"audio": func(_ context.Context, a *actor, g arguments) error {
			a.r.Audio(g.text(0), fromBase64(g.text(1)))
			return nil
		},
		"resource": func(_ context.Context, a *actor, g arguments) error {
			a.r.Resource(g.text(0), g.text(1), g.text(2))
			return nil
		},
		"resource_link": func(_ context.Context, a *actor, g arguments) error {
			a.r.ResourceLink(g.text(0), g.text(1), g.text(2))
			return nil
		},
		"structured": func(_ context.Context, a *actor, g arguments) error { return a.r.Structured(g.whole) },
		"result":     func(_ context.Context, a *actor, g arguments) error { return a.r.Result(g.whole) },
		"meta":       func(_ context.Context, a *actor, g arguments) error { return a.r.Meta(g.whole) },
		"remember":   func(_ context.Context, a *actor, g arguments) error { return a.r.Remember(g.whole) },
		"direct":     func(_ context.Context, a *actor, _ arguments) error { return a.r.Direct() },
		"send":       func(_ context.Context, a *actor, g arguments) error { return a.r.Send(g.text(-1)) },
		"correct":    func(_ context.Context, a *actor, g arguments) error { return a.r.Correct(g.text(-1)) },
		"fail":       func(_ context.Context, a *actor, g arguments) error { return a.r.Fail(g.text(-1)) },
		"refuse":     func(_ context.Context, a *actor, g arguments) error { return a.r.Refuse(g.text(-1)) },
		"busy":       func(_ context.Context, a *actor, g arguments) error { return a.r.Busy(g.text(-1)) },
		"fault": func(_ context.Context, a *actor, g arguments) error {
			return a.r.Fault(get[int](g, 0), g.text(1), g.list[2])
		},
		"raise": func(_ context.Context, _ *actor, g arguments) error { return errors.New(g.text(-1)) },
		"crash": func(context.Context, *actor, arguments) error { panic("as it was told") },
		"step":  runStep,
		"usage": func(_ context.Context, a *actor, g arguments) error {
			a.r.Usage(g.text(0), get[int64](g, 1), get[int64](g, 2), get[float64](g, 3))
			return nil
		},
		"elicit": func(ctx context.Context, a *actor, g arguments) error {
			return a.keep(a.r.Elicit(ctx, g.text(0), g.list[1]))
		},
		"sample": func(ctx context.Context, a *actor, g arguments) error { return a.keep(a.r.Sample(ctx, g.whole)) },
		"roots":  func(ctx context.Context, a *actor, _ arguments) error { return a.keep(a.r.Roots(ctx)) },
		"ask_all": func(ctx context.Context, a *actor, g arguments) error {
			return a.keep(a.r.AskAll(ctx, get[map[string]agent.Question](g, -1)))
		},
		"call": func(ctx context.Context, a *actor, g arguments) error {
			return a.keep(a.r.Call(ctx, g.text(0), g.text(1)))
		},
		"call_tool": func(ctx context.Context, a *actor, g arguments) error {
			in := get[struct {
				Agent, Tool, Key string
				Arguments        map[string]any
			}](g, -1)
			return a.keep(a.r.CallAgent(ctx, agent.AgentCall{Agent: in.Agent, Tool: in.Tool, Arguments: in.Arguments, Key: in.Key}))
		},
		"approve": func(ctx context.Context, a *actor, g arguments) error { return a.r.Approve(ctx, g.text(0), g.list[1]) },
		"gate": func(ctx context.Context, a *actor, g arguments) error {
			return a.r.Gate(ctx, get[agent.Approval](g, -1))
		},
		"input_required": func(ctx context.Context, a *actor, g arguments) error {
			return a.keepWords(a.r.InputRequired(ctx, g.text(0), get[any](g, 1)))
		},
		"auth_required": func(ctx context.Context, a *actor, g arguments) error {
			return a.keepWords(a.r.AuthRequired(ctx, g.text(0), get[any](g, 1)))
		},
		"need_input": func(_ context.Context, a *actor, g arguments) error {
			return a.r.NeedInput(get[map[string]agent.Question](g, 0), g.text(1))
		},
		"history":  readBodies,
		"attach":   attachText,
		"download": downloadText,
		"message":  describeMessage,
		"wait_for": waitFor,
	}
}

// keep makes what a method returned the last value.
func (a *actor) keep(v any, err error) error {
	a.last = v
	return err
}

func (a *actor) keepWords(said agent.Continued, err error) error {
	return a.keep(map[string]any{"text": said.Text, "payload": said.Payload}, err)
}

func runStep(ctx context.Context, a *actor, g arguments) error {
	in := get[struct {
		Name   string
		Kind   beeos.StepKind
		Set    map[string]string
		Tokens []any
		Error  string
		Do     []map[string]json.RawMessage
	}](g, -1)
	s := a.begin(in.Name, in.Kind)
	for name, value := range in.Set {
		s.Set(name, value)
	}
	if len(in.Tokens) == 3 {
		s.Tokens(in.Tokens[0].(string), int64(in.Tokens[1].(float64)), int64(in.Tokens[2].(float64)))
	}
	outer := a.begin
	a.begin = s.Step
	err := a.do(s.Context(ctx), in.Do)
	a.begin = outer
	if in.Error != "" {
		s.End(errors.New(in.Error))
	} else {
		s.End(err)
	}
	return err
}

func readBodies(ctx context.Context, a *actor, _ arguments) error {
	messages, err := a.r.History(ctx)
	bodies := []string{}
	for _, m := range messages {
		bodies = append(bodies, m.Body)
	}
	return a.keep(bodies, err)
}

func attachText(ctx context.Context, a *actor, g arguments) error {
	file, err := a.r.Attach(ctx, g.text(0), g.text(1), strings.NewReader(g.text(2)))
	return a.keep(file.FileID, err)
}

func downloadText(ctx context.Context, a *actor, g arguments) error {
	content, err := a.m.Attachments[get[int](g, -1)].Download(ctx)
	return a.keep(string(content), err)
}

func describeMessage(_ context.Context, a *actor, _ arguments) error {
	can := []any{}
	for _, what := range []string{"elicitation", "sampling", "roots", "progress"} {
		if a.m.Can(what) {
			can = append(can, what)
		}
	}
	raw, err := beeos.EncodeJSON(map[string]any{
		"id": a.m.ID, "channel": a.m.Channel, "offset": a.m.Offset, "from": a.m.From, "text": a.m.Text, "protocol": a.m.Protocol, "attempt": a.m.Attempt,
		"metadata": a.m.Metadata, "can": can, "state": a.m.State, "input": a.m.Input, "traceparent": a.m.Trace.Parent,
	})
	var all map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	return a.keep(withoutEmpty(all), err)
}

func waitFor(ctx context.Context, a *actor, g arguments) error {
	gate := a.stage.gate(g.text(-1))
	close(gate.reached)
	select {
	case <-gate.released:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
