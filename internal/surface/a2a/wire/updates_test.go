package wire

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/beeos/beeos"
)

// TestUpdatesAddUpToTheReply: whatever becomes of the deltas, a reader who puts the chunks
// together has the reply, once, and so has one that keeps the last chunk alone.
func TestUpdatesAddUpToTheReply(t *testing.T) {
	delta := func(text string) beeos.Event { return beeos.Event{Kind: beeos.EventDelta, Text: text} }
	soFar := func(text string) beeos.Event {
		return beeos.Event{Kind: beeos.EventDelta, Text: text, SoFar: true}
	}
	end := func(text string) beeos.Event {
		return beeos.Event{Kind: beeos.EventMessage, Message: &beeos.Message{Type: beeos.AgentReply, State: beeos.StateCompleted, Body: text}}
	}
	for name, c := range map[string]struct {
		events []beeos.Event
		want   string
		chunks int
	}{
		"all there":         {[]beeos.Event{delta("one "), delta("two"), end("one two")}, "one two", 3},
		"none came":         {[]beeos.Event{end("one two")}, "one two", 1},
		"the last is lost":  {[]beeos.Event{delta("one "), end("one two")}, "one two", 2},
		"one in the middle": {[]beeos.Event{delta("one "), delta("three"), end("one two three")}, "one two three", 3},
		"joined late":       {[]beeos.Event{soFar("one "), delta("two"), end("one two")}, "one two", 3},
		"so far, again":     {[]beeos.Event{delta("one "), soFar("one "), soFar("one two"), end("one two")}, "one two", 3},
		"another instance":  {[]beeos.Event{delta("uno "), soFar("one "), delta("two"), end("one two")}, "one two", 4},
		"nothing to say":    {[]beeos.Event{end("")}, "", 0},
	} {
		u := &TaskUpdates{state: a2a.TaskStateSubmitted}
		got, kept, chunks, ends := "", "", 0, 0
		for i := range c.events {
			for _, ev := range u.Translate(&c.events[i]) {
				switch ev := ev.(type) {
				case *a2a.TaskArtifactUpdateEvent:
					chunks++
					if !ev.Append {
						got = ""
					}
					got += ev.Artifact.Parts[0].Text()
					if ev.LastChunk {
						kept += ev.Artifact.Parts[0].Text()
					}
					if ev.LastChunk && ev.Append {
						t.Errorf("%s: the last chunk appends", name)
					}
				case *a2a.TaskStatusUpdateEvent:
					if ev.Status.State.Terminal() {
						ends++
					}
				}
			}
		}
		if got != c.want || kept != c.want || chunks != c.chunks || ends != 1 {
			t.Errorf("%s: %q (kept: %q) in %d chunks with %d ends, want %q in %d with 1", name, got, kept, chunks, ends, c.want, c.chunks)
		}
	}
}
