package mcp

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/wire/httpd"
)

// A client that knows nothing of tasks gives up on a call, by its SDK's default
// after 60 seconds in all, and then cancels it. Shortly before that such a call
// is answered with the id of its turn, which is in the ledger, and the name of
// the tool that brings the result. The agent does not notice.

const (
	defaultHandOver = 50 * time.Second
	fetchWithin     = 0.9 // of the same: how long the tool waits at most

	fetchName   = "task_result"
	fetchSchema = `{"type":"object","properties":{"task_id":{"type":"string","description":"As an earlier call gave it"},"wait_seconds":{"type":"number","minimum":0,"description":"How long to wait for the end, at most about 45, which is also the default"}},"required":["task_id"]}`
	fetchText   = "Get the result of an earlier tool call that took long and was answered with a task_id. Waits for the end of the work, and says so if it goes on still."

	metaTask = "beeos/task"

	endedAsking = "The agent ended its turn with a question, which cannot be answered here: call its tool again."
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

// listTools answers tools/list. Who names no revision waits for results, and
// sees what the agent has.
func (x *exchange) listTools(params []byte) ([]byte, error) {
	if x.version == unversioned {
		return x.lists.tools.page("tools", params)
	}
	return x.lists.toolsAndFetch.page("tools", params)
}

// handOverNotice makes the result of a call of t that goes on. Clients hold a
// result to the tool's outputSchema unless it is an error.
func (x *exchange) handOverNotice(t *tool) resultForTurn {
	return func(turn string) []byte {
		if t.isFetch {
			return stillWorking("The agent is still working on this. Call "+t.name+" with task_id "+strconv.Quote(turn)+" again to wait for it.", turn, false)
		}
		text := "The agent is still working on this, and its result will be kept. To get it, call the tool " + x.lists.fetchToolName +
			" with task_id " + strconv.Quote(turn) + "; it waits for the end. Do not call " + t.name + " again for the same work."
		return stillWorking(text, turn, t.hasOutputSchema)
	}
}

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

// fetchTask makes a call of the tool ready: it joins the call, as if the client
// had never stopped waiting, and stops waiting again before the client does.
func (x *exchange) fetchTask(ctx context.Context, m *message, t *tool, given []byte) (*activeCall, []byte, error) {
	args, err := t.splitArguments(given)
	if err != nil {
		return nil, nil, err
	}
	if result, err := x.checkArguments(t, args.own); result != nil || err != nil {
		return nil, result, err
	}
	if err := x.takePoll(); err != nil {
		return nil, nil, err
	}
	id, _ := httpd.StringValue(httpd.Field(args.own, "task_id"))
	task, err := x.taskByID(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if x.agent, err = x.reach(ctx, task.AgentID); err != nil {
		return nil, nil, err
	}
	c := &activeCall{x: x, m: m, joinsEarlierCall: true, handOverResult: x.handOverNotice(t), handOverAfter: max(x.fetchWait(args.own), time.Millisecond)}
	if err := c.prepareRequest(); err != nil {
		return nil, nil, err
	}
	c.req.TurnID, c.req.Channel, c.req.Timeout = task.Turn, task.Channel, c.handOverAfter+time.Minute
	return c, nil, nil
}

// fetchWait is how long a fetch may take.
func (x *exchange) fetchWait(args []byte) time.Duration {
	most := time.Duration(fetchWithin * float64(x.g.opt.HandOver))
	seconds, err := strconv.ParseFloat(string(httpd.Field(args, "wait_seconds")), 64)
	if err != nil || math.IsNaN(seconds) || seconds >= most.Seconds() {
		return most
	}
	return time.Duration(seconds * float64(time.Second))
}

// takePoll takes one look at a task from what the credential is allowed.
func (x *exchange) takePoll() error {
	id := x.caller.CredentialID
	if id == "" {
		id = x.caller.Principal()
	}
	wait := x.g.polls.take(id, x.g.opt.Now())
	if wait == 0 {
		return nil
	}
	e := beeos.Errorf(beeos.RateLimited, "too many looks at tasks: leave %s between them, as pollIntervalMs says, or let %s wait", taskPoll, fetchName)
	e.RetryAfter = wait
	return e
}
