package a2a_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
)

// stack is a whole BeeOS with an agent that does what its message says.
type stack struct {
	*apptest.App
	t     *testing.T
	agent string
	url   string // of the agent
	key   string // a user key of its owner
}

func start(t *testing.T, change ...func(*config.Config)) *stack {
	t.Helper()
	cfg := apptest.Config(t)
	for _, c := range change {
		c(&cfg)
	}
	s := &stack{App: apptest.Start(t, cfg), t: t}
	s.key = s.UserKey
	s.agent = s.connect("worker", work)
	s.url = s.A2A + "/" + s.agent
	return s
}

// connect runs an agent until the test ends.
func (s *stack) connect(name string, handler agent.Handler) string {
	s.t.Helper()
	connected := make(chan string, 1)
	a, err := agent.New(agent.Options{
		Name: name, Description: "Does what it is told.", Gateway: s.Agents, Key: s.UserKey, Identity: filepath.Join(s.t.TempDir(), name+".json"),
		Connected: func(id string) {
			select {
			case connected <- id:
			default: // again
			}
		},
	}, handler)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }() // awaited by the cleanup
	s.t.Cleanup(func() { cancel(); <-ended })
	select {
	case id := <-connected:
		return id
	case err := <-ended:
		s.t.Fatalf("the agent did not connect: %v", err)
		return ""
	}
}

// work is the agent: "pause" asks, "wait" goes on until it is cancelled, "finish"
// and "giveup" answer that, "fail" fails, "refuse" refuses, everything else is said back in pieces.
func work(ctx context.Context, m agent.Message, r *agent.Reply) error {
	switch word, _, _ := strings.Cut(m.Text, " "); word {
	case "pause":
		said, err := r.InputRequired(ctx, "Which colour?", nil)
		if err != nil {
			return err
		}
		return r.Send("You chose " + said.Text)
	case "consent":
		if _, err := r.AuthRequired(ctx, "May I?", nil); err != nil {
			return err
		}
		return r.Send("Thank you")
	case "wait":
		if err := r.Delta("waiting"); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	case "finish":
		<-ctx.Done()
		return r.Send("nearly done")
	case "giveup":
		<-ctx.Done()
		return r.Refuse("not any more")
	case "fail":
		return r.Fail("it broke")
	case "refuse":
		return r.Refuse("not today")
	case "meta":
		return r.Send(m.Metadata["a2a_agent_id"] + "|" + m.Metadata["colour"] + "|" + string(m.Parts))
	}
	for _, piece := range strings.SplitAfter("you said: "+m.Text, " ") {
		if err := r.Delta(piece); err != nil {
			return err
		}
	}
	return nil
}

// response is what came back.
type response struct {
	*http.Response
	body []byte
}

func (r response) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(r.body, &v); err != nil {
		t.Fatalf("not JSON: %.300s", r.body)
	}
	return v
}

// do sends a request; headers come in pairs.
func (s *stack) do(method, url, body string, headers ...string) response {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	resp := s.open(ctx, method, url, strings.NewReader(body), headers...)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{resp, all}
}

func (s *stack) open(ctx context.Context, method, url string, body io.Reader, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.key)
	req.Header.Set("A2A-Version", "1.0")
	for i := 0; i < len(headers); i += 2 {
		if req.Header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			req.Header.Del(headers[i])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// rpc calls a method.
func (s *stack) rpc(method, params string, headers ...string) map[string]any {
	s.t.Helper()
	return s.do("POST", s.url, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, headers...).json(s.t)
}

// message is the params of a SendMessage in 1.0.
func message(id, text string, more ...string) string {
	raw, _ := json.Marshal(text) //nolint:errcheck // a string
	return `{"message":{"role":"ROLE_USER","messageId":"` + id + `","parts":[{"text":` + string(raw) + `}]` + strings.Join(more, "") + `}}`
}

// at reads a path of names and indexes out of JSON; nil when it leads nowhere.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			a, _ := v.([]any)
			if p >= len(a) {
				return nil
			}
			v = a[p]
		}
	}
	return v
}

// stream opens a stream and sends its events as JSON, until it ends.
func (s *stack) stream(ctx context.Context, url, body string, headers ...string) <-chan map[string]any {
	s.t.Helper()
	resp := s.open(ctx, "POST", url, strings.NewReader(body), headers...)
	events := make(chan map[string]any, 100)
	go func() { // ends with the stream
		defer close(events)
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: ")); ok {
				var v map[string]any
				if json.Unmarshal(data, &v) == nil {
					events <- v
				}
			}
		}
	}()
	return events
}
