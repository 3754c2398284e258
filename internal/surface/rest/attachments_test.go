package rest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// TestAttachmentsReachTheAgent: a file must be there and one's own; the agent gets
// a link that works.
func TestAttachmentsReachTheAgent(t *testing.T) {
	s := start(t)
	frames := make(chan beeos.Frame, 10)
	s.play(func(f beeos.Frame) *beeos.Message {
		frames <- f
		return &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "seen"}
	})
	mine, pending := s.upload("../mine.txt", "my text"), s.announce("pending.txt")
	call := func(key, attachments, idempotency string) answer {
		return s.do("POST", s.invokePath(), key, `{"message":"look","attachments":`+attachments+`,"idempotency_key":"`+idempotency+`"}`)
	}
	ref := func(id string) string { return `[{"file_id":"` + id + `"}]` }
	unknown := call(s.key, ref("ID"), "").text
	for name, c := range map[string]struct{ key, id string }{
		"unknown":        {s.key, "file_unknown"},
		"pending":        {s.key, pending.FileID},
		"somebody elses": {s.key, foreignFile(s)},
	} {
		a := call(c.key, ref(c.id), "")
		if a.status != 400 || a.code != "invalid_param" || a.text != strings.Replace(unknown, "ID", c.id, 1) {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
	}
	for name, list := range map[string]string{
		"one good, one bad": `[{"file_id":"` + mine.FileID + `"},{"file_id":"x"}]`,
		"too many":          "[" + strings.Repeat(`{"file_id":"`+mine.FileID+`"},`, 16) + `{"file_id":"` + mine.FileID + `"}]`,
		"no id":             `[{}]`,
		"bad type":          `[{"file_id":"` + mine.FileID + `","content_type":"x"}]`,
	} {
		if a := call(s.key, list, ""); a.status != 400 || a.code != "invalid_param" {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
	}
	if len(frames) != 0 {
		t.Fatal("the agent heard of it")
	}

	first := call(s.key, ref(mine.FileID), "once")
	if first.status != 200 {
		t.Fatalf("%d %s", first.status, first.raw)
	}
	f := <-frames
	var parts []struct {
		Type, URL, Name string
		MIMEType        string `json:"mime_type"`
		FileID          string `json:"file_id"`
		Size            int64
	}
	if err := json.Unmarshal(f.Parts, &parts); err != nil || len(parts) != 1 {
		t.Fatalf("parts %s, %v", f.Parts, err)
	}
	p := parts[0]
	if p.Type != "file" || p.Name != ".._mine.txt" || p.MIMEType != "text/plain" || p.Size != 7 || p.FileID != mine.FileID {
		t.Errorf("part %+v", p)
	}
	var payload struct{ Attachments []struct{ URL string } }
	if err := json.Unmarshal(f.Payload, &payload); err != nil || len(payload.Attachments) != 1 || payload.Attachments[0].URL != p.URL {
		t.Errorf("payload %s, %v", f.Payload, err)
	}
	s.ahead.Store(int64(23 * time.Hour)) // it was queued, and is handed out late
	if a := s.follow("GET", p.URL, nil); a.status != 200 || a.raw != "my text" {
		t.Errorf("the agent's download: %d %s", a.status, a.raw)
	}
	// A repeat is the same payload, although its link would be another one; a
	// call with another file is not.
	if again := call(s.key, ref(mine.FileID), "once"); string(again.data) != string(first.data) || len(frames) != 0 {
		t.Errorf("repeated: %d %s, want %s", again.status, again.raw, first.raw)
	}
	if a := call(s.key, ref(s.upload("b", "b").FileID), "once"); a.status != 409 {
		t.Errorf("another file under the same key: %d %s", a.status, a.raw)
	}
	if a := call(s.key, `[]`, "once"); a.status != 409 {
		t.Errorf("no file under the same key: %d %s", a.status, a.raw)
	}
}

// foreignFile uploads a file of somebody else's.
func foreignFile(s *stack) string {
	s.t.Helper()
	var up uploadJSON
	a := s.do("POST", "/api/v1/files/presign-upload", s.other, `{"filename":"theirs","content_type":"text/plain"}`)
	if a.status != 200 || json.Unmarshal(a.data, &up) != nil || s.put(up.UploadURL, "theirs").status != 200 {
		s.t.Fatalf("%d %s", a.status, a.raw)
	}
	return up.FileID
}
