package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/a2a/peer"
	"github.com/beeos/beeos/internal/outward/bridge/enclosed"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

const (
	maxFailures     = 6               // to hear more of a task, one after the other in vain
	maxPollInterval = 5 * time.Second // between two looks at a task
	taskNameWithin  = 2 * time.Second // for the name of a task that is to be cancelled
	cancelWithin    = 5 * time.Second
)

// answerMessage handles one message: the peer gets it, the caller all that
// comes back.
func (b *bridge) answerMessage(ctx context.Context, m agent.Message, r *agent.Reply) error {
	msg, err := b.buildMessage(ctx, m, r)
	if err != nil {
		return err
	}
	t := &remoteTask{bridge: b, r: r, who: peer.Attribution{Agent: b.agent.ID()}}
	if before := m.Metadata["call_chain"]; before != "" {
		t.who.Chain = strings.Split(before, ",")
	}
	switch {
	case slices.Contains(t.who.Chain, t.who.Agent):
		return errors.New("this agent is already working on this: calling it again would never end")
	case len(t.who.Chain) >= peer.MaxChain:
		return fmt.Errorf("%d agents have called each other in a row, which is the limit", peer.MaxChain)
	}
	t.who.Chain = append(t.who.Chain, t.who.Agent)
	t.client, t.streams = b.currentClient()
	defer t.cancelUnlessDone(ctx)
	for {
		if err := t.sendAsStep(ctx, msg); err != nil {
			return t.publicError(ctx, err)
		}
		if t.context != "" {
			b.contexts.put(m.Channel, t.context)
			if err := r.Remember(contextMemory{t.context}); err != nil {
				return err
			}
		}
		if t.state != peer.StateInput && t.state != peer.StateAuth {
			return t.sendReply(ctx)
		}
		if msg, err = t.askCaller(ctx); err != nil {
			return err
		}
	}
}

// contextMemory is what we keep with an answer of the peer's.
type contextMemory struct {
	Context string `json:"a2a_context"`
}

// buildMessage is what the peer gets of a message of ours.
func (b *bridge) buildMessage(ctx context.Context, m agent.Message, r *agent.Reply) (peer.OutMessage, error) {
	msg := peer.OutMessage{Message: peer.Message{ID: m.ID}}
	text := m.Text
	switch m.Method {
	case "":
	case "tools/call":
		var in struct{ Message string }
		if err := m.Bind(&in); err != nil {
			return msg, err
		}
		text = in.Message
		b.mu.Lock()
		msg.Metadata = map[string]string{"skillId": b.skills[m.Tool]}
		b.mu.Unlock()
	default:
		return msg, errors.New("this agent has nothing to read; talk to it")
	}
	if text != "" {
		msg.Parts = append(msg.Parts, peer.TextPart(text))
	}
	items, err := enclosed.Read(ctx, m)
	if err != nil {
		return msg, err
	}
	msg.Parts = append(msg.Parts, peerParts(items)...)
	msg.Context, err = b.findContext(ctx, m, r)
	return msg, err
}

// findContext is what the peer calls this conversation; empty = it is new.
func (b *bridge) findContext(ctx context.Context, m agent.Message, r *agent.Reply) (string, error) {
	if context, known := b.contexts.get(m.Channel); known {
		return context, nil
	}
	said, err := r.History(ctx)
	if err != nil {
		return "", err
	}
	for _, h := range slices.Backward(said) {
		var p struct {
			Memory contextMemory `json:"memory"`
		}
		if h.Type == beeos.AgentReply && json.Unmarshal(h.Payload, &p) == nil && p.Memory.Context != "" {
			b.contexts.put(m.Channel, p.Memory.Context)
			return p.Memory.Context, nil
		}
	}
	return "", nil
}

// peerParts are the files and values that came along, as the peer gets them.
func peerParts(items []enclosed.Item) (parts []peer.Part) {
	for _, it := range items {
		switch {
		case len(it.Value) > 0:
			parts = append(parts, peer.Part{Data: it.Value})
		case it.Bytes != nil:
			parts = append(parts, peer.Part{Raw: it.Bytes, Filename: it.Name, MediaType: it.Kind})
		default:
			parts = append(parts, peer.Part{URL: it.URL, Filename: it.Name, MediaType: it.Kind})
		}
	}
	return parts
}

// askCaller puts the peer's question to our caller and returns the answer.
func (t *remoteTask) askCaller(ctx context.Context) (peer.OutMessage, error) {
	msg := peer.OutMessage{Message: peer.Message{ID: beeos.NewID(), Task: t.task, Context: t.context}}
	question := orDefault(textOf(t.status), "The agent needs more to go on.")
	t.asked = t.status
	ask := t.r.InputRequired
	if t.state == peer.StateAuth {
		ask = t.r.AuthRequired
	}
	got, err := ask(ctx, question, nil)
	if err != nil {
		return msg, t.publicError(ctx, err)
	}
	var p struct {
		Grant  *bool           `json:"auth_grant"`
		Action string          `json:"action"`
		Input  json.RawMessage `json:"input"`
	}
	_ = json.Unmarshal(got.Payload, &p) // of another shape: then the text is all, and says nothing against it
	declined := p.Action == "decline" || p.Action == "cancel"
	if got.Text != "" {
		msg.Parts = append(msg.Parts, peer.TextPart(got.Text))
	}
	switch {
	case t.state == peer.StateAuth:
		granted := (p.Grant == nil || *p.Grant) && !declined
		msg.Parts = append(msg.Parts, peer.Part{Data: upstream.EncodeJSON(map[string]bool{"auth_grant": granted})})
		return msg, nil
	case declined:
		return msg, errors.New("the agent asked for more, and got no answer")
	case len(p.Input) > 0 && (p.Input[0] == '{' || p.Input[0] == '['):
		msg.Parts = append(msg.Parts, peer.Part{Data: p.Input})
	}
	items, err := enclosed.ReadParts(ctx, got.Parts, got.Attachments)
	msg.Parts = append(msg.Parts, peerParts(items)...)
	return msg, err
}

func orDefault(s, other string) string {
	if strings.TrimSpace(s) == "" {
		return other
	}
	return s
}

// textOf is what a status says in words.
func textOf(m *peer.Message) string {
	if m == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Text != nil {
			b.WriteString(*p.Text)
		}
	}
	return b.String()
}
