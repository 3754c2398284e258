package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/web/page"
)

// TestUnfinishedAnswerIsBounded: an agent that does not stop talking cannot fill
// our memory; its answer is complete when it ends.
func TestUnfinishedAnswerIsBounded(t *testing.T) {
	for name, ev := range map[string]beeos.Event{
		"words":     {Kind: beeos.EventDelta, Text: strings.Repeat("x", 64<<10)},
		"thoughts":  {Kind: beeos.EventDelta, Reasoning: strings.Repeat("x", 64<<10)},
		"parts":     {Kind: beeos.EventDelta, Part: json.RawMessage(`{"type":"text","text":"` + strings.Repeat("x", 64<<10) + `"}`)},
		"tools":     {Kind: beeos.EventDelta, Part: json.RawMessage(`{"type":"tool_use","name":"x"}`)},
		"questions": {Kind: beeos.EventAsk, Method: "elicitation/create", Data: json.RawMessage(`{"message":"x"}`)},
	} {
		all := New(&beeos.Agent{Name: "a"}, "/")
		all.AddMessage(&beeos.Message{ID: "m", Type: beeos.ChatMessage})
		u := all.byID["m"]
		ev.Turn = "m"
		for i := range 5000 {
			ev.AskID = fmt.Sprint(i)
			all.AddEvent(&ev)
		}
		if size := len(u.Text) + len(u.Reasoning) + len(u.blocks); size > 2*maxLiveBytes || len(u.ToolCalls)+len(u.Questions) > maxLiveBytes/livePartCost {
			t.Errorf("%s: %d bytes, %d tool calls, %d questions", name, size, len(u.ToolCalls), len(u.Questions))
		}
		all.AddEvent(&beeos.Event{Kind: beeos.EventDelta, Turn: "m", SoFar: true, Text: "anew"})
		if all.AddEvent(&beeos.Event{Kind: beeos.EventDelta, Turn: "m", Text: ", and on"}); u.Text != "anew, and on" {
			t.Errorf("%s: begun anew it is %.40q", name, u.Text)
		}
		if all.AddMessage(&beeos.Message{Type: beeos.AgentReply, InReplyTo: "m", Body: strings.Repeat("y", 2*maxLiveBytes)}); len(u.Text) != 2*maxLiveBytes {
			t.Errorf("%s: the end has %d bytes", name, len(u.Text))
		}
	}
}

// TestToolCallsStandInTheText: a tool call stands where it was made, if its
// agent says where.
func TestToolCallsStandInTheText(t *testing.T) {
	call := func(name string, at int) *ToolCall { return &ToolCall{Name: name, textOffset: at} }
	for _, c := range []struct {
		name  string
		text  string
		calls []*ToolCall
		want  string
	}{
		{"nothing", "", nil, ""},
		{"text alone", "abc", nil, "abc|"},
		{"unknown place", "abc", []*ToolCall{call("x", 0)}, "[x]|abc|"},
		{"between", "ab cd ef", []*ToolCall{call("x", 3), call("y", 3), call("z", 6)}, "ab |[x]|[y]|cd |[z]|ef|"},
		{"at the end", "abc", []*ToolCall{call("x", 3)}, "abc|[x]|"},
		{"beyond the end, or back", "abc", []*ToolCall{call("x", 9), call("y", 2), call("z", 1), call("n", -1)}, "[x]|ab|[y]|[z]|[n]|c|"},
		{"within a letter", "ä", []*ToolCall{call("x", 1)}, "[x]|ä|"},
	} {
		got := ""
		for _, b := range (&Turn{Text: c.text, ToolCalls: c.calls}).Blocks() {
			if b.Call != nil {
				got += "[" + b.Call.Name + "]|"
			} else {
				got += b.Text + "|"
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestApprovalStaysWhenAnswerIsToldAnew: who joins gets all that was said so far
// once more, and the card of a tool call that waits stays where it is.
func TestApprovalStaysWhenAnswerIsToldAnew(t *testing.T) {
	all := New(&beeos.Agent{Name: "a"}, "/")
	all.AddMessage(&beeos.Message{ID: "m", Type: beeos.ChatMessage})
	soFar := beeos.Event{Kind: beeos.EventDelta, Turn: "m", SoFar: true, Text: "One moment.", Parts: json.RawMessage(`[{"type":"tool_use","id":"1","name":"drive__save","arguments":{"a":1}}]`)}
	all.AddEvent(&soFar)
	asked := []approvals.Approval{{ID: "ask", Turn: "m", Skill: "drive", Tool: "save", Arguments: json.RawMessage(`{"a": 1}`)}}
	all.AddFindings([]string{"m"}, Findings{Online: true, Approvals: asked, Cards: []page.ApprovalCard{{ID: "ask", Open: true}}})
	check := func(when string) {
		t.Helper()
		u := all.byID["m"]
		if len(u.ToolCalls) != 1 || u.ToolCalls[0].Approval == nil || u.ToolCalls[0].Approval.ID != "ask" || len(u.Approvals) != 0 || u.Open && !u.WaitsForVisitor() {
			t.Errorf("%s: %+v, beside it %+v", when, u.ToolCalls, u.Approvals)
		}
	}
	check("at first")
	all.AddEvent(&soFar)
	check("told anew")
	all.AddMessage(&beeos.Message{Type: beeos.AgentReply, InReplyTo: "m", Body: "Done.", Parts: soFar.Parts})
	check("at the end")
}

// TestApprovalFindsToolCallThatComesLater: an approval may be known before the
// agent tells of the call, and is then not shown twice.
func TestApprovalFindsToolCallThatComesLater(t *testing.T) {
	all := New(&beeos.Agent{Name: "a"}, "/")
	all.AddMessage(&beeos.Message{ID: "m", Type: beeos.ChatMessage})
	asked := []approvals.Approval{{ID: "ask", Turn: "m", Tool: "save"}}
	all.AddFindings([]string{"m"}, Findings{Online: true, Approvals: asked, Cards: []page.ApprovalCard{{ID: "ask", Open: true}}})
	if u := all.byID["m"]; len(u.Approvals) != 1 {
		t.Errorf("before the call: %+v", u.Approvals)
	}
	all.AddEvent(&beeos.Event{Kind: beeos.EventDelta, Turn: "m", Part: json.RawMessage(`{"type":"tool_use","id":"1","name":"save"}`)})
	if u := all.byID["m"]; len(u.Approvals) != 0 || u.ToolCalls[0].Approval == nil {
		t.Errorf("after it: %+v, beside it %+v", u.ToolCalls[0], u.Approvals)
	}
}

// TestCallsShowNoSecrets: a tool's call stands in the conversation of who made it
// without what its schema names secret, and without all values if there is none.
func TestCallsShowNoSecrets(t *testing.T) {
	agent := &beeos.Agent{Name: "a", Definition: beeos.Definition{Skills: []beeos.Skill{
		{Name: "login", InputSchema: json.RawMessage(`{"properties":{"pass":{"writeOnly":true}}}`)}, {Name: "plain"},
	}}}
	for tool, want := range map[string]string{"login": `login {"pass":"•••","n":1}`, "plain": `plain {"pass":"x","n":1}`, "gone": `gone {"pass":"•••","n":"•••"}`} {
		all := New(agent, "/")
		all.AddMessage(&beeos.Message{ID: "m", Type: beeos.ChatMessage, Payload: json.RawMessage(`{"tool":"` + tool + `","arguments":{"pass":"x","n":1}}`)})
		if got := all.byID["m"].Message; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
