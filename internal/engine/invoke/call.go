package invoke

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
)

// Request is one call to an agent.
type Request struct {
	Caller  beeos.Caller
	Agent   *beeos.Agent
	Surface string // mcp, rest, a2a, web

	// Where the call belongs: a channel of the caller's, made when absent; or
	// a context, any string of the client's; or neither, for a channel that
	// closes with its one reply.
	Channel   string
	ContextID string
	Fresh     bool   // Channel was made for this call, and may be kept by the caller later
	Kind      string // of a new channel; empty = invoke

	TurnID string // the message id to use; empty = fresh
	Body   string
	Parts  json.RawMessage
	Call   beeos.Call

	Attachments []Attachment // files of the caller's; become Parts and Call.Attachments

	IdempotencyKey string
	Join           bool   // a repeated key waits for the first call under it, instead of being refused; TurnID and Channel become that call's
	Fingerprint    []byte // of the payload without Attachments; nil = computed

	Timeout  time.Duration // how long to wait; 0 = the agent's, else the default
	Deadline time.Time     // when the request itself ends; zero = an hour from now
	Live     bool          // yield deltas, progress, logs and asks too
}

// Do calls the agent. It yields live events (with Live), then exactly one
// terminal EventMessage or exactly one error. When ctx ends it stops waiting;
// the agent goes on unless the surface cancels it. Until it is over the request
// is not to be changed.
//
// Thousands of calls wait at once, each on a stack that stays as large as the
// frames under the wait make it: below here events and requests go by pointer,
// and what needs room returns before await does its waiting.
func (c *Calls) Do(ctx context.Context, r *Request) iter.Seq2[beeos.Event, error] {
	return c.observed(ctx, r, c.do)
}

// observed makes an iterator of a call and records how it ended.
func (c *Calls) observed(ctx context.Context, r *Request, do func(context.Context, *Request, func(*beeos.Event) bool) error) iter.Seq2[beeos.Event, error] {
	return func(yield func(beeos.Event, error) bool) {
		start := c.opt.Now()
		var last *beeos.Message
		err := do(ctx, r, func(ev *beeos.Event) bool {
			if ev.Message != nil {
				last = ev.Message
			}
			return yield(*ev, nil)
		})
		c.record(r, start, last, err)
		if err != nil && !errors.Is(err, errStopped) {
			fail(yield, err)
		}
	}
}

//go:noinline // its event would lie under the wait of every call
func fail(yield func(beeos.Event, error) bool, err error) { yield(beeos.Event{}, err) }

// errStopped: the one who ranges over Do has had enough.
var errStopped = errors.New("stopped")

// Last ranges over a call and returns its terminal message.
func Last(seq iter.Seq2[beeos.Event, error]) (*beeos.Message, error) {
	var last *beeos.Message
	for ev, err := range seq {
		if err != nil {
			return nil, err
		}
		if ev.Message != nil {
			last = ev.Message
		}
	}
	return last, nil
}

func (c *Calls) do(ctx context.Context, r *Request, yield func(*beeos.Event) bool) error {
	t, err := c.begin(ctx, r)
	if err != nil {
		return err
	}
	defer t.close()
	switch {
	case t.done != nil:
		yield(t.last(t.done))
		return nil
	case t.repeat && r.Join:
		return c.join(ctx, r, t, yield)
	case t.repeat:
		return beeos.Errorf(beeos.Conflict, "a call with this idempotency_key is still in flight; wait for it, or use another key")
	}
	return t.await(ctx, yield)
}

// join waits for the first call under an idempotency key.
func (c *Calls) join(ctx context.Context, r *Request, first *turn, yield func(*beeos.Event) bool) error {
	r.TurnID, r.Channel = first.id, first.channel // so that who gives up knows what goes on
	return c.resume(ctx, r, func(ev *beeos.Event) bool {
		ev.Replayed = true
		return yield(ev)
	})
}

// Send appends a request and hands it to the agent without waiting. A
// repeated idempotency key gives the first request's message.
func (c *Calls) Send(ctx context.Context, r Request) (beeos.Message, error) {
	s, err := c.Submit(ctx, r)
	return s.Message, err
}

// Sent is a request that was stored.
type Sent struct {
	Message  beeos.Message
	Done     *beeos.Message // its terminal reply, when that was there at once
	Replayed bool           // an earlier call under the same idempotency key stored it
}

// Submit is Send for who wants to know more about it.
func (c *Calls) Submit(ctx context.Context, r Request) (Sent, error) {
	r.Live = false
	t, err := c.begin(ctx, &r)
	if err != nil {
		return Sent{}, err
	}
	t.close()
	return Sent{t.message, t.done, t.repeat}, nil
}

// begin checks, stores and dispatches a request.
func (c *Calls) begin(ctx context.Context, r *Request) (*turn, error) {
	if err := c.permit(ctx, r); err != nil {
		return nil, err
	}
	offline := c.offline(ctx, r.Agent)
	if offline != nil && r.IdempotencyKey == "" {
		return nil, offline
	}
	if err := c.attach(ctx, r); err != nil {
		return nil, err
	}
	open, err := c.opening(r)
	if err != nil {
		return nil, err
	}
	if offline != nil { // what it has answered before can be had without it
		dup, err := c.opt.Ledger.Known(ctx, open.Idempotency)
		if err != nil || dup == nil {
			return nil, cmp.Or(err, offline)
		}
		return c.repeat(ctx, r, dup)
	}
	t := &turn{c: c, id: open.Message.ID, channel: open.Channel.ID, timeout: c.timeout(r)}
	// Before the message exists, so that its reply cannot be missed.
	t.waiter = c.waiters.add(c.waiters.byTurn, t.id)
	if r.Live {
		t.feed = newFeed(t.id)
		t.unwatch = c.opt.Bus.Watch(t.channel, t.feed.push)
	}
	// Not cut short when the caller leaves: what is stored must be dispatched.
	dup, busy, err := c.opt.Ledger.Begin(context.WithoutCancel(ctx), open)
	switch {
	case err != nil:
		t.close()
		return nil, err
	case dup != nil:
		t.close()
		return c.repeat(ctx, r, dup)
	case busy != nil:
		t.done = busy
	default:
		c.dispatch(ctx, r.Agent, open)
	}
	t.message = open.Message
	return t, nil
}

// permit refuses what must leave no trace.
func (c *Calls) permit(ctx context.Context, r *Request) error {
	if !r.Caller.MayReach(r.Agent) {
		return beeos.Errorf(beeos.AgentNotFound, "there is no agent %s that this credential reaches", r.Agent.ID)
	}
	if len(r.IdempotencyKey) > 256 || !storable(r.IdempotencyKey) { // a header may be anything
		return beeos.Errorf(beeos.InvalidParam, "idempotency_key must be text in UTF-8, without zero bytes, of at most 256 bytes")
	}
	if !storable(r.Body) {
		return beeos.Errorf(beeos.InvalidBody, "the message has zero bytes or is not UTF-8; send plain text")
	}
	return c.withinLimit(ctx, &r.Caller, r.Agent)
}

// storable reports whether every database can hold the text.
func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// offline is why nobody would take the request now; nil = somebody would, or
// it can wait.
func (c *Calls) offline(ctx context.Context, a *beeos.Agent) error {
	if a.Definition.DeliveryMode == beeos.DeliverQueue || c.opt.Bus.Present(ctx, a.ID) {
		return nil
	}
	return beeos.Errorf(beeos.AgentOffline, "agent %q is offline: no instance of it is connected; start it and try again", a.Name)
}

func (c *Calls) timeout(r *Request) time.Duration {
	switch {
	case r.Timeout > 0:
		return r.Timeout
	case r.Agent.Timeout > 0:
		return r.Agent.Timeout
	}
	return c.opt.Timeout
}

// opening lays out what one transaction will store.
func (c *Calls) opening(r *Request) (*ledger.Opening, error) {
	payload, err := json.Marshal(&r.Call)
	if err != nil {
		return nil, beeos.Wrap(beeos.InvalidBody, err, "the request's payload cannot be encoded")
	}
	now := c.opt.Now()
	id := r.TurnID
	if id == "" {
		id = beeos.NewID()
	}
	channel := c.channel(r)
	def := &r.Agent.Definition
	o := &ledger.Opening{
		Channel: channel,
		Fresh:   r.fresh(),
		Known:   r.Channel == "" && isContextChannel(r.ContextID),
		Message: beeos.Message{
			ID: id, Channel: channel.ID, Type: beeos.ChatMessage, State: beeos.StateCompleted,
			Publisher: channel.Owner, Body: r.Body, Parts: r.Parts, Payload: payload,
		},
		Delivery: &ledger.Delivery{
			AgentID: r.Agent.ID, Mode: def.DeliveryMode, Redelivery: redelivery(r), Lane: lane(r, &channel),
			LeaseUntil: now.Add(LeaseTTL), Deadline: c.deadline(r),
		},
	}
	if r.IdempotencyKey != "" {
		print := r.Fingerprint
		if print == nil {
			print = fingerprint(r, payload)
		}
		o.Idempotency = &ledger.Idempotency{
			Scope: r.Caller.CredentialID + " " + r.Agent.ID, Key: r.IdempotencyKey,
			Fingerprint: print, Expires: now.Add(idempotencyTTL),
		}
	}
	return o, nil
}

// deadline is when the request itself ends.
func (c *Calls) deadline(r *Request) time.Time {
	if r.Deadline.IsZero() {
		return c.opt.Now().Add(turnLimit)
	}
	return r.Deadline
}

// fresh reports whether the call's channel cannot exist yet.
func (r *Request) fresh() bool { return r.Fresh || r.Channel == "" && r.ContextID == "" }

func (c *Calls) channel(r *Request) beeos.Channel {
	ch := beeos.Channel{ID: r.Channel, AgentID: r.Agent.ID, Owner: r.Caller.Principal(), Kind: r.Kind}
	if ch.Kind == "" {
		ch.Kind = beeos.KindInvoke
	}
	switch {
	case ch.ID != "":
	case r.ContextID != "":
		ch.ID = ContextChannel(ch.Owner, r.Agent.ID, r.ContextID)
	default:
		ch.ID = beeos.NewChannelID()
		ch.SingleShot = true
	}
	return ch
}

// lane is what an agent takes one request at a time of. A session is the
// channel that a caller keeps; a caller that keeps none is one session itself.
func lane(r *Request, ch *beeos.Channel) string {
	def := &r.Agent.Definition
	switch {
	case def.DeliveryMode == beeos.DeliverBusyReject, def.DeliveryMode == beeos.DeliverQueue && def.Lane == beeos.LaneAgent:
		return r.Agent.ID
	case def.DeliveryMode == beeos.DeliverQueue && r.fresh():
		return r.Agent.ID + " " + ch.Owner
	case def.DeliveryMode == beeos.DeliverQueue:
		return ch.ID
	}
	return ""
}

// fingerprint tells two payloads apart. Each field goes in with its length,
// so that no two requests run together.
func fingerprint(r *Request, payload []byte) []byte {
	h := sha256.New()
	for _, field := range [][]byte{[]byte(r.Body), r.Parts, payload, []byte(r.Channel), []byte(r.ContextID)} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(field)))
		h.Write(n[:])
		h.Write(field)
	}
	return h.Sum(nil)
}

// repeat answers a call whose idempotency key is known.
func (c *Calls) repeat(ctx context.Context, r *Request, dup *ledger.Duplicate) (*turn, error) {
	reply, err := c.opt.Ledger.Terminal(ctx, dup.Turn)
	if err != nil {
		return nil, fmt.Errorf("read the stored reply: %w", err)
	}
	t := &turn{c: c, id: dup.Turn, channel: dup.Channel, done: reply, repeat: true, timeout: c.timeout(r)}
	if t.message, err = c.opt.Ledger.Find(ctx, dup.Channel, dup.Turn); err != nil {
		return nil, fmt.Errorf("read the first request: %w", err)
	}
	t.waiter = &waiter{}
	return t, nil
}

func (c *Calls) record(r *Request, start time.Time, last *beeos.Message, err error) {
	rec := CallRecord{
		At: start, Surface: r.Surface, Caller: r.Caller.Name, AgentID: r.Agent.ID, AgentName: r.Agent.Name,
		What: r.Call.Tool, Took: c.opt.Now().Sub(start), Outcome: "ok",
	}
	if rec.What == "" {
		rec.What = "message"
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errStopped):
		rec.Outcome = "disconnected"
	case err != nil:
		rec.Outcome = string(beeos.CodeOf(err))
	case last != nil:
		rec.Preview = last.Body
		if last.IsError() {
			rec.Outcome = string(last.Type)
		}
	}
	c.opt.OnCall(rec)
}
