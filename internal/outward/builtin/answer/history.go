package answer

import (
	"context"
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

// history returns the conversation up to and with the message, and whether
// that is the first of it.
func (a *Agent) history(ctx context.Context, m agent.Message, r *agent.Reply) (talk []llm.Message, first bool, err error) {
	// Each read has its time: a thousand at once would all run out of it.
	select {
	case a.Reading <- struct{}{}:
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
	all, err := r.History(ctx)
	<-a.Reading
	if err != nil {
		return nil, false, err
	}
	asked := map[string]bool{}
	for _, past := range all {
		if past.ID == m.ID || past.Offset >= m.Offset { // it may have been cleared away itself
			break
		}
		asked[past.ID] = true
		switch {
		case past.Body == "":
		case past.Type == beeos.ChatMessage:
			talk = append(talk, llm.Message{Role: llm.User, Text: past.Body})
		case past.Type == beeos.AgentReply && asked[past.InReplyTo]: // else its question was cleared away
			talk = append(talk, llm.Message{Role: llm.Assistant, Text: past.Body})
		}
	}
	first = len(talk) == 0
	return append(recent(talk), llm.Message{Role: llm.User, Text: said(m)}), first, nil
}

// recent is the end of a long conversation. It begins with the user's words,
// as model services want it.
func recent(talk []llm.Message) []llm.Message {
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

// said is what the caller says, with its files.
func said(m agent.Message) string {
	var b strings.Builder
	b.WriteString(m.Text)
	if m.Text == "" && len(m.Arguments) > 0 {
		b.Write(m.Arguments)
	}
	for _, f := range m.Attachments {
		fmt.Fprintf(&b, "\n[attached: %s, %s, %s]", f.Filename, f.ContentType, f.URL)
	}
	return b.String()
}
