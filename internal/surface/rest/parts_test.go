package rest_test

import (
	"strings"
	"testing"

	"github.com/beeos/beeos"
)

// TestPicturesAreFilesInEveryAnswer: generated clients know no part of type
// image, wherever they meet it.
func TestPicturesAreFilesInEveryAnswer(t *testing.T) {
	s := start(t)
	s.play(func(f beeos.Frame) *beeos.Message {
		s.bus.Publish(beeos.Event{
			Kind: beeos.EventDelta, Channel: f.ChannelID, Turn: f.MessageID, Attempt: f.Attempt, Seq: 1, Part: []byte(`{"type":"image","data":"AAAA","mimeType":"image/png"}`),
		})
		return &beeos.Message{
			Type: beeos.AgentReply, State: beeos.StateCompleted, Body: "look", Parts: []byte(`[{"type":"image","data":"AAAA","mimeType":"image/png"}]`),
		}
	})
	got := map[string]string{
		"invoke": s.do("POST", s.invokePath(), s.key, `{"message":"x"}`).raw,
		"stream": strings.Join(frames(t, s.send("POST", s.invokePath(), s.key, `{"message":"x"}`, "Accept", "text/event-stream")), "\n"),
	}
	made := ok[taskJSON](s, "POST", s.tasksPath(), `{"message":"x"}`)
	s.watch(s.tasksPath() + "/" + made.ID + "/events") // until it has ended
	task := s.tasksPath() + "/" + made.ID
	got["task"] = s.do("GET", task, s.key, "").raw
	got["messages"] = s.do("GET", task+"/messages", s.key, "").raw
	got["events"] = strings.Join(s.watch(task+"/events"), "\n")
	for where, raw := range got {
		if !strings.Contains(raw, `"url":"data:image/png;base64,AAAA"`) || strings.Contains(raw, `"type":"image"`) {
			t.Errorf("%s: %s", where, raw)
		}
	}
}
