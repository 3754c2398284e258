package catalog

import (
	"encoding/json"
	"slices"

	"github.com/beeos/beeos"
)

// What a tool may say about tasks.
const (
	TaskForbidden = "forbidden"
	TaskOptional  = "optional"
	TaskRequired  = "required"
)

// The tool that brings the results of calls that took long.
const (
	FetchToolName = "task_result"
	fetchSchema   = `{"type":"object","properties":{"task_id":{"type":"string","description":"As an earlier call gave it"},"wait_seconds":{"type":"number","minimum":0,"description":"How long to wait for the end, at most about 45, which is also the default"}},"required":["task_id"]}`
	fetchText     = "Get the result of an earlier tool call that took long and was answered with a task_id. Waits for the end of the work, and says so if it goes on still."
)

// setTools makes the lists of tools: as they are, and with the one that brings
// results later. The agent's own names come first.
func (l *Lists) setTools(items [][]byte) {
	l.Tools = newList("tools", items)
	l.FetchToolName = FetchToolName
	for l.ToolByName[l.FetchToolName] != nil {
		l.FetchToolName = "beeos_" + l.FetchToolName
	}
	t := newTool(beeos.Skill{
		Name: l.FetchToolName, Title: "Task result", Description: fetchText,
		InputSchema: json.RawMessage(fetchSchema), Annotations: json.RawMessage(`{"readOnlyHint":true,"openWorldHint":false}`),
	})
	t.IsFetch = true
	l.ToolByName[t.Name] = t
	l.ToolsAndFetch = newList("tools", append(slices.Clip(items), t.definition))
	shared := len(l.Tools.pages) - 1 // all but the last are the same
	copy(l.ToolsAndFetch.pages, l.Tools.pages[:shared])
}
