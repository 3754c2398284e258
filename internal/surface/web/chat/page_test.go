package chat

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/test/pagetest"
)

func TestPageRendersEmptyOneAndMany(t *testing.T) {
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		all := allData{Query: strings.Repeat("<b>", n%2), Older: "/conversations?before=x", Newest: "/conversations", Rows: pagetest.Repeat(n, func(i int) talkRow {
			return talkRow{ID: fmt.Sprint("c", i), Title: "First <b>", Agent: "A", Path: "/agents/agent_0/chat/c", At: time.Now(), Closed: i > 3}
		})}
		return map[string]any{"conversations": all, "chat": pageData{
			Row: page.AgentRow{ID: "agent_0", Title: "A"}, Owner: n > 0, Path: "/agents/agent_0/chat",
			Older: "/agents/agent_0/chat?before=x", Earlier: "/agents/agent_0/chat/c0?last=200",
			Here: &conversationRow{ID: "c0", Title: "First"}, Open: n > 0, Files: true, Key: "k",
			Conversations: pagetest.Repeat(n, func(i int) conversationRow {
				return conversationRow{ID: fmt.Sprint("c", i), Title: "Conversation", At: time.Now(), Lit: i == 0}
			}),
		}}
	}, map[string]string{"chat": `data-chat="`, "conversations": `data-conversation="`})
}
