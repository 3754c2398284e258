package approval

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
)

// screen is what the caller of a turn sees.
type screen struct {
	progress chan string
	offers   map[string]json.RawMessage // open forms, by approval
}

func (s *screen) ShowProgress(text, _ string, _ beeos.ApprovalStep) { s.progress <- text }
func (s *screen) OpenPrompt(o Offer, form json.RawMessage) error {
	s.offers[o.ApprovalID] = form
	return nil
}
func (s *screen) ClosePrompt(o Offer) { delete(s.offers, o.ApprovalID) }

// TestPendingCalls: a call waits once under its id, its caller sees it until it
// is decided, and the agent hears of the decision unless its turn has gone.
func TestPendingCalls(t *testing.T) {
	for _, gone := range []bool{false, true} {
		t.Run(fmt.Sprint("gone=", gone), func(t *testing.T) {
			r := newRig(t)
			var err error
			if r.Ledger, err = ledger.Open(t.Context(), r.DB.DB, ledger.Options{}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(r.Ledger.Close)
			agent := r.declareAgent()
			call := r.startTurn(agent)
			s := &screen{progress: make(chan string, 10), offers: map[string]json.RawMessage{}}
			done := make(chan struct{})
			p := r.NewPending(agent.ID, s, func(f func()) { go func() { f(); close(done) }() })
			reported := make(chan beeos.Approved, 1)
			ask := func(c ToolCall) error {
				return p.Ask(c, func(made beeos.Approved, err error) {
					if err != nil {
						t.Error(err)
					}
					reported <- made
				})
			}
			if err := ask(call); err != nil {
				t.Fatal(err)
			}
			if text := <-s.progress; text != "waiting for approval of pay" || len(s.offers) != 1 {
				t.Errorf("the caller sees %q and %d forms", text, len(s.offers))
			}
			if err := ask(call); err != nil {
				t.Errorf("the same question again: %v", err)
			}
			other := call
			other.Arguments = json.RawMessage(`{"amount":1000}`)
			if err := ask(other); beeos.CodeOf(err) != beeos.Conflict {
				t.Errorf("another call under the same id: %v", err)
			}
			open, err := r.Open(t.Context(), agent.OwnerID, 10)
			if err != nil || len(open) != 1 {
				t.Fatal(open, err)
			}
			if gone {
				p.Close()
				<-done
				if err := ask(call); err != nil || len(reported) != 0 {
					t.Errorf("%d decisions for a turn that has gone, %v", len(reported), err)
				}
			} else {
				d, ok := Offer{open[0].ID, agent.OwnerID}.ReadForm([]byte(`{"result":{"action":"accept","content":{"approve":true}}}`))
				if !ok {
					t.Fatal("the form is not read")
				}
				r.DecideForCaller(d)
				if made := <-reported; !made.Approved || made.ID != open[0].ID {
					t.Errorf("%+v", made)
				}
				<-done
			}
			if len(s.offers) != 0 {
				t.Error("the form stays open")
			}
		})
	}
}

// declareAgent stores the owner and an agent of theirs.
func (r *rig) declareAgent() *beeos.Agent {
	r.t.Helper()
	ctx := r.t.Context()
	key, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	inst := beeos.Instance{ID: "inst", OwnerID: r.owner.ID, Name: "inst", PublicKey: key, CreatedAt: r.now}
	if err := r.DB.Instances.Create(ctx, inst); err != nil {
		r.t.Fatal(err)
	}
	done, err := r.DB.Agents.Sync(ctx, inst, []beeos.Definition{{Name: "payer"}})
	if err != nil {
		r.t.Fatal(err)
	}
	agent, err := r.DB.Agents.Get(ctx, done.Created[0].ID)
	if err != nil {
		r.t.Fatal(err)
	}
	return agent
}

// startTurn returns a tool call of a turn that the owner of the agent called
// for.
func (r *rig) startTurn(agent *beeos.Agent) ToolCall {
	r.t.Helper()
	err := r.Ledger.CreateChannel(r.t.Context(), beeos.Channel{ID: "ch", AgentID: agent.ID, Owner: "user:" + agent.OwnerID, Kind: beeos.KindInvoke, CreatedAt: r.now})
	if err != nil {
		r.t.Fatal(err)
	}
	return ToolCall{Channel: "ch", Turn: "turn", Request: "r", Tool: "pay", Arguments: json.RawMessage(`{"amount":1}`)}
}
