package ledger

import (
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
)

// TestReplaysAreLinked to what they repeat for as long as both are there.
func TestReplaysAreLinked(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		table := calls.New(l.db)
		var all []*Opening
		add := func(of string) *Opening {
			o := request("agent_a")
			o.ReplayOf = of
			begin(t, l, o)
			if _, err := l.Finish(t.Context(), reply(o, "hi")); err != nil {
				t.Fatal(err)
			}
			all = append(all, o)
			return o
		}
		first := add("")
		second, third := add(first.Message.ID), add(first.Message.ID)
		of, err := table.ReplayOf(t.Context(), third.Message.ID)
		if err != nil || of != first.Message.ID {
			t.Errorf("it repeats %q, %v", of, err)
		}
		if of, err := table.ReplayOf(t.Context(), first.Message.ID); err != nil || of != "" {
			t.Errorf("the first repeats %q, %v", of, err)
		}
		list, err := table.Replays(t.Context(), first.Message.ID)
		if err != nil || len(list) != 2 || list[0].Turn != third.Message.ID || list[1].Turn != second.Message.ID || list[0].At.IsZero() {
			t.Errorf("%+v, %v", list, err)
		}
		if err := l.DeleteChannel(t.Context(), second.Channel.ID); err != nil {
			t.Fatal(err)
		}
		if list, err := table.Replays(t.Context(), first.Message.ID); err != nil || len(list) != 1 {
			t.Errorf("after one is forgotten: %+v, %v", list, err)
		}
		if err := l.DeleteChannel(t.Context(), first.Channel.ID); err != nil {
			t.Fatal(err)
		}
		if of, err := table.ReplayOf(t.Context(), third.Message.ID); err != nil || of != "" {
			t.Errorf("it repeats what is forgotten: %q, %v", of, err)
		}
	})
}

// TestChannelBeginsWithPast: what was said before stands before the request, and
// is neither work for the agent nor a request of anybody's.
func TestChannelBeginsWithPast(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		o := request("agent_a")
		asked := beeos.NewID()
		o.Past = []beeos.Message{
			{ID: asked, Type: beeos.ChatMessage, State: beeos.StateCompleted, Publisher: o.Message.Publisher, Body: "one"},
			{ID: beeos.NewID(), Type: beeos.AgentReply, State: beeos.StateCompleted, InReplyTo: asked, Publisher: "agent:agent_a", Body: "two"},
		}
		begin(t, l, o)
		if o.Message.Offset != 3 {
			t.Errorf("the request is number %d", o.Message.Offset)
		}
		ms, err := l.Messages(t.Context(), o.Channel.ID, 0, 10)
		if err != nil || len(ms) != 3 || ms[0].Body != "one" || ms[1].InReplyTo != asked || ms[2].ID != o.Message.ID {
			t.Fatalf("%+v, %v", ms, err)
		}
		found, err := l.Requests(t.Context(), RequestFilter{AgentIDs: []string{"agent_a"}, Open: true, Limit: 10})
		if err != nil || len(found) != 1 || found[0].ID != o.Message.ID {
			t.Errorf("requests: %+v, %v", found, err)
		}
		if _, err := l.Finish(t.Context(), reply(o, "three")); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			after, before int64
			limit, bytes  int
			want          int
		}{{0, 3, 10, 1000, 2}, {1, 3, 10, 1000, 1}, {0, 5, 10, 1000, 4}, {0, 5, 2, 1000, 2}, {0, 3, 10, 3, 1}} {
			past, err := l.MessagesBefore(t.Context(), o.Channel.ID, c.after, c.before, c.limit, c.bytes)
			if err != nil || len(past) != c.want || len(past) > 0 && past[len(past)-1].Offset != c.before-1 {
				t.Errorf("%+v: %+v, %v", c, past, err)
			}
		}
		if err := l.DeleteChannel(t.Context(), o.Channel.ID); err != nil {
			t.Fatal(err)
		}
	})
}
