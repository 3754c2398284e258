package call

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/beeos/beeos/internal/surface/mcp/catalog"
	"github.com/beeos/beeos/internal/surface/mcp/wire"
	"github.com/beeos/beeos/internal/wire/strictjson"
)

// A client that knows nothing of tasks gives up on a call, by its SDK's default
// after 60 seconds in all, and then cancels it. Shortly before that such a call
// is answered with the id of its turn, which is in the ledger, and the name of
// the tool that brings the result. The agent does not notice.

const (
	defaultHandOver = 50 * time.Second
	fetchWithin     = 0.9 // of the same: how long the tool waits at most

	taskSoon  = 250 * time.Millisecond // a tool that can be a task is one after this
	taskLater = 30 * time.Second       // any other call, before clients give up

	endedAsking = "The agent ended its turn with a question, which cannot be answered here: call its tool again."
)

// handOverNotice makes the result of a call of t that goes on. Clients hold a
// result to the tool's outputSchema unless it is an error.
func (x *Client) handOverNotice(t *catalog.Tool) resultForTurn {
	return func(turn string) []byte {
		if t.IsFetch {
			return wire.StillWorking("The agent is still working on this. Call "+t.Name+" with task_id "+strconv.Quote(turn)+" again to wait for it.", turn, false)
		}
		text := "The agent is still working on this, and its result will be kept. To get it, call the tool " + x.Lists.FetchToolName +
			" with task_id " + strconv.Quote(turn) + "; it waits for the end. Do not call " + t.Name + " again for the same work."
		return wire.StillWorking(text, turn, t.HasOutputSchema)
	}
}

// fetchTask makes a call of the tool ready: it joins the call, as if the client
// had never stopped waiting, and stops waiting again before the client does.
func (x *Client) fetchTask(ctx context.Context, m *wire.Message, t *catalog.Tool, given []byte) (*activeCall, error) {
	args, err := t.SplitArguments(given)
	if err == nil {
		err = x.checkArguments(t, args.Own)
	}
	if err == nil {
		err = x.takePoll()
	}
	if err != nil {
		return nil, err
	}
	id, _ := strictjson.StringField(args.Own, "task_id")
	task, err := x.TaskByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if x.Agent, err = x.findReachable(ctx, task.AgentID); err != nil {
		return nil, err
	}
	c := &activeCall{x: x, m: m, joinsEarlierCall: true, handOverResult: x.handOverNotice(t), handOverAfter: max(x.fetchWait(args.Own), time.Millisecond)}
	if err := c.prepareRequest(); err != nil {
		return nil, err
	}
	c.req.TurnID, c.req.Channel, c.req.Timeout = task.Turn, task.Channel, c.handOverAfter+time.Minute
	return c, nil
}

// fetchWait is how long a fetch may take.
func (x *Client) fetchWait(args []byte) time.Duration {
	most := time.Duration(fetchWithin * float64(x.Runner.HandOver))
	seconds, err := strconv.ParseFloat(string(strictjson.Field(args, "wait_seconds")), 64)
	if err != nil || math.IsNaN(seconds) || seconds >= most.Seconds() {
		return most
	}
	return time.Duration(seconds * float64(time.Second))
}
