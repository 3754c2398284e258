package approval

import (
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
)

// answered lets the call of a later turn ask, and returns what it is told; nil = it has
// to wait.
func (r *rig) answered(turn, channel, arguments string) *beeos.Approved {
	r.t.Helper()
	call := r.call(arguments)
	call.Turn, call.Channel, call.Request = turn, channel, "r of "+turn
	waits := false
	made, err := r.awaitDecision(r.t.Context(), call, func(a approvals.Approval, _ bool) (approvals.Approval, error) {
		waits = true
		a.State = approvals.Rejected
		return a, nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if waits {
		return nil
	}
	return &made
}

// TestYesForLonger: the same call goes ahead by policy until the time is up, the grant is
// revoked or the rules change.
func TestYesForLonger(t *testing.T) {
	for name, end := range map[string]func(r *rig, g approvals.Grant){
		"its time is up": func(r *rig, _ approvals.Grant) { r.now = r.now.Add(16 * time.Minute) },
		"it is revoked": func(r *rig, g approvals.Grant) {
			u := beeos.User{ID: "stranger"}
			if err := r.RevokeGrant(r.t.Context(), g.ID, &u); beeos.CodeOf(err) != beeos.NotFound {
				r.t.Errorf("a stranger revokes it: %v", err)
			}
			if err := r.RevokeGrant(r.t.Context(), g.ID, &r.owner); err != nil {
				r.t.Error(err)
			}
			if err := r.RevokeGrant(r.t.Context(), g.ID, &r.owner); beeos.CodeOf(err) != beeos.NotFound {
				r.t.Errorf("revoked twice: %v", err)
			}
		},
		"the rules change": func(r *rig, _ approvals.Grant) {
			if err := r.SetRules(r.t.Context(), r.agent, r.owner, []approvals.Rule{{Tool: "pay", Mode: approvals.ModeAsk}}); err != nil {
				r.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			a := r.request(`{"n": 1}`)
			if _, err := r.ApproveFor(t.Context(), a.ID, r.byOwner(), "", approvals.Lasts{For: 15 * time.Minute}); err != nil {
				t.Fatal(err)
			}
			list, err := r.Grants(t.Context(), "ann")
			if err != nil || len(list) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			made := r.answered("turn 2", "", `{ "n": 1 }`)
			if made == nil || !made.Approved || made.By != "policy" || made.ID == "" || made.ID == a.ID {
				t.Fatalf("the same call waits: %+v", made)
			}
			if row, err := r.Table.Get(t.Context(), made.ID); err != nil || row.Grant != list[0].ID || !row.Spent {
				t.Errorf("%+v, %v", row, err)
			}
			if r.answered("turn 3", "", `{"n": 2}`) != nil {
				t.Error("other arguments go ahead")
			}
			end(r, list[0])
			if list, err := r.Grants(t.Context(), "ann"); err != nil || len(list) != 0 {
				t.Errorf("still listed: %+v, %v", list, err)
			}
			if r.answered("turn 4", "", `{"n": 1}`) != nil {
				t.Error("it still goes ahead")
			}
		})
	}
}

// TestYesForAConversation: any arguments there, nothing elsewhere.
func TestYesForAConversation(t *testing.T) {
	r := newRig(t)
	call := r.call(`{"n": 1}`)
	call.Channel = "conversation"
	a, err := r.ask(call)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ApproveFor(t.Context(), a.ID, r.byOwner(), "", approvals.Lasts{Conversation: true}); err != nil {
		t.Fatal(err)
	}
	if r.answered("turn 2", "conversation", `{"n": 2}`) == nil {
		t.Error("the conversation waits")
	}
	if r.answered("turn 3", "another", `{"n": 1}`) != nil {
		t.Error("another conversation goes ahead")
	}
}

// TestYesThatCannotLast: of a yes that others have to join, about a budget, for too long.
func TestYesThatCannotLast(t *testing.T) {
	r := newRig(t)
	r.person("bob")
	r.review(approvals.Review{Reviewers: []string{"bob"}, Need: 2})
	a := r.request(`{}`)
	for _, lasts := range []approvals.Lasts{{For: time.Hour}, {For: time.Second}, {For: 25 * time.Hour}, {}, {Conversation: true}} {
		if _, err := r.ApproveFor(t.Context(), a.ID, r.byOwner(), "", lasts); beeos.CodeOf(err) != beeos.InvalidParam {
			t.Errorf("%+v: %v", lasts, err)
		}
	}
	if MayLast(&a) || MayLast(&approvals.Approval{Turn: approvals.BudgetTurn + "b"}) || !MayLast(&approvals.Approval{Turn: "t", Need: 1}) {
		t.Error("what may last")
	}
	if got, err := r.Table.Get(t.Context(), a.ID); err != nil || !got.Open() || got.Yes != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
