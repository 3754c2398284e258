package agentgateway

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// A caller may decide about the tool calls of its own agents, by the form that
// its program shows or by a word in the conversation. Nothing that an agent, a
// tool or a model says comes this way: what counts is an answer to the one
// question, from the caller's own credential.

const (
	viaMCP          = "mcp"
	viaConversation = "conversation"

	// maxShown bounds what a form shows; what is longer is shown in the console,
	// whole, and not here in part.
	maxShown = 4 << 10

	howToSay = "Answer with the one word “approve”, or “reject”, or “reject: ” and why."
)

// decisionText is what the caller's person reads.
func decisionText(a *store.Approval) string {
	return "Approve this call of " + approval.Name(a) + "? It will be made with exactly these arguments:\n" + approval.Shown(a.Arguments)
}

// decisionForm is the question as an elicitation.
func decisionForm(a *store.Approval) (form json.RawMessage, ok bool) {
	text := decisionText(a)
	if len(text) > maxShown {
		return nil, false
	}
	form, err := json.Marshal(map[string]any{
		"message": text,
		"requestedSchema": json.RawMessage(`{"type":"object","properties":{` +
			`"approve":{"type":"boolean","title":"Approve","description":"Yes: the call is made. No: the agent is told that you refused.","default":false},` +
			`"reason":{"type":"string","title":"Reason","description":"What the agent should know"}},"required":["approve"]}`),
	})
	return form, err == nil
}

// decisionPayload is the question for programs that read the conversation.
func decisionPayload(a *store.Approval) json.RawMessage {
	payload, _ := json.Marshal(map[string]any{"approval": map[string]any{
		"id": a.ID, "agent_id": a.AgentID, "skill": a.Skill, "tool": a.Tool, "arguments": a.Arguments,
		"requested_at": a.CreatedAt, "expires_at": a.ExpiresAt,
	}}) // strings, times, and JSON that was checked when it came in
	return payload
}

// decideByForm takes what the caller's person answered. A form that was closed
// or that could not be shown decides nothing: others may.
func (g *Gateway) decideByForm(a ask, data []byte) {
	var body struct {
		Result struct {
			Action  string `json:"action"`
			Content struct {
				Approve *bool  `json:"approve"`
				Reason  string `json:"reason"`
			} `json:"content"`
		} `json:"result"`
	}
	if json.Unmarshal(data, &body) != nil {
		return
	}
	switch r := body.Result; {
	case r.Action == "accept" && r.Content.Approve != nil:
		g.decide(a, viaMCP, *r.Content.Approve, r.Content.Reason)
	case r.Action == "decline":
		g.decide(a, viaMCP, false, "declined")
	}
}

// decideByWord takes a user.continue that answers an approval. It reports
// whether the words were meant for one, and not for the agent.
func (g *Gateway) decideByWord(t *turn, frame []byte) bool {
	open := g.desk.approvals(t)
	if len(open) == 0 {
		return false
	}
	publisher, _ := httpd.StringValue(httpd.Field(frame, "publisher_id"))
	said, _ := httpd.StringValue(httpd.Field(frame, "body"))
	word, id, reason := verdict(said)
	if word == "" {
		return !g.desk.paused(t) // free text decides nothing
	}
	var meant []ask
	for _, a := range open {
		if publisher == "user:"+a.decider && (id == "" || id == a.approval) {
			meant = append(meant, a)
		}
	}
	if len(meant) == 1 { // of several, one must be named
		g.decide(meant[0], viaConversation, word == "approve", reason)
	}
	return true
}

// verdict reads "approve", "reject", either with the approval's id, and
// "reject: why". Anything else is no verdict.
func verdict(said string) (word, id, reason string) {
	head, reason, _ := strings.Cut(said, ":")
	fields := strings.Fields(strings.ToLower(head))
	switch {
	case len(fields) == 0 || len(fields) > 2 || fields[0] != "approve" && fields[0] != "reject":
		return "", "", ""
	case fields[0] == "approve" && strings.TrimSpace(reason) != "":
		return "", "", ""
	case len(fields) == 2:
		id = fields[1]
	}
	return fields[0], id, strings.TrimSpace(reason)
}

func (g *Gateway) decide(a ask, via string, approve bool, reason string) {
	g.workers.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), reloadWithin)
		defer cancel()
		user, err := g.DB.User(ctx, a.decider)
		if err == nil {
			_, err = g.Desk.Decide(ctx, a.approval, approval.Decider{User: user, Via: via}, approve, reason)
		}
		if err != nil && beeos.CodeOf(err) != beeos.Conflict { // somebody else was faster
			g.Log.Warn("a caller's decision was not taken", "approval", a.approval, "err", err)
		}
	})
}

// approvals are the decisions that the caller of a turn may take.
func (d *desk) approvals(t *turn) (list []ask) {
	d.each(t, func(a ask) {
		if a.approval != "" {
			list = append(list, a)
		}
	})
	return list
}

// paused reports whether the agent itself waits for the person.
func (d *desk) paused(t *turn) (yes bool) {
	d.each(t, func(a ask) { yes = yes || a.pause != "" })
	return yes
}
