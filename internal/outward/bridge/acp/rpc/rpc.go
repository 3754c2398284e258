// Package rpc is one end of JSON-RPC 2.0 over lines, as the Agent Client Protocol
// has it: both ends ask, answers come in any order. A Peer makes calls and notices
// (rpc.go) and answers what the other end asks (answer.go).
package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// Error is an error of the other end, or one for it.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Codes of errors.
const (
	MethodNotFound = -32601
	InvalidParams  = -32602
	Internal       = -32603
	LoginNeeded    = -32000 // of the Agent Client Protocol
)

// Line is how lines get to the other end.
type Line interface {
	Write(ctx context.Context, line []byte) error
	TryWrite(line []byte) // never waits; the line may be lost
}

// Options say what a peer stands on.
type Options struct {
	Line Line
	Gone <-chan struct{} // closed when the other end has ended
	Log  *slog.Logger

	Answer func(ctx context.Context, method string, params json.RawMessage) (any, error) // a request of the other end; several at a time
	Notice func(method string, params json.RawMessage)                                   // a notification; one at a time, in order
	Babble func()                                                                        // the other end speaks something else
}

// Peer is one end.
type Peer struct {
	Options
	answering sync.WaitGroup
	heard     atomic.Int64 // when the last line came

	mu      sync.Mutex
	last    int64
	calls   map[string]chan message // that have no answer yet, by id
	asked   map[string]context.CancelFunc
	strange int // lines that cannot be used, since the last one that could
}

// New returns a peer. Receive has to be told each line.
func New(o Options) *Peer {
	return &Peer{Options: o, calls: map[string]chan message{}, asked: map[string]context.CancelFunc{}}
}

// message is a line.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// Call makes a call and reads its result. An error of the other end is an *Error.
func (p *Peer) Call(ctx context.Context, method string, params, result any) error {
	raw, err := beeos.EncodeJSON(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	id, answer := p.begin()
	defer p.finish(id)
	if err := p.write(ctx, message{ID: json.RawMessage(id), Method: method, Params: raw}); err != nil {
		return err
	}
	select {
	case got := <-answer:
		return read(method, got, result)
	case <-p.Gone:
		select {
		case got := <-answer: // its last words count
			return read(method, got, result)
		default:
			return upstream.ErrGone
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func read(method string, got message, result any) error {
	if got.Error != nil {
		return got.Error
	}
	if err := json.Unmarshal(got.Result, result); err != nil {
		return fmt.Errorf("the program behind this agent answered %s with something else: %w", method, err)
	}
	return nil
}

// SilentSince reports whether nothing has come from the other end since then.
func (p *Peer) SilentSince(t time.Time) bool { return p.heard.Load() < t.UnixNano() }

func (p *Peer) begin() (id string, answer chan message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	id, answer = strconv.FormatInt(p.last, 10), make(chan message, 1)
	p.calls[id] = answer
	return id, answer
}

func (p *Peer) finish(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.calls, id)
}

// Notify sends a notification.
func (p *Peer) Notify(ctx context.Context, method string, params any) error {
	raw, err := beeos.EncodeJSON(params)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return p.write(ctx, message{Method: method, Params: raw})
}

func (p *Peer) write(ctx context.Context, m message) error {
	m.Version = "2.0"
	line, err := beeos.EncodeJSON(m)
	if err != nil {
		return err
	}
	return p.Line.Write(ctx, append(line, '\n'))
}

// What is borne of an end that speaks something else.
const (
	strangeLogged = 10
	maxStrange    = 1000
)

// Receive acts on a line of the other end's. Requests are answered beside it;
// everything else has been acted on when it returns.
func (p *Peer) Receive(ctx context.Context, line []byte) {
	p.heard.Store(time.Now().UnixNano())
	var m message
	err := json.Unmarshal(line, &m)
	if err == nil && m.Method == "" && len(m.ID) == 0 {
		err = errors.New("neither a request nor an answer")
	}
	if err != nil {
		p.noteStrange(line, err)
		return
	}
	p.mu.Lock()
	p.strange = 0
	p.mu.Unlock()
	switch {
	case m.Method == "":
		p.mu.Lock()
		answer := p.calls[string(m.ID)]
		delete(p.calls, string(m.ID))
		p.mu.Unlock()
		if answer != nil {
			answer <- m // it has room for one
		}
	case len(m.ID) > 0:
		p.beginAnswer(ctx, m)
	case m.Method == "$/cancel_request":
		var which struct {
			ID json.RawMessage `json:"requestId"`
		}
		if json.Unmarshal(m.Params, &which) == nil {
			p.cancelAnswer(string(which.ID))
		}
	default:
		p.Notice(m.Method, m.Params)
	}
}

// noteStrange logs a line that cannot be used. Who writes nothing else is no peer.
func (p *Peer) noteStrange(line []byte, err error) {
	p.mu.Lock()
	p.strange++
	n := p.strange
	p.mu.Unlock()
	switch {
	case n <= strangeLogged:
		p.Log.Warn("a line of the program's cannot be used", "err", err, "line", upstream.Shorten(string(line)))
	case n == maxStrange:
		p.Log.Error("the program writes something other than JSON-RPC to its stdout; it is stopped", "lines", n)
		p.Babble()
	}
}
