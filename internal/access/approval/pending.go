package approval

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
)

const (
	maxPending = 128         // tool calls of one turn that may wait at a time
	retryEvery = time.Second // when an approval cannot be asked for
)

// Pending is the tool calls of one turn that wait for a decision on this node.
// The approvals themselves are rows, so they outlive it: an agent that is
// restarted, or handed the turn again, asks again and finds the same row.
type Pending struct {
	approvals *Approvals
	agentID   string
	prompter  Prompter
	run       func(func())

	mu     sync.Mutex
	closed bool
	calls  map[string]pendingCall // by the agent's id of its question
}

type pendingCall struct {
	call   ToolCall
	cancel context.CancelFunc
}

// NewPending returns the pending calls of a turn that an agent works on; run
// starts a goroutine for each of them.
func (s *Approvals) NewPending(agentID string, p Prompter, run func(func())) *Pending {
	return &Pending{approvals: s, agentID: agentID, prompter: p, run: run, calls: map[string]pendingCall{}}
}

// Ask puts a tool call before a person and returns. The decision, which may
// take long, goes to report; nothing is reported when the turn leaves this node
// first. A question that waits already is not asked a second time.
func (p *Pending) Ask(call ToolCall, report func(beeos.Approved, error)) error {
	if len(call.Arguments) == 0 {
		call.Arguments = json.RawMessage(`{}`)
	}
	if err := call.check(); err != nil {
		return err
	}
	ctx, fresh, err := p.add(call)
	if err != nil || !fresh {
		return err
	}
	p.run(func() {
		made, err := p.awaitWithRetries(ctx, call)
		gone := ctx.Err() != nil
		p.remove(call.Request) // before the agent hears of it: it may ask again at once
		if !gone {
			report(made, err)
		}
	})
	return nil
}

// Close stops waiting: the turn has left this node.
func (p *Pending) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.calls {
		c.cancel()
	}
}

// add notes that a call waits; fresh is false when it does already. While a
// request waits, its id is not good for another call: the agent would take the
// decision about the one for the decision about the other.
func (p *Pending) add(call ToolCall) (ctx context.Context, fresh bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, waits := p.calls[call.Request]; waits && !c.call.sameAs(&call) {
		return nil, false, beeos.Errorf(beeos.Conflict, "request_id %q waits for a decision about another call; give each call an id of its own", call.Request)
	} else if waits || p.closed {
		return nil, false, nil
	}
	if len(p.calls) >= maxPending {
		return nil, false, beeos.Errorf(beeos.RateLimited, "%d tool calls of this message wait for a decision; ask about more when one is made", maxPending)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.calls[call.Request] = pendingCall{call, cancel}
	return ctx, true, nil
}

func (p *Pending) remove(request string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[request].cancel()
	delete(p.calls, request)
}

// awaitWithRetries waits for the decision, through faults that may pass.
func (p *Pending) awaitWithRetries(ctx context.Context, call ToolCall) (beeos.Approved, error) {
	for {
		made, err := p.await(ctx, call)
		var known *beeos.Error
		if err == nil || ctx.Err() != nil || errors.As(err, &known) && known.Code != beeos.InternalError {
			return made, err
		}
		p.approvals.Log.Error("an approval could not be asked for; trying again", "turn", call.Turn, "tool", call.Tool, "err", err)
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}

// await waits for the decision and shows the caller what is being waited for.
func (p *Pending) await(ctx context.Context, call ToolCall) (made beeos.Approved, err error) {
	s := p.approvals
	if call.Agent, err = s.Agents.Get(ctx, p.agentID); err != nil {
		return made, err
	}
	ch, err := s.Ledger.Channel(ctx, call.Channel)
	if err != nil {
		return made, err
	}
	call.Caller = ch.Owner
	var shown *prompt
	made, err = s.awaitDecision(ctx, call, func(a approvals.Approval, fresh bool) (approvals.Approval, error) {
		shown = p.openPrompt(ctx, a, fresh)
		defer shown.close()
		return s.waitUntilSettled(ctx, a.ID, shown.remind)
	})
	if shown != nil && err == nil {
		shown.showDecision(made)
	}
	return made, err
}
