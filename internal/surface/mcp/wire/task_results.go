package wire

import (
	"fmt"
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
	return fmt.Appendf(nil, `{"resultType":"task",%s}`, TaskHead(turn, "working", beeos.IDTime(turn)))
}

// TaskHead writes the members that every task has.
func TaskHead(turn, status string, updated time.Time) []byte {
	const form = "2006-01-02T15:04:05.000Z07:00"
	return fmt.Appendf(nil, `"taskId":%s,"status":"%s","createdAt":"%s","lastUpdatedAt":"%s","ttlMs":%d,"pollIntervalMs":%d`, EncodeText(turn), status,
		beeos.IDTime(turn).Format(form), updated.UTC().Format(form), TaskLife.Milliseconds(), TaskPoll.Milliseconds())
}

// StillWorking is the result of a call that goes on, for a client that knows
// nothing of tasks. A tool with an outputSchema may answer otherwise only with
// an error.
func StillWorking(text, turn string, structured bool) []byte {
	task := fmt.Appendf(nil, `{"task_id":%s,"status":"working"}`, EncodeText(turn))
	outcome := fmt.Appendf(nil, `"structuredContent":%s`, task)
	if structured {
		outcome = []byte(`"isError":true`)
	}
	return fmt.Appendf(nil, `{"content":[%s],%s,"_meta":{"%s":%s}}`, AppendTextBlock(nil, text), outcome, metaTask, task)
}
