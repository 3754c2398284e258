package act_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/storetest"
	"github.com/beeos/beeos/test/enginetest"
)

// replays is a rig whose agents answer: clerk has no tools, filer has two.
type replays struct {
	*rig
	filer, foreign string // the latter is the stranger's, and private

	mu    sync.Mutex
	given []beeos.Frame
	work  sync.WaitGroup
}

func newReplays(t *testing.T, db *store.Store) *replays {
	t.Helper()
	b, l := enginetest.OpenOn(t, db)
	r := &replays{rig: newRigOn(t, db, b, l)}
	r.Invoke = invoke.New(invoke.Options{Agents: db.Agents, Approvals: db.Approvals, Cluster: db.Cluster, Ledger: l, Bus: b, RateLimit: 1000})
	t.Cleanup(r.work.Wait)
	run, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Invoke.Run(run) }) //nolint:errcheck // it ends with run
	t.Cleanup(func() { stop(); running.Wait() })

	inst, err := db.Instances.Get(t.Context(), r.instance)
	if err != nil {
		t.Fatal(err)
	}
	schema := json.RawMessage(`{"type":"object","properties":{"wrong":false}}`)
	res, err := db.Agents.Sync(t.Context(), inst, []beeos.Definition{{Name: "clerk"}, {Name: "filer", Skills: []beeos.Skill{
		{Name: "find", InputSchema: schema, Annotations: json.RawMessage(`{"readOnlyHint":true}`)}, {Name: "save", InputSchema: schema},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	r.filer = res.IDs()["filer"]
	other := beeos.Instance{ID: beeos.NewID(), OwnerID: r.stranger.ID, Name: "other", PublicKey: []byte(strings.Repeat("x", 32))}
	if err := db.Instances.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if res, err = db.Agents.Sync(t.Context(), other, []beeos.Definition{{Name: "foreign"}}); err != nil {
		t.Fatal(err)
	}
	r.foreign = res.IDs()["foreign"]
	for _, id := range []string{r.agent, r.filer, r.foreign} {
		stop, err := b.Serve(id, r.answer(l))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
	}
	return r
}

// answer says what was said, and tells of a tool when it is asked to use one.
func (r *replays) answer(l *ledger.Ledger) func(bus.Dispatch) bool {
	return func(d bus.Dispatch) bool {
		var f beeos.Frame
		if err := json.Unmarshal(d.Frame, &f); err != nil {
			r.t.Error(err)
		}
		r.mu.Lock()
		r.given = append(r.given, f)
		r.mu.Unlock()
		by := &ledger.Attempt{Number: 1}
		if strings.HasPrefix(f.Body, "use ") {
			by.Steps = []byte(`[{"name":"` + strings.TrimPrefix(f.Body, "use ") + `","kind":"tool","after_us":1,"took_us":1,"attributes":{"arguments":"hush","approval":"approved","decided_by":"user:u"}}]`)
		}
		r.work.Go(func() {
			_, err := l.FinishAttempt(context.Background(), beeos.Message{
				Channel: f.ChannelID, InReplyTo: f.MessageID, Type: beeos.AgentReply, State: beeos.StateCompleted, Publisher: "agent:" + f.AgentID, Body: "done",
			}, by)
			if err != nil {
				r.t.Error(err)
			}
		})
		return true
	}
}

// call makes a call and waits for its end.
func (r *replays) call(req invoke.Request) string {
	r.t.Helper()
	agent, err := r.Invoke.Agent(r.t.Context(), req.Agent.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	if req.Agent = agent; req.Surface == "" {
		req.Surface = "rest"
	}
	if _, err := invoke.Last(r.Invoke.Do(r.t.Context(), &req)); err != nil {
		r.t.Fatal(err)
	}
	return req.TurnID
}

func (r *replays) to(id string) *beeos.Agent { return &beeos.Agent{ID: id} }

// replay replays and waits for the end; it returns what the agent was given.
func (r *replays) replay(p act.Replay) (act.Replayed, beeos.Frame, beeos.Call) {
	r.t.Helper()
	made, err := r.ReplayCall(r.t.Context(), by(r.owner), p)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.Invoke.Wait(r.t.Context(), made.Message.ID, time.Minute); err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.given {
		if f.MessageID == made.Message.ID {
			var c beeos.Call
			if err := json.Unmarshal(f.Payload, &c); err != nil {
				r.t.Fatal(err)
			}
			return made, f, c
		}
	}
	r.t.Fatal("no agent was asked")
	return made, beeos.Frame{}, beeos.Call{}
}

func eachReplays(t *testing.T, test func(t *testing.T, r *replays)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.Store) { test(t, newReplays(t, db)) })
}

// TestReplaySaysTheSame as whoever called first, in the name of who replays, and
// both calls tell of each other.
func TestReplaySaysTheSame(t *testing.T) {
	eachReplays(t, func(t *testing.T, r *replays) {
		ctx := t.Context()
		key := beeos.Caller{Kind: beeos.ByAgentKey, CredentialID: "k", AgentID: r.agent}
		first := r.call(invoke.Request{
			Caller: key, Agent: r.to(r.agent), Body: "file this", Parts: json.RawMessage(`[{"type":"data","n":1}]`), Surface: "a2a",
			Call: beeos.Call{Metadata: map[string]string{"mine": "1", invoke.MetaA2AMessage: "m"}, Can: []string{"elicitation"}},
		})
		made, f, c := r.replay(act.Replay{Call: first, Key: "once"})
		if f.Body != "file this" || string(f.Parts) != `[{"type":"data","n":1}]` || f.PublisherID != "user:"+r.owner.ID || f.AgentID != r.agent {
			t.Errorf("%+v", f)
		}
		if c.Protocol != "replay" || len(c.Metadata) != 1 || c.Metadata["mine"] != "1" || len(c.Can) != 0 {
			t.Errorf("%+v", c)
		}
		again, err := r.ReplayCall(ctx, by(r.owner), act.Replay{Call: first, Key: "once"})
		if err != nil || !again.Replayed || again.Message.ID != made.Message.ID {
			t.Errorf("under the same key: %+v, %v", again, err)
		}
		other := "file that"
		_, err = r.ReplayCall(ctx, by(r.owner), act.Replay{Call: first, Key: "once", Text: &other})
		wantCode(t, err, beeos.Conflict, "")
		_, f, _ = r.replay(act.Replay{Call: first, Text: &other})
		if f.Body != other {
			t.Errorf("edited: %q", f.Body)
		}
		was, err := r.Call(ctx, by(r.owner), first)
		if err != nil || len(was.Replays) != 2 || was.Replays[1].Turn != made.Message.ID || was.ReplayOf != "" {
			t.Errorf("%+v, %v", was.Replays, err)
		}
		is, err := r.Call(ctx, by(r.owner), made.Message.ID)
		if err != nil || is.ReplayOf != first {
			t.Errorf("a replay of %q, %v", is.ReplayOf, err)
		}
		if got := r.actions(r.owner); got != "call.replay call.replay" {
			t.Errorf("the trail says %q", got)
		}
	})
}

// TestReplayNeedsBoth: to see the call and to reach the agent.
func TestReplayNeedsBoth(t *testing.T) {
	eachReplays(t, func(t *testing.T, r *replays) {
		ctx := t.Context()
		first := r.call(invoke.Request{Caller: by(r.owner), Agent: r.to(r.agent), Body: "x"})
		_, err := r.ReplayCall(ctx, by(r.stranger), act.Replay{Call: first})
		wantCode(t, err, beeos.NotFound, "no call")
		_, err = r.ReplayCall(ctx, by(r.owner), act.Replay{Call: first, AgentID: r.foreign})
		wantCode(t, err, beeos.AgentNotFound, "name another one")
		_, err = r.ReplayCall(ctx, by(r.owner), act.Replay{Call: first, AgentID: "agent_none"})
		wantCode(t, err, beeos.AgentNotFound, "name another one")

		public := beeos.VisiblePublic
		if _, err := r.UpdateAgent(ctx, by(r.stranger), r.foreign, agents.Patch{Visibility: &public}); err != nil {
			t.Fatal(err)
		}
		r.Invoke.Forget(r.foreign)
		made, _, _ := r.replay(act.Replay{Call: first, AgentID: r.foreign})
		seen, err := r.Call(ctx, by(r.owner), made.Message.ID)
		if err != nil || seen.Done == nil || seen.ReplayOf != first || len(seen.Attempts) != 0 || len(seen.Timeline) != 3 {
			t.Errorf("who replayed sees %+v, %v", seen, err)
		}
		seen, err = r.Call(ctx, by(r.stranger), made.Message.ID)
		if err != nil || seen.ReplayOf != "" || len(seen.Attempts) != 1 {
			t.Errorf("the owner of the agent sees %+v, %v", seen, err)
		}
		plain := r.call(invoke.Request{Caller: by(r.owner), Agent: r.to(r.foreign), Body: "x"})
		_, err = r.Call(ctx, by(r.owner), plain)
		wantCode(t, err, beeos.NotFound, "no call")
	})
}

// TestReplayOfWhatMayChangeThings wants to be confirmed.
func TestReplayOfWhatMayChangeThings(t *testing.T) {
	eachReplays(t, func(t *testing.T, r *replays) {
		tool := func(name string) string {
			return r.call(invoke.Request{Caller: by(r.owner), Agent: r.to(r.filer), Call: beeos.Call{Method: "tools/call", Tool: name, Arguments: json.RawMessage(`{"a":1}`)}})
		}
		text := func(agent, body string) string {
			return r.call(invoke.Request{Caller: by(r.owner), Agent: r.to(agent), Body: body})
		}
		find, save := tool("find"), tool("save")
		for name, c := range map[string]struct {
			replay act.Replay
			ask    bool
		}{
			"text to an agent without tools":  {act.Replay{Call: text(r.agent, "x")}, false},
			"a tool that only reads":          {act.Replay{Call: find}, false},
			"any other tool":                  {act.Replay{Call: save}, true},
			"text to an agent with tools":     {act.Replay{Call: text(r.filer, "x")}, true},
			"against an agent with tools":     {act.Replay{Call: text(r.agent, "x"), AgentID: r.filer}, true},
			"an answer for which one is used": {act.Replay{Call: text(r.agent, "use save")}, true},
		} {
			r.mu.Lock()
			before := len(r.given)
			r.mu.Unlock()
			_, err := r.ReplayCall(t.Context(), by(r.owner), c.replay)
			if c.ask {
				wantCode(t, err, beeos.ConfirmationRequired, "replay the call with confirm")
				if r.mu.Lock(); len(r.given) != before {
					t.Errorf("%s: it was done", name)
				}
				r.mu.Unlock()
				c.replay.Confirm = true
				_, _, _ = r.replay(c.replay)
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, f, c := r.replay(act.Replay{Call: find, Arguments: json.RawMessage(`{"a":2}`)})
		if c.Tool != "find" || c.Method != "tools/call" || string(c.Arguments) != `{"a":2}` || f.Body != "" {
			t.Errorf("%+v", c)
		}
		word := "x"
		for what, c := range map[string]struct {
			replay act.Replay
			code   beeos.Code
		}{
			"give other arguments": {act.Replay{Call: find, Text: &word}, beeos.InvalidParam},
			"give another text":    {act.Replay{Call: text(r.agent, "x"), Arguments: json.RawMessage(`{}`)}, beeos.InvalidParam},
			"must be an object":    {act.Replay{Call: find, Arguments: json.RawMessage(`[]`)}, beeos.InvalidParam},
			"edit them":            {act.Replay{Call: find, Arguments: json.RawMessage(`{"wrong":1}`)}, beeos.InvalidParam},
			"has no tool":          {act.Replay{Call: find, AgentID: r.agent}, beeos.Conflict},
			"modelsSet":            {act.Replay{Call: find, Model: "m"}, beeos.Conflict},
			"built-in agent":       {act.Replay{Call: find, Prompt: &word}, beeos.Conflict},
		} {
			_, err := r.ReplayCall(t.Context(), by(r.owner), c.replay)
			wantCode(t, err, c.code, what)
		}
	})
}

// TestReplayTakesTheConversationAlong, as far as it had come.
func TestReplayTakesTheConversationAlong(t *testing.T) {
	eachReplays(t, func(t *testing.T, r *replays) {
		ask := func(body string) string {
			return r.call(invoke.Request{Caller: by(r.owner), Agent: r.to(r.agent), Body: body, ContextID: "talk", KeepOpen: true})
		}
		ask("one")
		second := ask("two")
		ask("three")
		made, f, _ := r.replay(act.Replay{Call: second})
		ms, err := r.Ledger.Messages(t.Context(), made.Message.Channel, 0, 10)
		if err != nil || len(ms) != 4 || ms[0].Body != "one" || ms[1].Body != "done" || ms[1].InReplyTo != ms[0].ID || ms[2].Body != "two" || f.Offset != 3 {
			t.Errorf("%+v, %v", ms, err)
		}
		made, _, _ = r.replay(act.Replay{Call: made.Message.ID}) // of a replay
		if ms, err := r.Ledger.Messages(t.Context(), made.Message.Channel, 0, 10); err != nil || len(ms) != 4 || ms[0].Body != "one" {
			t.Errorf("%+v, %v", ms, err)
		}
	})
}
