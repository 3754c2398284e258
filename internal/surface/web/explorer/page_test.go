package explorer

import (
	"fmt"
	"testing"
	"time"

	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/test/pagetest"
)

func TestPagesRenderEmptyOneAndMany(t *testing.T) {
	pagetest.RenderAll(t, pagetest.NewServer(t, templates), templates, func(n int) map[string]any {
		rows := pagetest.Repeat(n, func(i int) page.CallRow {
			return page.CallRow{ID: fmt.Sprint("turn", i), At: time.Now(), Surface: "mcp", Caller: "you", AgentID: "agent_0", Agent: "A", What: "add", Outcome: "failed", Mood: "bad", Took: time.Second}
		})
		one := callData{
			Row: page.CallRow{ID: "turn", Agent: "A <b>", What: "add", Outcome: "failed", Mood: "bad", Took: time.Second}, Advice: "Look.", Attempts: n,
			Bars: pagetest.Repeat(n, func(i int) bar {
				return bar{Kind: []string{"wait", "work", "lost", "person"}[i%4], Label: "attempt", Note: "its instance disconnected", Given: map[bool]string{true: `{"a":"<b>"}`}[i%2 > 0], After: time.Duration(i), Took: time.Duration(i), Open: i == 59, X: float64(i), W: 1}
			}),
			Request: said{Text: safetext.Pieces("hello"), Data: safetext.Pieces("{}"), Cut: n > 1}, IDs: []pair{{"Call", "turn"}}, Again: &again{"curl", "A key."},
			Moments: pagetest.Repeat(n, func(i int) moment {
				return moment{"2026-01-02 03:04:05.678", time.Duration(i), "attempt 1: dispatched <b>", "instance x"}
			}),
			Approvals: pagetest.Repeat(n, func(i int) page.ApprovalCard {
				return page.ApprovalCard{ID: "a", Tool: "save", State: "approved", Mood: "good", Open: i > 0}
			}),
		}
		if n > 0 {
			one.Reply, one.ReplayOf = &said{}, "before"
			one.Replay = &replayForm{Key: "k", Agents: []page.Choice{{Value: "x", Text: "X <b>", Picked: true}}, Label: "Text", Input: "<b>", Models: true, Prompts: n > 1, Prompt: "<i>", Tried: n > 1}
			one.Replays = pagetest.Repeat(n, func(i int) calls.Replay { return calls.Replay{Turn: fmt.Sprint("turn", i), At: time.Now()} })
		}
		both := compareData{
			Was: side{Name: "original", Row: one.Row, Input: 3}, Is: side{Name: "replay", Row: one.Row}, Working: n == 0, Same: n == 1, Cut: n > 1,
			Answer: safetext.Pieces("yes"), Changes: safetext.Compare("a\nb", "a\nc"),
		}
		if n > 1 {
			both.Edited = both.Changes
		}
		choices := []page.Choice{{Value: "x", Text: "X <b>", Picked: true}}
		return map[string]any{
			"calls": listData{Rows: rows, Filtered: n > 1, Older: "/calls?before=x", Newest: "/calls", Agents: choices, Tools: choices, Outcomes: choices},
			"call":  one, "compare": both,
		}
	}, map[string]string{"calls": `data-call="`, "call": "<rect ", "compare": ""})
}
