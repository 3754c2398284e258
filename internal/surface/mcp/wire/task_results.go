package wire

import (
	"strconv"
	"time"

	"github.com/beeos/beeos"
)

const (
	TaskLife = 24 * time.Hour
	TaskPoll = time.Second
	metaTask = "beeos/task"
)

// CreatedTask is the result that a client gets in place of the tool's.
func CreatedTask(turn string) []byte {
	b := append([]byte(`{"resultType":"task",`), TaskHead(turn, "working", beeos.IDTime(turn))...)
	return append(b, '}')
}

// TaskHead writes the members that every task has.
func TaskHead(turn, status string, updated time.Time) []byte {
	const form = "2006-01-02T15:04:05.000Z07:00"
	b := AppendText([]byte(`"taskId":`), turn)
	b = append(b, `,"status":"`+status+`","createdAt":"`...)
	b = beeos.IDTime(turn).AppendFormat(b, form)
	b = append(b, `","lastUpdatedAt":"`...)
	b = updated.UTC().AppendFormat(b, form)
	b = strconv.AppendInt(append(b, `","ttlMs":`...), TaskLife.Milliseconds(), 10)
	return strconv.AppendInt(append(b, `,"pollIntervalMs":`...), TaskPoll.Milliseconds(), 10)
}

// StillWorking is the result of a call that goes on, for a client that knows
// nothing of tasks. A tool with an outputSchema may answer otherwise only with
// an error.
func StillWorking(text, turn string, structured bool) []byte {
	b := AppendTextBlock([]byte(`{"content":[`), text)
	task := append(AppendText([]byte(`{"task_id":`), turn), `,"status":"working"}`...)
	if structured {
		b = append(b, `],"isError":true`...)
	} else {
		b = append(append(b, `],"structuredContent":`...), task...)
	}
	b = append(append(b, `,"_meta":{"`+metaTask+`":`...), task...)
	return append(b, `}}`...)
}
