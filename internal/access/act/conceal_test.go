package act_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/store/agents"
)

// declare makes filer an agent with these tools.
func (r *replays) declare(skills ...beeos.Skill) {
	r.t.Helper()
	inst, err := r.DB.Instances.Get(r.t.Context(), r.instance)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.DB.Agents.Sync(r.t.Context(), inst, []beeos.Definition{{Name: "clerk"}, {Name: "filer", Skills: skills}}); err != nil {
		r.t.Fatal(err)
	}
	r.Invoke.Forget(r.filer)
}

// tool is one that only reads.
func tool(name, schema string) beeos.Skill {
	return beeos.Skill{Name: name, InputSchema: json.RawMessage(schema), Annotations: json.RawMessage(`{"readOnlyHint":true}`)}
}

const secretSchema = `{"type":"object","properties":{"token":{"type":"string","writeOnly":true},"hosts":{"type":"array","items":{"type":"object","properties":{"pass":{"format":"password"}}}}}}`

func (r *replays) callTool(name, arguments string) string {
	return r.call(invoke.Request{
		Caller: by(r.owner), Agent: r.to(r.filer), Call: beeos.Call{Method: "tools/call", Tool: name, Arguments: json.RawMessage(arguments)},
	})
}

// shown is what the owner sees of the arguments of a call.
func (r *replays) shown(call string) string {
	r.t.Helper()
	c, err := r.Call(r.t.Context(), by(r.owner), call)
	if err != nil {
		r.t.Fatal(err)
	}
	if strings.Contains(string(c.Request.Payload), "hush") {
		r.t.Error("the secret is in what is stored besides")
	}
	return string(c.Payload.Arguments)
}

// TestSecretsAreMasked and replayed all the same: who makes a call again need not
// know them, and may send others.
func TestSecretsAreMasked(t *testing.T) {
	eachReplays(t, func(t *testing.T, r *replays) {
		r.declare(tool("login", secretSchema))
		first := r.callTool("login", `{"token": "hush", "hosts": [{"pass":"hush1"},{"pass":"hush2"}], "q": 1}`)
		if got := r.shown(first); got != `{"token":"•••","hosts":[{"pass":"•••"},{"pass":"•••"}],"q":1}` {
			t.Error(got)
		}
		for edit, want := range map[string]string{
			``: `{"token":"hush","hosts":[{"pass":"hush1"},{"pass":"hush2"}],"q":1}`,
			`{"token":"•••","hosts":[{"pass":"•••"},{"pass":"•••"}],"q":2}`: `{"hosts":[{"pass":"hush1"},{"pass":"hush2"}],"q":2,"token":"hush"}`,
			`{"token":"new","q":"•••"}`:                                     `{"token":"new","q":"•••"}`,
		} {
			made, _, c := r.replay(act.Replay{Call: first, Arguments: json.RawMessage(edit)})
			if string(c.Arguments) != want {
				t.Errorf("%s: the agent was given %s, want %s", edit, c.Arguments, want)
			}
			if got := r.shown(made.Message.ID); strings.Contains(got, "hush") || strings.Contains(got, "new") {
				t.Errorf("the replay shows %s", got)
			}
		}
		_, err := r.ReplayCall(t.Context(), by(r.owner), act.Replay{Call: first, Arguments: json.RawMessage(`{"hosts":[{"pass":"•••"}]}`)})
		wantCode(t, err, beeos.InvalidParam, "write the secret itself")
	})
}

// TestSecretsOutliveTheirSchema: what a tool named secret when it was called stays
// so, and of a tool that nothing is known of nothing is shown.
func TestSecretsOutliveTheirSchema(t *testing.T) {
	eachReplays(t, func(t *testing.T, r *replays) {
		plain := tool("plain", `{"type":"object"}`)
		r.declare(tool("login", secretSchema), plain)
		login, free := r.callTool("login", `{"token":"hush"}`), r.callTool("plain", `{"a":"b"}`)
		for what, skills := range map[string][]beeos.Skill{
			"it is named differently": {tool("login", `{"type":"object","properties":{"key":{"writeOnly":true}}}`), plain},
			"nothing is secret":       {tool("login", `{"type":"object"}`), plain},
			"the tools are gone":      nil,
		} {
			r.declare(skills...)
			if got := r.shown(login); got != `{"token":"•••"}` {
				t.Errorf("%s: %s", what, got)
			}
			if got := r.shown(free); got != `{"a":"b"}` {
				t.Errorf("%s: %s", what, got)
			}
		}
		r.declare()
		if _, err := r.DB.Exec("DELETE FROM past_schemas"); err != nil { // as of calls before there were any
			t.Fatal(err)
		}
		if got := r.shown(free); got != `{"a":"•••"}` {
			t.Errorf("of a tool that nobody knows: %s", got)
		}
	})
}

// TestReplayKeepsSecretsOfTheFirstAgent: against an agent that does not name them.
func TestReplayKeepsSecretsOfTheFirstAgent(t *testing.T) {
	eachReplays(t, func(t *testing.T, r *replays) {
		inst, err := r.DB.Instances.Get(t.Context(), r.instance)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.DB.Agents.Sync(t.Context(), inst, []beeos.Definition{
			{Name: "clerk", Skills: []beeos.Skill{tool("login", `{"type":"object"}`)}}, {Name: "filer", Skills: []beeos.Skill{tool("login", secretSchema)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Invoke.Forget(r.filer)
		r.Invoke.Forget(r.agent)
		made, _, c := r.replay(act.Replay{Call: r.callTool("login", `{"token":"hush"}`), AgentID: r.agent})
		if string(c.Arguments) != `{"token":"hush"}` {
			t.Errorf("the agent was given %s", c.Arguments)
		}
		again, _, _ := r.replay(act.Replay{Call: made.Message.ID})
		for _, id := range []string{made.Message.ID, again.Message.ID} {
			if got := r.shown(id); got != `{"token":"•••"}` {
				t.Error(got)
			}
		}
	})
}

// TestMetadataOnly: the owner sees that the agent was called and how it went, the
// caller everything; and what was said under the setting stays so when it is off.
func TestMetadataOnly(t *testing.T) {
	eachReplays(t, func(t *testing.T, r *replays) {
		ctx := t.Context()
		set := func(on bool) {
			t.Helper()
			if _, err := r.UpdateAgent(ctx, by(r.owner), r.agent, agents.Patch{MetadataOnly: &on}); err != nil {
				t.Fatal(err)
			}
			r.Invoke.Forget(r.agent)
		}
		key := beeos.Caller{Kind: beeos.ByAgentKey, CredentialID: "k", AgentID: r.agent}
		say := func(c beeos.Caller, words string) string {
			return r.call(invoke.Request{Caller: c, Agent: r.to(r.agent), Body: words, Parts: json.RawMessage(`[{"type":"data","n":1}]`), Call: beeos.Call{Metadata: map[string]string{"a": "hush"}}})
		}
		look := func(id string, hidden bool) {
			t.Helper()
			c, err := r.Call(ctx, by(r.owner), id)
			if err != nil {
				t.Fatal(err)
			}
			all, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			if c.MetadataOnly != hidden || strings.Contains(string(all), "use save") == hidden || strings.Contains(string(all), "done") == hidden || hidden && strings.Contains(string(all), "hush") {
				t.Errorf("hidden should be %v: %s", hidden, all)
			}
			if c.Outcome != 0 || c.Publisher == "" || len(c.Attempts) != 1 || len(c.Steps) != 1 || c.Steps[0].Name != "save" || c.Steps[0].Attributes[beeos.StepApproval] != beeos.StepApproved || len(c.Timeline) == 0 {
				t.Errorf("%+v", c)
			}
			if _, err := r.ReplayCall(ctx, by(r.owner), act.Replay{Call: id, Confirm: true}); (err != nil) != hidden {
				t.Errorf("a replay: %v", err)
			} else if hidden {
				wantCode(t, err, beeos.Forbidden, "metadata only")
			}
		}
		before := say(key, "use save")
		look(before, false)
		set(true)
		look(before, true)
		during, mine := say(key, "use save"), say(by(r.owner), "use save")
		look(during, true)
		look(mine, false) // the caller's own
		set(false)
		look(before, false) // nobody was promised anything
		look(during, true)
		if trail := r.actions(r.owner); strings.Count(trail, "agent.update") != 2 {
			t.Errorf("the trail says %q", trail)
		}
	})
}
