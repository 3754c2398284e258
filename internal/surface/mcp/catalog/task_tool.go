package catalog

import (
	"bytes"
	"slices"
	"sync"

	"github.com/beeos/beeos/internal/surface/mcp/schema"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// TaskSupport is what a tool says about tasks.
type TaskSupport uint8

const (
	TaskUnsaid TaskSupport = iota
	TaskForbidden
	TaskOptional
	TaskRequired
)

func supportOf(execution []byte) TaskSupport {
	switch s, _ := strictjson.StringValue(strictjson.Field(execution, "taskSupport")); s {
	case "forbidden":
		return TaskForbidden
	case "optional":
		return TaskOptional
	case "required":
		return TaskRequired
	}
	return TaskUnsaid
}

// The tool that brings the results of calls that took long.
const (
	FetchToolName = "task_result"
	fetchSchema   = `{"type":"object","properties":{"task_id":{"type":"string","description":"As an earlier call gave it"},"wait_seconds":{"type":"number","minimum":0,"description":"How long to wait for the end, at most about 45, which is also the default"}},"required":["task_id"]}`
	fetchText     = "Get the result of an earlier tool call that took long and was answered with a task_id. Waits for the end of the work, and says so if it goes on still."
)

// setTools makes the lists of tools: as they are, and with the one that brings
// results later. The agent's own names come first.
func (l *Lists) setTools(items [][]byte) {
	l.Tools = newPages("tools", items)
	l.FetchToolName = FetchToolName
	for l.ToolByName[l.FetchToolName] != nil {
		l.FetchToolName = "beeos_" + l.FetchToolName
	}
	b := wire.AppendText([]byte(`{"name":`), l.FetchToolName)
	b = wire.AppendMember(b, "title", "Task result")
	b = wire.AppendMember(b, "description", fetchText)
	b = append(b, `,"inputSchema":`+fetchSchema+`,"annotations":{"readOnlyHint":true,"openWorldHint":false}}`...)
	t := &Tool{Name: l.FetchToolName, definition: b, IsFetch: true}
	t.Schema = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile([]byte(fetchSchema)) })
	l.ToolByName[t.Name] = t
	l.ToolsAndFetch = newPages("tools", append(slices.Clip(items), b))
	for i, page := range l.Tools { // all but the last are the same
		if bytes.Equal(page, l.ToolsAndFetch[i]) {
			l.ToolsAndFetch[i] = page
		}
	}
}
