package call

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/surface/mcp/replies"
	"github.com/beeos/beeos/internal/surface/mcp/sessions"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Since 2026-07-28 a question to the client is a result: input_required, with
// the questions by their keys and a state to bring back. The client makes the
// same request again, with the answers, at whichever replica. What comes back
// goes to the agent's turn that is waiting for it or, where the agent ended
// its turn with the questions, to a new one.

// questionLife is how long a client may take to come back: as long as the turn
// that waits for it lives.
const questionLife = time.Hour

// methodsWithRounds are the methods that may be answered with questions.
var methodsWithRounds = map[string]bool{"tools/call": true, "prompts/get": true, "resources/read": true}

// inputRound is what a request brings from the round before it.
type inputRound struct {
	input   map[string]json.RawMessage // answers by key
	turn    string                     // that waits for them; empty = none
	channel string
	state   string // the agent's own
}

const (
	stateWaiting = 'w' // followed by turn and channel
	stateAgain   = 'a' // followed by the agent's own state
)

// readRound opens what the params bring from an earlier round.
func (x *Client) readRound(m *wire.Message) (rd inputRound, err error) {
	if !x.Version.Stateless() || !methodsWithRounds[m.Method] {
		return rd, nil
	}
	for name, value := range strictjson.Fields(m.Params) {
		switch name {
		case "inputResponses":
			if rd.input, err = wire.ReadInput(value); err != nil {
				return rd, err
			}
		case "requestState":
			sealed, _ := strictjson.StringValue(value)
			if !x.openState(m, sealed, &rd) {
				return rd, beeos.Errorf(beeos.InvalidParam, "params.requestState is not the one that belongs to this request, or it is too old: start again without it")
			}
		}
	}
	return rd, nil
}

// sealState makes a requestState. It opens only for this agent and principal,
// and only in a request for the same method and name.
func (x *Client) sealState(m *wire.Message, what byte, text string) string {
	b := binary.BigEndian.AppendUint64([]byte{what}, uint64(x.Runner.Now().Add(questionLife).Unix()))
	return x.Runner.Sealer.Seal(sessions.SealedState, x.Agent.ID, x.stateOwner(m), append(b, text...))
}

func (x *Client) openState(m *wire.Message, sealed string, rd *inputRound) bool {
	b, ok := x.Runner.Sealer.Open(sessions.SealedState, x.Agent.ID, x.stateOwner(m), sealed)
	if !ok || len(b) < 9 || x.Runner.Now().Unix() > int64(binary.BigEndian.Uint64(b[1:])) {
		return false
	}
	text := string(b[9:])
	if b[0] == stateAgain {
		rd.state = text
		return true
	}
	rd.turn, rd.channel, ok = strings.Cut(text, "\n")
	return ok && b[0] == stateWaiting
}

func (x *Client) stateOwner(m *wire.Message) string {
	name, _ := strictjson.StringField(m.Params, wire.NameMembers[m.Method])
	return x.Caller.Principal() + "\x00" + m.Method + "\x00" + name
}

// inputRequired is the result that sends a client away with questions.
func (x *Client) inputRequired(m *wire.Message, asks []beeos.Event) []byte {
	return wire.InputRequired(wire.InputRequests(asks), x.sealState(m, stateWaiting, asks[0].Turn+"\n"+asks[0].Channel))
}

// inputRequiredAgain is the result for an agent that ended its turn with
// questions. Those that this client cannot be asked make the call impossible.
func (x *Client) inputRequiredAgain(m *wire.Message, n *replies.NeededInput) ([]byte, error) {
	for _, q := range strictjson.Fields(n.Requests) {
		ev := beeos.Event{Data: strictjson.Field(q, "params")}
		ev.Method, _ = strictjson.StringField(q, "method")
		if need := wire.NeededCapability(&ev); !x.Can.Has(need) {
			return nil, wire.MissingCapability(need)
		}
	}
	return wire.InputRequired(n.Requests, x.sealState(m, stateAgain, n.State)), nil
}
