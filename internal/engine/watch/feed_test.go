package watch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
)

// TestFeedOfSlowReader: text is run together and bounded, questions are kept,
// and whoever keeps up gets every event as it was.
func TestFeedOfSlowReader(t *testing.T) {
	delta := func(text string) beeos.Event { return beeos.Event{Kind: beeos.EventDelta, Turn: "t", Text: text} }
	t.Run("in time", func(t *testing.T) {
		f := NewFeed("t")
		for range 10 {
			for range 3 {
				f.Push(delta("x"))
			}
			if evs := f.Take(); len(evs) != 3 {
				t.Errorf("%d events", len(evs))
			}
		}
	})
	t.Run("text", func(t *testing.T) {
		f := NewFeed("t")
		want := strings.Repeat("0123456789", 30_000)
		for i := 0; i < len(want); i += 10 {
			f.Push(delta(want[i : i+10]))
		}
		evs := f.Take()
		var got strings.Builder
		for _, ev := range evs {
			got.WriteString(ev.Text)
		}
		if got.String() != want || len(evs) > feedLength {
			t.Errorf("%d of %d bytes in %d events", got.Len(), len(want), len(evs))
		}
	})
	t.Run("bounds", func(t *testing.T) {
		f := NewFeed("t")
		for i := range 100_000 {
			f.Push(delta(strings.Repeat("x", 1000)))
			f.Push(beeos.Event{Kind: beeos.EventProgress, Turn: "t", Progress: float64(i)})
			f.Push(beeos.Event{Kind: beeos.EventLog, Turn: "t", Data: json.RawMessage(`"log"`)})
		}
		f.Push(beeos.Event{Kind: beeos.EventAsk, Turn: "t", AskID: "a"})
		size := 0
		evs := f.Take()
		for _, ev := range evs {
			size += len(ev.Text) + len(ev.Data)
		}
		if len(evs) > feedLength+1 || size > feedBytes || evs[len(evs)-1].AskID != "a" {
			t.Errorf("%d events with %d bytes, the last %+v", len(evs), size, evs[len(evs)-1])
		}
		for range 2 * feedMost {
			f.Push(beeos.Event{Kind: beeos.EventAsk, Turn: "t"})
		}
		if evs := f.Take(); len(evs) != feedMost {
			t.Errorf("%d questions", len(evs))
		}
	})
	t.Run("what is not run together", func(t *testing.T) {
		f := NewFeed("")
		for i := range feedCalm {
			f.Push(beeos.Event{Kind: beeos.EventLog, Seq: int64(i)})
		}
		f.Take()
		f.events = make([]Piece, feedCalm)
		for _, ev := range []beeos.Event{
			{Kind: beeos.EventDelta, Turn: "a", Text: "1"},
			{Kind: beeos.EventDelta, Turn: "b", Text: "2"},
			{Kind: beeos.EventDelta, Turn: "b", Text: "3"},
			{Kind: beeos.EventDelta, Turn: "b", Reasoning: "4"},
			{Kind: beeos.EventDelta, Turn: "b", Part: json.RawMessage(`{}`)},
			{Kind: beeos.EventDelta, Turn: "b", Text: "5", Attempt: 2, Seq: 5},
			{Kind: beeos.EventDelta, Turn: "b", Text: "6", Attempt: 2, Seq: 6},
			{Kind: beeos.EventDelta, Turn: "b", Text: "8", Attempt: 2, Seq: 8},
			{Kind: beeos.EventProgress, Turn: "b", Progress: 1},
			{Kind: beeos.EventProgress, Turn: "b", Progress: 2},
		} {
			f.Push(ev)
		}
		var got []string
		for _, ev := range f.Take()[feedCalm:] {
			got = append(got, ev.Turn+ev.Text+ev.Reasoning+string(ev.Part))
		}
		if diff := cmp.Diff([]string{"a1", "b23", "b4", "b{}", "b56", "b8", "b"}, got); diff != "" {
			t.Error(diff)
		}
	})
}
