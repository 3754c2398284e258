package ledger

import (
	"errors"
	"sync"
	"time"

	"github.com/beeos/beeos"
)

// How long somebody waits for a write, and what is then known of it.

// writeWait is how long whoever submits a write waits who does not say.
const writeWait = 10 * time.Second

const (
	waiting = iota
	taken   // the writer has it: it may commit
	left    // whoever submitted it has gone before
)

// take reports whether somebody still wants the operation done.
func (o *op) take() bool { return o.state.CompareAndSwap(waiting, taken) }

// leave gives an operation up, which is not done any more when the writer had not
// taken it yet. The error says what is known.
func (o *op) leave() error {
	if o.state.CompareAndSwap(waiting, left) {
		return errNotStored(errLate)
	}
	return errUnknown(&Unsettled{o})
}

var errLate = errors.New("the database has not answered in time")

func errNotStored(cause error) error {
	return &beeos.Error{
		Code: beeos.AgentServiceUnavailable, Stored: beeos.StoredNo, RetryAfter: retryAfter, Err: cause,
		Message: "the database does not answer, and nothing was stored; try again in a moment",
	}
}

func errUnknown(cause error) error {
	return &beeos.Error{
		Code: beeos.AgentServiceUnavailable, Stored: beeos.StoredUnknown, RetryAfter: retryAfter, Err: cause,
		Message: "the database has gone silent, and whether this was stored is not known; repeat it in a moment, a call under the same idempotency key",
	}
}

const retryAfter = 5 * time.Second

// Unsettled is a write that somebody has stopped to wait for, and that the writer
// goes on with.
type Unsettled struct{ op *op }

func (u *Unsettled) Error() string { return errLate.Error() + "; the write goes on" }

// Stored waits until it is known, and reports whether a request was stored and is
// to be handed out.
func (u *Unsettled) Stored() bool {
	<-u.op.done
	return u.op.err == nil && u.op.dup == nil && u.op.busy == nil
}

// timers are used again: every write needs one, and hardly any rings.
var timers = sync.Pool{New: func() any { return time.NewTimer(writeWait) }}

func startTimer(d time.Duration) *time.Timer {
	t := timers.Get().(*time.Timer)
	t.Reset(d)
	return t
}

func stopTimer(t *time.Timer) {
	t.Stop()
	timers.Put(t)
}
