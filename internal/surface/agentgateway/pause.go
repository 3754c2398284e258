package agentgateway

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/bus"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// An agent that needs something of the person before it can go on pauses. That
// is stored, because it must outlive us: a conversation shows it, and whoever
// says more there continues it. A caller who is on the line can be asked at
// once, so the pause is a question to it as well, in the form of one that
// callers know.

// anyAnswer is the form for an agent that does not say what it wants to know.
const anyAnswer = `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`

// pause stores an agent's question to the person and puts it to the caller.
func (c *connection) pause(t *turn, f *beeos.Frame, to *answers) {
	m := beeos.Message{
		Channel: t.channel, InReplyTo: t.id, Publisher: "agent:" + t.agent, Type: beeos.AgentInputRequired,
		State: beeos.StateCompleted, Body: f.Body, Parts: bytes.Clone(f.Parts), Payload: bytes.Clone(f.Payload),
	}
	if f.Type == beeos.FrameAuthRequired {
		m.Type = beeos.AgentAuthRequired
	}
	named := beeos.Frame{Type: f.Type, MessageID: f.MessageID, RequestID: f.RequestID}
	to.open.Add(1)
	c.g.workers.Go(func() {
		defer to.open.Done()
		if _, err := c.g.Ledger.Append(context.Background(), m); err != nil {
			c.g.Log.Error("an agent's question was not stored", "turn", t.id, "err", err)
			to.send(refusal(&named, unavailable(err)))
			return
		}
		err := c.put(t, ask{conn: c, pause: m.Type}, beeos.Event{
			AskID: beeos.PauseAsk + beeos.NewID(), Method: "elicitation/create", Data: pauseForm(&m),
		})
		if err != nil {
			to.send(refusal(&named, err))
		}
	})
}

// put opens a question and tells whoever watches the turn.
func (c *connection) put(t *turn, a ask, ev beeos.Event) error {
	ev.Kind, ev.Channel, ev.Turn, ev.Key = beeos.EventAsk, t.channel, t.id, t.askKey(ev.Key)
	a.event = ev
	if !c.g.desk.openAsk(ev.AskID, a, t) {
		return errOpen
	}
	t.tell(c.g, ev)
	c.g.Bus.Control(bus.Control{Kind: bus.TurnChanged, ID: t.id})
	return nil
}

var errOpen = beeos.Errorf(beeos.RateLimited, "%d questions of this message wait for an answer; ask more when there is one", mostOpen)

// pauseForm is a pause as an elicitation: by an address, if the agent gives
// one, else by a form, its own or any.
func pauseForm(m *beeos.Message) json.RawMessage {
	params := struct {
		Mode    string          `json:"mode,omitempty"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema,omitempty"`
		URL     string          `json:"url,omitempty"`
		ID      string          `json:"elicitationId,omitempty"`
	}{Message: m.Body, Schema: httpd.Field(m.Payload, "requestedSchema")}
	if url, ok := httpd.StringValue(httpd.Field(m.Payload, "url")); ok {
		params.Mode, params.URL, params.ID, params.Schema = "url", url, m.InReplyTo, nil
	} else if len(params.Schema) == 0 || params.Schema[0] != '{' {
		params.Schema = json.RawMessage(anyAnswer)
	}
	raw, _ := json.Marshal(params) // strings, and JSON that was checked when it came in
	return raw
}

// answerOf is what an agent gets of a caller's answer to a pause. The caller's
// program may have written anything beside it, such as attachments: agents
// download those, from wherever they are said to be.
func answerOf(result json.RawMessage) json.RawMessage {
	raw, _ := json.Marshal(struct {
		Action  json.RawMessage `json:"action,omitempty"`
		Content json.RawMessage `json:"content,omitempty"`
	}{httpd.Field(result, "action"), httpd.Field(result, "content")}) // JSON that was checked when it came in
	return raw
}

// resume continues a pause with the caller's answer, as if it had been said in
// the conversation.
func (g *Gateway) resume(a ask, result json.RawMessage) {
	result = answerOf(result)
	text, _ := httpd.StringValue(httpd.Field(httpd.Field(result, "content"), "message"))
	said := beeos.Continue
	if a.pause == beeos.AgentAuthRequired {
		said = beeos.AuthGrant
	}
	g.workers.Go(func() {
		m := beeos.Message{
			Channel: a.event.Channel, InReplyTo: a.event.Turn, Publisher: "user", Type: said,
			State: beeos.StateCompleted, Body: text, Payload: result,
		}
		if _, err := g.Ledger.Append(context.Background(), m); err != nil {
			g.Log.Error("an answer to an agent's question was not stored", "turn", a.event.Turn, "err", err)
		}
		a.conn.enqueue(encode(&beeos.Frame{Type: beeos.FrameType(said), MessageID: a.event.Turn, Body: text, Payload: result}))
	})
}
