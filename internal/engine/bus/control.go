package bus

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/beeos/beeos"
)

const (
	subjectNotice   = "t"
	subjectControl  = "ctl"
	subjectSnapshot = "snap"

	snapshotWithin = 250 * time.Millisecond
)

// Notice says that the ledger committed a message. The zero Notice means that
// any number may have been missed.
type Notice struct {
	Channel  string            `json:"c"`
	Offset   int64             `json:"o"`
	Turn     string            `json:"r,omitempty"` // the request that the message answers
	Type     beeos.MessageType `json:"t"`
	Terminal bool              `json:"f,omitempty"`
	Message  *beeos.Message    `json:"-"` // only on the node that committed it
}

// ControlKind names a control message.
type ControlKind string

const (
	Cancel          ControlKind = "cancel"           // ID = turn, Reason
	CancelRequest   ControlKind = "cancel_request"   // ID = a client's request, Reason
	ClientReturned  ControlKind = "client_returned"  // ID = a client's request that it waits for again
	Continue        ControlKind = "continue"         // ID = turn, Data = frame for the agent
	Answer          ControlKind = "answer"           // ID = ask, Data = {"result"} or {"error"}
	KeyRevoked      ControlKind = "key_revoked"      // ID = key
	KeyChanged      ControlKind = "key_changed"      // ID = key, which is as good as before
	RestartInstance ControlKind = "restart_instance" // ID = an instance that is asked to restart
	AgentChanged    ControlKind = "agent_changed"    // AgentID
	AgentAway       ControlKind = "agent_away"       // ID = turn whose agent has gone and may come back
	ResourceUpdated ControlKind = "resource_updated" // AgentID, ID = uri
	SessionChanged  ControlKind = "session_changed"  // ID = an MCP session that watches other resources now
	SessionEnded    ControlKind = "session_ended"    // ID = an MCP session
	SessionMessage  ControlKind = "session_message"  // ID = an MCP session, Data = a message for its stream
	TurnChanged     ControlKind = "turn_changed"     // ID = turn: it asked, was answered or ended
	BuiltinChanged  ControlKind = "builtin_changed"  // Data = what about which built-in agent
	ApprovalChanged ControlKind = "approval_changed" // ID = approval: it was asked for, decided or used
	BudgetsChanged  ControlKind = "budgets_changed"
)

// Control is a small message for whichever node it concerns; all get it.
type Control struct {
	Kind    ControlKind     `json:"kind"`
	ID      string          `json:"id,omitempty"`
	AgentID string          `json:"agent,omitempty"`
	Channel string          `json:"channel,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Notify tells every node what was committed.
func (b *Bus) Notify(ns []Notice) {
	for _, n := range ns {
		b.notices.call(n)
	}
	if !b.peers() {
		return
	}
	data, err := json.Marshal(ns)
	if err != nil {
		b.log.Error("bus: encode notices", "err", err)
		return
	}
	b.send(subjectNotice, data)
}

// OnNotice calls handle for every notice of any node. handle must not block.
func (b *Bus) OnNotice(handle func(Notice)) (stop func()) {
	return b.notices.add(handle)
}

// Control sends c to every node, this one included.
func (b *Bus) Control(c Control) {
	b.controls.call(c)
	if !b.peers() {
		return
	}
	data, err := json.Marshal(c)
	if err != nil {
		b.log.Error("bus: encode control", "err", err)
		return
	}
	b.send(subjectControl, data)
}

// OnControl calls handle for every control message. handle must not block.
func (b *Bus) OnControl(handle func(Control)) (stop func()) {
	return b.controls.add(handle)
}

// handlers is who wants to hear something. Calls read it without a lock, so a
// handler may use the bus.
type handlers[T any] struct {
	mu   sync.Mutex // for changes
	list atomic.Pointer[[]*func(T)]
}

func (h *handlers[T]) add(handle func(T)) (stop func()) {
	h.change(func(l []*func(T)) []*func(T) { return append(l, &handle) })
	return func() {
		h.change(func(l []*func(T)) []*func(T) {
			return slices.DeleteFunc(l, func(x *func(T)) bool { return x == &handle })
		})
	}
}

func (h *handlers[T]) change(f func([]*func(T)) []*func(T)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var now []*func(T)
	if l := h.list.Load(); l != nil {
		now = slices.Clone(*l)
	}
	now = f(now)
	h.list.Store(&now)
}

func (h *handlers[T]) call(v T) {
	if l := h.list.Load(); l != nil {
		for _, handle := range *l {
			(*handle)(v)
		}
	}
}

// ServeSnapshots lets this node answer with the text so far of the turns that
// its agents are working on.
func (b *Bus) ServeSnapshots(text func(turn string) (beeos.Event, bool)) {
	b.mu.Lock()
	b.snapshot = text
	b.mu.Unlock()
}

// Snapshot asks whichever node holds the turn for its text so far: a delta
// that stands for all with the same attempt and a Seq up to its own.
func (b *Bus) Snapshot(ctx context.Context, turn string) (ev beeos.Event, ok bool) {
	if ev, ok = b.snapshotHere(turn); ok {
		return ev, true
	}
	if !b.peers() {
		return ev, false
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotWithin)
	defer cancel()
	m, err := b.nc.RequestWithContext(ctx, subjectSnapshot, []byte(turn))
	if err != nil {
		return ev, false // nobody has it: the turn is over, or its node is
	}
	err = json.Unmarshal(m.Data, &ev)
	return ev, err == nil
}

func (b *Bus) snapshotHere(turn string) (beeos.Event, bool) {
	b.mu.RLock()
	text := b.snapshot
	b.mu.RUnlock()
	if text == nil {
		return beeos.Event{}, false
	}
	return text(turn)
}

// receive hands what another node published to this node's handlers.
func (b *Bus) receive(m *nats.Msg) error {
	switch {
	case m.Subject == subjectNotice:
		var ns []Notice
		if err := json.Unmarshal(m.Data, &ns); err != nil {
			return err
		}
		for _, n := range ns {
			b.notices.call(n)
		}
	case m.Subject == subjectControl:
		var c Control
		if err := json.Unmarshal(m.Data, &c); err != nil {
			return err
		}
		b.controls.call(c)
	case m.Subject == subjectSnapshot:
		if ev, ok := b.snapshotHere(string(m.Data)); ok {
			data, err := json.Marshal(ev)
			if err != nil {
				return err
			}
			return m.Respond(data)
		}
	case m.Subject == subjectSettle:
		return m.Respond(nil) // this node has heard all that was sent before
	case m.Subject == subjectAsks:
		if asks, ok := b.asksHere(string(m.Data)); ok {
			data, err := json.Marshal(asks)
			if err != nil {
				return err
			}
			return m.Respond(data)
		}
	case m.Subject == subjectHealth:
		b.answerHealth(m)
	case strings.HasPrefix(m.Subject, subjectChannel):
		var ev beeos.Event
		if err := json.Unmarshal(m.Data, &ev); err != nil {
			return err
		}
		b.publishHere(ev)
	}
	return nil
}
