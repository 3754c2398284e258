package ledger

import (
	"slices"
	"testing"
	"time"

	"github.com/beeos/beeos"
)

// TestRequestPage: requests by when they last changed, in pages that leave
// nothing out, filtered by how they stand.
func TestRequestPage(t *testing.T) {
	engines(t, func(t *testing.T, open func(Options) *Ledger) {
		l := open(Options{})
		var all []*Opening
		for range 5 {
			o := request("agent_a")
			begin(t, l, o)
			all = append(all, o)
		}
		owner := all[0].Message.Publisher
		paused := beeos.Message{Channel: all[1].Channel.ID, InReplyTo: all[1].Message.ID, Type: beeos.AgentInputRequired, Body: "which?"}
		if _, err := l.Append(t.Context(), paused); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Finish(t.Context(), reply(all[0], "done")); err != nil { // the oldest changes last
			t.Fatal(err)
		}
		want := []string{all[0].Message.ID, all[1].Message.ID, all[4].Message.ID, all[3].Message.ID, all[2].Message.ID}
		f := PageFilter{Caller: owner, AgentID: "agent_a", Limit: 2}
		var got []string
		for range 4 {
			page, total, err := l.RequestPage(t.Context(), f)
			if err != nil || total != 5 {
				t.Fatalf("%d in all, %v", total, err)
			}
			for _, r := range page {
				got = append(got, r.ID)
				f.BeforeAt, f.Before = r.At, r.ID
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		for status, n := range map[beeos.TaskStatus]int{
			beeos.TaskCompleted: 1, beeos.TaskInputRequired: 1, beeos.TaskRunning: 3, beeos.TaskQueued: 0, beeos.TaskFailed: 0,
			beeos.TaskTimeout: 0, beeos.TaskCanceled: 0, beeos.TaskRejected: 0, beeos.TaskAuthRequired: 0,
		} {
			_, total, err := l.RequestPage(t.Context(), PageFilter{Caller: owner, AgentID: "agent_a", Status: []beeos.TaskStatus{status}, Limit: 10})
			if err != nil || total != n {
				t.Errorf("%s: %d, want %d (%v)", status, total, n, err)
			}
		}
		for name, none := range map[string]PageFilter{
			"another caller":  {Caller: "user:nobody", AgentID: "agent_a", Limit: 10},
			"another agent":   {Caller: owner, AgentID: "agent_b", Limit: 10},
			"another channel": {Caller: owner, AgentID: "agent_a", Channel: "ch-none", Limit: 10},
			"in the future":   {Caller: owner, AgentID: "agent_a", After: time.Now().Add(time.Hour), Limit: 10},
		} {
			if page, total, err := l.RequestPage(t.Context(), none); err != nil || total != 0 || len(page) != 0 {
				t.Errorf("%s: %d, %v", name, total, err)
			}
		}
	})
}
