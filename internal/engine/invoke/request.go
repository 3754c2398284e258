package invoke

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/ledger"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Request is one call to an agent as a surface hands it over: who calls whom,
// what they said in their protocol, and how they wait for the reply. Whatever
// follows from that is settled here, so that it is the same on every surface.
type Request struct {
	Caller  beeos.Caller
	Agent   *beeos.Agent
	Surface string // mcp, rest, a2a, web, agent, replay; the agent reads it as the protocol

	// Where the call belongs: the first of these that is set, or else a new
	// channel. The caller has named the first two; a session is the protocol's.
	Channel   string // a channel of the caller's
	ContextID string // any string of the client's, or a channel's id
	SessionID string // like ContextID
	KeepOpen  bool   // a new channel stays open for later calls, instead of closing with its one reply
	Kind      string // of a new channel; empty = invoke

	TurnID string // the message id to use; empty = Do sets a new one
	Body   string
	Parts  json.RawMessage
	Call   beeos.Call // what the protocol said besides; Protocol, Attachments, MetadataOnly and, on a channel that is known, Model are set here
	Chain  []string   // the agents that called each other and so led to this call, first to last

	Attachments []files.Attachment // files of the caller's
	FilesOf     string             // the principal whose they are; empty = the caller. Who sets it has seen to it that the caller may pass them on
	Check       func() error       // what costs work to find out: asked when quota and agent let the call in

	ReplayOf string // the request that this one repeats; empty = none
	Past     Past   // what a new channel begins with

	IdempotencyKey string
	Join           bool // a repeated key waits for the first call under it, instead of being refused; TurnID and Channel become that call's

	Timeout     time.Duration // how long to wait; 0 = the agent's, else the default
	KeepTimeout bool          // wait no longer, either, while a person decides about a tool call
	Deadline    time.Time     // when the request itself ends; zero = an hour from now
	Live        bool          // yield deltas, progress, logs and asks too

	Entry Entry // for the trace

	origin string // where the request stands in a trace, as it is stored
	passed string // the same, of one that nobody looks at: not worth storing, but the agent is told so
}

// Entry is what the trace of a call is told of the request that the caller has made
// in its protocol. Its place in the trace is the context's.
type Entry struct {
	Method string      // as in trace.Entry
	Target string      // as in trace.Entry
	RPCID  []byte      // as in trace.Entry
	Link   beeos.Trace // another trace that it is part of
}

const (
	maxKey     = 256 // bytes of an idempotency key
	maxContext = 256 // bytes of a client's own context id
	maxChain   = 8   // agents that may call each other in a row
)

// Names in a request's metadata that only the server sets: agents and the
// histories of tasks rely on them.
const (
	MetaChain      = "call_chain" // Request.Chain, with commas in between
	MetaA2AMessage = "a2a_message_id"
	MetaA2AContext = "a2a_context_id" // the client's own name for its context
	MetaA2AAgent   = "a2a_agent_id"   // who calls, as it says itself
)

var reservedMetadata = []string{
	"protocol", "caller_owner_id", "target_agent_id", "delivery_principal", MetaChain, MetaA2AMessage, MetaA2AContext, MetaA2AAgent,
}

// CheckMetadata refuses names in a caller's metadata that are the server's.
func CheckMetadata(m map[string]string) error {
	for _, name := range reservedMetadata {
		if _, ok := m[name]; ok {
			return beeos.Errorf(beeos.InvalidParam, "metadata %q is set by the server alone; use another name", name)
		}
	}
	return nil
}

// OwnMetadata is the part of a request's metadata that its caller set.
func OwnMetadata(m map[string]string) map[string]string {
	own := maps.Clone(m)
	maps.DeleteFunc(own, func(name, _ string) bool { return slices.Contains(reservedMetadata, name) })
	return own
}

// CheckIdempotencyKey refuses what cannot be an idempotency key: a header may
// hold any bytes.
func CheckIdempotencyKey(key string) error {
	if len(key) > maxKey || !storable(key) {
		return ErrIdempotencyKey
	}
	return nil
}

// ErrIdempotencyKey says what an idempotency key must be.
var ErrIdempotencyKey = beeos.Errorf(beeos.InvalidParam, "idempotency_key (messageId on A2A) must be UTF-8 text of 1 to %d bytes, without zero bytes", maxKey)

// checkContextID refuses a context that is too long, or that looks like one of
// our channels and is none.
func checkContextID(id string) error {
	if len(id) > maxContext || strings.HasPrefix(id, "ch-") && !isChannelID(id) {
		return beeos.Errorf(beeos.InvalidParam, "a context id must be one from an earlier answer, or a word of your own of at most %d bytes", maxContext)
	}
	return nil
}

// checkChain refuses a call that would go round in circles.
func checkChain(chain []string, a *beeos.Agent) error {
	switch {
	case slices.Contains(chain, a.ID):
		return beeos.Errorf(beeos.Conflict, "agent %q is already working on this: calling it again would never end", a.Name)
	case len(chain) >= maxChain:
		return beeos.Errorf(beeos.Conflict, "%d agents have called each other in a row, which is the limit", maxChain)
	}
	return nil
}

// storable reports whether every database can hold the text.
func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// checkRequest refuses what must leave no trace.
func (c *Calls) checkRequest(ctx context.Context, r *Request) error {
	if !r.Caller.MayReach(r.Agent) {
		return unreachable(r.Agent)
	}
	if err := CheckIdempotencyKey(r.IdempotencyKey); err != nil {
		return err
	}
	if err := checkContextID(r.ContextID); err != nil {
		return err
	}
	if named := r.namedChannel(); !mayName(&r.Caller, named) {
		return beeos.Errorf(beeos.NotFound, "there is no context %s of this app; leave it out to begin one", named)
	}
	if err := checkChain(r.Chain, r.Agent); err != nil {
		return err
	}
	if !storable(r.Body) {
		return beeos.Errorf(beeos.InvalidBody, "the message has zero bytes or is not UTF-8; send plain text")
	}
	return c.quotas.Take(ctx, &r.Caller, r.Agent)
}

func unreachable(a *beeos.Agent) error {
	return beeos.Errorf(beeos.AgentNotFound, "there is no agent %s that this credential reaches", a.ID)
}

// namedChannel is the channel that the caller named; empty = it named none.
func (r *Request) namedChannel() string {
	if r.Channel == "" && r.ContextID != "" {
		return ContextChannel(&r.Caller, r.Agent.ID, r.ContextID)
	}
	return r.Channel
}

// ChannelID is the channel that the request belongs to; empty = a new one.
func (r *Request) ChannelID() string {
	id := r.namedChannel()
	if id == "" && r.SessionID != "" {
		id = ContextChannel(&r.Caller, r.Agent.ID, r.SessionID)
	}
	return id
}

// channel is the channel that the request belongs to, and whether it is new.
func (r *Request) channel() (ch beeos.Channel, fresh bool) {
	ch = beeos.Channel{ID: r.ChannelID(), AgentID: r.Agent.ID, Owner: r.Caller.Principal(), Kind: r.Kind}
	if ch.Kind == "" {
		ch.Kind = beeos.KindInvoke
	}
	if fresh = ch.ID == ""; fresh {
		ch.ID, ch.SingleShot = newChannelID(&r.Caller), !r.KeepOpen
	}
	return ch, fresh
}

// composeOpening fills an opening with what one transaction will store.
func (c *Calls) composeOpening(ctx context.Context, r *Request, o *ledger.Opening) (err error) {
	m, fresh := &o.Message, false
	o.Channel, fresh = r.channel()
	o.Fresh, o.Known = fresh, r.Channel == "" && isContextChannel(r.ContextID)
	r.Call.Protocol, r.Call.MetadataOnly = r.Surface, r.Agent.MetadataOnly
	if !fresh {
		if r.Call.Model, err = c.chosenModel(ctx, r.Agent, o.Channel.ID); err != nil {
			return err
		}
	}
	if len(r.Chain) > 0 {
		if r.Call.Metadata == nil {
			r.Call.Metadata = map[string]string{}
		}
		r.Call.Metadata[MetaChain] = strings.Join(r.Chain, ",")
	}
	if r.TurnID == "" {
		r.TurnID = beeos.NewID()
	}
	parts := r.Parts
	if parts, r.Call.Attachments, err = c.opt.Files.Attach(ctx, cmp.Or(r.FilesOf, r.Caller.Principal()), parts, r.Attachments, c.deadline(r)); err != nil {
		return err
	}
	if o.ReplayOf = r.ReplayOf; fresh {
		if o.Past, err = c.readPast(ctx, r.Past); err != nil {
			return err
		}
	}
	*m = beeos.Message{
		ID: r.TurnID, Channel: o.Channel.ID, Type: beeos.ChatMessage, State: beeos.StateCompleted,
		Publisher: o.Channel.Owner, Body: r.Body, Parts: parts,
	}
	if m.Payload, err = json.Marshal(&r.Call); err != nil {
		return beeos.Wrap(beeos.InvalidBody, err, "the request's payload cannot be encoded")
	}
	o.Credential, o.Surface, o.Tool = r.Caller.Instrument(), r.Surface, cmp.Or(r.Call.Tool, r.Call.Method)
	o.Delivery = &ledger.Delivery{
		AgentID: r.Agent.ID, Mode: r.Agent.Definition.DeliveryMode, Redelivery: redelivery(r), Lane: lane(r.Agent, &o.Channel, fresh),
		LeaseUntil: c.opt.Now().Add(LeaseTTL), Deadline: c.deadline(r), Trace: r.origin,
	}
	return nil
}

// chosenModel is the model that was chosen for a channel. Only agents that let
// their callers choose cost the look.
func (c *Calls) chosenModel(ctx context.Context, a *beeos.Agent, channel string) (string, error) {
	if string(strictjson.Field(a.Definition.Capabilities, "modelsSet")) != "true" {
		return "", nil
	}
	ch, err := c.opt.Ledger.Channel(ctx, channel)
	if err != nil && beeos.CodeOf(err) == beeos.NotFound {
		return "", nil // made by this request
	}
	return ch.Model, err
}

// deadline is when the request itself ends.
func (c *Calls) deadline(r *Request) time.Time {
	if r.Deadline.IsZero() {
		return c.opt.Now().Add(turnLimit)
	}
	return r.Deadline
}

// lane is what an agent takes one request at a time of. A session is the
// channel that a caller keeps; a caller that keeps none is one session itself.
func lane(a *beeos.Agent, ch *beeos.Channel, fresh bool) string {
	queues := a.Definition.DeliveryMode == beeos.DeliverQueue
	switch {
	case a.Definition.DeliveryMode == beeos.DeliverBusyReject, queues && a.Definition.Lane == beeos.LaneAgent:
		return a.ID
	case queues && fresh && ch.Kind != beeos.KindConversation:
		return a.ID + " " + ch.Owner
	case queues:
		return ch.ID
	}
	return ""
}
