package approval

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

// Ask is a question: may this tool be called with these arguments?
type Ask struct {
	Agent     *beeos.Agent // its owner decides
	Caller    string       // the principal whose call this is
	Channel   string
	Turn      string
	Deadline  time.Time // of the turn; zero = none
	Request   string    // the agent's own id of this question
	Skill     string    // the server that the tool is on; "" = the agent's own
	Tool      string
	Arguments json.RawMessage
	Auto      bool // go ahead unless the owner wants to be asked
}

// plain is the arguments without the space between their tokens, which means
// nothing, and the hash that an approval knows them by.
func (a *Ask) plain() (arguments json.RawMessage, hash []byte) {
	var b bytes.Buffer
	if json.Compact(&b, a.Arguments) != nil {
		b.Reset()
		b.Write(a.Arguments)
	}
	sum := sha256.Sum256(b.Bytes())
	return b.Bytes(), sum[:]
}

// Same reports whether two questions are about the same call.
func (a *Ask) Same(b *Ask) bool {
	_, mine := a.plain()
	_, other := b.plain()
	return a.Turn == b.Turn && a.Skill == b.Skill && a.Tool == b.Tool && bytes.Equal(mine, other)
}

// Limits of what an agent may say; arguments are bounded by the frame.
const maxName = 256

// Check refuses a question that nobody could answer.
func (a *Ask) Check() error {
	switch {
	case a.Request == "" || a.Tool == "":
		return beeos.Errorf(beeos.MissingParam, "an approve frame needs request_id and tool")
	case len(a.Tool) > maxName || len(a.Skill) > maxName || len(a.Request) > maxName:
		return beeos.Errorf(beeos.InvalidParam, "request_id, skill and tool may have at most %d bytes", maxName)
	}
	return nil
}

// Gate is the way of one question. It returns at once when the rules let the
// call pass; else it tells waiting about the question and returns when somebody
// has decided, nobody has in time, or ctx is over. An approval is used up by
// the time it returns. While the rules change, so does the answer.
func (d *Desk) Gate(ctx context.Context, ask Ask, waiting func(a store.Approval, fresh bool)) (beeos.Approved, error) {
	for {
		r, err := d.rule(ctx, &ask)
		if err != nil {
			return beeos.Approved{}, err
		}
		if r.auto {
			return beeos.Approved{Approved: true, By: "policy"}, nil
		}
		a, fresh, err := d.request(ctx, &ask, r)
		if err != nil {
			return beeos.Approved{}, err
		}
		if a.Open() {
			waiting(a, fresh)
			if a, err = d.Wait(ctx, a.ID); err != nil {
				return beeos.Approved{}, err
			}
		}
		switch a.State {
		case store.ApprovalApproved:
			err := d.Use(ctx, a.ID, ask)
			if err == nil {
				return beeos.Approved{Approved: true, ID: a.ID, By: a.DecidedBy, Reason: a.Reason}, nil
			}
			if beeos.CodeOf(err) != beeos.Forbidden {
				return beeos.Approved{}, err
			} // its time or its rule has passed since: ask again
		case store.ApprovalWithdrawn:
			if a.Via != viaRules {
				return beeos.Approved{ID: a.ID, By: a.DecidedBy, Reason: a.Reason}, nil
			}
		default:
			return beeos.Approved{ID: a.ID, By: a.DecidedBy, Reason: a.Reason, Expired: a.State == store.ApprovalExpired}, nil
		}
	}
}

// Request writes a question down, unless it is there already.
func (d *Desk) Request(ctx context.Context, ask Ask) (store.Approval, error) {
	r, err := d.rule(ctx, &ask)
	if err != nil {
		return store.Approval{}, err
	}
	a, _, err := d.request(ctx, &ask, r)
	return a, err
}

func (d *Desk) request(ctx context.Context, ask *Ask, r rule) (store.Approval, bool, error) {
	now := d.Now()
	expires := now.Add(r.timeout)
	if !ask.Deadline.IsZero() && ask.Deadline.Before(expires) {
		expires = ask.Deadline
	}
	arguments, hash := ask.plain()
	a, fresh, err := d.DB.AskApproval(ctx, store.Approval{
		ID: beeos.NewID(), OwnerID: ask.Agent.OwnerID, AgentID: ask.Agent.ID, Caller: ask.Caller, Channel: ask.Channel, Turn: ask.Turn,
		Skill: ask.Skill, Tool: ask.Tool, Arguments: arguments, Hash: hash, PolicyVersion: r.version,
		CreatedAt: now, ExpiresAt: expires,
	}, ask.Request)
	if fresh {
		d.tell(a.ID)
	}
	return a, fresh, err
}

// Use uses an approval up, once and for exactly these arguments. What was
// approved for others, by other rules or long ago is Forbidden.
func (d *Desk) Use(ctx context.Context, id string, ask Ask) error {
	r, err := d.rule(ctx, &ask) // as it is now, not as it was when somebody was asked
	if err != nil {
		return err
	}
	_, hash := ask.plain()
	if err = d.DB.UseApproval(ctx, id, hash, r.version, ask.Request, d.Now()); err == nil {
		d.tell(id)
	}
	return err
}
