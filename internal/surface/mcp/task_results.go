package mcp

import (
	"strconv"
	"time"

	"github.com/beeos/beeos"
)

const (
	taskLife = 24 * time.Hour
	taskPoll = time.Second
	metaTask = "beeos/task"
)

// createdTask is the result that a client gets in place of the tool's.
func createdTask(turn string) []byte {
	b := append([]byte(`{"resultType":"task",`), taskHead(turn, "working", beeos.IDTime(turn))...)
	return append(b, '}')
}

// taskHead writes the members that every task has.
func taskHead(turn, status string, updated time.Time) []byte {
	const form = "2006-01-02T15:04:05.000Z07:00"
	b := appendText([]byte(`"taskId":`), turn)
	b = append(b, `,"status":"`+status+`","createdAt":"`...)
	b = beeos.IDTime(turn).AppendFormat(b, form)
	b = append(b, `","lastUpdatedAt":"`...)
	b = updated.UTC().AppendFormat(b, form)
	b = strconv.AppendInt(append(b, `","ttlMs":`...), taskLife.Milliseconds(), 10)
	return strconv.AppendInt(append(b, `,"pollIntervalMs":`...), taskPoll.Milliseconds(), 10)
}

// stillWorking is the result of a call that goes on, for a client that knows
// nothing of tasks. A tool with an outputSchema may answer otherwise only with
// an error.
func stillWorking(text, turn string, structured bool) []byte {
	b := appendTextBlock([]byte(`{"content":[`), text)
	task := append(appendText([]byte(`{"task_id":`), turn), `,"status":"working"}`...)
	if structured {
		b = append(b, `],"isError":true`...)
	} else {
		b = append(append(b, `],"structuredContent":`...), task...)
	}
	b = append(append(b, `,"_meta":{"`+metaTask+`":`...), task...)
	return append(b, `}}`...)
}
