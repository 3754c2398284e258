package chat

import (
	"fmt"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/test/pagetest"
)

func TestPageRendersEmptyOneAndMany(t *testing.T) {
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		return map[string]any{"chat": pageData{
			Row: page.AgentRow{ID: "agent_0", Title: "A"}, Owner: n > 0, Path: "/agents/agent_0/chat",
			Older: "/agents/agent_0/chat?before=x", Earlier: "/agents/agent_0/chat/c0?last=200",
			Here: &conversationRow{ID: "c0", Title: "First"}, Open: n > 0, Files: true, Key: "k",
			Conversations: pagetest.Repeat(n, func(i int) conversationRow {
				return conversationRow{ID: fmt.Sprint("c", i), Title: "Conversation", At: time.Now(), Lit: i == 0}
			}),
		}}
	}, map[string]string{"chat": `data-chat="`})
}
