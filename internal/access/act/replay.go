package act

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/files"
	"github.com/beeos/beeos/internal/engine/invoke"
	"github.com/beeos/beeos/internal/engine/sight"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/store/audit"
	"github.com/beeos/beeos/internal/wire/schema"
)

// Replay is a call that is to be made again: all as it was, but for what is set.
type Replay struct {
	Call      string          // the request
	AgentID   string          // whom to ask instead
	Text      *string         // what to say instead
	Arguments json.RawMessage // the tool's, instead
	Model     string          // to answer with instead
	Prompt    *string         // instead of a built-in agent's own
	AtStep    int             // from which on a built-in agent asks its model again; 0 = from the beginning
	Confirm   bool            // although it may change things
	Key       string          // idempotency key
}

// Replayed is a call that was made again.
type Replayed struct {
	invoke.Sent
	AgentID string
}

const (
	replaySurface = "replay"       // so that lists can leave them out, and agents can tell
	replayLife    = 24 * time.Hour // as a task's: somebody may have to approve something
)

// ReplayCall makes a call again, for who may look into it and may call the agent
// that is asked. It is a request like any other: it counts against the quota, and
// tools that need approval need it again.
//
// Its caller is whoever replays it, and never who made the call first: an agent
// does for its caller what that person may have done, and to speak in somebody
// else's name would be to take their rights.
func (a *Acts) ReplayCall(ctx context.Context, c beeos.Caller, r Replay) (Replayed, error) {
	if err := r.checkSize(); err != nil {
		return Replayed{}, err
	}
	call, err := a.findCall(ctx, c, r.Call)
	if err != nil {
		return Replayed{}, err
	}
	if call.MetadataOnly {
		return Replayed{}, beeos.Errorf(beeos.Forbidden, "what was said in this call is kept from the agent's owner (metadata only), so only who made it can make it again; replay one of your own")
	}
	if call.Done == nil {
		return Replayed{}, beeos.Errorf(beeos.Conflict, "the call is still under way; replay it when it has ended")
	}
	if r.AgentID == "" {
		r.AgentID = call.AgentID
	}
	target, err := a.Invoke.Agent(ctx, r.AgentID)
	switch {
	case err != nil && beeos.CodeOf(err) != beeos.AgentNotFound:
		return Replayed{}, err
	case err != nil || !c.MayReach(target):
		return Replayed{}, beeos.Errorf(beeos.AgentNotFound, "there is no agent %q that you may call; name another one to replay the call against", r.AgentID)
	}
	req, err := a.replayRequest(ctx, c, &call, target, &r)
	if err != nil {
		return Replayed{}, err
	}
	if why := whatMayChange(&call, target, r.AtStep); why != "" && !r.Confirm {
		return Replayed{}, beeos.Errorf(beeos.ConfirmationRequired, "%s, and would perhaps be done a second time; replay the call with confirm if it may be", why)
	}
	sent, err := a.Invoke.Submit(ctx, req)
	if err != nil {
		return Replayed{}, err
	}
	if !sent.Replayed {
		a.record(ctx, c, c.UserID, audit.CallReplay, call.ID, map[string]string{"replay": sent.Message.ID, "agent": target.ID})
	}
	return Replayed{sent, target.ID}, nil
}

// checkSize refuses what is too long for what it is.
func (r *Replay) checkSize() error {
	if utf8.RuneCountInString(r.Model) > maxModelName || beeos.Visible(r.Model) != r.Model {
		return beeos.Errorf(beeos.InvalidParam, "a model's name may have at most %d printable characters", maxModelName)
	}
	if r.Prompt != nil {
		return builtin.CheckPrompt(*r.Prompt)
	}
	return nil
}

// replayRequest is the call as it is made again.
func (a *Acts) replayRequest(ctx context.Context, c beeos.Caller, call *sight.Call, target *beeos.Agent, r *Replay) (req invoke.Request, err error) {
	was := &call.Payload
	req = invoke.Request{
		Caller: c, Agent: target, Surface: replaySurface, Kind: beeos.KindTask, KeepOpen: was.Method == "", Deadline: a.Now().Add(replayLife),
		Body: call.Body, FilesOf: call.Publisher, ReplayOf: call.ID, IdempotencyKey: r.Key,
		Call: beeos.Call{
			Method: was.Method, Tool: was.Tool, Arguments: was.Arguments, Params: was.Params,
			Metadata: invoke.OwnMetadata(was.Metadata), Input: was.Input, State: was.State,
		},
	}
	if req.Parts, req.Attachments, err = splitAttachments(call.Parts, was.Attachments); err != nil {
		return req, err
	}
	if err := a.restoreSecrets(ctx, call, r); err != nil {
		return req, err
	}
	if err := editInput(&req, r); err != nil {
		return req, err
	}
	if err := a.checkTool(&req); err != nil {
		return req, err
	}
	if err := a.chooseModel(ctx, c, call, r, &req); err != nil {
		return req, err
	}
	req.Past, err = a.pastOf(ctx, c, call, target)
	return req, err
}

// splitAttachments takes the files that were attached out of the parts of a
// request: the links to them have run out, and new ones are added.
func splitAttachments(parts, list json.RawMessage) (json.RawMessage, []files.Attachment, error) {
	if len(list) == 0 {
		return parts, nil, nil
	}
	var attached []files.Attachment
	var all []json.RawMessage
	if err := json.Unmarshal(list, &attached); err != nil {
		return nil, nil, fmt.Errorf("read the attachments of a call: %w", err)
	}
	if len(parts) > 0 {
		if err := json.Unmarshal(parts, &all); err != nil {
			return nil, nil, fmt.Errorf("read the parts of a call: %w", err)
		}
	}
	all = slices.DeleteFunc(all, func(raw json.RawMessage) bool {
		var p beeos.FilePart
		return json.Unmarshal(raw, &p) == nil && p.Type == beeos.PartFile &&
			slices.ContainsFunc(attached, func(f files.Attachment) bool { return f.FileID == p.FileID })
	})
	if len(all) == 0 {
		return nil, attached, nil
	}
	rest, err := json.Marshal(all)
	return rest, attached, err
}

// editInput puts into the request what is said instead.
func editInput(req *invoke.Request, r *Replay) error {
	tool := req.Call.Method == "tools/call"
	if r.Text != nil {
		if req.Call.Method != "" {
			return beeos.Errorf(beeos.InvalidParam, "the call has no text: it is %s %s; give other arguments", req.Call.Method, req.Call.Tool)
		}
		if strings.TrimSpace(*r.Text) == "" {
			return beeos.Errorf(beeos.InvalidParam, "the text is empty; leave it out to say the same again")
		}
		req.Body = *r.Text
	}
	if len(r.Arguments) > 0 {
		if !tool {
			return beeos.Errorf(beeos.InvalidParam, "the call has no arguments: it is not one of a tool; give another text")
		}
		if !strings.HasPrefix(strings.TrimSpace(string(r.Arguments)), "{") {
			return beeos.Errorf(beeos.InvalidParam, "arguments must be an object")
		}
		req.Call.Arguments = r.Arguments
	}
	return nil
}

// checkTool refuses a tool that the agent does not have, and arguments that it
// does not take.
func (a *Acts) checkTool(req *invoke.Request) error {
	if req.Call.Method != "tools/call" {
		return nil
	}
	skill := findSkill(req.Agent, req.Call.Tool)
	if skill == nil || !skill.Exposed() {
		return beeos.Errorf(beeos.Conflict, "agent %q has no tool %q; replay the call against an agent that has", req.Agent.Name, req.Call.Tool)
	}
	if len(skill.InputSchema) == 0 {
		return nil
	}
	arguments := req.Call.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	req.Check = func() error {
		if err := schema.CheckArguments(skill.InputSchema, arguments); err != nil {
			return beeos.Errorf(beeos.InvalidParam, "the arguments do not fit the tool %s of agent %q: %s; edit them", skill.Name, req.Agent.Name, err)
		}
		return nil
	}
	return nil
}

func findSkill(agent *beeos.Agent, name string) *beeos.Skill {
	skills := agent.Definition.Skills
	if i := slices.IndexFunc(skills, func(s beeos.Skill) bool { return s.Name == name }); i >= 0 {
		return &skills[i]
	}
	return nil
}

// chooseModel settles with which model and prompt the agent answers. The owner of
// a built-in agent may try any model that the server has, and another prompt;
// everybody else what the agent lets its callers choose.
func (a *Acts) chooseModel(ctx context.Context, c beeos.Caller, call *sight.Call, r *Replay, req *invoke.Request) error {
	_, built, err := a.BuiltinOf(ctx, req.Agent)
	if err != nil {
		return err
	}
	mayTry := built && owns(c, req.Agent.OwnerID)
	var trial beeos.Trial
	if call.Payload.Trial != nil && mayTry && req.Agent.ID == call.AgentID {
		trial = *call.Payload.Trial
	}
	if r.Prompt != nil {
		if !mayTry {
			return beeos.Errorf(beeos.Conflict, "another prompt can be tried with a built-in agent of yours alone; agent %q has its own", req.Agent.Name)
		}
		trial.Prompt = r.Prompt
	}
	switch {
	case r.Model != "" && mayTry:
		if err := a.checkTrialModel(ctx, r.Model); err != nil {
			return err
		}
		trial.Model = r.Model
	case r.Model != "":
		if err := a.CheckModel(ctx, req.Agent, r.Model); err != nil {
			return err
		}
		req.Call.Model = r.Model
	case call.Payload.Model != "" && a.CheckModel(ctx, req.Agent, call.Payload.Model) == nil:
		req.Call.Model = call.Payload.Model // another agent may not know it
	}
	if err := a.chooseStep(ctx, call, req.Agent, r, mayTry, &trial); err != nil {
		return err
	}
	if trial != (beeos.Trial{}) {
		req.Call.Trial = &trial
	}
	return nil
}

// checkTrialModel says why a built-in agent could not answer with a model.
func (a *Acts) checkTrialModel(ctx context.Context, model string) error {
	if a.Builtins == nil {
		return errElsewhere
	}
	known, err := a.Builtins.Models(ctx)
	if err != nil || !llm.Lacks(known, model) {
		return nil //nolint:nilerr // not every service has a list; then the call finds out
	}
	return beeos.Errorf(beeos.InvalidParam, "there is no model %q; choose one of %s", model, strings.Join(known[:min(len(known), 20)], ", "))
}

// pastOf is what was said before a message of a conversation, which an agent of
// the caller's finds again. A tool has all that it needs in its arguments; and
// what has been cleared away since is not told again.
func (a *Acts) pastOf(ctx context.Context, c beeos.Caller, call *sight.Call, target *beeos.Agent) (invoke.Past, error) {
	if call.Payload.Method != "" || call.Offset <= 1 || !owns(c, target.OwnerID) {
		return invoke.Past{}, nil
	}
	ch, err := a.Ledger.Channel(ctx, call.Channel)
	return invoke.Past{Channel: call.Channel, After: ch.Cleared, Before: call.Offset}, err
}

// whatMayChange says what of a call, made again from a step on, could change
// things; empty = nothing, as far as the agent and its tools say.
func whatMayChange(call *sight.Call, target *beeos.Agent, from int) string {
	switch call.Payload.Method {
	case "tools/call":
		if skill := findSkill(target, call.Payload.Tool); skill == nil || !beeos.IsReadOnly(skill.Annotations) {
			return fmt.Sprintf("tool %q of agent %q may change things", call.Payload.Tool, target.Name)
		}
		return ""
	case "":
	default:
		return "" // the other methods of MCP read
	}
	for _, s := range stepsFrom(call.Steps, from) {
		if s.Kind != beeos.StepTool || s.Attributes[beeos.StepReadOnly] == "true" {
			continue
		}
		if skill := findSkill(target, s.Name); skill == nil || !beeos.IsReadOnly(skill.Annotations) {
			return fmt.Sprintf("for this answer the agent used %q, which may change things", beeos.Shorten(s.Name, 64))
		}
	}
	for _, skill := range target.Definition.Skills {
		if !beeos.IsReadOnly(skill.Annotations) {
			return fmt.Sprintf("agent %q has tools that may change things, such as %q", target.Name, skill.Name)
		}
	}
	return ""
}
