package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/store/builtins"
)

// TestOwnerReplaysCalls without JavaScript: the form asks for confirmation, keeps
// what was typed, makes one request however often it is sent, and leads to both
// answers side by side.
func TestOwnerReplaysCalls(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	agents := k.agents(ann, 2)
	first, second := k.puppet(agents[0]), k.puppet(agents[1])
	call := func(r invoke.Request) beeos.Message {
		t.Helper()
		r.Caller, r.Agent, r.Surface = beeos.Caller{Kind: beeos.BySession, UserID: ann.ID}, agents[0], "web"
		m, err := k.calls.Send(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	asked := call(invoke.Request{Body: "one\ntwo"})
	f := first.turn()
	at := k.signedIn(ann)
	path := "/calls/" + asked.ID
	if res := at.get(path); strings.Contains(res.body, `name="confirm"`) {
		t.Error("a call that is under way can be replayed")
	}
	first.reply(f, beeos.Message{Body: "the \u202esame\nold"})
	page := at.get(path).body
	for _, word := range []string{`action="` + path + `/replay"`, "one\ntwo</textarea>", `value="` + agents[0].ID + `" selected`, agents[1].ID} {
		if !strings.Contains(page, word) {
			t.Errorf("the page lacks %s", word)
		}
	}

	form := url.Values{"agent": {agents[1].ID}, "input": {"one\r\n<two>"}, "key": {"once"}}
	res := at.post(path+"/replay", form)
	if res.status != http.StatusConflict || !strings.Contains(res.body, "ick the box") || !strings.Contains(res.body, "&lt;two&gt;</textarea>") || !strings.Contains(res.body, `value="`+agents[1].ID+`" selected`) {
		t.Errorf("unconfirmed: %d %s", res.status, res.body)
	}
	form.Set("confirm", "on")
	res = at.post(path+"/replay", form)
	g := second.turn()
	if want := path + "/compare/" + g.MessageID; res.status != http.StatusSeeOther || res.location() != want || g.Body != "one\n<two>" {
		t.Fatalf("%d to %s, want %s; the agent was told %q", res.status, res.location(), want, g.Body)
	}
	if again := at.post(path+"/replay", form); again.location() != res.location() || len(second.turns) != 0 {
		t.Errorf("sent twice: %d to %s", again.status, again.location())
	}
	both := res.location()
	if res := at.get(both); res.status != http.StatusOK || !strings.Contains(res.body, "no answer yet") || !strings.Contains(res.body, both+"/live") {
		t.Errorf("while it works: %d %s", res.status, res.body)
	}
	second.reply(g, beeos.Message{Body: "the \u202esame\nnew"})
	res = at.get(both)
	for _, word := range []string{"different", "<del>old</del>", "<ins>new</ins>", "<ins>&lt;</ins>", "U&#43;202E", "original, ", "replay, ", "Agent 1"} {
		if !strings.Contains(res.body, word) {
			t.Errorf("the comparison lacks %s: %s", word, res.body)
		}
	}
	for address, word := range map[string]string{path: `href="` + both + `"`, "/calls/" + g.MessageID: "A replay of"} {
		if res := at.get(address); !strings.Contains(res.body, word) {
			t.Errorf("%s lacks %s", address, word)
		}
	}

	tool := call(invoke.Request{Call: beeos.Call{Method: "tools/call", Tool: "forecast", Arguments: []byte(`{"city":"Rome"}`)}})
	first.reply(first.turn(), beeos.Message{Body: "sunny"})
	path = "/calls/" + tool.ID
	form = url.Values{"confirm": {"on"}, "key": {"second"}, "input": {"{"}}
	if res := at.post(path+"/replay", form); res.status != http.StatusBadRequest || !strings.Contains(res.body, "are not JSON") {
		t.Errorf("broken arguments: %d", res.status)
	}
	form.Set("input", "{\r\n  \"city\": \"Rome\"\r\n}") // as it was shown
	res = at.post(path+"/replay", form)
	f = first.turn()
	first.reply(f, beeos.Message{Body: "sunny"})
	if !strings.Contains(string(f.Payload), `"arguments":{"city":"Rome"}`) {
		t.Errorf("the tool was told %s", f.Payload)
	}
	if res := at.get(res.location()); !strings.Contains(res.body, "the same") || !strings.Contains(res.body, "sunny") || strings.Contains(res.body, `class="diff"`) {
		t.Errorf("the same answer: %s", res.body)
	}
	stranger := k.signedIn(bob)
	for _, res := range []answer{stranger.get(both), stranger.post(path+"/replay", form)} {
		if res.status != http.StatusNotFound {
			t.Errorf("a stranger: %d", res.status)
		}
	}
}

// TestOwnerTriesAnotherPrompt: the owner of a built-in agent asks it again with
// another model and prompt; a prompt that is left as it was shown is not another
// one, and for other agents nothing of it is asked.
func TestOwnerTriesAnotherPrompt(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	k.withRuntime(llm.Script(func(llm.Request) []llm.Delta { return llm.Say("hi") }), nil)
	at := k.signedIn(ann)
	plain := k.agents(ann, 1)[0]
	clerk := at.make(ann, "clerk")
	p := k.puppet(clerk)
	asked, err := k.calls.Send(t.Context(), invoke.Request{Caller: beeos.Caller{Kind: beeos.BySession, UserID: ann.ID}, Agent: clerk, Surface: "web", Body: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	f := p.turn()
	_, _, err = k.db.Builtins.TakeStep(t.Context(), clerk.InstanceID, builtins.Step{Turn: f.MessageID, Step: 1, Done: true, Content: "{}"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, err = k.ledger.FinishAttempt(t.Context(), beeos.Message{
		Channel: f.ChannelID, InReplyTo: f.MessageID, Publisher: "agent:" + clerk.ID, Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "hi",
	}, &ledger.Attempt{Number: 1, Steps: []byte(`[{"name":"m","kind":"model","after_us":1,"took_us":1},{"name":"files__save","kind":"tool","after_us":2,"took_us":1},{"name":"m","kind":"model","after_us":3,"took_us":1}]`)})
	if err != nil {
		t.Fatal(err)
	}
	path := "/calls/" + asked.ID
	page := at.get(path).body
	for _, word := range []string{`name="model"`, "Be brief.</textarea>", `<option value="2">step 2, after files__save</option>`} {
		if !strings.Contains(page, word) {
			t.Fatalf("the form lacks %s: %s", word, page)
		}
	}
	send := func(form url.Values) string {
		t.Helper()
		form.Set("key", beeos.NewID())
		form.Set("confirm", "on")
		if res := at.post(path+"/replay", form); res.status != http.StatusSeeOther {
			t.Fatalf("%v: %d %s", form, res.status, res.body)
		}
		f := p.turn()
		p.reply(f, beeos.Message{Body: "hi"})
		return string(f.Payload)
	}
	if told := send(url.Values{"model": {""}, "prompt": {"Be brief."}}); strings.Contains(told, "trial") {
		t.Errorf("as it was shown: %s", told)
	}
	told := send(url.Values{"model": {" small-1 "}, "prompt": {"Be\r\nlong."}})
	if !strings.Contains(told, `"trial":{"model":"small-1","prompt":"Be\nlong."}`) {
		t.Errorf("with both changed: %s", told)
	}
	told = send(url.Values{"model": {""}, "prompt": {"Be brief."}, "step": {"2"}})
	if !strings.Contains(told, `"trial":{"fork":"`+asked.ID+`","step":2}`) {
		t.Errorf("from a step on: %s", told)
	}
	res := at.post(path+"/replay", url.Values{"key": {"x"}, "confirm": {"on"}, "step": {"3"}})
	if res.status != http.StatusBadRequest || !strings.Contains(res.body, "from 1 to 2") || !strings.Contains(res.body, `<option value="3" selected>`) {
		t.Errorf("a step that there is not: %d %s", res.status, res.body)
	}
	res = at.post(path+"/replay", url.Values{"key": {"x"}, "confirm": {"on"}, "agent": {plain.ID}, "prompt": {"Be <long>."}})
	if res.status != http.StatusConflict && res.status != http.StatusBadRequest || !strings.Contains(res.body, "built-in agent") || !strings.Contains(res.body, "Be &lt;long&gt;.</textarea>") {
		t.Errorf("another agent: %d %s", res.status, res.body)
	}
}
