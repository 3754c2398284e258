package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store/agents"
)

// maxPageBytes is how much of a conversation one page shows.
const maxPageBytes = 16 << 20

// puppet is an agent that does what the test makes it do, together with the
// gateway that it would be connected to.
type puppet struct {
	k     *stack
	agent *beeos.Agent
	turns chan beeos.Frame

	mu    sync.Mutex
	soFar map[string]beeos.Event // by turn
}

func (k *stack) puppet(a *beeos.Agent) *puppet {
	k.t.Helper()
	p := &puppet{k: k, agent: a, turns: make(chan beeos.Frame, 16), soFar: map[string]beeos.Event{}}
	k.bus.ServeSnapshots(func(turn string) (beeos.Event, bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		ev, ok := p.soFar[turn]
		return ev, ok
	})
	stop, err := k.bus.Serve(a.ID, func(d bus.Dispatch) bool {
		var f beeos.Frame
		if err := json.Unmarshal(d.Frame, &f); err != nil {
			k.t.Error(err)
			return false
		}
		f.MessageID, f.ChannelID, f.Attempt = d.MessageID, d.Channel, d.Attempt
		p.turns <- f
		return true
	})
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(stop)
	k.online[a.ID] = true
	return p
}

func (p *puppet) turn() beeos.Frame {
	p.k.t.Helper()
	select {
	case f := <-p.turns:
		return f
	case <-time.After(10 * time.Second):
		p.k.t.Fatal("the agent was not called")
	}
	return beeos.Frame{}
}

// tell publishes a live event.
func (p *puppet) tell(f beeos.Frame, ev beeos.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.soFar[f.MessageID]
	if ev.Kind == "" {
		ev.Kind = beeos.EventDelta
	}
	ev.Channel, ev.Turn, ev.Attempt, ev.Seq = f.ChannelID, f.MessageID, f.Attempt, all.Seq+1
	all.Kind, all.Channel, all.Turn, all.Attempt, all.Seq, all.SoFar = beeos.EventDelta, ev.Channel, ev.Turn, ev.Attempt, ev.Seq, true
	if ev.Kind == beeos.EventDelta {
		all.Text += ev.Text
		all.Reasoning += ev.Reasoning
	}
	if ev.Part != nil {
		all.Parts = json.RawMessage("[" + string(ev.Part) + "]")
	}
	p.soFar[f.MessageID] = all
	p.k.bus.Publish(ev)
}

func (p *puppet) reply(f beeos.Frame, m beeos.Message) {
	p.k.t.Helper()
	m.Channel, m.InReplyTo, m.Publisher = f.ChannelID, f.MessageID, "agent:"+p.agent.ID
	if m.Type == "" {
		m.Type, m.State = beeos.AgentReply, beeos.StateCompleted
	}
	var err error
	if m.Type.Terminal() {
		_, err = p.k.ledger.Finish(p.k.t.Context(), m)
	} else {
		_, err = p.k.ledger.Append(p.k.t.Context(), m)
	}
	if err != nil {
		p.k.t.Fatal(err)
	}
}

var keyField = regexp.MustCompile(`name="key" value="([^"]+)"`)

// begins says the first words and returns where the conversation is.
func (b *browser) begins(a *beeos.Agent, text string) string {
	t := b.k.t
	t.Helper()
	page := "/agents/" + a.ID + "/chat"
	key := keyField.FindStringSubmatch(b.get(page).body)
	if key == nil {
		t.Fatal("the page has no composer")
	}
	res := b.post(page, url.Values{"message": {text}, "key": {key[1]}})
	if res.status != http.StatusSeeOther || !strings.HasPrefix(res.location(), page+"/ch-") {
		t.Fatalf("the first words gave %d to %q: %s", res.status, res.location(), res.body)
	}
	return strings.TrimSuffix(res.location(), "#end")
}

// TestMessageIsSentOnce: pressing twice, or again after a failure, is saying it
// once; other words from the same page are another message.
func TestMessageIsSentOnce(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	p := k.puppet(k.agents(ann, 1)[0])
	b := k.signedIn(ann)
	page := "/agents/" + p.agent.ID + "/chat"
	first := url.Values{"message": {"  hello\r\nthere "}, "key": {"page 1"}}
	here := b.post(page, first).location()
	if again := b.post(page, first).location(); again != here || here == "" {
		t.Fatalf("the first words, twice, are at %q and %q", here, again)
	}
	f := p.turn()
	if f.Body != "hello\nthere" || !strings.Contains(string(f.Payload), `"protocol":"web"`) {
		t.Errorf("the agent got %+v", f)
	}
	for _, form := range []url.Values{
		{"message": {"next"}, "key": {"page 2"}}, {"message": {"next"}, "key": {"page 2"}}, {"message": {"other"}, "key": {"page 2"}},
	} {
		if res := b.post(here, form); res.status != http.StatusSeeOther {
			t.Errorf("%v: %d %s", form, res.status, res.body)
		}
	}
	p.turn()
	p.turn()
	body := b.get(here).body
	if n := strings.Count(body, `data-turn="`); n != 3 {
		t.Errorf("%d turns", n)
	}
	if !strings.Contains(body, `<h2 id="title">hello</h2>`) {
		t.Error("the conversation is not named after its first words")
	}
	if home := b.get("/agents/" + p.agent.ID).body; strings.Count(home, "data-call=") != 3 || !strings.Contains(home, `<span class="tag">web</span>`) {
		t.Error("the calls are not among the agent's last")
	}
	for _, bad := range []url.Values{{"message": {" "}, "key": {"k"}}, {"message": {"x"}}, {"message": {strings.Repeat("x", 200<<10+1)}, "key": {"k"}}} {
		for _, where := range []string{page, here} {
			if res := b.post(where, bad); res.status != http.StatusBadRequest || !strings.Contains(res.body, `role="alert"`) {
				t.Errorf("%.20v at %s: %d", bad, where, res.status)
			}
		}
	}
}

// TestUnsentMessageIsKept: words that cannot be sent are not lost, and nothing
// begins.
func TestUnsentMessageIsKept(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	a := k.agents(ann, 1)[0]
	b := k.signedIn(ann)
	page := "/agents/" + a.ID + "/chat"
	res := b.post(page, url.Values{"message": {"hello <there>"}, "key": {"k"}})
	if res.status < 400 || !strings.Contains(res.body, "hello &lt;there&gt;</textarea>") || !strings.Contains(res.body, "is offline") {
		t.Errorf("%d %s", res.status, res.body)
	}
	if strings.Contains(b.get(page).body, "data-chat=") {
		t.Error("a conversation has begun")
	}
	quiet := http.Header{"Sec-Fetch-Site": {"same-origin"}, "Accept": {"text/plain"}, "Hx-Request": {"true"}}
	res = b.do(http.MethodPost, page, url.Values{"message": {"hello"}, "key": {"k"}}, quiet)
	if res.status < 400 || strings.Contains(res.body, "<") || !strings.Contains(res.body, "is offline") {
		t.Errorf("for a script: %d %s", res.status, res.body)
	}
}

// TestConversationsAreOnesOwn: who may not call the agent finds nothing there,
// and of others' conversations nobody finds anything.
func TestConversationsAreOnesOwn(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", true), k.user("Bob", false)
	p := k.puppet(k.agents(ann, 1)[0])
	me, him := k.signedIn(ann), k.signedIn(bob)
	here := me.begins(p.agent, "secret")
	p.turn()
	gets := []string{"/agents/" + p.agent.ID + "/chat", here, here + "/live", here + "/answer"}
	posts := []string{"/agents/" + p.agent.ID + "/chat", here, here + "/stop", here + "/answer", here + "/title", here + "/delete"}
	form := url.Values{"message": {"x"}, "key": {"k"}, "title": {"x"}}
	check := func(how string, gets, posts []string) {
		t.Helper()
		for _, path := range gets {
			if res := him.get(path); res.status != http.StatusNotFound || strings.Contains(res.body, "secret") {
				t.Errorf("%s: GET %s is %d", how, path, res.status)
			}
		}
		for _, path := range posts {
			if res := him.post(path, form); res.status != http.StatusNotFound {
				t.Errorf("%s: POST %s is %d", how, path, res.status)
			}
		}
	}
	check("private", gets, posts)
	public := beeos.VisiblePublic
	if _, err := k.db.Agents.Update(t.Context(), p.agent.ID, agents.Patch{Visibility: &public}); err != nil {
		t.Fatal(err)
	}
	check("public", gets[1:], posts[1:])
	page := him.get(gets[0])
	if page.status != http.StatusOK || strings.Contains(page.body, "About this agent") || strings.Contains(page.body, "secret") {
		t.Errorf("a public agent's page for others: %d", page.status)
	}
	his := him.begins(p.agent, "mine")
	p.turn()
	if res := me.get(his); res.status != http.StatusNotFound {
		t.Errorf("the owner, an admin, reads what others say to the agent: %d", res.status)
	}
	if res := k.browser().get(here); res.status != http.StatusSeeOther {
		t.Errorf("signed out: %d", res.status)
	}
	if got := me.get(here + "/answer"); got.location() != here {
		t.Errorf("a form's address leads to %q", got.location())
	}
}

// TestConversationShowsNoHTML: nothing that an agent, a tool or a caller says
// is HTML.
func TestConversationShowsNoHTML(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	p := k.puppet(k.agents(ann, 1)[0])
	b := k.signedIn(ann)
	evil := `"><img src=x onerror=alert(1)><script>alert(2)</script>` + "\u202e"
	raw, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	here := b.begins(p.agent, evil)
	f := p.turn()
	p.reply(f, beeos.Message{Type: beeos.AgentInputRequired, Body: evil, Payload: fmt.Appendf(nil, `{"url":"javascript:alert(1)","requestedSchema":{"properties":{%s:{"type":"string","title":%s,"description":%s,"enum":[%s]}}}}`, raw, raw, raw, raw)})
	parts := fmt.Sprintf(`[{"type":"tool_use","id":%[1]s,"name":%[1]s,"arguments":{%[1]s:%[1]s}},{"type":"tool_result","tool_use_id":%[1]s,"content":%[1]s},
		{"type":"file","url":"javascript:alert(1)","name":%[1]s,"mime_type":%[1]s},{"type":"source","url":"https://a.example/\"x","title":%[1]s},
		{"type":"custom","kind":%[1]s,"data":%[1]s},{"type":"thinking","text":%[1]s}, 7, null, {"type":3}]`, raw)
	check := func(when string) {
		t.Helper()
		body := b.get(here).body
		for _, bad := range []string{"<img src=x", "<script>alert", `href="javascript:`, "ZgotmplZ"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s: the page has %s", when, bad)
			}
		}
		if shown := regexp.MustCompile(`>[^<]*\x{202e}`).FindString(body); shown != "" {
			t.Errorf("%s: text is turned: %s", when, shown)
		}
	}
	check("asking")
	p.reply(f, beeos.Message{Body: evil + "\n\n" + evil, Parts: []byte(parts)})
	check("answered")
	body := b.get(here).body
	for _, want := range []string{`&lt;script&gt;alert(2)`, `href="https://a.example/%22x"`, `<mark class="odd" title="a character that cannot be seen">⟨U`, "The result of &#34;&gt;&lt;img"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s on the page", want)
		}
	}
	if res := b.post(here+"/title", url.Values{"title": {evil}}); res.location() != here+"?did=titled" {
		t.Errorf("renaming gave %d", res.status)
	}
	check("renamed")
}

// TestConversationsComeInPages: many conversations come in pages, and of a long
// one the end.
func TestConversationsComeInPages(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	a := k.agents(ann, 1)[0]
	b := k.signedIn(ann)
	page := "/agents/" + a.ID + "/chat"
	if body := b.get(page).body; !strings.Contains(body, "Talk with Agent 0") || !strings.Contains(body, "None yet.") {
		t.Error("a page without conversations does not say so")
	}
	var ch beeos.Channel
	for range 60 {
		ch = beeos.Channel{ID: beeos.NewChannelID(), AgentID: a.ID, Owner: "user:" + ann.ID, Kind: beeos.KindConversation}
		if err := k.ledger.CreateChannel(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
	}
	body := b.get(page).body
	older := regexp.MustCompile(`href="([^"]+\?before=[^"]+)"`).FindStringSubmatch(body)
	if strings.Count(body, "data-chat=") != 50 || older == nil {
		t.Fatalf("%d conversations", strings.Count(body, "data-chat="))
	}
	if n := strings.Count(b.get(older[1]).body, "data-chat="); n != 10 {
		t.Errorf("%d older ones", n)
	}
	if body := b.get(page + "/" + ch.ID).body; strings.Contains(body, "data-turn=") || !strings.Contains(body, "Talk with") {
		t.Error("an empty conversation is not")
	}
	for i := range 60 {
		o := &ledger.Opening{Channel: ch, Message: beeos.Message{ID: beeos.NewID(), Channel: ch.ID, Type: beeos.ChatMessage, Publisher: ch.Owner, Body: fmt.Sprint("question ", i)}}
		if _, _, err := k.ledger.BeginRequest(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if _, err := k.ledger.Finish(t.Context(), beeos.Message{Channel: ch.ID, InReplyTo: o.Message.ID, Type: beeos.AgentReply, Body: fmt.Sprint("answer ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		query string
		turns int
	}{{"", 50}, {"?last=200", 60}, {"?last=x", 50}, {"?last=1", 50}} {
		body := b.get(page + "/" + ch.ID + c.query).body
		if n := strings.Count(body, "data-turn="); n != c.turns || !strings.Contains(body, "answer 59") || strings.Contains(body, "Show earlier") != (c.turns == 50) {
			t.Errorf("%s: %d turns", c.query, n)
		}
	}
	if res := b.post(page+"/"+ch.ID+"/delete", nil); res.location() != page+"?did=chat-deleted" {
		t.Errorf("deleting gave %d", res.status)
	}
	if res := b.get(page + "/" + ch.ID); res.status != http.StatusNotFound {
		t.Errorf("what was deleted is %d", res.status)
	}
}

// TestPageOfLongAnswersIsBounded: however long its answers are, a page of a
// conversation takes no more than so much memory, and says that there is more.
func TestPageOfLongAnswersIsBounded(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	a := k.agents(ann, 1)[0]
	ch := beeos.Channel{ID: beeos.NewChannelID(), AgentID: a.ID, Owner: "user:" + ann.ID, Kind: beeos.KindConversation}
	if err := k.ledger.CreateChannel(t.Context(), ch); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("words ", 1<<20/6)
	for i := range 2 * maxPageBytes / len(long) {
		o := &ledger.Opening{Channel: ch, Message: beeos.Message{ID: beeos.NewID(), Channel: ch.ID, Type: beeos.ChatMessage, Publisher: ch.Owner, Body: fmt.Sprint("question ", i)}}
		if _, _, err := k.ledger.BeginRequest(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if _, err := k.ledger.Finish(t.Context(), beeos.Message{Channel: ch.ID, InReplyTo: o.Message.ID, Type: beeos.AgentReply, Body: fmt.Sprint("answer ", i, " ", long)}); err != nil {
			t.Fatal(err)
		}
	}
	page := k.signedIn(ann).get("/agents/" + a.ID + "/chat/" + ch.ID + "?last=3200").body
	last := fmt.Sprint("answer ", 2*maxPageBytes/len(long)-1)
	if len(page) > 3*maxPageBytes || !strings.Contains(page, last) || !strings.Contains(page, "Earlier messages are too long") {
		t.Errorf("a page of %d bytes", len(page))
	}
}

// TestPageSaysHowAnswersEnd: how an answer can end, and what the page says
// then.
func TestPageSaysHowAnswersEnd(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	p := k.puppet(k.agents(ann, 1)[0])
	b := k.signedIn(ann)
	here := b.begins(p.agent, "one")
	for i, c := range []struct {
		end  beeos.Message
		want []string
	}{
		{beeos.Message{Body: "**done**"}, []string{"<strong>done</strong>", "Copy this answer"}},
		{beeos.Message{}, []string{"Agent 0 said nothing."}},
		{beeos.Message{Type: beeos.AgentReplyError, Body: "no <disk>"}, []string{"Agent 0 failed: no &lt;disk&gt;.", "log may say more", "Try again"}},
		{beeos.Message{Type: beeos.AgentReplyError, StopReason: beeos.StopTimeout}, []string{"No answer came in time.", "Try again"}},
		{beeos.Message{Type: beeos.AgentReplyError, StopReason: beeos.StopAgentLost, Body: "gone"}, []string{"went away", "its process runs"}},
		{beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateCancelled, Payload: []byte(`{"partial":"half an"}`)}, []string{"Stopped.", "half an"}},
		{beeos.Message{Type: beeos.AgentRefuse, Body: "not my job"}, []string{"Agent 0 declined: not my job.", "Ask in another way"}},
		{beeos.Message{Type: beeos.AgentBusy}, []string{"Agent 0 is busy.", "in a moment"}},
	} {
		if i > 0 {
			b.post(here, url.Values{"message": {"next"}, "key": {fmt.Sprint(i)}})
		}
		f := p.turn()
		if body := b.get(here).body; !strings.Contains(body, "Working…") || !strings.Contains(body, `form="stop-form"`) {
			t.Errorf("%d: the page does not say that the agent works", i)
		}
		p.reply(f, c.end)
		body := b.get(here).body
		turn := body[strings.Index(body, `id="turn-`+f.MessageID):]
		for _, want := range c.want {
			if !strings.Contains(turn, want) {
				t.Errorf("%d: no %q in %s", i, want, turn)
			}
		}
		if strings.Contains(turn, "Working…") || strings.Contains(body, `form="stop-form"`) {
			t.Errorf("%d: it looks as if the agent went on", i)
		}
	}
}

// TestConversationIsLive: words come as they are said and replace each other;
// whoever comes back gets the present state, or nothing when they have it; who
// is signed out hears no more.
func TestConversationIsLive(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	p := k.puppet(k.agents(ann, 1)[0])
	b := k.signedIn(ann)
	here := b.begins(p.agent, "one")
	f := p.turn()
	live := func() string {
		t.Helper()
		m := regexp.MustCompile(`hx-sse:connect="([^"]+)"`).FindStringSubmatch(b.get(here).body)
		if m == nil {
			t.Fatal("the page has no stream")
		}
		return strings.ReplaceAll(m[1], "&amp;", "&")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events := b.follow(ctx, live(), "")
	if e := next(t, events); strings.Contains(e.data, `id="turn-`) || !strings.Contains(e.data, `hx-target="#badge"`) {
		t.Fatalf("a page that has the transcript gets it again: %s", e.data)
	}
	all := b.follow(ctx, here+"/live", "")
	if e := next(t, all); !strings.Contains(e.data, `<hx-partial hx-target="#transcript" hx-swap="innerMorph"><section class="turn" id="turn-`+f.MessageID) {
		t.Fatalf("one that has nothing gets %s", e.data)
	}
	until := func(events <-chan event, parts ...string) event {
		t.Helper()
		for {
			e := next(t, events)
			found := true
			for _, part := range parts {
				found = found && strings.Contains(e.data, part)
			}
			if found {
				return e
			}
		}
	}
	p.tell(f, beeos.Event{Reasoning: "hm"})
	p.tell(f, beeos.Event{Part: []byte(`{"type":"tool_use","id":"1","name":"files__save","arguments":{"a":1}}`)})
	p.tell(f, beeos.Event{Text: "Once "})
	p.tell(f, beeos.Event{Text: "*upon*"})
	for _, events := range []<-chan event{events, all} {
		e := until(events, "<p>Once <em>upon</em></p>", "files / save", "running", "Thoughts")
		if strings.Count(e.data, "Once") != 1 || !strings.Contains(e.data, `hx-target="#turn-`+f.MessageID+`" hx-swap="outerMorph"`) {
			t.Errorf("%s", e.data)
		}
	}
	p.tell(f, beeos.Event{Kind: beeos.EventProgress, Text: "half", Progress: 1, Total: 2})
	until(events, "half", `value="50"`)
	p.reply(f, beeos.Message{Body: "Once upon a time", Parts: []byte(`[{"type":"thinking","text":"hm"},{"type":"tool_use","id":"1","name":"files__save","arguments":{"a":1}},{"type":"tool_result","tool_use_id":"1","content":"saved"}]`)})
	last := until(events, "Once upon a time", "saved", ">done<")
	b.post(here, url.Values{"message": {"two"}, "key": {"2"}})
	g := p.turn()
	until(events, `<hx-partial hx-target="#transcript" hx-swap="beforeend"><section class="turn" id="turn-`+g.MessageID)
	p.reply(g, beeos.Message{Body: "second"})
	last = until(events, "second")
	again := b.follow(ctx, here+"/live", last.id)
	if e := next(t, again); strings.Contains(e.data, `id="turn-`) {
		t.Errorf("who comes back with all of it gets %s", e.data)
	}
	if err := k.people.EndSessions(t.Context(), ann.ID); err != nil {
		t.Fatal(err)
	}
	for e := range events { // until the server ends it
		t.Logf("one more: %s", e.id)
	}
}
