package mcp

import (
	"bytes"
	"slices"
	"sync"

	"github.com/beeos/beeos/internal/wire/httpd"
)

// taskSupport is what a tool says about tasks.
type taskSupport uint8

const (
	taskUnsaid taskSupport = iota
	taskForbidden
	taskOptional
	taskRequired
)

func supportOf(execution []byte) taskSupport {
	switch s, _ := httpd.StringValue(httpd.Field(execution, "taskSupport")); s {
	case "forbidden":
		return taskForbidden
	case "optional":
		return taskOptional
	case "required":
		return taskRequired
	}
	return taskUnsaid
}

// The tool that brings the results of calls that took long.
const (
	fetchName   = "task_result"
	fetchSchema = `{"type":"object","properties":{"task_id":{"type":"string","description":"As an earlier call gave it"},"wait_seconds":{"type":"number","minimum":0,"description":"How long to wait for the end, at most about 45, which is also the default"}},"required":["task_id"]}`
	fetchText   = "Get the result of an earlier tool call that took long and was answered with a task_id. Waits for the end of the work, and says so if it goes on still."
)

// setTools makes the lists of tools: as they are, and with the one that brings
// results later. The agent's own names come first.
func (l *lists) setTools(items [][]byte) {
	l.tools = newPages("tools", items)
	l.fetchToolName = fetchName
	for l.toolByName[l.fetchToolName] != nil {
		l.fetchToolName = "beeos_" + l.fetchToolName
	}
	b := appendText([]byte(`{"name":`), l.fetchToolName)
	b = appendMember(b, "title", "Task result")
	b = appendMember(b, "description", fetchText)
	b = append(b, `,"inputSchema":`+fetchSchema+`,"annotations":{"readOnlyHint":true,"openWorldHint":false}}`...)
	t := &tool{name: l.fetchToolName, definition: b, isFetch: true}
	t.schema = sync.OnceValues(func() (*schema, error) { return compile([]byte(fetchSchema)) })
	l.toolByName[t.name] = t
	l.toolsAndFetch = newPages("tools", append(slices.Clip(items), b))
	for i, page := range l.tools { // all but the last are the same
		if bytes.Equal(page, l.toolsAndFetch[i]) {
			l.toolsAndFetch[i] = page
		}
	}
}
