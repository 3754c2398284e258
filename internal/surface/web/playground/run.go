package playground

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/store/calls"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/internal/wire/schema"
)

// runData is what came of trying a tool.
type runData struct {
	ID            string // of its call
	Stop          string // where it is stopped
	Working       bool
	Outcome, Mood string
	Advice        string // what to do about it, where something went wrong
	Took          time.Duration
	Text, Data    []safetext.Piece
	Cut           bool
	Waits         []page.ApprovalCard // decisions that it waits for
}

// maxShown bounds what the page shows of an answer, in bytes.
const maxShown = 64 << 10

// outcomes say how a run ended, and what to do about it.
var outcomes = map[calls.Outcome]struct{ words, mood, advice string }{
	calls.Working:  {"working", "busy", ""},
	calls.OK:       {"ok", "good", ""},
	calls.Canceled: {"stopped", "good", ""},
	calls.Failed:   {"failed", "bad", "The tool answered with an error. If what it says below is about the arguments, change them and run it again; else look into the agent's log."},
	calls.Refused:  {"refused", "bad", "The agent refused this. What it said is below."},
	calls.Busy:     {"busy", "bad", "The agent takes one request at a time and had one. Run it again when that is done."},
	calls.TimedOut: {"timed out", "bad", "The agent did not answer before the deadline. Its call shows where the time went."},
	calls.Lost:     {"agent lost", "bad", "The agent's program went away while it worked on this. Start it, see why in its log, and run the tool again."},
}

// findRun returns the run that the address names, and what it was called with;
// nil = it names none.
func (p *Playground) findRun(r *page.Request, t tool) (*runData, json.RawMessage, error) {
	id := r.URL.Query().Get("run")
	if id == "" {
		return nil, nil, nil
	}
	c, err := p.Acts.Call(r.Context(), r.Caller(), id)
	if err == nil && (c.AgentID != t.agent.ID || c.Payload.Tool != t.skill.Name) {
		err = beeos.Errorf(beeos.NotFound, "there is no call %q of this tool; look at the agent's calls to see which there are", id)
	}
	if err != nil {
		return nil, nil, err
	}
	said := outcomes[c.Outcome]
	run := &runData{ID: c.ID, Stop: t.path() + "/stop", Working: c.Outcome == calls.Working, Outcome: said.words, Mood: said.mood, Advice: said.advice}
	if m := c.Done; m != nil {
		var cut [2]bool
		run.Took = m.CreatedAt.Sub(c.CreatedAt)
		run.Text, cut[0] = safetext.Text(m.Body, maxShown)
		run.Data, cut[1] = safetext.JSON(m.Payload, maxShown)
		run.Cut = cut[0] || cut[1]
	}
	for _, card := range p.ShowApprovals(r.Context(), r.Visitor, c.Approvals) {
		if card.Open {
			run.Waits = append(run.Waits, card)
		}
	}
	return run, c.Payload.Arguments, nil
}

// runTool calls the tool with what the form says, as the visitor, and leads to
// the page that shows what comes of it.
func (p *Playground) runTool(r *page.Request, t tool) (page.Answer, error) {
	fields, _ := fieldsOf(t.skill.InputSchema)
	args, err := readArguments(fields, r.PostForm)
	if err != nil {
		return nil, err
	}
	if schema.ReadSecrets(t.skill.InputSchema).HasMask(args) {
		return nil, beeos.Errorf(beeos.InvalidParam, "secrets of an earlier call are not shown again; write the secret in place of %s", schema.Mask)
	}
	if !describeTool(t.agent, t.skill).ReadOnly && r.PostFormValue("sure") != "on" {
		return nil, beeos.Errorf(beeos.InvalidParam, "this tool may change things; tick the box above the button to run it all the same")
	}
	key := r.PostFormValue("key")
	if key == "" || len(key) > 100 {
		return nil, beeos.Errorf(beeos.InvalidParam, "the form is incomplete; open the page again")
	}
	sum := sha256.Sum256(args)
	sent, err := p.Calls.Submit(r.Context(), invoke.Request{
		Caller: r.Caller(), Agent: t.agent, Surface: "web", Call: beeos.Call{Method: "tools/call", Tool: t.skill.Name, Arguments: args},
		IdempotencyKey: key + " " + hex.EncodeToString(sum[:16]), Check: func() error { return checkArguments(t.skill, args) },
	})
	if err != nil {
		return nil, err
	}
	to := t.path() + "?run=" + sent.Message.ID
	if r.PostForm.Has("arguments") {
		to += "&as=json"
	}
	return page.Redirect(to+"#run", ""), nil
}

// checkArguments holds arguments to the tool's schema.
func checkArguments(s *beeos.Skill, args json.RawMessage) error {
	if len(s.InputSchema) == 0 {
		return nil
	}
	compiled, err := schema.Compile(s.InputSchema)
	if err != nil {
		return beeos.Errorf(beeos.InvalidParam, "the tool cannot be called: its inputSchema cannot be checked: %s; mend it in the agent", beeos.Shorten(err.Error(), schema.ComplaintSize))
	}
	if err := compiled.Check(args); err != nil {
		return beeos.Errorf(beeos.InvalidParam, "these arguments do not fit the tool: %s", err)
	}
	return nil
}

// stopRun asks the agent to stop.
func (p *Playground) stopRun(r *page.Request, t tool) (page.Answer, error) {
	c, err := p.Acts.Call(r.Context(), r.Caller(), r.PostFormValue("run"))
	if err == nil && c.AgentID == t.agent.ID {
		err = p.Calls.Cancel(r.Context(), c.Channel, c.ID, "stopped in the console")
	}
	return page.Redirect(t.path()+"?run="+c.ID+"#run", ""), err
}
