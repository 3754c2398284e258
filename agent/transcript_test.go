package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// transcript is one file of sdk/spec/transcripts; sdk/spec/README.md says what
// its members mean.
type transcript struct {
	Protocol int           `json:"protocol"`
	Agent    agentSettings `json:"agent"`
	Opening  string        `json:"opening"`
	Talk     []talkStep    `json:"talk"`
}

type agentSettings struct {
	Concurrency  int    `json:"concurrency"`
	DeliveryMode string `json:"delivery_mode"`
	Lane         string `json:"lane"`
	Redelivery   string `json:"redelivery"`
	TimeoutMS    int64  `json:"timeout_ms"`
}

type talkStep struct {
	In      any       `json:"in"`
	Out     any       `json:"out"`
	HTTP    *exchange `json:"http"`
	Connect bool      `json:"connect"`
	Break   bool      `json:"break"`
	Close   int       `json:"close"`
	Reached string    `json:"reached"`
	Release string    `json:"release"`
	Stop    bool      `json:"stop"`
	Ended   any       `json:"ended"`
}

type exchange struct {
	Method        string            `json:"method"`
	Path          string            `json:"path"`
	Authorization *string           `json:"authorization"` // nil = signed
	Headers       map[string]string `json:"headers"`
	Body          any               `json:"body"`
	Status        int               `json:"status"`
	Answer        any               `json:"answer"`
}

// TestTranscripts plays the talks that every SDK has to get right.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("../sdk/spec/transcripts/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var script transcript
			if err := json.Unmarshal(text, &script); err != nil || script.Protocol != 1 {
				t.Fatal(err, script.Protocol)
			}
			newStage(t).play(script)
		})
	}
}

// awaitWithin is how long the agent may take for anything that it must do.
const awaitWithin = 20 * time.Second

// play plays the talk, then sees the agent off.
func (s *stage) play(script transcript) {
	s.t.Helper()
	s.start(script.Agent)
	if script.Opening != "spelled out" {
		s.open()
	}
	for i, step := range script.Talk {
		s.now = fmt.Sprintf("step %d", i+1)
		s.perform(step)
	}
	s.now = "the end"
	s.stop()
	if !s.ended {
		if err := s.awaitEnd(); err != nil {
			s.t.Errorf("it ended with %v", err)
		}
	}
	for len(s.heard) > 0 {
		if e := <-s.heard; e.frame == nil || e.frame["type"] != "drain" {
			s.t.Errorf("more came: %s", e)
		}
	}
}

// open plays what comes before most talks.
func (s *stage) open() {
	s.t.Helper()
	s.now = "the opening"
	bearer := "Bearer oag_test"
	ok := map[string]any{"success": true, "data": map[string]any{"instance_id": "inst_1"}}
	s.perform(talkStep{HTTP: &exchange{Method: "POST", Path: "/api/v1/agents/join", Authorization: &bearer, Body: map[string]any{"name": "fixture", "public_key": "$any"}, Answer: ok}})
	s.perform(talkStep{HTTP: &exchange{Method: "POST", Path: "/api/v1/agents/sync", Body: map[string]any{"agents": "$any"}, Answer: ok}})
	s.perform(talkStep{Connect: true})
	s.perform(talkStep{In: map[string]any{"type": "hello", "agents": map[string]any{"fixture": "agent_1"}, "heartbeat_ms": 10000}})
}

func (s *stage) perform(step talkStep) {
	s.t.Helper()
	switch {
	case step.In != nil:
		s.say(step.In)
	case step.Out != nil:
		s.expectFrames(step.Out)
	case step.HTTP != nil:
		s.expectRequest(step.HTTP)
	case step.Connect:
		s.expectConnection()
	case step.Break:
		s.socket.CloseNow()
	case step.Close > 0:
		s.socket.Close(websocket.StatusCode(step.Close), "")
	case step.Reached != "":
		s.await(s.gate(step.Reached).reached, "nobody reached "+step.Reached)
	case step.Release != "":
		close(s.gate(step.Release).released)
	case step.Stop:
		s.stop()
	case step.Ended != nil:
		s.expectEnd(step.Ended)
	default:
		s.t.Fatalf("%s is unknown", s.now)
	}
}

func (s *stage) say(frames any) {
	s.t.Helper()
	var message bytes.Buffer
	switch frames := s.resolve(frames).(type) {
	case string:
		message.WriteString(frames)
	case []any:
		for _, f := range frames {
			message.Write(encode(s.t, f))
			message.WriteByte('\n')
		}
	default:
		message.Write(encode(s.t, frames))
	}
	if err := s.socket.Write(context.Background(), websocket.MessageText, message.Bytes()); err != nil {
		s.t.Fatalf("%s: %v", s.now, err)
	}
}

func (s *stage) expectFrames(want any) {
	s.t.Helper()
	list, several := want.([]any)
	if !several {
		list = []any{want}
	}
	list = slices.Clone(list)
	for len(list) > 0 {
		got := s.next()
		at := slices.IndexFunc(list, func(w any) bool { return got.frame != nil && s.matches(w, got.frame, true) })
		if at < 0 {
			s.t.Fatalf("%s: got %.2000s\nwant %.2000s", s.now, got, encode(s.t, list))
		}
		list = slices.Delete(list, at, at+1)
	}
}

func (s *stage) expectEnd(want any) {
	s.t.Helper()
	err := s.awaitEnd()
	if text, fails := want.(string); fails {
		if err == nil || !strings.Contains(err.Error(), text) {
			s.t.Errorf("it ended with %v, want %q", err, text)
		}
	} else if err != nil {
		s.t.Errorf("it ended with %v", err)
	}
}

// matches compares as values, and notes what a name stands for. frame says that
// members which are empty are the same as none.
func (s *stage) matches(want, got any, frame bool) bool {
	before := maps.Clone(s.names)
	if s.equal(want, got, frame) {
		return true
	}
	s.names = before
	return false
}

func (s *stage) equal(want, got any, frame bool) bool {
	if name, ok := want.(string); ok && strings.HasPrefix(name, "$") && !strings.HasPrefix(name, "$gateway") {
		if known, ok := s.names[name]; ok {
			return reflect.DeepEqual(known, got)
		}
		if name != "$any" {
			s.names[name] = got
		}
		return true
	}
	want = s.resolve(want)
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if frame {
			want, got = withoutEmpty(want), withoutEmpty(got)
		}
		if !ok || len(want) != len(got) {
			return false
		}
		for name, w := range want {
			if g, ok := got[name]; !ok || !s.equal(w, g, false) {
				return false
			}
		}
		return true
	case []any:
		got, ok := got.([]any)
		return ok && len(want) == len(got) && !slices.ContainsFunc(slices.Collect(indexes(want)), func(i int) bool { return !s.equal(want[i], got[i], false) })
	}
	return reflect.DeepEqual(want, got)
}

func indexes(list []any) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i := range list {
			if !yield(i) {
				return
			}
		}
	}
}

func withoutEmpty(object map[string]any) map[string]any {
	kept := map[string]any{}
	for name, v := range object {
		switch text := fmt.Sprint(v); {
		case v == nil, text == "", v == false, v == 0.0, text == "[]", text == "map[]":
		default:
			kept[name] = v
		}
	}
	return kept
}

// resolve puts values in the place of names, and long texts in the place of how
// they are written.
func (s *stage) resolve(v any) any {
	switch v := v.(type) {
	case string:
		if known, ok := s.names[v]; ok {
			return known
		}
		if rest, ok := strings.CutPrefix(v, "$gateway"); ok {
			return s.server.URL + rest
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = s.resolve(v[i])
		}
		return list
	case map[string]any:
		if repeat, ok := v["$repeat"].([]any); ok {
			return strings.Repeat(repeat[0].(string), int(repeat[1].(float64)))
		}
		object := map[string]any{}
		for name := range v {
			object[name] = s.resolve(v[name])
		}
		return object
	}
	return v
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
