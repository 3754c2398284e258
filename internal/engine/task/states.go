package task

import (
	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/ledger"
)

// Event is something that happens to a request.
type Event string

const (
	OnDelivered     Event = "delivered"      // an instance of the agent has it
	OnDelta         Event = "delta"          // a piece of the reply
	OnInputRequired Event = "input_required" // the agent asks
	OnAuthRequired  Event = "auth_required"  // the agent asks for consent
	OnContinue      Event = "continue"       // the caller answers
	OnAuthGrant     Event = "auth_grant"     // the caller consents
	OnReply         Event = "reply"          // the four ways in which an agent ends it
	OnError         Event = "error"
	OnRefuse        Event = "refuse"
	OnBusy          Event = "busy"
	OnCancel        Event = "cancel"        // the caller asks for its end
	OnCancelled     Event = "cancelled"     // the agent acknowledges that
	OnCancelForced  Event = "cancel_forced" // it does not, in time
	OnDeadline      Event = "deadline"
	OnAgentLost     Event = "agent_lost" // the instance went away; another may take it
	OnGivenUp       Event = "given_up"   // none did
)

// no: the event is refused, or cannot happen; nothing changes.
const no beeos.TaskStatus = ""

// Transitions is the life of a request: by state and event, the state after.
// Nothing stores a state. StatusOf reads it off the ledger's rows, and the
// ledger's own rules make the rows follow this table: a terminal reply is
// unique, and takes the delivery with it in the same transaction. Once OnCancel
// has happened, AfterCancel says what the table does not.
var Transitions = map[beeos.TaskStatus]map[Event]beeos.TaskStatus{
	beeos.TaskQueued: {
		OnDelivered: beeos.TaskRunning,
		OnDelta:     no, OnInputRequired: no, OnAuthRequired: no, // of an instance that has lost it
		OnContinue: no, OnAuthGrant: no,
		OnReply: beeos.TaskCompleted, OnError: beeos.TaskFailed, OnRefuse: beeos.TaskRejected, OnBusy: beeos.TaskRejected,
		OnCancel:    beeos.TaskCanceled, // at once: there is nobody to acknowledge it
		OnCancelled: beeos.TaskCanceled, OnCancelForced: beeos.TaskCanceled,
		OnDeadline: beeos.TaskTimeout, OnAgentLost: no, OnGivenUp: beeos.TaskFailed,
	},
	beeos.TaskRunning: {
		OnDelivered:     no, // only what waits is handed out
		OnDelta:         beeos.TaskRunning,
		OnInputRequired: beeos.TaskInputRequired, OnAuthRequired: beeos.TaskAuthRequired,
		OnContinue: no, OnAuthGrant: no,
		OnReply: beeos.TaskCompleted, OnError: beeos.TaskFailed, OnRefuse: beeos.TaskRejected, OnBusy: beeos.TaskRejected,
		OnCancel: beeos.TaskRunning, OnCancelled: beeos.TaskCanceled, OnCancelForced: beeos.TaskCanceled,
		OnDeadline: beeos.TaskTimeout, OnAgentLost: beeos.TaskQueued, OnGivenUp: beeos.TaskFailed,
	},
	beeos.TaskInputRequired: {
		OnDelivered: no, OnDelta: beeos.TaskInputRequired,
		OnInputRequired: beeos.TaskInputRequired, OnAuthRequired: beeos.TaskAuthRequired,
		OnContinue: beeos.TaskRunning, OnAuthGrant: no,
		OnReply: beeos.TaskCompleted, OnError: beeos.TaskFailed, OnRefuse: beeos.TaskRejected, OnBusy: beeos.TaskRejected,
		OnCancel: beeos.TaskInputRequired, OnCancelled: beeos.TaskCanceled, OnCancelForced: beeos.TaskCanceled,
		OnDeadline: beeos.TaskTimeout, OnAgentLost: beeos.TaskQueued, OnGivenUp: beeos.TaskFailed,
	},
	beeos.TaskAuthRequired: {
		OnDelivered: no, OnDelta: beeos.TaskAuthRequired,
		OnInputRequired: beeos.TaskInputRequired, OnAuthRequired: beeos.TaskAuthRequired,
		OnContinue: no, OnAuthGrant: beeos.TaskRunning,
		OnReply: beeos.TaskCompleted, OnError: beeos.TaskFailed, OnRefuse: beeos.TaskRejected, OnBusy: beeos.TaskRejected,
		OnCancel: beeos.TaskAuthRequired, OnCancelled: beeos.TaskCanceled, OnCancelForced: beeos.TaskCanceled,
		OnDeadline: beeos.TaskTimeout, OnAgentLost: beeos.TaskQueued, OnGivenUp: beeos.TaskFailed,
	},
	// Whatever comes late finds the task as it is.
	beeos.TaskCompleted: {}, beeos.TaskFailed: {}, beeos.TaskCanceled: {}, beeos.TaskTimeout: {}, beeos.TaskRejected: {},
}

// After returns the state that an event leads to; false when the state does
// not know the event, which then changes nothing.
func After(s beeos.TaskStatus, e Event) (beeos.TaskStatus, bool) {
	if next := Transitions[s][e]; next != no {
		return next, true
	}
	return s, false
}

// AfterCancel is After for a request whose end was asked for: whatever ends it,
// an answer of its agent too, ends it cancelled, and nothing else is new to it.
func AfterCancel(s beeos.TaskStatus, e Event) beeos.TaskStatus {
	next, _ := After(s, e)
	switch {
	case s.Terminal(), e == OnDelivered: // what is to end is not handed out again
		return s
	case next.Terminal():
		return beeos.TaskCanceled
	}
	return next
}

func Knows(s beeos.TaskStatus, e Event) bool {
	_, ok := After(s, e)
	return ok
}

// StatusOf is how a request stands: by its terminal reply, or while it has
// none by its delivery.
func StatusOf(r *ledger.Request) beeos.TaskStatus {
	switch {
	case r.Done != nil:
		return StatusOfReply(r.Done)
	case r.Open == nil, !r.Open.Leased:
		return beeos.TaskQueued
	case r.Open.Paused == beeos.AgentInputRequired:
		return beeos.TaskInputRequired
	case r.Open.Paused == beeos.AgentAuthRequired:
		return beeos.TaskAuthRequired
	}
	return beeos.TaskRunning
}

// StatusOfReply is how a request stands that has this terminal reply.
func StatusOfReply(m *beeos.Message) beeos.TaskStatus {
	switch {
	case m.State == beeos.StateCancelled:
		return beeos.TaskCanceled
	case m.Type == beeos.AgentRefuse, m.Type == beeos.AgentBusy:
		return beeos.TaskRejected
	case m.Type == beeos.AgentReply:
		return beeos.TaskCompleted
	case m.StopReason == beeos.StopTimeout:
		return beeos.TaskTimeout
	}
	return beeos.TaskFailed
}
