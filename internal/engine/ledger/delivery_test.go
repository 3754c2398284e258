package ledger

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/test/pgtest"
)

// TestOnceMeansOnce: a request that must not be handed out twice is claimed
// again only if the first lease is undone, and otherwise goes on with the
// instance that has it.
func TestOnceMeansOnce(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		o := request("agent_a")
		o.Delivery.Redelivery = beeos.RedeliverNever
		begin(t, l, o)
		until := time.Now().Add(time.Minute)
		claim := func(want int) {
			t.Helper()
			if got, err := l.ClaimDeliveries(t.Context(), "agent_a", until, 10); err != nil || len(got) != want {
				t.Fatalf("claimed %+v, %v; want %d", got, err, want)
			}
		}
		turn := func() *Delivery {
			t.Helper()
			d, err := l.OpenDelivery(t.Context(), o.Message.ID)
			if err != nil {
				t.Fatal(err)
			}
			return &d
		}
		if err := l.UndoClaim(t.Context(), []Lease{{o.Message.ID, 1}}); err != nil || turn().Final() {
			t.Fatalf("nobody took it: %+v, %v", turn(), err)
		}
		claim(1)
		if err := l.ReleaseLeases(t.Context(), []Lease{{o.Message.ID, 1}}, Attempt{Why: beeos.InstanceGone}); err != nil || !turn().Final() {
			t.Fatalf("somebody had it: %+v, %v", turn(), err)
		}
		claim(0)
		before := turn()
		lease, ok, err := l.ResumeDelivery(t.Context(), before, until)
		if err != nil || !ok || lease != (Lease{o.Message.ID, 2}) || turn().Attempt != 2 {
			t.Errorf("resumed as %+v, %t, %v; stored %+v", lease, ok, err, turn())
		}
		if _, ok, err := l.ResumeDelivery(t.Context(), before, until); ok || err != nil {
			t.Errorf("a second one was given it too: %t, %v", ok, err)
		}
		if err := l.ReleaseLeases(t.Context(), []Lease{{o.Message.ID, 1}}, Attempt{Why: beeos.InstanceGone}); err != nil {
			t.Fatal(err)
		}
		claim(0)
		if _, err := l.Finish(t.Context(), reply(o, "once")); err != nil {
			t.Error(err)
		}
	})
}

// TestResumeRespectsTheLane: while another request of the lane is out, one that
// lost its lease cannot come back.
func TestResumeRespectsTheLane(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		var turns []*Opening
		for range 2 {
			o := request("agent_a")
			o.Delivery.Mode, o.Delivery.Lane, o.Delivery.Redelivery = beeos.DeliverBusyReject, "agent_a", beeos.RedeliverNever
			begin(t, l, o)
			turns = append(turns, o)
			if len(turns) == 1 {
				if err := l.ReleaseLeases(t.Context(), []Lease{{o.Message.ID, 1}}, Attempt{Why: beeos.InstanceGone}); err != nil {
					t.Fatal(err)
				}
			}
		}
		d, err := l.OpenDelivery(t.Context(), turns[0].Message.ID)
		if err != nil {
			t.Fatal(err)
		}
		resume := func(want bool) {
			t.Helper()
			if _, ok, err := l.ResumeDelivery(t.Context(), &d, time.Now().Add(time.Minute)); ok != want || err != nil {
				t.Errorf("resumed %t, %v; want %t", ok, err, want)
			}
		}
		resume(false)
		if _, err := l.Finish(t.Context(), reply(turns[1], "done")); err != nil {
			t.Fatal(err)
		}
		resume(true)
	})
}

// TestCallersLeave: who has stopped to wait for a write does not look at what
// the writer may still be working on.
func TestCallersLeave(t *testing.T) {
	l := openSQLite(t, Options{})
	o := request("agent_a")
	begin(t, l, o)
	d, err := l.OpenDelivery(t.Context(), o.Message.ID)
	if err != nil {
		t.Fatal(err)
	}
	left := map[string]int{}
	for i := range 400 {
		patience := time.Duration(i%100) * 10 * time.Microsecond
		for name, write := range map[string]func(context.Context) error{
			"claim": func(ctx context.Context) error {
				_, err := l.ClaimDeliveries(ctx, "agent_a", time.Now(), 10)
				return err
			},
			"resume": func(ctx context.Context) error { _, _, err := l.ResumeDelivery(ctx, &d, time.Now()); return err },
			"remember": func(ctx context.Context) error {
				_, err := l.ClaimKey(ctx, Idempotency{Scope: "s", Key: "k", Expires: time.Now().Add(time.Hour)}, o.Channel.ID)
				return err
			},
			"delete": func(ctx context.Context) error { return l.DeleteChannel(ctx, o.Channel.ID) },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			if err := write(ctx); errors.Is(err, context.DeadlineExceeded) {
				left[name]++
			}
			cancel()
		}
	}
	if len(left) != 4 {
		t.Errorf("nobody left: %v", left)
	}
}

// TestLaneOfTwoWriters: two writers may give the same place in a lane to a
// request each. One of them is handed out, then the other.
func TestLaneOfTwoWriters(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		moment := time.Now()
		l := open(Options{Now: func() time.Time { return moment }})
		other, err := Open(t.Context(), l.db, l.opt)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		for _, w := range []*Ledger{l, other} {
			o := request("agent_a")
			o.Delivery.Mode, o.Delivery.Lane = beeos.DeliverQueue, "agent_a"
			begin(t, w, o)
		}
		for i := range 2 {
			got, err := l.ClaimDeliveries(t.Context(), "agent_a", moment.Add(time.Minute), 10)
			if err != nil || len(got) != 1 {
				t.Fatalf("claim %d of a lane with two: %+v, %v", i+1, got, err)
			}
			if _, err := l.Finish(t.Context(), beeos.Message{Channel: got[0].Channel, InReplyTo: got[0].Turn, Type: beeos.AgentReply}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestClaimInOrder: what waits is handed out in the order in which it came.
func TestClaimInOrder(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		var want, got []string
		for range 50 {
			o := request("agent_a")
			o.Delivery.Mode = beeos.DeliverQueue
			o.Message.ID = beeos.NewSecret("") // ids are not what it goes by
			begin(t, l, o)
			want = append(want, o.Message.ID)
		}
		claimed, err := l.ClaimDeliveries(t.Context(), "agent_a", time.Now().Add(time.Minute), 100)
		for _, d := range claimed {
			got = append(got, d.Turn)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("claimed %v, %v; want %v", got, err, want)
		}
	})
}

// TestQueueOfNodesWithTwoClocks: requests that one node after the other stores are
// handed out in that order, also when what the nodes take for the time differs.
func TestQueueOfNodesWithTwoClocks(t *testing.T) {
	url := pgtest.URL(t)
	nodes := []*Ledger{openOn(t, url, Options{}), openOn(t, url, Options{Now: func() time.Time { return time.Now().Add(-time.Second) }})}
	var want, got []string
	for i := range 20 {
		o := request("agent_a")
		o.Delivery.Mode, o.Delivery.Lane = beeos.DeliverQueue, "agent_a"
		begin(t, nodes[i%2], o)
		want = append(want, o.Message.ID)
	}
	for range want {
		claimed, err := nodes[0].ClaimDeliveries(t.Context(), "agent_a", time.Now().Add(time.Minute), 1)
		if err != nil || len(claimed) != 1 {
			t.Fatalf("claimed %+v, %v", claimed, err)
		}
		got = append(got, claimed[0].Turn)
		if _, err := nodes[0].Finish(t.Context(), beeos.Message{Channel: claimed[0].Channel, InReplyTo: claimed[0].Turn, Type: beeos.AgentReply}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("handed out %v; want %v", got, want)
	}
}

// TestCancelledRequestEndsCancelled: once its end was asked for, a request ends
// cancelled whatever its agent makes of that; what the agent says is kept.
func TestCancelledRequestEndsCancelled(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		var told []beeos.Message
		l := open(Options{Committed: func(all []beeos.Message) { told = append(told, all...) }})
		for _, kind := range []beeos.MessageType{beeos.AgentReply, beeos.AgentReplyError, beeos.AgentRefuse, beeos.AgentBusy} {
			o := request("agent_a")
			begin(t, l, o)
			asked := beeos.Message{Channel: o.Channel.ID, Type: beeos.ChatCancel, State: beeos.StateCompleted, InReplyTo: o.Message.ID, Publisher: "user"}
			if _, err := l.Append(t.Context(), asked); err != nil {
				t.Fatal(err)
			}
			answer := reply(o, "nearly done")
			answer.Type = kind
			stored, err := l.Finish(t.Context(), answer)
			if err != nil || stored.State != beeos.StateCancelled || stored.StopReason != beeos.StopUser {
				t.Errorf("%s: stored %+v, %v", kind, stored, err)
			}
			if last := told[len(told)-1]; last.ID != stored.ID || last.State != beeos.StateCancelled {
				t.Errorf("%s: others were told %+v", kind, last)
			}
			got, err := l.Request(t.Context(), o.Message.Publisher, o.Message.ID)
			if err != nil || got.Done == nil || got.Done.State != beeos.StateCancelled || got.Done.Body != "nearly done" || got.Done.Type != kind {
				t.Errorf("%s: read %+v, %v", kind, got.Done, err)
			}
		}
		f := PageFilter{Caller: request("agent_a").Message.Publisher, AgentID: "agent_a", Status: []beeos.TaskStatus{beeos.TaskCanceled}, Limit: 10}
		if _, total, err := l.RequestPage(t.Context(), f); err != nil || total != 4 {
			t.Errorf("%d are listed as cancelled, %v; want 4", total, err)
		}
		f.Status = []beeos.TaskStatus{beeos.TaskRejected, beeos.TaskCompleted, beeos.TaskFailed}
		if _, total, err := l.RequestPage(t.Context(), f); err != nil || total != 0 {
			t.Errorf("%d are listed as something else, %v", total, err)
		}
	})
}

// TestBacklog: what waits is counted, with the time at which the first was asked for.
func TestBacklog(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		waits := func(want int) (oldest time.Time) {
			t.Helper()
			n, oldest, err := l.Backlog(t.Context(), "agent_a")
			if err != nil || n != want || oldest.IsZero() != (want == 0) {
				t.Fatalf("%d since %s, %v; want %d", n, oldest, err, want)
			}
			return oldest
		}
		waits(0)
		before := time.Now().Add(-time.Second)
		for range 3 {
			o := request("agent_a")
			begin(t, l, o)
			if err := l.UndoClaim(t.Context(), []Lease{{o.Message.ID, 1}}); err != nil {
				t.Fatal(err)
			}
		}
		begin(t, l, request("agent_a")) // somebody has this one
		begin(t, l, request("agent_b"))
		if oldest := waits(3); oldest.Before(before) || oldest.After(time.Now()) {
			t.Errorf("the oldest is of %s", oldest)
		}
	})
}
