package invoke

import (
	"context"
	"time"

	"github.com/beeos/beeos"
)

// Task is a request as somebody sees it who comes back for its reply later.
type Task struct {
	Turn     string
	Channel  string
	AgentID  string
	Created  time.Time
	Deadline time.Time      // zero once it is done
	Done     *beeos.Message // the terminal reply; nil while it is worked on
}

// Task returns the request with that id if it is the principal's, NotFound
// otherwise.
func (c *Calls) Task(ctx context.Context, principal, turn string) (Task, error) {
	t := Task{Turn: turn, Created: beeos.IDTime(turn)}
	open, unknown := c.opt.Ledger.Turn(ctx, turn) // before the reply is looked for, which may come in between
	done, err := c.opt.Ledger.Terminal(ctx, turn)
	switch {
	case err != nil:
		return t, err
	case done != nil:
		t.Channel, t.Done = done.Channel, done
	case unknown != nil:
		return t, unknown
	default:
		t.Channel, t.Deadline = open.Channel, open.Deadline
	}
	ch, err := c.opt.Ledger.Channel(ctx, t.Channel)
	if err != nil {
		return t, err
	}
	t.AgentID = ch.AgentID
	if ch.Owner != principal {
		return t, beeos.Errorf(beeos.NotFound, "there is no request %s", turn)
	}
	return t, nil
}
