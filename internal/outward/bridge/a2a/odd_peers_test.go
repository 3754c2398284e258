package a2a_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/a2a"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// oddPeer is a peer that says what a test wants it to say.
type oddPeer struct {
	*httptest.Server
	card string // with %s for its address

	mu     sync.Mutex
	asked  []string // methods
	answer func(w http.ResponseWriter, method string, params json.RawMessage)
}

func newOddPeer(t *testing.T, card string, answer func(w http.ResponseWriter, method string, params json.RawMessage)) *oddPeer {
	t.Helper()
	p := &oddPeer{card: card, answer: answer}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if r.URL.Path != "/.well-known/agent-card.json" {
				http.NotFound(w, r)
				return
			}
			fmt.Fprint(w, strings.ReplaceAll(p.card, "%s", p.URL))
			return
		}
		var req struct {
			Method string
			Params json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Errorf("the peer got %v", err)
		}
		p.mu.Lock()
		p.asked = append(p.asked, req.Method)
		p.mu.Unlock()
		p.answer(w, req.Method, req.Params)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *oddPeer) methods() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.asked...)
}

const (
	plainCard = `{"name":"odd","version":"1","url":"%s/rpc","protocolVersion":"0.3.0","skills":[]}`
)

func result(w http.ResponseWriter, one string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, one)
}

func near(t *testing.T, app *apptest.App, log *bridgetest.Journal, url string) string {
	t.Helper()
	return bridgetest.Connect(t, app, log, "near", func(ctx context.Context, o agent.Options) error {
		return (&a2a.Options{URL: url}).Run(ctx, settings.Bridge{Header: http.Header{"Authorization": {"Bearer " + bridgetest.Secret}}, Agent: o})
	})
}

// TestOddPeers: peers that die in the middle, speak nonsense, or never stop.
func TestOddPeers(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	task := `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`
	var lives sync.Map // how often each was asked
	count := func(key string) int {
		n, _ := lives.LoadOrStore(key, new(int))
		*n.(*int)++
		return *n.(*int)
	}
	var mu sync.Mutex
	text := ""
	p := newOddPeer(t, bridgetest.StreamingCard, func(w http.ResponseWriter, method string, params json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		if method == "SendStreamingMessage" {
			var m struct {
				Message struct{ Parts []struct{ Text string } }
			}
			_ = json.Unmarshal(params, &m)
			text = m.Message.Parts[0].Text
		}
		switch text + " " + method {
		case "dies SendStreamingMessage":
			bridgetest.WriteEvents(w, task, bridgetest.ArtifactChunk("one ", false), bridgetest.ArtifactChunk("two ", true))
			panic(http.ErrAbortHandler)
		case "dies SubscribeToTask":
			if count(text) == 1 {
				panic(http.ErrAbortHandler) // still dead
			}
			bridgetest.WriteEvents(w, task, bridgetest.ArtifactChunk("one two three ", false), bridgetest.StatusUpdate("COMPLETED", ""))
		case "dies GetTask":
			result(w, `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"one two three four"}]}]}`)
		case "stays dead SendStreamingMessage":
			bridgetest.WriteEvents(w, task)
			panic(http.ErrAbortHandler)
		case "stays dead SubscribeToTask":
			panic(http.ErrAbortHandler)
		case "dead at once SendStreamingMessage":
			panic(http.ErrAbortHandler)
		case "no subscribing SendStreamingMessage":
			bridgetest.WriteEvents(w, task)
		case "no subscribing SubscribeToTask":
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no"}}`)
		case "no subscribing GetTask":
			state := "WORKING"
			if count(text) > 1 {
				state = "COMPLETED"
			}
			result(w, `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_`+state+`","message":{"messageId":"z","parts":[{"text":"looked up"}]}}}`)
		case "changes its mind SendStreamingMessage":
			bridgetest.WriteEvents(w, task, bridgetest.ArtifactChunk("yes", false), bridgetest.ArtifactChunk("no", false), bridgetest.StatusUpdate("COMPLETED", ""))
		case "two artifacts SendStreamingMessage":
			bridgetest.WriteEvents(w, bridgetest.ArtifactChunk("first", false), strings.ReplaceAll(bridgetest.ArtifactChunk("second", false), `"a"`, `"b"`), bridgetest.StatusUpdate("COMPLETED", "ignored"))
		case "notes SendStreamingMessage":
			bridgetest.WriteEvents(w, bridgetest.StatusUpdate("WORKING", "thinking"), bridgetest.StatusUpdate("COMPLETED", ""))
		case "message SendStreamingMessage":
			bridgetest.WriteEvents(w, `{"message":{"messageId":"x","role":"ROLE_AGENT","parts":[{"text":"just words"}]}}`)
		case "not a stream SendStreamingMessage":
			result(w, `{"message":{"messageId":"x","role":"ROLE_AGENT","parts":[{"text":"at once"}]}}`)
		case "html SendStreamingMessage":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		case "garbage SendStreamingMessage":
			bridgetest.WriteEvents(w, task, `{"surprise":[1,{"2":3}]}`)
		case "nothing SendStreamingMessage":
			bridgetest.WriteEvents(w)
		case "secret SendStreamingMessage":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":401,"message":"not with %s"}}`, bridgetest.Secret)
		case "busy SendStreamingMessage":
			w.WriteHeader(http.StatusTooManyRequests)
		case "long line SendStreamingMessage":
			bridgetest.WriteEvents(w, task, bridgetest.ArtifactChunk(strings.Repeat("x", 5<<20), false))
		case "endless SendStreamingMessage":
			for i := range 40 {
				bridgetest.WriteEvents(w, bridgetest.ArtifactChunk(strings.Repeat("x", 1<<19), i > 0))
			}
		case "too large SendStreamingMessage":
			bridgetest.WriteEvents(w, bridgetest.ArtifactChunk(strings.Repeat("x", 2<<20), false), bridgetest.StatusUpdate("COMPLETED", ""))
		case "odd addresses SendStreamingMessage":
			bridgetest.WriteEvents(w, `{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"f","parts":[{"text":"ok"},{"url":"javascript:alert(1)"},{"url":"file:///etc/passwd"}]}}}`, bridgetest.StatusUpdate("COMPLETED", ""))
		case "broken bytes SendStreamingMessage":
			bridgetest.WriteEvents(w, `{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"f","parts":[{"raw":"***"}]}}}`, bridgetest.StatusUpdate("COMPLETED", ""))
		default:
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no such task"}}`)
		}
	})
	var log bridgetest.Journal
	id := near(t, app, &log, p.URL)
	c := client.New(app.REST, app.UserKey)
	const broken, other = "the agent behind this one cannot be reached: ", "the agent behind this one answered with something that is not A2A"
	const large = "the answer of the agent behind this one is too long; it should send a link to a file"
	for _, step := range []struct {
		text, want string
		failed     bool
	}{
		{"dies", "one two three four", false},
		{"stays dead", broken + "EOF", true},
		{"dead at once", broken + "EOF", true},
		{"no subscribing", "looked up", false},
		{"changes its mind", "no", false},
		{"two artifacts", "first\n\nsecond", false},
		{"notes", "thinking", false},
		{"message", "just words", false},
		{"not a stream", "at once", false},
		{"html", other, true},
		{"garbage", other, true},
		{"nothing", other, true},
		{"secret", "the agent behind this one does not let us in; its operator has to check the credential: not with [hidden]", true},
		{"long line", large, true},
		{"endless", large, true},
		{"too large", large, true},
		{"odd addresses", "ok", false},
		{"broken bytes", other, true},
	} {
		got, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: step.text})
		if err != nil || got.IsError != step.failed || !strings.HasPrefix(got.Text, step.want) || !step.failed && got.Text != step.want {
			t.Errorf("%s: %.300v, %v, want %q", step.text, got, err, step.want)
		}
	}
	if _, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: "busy"}); err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("busy: %v", err)
	}
	// One that will never be used is told so.
	for _, m := range p.methods() {
		if m == "CancelTask" {
			return
		}
	}
	t.Errorf("nobody was told to stop: %v", p.methods())
}

// TestLegacyPeerWithoutStreams: 0.3, without streams: the task is asked for until it ends.
func TestLegacyPeerWithoutStreams(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	var sent json.RawMessage
	p := newOddPeer(t, plainCard, func(w http.ResponseWriter, method string, params json.RawMessage) {
		switch method {
		case "message/send":
			sent = params
			result(w, `{"kind":"task","id":"t","contextId":"c","status":{"state":"submitted"}}`)
		case "tasks/get":
			result(w, `{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"old words"},{"kind":"file","file":{"uri":"https://x.example.com/a","name":"a"}}]}]}`)
		}
	})
	id := near(t, app, &bridgetest.Journal{}, p.URL+"/")
	c := client.New(app.REST, app.UserKey)
	got, err := c.Invoke(t.Context(), id, client.InvokeRequest{Message: "hello"})
	if err != nil || got.Text != "old words" {
		t.Errorf("%+v, %v", got, err)
	}
	var m struct {
		Message       map[string]any
		Configuration map[string]any
	}
	if err := json.Unmarshal(sent, &m); err != nil {
		t.Fatal(err)
	}
	delete(m.Message, "messageId")
	want := map[string]any{"kind": "message", "role": "user", "parts": []any{map[string]any{"kind": "text", "text": "hello"}}}
	if diff := cmp.Diff(want, m.Message); diff != "" || m.Configuration["blocking"] != false {
		t.Errorf("%s %v", diff, m.Configuration)
	}
}

// TestPeerComesLate: a peer that is not there yet, and a card that leads
// elsewhere.
func TestPeerComesLate(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	var mu sync.Mutex
	there := false
	p := newOddPeer(t, bridgetest.StreamingCard, func(w http.ResponseWriter, _ string, _ json.RawMessage) {
		bridgetest.WriteEvents(w, bridgetest.ArtifactChunk("late", false), bridgetest.StatusUpdate("COMPLETED", ""))
	})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !there {
			there = true
			http.Error(w, "starting", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, strings.ReplaceAll(bridgetest.StreamingCard, "%s", p.URL))
	}))
	t.Cleanup(front.Close)
	var log bridgetest.Journal
	allowed := bridgetest.Connect(t, app, &log, "late", func(ctx context.Context, o agent.Options) error {
		return (&a2a.Options{URL: front.URL + "/card.json", Origins: []string{p.URL}}).Run(ctx, settings.Bridge{Agent: o})
	})
	if got, err := client.New(app.REST, app.UserKey).Invoke(t.Context(), allowed, client.InvokeRequest{Message: "x"}); err != nil || got.Text != "late" {
		t.Errorf("%+v, %v", got, err)
	}
	a, err := client.New(app.REST, app.UserKey).Agent(t.Context(), allowed)
	if err != nil || len(a.Skills) != 2 || a.Skills[0].Name != "a-b" || a.DisplayName != "odd" {
		t.Errorf("%+v, %v", a, err)
	}
	if !strings.Contains(log.String(), "503") {
		t.Errorf("the log says nothing of the wait:\n%s", log.String())
	}

	// Without leave the credentials do not go there, nor does anything else.
	var refused bridgetest.Journal
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	before := len(p.methods())
	o := agent.Options{Name: "elsewhere", Gateway: app.Agents, Key: app.UserKey, Log: bridgetest.NewLogger(&refused)}
	if err := (&a2a.Options{URL: front.URL + "/card.json"}).Run(ctx, settings.Bridge{Agent: o}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(refused.String(), "the card leads to another place") || len(p.methods()) != before {
		t.Errorf("%s", refused.String())
	}
}
