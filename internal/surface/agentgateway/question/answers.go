package question

import (
	"context"
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/surface/agentgateway/codec"
	"github.com/beeos/beeos/internal/surface/agentgateway/turn"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// Answer brings a caller's answer to the agent that asked. It never blocks.
func (q *Questions) Answer(id string, data json.RawMessage) {
	q.mu.RLock()
	offer := q.open[id].offer
	q.mu.RUnlock()
	if offer != nil { // the question stays open until the decision is made
		if d, ok := offer.ReadForm(data); ok {
			q.start(func() { q.Approvals.DecideForCaller(d) })
		}
		return
	}
	asked, ok := q.take(id)
	if !ok {
		return // another node's, or the turn is over
	}
	var body struct {
		Result json.RawMessage   `json:"result"`
		Error  *beeos.FrameFault `json:"error"`
	}
	if err := json.Unmarshal(data, &body); err != nil {
		body.Error = &beeos.FrameFault{Code: string(beeos.InvalidBody), Message: "the caller's answer could not be read"}
	}
	q.Bus.Control(bus.Control{Kind: bus.TurnChanged, ID: asked.event.Turn})
	if asked.pause != "" {
		if body.Error == nil { // else it stays paused, for whoever can be asked
			q.start(func() { q.resume(asked, answerForAgent(body.Result)) })
		}
		return
	}
	asked.send(codec.Encode(&beeos.Frame{Type: beeos.FrameAnswer, RequestID: asked.request, Result: body.Result, Error: body.Error}))
}

// answerForAgent is what an agent gets of a caller's answer to a pause. The
// caller's program may have added anything to it, such as attachments: agents
// download those, from wherever they are said to be.
func answerForAgent(result json.RawMessage) json.RawMessage {
	raw, _ := json.Marshal(struct {
		Action  json.RawMessage `json:"action,omitempty"`
		Content json.RawMessage `json:"content,omitempty"`
	}{strictjson.Field(result, "action"), strictjson.Field(result, "content")}) // JSON that was checked when it came in
	return raw
}

// resume continues a pause with the caller's answer, as if it had been said in
// the conversation.
func (q *Questions) resume(asked question, result json.RawMessage) {
	text, _ := strictjson.StringValue(strictjson.Field(strictjson.Field(result, "content"), "message"))
	said := beeos.Continue
	if asked.pause == beeos.AgentAuthRequired {
		said = beeos.AuthGrant
	}
	ev := asked.event
	m := beeos.Message{
		Channel: ev.Channel, InReplyTo: ev.Turn, Publisher: "user", Type: said,
		State: beeos.StateCompleted, Body: text, Payload: result,
	}
	if _, err := q.Ledger.Append(context.Background(), m); err != nil {
		q.Log.Error("an answer to an agent's question was not stored", "turn", ev.Turn, "err", err)
	}
	asked.send(codec.Encode(&beeos.Frame{Type: beeos.FrameType(said), MessageID: ev.Turn, Body: text, Payload: result}))
}

// TakeWords looks at what a person said in the conversation of a turn. It
// reports whether that is for the agent, and then no pause waits for an answer
// any more. Words that decide about an approval are not for the agent. It never
// blocks.
func (q *Questions) TakeWords(t *turn.Turn, frame []byte) (forAgent bool) {
	var offers []approval.Offer
	var pauses []question
	for _, asked := range q.list(t) {
		switch {
		case asked.offer != nil:
			offers = append(offers, *asked.offer)
		case asked.pause != "":
			pauses = append(pauses, asked)
		}
	}
	if len(offers) > 0 {
		d, verdict := approval.ReadWords(offers, frame)
		if d != nil {
			q.start(func() { q.Approvals.DecideForCaller(*d) })
		}
		if verdict || len(pauses) == 0 { // free text decides nothing, and only a paused agent wants it
			return false
		}
	}
	for _, asked := range pauses {
		q.take(asked.event.AskID)
	}
	return true
}
