package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// tools makes an agent of the user's with tools of its own.
func (k *stack) tools(owner beeos.User, skills ...beeos.Skill) *beeos.Agent {
	k.t.Helper()
	inst := beeos.Instance{ID: beeos.NewID(), OwnerID: owner.ID, Name: "tools", PublicKey: []byte(strings.Repeat("t", 32)), CreatedAt: time.Now()}
	if err := k.db.Instances.Create(k.t.Context(), inst); err != nil {
		k.t.Fatal(err)
	}
	synced, err := k.db.Agents.Sync(k.t.Context(), inst, []beeos.Definition{{Name: "weather", DisplayName: "Weather", DeliveryMode: beeos.DeliverPush, Skills: skills}})
	if err != nil {
		k.t.Fatal(err)
	}
	a, err := k.db.Agents.Get(k.t.Context(), synced.IDs()["weather"])
	if err != nil {
		k.t.Fatal(err)
	}
	return a
}

// TestToolIsTried: a form made of the schema calls the tool as the visitor, by the
// way of every call; what comes of it, or is wrong with it, is on the page.
func TestToolIsTried(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	hidden := false
	a := k.tools(ann, beeos.Skill{
		Name: "forecast", Description: "Tomorrow's weather.", Annotations: json.RawMessage(`{"readOnlyHint":true}`),
		InputSchema: json.RawMessage(`{"type":"object","required":["city"],"properties":{"city":{"type":"string","maxLength":9},"token":{"type":"string","writeOnly":true}}}`),
	}, beeos.Skill{Name: "for/get"}, beeos.Skill{Name: "inner", ExposeAsTool: &hidden})
	p, me := k.puppet(a), k.signedIn(ann)
	base := "/agents/" + a.ID + "/tools"
	if body := me.get(base).body; !strings.Contains(body, `href="`+base+`/forecast"`) || !strings.Contains(body, `href="`+base+`/for%2Fget"`) || strings.Contains(body, base+"/inner") {
		t.Errorf("the list: %s", body)
	}
	for _, path := range []string{base, base + "/forecast"} {
		if res := k.signedIn(bob).get(path); res.status != http.StatusNotFound {
			t.Errorf("%s of somebody else: %d", path, res.status)
		}
	}
	if res := me.get(base + "/inner"); res.status != http.StatusNotFound {
		t.Errorf("a skill that is no tool: %d", res.status)
	}

	form := me.get(base + "/forecast").body
	if !strings.Contains(form, `name="/city"`) || !strings.Contains(form, `type="password"`) || strings.Contains(form, `name="sure"`) {
		t.Errorf("the form: %s", form)
	}
	key := keyField.FindStringSubmatch(form)[1]
	if res := me.post(base+"/forecast", url.Values{"key": {key}, "/city": {"Ober-Unterstadt"}, "/token": {"hush"}}); res.status != http.StatusBadRequest ||
		!strings.Contains(res.body, "do not fit the tool") || !strings.Contains(res.body, ">Ober-Unterstadt</textarea>") || strings.Contains(res.body, "hush") {
		t.Errorf("arguments that do not fit: %d %s", res.status, res.body)
	}
	filled := url.Values{"key": {key}, "/city": {"Bern"}, "/token": {"hush"}}
	res := me.post(base+"/forecast", filled)
	f := p.turn()
	var call beeos.Call
	if err := json.Unmarshal(f.Payload, &call); err != nil || call.Method != "tools/call" || call.Tool != "forecast" || string(call.Arguments) != `{"city":"Bern","token":"hush"}` || call.Protocol != "web" || f.PublisherID != "user:"+ann.ID {
		t.Errorf("the agent got %+v of %s, %v", call, f.PublisherID, err)
	}
	run := strings.TrimSuffix(res.location(), "#run")
	if run != base+"/forecast?run="+f.MessageID {
		t.Fatalf("%d to %q: %s", res.status, run, res.body)
	}
	if twice := me.post(base+"/forecast", filled); twice.location() != res.location() {
		t.Errorf("pressed twice: %d to %q", twice.status, twice.location())
	}
	events := me.follow(t.Context(), base+"/forecast/live?run="+f.MessageID, "")
	if e := next(t, events); !strings.Contains(e.data, "working") || !strings.Contains(e.data, base+"/forecast/stop") {
		t.Errorf("under way: %s", e.data)
	}
	p.reply(f, beeos.Message{Type: beeos.AgentReply, Body: "Sunny", Payload: json.RawMessage(`{"structuredContent":{"rain":0}}`)})
	if e := next(t, events); !strings.Contains(e.data, "Sunny") || !strings.Contains(e.data, "&#34;rain&#34;: 0") || !strings.Contains(e.data, "/calls/"+f.MessageID) {
		t.Errorf("the answer: %s", e.data)
	}
	if body := me.get(run).body; !strings.Contains(body, ">Bern</textarea>") || strings.Contains(body, "hush") || !strings.Contains(body, `class="dot good">ok`) {
		t.Errorf("afterwards: %s", body)
	}
	if body := me.get(run + "&as=json").body; !strings.Contains(body, "&#34;city&#34;: &#34;Bern&#34;") || strings.Contains(body, "hush") {
		t.Errorf("as JSON: %s", body)
	}
	if res := me.get(base + "/for%2Fget?run=" + f.MessageID); res.status != http.StatusNotFound {
		t.Errorf("the run of another tool: %d", res.status)
	}

	// What does not say that it only reads wants a word.
	key = keyField.FindStringSubmatch(me.get(base + "/for%2Fget?as=json").body)[1]
	if res := me.post(base+"/for%2Fget", url.Values{"key": {key}, "arguments": {`{"x":1}`}}); res.status != http.StatusBadRequest || !strings.Contains(res.body, "Tick") && !strings.Contains(res.body, "tick the box") {
		t.Errorf("without a word: %d %s", res.status, res.body)
	}
	res = me.post(base+"/for%2Fget", url.Values{"key": {key}, "arguments": {`{"x":1}`}, "sure": {"on"}})
	f = p.turn()
	if res.status != http.StatusSeeOther || !strings.Contains(string(f.Payload), `"arguments":{"x":1}`) {
		t.Errorf("%d, the agent got %s", res.status, f.Payload)
	}
	if res := me.post(base+"/for%2Fget/stop", url.Values{"run": {f.MessageID}}); res.status != http.StatusSeeOther {
		t.Errorf("stopping: %d", res.status)
	}
	p.reply(f, beeos.Message{Type: beeos.AgentReplyError, Body: "the drawer is locked; unlock it"})
	if body := me.get(base + "/for%2Fget?run=" + f.MessageID).body; !strings.Contains(body, "the drawer is locked") {
		t.Errorf("what went wrong: %s", body)
	}
	if res := me.get(base + "/for%2Fget/stop"); res.location() != base+"/for%2Fget" {
		t.Errorf("the address of a form: %q", res.location())
	}
}
