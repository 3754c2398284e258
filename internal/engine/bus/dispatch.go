package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	subjectAgent = "arq." // + agent id; the queue group makes one node take each dispatch
	queueGroup   = "w"
	headerProbe  = "probe"
	headerNode   = "node" // of an answer: who has taken a dispatch

	instancePrefix = "instance-" // no agent's id begins like this
	nodePrefix     = "node-"     // an instance of which each node has one

	deliverWithin = 2 * time.Second
	deliverTries  = 4
)

var (
	accepted = []byte("+")
	declined = []byte("-")
)

// Dispatch is one message on its way to an agent.
type Dispatch struct {
	AgentID   string          `json:"agent"`
	MessageID string          `json:"message"`
	Channel   string          `json:"channel"`
	Offset    int64           `json:"offset"`
	Attempt   int             `json:"attempt"`
	Deadline  time.Time       `json:"deadline"`
	Trace     string          `json:"trace,omitempty"`  // where the message stands in a distributed trace
	Anyone    bool            `json:"anyone,omitempty"` // also to a connection that gives no sign of life
	Frame     json.RawMessage `json:"frame,omitempty"`  // the chat_message frame, ready to be written to the agent

	Taken func(node string) `json:"-"` // told which other node has it, unless that one is of the version before; nil = nobody wants to know
}

// Serve announces that this node can reach the agent: deliver hands a
// dispatch to a live connection, or returns false. One call per agent and
// node; stop takes the announcement back.
func (b *Bus) Serve(agentID string, deliver func(Dispatch) bool) (stop func(), err error) {
	sub, err := b.nc.ChanQueueSubscribe(subjectAgent+agentID, queueGroup, b.requests)
	if err != nil {
		return nil, fmt.Errorf("announce agent on the bus: %w", err)
	}
	s := &served{deliver: deliver, sub: sub}
	b.mu.Lock()
	b.agents[agentID] = s
	b.mu.Unlock()
	return func() {
		_ = sub.Unsubscribe() // fails only when the connection is gone, and the interest with it
		b.mu.Lock()
		if b.agents[agentID] == s {
			delete(b.agents, agentID)
		}
		b.mu.Unlock()
	}, nil
}

// Announce says that an instance of agents is connected to this node; stop
// takes that back. Nothing is ever delivered to an instance as such.
func (b *Bus) Announce(instance string) (stop func(), err error) {
	return b.Serve(instancePrefix+instance, func(Dispatch) bool { return false })
}

// Connected reports whether an instance is connected to any node.
func (b *Bus) Connected(ctx context.Context, instance string) bool {
	return b.Present(ctx, instancePrefix+instance)
}

// Deliver hands d to some live connection of its agent: one of this node's
// if there is any, else another node's. Those that give no sign of life come
// last. ErrNobody when there is none.
func (b *Bus) Deliver(ctx context.Context, d Dispatch) error {
	if b.deliverHere(d) {
		return nil
	}
	err := ErrNobody
	for range deliverTries { // one of many nodes is asked, and may have nobody who lives
		if err = b.deliverElsewhere(ctx, d); !errors.Is(err, errDeclined) {
			break
		}
	}
	if !errors.Is(err, ErrNobody) {
		return err
	}
	if d.Anyone = true; b.deliverHere(d) {
		return nil
	}
	if errors.Is(err, errDeclined) {
		err = b.deliverElsewhere(ctx, d)
	}
	return err
}

// errDeclined is of a node that knows the agent and has nobody who takes it.
var errDeclined = fmt.Errorf("the node that was asked declines: %w", ErrNobody)

func (b *Bus) deliverElsewhere(ctx context.Context, d Dispatch) error {
	if !b.peers() {
		return ErrNobody
	}
	data, err := json.Marshal(d)
	if err == nil && int64(len(data)) > b.nc.MaxPayload() {
		d.Frame = nil // the other node reads it from the ledger
		data, err = json.Marshal(d)
	}
	if err != nil {
		return fmt.Errorf("encode dispatch: %w", err)
	}
	node, err := b.ask(ctx, &nats.Msg{Subject: subjectAgent + d.AgentID, Data: data})
	if err == nil && node != "" && d.Taken != nil {
		d.Taken(node)
	}
	return err
}

// LoadFrames says where this node finds the frame of a dispatch that was too
// large for NATS to carry it along.
func (b *Bus) LoadFrames(load func(Dispatch) (json.RawMessage, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.load = load
}

// Present reports whether any node can reach the agent now.
func (b *Bus) Present(ctx context.Context, agentID string) bool {
	b.mu.RLock()
	_, here := b.agents[agentID]
	b.mu.RUnlock()
	if here {
		return true
	}
	if !b.peers() {
		return false
	}
	return b.probe(ctx, agentID) == nil
}

func (b *Bus) probe(ctx context.Context, agentID string) error {
	_, err := b.ask(ctx, &nats.Msg{Subject: subjectAgent + agentID, Header: nats.Header{headerProbe: {"1"}}})
	return err
}

// HasLeft reports whether a node is certainly not on the bus. One that does not
// answer may be.
func (b *Bus) HasLeft(ctx context.Context, node string) bool {
	if b.Ready() != nil {
		return false
	}
	if !b.peers() {
		return true
	}
	err := b.probe(ctx, instancePrefix+nodePrefix+node)
	return errors.Is(err, ErrNobody) && !errors.Is(err, errDeclined)
}

func (b *Bus) deliverHere(d Dispatch) bool {
	b.mu.RLock()
	s := b.agents[d.AgentID]
	b.mu.RUnlock()
	return s != nil && s.deliver(d)
}

// ask sends a question about an agent, and returns who has agreed, if that one says.
func (b *Bus) ask(ctx context.Context, m *nats.Msg) (node string, err error) {
	if err := b.Ready(); err != nil {
		return "", err // the request would wait for the connection, and its caller with it
	}
	ctx, cancel := context.WithTimeout(ctx, deliverWithin)
	defer cancel()
	reply, err := b.nc.RequestMsgWithContext(ctx, m)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return "", ErrNobody
	case err != nil:
		return "", fmt.Errorf("ask the bus for the agent: %w", err)
	case string(reply.Data) != string(accepted):
		return "", errDeclined
	}
	return reply.Header.Get(headerNode), nil
}

// answer serves the dispatches and probes of other nodes.
func (b *Bus) answer(m *nats.Msg) error {
	reply := declined
	if m.Header.Get(headerProbe) != "" {
		b.mu.RLock()
		_, here := b.agents[strings.TrimPrefix(m.Subject, subjectAgent)]
		b.mu.RUnlock()
		if here {
			reply = accepted
		}
		return m.Respond(reply)
	}
	var d Dispatch
	if err := json.Unmarshal(m.Data, &d); err != nil {
		return fmt.Errorf("read dispatch: %w", err)
	}
	if err := b.complete(&d); err != nil {
		return errors.Join(fmt.Errorf("load the frame of a dispatch: %w", err), m.Respond(declined))
	}
	if b.deliverHere(d) {
		return m.RespondMsg(&nats.Msg{Data: accepted, Header: nats.Header{headerNode: {b.node}}})
	}
	return m.Respond(reply)
}

// complete loads the frame that a large dispatch came without.
func (b *Bus) complete(d *Dispatch) (err error) {
	b.mu.RLock()
	load := b.load
	b.mu.RUnlock()
	if len(d.Frame) == 0 && load != nil {
		d.Frame, err = load(*d)
	}
	return err
}
