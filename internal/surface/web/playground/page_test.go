package playground

import (
	"fmt"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/test/pagetest"
)

func TestPagesRenderEmptyOneAndMany(t *testing.T) {
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		row := page.AgentRow{ID: "agent_0", Title: "A", Builtin: n > 0, Chats: n == 0}
		fields, ok := fieldsOf([]byte(everything))
		if !ok {
			t.Fatal("no form")
		}
		one := toolData{Row: row, Tool: toolRow{Name: "add <b>", Title: "Add", Text: "Adds.", ReadOnly: n > 1}, Fields: fields[:min(n, len(fields))], JSON: n == 1, Arguments: "{}"}
		if n > 0 {
			one.Run = &runData{ID: "turn", Working: n == 1, Outcome: "failed", Mood: "bad", Advice: "Look.", Took: time.Second, Text: safetext.Pieces("<b>"), Data: safetext.Pieces("{}"), Cut: true, Waits: []page.ApprovalCard{{Tool: "save"}}}
		}
		return map[string]any{
			"tools": toolsData{Row: row, More: n, Tools: pagetest.Repeat(n, func(i int) toolRow {
				return toolRow{Name: fmt.Sprint("tool", i), Text: "<i>", ReadOnly: i%2 == 0, Destructive: i%3 == 0, Offered: i%5 > 0}
			})},
			"tool": one,
		}
	}, map[string]string{"tools": `data-tool="`})
}
