package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/llm"
)

// What of a conversation the model is told again.
const (
	mostMessages = 60
	mostBytes    = 128 << 10

	MaxReading = 32 // conversations that are read at once
)

// readHistory returns the conversation up to and with the message, and whether
// that is the first of it.
func (a *Agent) readHistory(ctx context.Context, m agent.Message, r *agent.Reply) (talk []llm.Message, first bool, err error) {
	// Each read has its time: a thousand at once would all run out of it.
	if err := a.Reading.Acquire(ctx, 1); err != nil {
		return nil, false, context.Cause(ctx)
	}
	all, err := r.History(ctx)
	a.Reading.Release(1)
	if err != nil {
		return nil, false, err
	}
	asked, attached := map[string]bool{}, map[int][]agent.Attachment{}
	for _, past := range all {
		if past.ID == m.ID || past.Offset >= m.Offset { // it may have been cleared away itself
			break
		}
		asked[past.ID] = true
		files := llm.PastAttachments(past)
		switch {
		case pastText(past) == "" && len(files) == 0:
		case past.Type == beeos.ChatMessage:
			talk = append(talk, llm.Message{Role: llm.User, Text: pastText(past)})
			attached[len(talk)-1] = files
		case past.Type == beeos.AgentReply && asked[past.InReplyTo]: // else its question was cleared away
			talk = append(talk, llm.Message{Role: llm.Assistant, Text: past.Body})
		}
	}
	first = len(talk) == 0
	recent := recentMessages(talk)
	before := len(talk) - len(recent)
	now := llm.Message{Role: llm.User, Text: messageText(m)}
	reader := llm.NewAttachmentReader() // the newest files have room first
	reader.Add(ctx, &now, m.Attachments)
	for i := len(recent) - 1; i >= 0; i-- {
		reader.Add(ctx, &recent[i], attached[before+i])
	}
	return append(recent, now), first, nil
}

// recentMessages returns the end of a long conversation. It begins with the user's words,
// as model services want it.
func recentMessages(talk []llm.Message) []llm.Message {
	size, from := 0, len(talk)
	for from > 0 && len(talk)-from < mostMessages && size+len(talk[from-1].Text) <= mostBytes {
		from--
		size += len(talk[from].Text)
	}
	for from < len(talk) && talk[from].Role != llm.User {
		from++
	}
	return talk[from:]
}

// messageText returns what the caller says.
func messageText(m agent.Message) string {
	if m.Text != "" || len(m.Arguments) == 0 {
		return m.Text
	}
	return callText(m.Tool, m.Arguments)
}

// pastText is messageText of a message of the conversation.
func pastText(past beeos.Message) string {
	var call beeos.Call
	if past.Body != "" || past.Type != beeos.ChatMessage || len(past.Payload) == 0 || json.Unmarshal(past.Payload, &call) != nil || call.Tool == "" {
		return past.Body
	}
	return callText(call.Tool, call.Arguments)
}

// skillSeparator stands between the names of a skill and of its tool, and in no
// name of a skill.
const skillSeparator = "__"

// callText is the call of one of the agent's skills, or of a tool that callers
// may call, in the caller's words.
func callText(skill string, arguments json.RawMessage) string {
	if strings.Contains(skill, skillSeparator) {
		return fmt.Sprintf("I called your tool %s with %s.", skill, arguments)
	}
	var in struct {
		Message string `json:"message"`
	}
	if skill == "" || json.Unmarshal(arguments, &in) != nil || in.Message == "" {
		return string(arguments)
	}
	return in.Message
}
