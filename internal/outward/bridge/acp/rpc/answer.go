package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/beeos/beeos"
)

// maxAnswering is how many requests of the other end are worked on at a time.
const maxAnswering = 64

// beginAnswer answers a request, beside everything else.
func (p *Peer) beginAnswer(ctx context.Context, m message) {
	ctx, why := p.admit(ctx, string(m.ID))
	if why != "" {
		p.Log.Warn("a request of the program's is refused", "method", m.Method, "err", why)
		refusal, _ := beeos.EncodeJSON(message{Version: "2.0", ID: m.ID, Error: &Error{Code: Internal, Message: why}}) // strings and numbers
		p.Line.TryWrite(append(refusal, '\n'))
		return
	}
	p.answering.Go(func() {
		defer p.cancelAnswer(string(m.ID))
		p.answer(ctx, m)
	})
}

// admit notes a request, or says why it cannot be worked on.
func (p *Peer) admit(ctx context.Context, id string) (asked context.Context, why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked[id] != nil {
		return nil, "a request of this id is being worked on"
	}
	if len(p.asked) >= maxAnswering {
		return nil, fmt.Sprintf("%d requests are being worked on already; ask again when one is answered", maxAnswering)
	}
	asked, p.asked[id] = context.WithCancel(ctx)
	return asked, ""
}

// answer works on a request and writes what came of it.
func (p *Peer) answer(ctx context.Context, m message) {
	resp := message{ID: m.ID}
	result, err := p.Answer(ctx, m.Method, m.Params)
	if err == nil {
		resp.Result, err = beeos.EncodeJSON(result)
	}
	if err != nil {
		known, ok := errors.AsType[*Error](err)
		if !ok {
			known = &Error{Code: Internal, Message: err.Error()}
		}
		resp.Result, resp.Error = nil, known
	}
	if err := p.write(context.WithoutCancel(ctx), resp); err != nil { // until it has ended
		p.Log.Debug("an answer did not reach the program", "method", m.Method, "err", err)
	}
}

func (p *Peer) cancelAnswer(id string) {
	p.mu.Lock()
	cancel := p.asked[id]
	delete(p.asked, id)
	p.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Wait returns when no request is being worked on. The other end has to be gone.
func (p *Peer) Wait() {
	p.mu.Lock()
	for _, cancel := range p.asked {
		cancel()
	}
	p.mu.Unlock()
	p.answering.Wait()
}

// Params reads the params of a request.
func Params[T any](raw json.RawMessage) (params T, err error) {
	if err := json.Unmarshal(raw, &params); err != nil {
		return params, &Error{Code: InvalidParams, Message: "the params cannot be read: " + err.Error()}
	}
	return params, nil
}
