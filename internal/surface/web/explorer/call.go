package explorer

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"github.com/beeos/beeos/internal/engine/sight"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
)

// callData is the page of a call.
type callData struct {
	Row       page.CallRow
	Advice    string // what to do about it, where something went wrong
	Attempts  int
	Bars      []bar
	Whole     time.Duration
	Request   said
	Reply     *said // nil = there is none yet
	Approvals []page.ApprovalCard
	IDs       []pair
	Moments   []moment
	Again     *again // the same call for a terminal; nil = there is no such call
	ReplayOf  string // a call; empty = it is none
	Replays   []calls.Replay
	Replay    *replayForm // nil = it cannot be made again, or not yet

	MetadataOnly bool // what was said is kept from the visitor
}

// said is what one side said, as far as a page shows it.
type said struct {
	Text []safetext.Piece
	Data []safetext.Piece // JSON
	Cut  bool
}

type pair struct{ Name, Value string }

// maxShown bounds what a page shows of what was said, in bytes.
const maxShown = 64 << 10

// advices say what to do about a call that did not go well.
var advices = map[calls.Outcome]string{
	calls.Failed:   "The agent answered with an error. What it said is below; its own log has more.",
	calls.Refused:  "The agent refused this. What it said is below.",
	calls.Busy:     "The agent takes one request at a time and had one. Let it queue requests, or call again later.",
	calls.TimedOut: "The agent did not reply before the deadline. See below where the time went; give the agent a longer timeout, or its program more instances.",
	calls.Lost:     "The agent's program went away while it worked on this and did not come back. See why its attempts ended, below, and whether it runs.",
}

func (e *Explorer) showCall(r *page.Request) (page.Answer, error) {
	c, err := e.Acts.Call(r.Context(), r.Caller(), r.PathValue("call"))
	if err != nil {
		return nil, err
	}
	d, err := e.describeCall(r, &c)
	view := page.View{Page: "call", Title: "Call of " + d.Row.Agent, Room: "calls", Data: d}
	if c.Outcome == calls.Working {
		view.Live = "/calls/" + c.ID + "/live"
	}
	return view, err
}

func (e *Explorer) describeCall(r *page.Request, c *sight.Call) (d callData, err error) {
	rows, err := e.describeCalls(r.Context(), r.Visitor, []calls.Call{e.rowOf(c)})
	if err != nil {
		return d, err
	}
	d.Row, d.Advice, d.Attempts = rows[0], advices[c.Outcome], len(c.Attempts)
	names := e.NameCallers(r.Context(), r.Visitor)
	d.Bars, d.Whole = barsOf(c, names, e.Now())
	d.Moments = momentsOf(c, names)
	data := c.Payload.Arguments
	if len(data) == 0 {
		data = c.Payload.Params
	}
	d.Request = show(c.Body, data)
	if m := c.Done; m != nil {
		reply := show(m.Body, m.Payload)
		d.Reply = &reply
	}
	d.Approvals = e.ShowApprovals(r.Context(), r.Visitor, c.Approvals)
	d.IDs = []pair{{"Call", c.ID}, {"Context", c.Channel}, {"Agent", c.AgentID}, {"Caller", c.Publisher}}
	if len(c.Attempts) > 0 {
		last := c.Attempts[len(c.Attempts)-1]
		for _, p := range []pair{{"Instance", last.Instance}, {"Server", last.Node}} {
			if p.Value != "" {
				d.IDs = append(d.IDs, p)
			}
		}
	}
	if tried := c.Payload.Trial; tried != nil {
		if tried.Model != "" {
			d.IDs = append(d.IDs, pair{"Model tried", tried.Model})
		}
		if tried.Prompt != nil {
			d.IDs = append(d.IDs, pair{"Prompt tried", safetext.Line(*tried.Prompt, 300)})
		}
		if tried.Fork != "" {
			d.IDs = append(d.IDs, pair{"Taken up at step", strconv.Itoa(tried.Step)})
		}
	}
	if c.TraceID != "" {
		d.IDs = append(d.IDs, pair{"Trace", c.TraceID})
	}
	d.MetadataOnly = c.MetadataOnly
	if d.Again, err = e.commandOf(r, c); err != nil {
		return d, err
	}
	d.ReplayOf, d.Replays = c.ReplayOf, c.Replays
	if c.Done != nil && !c.MetadataOnly {
		d.Replay, err = e.newReplayForm(r, c)
	}
	return d, err
}

// rowOf is a call as the record has it.
func (e *Explorer) rowOf(c *sight.Call) calls.Call {
	end := e.Now()
	if c.Done != nil {
		end = c.Done.CreatedAt
	}
	return calls.Call{
		Turn: c.ID, Outcome: c.Outcome, Began: c.CreatedAt, Took: end.Sub(c.CreatedAt),
		Route: calls.Route{AgentID: c.AgentID, Caller: c.Publisher, Surface: c.Payload.Protocol, Tool: cmp.Or(c.Payload.Tool, c.Payload.Method)},
	}
}

// show is what was said, as far as a page shows it.
func show(text string, data json.RawMessage) (s said) {
	var cutText, cutData bool
	s.Text, cutText = safetext.Text(text, maxShown)
	s.Data, cutData = safetext.JSON(data, maxShown)
	s.Cut = cutText || cutData
	return s
}
