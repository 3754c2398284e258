package acp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// cancelWithin is how long the program may take to end what was cancelled. After
// that its session is given up.
const cancelWithin = 10 * time.Second

// turn is one message, in the program's hands.
type turn struct {
	process *process
	session *session
	m       agent.Message
	r       *agent.Reply
	ctx     context.Context // ends with the answer: so do questions about it
	end     context.CancelFunc

	mu    sync.Mutex
	tools map[string]*toolCall
	plan  plan
	words words
	cost  float64     // of it, in dollars
	step  *agent.Step // all of it
}

// answerMessage handles one message: the program gets it as a prompt, the caller
// all that comes back.
func (b *bridge) answerMessage(ctx context.Context, m agent.Message, r *agent.Reply) error {
	if m.Method != "" {
		return r.Refuse("this agent has no tools or resources of its own; talk to it")
	}
	promptFor, err := readPrompt(ctx, m)
	if err != nil {
		return err
	}
	p, err := b.current.Wait(ctx)
	if err != nil {
		return err
	}
	s, err := p.acquire(ctx, m, r)
	if errors.Is(err, errTooManySessions) {
		return r.Busy(err.Error())
	}
	if err != nil {
		return err
	}
	if err := r.Remember(memory{s.id}); err != nil {
		s.release()
		return err
	}
	t := &turn{process: p, session: s, m: m, r: r, tools: map[string]*toolCall{}}
	t.ctx, t.end = context.WithCancel(ctx)
	defer t.end()
	p.newest.Store(t)
	return t.run(ctx, promptFor(&p.about))
}

// prompted is how the prompt of a turn ended.
type prompted struct {
	result promptResult
	err    error
}

// run has the program work on the prompt. When the caller gives up it is told, and
// the session waits for it without the caller.
func (t *turn) run(ctx context.Context, prompt []content) error {
	s := t.session
	t.step = t.r.Step("session/prompt", agent.StepModel)
	s.setTurn(t)
	ended := make(chan prompted, 1)
	t.process.bridge.settling.Go(func() {
		var got prompted
		params := map[string]any{"sessionId": s.id, "prompt": prompt}
		got.err = t.process.peer.Call(context.WithoutCancel(ctx), "session/prompt", params, &got.result)
		ended <- got
	})
	select {
	case got := <-ended:
		s.setTurn(nil)
		defer s.release()
		return t.finish(ctx, got)
	case <-ctx.Done():
		t.end()
		t.process.bridge.settling.Go(func() { t.cancel(ended) })
		return context.Cause(ctx)
	}
}

func (s *session) setTurn(t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = t
}

// cancel tells the program that nobody wants the answer, and frees the session when
// it has understood.
func (t *turn) cancel(ended <-chan prompted) {
	s, p := t.session, t.process
	ctx, stop := context.WithTimeout(context.Background(), cancelWithin)
	defer stop()
	err := p.peer.Notify(ctx, "session/cancel", map[string]string{"sessionId": s.id})
	if err == nil {
		select {
		case <-ended:
		case <-p.Gone:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	s.setTurn(nil)
	if err != nil {
		p.bridge.log.Warn("the program does not end what was cancelled; its session is given up", "session", upstream.Shorten(s.id), "err", err)
		p.dropSession(s)
		p.closeSession(s)
	}
	s.release()
}

// finish makes an answer of how the prompt ended.
func (t *turn) finish(ctx context.Context, got prompted) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if got.err != nil {
		err := t.process.publicError(got.err)
		t.step.End(err)
		return err
	}
	t.mu.Lock()
	said := t.words.any
	t.mu.Unlock()
	t.tellUsage(got.result.Usage)
	t.step.Set("finish", upstream.Shorten(got.result.Reason)).End(nil)
	switch got.result.Reason {
	case "refusal":
		if !said {
			return t.r.Refuse("the agent declined to answer this")
		}
	case "cancelled":
		return errors.New("the program behind this agent ended the turn as cancelled, which nobody had asked for; try again")
	case "max_tokens":
		return t.cutOff("its model's limit of tokens", said)
	case "max_turn_requests":
		return t.cutOff("its limit of requests to the model for one message", said)
	}
	if !said {
		return errors.New("the program behind this agent said nothing")
	}
	return t.r.Send("")
}

// cutOff ends an answer that the program did not finish.
func (t *turn) cutOff(limit string, said bool) error {
	if !said {
		return fmt.Errorf("the agent reached %s before it had said anything; ask for less at a time", limit)
	}
	return t.r.Send(fmt.Sprintf("\n\n[cut off: the agent reached %s; tell it to go on]", limit))
}

// tellUsage tells what the answer took.
func (t *turn) tellUsage(u *usage) {
	s := t.session
	s.mu.Lock()
	model := s.model
	s.mu.Unlock()
	if model == "" {
		model = t.process.about.Agent.Name
	}
	var input, output int64
	if u != nil {
		input, output = u.tokens()
	}
	t.mu.Lock()
	cost := t.cost
	t.mu.Unlock()
	t.step.Tokens(model, max(0, input), max(0, output))
	if cost > 0 { // else the price list says it
		t.r.Usage(model, max(0, input), max(0, output), cost)
	}
}
