package rest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

type replayJSON struct {
	ID, Status string
	ReplayOf   string `json:"replay_of"`
	AgentID    string `json:"agent_id"`
	ContextID  string `json:"context_id"`
}

// TestCallsAreReplayed: a call with a file is made again with a link that works,
// once under one key, after it was confirmed, and both calls show it.
func TestCallsAreReplayed(t *testing.T) {
	s := start(t)
	frames := make(chan beeos.Frame, 10)
	s.play(func(f beeos.Frame) *beeos.Message {
		frames <- f
		return &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "seen"}
	})
	key := ok[madeKey](s, "POST", "/api/v1/agents/"+s.agent+"/keys", `{"name":"ci"}`)
	up := s.do("POST", "/api/v1/files/presign-upload", key.Key, `{"filename":"a.txt","content_type":"text/plain"}`)
	var file uploadJSON
	if err := json.Unmarshal(up.data, &file); err != nil {
		t.Fatal(err, up.raw)
	}
	if a := s.put(file.UploadURL, "my text"); a.status >= 300 {
		t.Fatal(a.raw)
	}
	if a := s.do("POST", s.invokePath(), key.Key, `{"message":"look","attachments":[{"file_id":"`+file.FileID+`"}]}`); a.status != 200 {
		t.Fatal(a.raw)
	}
	first := <-frames
	s.ahead.Store(int64(90 * time.Minute)) // the first link has run out

	path := "/api/v1/calls/" + first.MessageID + "/replay"
	for body, c := range map[string]struct {
		status int
		code   string
	}{
		`{}`:                                   {409, "confirmation_required"}, // it has a tool
		`{"agent_id":"agent_none"}`:            {404, "agent_not_found"},
		`{"confirm":true,"what":1}`:            {400, "invalid_body"},
		`{"confirm":true,"text":""}`:           {400, "invalid_param"},
		`{"confirm":true,"arguments":{}}`:      {400, "invalid_param"},
		`{"confirm":true,"model":"small"}`:     {409, "conflict"},
		`{"confirm":true,"prompt":"be brief"}`: {409, "conflict"},
		`{"confirm":true,"at_step":2}`:         {409, "conflict"},
		`{"confirm":true,"at_step":"two"}`:     {400, "invalid_body"},
	} {
		if a := s.do("POST", path, s.key, body); a.status != c.status || a.code != c.code {
			t.Errorf("%s: %d %s", body, a.status, a.raw)
		}
	}
	for who, a := range map[string]answer{"a stranger": s.do("POST", path, s.other, `{"confirm":true}`), "the key of the agent": s.do("POST", path, key.Key, `{"confirm":true}`)} {
		if a.status != 404 && a.status != 401 {
			t.Errorf("%s: %d %s", who, a.status, a.raw)
		}
	}
	if len(frames) != 0 {
		t.Fatal("the agent was asked")
	}

	body := `{"confirm":true,"idempotency_key":"once"}`
	made := ok[replayJSON](s, "POST", path, body)
	f := <-frames
	if made.ID != f.MessageID || made.ReplayOf != first.MessageID || made.AgentID != s.agent || made.ContextID != f.ChannelID || f.Body != "look" {
		t.Errorf("%+v for %+v", made, f)
	}
	var parts []beeos.FilePart
	if err := json.Unmarshal(f.Parts, &parts); err != nil || len(parts) != 1 || parts[0].FileID != file.FileID || parts[0].Name != "a.txt" {
		t.Fatalf("%s, %v", f.Parts, err)
	}
	if a := s.follow("GET", parts[0].URL, strings.NewReader("")); a.raw != "my text" {
		t.Errorf("the file: %d %s", a.status, a.raw)
	}
	again := s.do("POST", path, s.key, body)
	if again.status != 202 || again.header.Get("Idempotent-Replayed") != "true" || !strings.Contains(again.raw, made.ID) {
		t.Errorf("again: %d %s", again.status, again.raw)
	}
	type links struct {
		ReplayOf string `json:"replay_of"`
		Surface  string
		Replays  []struct{ ID string }
	}
	if l := ok[links](s, "GET", "/api/v1/calls/"+first.MessageID, ""); len(l.Replays) != 1 || l.Replays[0].ID != made.ID || l.ReplayOf != "" {
		t.Errorf("the first call: %+v", l)
	}
	if l := ok[links](s, "GET", "/api/v1/calls/"+made.ID, ""); l.ReplayOf != first.MessageID || l.Surface != "replay" || len(l.Replays) != 0 {
		t.Errorf("the replay: %+v", l)
	}
	if list := ok[callsJSON](s, "GET", "/api/v1/calls?surface=replay", "").Calls; len(list) != 1 || !slices.ContainsFunc(list, func(c callJSON) bool { return c.ID == made.ID }) {
		t.Errorf("the replays: %+v", list)
	}
}
