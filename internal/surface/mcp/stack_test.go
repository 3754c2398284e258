package mcp

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/access/auth"
	"github.com/beeos/beeos/internal/access/oauth"
	"github.com/beeos/beeos/internal/engine/blob"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/wire/httpd"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// stack is the real thing under the gateway: store, ledger, bus and calls,
// with an agent at its end that acts by the name of the tool.
type stack struct {
	t       testing.TB
	db      *store.Store
	ledger  *ledger.Ledger
	bus     *bus.Bus
	calls   *invoke.Calls
	oauth   *oauth.Server
	apps    int // clients of it so far
	gateway *Surface
	replica *Surface // a second one, which shares nothing but the stores
	server  *httptest.Server
	other   *httptest.Server // in front of replica

	owner    beeos.User
	instance beeos.Instance
	agents   map[string]string // name -> id
	keys     map[string]string // name -> secret

	over    <-chan struct{} // closed when the test ends
	working sync.WaitGroup

	mu      sync.Mutex
	answers map[string]chan bus.Control // ask or turn -> what came for it
	open    []beeos.Event               // questions without an answer
	seen    []beeos.Frame
	next    chan beeos.Frame // gets the next message for an agent, if set
	later   chan struct{}    // closed when work in the background may end
	flooded chan struct{}    // closed when all of a flood is said
	records []invoke.CallRecord

	ahead atomic.Int64 // how far the clock of both replicas is ahead, in nanoseconds
}

const publicURL = "https://mcp.example.com"

// definitions are the agents of every test.
func definitions() []beeos.Definition {
	hidden := false
	text := "Be kind."
	skillText := "---\nname: filing\ndescription: Files things.\n---\n\nPut it away.\n"
	skill := func(name, description, schema string) beeos.Skill {
		return beeos.Skill{Name: name, Description: description, InputSchema: json.RawMessage(schema)}
	}
	return []beeos.Definition{
		{
			Name: "clerk", DisplayName: "The Clerk", Description: "Does small things.", Version: "1.2.3", Model: "none",
			Instructions: "secret instructions", TimeoutMS: 5000, Completions: true,
			Skills: []beeos.Skill{
				skill("web_search", "Search the web.", `{ "type": "object", "properties": {"query": {"type": "string"}, "max_results": {"type": "integer", "default": 5}}, "required": ["query"] }`),
				{Name: "stream", Title: "Streamer", Description: "Streams.", Annotations: json.RawMessage(`{"readOnlyHint":true}`)},
				{Name: "rich"},
				{Name: "structured"},
				{Name: "fail"},
				{Name: "refuse"},
				{Name: "busy"},
				{Name: "lost"},
				{Name: "ask"},
				{Name: "rounds"},
				{Name: "log"},
				{Name: "hang"},
				{Name: "silent"},
				{Name: "what"},
				skill("attach", "Has attachments of its own.", `{"type":"object","properties":{"attachments":{"type":"array"}}}`),
				skill("remote", "Its schema is elsewhere.", `{"type":"object","properties":{"x":{"$ref":"http://127.0.0.1:1/schema.json"}}}`),
				skill("headed", "Wants arguments in headers.", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"where":{"type":"object","properties":{"floor":{"type":"integer","x-mcp-header":"Floor"},"open":{"type":"boolean","x-mcp-header":"Open"}}}}}`),
				{Name: "job", Execution: json.RawMessage(`{"taskSupport":"required"}`)},
				{Name: "slow", Execution: json.RawMessage(`{"taskSupport":"optional"}`)},
				{Name: "typed", OutputSchema: json.RawMessage(`{"type":"object","required":["n"]}`)},
				{Name: "internal", ExposeAsTool: &hidden},
			},
			Resources: []beeos.Resource{
				{URI: "note://kind", Name: "Note", MIMEType: "text/plain", Text: &text},
				{URI: "note://live", Name: "Live note"},
				{URITemplate: "note://by/{author}", Name: "Notes of an author"},
				{URI: "skill://filing/SKILL.md", Name: "filing", MIMEType: "text/markdown", Text: &skillText},
				{URI: "skill://filing/forms/a.md", Name: "a", MIMEType: "text/markdown", Text: &text},
			},
			Prompts: []beeos.Prompt{
				{
					Name: "greet", Description: "Greets.", Arguments: []beeos.PromptArgument{{Name: "who", Required: true}},
					Messages: json.RawMessage(`[{"role":"user","content":{"type":"text","text":"Greet {who} <b>now</b>."}}]`),
				},
				{Name: "live"},
			},
		},
		{Name: "talker", Description: "Talks."},
		{Name: "quiet", Description: "Nobody serves it."},
		{Name: "closed", Description: "Not for MCP."},
	}
}

func (s *stack) now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

func newStack(t testing.TB) *stack {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &stack{t: t, keys: map[string]string{}, answers: map[string]chan bus.Control{}, over: ctx.Done(), later: make(chan struct{}), flooded: make(chan struct{})}
	var err error
	s.db, err = store.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "test.db")+"?durability=os")
	s.must(err)
	s.bus, err = bus.Open(ctx, bus.Options{})
	s.must(err)
	s.ledger, err = ledger.Open(ctx, s.db.DB, ledger.Options{Committed: invoke.Committed(s.bus)})
	s.must(err)
	files := &files.Files{Table: s.db.Files, Links: &blob.Signer{Key: blob.NewKey(), Base: "https://rest.example.com"}, Now: time.Now}
	s.calls = invoke.New(invoke.Options{Agents: s.db.Agents, Approvals: s.db.Approvals, Cluster: s.db.Cluster, Ledger: s.ledger, Bus: s.bus, Files: files, RateLimit: 100_000, OnCall: s.record})
	s.oauth, err = oauth.New(ctx, oauth.Options{Grants: s.db.Grants, Keys: s.db.Keys, Agents: s.db.Agents, Trail: s.db.Audit, Cluster: s.db.Cluster, Issuer: publicURL, ConsoleURL: "https://console.example.com"})
	s.must(err)
	open := func() (*Surface, *httptest.Server) {
		check := auth.New(auth.Options{Keys: s.db.Keys, Instances: s.db.Instances, People: s.db.People, Cluster: s.db.Cluster, Methods: append(s.oauth.Methods(), s.newKind())})
		g, err := New(Options{Agents: s.db.Agents, Sessions: s.db.Sessions, Cluster: s.db.Cluster, Auth: check, OAuth: s.oauth, Calls: s.calls, Bus: s.bus, Acts: act.New(act.Options{DB: s.db}), PublicURL: publicURL, A2AURL: "https://a2a.example.com", Context: ctx, Now: s.now})
		s.must(err)
		return g, httptest.NewServer(&httpd.Handler{Next: g, Log: slog.New(slog.DiscardHandler)})
	}
	s.gateway, s.server = open()
	s.replica, s.other = open()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.calls.Run(ctx) })
	group.Go(func() error { return s.gateway.Run(ctx) })
	group.Go(func() error { return s.replica.Run(ctx) })
	s.populate(ctx)
	s.bus.OnControl(s.control)
	s.bus.ServeAsks(s.asks)
	t.Cleanup(func() {
		cancel()
		s.server.Close()
		s.other.Close()
		s.must(group.Wait())
		s.working.Wait()
		s.ledger.Close()
		s.bus.Close()
		s.db.Close()
	})
	return s
}

func (s *stack) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// populate makes two users, the agents and a key of every kind.
func (s *stack) populate(ctx context.Context) {
	s.owner = beeos.User{ID: beeos.NewID(), Email: "owner@example.com", Name: "owner", CreatedAt: time.Now()}
	stranger := beeos.User{ID: beeos.NewID(), Email: "stranger@example.com", Name: "stranger", CreatedAt: time.Now()}
	s.must(s.db.People.CreateUser(ctx, s.owner))
	s.must(s.db.People.CreateUser(ctx, stranger))
	public, _, err := ed25519.GenerateKey(nil)
	s.must(err)
	s.instance = beeos.Instance{ID: "inst_" + beeos.NewID(), OwnerID: s.owner.ID, Name: "here", PublicKey: public, CreatedAt: time.Now()}
	s.must(s.db.Instances.Create(ctx, s.instance))
	synced, err := s.db.Agents.Sync(ctx, s.instance, definitions())
	s.must(err)
	s.agents = synced.IDs()
	off := false
	_, err = s.db.Agents.Update(ctx, s.agents["closed"], agents.Patch{MCPEnabled: &off})
	s.must(err)

	s.key(ctx, "user", beeos.Key{Kind: beeos.UserKey, OwnerID: s.owner.ID})
	s.key(ctx, "stranger", beeos.Key{Kind: beeos.UserKey, OwnerID: stranger.ID})
	s.key(ctx, "clerk", beeos.Key{Kind: beeos.AgentKey, OwnerID: s.owner.ID, AgentID: s.agents["clerk"]})
	s.key(ctx, "talker", beeos.Key{Kind: beeos.AgentKey, OwnerID: s.owner.ID, AgentID: s.agents["talker"]})
	s.key(ctx, "limited", beeos.Key{Kind: beeos.AgentKey, OwnerID: s.owner.ID, AgentID: s.agents["talker"], RatePerMinute: 1})
	for _, name := range []string{"clerk", "talker"} {
		stop, err := s.bus.Serve(s.agents[name], s.deliver)
		s.must(err)
		s.t.Cleanup(stop)
	}
}

func (s *stack) key(ctx context.Context, name string, k beeos.Key) {
	secret, hash, prefix := auth.NewKey(k.Kind)
	k.ID, k.Name, k.Prefix, k.CreatedAt = "key_"+name, name, prefix, time.Now()
	s.must(s.db.Keys.Create(ctx, k, hash))
	s.keys[name] = secret
}

func (s *stack) record(r invoke.CallRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = append(s.records, r)
}

// ended reports whether a call of the tool ended in that way.
func (s *stack) ended(tool, outcome string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.records, func(r invoke.CallRecord) bool { return r.What == tool && r.Outcome == outcome })
}

// control catches what the gateway tells agents.
func (s *stack) control(c bus.Control) {
	if c.Kind != bus.Answer && c.Kind != bus.Cancel && c.Kind != bus.Continue {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(ev beeos.Event) bool { return ev.AskID == c.ID })
	if ch := s.answers[c.ID]; ch != nil {
		ch <- c
	}
}

func (s *stack) asks(turn string) (open []beeos.Event, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range s.open {
		if ev.Turn == turn {
			open = append(open, ev)
		}
	}
	return open, true
}

// expect returns a wait for the control message for an ask or a turn.
func (s *stack) expect(id string) (wait func() bus.Control) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan bus.Control, 1)
	s.answers[id] = ch
	return func() bus.Control {
		select {
		case c := <-ch:
			return c
		case <-s.over:
			return bus.Control{}
		}
	}
}

// nextFrame returns where the next message for an agent will show.
func (s *stack) nextFrame() chan beeos.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = make(chan beeos.Frame, 1)
	return s.next
}

// frames returns what the agents were given so far.
func (s *stack) frames() []beeos.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// deliver is the agents' end. Each message is worked on in a goroutine of its
// own, which the test's end waits for.
func (s *stack) deliver(d bus.Dispatch) bool {
	var f beeos.Frame
	if err := json.Unmarshal(d.Frame, &f); err != nil {
		s.t.Error(err)
		return false
	}
	a := &testAgent{s: s, f: f, d: d, cancelled: s.expect(f.MessageID)}
	s.mu.Lock()
	s.seen = append(s.seen, f)
	if s.next != nil {
		s.next <- f
		s.next = nil
	}
	s.mu.Unlock()
	s.working.Go(a.work)
	return true
}

// testAgent answers one message.
type testAgent struct {
	s   *stack
	f   beeos.Frame
	d   bus.Dispatch
	seq int64

	cancelled func() bus.Control
}

func (a *testAgent) publish(ev beeos.Event) {
	a.seq++
	ev.Channel, ev.Turn, ev.Attempt, ev.Seq = a.d.Channel, a.d.MessageID, a.d.Attempt, a.seq
	a.s.bus.Publish(ev)
}

func (a *testAgent) finish(m beeos.Message) {
	if m.Type == "" {
		m.Type, m.State, m.StopReason = beeos.AgentReply, beeos.StateCompleted, beeos.StopEndTurn
	}
	m.Channel, m.InReplyTo, m.Publisher = a.d.Channel, a.d.MessageID, "agent:"+a.d.AgentID
	_, _ = a.s.ledger.Finish(context.Background(), m) // fails when the test is over
}

func (a *testAgent) say(body string) { a.finish(beeos.Message{Body: body}) }

func (a *testAgent) work() {
	var call beeos.Call
	_ = json.Unmarshal(a.f.Payload, &call)
	switch call.Method {
	case "resources/read":
		if strictjson.Field(call.Params, "uri") != nil && string(strictjson.Field(call.Params, "uri")) == `"note://live"` {
			a.finish(beeos.Message{Parts: json.RawMessage(`[{"type":"resource","resource":{"uri":"note://live","text":"fresh"}}]`)})
			return
		}
		a.say("by " + string(call.Params))
		return
	case "completion/complete":
		a.finish(beeos.Message{Payload: json.RawMessage(`{"result":{"completion":{"values":["Ann","Anton"]}}}`)})
		return
	case "prompts/get":
		a.finish(beeos.Message{Payload: json.RawMessage(`{"result":{"messages":[{"role":"assistant","content":{"type":"text","text":"live"}}]}}`)})
		return
	}
	switch call.Tool {
	case "stream":
		a.publish(beeos.Event{Kind: beeos.EventDelta, Text: "one "})
		a.publish(beeos.Event{Kind: beeos.EventDelta, Reasoning: "hm"})
		a.publish(beeos.Event{Kind: beeos.EventProgress, Progress: 50, Total: 100, Text: "half"})
		a.publish(beeos.Event{Kind: beeos.EventDelta, Text: "\"two\"\n"})
		a.say("one \"two\"\n")
	case "rich":
		a.finish(beeos.Message{
			Body:    "look",
			Parts:   json.RawMessage(`[{"type":"thinking","text":"no"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"resource_link","uri":"note://kind","name":"Note"},{"type":"text","text":"more"}]`),
			Payload: json.RawMessage(`{"_meta":{"trace":"t1"}}`),
		})
	case "structured":
		a.finish(beeos.Message{Parts: json.RawMessage(`[{"type":"structured","data":{"n": 1}}]`)})
	case "fail":
		a.finish(beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateFailed, StopReason: beeos.StopError, Body: "no luck"})
	case "refuse":
		a.finish(beeos.Message{Type: beeos.AgentRefuse, State: beeos.StateRefused, StopReason: beeos.StopRefused, Body: "I would rather not"})
	case "busy":
		a.finish(beeos.Message{Type: beeos.AgentBusy, State: beeos.StateRefused})
	case "lost":
		a.finish(beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateFailed, StopReason: beeos.StopAgentLost})
	case "ask":
		a.ask(call.Arguments)
	case "rounds":
		a.rounds(call)
	case "job", "slow", "typed":
		a.job(call)
	case "log":
		a.publish(beeos.Event{Kind: beeos.EventLog, Level: "warning", Logger: "clerk", Data: json.RawMessage(`{"disk":"full"}`)})
		a.say("logged")
	case "hang":
		a.publish(beeos.Event{Kind: beeos.EventProgress, Progress: 1, Text: "hanging"})
		c := a.cancelled()
		a.finish(beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateCancelled, StopReason: beeos.StopUser, Body: c.Reason})
	case "silent":
	case "what":
		payload, _ := json.Marshal(call)
		a.say(string(payload))
	case "":
		a.say("you said: " + a.f.Body)
	default:
		a.say(call.Tool + " " + string(call.Arguments))
	}
}

// ask puts a question to the client and tells what came back.
func (a *testAgent) ask(arguments []byte) {
	method, _ := strictjson.StringField(arguments, "method")
	a.say(string(a.put("q", method, strictjson.Field(arguments, "params"), 0)().Data))
}

// job is what its arguments say, some of it in the background.
func (a *testAgent) job(call beeos.Call) {
	how, _ := strictjson.StringField(call.Arguments, "how")
	switch how {
	case "background":
		a.publish(beeos.Event{Kind: beeos.EventBackground})
		a.put("one", "elicitation/create", []byte(`{}`), 2)
		a.put("two", "roots/list", nil, 2)
		a.cancelled()
	case "later":
		a.publish(beeos.Event{Kind: beeos.EventBackground})
		select {
		case <-a.s.later:
			a.say("later")
		case <-a.s.over:
		}
	case "work":
		select {
		case <-a.s.later:
			a.finish(beeos.Message{Body: "finished", Parts: json.RawMessage(`[{"type":"structured","data":{"n":1}}]`)})
		case <-a.s.over:
		}
	case "flood":
		for i := range floodDeltas {
			a.publish(beeos.Event{Kind: beeos.EventDelta, Text: floodText(i)})
		}
		close(a.s.flooded)
		select {
		case <-a.s.later:
			a.say("flooded")
		case <-a.s.over:
		}
	case "asks later":
		select {
		case <-a.s.later:
			one, two := a.put("one", "elicitation/create", []byte(`{}`), 2), a.put("two", "roots/list", nil, 2)
			a.say(string(one().Data) + string(two().Data))
		case <-a.s.over:
		}
	case "asks":
		one, two := a.put("one", "elicitation/create", []byte(`{}`), 2), a.put("two", "roots/list", nil, 2)
		a.say(string(one().Data) + string(two().Data))
	case "hang":
		a.finish(beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateCancelled, StopReason: beeos.StopUser, Body: a.cancelled().Reason})
	case "fail":
		a.finish(beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateFailed, StopReason: beeos.StopError, Body: "no luck"})
	case "fault":
		a.finish(beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateFailed, Payload: json.RawMessage(`{"error":{"code":-32603,"message":"broken"}}`)})
	case "again":
		a.rounds(call)
	default:
		a.say("done")
	}
}

// put publishes a question; wait brings its answer.
func (a *testAgent) put(key, method string, params []byte, total float64) (wait func() bus.Control) {
	ev := beeos.Event{
		Kind: beeos.EventAsk, Channel: a.d.Channel, Turn: a.d.MessageID,
		AskID: beeos.NewID(), Key: key, Total: total, Method: method, Data: params,
	}
	wait = a.s.expect(ev.AskID)
	a.s.mu.Lock()
	a.s.open = append(a.s.open, ev)
	a.s.mu.Unlock()
	a.publish(ev)
	a.s.bus.Control(bus.Control{Kind: bus.TurnChanged, ID: ev.Turn})
	return wait
}

// rounds asks in the ways that its arguments say: two questions at once, one
// after the other, or by ending the turn.
func (a *testAgent) rounds(call beeos.Call) {
	how, _ := strictjson.StringField(call.Arguments, "how")
	form := []byte(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)
	switch {
	case how == "together":
		first, second := a.put("one", "elicitation/create", form, 2), a.put("two", "roots/list", nil, 2)
		a.say(string(first().Data) + string(second().Data))
	case how == "after":
		one := string(a.put("one", "elicitation/create", form, 1)().Data)
		a.say(one + string(a.put("two", "elicitation/create", form, 1)().Data))
	case how == "pause":
		a.publish(beeos.Event{Kind: beeos.EventAsk, AskID: beeos.PauseAsk + "1", Key: "p", Method: "elicitation/create", Data: []byte(`{"message":"which?"}`)})
		a.cancelled()
	case how == "fault":
		a.finish(beeos.Message{Type: beeos.AgentReplyError, Payload: json.RawMessage(`{"error":{"code":-32021,"message":"needs a model","data":{"requiredCapabilities":{"sampling":{}}}}}`)})
	case call.State == "":
		a.finish(beeos.Message{Body: "input required: one", Payload: json.RawMessage(`{"input_required":{"requests":{"one":{"method":"elicitation/create","params":` + string(form) + `}},"state":"s1"}}`)})
	default:
		a.say(call.State + string(call.Input["one"]))
	}
}
