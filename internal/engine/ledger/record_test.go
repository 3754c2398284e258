package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/calls"
)

// TestCallsAreRecorded: whatever ends a request is in the record, once, and the
// retention of its channel takes it away.
func TestCallsAreRecorded(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		clock := time.Now().Add(-time.Hour)
		l := open(Options{Now: func() time.Time { return clock }})
		table := calls.New(l.db)
		want := map[string]calls.Outcome{}
		call := func(tool string, end func(o *Opening) beeos.Message) *Opening {
			o := request("agent_a")
			o.Surface, o.Tool = "mcp", tool
			begin(t, l, o)
			clock = clock.Add(1500 * time.Microsecond)
			m := end(o)
			for i := range 2 { // the second is too late
				if _, err := l.Finish(t.Context(), m); (err == nil) != (i == 0) {
					t.Fatal(err)
				}
			}
			want[o.Message.ID] = calls.OutcomeOf(&m)
			return o
		}
		first := call("add", func(o *Opening) beeos.Message { return reply(o, "3") })
		call("", func(o *Opening) beeos.Message {
			m := reply(o, "no")
			m.Type, m.StopReason = beeos.AgentReplyError, beeos.StopTimeout
			return m
		})
		call("add", func(o *Opening) beeos.Message {
			m := reply(o, "no")
			m.Type = beeos.AgentRefuse
			return m
		})
		cancelled := call("", func(o *Opening) beeos.Message {
			_, err := l.Append(t.Context(), beeos.Message{Channel: o.Channel.ID, InReplyTo: o.Message.ID, Type: beeos.ChatCancel})
			if err != nil {
				t.Fatal(err)
			}
			return reply(o, "too late")
		})
		want[cancelled.Message.ID] = calls.Canceled
		busy := request("agent_b")
		busy.Delivery.Mode, busy.Delivery.Lane = beeos.DeliverBusyReject, "agent_b"
		begin(t, l, busy)
		second := request("agent_b")
		second.Delivery.Mode, second.Delivery.Lane = beeos.DeliverBusyReject, "agent_b"
		if _, answer, err := l.BeginRequest(t.Context(), second); err != nil || answer == nil {
			t.Fatal(answer, err)
		}
		want[second.Message.ID] = calls.Busy
		want[busy.Message.ID] = calls.Working

		found, err := table.Find(t.Context(), calls.Filter{Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]calls.Outcome{}
		for _, c := range found {
			got[c.Turn] = c.Outcome
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		last := found[len(found)-1]
		route := calls.Route{AgentID: "agent_a", Caller: "user:u", Surface: "mcp", Tool: "add"}
		if last.Turn != first.Message.ID || last.Route != route || last.Took != 1500*time.Microsecond {
			t.Errorf("the first call is %+v", last)
		}

		if _, err := l.Finish(t.Context(), reply(busy, "done")); err != nil {
			t.Fatal(err)
		}
		clock = time.Now().Add(time.Hour)
		if err := l.Forget(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if found, err = table.Find(t.Context(), calls.Filter{Limit: 50}); err != nil || len(found) != 0 {
			t.Errorf("%d calls outlive their messages, %v", len(found), err)
		}
	})
}

// TestCallsOfOneMoment: two nodes may make an id at the same moment.
func TestCallsOfOneMoment(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		id := beeos.NewID()
		other := id[:35] + map[bool]string{true: "1", false: "2"}[id[35] != '1']
		if calls.Key(id) != calls.Key(other) {
			t.Fatal("the keys differ")
		}
		for _, id := range []string{id, other} {
			o := request("agent_a")
			o.Message.ID = id
			begin(t, l, o)
			if _, err := l.Finish(t.Context(), reply(o, "hi")); err != nil {
				t.Fatal(err)
			}
		}
		table := calls.New(l.db)
		found, err := table.Find(t.Context(), calls.Filter{Limit: 50})
		if err != nil || len(found) != 2 || found[0].Turn != max(id, other) || found[1].Turn != min(id, other) {
			t.Errorf("%+v, %v", found, err)
		}
		if err := l.Forget(t.Context(), time.Nanosecond); err != nil {
			t.Fatal(err)
		}
		if found, err := table.Find(t.Context(), calls.Filter{Limit: 50}); err != nil || len(found) != 0 {
			t.Errorf("left are %+v, %v", found, err)
		}
	})
}

// TestStepsAreKept with the call whose reply brought them, and leave with it.
func TestStepsAreKept(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		table := calls.New(l.db)
		with, without := request("agent_a"), request("agent_a")
		for o, by := range map[*Opening]*Attempt{with: {Number: 1, Steps: []byte(`[{"name":"search","after_us":1,"took_us":2}]`)}, without: {Number: 1}} {
			begin(t, l, o)
			for range 2 { // the second reply brings nothing
				_, err := l.FinishAttempt(t.Context(), reply(o, "hi"), by)
				if err != nil && beeos.CodeOf(err) != beeos.MessageTerminal {
					t.Fatal(err)
				}
			}
		}
		if got, err := table.Steps(t.Context(), with.Message.ID); err != nil || len(got) != 1 || got[0].Name != "search" || got[0].TookUS != 2 {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := table.Steps(t.Context(), without.Message.ID); err != nil || got != nil {
			t.Errorf("%+v, %v", got, err)
		}
		if err := l.DeleteChannel(t.Context(), with.Channel.ID); err != nil {
			t.Fatal(err)
		}
		if got, err := table.Steps(t.Context(), with.Message.ID); err != nil || got != nil {
			t.Errorf("left are %+v, %v", got, err)
		}
	})
}

// TestTrail: what happened to a request on its way is known when it is over.
func TestTrail(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		clock := time.Now().Truncate(time.Microsecond).UTC()
		l := open(Options{Now: func() time.Time { return clock }})
		start := clock
		at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
		o := request("agent_a")
		o.Delivery.LeaseUntil = at(15)
		begin(t, l, o)
		clock = at(1)
		if err := l.ReleaseLeases(t.Context(), []Lease{{o.Message.ID, 1}}, Attempt{Why: beeos.InstanceGone, Node: "node1", Instance: "inst_1"}); err != nil {
			t.Fatal(err)
		}
		clock = at(2)
		if claimed, err := l.ClaimDeliveries(t.Context(), "agent_a", at(4), 10); err != nil || len(claimed) != 1 {
			t.Fatal(claimed, err)
		}
		clock = at(5)
		if _, err := l.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock = at(6)
		if claimed, err := l.ClaimDeliveries(t.Context(), "agent_a", at(30), 10); err != nil || len(claimed) != 1 {
			t.Fatal(claimed, err)
		}
		want := []Attempt{
			{Number: 1, Began: start, Ended: at(1), Why: beeos.InstanceGone, Node: "node1", Instance: "inst_1"},
			{Number: 2, Began: at(2), Ended: at(5), Why: beeos.LeaseExpired},
			{Number: 3, Began: at(6)},
		}
		check := func(what string) {
			t.Helper()
			r, err := l.FindRequest(t.Context(), o.Message.ID)
			if err != nil {
				t.Fatal(err)
			}
			got, err := l.Attempts(t.Context(), &r)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Error(what, err, diff)
			}
		}
		check("under way")
		clock = at(9)
		last := Attempt{Number: 3, Node: "node2", Instance: "inst_2", Given: at(6), Started: at(7), FirstText: at(8)}
		if _, err := l.FinishAttempt(t.Context(), reply(o, "hi"), &last); err != nil {
			t.Fatal(err)
		}
		last.Began = at(6)
		want[2] = last
		check("over")
	})
}

func TestTrailIsRead(t *testing.T) {
	start := time.UnixMicro(1_700_000_000_000_000)
	for trail, want := range map[string][]Attempt{
		"":                            nil,
		"nonsense; c;cx 1;;":          nil,
		"c1 0;":                       {{Number: 1, Began: start}},
		"c1 5;c1 9;":                  {{Number: 1, Began: start.Add(9 * time.Microsecond)}}, // the first was given back
		"e1 7 - - - -;":               {{Number: 1, Began: start, Given: start.Add(7 * time.Microsecond)}},
		"r1 3 lease - -;w2 4;e2 5 6;": {{Number: 1, Began: start, Ended: start.Add(3 * time.Microsecond), Why: beeos.LeaseExpired}, {Number: 2, Began: start.Add(4 * time.Microsecond), Resumed: true, Given: start.Add(5 * time.Microsecond), Started: start.Add(6 * time.Microsecond)}},
	} {
		if diff := cmp.Diff(want, parseTrail(trail, start)); diff != "" {
			t.Errorf("%s: %s", trail, diff)
		}
	}
}

// TestTrailIsBounded: a request that nobody takes is handed out again and again.
func TestTrailIsBounded(t *testing.T) {
	l := openSQLite(t, Options{})
	o := request("agent_a")
	o.Delivery.Mode = beeos.DeliverQueue
	begin(t, l, o)
	for range 300 {
		claimed, err := l.ClaimDeliveries(t.Context(), "agent_a", time.Now().Add(time.Minute), 10)
		if err != nil || len(claimed) != 1 {
			t.Fatal(claimed, err)
		}
		if err := l.UndoClaim(t.Context(), []Lease{{o.Message.ID, claimed[0].Attempt}}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := l.OpenDelivery(t.Context(), o.Message.ID)
	if err != nil || len(d.Trail) > maxTrail+100 {
		t.Errorf("%d bytes, %v", len(d.Trail), err)
	}
	if got := parseTrail(d.Trail, time.Now()); len(got) != 1 || got[0].Number != 1 {
		t.Errorf("it reads %+v", got)
	}
}

// TestRowsComeInTheOrderOfOffsets: also where a batch has replies with and without
// a record.
func TestRowsComeInTheOrderOfOffsets(t *testing.T) {
	l := openSQLite(t, Options{})
	o := request("agent_a")
	o.Past = []beeos.Message{{ID: beeos.NewID(), Type: beeos.ChatMessage, State: beeos.StateCompleted, Publisher: "user:u", Body: "before"}}
	begin(t, l, o)
	wrong := reply(o, "no")
	wrong.ID, wrong.Type = beeos.NewID(), beeos.AgentReplyError
	note := beeos.Message{ID: beeos.NewID(), Channel: o.Channel.ID, Type: beeos.ChatCancel, InReplyTo: o.Message.ID, Publisher: "user:u"}
	ops := []*op{{message: &wrong, done: make(chan struct{})}, {message: &note, done: make(chan struct{})}}
	l.Close()
	w := newWriter(l)
	if err := w.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.disconnect)
	w.commit(ops)
	var falls, all int
	err := l.db.QueryRowContext(t.Context(), `SELECT COUNT(*), COALESCE(SUM(off <= before), 0) FROM (SELECT off, lag(off) OVER (ORDER BY rowid) AS before FROM messages)`).Scan(&all, &falls)
	if err != nil || falls > 0 || all != 4 || ops[0].err != nil || ops[1].err != nil {
		t.Errorf("%d of %d, %v, %v, %v", falls, all, err, ops[0].err, ops[1].err)
	}
}
