package web

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/store/approvals"
)

// asksFor lets the agent of a turn ask for a tool call.
func (p *puppet) asksFor(f beeos.Frame, caller beeos.User, tool, arguments string) approvals.Approval {
	p.k.t.Helper()
	return p.k.storeQuestion(p.agent, f, caller.ID, tool, arguments)
}

// TestApprovalsAreDecidedInTheConversation: who may decide sees the card where
// they talk, decides there, and sees what was decided; others see nothing of
// it.
func TestApprovalsAreDecidedInTheConversation(t *testing.T) {
	k := newStack(t)
	ann, bob := k.user("Ann", false), k.user("Bob", false)
	a := k.agents(ann, 1)[0]
	public := beeos.VisiblePublic
	a, err := k.db.Agents.Update(t.Context(), a.ID, agents.Patch{Visibility: &public})
	if err != nil {
		t.Fatal(err)
	}
	p := k.puppet(a)
	me, him := k.signedIn(ann), k.signedIn(bob)
	here := me.begins(a, "save it")
	f := p.turn()
	events := me.follow(t.Context(), here+"/live", "")
	next(t, events)
	p.tell(f, beeos.Event{Part: []byte(`{"type":"tool_use","id":"1","name":"files__save","arguments":{"a": "<b>"}}`)})
	mine := p.asksFor(f, ann, "save", `{"a":"<b>"}`)
	for e := next(t, events); !strings.Contains(e.data, `action="/approvals/`+mine.ID+`/approve" data-quiet`); {
		e = next(t, events)
	}
	bare := p.asksFor(f, ann, "wipe", `{}`) // without a step of its own
	body := me.get(here).body
	for _, want := range []string{"Waiting for you", `&#34;a&#34;: &#34;&lt;b&gt;&#34;`, `id="ask-` + mine.ID, `id="ask-` + bare.ID, "files / wipe", `name="back" value="` + here + `"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	if res := me.post("/approvals/"+mine.ID+"/approve", url.Values{"back": {here}}); res.location() != here+"?did=approved" {
		t.Errorf("approving leads to %q", res.location())
	}
	if res := me.post("/approvals/"+bare.ID+"/reject", url.Values{"back": {"https://evil.example"}, "reason": {"no <way>"}}); res.location() != "/approvals?did=rejected" {
		t.Errorf("rejecting leads to %q", res.location())
	}
	quiet := http.Header{"Sec-Fetch-Site": {"same-origin"}, "Accept": {"text/plain"}, "Hx-Request": {"true"}}
	if res := me.do(http.MethodPost, "/approvals/"+mine.ID+"/reject", url.Values{"back": {here}}, quiet); res.status != http.StatusConflict || !strings.Contains(res.body, "approved already") || strings.Contains(res.body, "<") {
		t.Errorf("a second decision: %d %s", res.status, res.body)
	}
	body = me.get(here).body
	for _, want := range []string{"by you", "rejected", "no &lt;way&gt;"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(body, `id="ask-`) {
		t.Error("a card is there though all is decided")
	}

	his := him.begins(a, "save it")
	g := p.turn()
	p.tell(g, beeos.Event{Kind: beeos.EventProgress, Text: "waiting for approval"})
	p.asksFor(g, bob, "save", `{}`)
	if body := him.get(his).body; strings.Contains(body, "/approve\"") {
		t.Error("a caller who does not own the agent may decide")
	}
}

// TestQuestionsAreAnsweredInTheConversation: what an agent asks is answered
// where it asks, as text or by a form, once.
func TestQuestionsAreAnsweredInTheConversation(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	p := k.puppet(k.agents(ann, 1)[0])
	b := k.signedIn(ann)
	here := b.begins(p.agent, "book a table")
	f := p.turn()
	var heard []bus.Control
	k.bus.OnControl(func(c bus.Control) {
		if c.Kind == bus.Continue || c.Kind == bus.Answer {
			heard = append(heard, c)
		}
	})
	p.reply(f, beeos.Message{Type: beeos.AgentInputRequired, Body: "For how many?", State: beeos.StateCompleted})
	question := func() string {
		t.Helper()
		body := b.get(here).body
		at := strings.Index(body, `name="question" value="`)
		if at < 0 {
			t.Fatalf("nothing is asked: %s", body)
		}
		id, _, _ := strings.Cut(body[at+len(`name="question" value="`):], `"`)
		return id
	}
	first := question()
	if res := b.post(here+"/answer", url.Values{"question": {first}}); res.status != http.StatusBadRequest || !strings.Contains(res.body, "Your answer is required") {
		t.Errorf("no answer: %d", res.status)
	}
	if res := b.post(here+"/answer", url.Values{"question": {first}, "f.message": {"four"}}); res.location() != here+"#end" {
		t.Errorf("an answer: %d %s", res.status, res.body)
	}
	if len(heard) != 1 || !strings.Contains(string(heard[0].Data), `"body":"four"`) {
		t.Errorf("the agent heard %+v", heard)
	}
	if res := b.post(here+"/answer", url.Values{"question": {first}, "f.message": {"five"}}); res.status != http.StatusConflict {
		t.Errorf("answered twice: %d", res.status)
	}
	if body := b.get(here).body; !strings.Contains(body, "For how many?") || !strings.Contains(body, `<div class="bubble" dir="auto">four</div>`) {
		t.Error("question and answer are not in the conversation")
	}

	ask := beeos.Event{
		Kind: beeos.EventAsk, Turn: f.MessageID, Channel: f.ChannelID, AskID: "ask_1", Method: "elicitation/create",
		Data: json.RawMessage(`{"message":"Details","requestedSchema":{"properties":{"when":{"type":"string","title":"When"},"seats":{"type":"integer"},"inside":{"type":"boolean"},"menu":{"type":"string","enum":["a","b"]},"tags":{"type":"array"}},"required":["when"]}}`),
	}
	open := []beeos.Event{ask}
	k.bus.ServeAsks(func(string) ([]beeos.Event, bool) { return open, true })
	if id := question(); id != "ask_1" {
		t.Fatalf("asked is %s", id)
	}
	for _, bad := range []url.Values{{}, {"f.when": {"x"}, "f.seats": {"many"}}, {"f.when": {"x"}, "f.seats": {"Inf"}}, {"f.when": {"x"}, "f.tags": {"["}}} {
		bad.Set("question", "ask_1")
		if res := b.post(here+"/answer", bad); res.status != http.StatusBadRequest {
			t.Errorf("%v: %d", bad, res.status)
		}
	}
	b.post(here+"/answer", url.Values{"question": {"ask_1"}, "f.when": {"at 7"}, "f.seats": {"4"}, "f.inside": {"on"}, "f.menu": {"b"}, "f.tags": {`["quiet"]`}, "f.other": {"x"}})
	b.post(here+"/answer", url.Values{"question": {"ask_1"}, "decline": {"yes"}})
	open = nil
	if res := b.post(here+"/answer", url.Values{"question": {"ask_1"}, "f.when": {"x"}}); res.status != http.StatusConflict {
		t.Errorf("what is not asked any more: %d", res.status)
	}
	var said []string
	for _, c := range heard[1:] {
		said = append(said, string(c.Data))
	}
	want := []string{`{"result":{"action":"accept","content":{"inside":true,"menu":"b","seats":4,"tags":["quiet"],"when":"at 7"}}}`, `{"result":{"action":"decline"}}`}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
	p.reply(f, beeos.Message{Type: beeos.AgentAuthRequired, Body: "Sign in there", Payload: []byte(`{"url":"https://bank.example/x"}`), State: beeos.StateCompleted})
	if body := b.get(here).body; !strings.Contains(body, `href="https://bank.example/x"`) || !strings.Contains(body, "Open bank.example") {
		t.Error("there is no way to consent")
	}
	if res := b.post(here+"/answer", url.Values{"question": {question()}}); res.status != http.StatusSeeOther {
		t.Errorf("consent: %d %s", res.status, res.body)
	}
}

// TestStopCancelsOpenTurns: Stop cancels what is open, for the agent as well.
func TestStopCancelsOpenTurns(t *testing.T) {
	k := newStack(t)
	ann := k.user("Ann", false)
	p := k.puppet(k.agents(ann, 1)[0])
	b := k.signedIn(ann)
	here := b.begins(p.agent, "count to a million")
	f := p.turn()
	cancelled := make(chan string, 4)
	k.bus.OnControl(func(c bus.Control) {
		if c.Kind == bus.Cancel {
			cancelled <- c.ID
		}
	})
	if res := b.post(here+"/delete", nil); res.status != http.StatusConflict || !strings.Contains(res.body, "still works") {
		t.Errorf("deleted in mid-answer: %d", res.status)
	}
	for range 2 {
		if res := b.post(here+"/stop", nil); res.location() != here+"#end" {
			t.Errorf("stop: %d", res.status)
		}
	}
	if id := <-cancelled; id != f.MessageID || len(cancelled) > 0 {
		t.Errorf("cancelled %s and %d more", id, len(cancelled))
	}
	if body := b.get(here).body; !strings.Contains(body, "Stopping…") {
		t.Error("the page does not say that it stops")
	}
}

// TestFilesReachTheAgentOnce: what is attached reaches the agent, and once.
func TestFilesReachTheAgentOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	buzz := strings.Repeat("buzz", 512<<10) // more than is kept in memory while it comes in
	k := newStack(t)
	ann := k.user("Ann", false)
	p := k.puppet(k.agents(ann, 1)[0])
	b := k.signedIn(ann)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	form.WriteField("message", "look") //nolint:errcheck // a buffer
	form.WriteField("key", "page")     //nolint:errcheck // a buffer
	part, err := form.CreateFormFile("file", "bees<b>.txt")
	if err != nil {
		t.Fatal(err)
	}
	part.Write([]byte(buzz)) //nolint:errcheck // a buffer
	form.Close()             //nolint:errcheck // a buffer
	send := func() string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.web+"/agents/"+p.agent.ID+"/chat", bytes.NewReader(body.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", form.FormDataContentType())
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		for name, value := range b.cookies[req.URL.Host] {
			req.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusSeeOther {
			t.Fatalf("%d", res.StatusCode)
		}
		return res.Header.Get("Location")
	}
	here := send()
	if again := send(); again != here {
		t.Errorf("sent twice it is at %s and %s", here, again)
	}
	f := p.turn()
	var files []struct {
		Name string `json:"name"`
		Size int    `json:"size"`
		URL  string `json:"url"`
	}
	if err := json.Unmarshal(f.Parts, &files); err != nil || len(files) != 1 || files[0].Size != len(buzz) || !strings.HasPrefix(files[0].URL, "http://rest.example/") {
		t.Errorf("the agent got %s", f.Parts)
	}
	if page := b.get(here).body; !strings.Contains(page, "bees&lt;b&gt;.txt</span>") || strings.Count(page, "data-turn=") != 1 {
		t.Error("the page does not show the file, or shows it twice")
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "multipart-*")); err != nil || len(left) > 0 {
		t.Errorf("uploads stay on the disk: %q, %v", left, err)
	}
}

// TestFormerAdminSeesNoApprovals: a stream that is open when somebody stops
// being an admin shows what they may see from then on.
func TestFormerAdminSeesNoApprovals(t *testing.T) {
	k := newStack(t)
	k.user("Root", true)
	ann, carl := k.user("Ann", false), k.user("Carl", true)
	public := beeos.VisiblePublic
	a, err := k.db.Agents.Update(t.Context(), k.agents(ann, 1)[0].ID, agents.Patch{Visibility: &public})
	if err != nil {
		t.Fatal(err)
	}
	p := k.puppet(a)
	him := k.signedIn(carl)
	here := him.begins(a, "save it")
	f := p.turn()
	events := him.follow(t.Context(), here+"/live", "")
	next(t, events)
	if err := k.people.SetAdmin(t.Context(), carl.ID, false); err != nil {
		t.Fatal(err)
	}
	q := p.asksFor(f, carl, "save", `{"a":"private"}`)
	const lookEvery = 500 * time.Millisecond // how often a stream looks for decisions
	over := time.After(3 * lookEvery)
	for {
		k.site.WakeStreams()
		select {
		case e := <-events:
			if strings.Contains(e.data, q.ID) {
				t.Fatal("who is no admin any more sees what others have to decide")
			}
		case <-time.After(lookEvery / 5):
		case <-over:
			return
		}
	}
}
