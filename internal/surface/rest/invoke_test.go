package rest_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

type answerJSON struct {
	Text      string
	ContextID string `json:"context_id"`
	IsError   bool   `json:"is_error"`
}

func (s *stack) invokePath() string { return "/api/v1/agents/" + s.agent + "/invoke" }

func TestInvokeAnswersWithTheReply(t *testing.T) {
	s := start(t)
	s.echo()
	a := ok[answerJSON](s, "POST", s.invokePath(), `{"message":"hello","unknown":1}`)
	if a.Text != "you said: hello" || a.IsError || !strings.HasPrefix(a.ContextID, "ch-") {
		t.Fatalf("answer = %+v", a)
	}
	again := ok[answerJSON](s, "POST", s.invokePath(), `{"message":"more","context_id":"`+a.ContextID+`"}`)
	if again.ContextID != a.ContextID {
		t.Errorf("continued in %s, want %s", again.ContextID, a.ContextID)
	}
	if ms, err := s.ledger.Messages(t.Context(), a.ContextID, 0, 10); err != nil || len(ms) != 4 {
		t.Errorf("%d messages in the conversation (%v), want 4", len(ms), err)
	}
	named := ok[answerJSON](s, "POST", s.invokePath(), `{"message":"a","context_id":"mine"}`)
	named2 := ok[answerJSON](s, "POST", s.invokePath(), `{"message":"b","context_id":"mine"}`)
	if named.ContextID != named2.ContextID || named.ContextID == a.ContextID {
		t.Errorf("named contexts: %s, %s", named.ContextID, named2.ContextID)
	}
	if p := s.do("POST", s.invokePath(), s.key, `{"message":"x","context_id":"`+a.ContextID+`"}`); p.status != 200 {
		t.Errorf("the conversation closed: %s", p.raw)
	}
}

func TestInvokeSomebodyElsesContext(t *testing.T) {
	s := start(t)
	s.echo()
	ok[agentJSON](s, "PATCH", "/api/v1/agents/"+s.agent, `{"visibility":"public"}`)
	mine := ok[answerJSON](s, "POST", s.invokePath(), `{"message":"secret"}`)
	if a := s.do("POST", s.invokePath(), s.other, `{"message":"tell","context_id":"`+mine.ContextID+`"}`); a.status != 404 && a.status != 403 {
		t.Errorf("a stranger in my conversation: %d %s", a.status, a.raw)
	}
	if ms, _ := s.ledger.Messages(t.Context(), mine.ContextID, 0, 10); len(ms) != 2 {
		t.Errorf("%d messages, want 2", len(ms))
	}
}

func TestInvokeOutcomes(t *testing.T) {
	s := start(t)
	s.play(func(f beeos.Frame) *beeos.Message {
		switch f.Body {
		case "fail":
			return &beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateFailed, Body: "index out of range"}
		case "refuse":
			return &beeos.Message{Type: beeos.AgentRefuse, State: beeos.StateRefused, Body: "not that"}
		case "busy":
			return &beeos.Message{Type: beeos.AgentBusy, State: beeos.StateRefused, Body: "one at a time"}
		}
		return nil // never
	})
	a := ok[answerJSON](s, "POST", s.invokePath(), `{"message":"fail"}`)
	if !a.IsError || a.Text != "index out of range" {
		t.Errorf("a failing agent: %+v", a)
	}
	for _, c := range []struct {
		path, body, code string
		status           int
	}{
		{s.invokePath(), `{"message":"refuse"}`, "conflict", 409},
		{s.invokePath(), `{"message":"busy"}`, "conflict", 409},
		{s.invokePath(), `{"message":"never","timeout_ms":30}`, "service_timeout", 504},
		{"/api/v1/agents/" + s.offline + "/invoke", `{"message":"x"}`, "agent_service_unavailable", 503},
		{s.invokePath(), `{}`, "missing_param", 400},
		{s.invokePath(), `{"message":null}`, "missing_param", 400},
		{s.invokePath(), `{"message":"  "}`, "invalid_param", 400},
		{s.invokePath(), `{"message":7}`, "invalid_body", 400},
		{s.invokePath(), `{"Message":"x"}`, "missing_param", 400},
		{s.invokePath(), `{"message":"x","MESSAGE":"y"}`, "invalid_json", 400},
		{s.invokePath(), `{"message":"x","timeout_ms":115001}`, "invalid_param", 400},
		{s.invokePath(), `{"message":"x","timeout_ms":-1}`, "invalid_param", 400},
		{s.invokePath(), `{"message":"x","metadata":{"a":1}}`, "invalid_body", 400},
		{s.invokePath(), `{"message":"x","metadata":{"target_agent_id":"y"}}`, "invalid_param", 400},
		{s.invokePath(), `{"message":"x","attachments":[{"file_id":"f"}]}`, "invalid_param", 400},
		{s.invokePath(), `{"message":"x","context_id":"ch-nonsense"}`, "invalid_param", 400},
		{s.invokePath(), `{"message":"x","context_id":"ch-0\",\"message_id\":\"0000000000000000000000"}`, "invalid_param", 400},
		{s.invokePath(), `{"message":"x","idempotency_key":"` + strings.Repeat("k", 257) + `"}`, "invalid_param", 400},
		{s.invokePath(), `{"message":"` + strings.Repeat("x", 1<<20) + `"}`, "payload_too_large", 413},
		{s.invokePath(), `hello`, "invalid_json", 400},
	} {
		began := time.Now()
		if a := s.do("POST", c.path, s.key, c.body); a.status != c.status || a.code != c.code {
			t.Errorf("%.80s: %d %s, want %d %s", c.body, a.status, a.raw, c.status, c.code)
		}
		if took := time.Since(began); took > 10*time.Second { // nobody answers what gets through
			t.Errorf("%.80s: answered after %s", c.body, took)
		}
	}
}

func TestInvokeIdempotency(t *testing.T) {
	s := start(t)
	var calls atomic.Int32
	started, release := make(chan struct{}), make(chan struct{})
	s.play(func(f beeos.Frame) *beeos.Message {
		n := calls.Add(1)
		if f.Body == "slow" {
			close(started)
			<-release
		}
		return &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: f.Body + strings.Repeat("!", int(n))}
	})
	first := ok[answerJSON](s, "POST", s.invokePath(), `{"message":"once","idempotency_key":"k1"}`)
	second := s.do("POST", s.invokePath(), s.key, `{"message":"once"}`, "Idempotency-Key", "k1")
	var repeated answerJSON
	if err := json.Unmarshal(second.data, &repeated); err != nil || repeated != first {
		t.Errorf("repeated: %s, want %+v", second.raw, first)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the agent was called %d times", n)
	}
	if a := s.do("POST", s.invokePath(), s.key, `{"message":"other","idempotency_key":"k1"}`); a.code != "conflict" {
		t.Errorf("another payload: %d %s", a.status, a.raw)
	}
	if a := s.do("POST", s.invokePath(), s.key, `{"message":"once","idempotency_key":"k1"}`, "Idempotency-Key", "k2"); a.code != "invalid_param" {
		t.Errorf("two keys: %d %s", a.status, a.raw)
	}
	slow := make(chan answer, 1)
	go func() { slow <- s.do("POST", s.invokePath(), s.key, `{"message":"slow","idempotency_key":"k3"}`) }()
	<-started
	if a := s.do("POST", s.invokePath(), s.key, `{"message":"slow","idempotency_key":"k3"}`); a.code != "conflict" {
		t.Errorf("in flight: %d %s", a.status, a.raw)
	}
	close(release)
	if a := <-slow; a.status != 200 {
		t.Errorf("the first of the two: %d %s", a.status, a.raw)
	}
}

// frames reads an event stream to its end: "name|data" per event.
func frames(t *testing.T, resp *http.Response) []string {
	t.Helper()
	defer resp.Body.Close()
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Fatalf("content type %q, status %d", ct, resp.StatusCode)
	}
	var got []string
	name := ""
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if n, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = n
		}
		if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			got = append(got, name+"|"+d)
			name = ""
		}
	}
	return got
}

func TestInvokeStream(t *testing.T) {
	s := start(t)
	s.play(func(f beeos.Frame) *beeos.Message {
		s.bus.Publish(beeos.Event{Kind: beeos.EventDelta, Channel: f.ChannelID, Turn: f.MessageID, Attempt: 1, Seq: 1, Reasoning: "hm"})
		s.delta(f, 2, "Quiet ")
		s.delta(f, 3, "morning")
		if f.Body == "fail" {
			return &beeos.Message{Type: beeos.AgentReplyError, State: beeos.StateFailed, Body: "no"}
		}
		if f.Body == "never" {
			return nil
		}
		return &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "Quiet morning"}
	})
	const context = `"context_id":"ch-00000000-0000-7000-8000-00000000000`
	deltas := []string{`|{"type":"reasoning","text":"hm"}`, `|{"type":"delta","text":"Quiet "}`, `|{"type":"delta","text":"morning"}`}
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{"message":"haiku",` + context + `1"}`, append(deltas[:3:3], `|{"type":"done","text":"Quiet morning",`+context+`1","is_error":false}`)},
		{`{"message":"fail",` + context + `2"}`, append(deltas[:3:3],
			`|{"type":"done","text":"no","code":"agent_reply_error","error":"no",`+context+`2","is_error":true}`)},
		{`{"message":"never","timeout_ms":50}`, append(deltas[:3:3],
			`|{"type":"error","code":"service_timeout","status_code":504,"message":"MESSAGE"}`,
			`|{"type":"done","text":"","code":"service_timeout","error":"MESSAGE","is_error":true}`)},
	} {
		got := frames(t, s.send("POST", s.invokePath(), s.key, c.body, "Accept", "text/event-stream"))
		for i := range got {
			if j := strings.Index(got[i], "the agent did not"); j >= 0 {
				got[i] = got[i][:j] + "MESSAGE" + got[i][j+strings.IndexByte(got[i][j:], '"'):]
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.body, diff)
		}
	}
	// What fails before the first event is a plain refusal.
	if a := s.do("POST", "/api/v1/agents/"+s.offline+"/invoke", s.key, `{"message":"x"}`, "Accept", "text/event-stream"); a.status != 503 || a.code != "agent_service_unavailable" {
		t.Errorf("offline: %d %s", a.status, a.raw)
	}
}
