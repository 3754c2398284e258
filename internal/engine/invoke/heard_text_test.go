package invoke

import (
	"testing"

	"github.com/beeos/beeos"
)

// TestToldGoesOn: a caller on the line hears each word of an agent once, whatever
// the agent says again after a lost connection.
func TestToldGoesOn(t *testing.T) {
	piece := func(attempt int, text string) beeos.Event {
		return beeos.Event{Kind: beeos.EventDelta, Attempt: attempt, Text: text}
	}
	all := func(attempt int, text string) beeos.Event {
		return beeos.Event{Kind: beeos.EventDelta, Attempt: attempt, Text: text, SoFar: true}
	}
	for name, c := range map[string]struct {
		events []beeos.Event
		want   string
	}{
		"nothing was lost":       {[]beeos.Event{piece(1, "ab"), all(2, "ab"), piece(2, "c")}, "abc"},
		"words were lost":        {[]beeos.Event{piece(1, "ab"), all(2, "abcd"), piece(2, "e")}, "abcde"},
		"all were":               {[]beeos.Event{all(1, "ab"), piece(1, "c")}, "abc"},
		"again and again":        {[]beeos.Event{piece(1, "a"), all(2, "ab"), all(3, "abc"), all(3, "abc")}, "abc"},
		"another instance":       {[]beeos.Event{piece(1, "abc"), piece(2, "x"), all(3, "xyz")}, "abcxyz"},
		"less than what is told": {[]beeos.Event{piece(1, "abc"), all(1, "a"), piece(1, "d")}, "abcd"},
	} {
		got, told := "", told{}
		for _, ev := range c.events {
			if told.goesOn(&ev) {
				got += ev.Text
			}
			if ev.SoFar {
				t.Errorf("%s: %+v is no piece", name, ev)
			}
		}
		if got != c.want {
			t.Errorf("%s: heard %q, want %q", name, got, c.want)
		}
	}
}
