package call

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/replies"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// An agent may end its turn with questions, to be asked again with the answers.
// A stateless client does that itself; for the client of a session we put the
// questions on the stream of its call, and make the next turn out of what it
// answers, at whichever replica.

const (
	roundsMax    = 16               // turns of one call
	answerWithin = 10 * time.Minute // for a person
)

// DeliverAnswer hands an answer to whoever waits for it here.
func (r *Runner) DeliverAnswer(id string, data []byte) {
	if answer, waiting := r.questions.LoadAndDelete(id); waiting {
		answer.(chan []byte) <- data // it has room for one
	}
}

// askClient asks the client of a session everything that the agent needs.
// Without input there is a result that says why. The client can cancel its call
// here, too.
func (c *activeCall) askClient(ctx context.Context, n *replies.NeededInput) (input map[string]json.RawMessage, refusal []byte) {
	c.waiting = &pendingRequest{}
	ctx = c.x.trackRequest(ctx, c.waiting, c.m.ID)
	defer c.stopWaiting()
	input = map[string]json.RawMessage{}
	answers := map[string]chan []byte{}
	for key, q := range strictjson.Fields(n.Requests) {
		ev := beeos.Event{AskID: "gateway_" + beeos.NewID(), Data: strictjson.Field(q, "params")}
		ev.Method, _ = strictjson.StringField(q, "method")
		if c.x.Session == nil || !c.x.Out.AcceptsStream || !c.x.Can.Has(wire.NeededCapability(&ev)) {
			return nil, wire.ErrorResult("The agent needs an answer before it can go on, and this client cannot be asked (" + ev.Method + ").")
		}
		answer := make(chan []byte, 1)
		c.x.Runner.questions.Store(ev.AskID, answer)
		defer c.x.Runner.questions.Delete(ev.AskID)
		answers[strings.Clone(key)] = answer
		c.x.Out.SendEvent(c.x.questionRequest(ctx, &ev)) //nolint:errcheck // then no answer comes
	}
	timer := time.NewTimer(answerWithin)
	defer timer.Stop()
	for key, answer := range answers {
		select {
		case data := <-answer:
			result := strictjson.Field(data, "result")
			if wire.Kind(result) != '{' {
				return nil, wire.ErrorResult("The client did not answer a question of the agent's.")
			}
			input[key] = result
		case <-timer.C:
			return nil, wire.ErrorResult("Nobody answered a question of the agent's in time.")
		case <-ctx.Done():
			if c.x.Runner.Context.Err() == nil {
				return nil, wire.ErrorResult("The client cancelled this call.")
			}
			return nil, wire.ErrorResult("The server is stopping: try again.")
		}
	}
	return input, nil
}

// nextKey is the idempotency key of a later turn of the same call: the first
// one's would bring the questions back.
func nextKey(key, state string, input map[string]json.RawMessage) string {
	if key == "" {
		return ""
	}
	given, _ := json.Marshal(input) // sorted by key; its values are JSON
	sum := sha256.Sum256([]byte(key + "\x00" + state + "\x00" + string(given)))
	return hex.EncodeToString(sum[:]) // as long for any key: all are within the limit
}
