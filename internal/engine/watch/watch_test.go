package watch

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/store"
)

// node is a running Watcher with what it watches.
type node struct {
	*Watcher
	db *store.Store
}

func start(t *testing.T) node {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "b.db")+"?durability=os")
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Open(t.Context(), bus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), db.DB, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := node{NewWatcher(l, b, slog.New(slog.DiscardHandler)), db}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }() // awaited below
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		l.Close()
		b.Close()
		db.Close()
	})
	return n
}

// TestTextWithoutHoles: whatever is missed, run together or said by another
// instance, a watcher's text is the turn's.
func TestTextWithoutHoles(t *testing.T) {
	delta := func(attempt int, first, seq int64, text string) Piece {
		return Piece{beeos.Event{Kind: beeos.EventDelta, Turn: "t", Attempt: attempt, Seq: seq, Text: text}, first}
	}
	type step struct {
		asked beeos.Event // what the turn's node says when it is asked; none = it does not answer
		heard Piece
		want  string // the text so far
	}
	soFar := func(attempt int, seq int64, text string) beeos.Event {
		return beeos.Event{Kind: beeos.EventDelta, Turn: "t", Attempt: attempt, Seq: seq, Text: text, SoFar: true}
	}
	for name, steps := range map[string][]step{
		"in order": {{heard: delta(1, 1, 1, "a"), want: "a"}, {heard: delta(1, 2, 2, "b"), want: "ab"}},
		"twice":    {{heard: delta(1, 1, 1, "a"), want: "a"}, {heard: delta(1, 1, 1, "a"), want: "a"}},
		"run together": {
			{heard: delta(1, 1, 1, "a"), want: "a"}, {heard: delta(1, 2, 4, "bcd"), want: "abcd"}, {heard: delta(1, 5, 5, "e"), want: "abcde"},
		},
		"lost": {{heard: delta(1, 1, 1, "a"), want: "a"}, {heard: delta(1, 3, 3, "c"), asked: soFar(1, 3, "abc"), want: "abc"}},
		"lost, and nobody answers at first": {
			{heard: delta(1, 1, 1, "a"), want: "a"},
			{heard: delta(1, 3, 3, "c"), want: "a"},
			{heard: delta(1, 4, 4, "d"), asked: soFar(1, 5, "abcde"), want: "abcde"},
			{heard: delta(1, 5, 5, "e"), want: "abcde"},
			{heard: delta(1, 6, 6, "f"), want: "abcdef"},
		},
		"joined late": {{heard: delta(1, 7, 7, "g"), asked: soFar(1, 7, "abcdefg"), want: "abcdefg"}},
		"a snapshot has a part of what was run together": {
			{heard: delta(1, 2, 2, "b"), asked: soFar(1, 3, "abc"), want: "abc"},
			{heard: delta(1, 2, 5, "bcde"), asked: soFar(1, 5, "abcde"), want: "abcde"},
		},
		"progress in between": {
			{heard: delta(1, 1, 1, "a"), want: "a"},
			{heard: Piece{beeos.Event{Kind: beeos.EventProgress, Turn: "t", Attempt: 1, Seq: 2}, 2}, want: "a"},
			{heard: delta(1, 3, 3, "b"), want: "ab"},
		},
		"another instance begins again": {
			{heard: delta(1, 1, 1, "a"), want: "a"}, {heard: delta(2, 1, 1, "x"), want: "x"}, {heard: delta(1, 2, 2, "b"), want: "x"},
		},
		"the same agent goes on over a new connection": {
			{heard: delta(1, 1, 1, "a"), want: "a"}, {heard: delta(2, 2, 2, "c"), asked: soFar(2, 2, "abc"), want: "abc"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := start(t)
			var now beeos.Event
			n.bus.ServeSnapshots(func(string) (beeos.Event, bool) { return now, now.SoFar })
			w := &watch{w: n.Watcher, heard: map[string]place{}}
			text := ""
			for i, s := range steps {
				now = s.asked
				w.yieldMessage(t.Context(), &s.heard, func(ev *beeos.Event) bool {
					if ev.SoFar {
						text = ""
					}
					if ev.Kind == beeos.EventDelta {
						text += ev.Text
					}
					return true
				})
				if text != s.want {
					t.Fatalf("after step %d the text is %q, want %q", i+1, text, s.want)
				}
			}
		})
	}
}

// TestWatchFindsWhatNobodyAnnounced: a message whose notice is lost comes a
// second late, and so does the end of a channel.
func TestWatchFindsWhatNobodyAnnounced(t *testing.T) {
	n := start(t)
	mute, err := ledger.Open(t.Context(), n.db.DB, ledger.Options{}) // tells nobody
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	ch := beeos.Channel{ID: beeos.NewChannelID(), AgentID: "agent_a", Owner: "user:u", Kind: beeos.KindConversation}
	if err := mute.CreateChannel(t.Context(), ch); err != nil {
		t.Fatal(err)
	}
	say := func(text string) {
		if _, err := mute.Append(t.Context(), beeos.Message{Channel: ch.ID, ID: beeos.NewID(), Type: beeos.ChatMessage, Publisher: ch.Owner, Body: text}); err != nil {
			t.Error(err)
		}
	}
	say("first")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var got []string
	for ev, err := range n.Watch(ctx, ch.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev.Message.Body)
		if len(got) == 1 {
			say("second")
		} else if err := mute.CloseChannel(t.Context(), ch.ID, "enough"); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"first", "second"}, got); diff != "" || ctx.Err() != nil {
		t.Errorf("%v %s", ctx.Err(), diff)
	}
}

// TestWatchEndsWithItsChannel: whoever watches a channel that is deleted hears
// of it, and does not watch nothing for ever.
func TestWatchEndsWithItsChannel(t *testing.T) {
	n := start(t)
	ch := beeos.Channel{ID: beeos.NewChannelID(), AgentID: "agent_a", Owner: "user:u", Kind: beeos.KindInvoke}
	if err := n.ledger.CreateChannel(t.Context(), ch); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*rereadEvery)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		var last error
		for _, err := range n.Watch(ctx, ch.ID, 0) {
			last = err
		}
		ended <- last
	}()
	for watched := false; !watched; <-time.After(time.Millisecond) {
		n.mu.Lock()
		watched = len(n.byChannel[ch.ID]) > 0
		n.mu.Unlock()
	}
	if err := n.ledger.DeleteChannel(t.Context(), ch.ID); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; beeos.CodeOf(err) != beeos.NotFound || err == nil {
		t.Errorf("the watch ended with %v, %v; want not found", err, ctx.Err())
	}
}

// TestLateWatcherAnswersAtOnce: who joins while a question is open, and answers it
// before anything else goes out, still gets what was said before the question.
func TestLateWatcherAnswersAtOnce(t *testing.T) {
	n := start(t)
	ch := beeos.Channel{ID: beeos.NewChannelID(), AgentID: "agent_a", Owner: "user:u", Kind: beeos.KindInvoke}
	if err := n.ledger.CreateChannel(t.Context(), ch); err != nil {
		t.Fatal(err)
	}
	turn := beeos.NewID()
	for _, m := range []beeos.Message{
		{ID: turn, Type: beeos.ChatMessage, Publisher: ch.Owner, Body: "go"},
		{ID: beeos.NewID(), Type: beeos.AgentInputRequired, Publisher: "agent:agent_a", InReplyTo: turn, Body: "sure?"},
	} {
		m.Channel = ch.ID
		if _, err := n.ledger.Append(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	var answered atomic.Bool
	n.bus.ServeSnapshots(func(string) (beeos.Event, bool) {
		return beeos.Event{Kind: beeos.EventDelta, Turn: turn, Seq: 1, Text: "thinking aloud", SoFar: true}, !answered.Load()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	text := ""
	for ev, err := range n.WatchTurn(ctx, ch.ID, turn, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if text += ev.Text; ev.Kind == beeos.EventDelta {
			break
		}
		if ev.Message.Type == beeos.AgentInputRequired {
			answered.Store(true)
		}
	}
	if text != "thinking aloud" {
		t.Errorf("the watcher has %q of the text", text)
	}
}
