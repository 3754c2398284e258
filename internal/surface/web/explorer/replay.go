package explorer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/sight"
	"github.com/beeos/beeos/internal/outward/builtin"
	agentstore "github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/web/page"
	"github.com/beeos/beeos/internal/surface/web/safetext"
	"github.com/beeos/beeos/internal/wire/schema"
)

// replayForm is how a call is made again.
type replayForm struct {
	Key     string        // so that it is made once, however often it is sent
	Agents  []page.Choice // that can be asked
	Label   string        // what Input is; empty = it cannot be edited here
	Input   string
	Masked  bool // some of Input is not shown
	Confirm bool

	Models  bool   // one of the agents answers with another model if it is told to
	Prompts bool   // one of them with another prompt
	Model   string // to answer with; empty = as the call was
	Prompt  string
	Steps   []page.Choice // at which a built-in agent's answer can be taken up; none = only from the beginning
	Tried   bool          // something else than before was asked for
}

// newReplayForm is the form as it is first shown, or, after something was wrong
// with it, as it was sent.
func (e *Explorer) newReplayForm(r *page.Request, c *sight.Call) (*replayForm, error) {
	f := &replayForm{Key: beeos.NewID()}
	f.Label, f.Input = editableInput(c)
	f.Masked = strings.Contains(string(c.Payload.Arguments), schema.Mask)
	owned, _, err := e.Options.Agents.List(r.Context(), agentstore.Filter{OwnerID: r.User.ID, Limit: maxChoice})
	if err != nil {
		return nil, err
	}
	prompts, err := e.listPrompts(r)
	if err != nil {
		return nil, err
	}
	for _, a := range owned {
		hasTool := func(s beeos.Skill) bool { return s.Name == c.Payload.Tool && s.Exposed() }
		if a.ID == c.AgentID || c.Payload.Tool == "" || slices.ContainsFunc(a.Definition.Skills, hasTool) {
			f.Agents = append(f.Agents, page.Choice{Value: a.ID, Text: page.AgentTitle(a)})
			f.offerTrial(a, prompts)
		}
		if own, built := prompts[a.InstanceID]; a.ID == c.AgentID {
			f.Prompt = currentPrompt(c, own)
			if built {
				if f.Steps, err = e.listSteps(r, c); err != nil {
					return nil, err
				}
			}
		}
	}
	slices.SortFunc(f.Agents, func(a, b page.Choice) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.Text), strings.ToLower(b.Text)), strings.Compare(a.Value, b.Value))
	})
	asked := c.AgentID
	if sent := r.PostForm; len(sent) > 0 {
		asked, f.Confirm = cmp.Or(sent.Get("agent"), asked), sent.Get("confirm") != ""
		if f.Label != "" {
			f.Input = sent.Get("input")
		}
		f.Model, f.Tried = sent.Get("model"), sent.Get("model") != ""
		if prompt := unixLines(sent.Get("prompt")); sent.Has("prompt") && prompt != f.Prompt {
			f.Prompt, f.Tried = prompt, true
		}
		if step := sent.Get("step"); step != "" {
			f.Steps, f.Tried = pick(f.Steps, step), true
		}
	}
	f.Agents = pick(f.Agents, asked)
	return f, nil
}

// listSteps returns at which steps the answer of a built-in agent can be taken up:
// where it asked its model again, as far as it is known what had been done before.
func (e *Explorer) listSteps(r *page.Request, c *sight.Call) (steps []page.Choice, err error) {
	known, err := e.Builtins.LastStep(r.Context(), c.ID)
	if err != nil || known == 0 {
		return nil, err
	}
	asked, after := 0, ""
	for i := range c.Steps {
		if s := &c.Steps[i]; s.Kind == beeos.StepTool {
			after = s.Name
		} else if s.Kind == beeos.StepModel {
			if asked++; asked > 1 && asked <= known+1 {
				steps = append(steps, page.Choice{Value: strconv.Itoa(asked), Text: fmt.Sprintf("step %d, after %s", asked, safetext.Line(after, 60))})
			}
		}
	}
	return steps, nil
}

// listPrompts returns the prompts of the visitor's built-in agents, by instance.
func (e *Explorer) listPrompts(r *page.Request) (map[string]string, error) {
	made, err := e.Builtins.List(r.Context(), r.User.ID)
	if err != nil {
		return nil, err
	}
	prompts := map[string]string{}
	for _, row := range made {
		d, err := builtin.ReadDefinition(row)
		if err != nil {
			return nil, err
		}
		prompts[row.ID] = d.Prompt
	}
	return prompts, nil
}

// offerTrial notes what an agent can be told to answer with. What it may use is
// decided when the call is made.
func (f *replayForm) offerTrial(a *beeos.Agent, prompts map[string]string) {
	var declared struct {
		ModelsSet bool `json:"modelsSet"`
	}
	if _, ok := prompts[a.InstanceID]; ok {
		f.Models, f.Prompts = true, true
	} else if json.Unmarshal(a.Definition.Capabilities, &declared) == nil && declared.ModelsSet {
		f.Models = true
	}
}

// currentPrompt is what a built-in agent was told for a call: its own prompt, or
// one that was tried.
func currentPrompt(c *sight.Call, own string) string {
	if t := c.Payload.Trial; t != nil && t.Prompt != nil {
		own = *t.Prompt
	}
	return unixLines(own)
}

// editableInput is the input of a call as people edit it: its text, or the
// arguments of its tool. What a page does not show whole is not edited there.
func editableInput(c *sight.Call) (label, input string) {
	var b bytes.Buffer
	switch {
	case c.Payload.Method == "" && c.Body != "" && len(c.Body) <= maxShown:
		return "Text", c.Body
	case c.Payload.Method == "tools/call" && len(c.Payload.Arguments) <= maxShown && json.Indent(&b, c.Payload.Arguments, "", "  ") == nil:
		return "Arguments", b.String()
	}
	return "", ""
}

// replayCall makes a call again, and leads to where both answers are compared.
func (e *Explorer) replayCall(r *page.Request) (page.Answer, error) {
	c, err := e.Acts.Call(r.Context(), r.Caller(), r.PathValue("call"))
	if err != nil {
		return nil, err
	}
	order := act.Replay{Call: c.ID, AgentID: r.PostForm.Get("agent"), Confirm: r.PostForm.Get("confirm") != "", Key: r.PostForm.Get("key")}
	label, was := editableInput(&c)
	input := unixLines(r.PostForm.Get("input"))
	switch {
	case label == "" || !r.PostForm.Has("input") || input == unixLines(was):
	case label == "Text":
		order.Text = &input
	case !json.Valid([]byte(input)):
		return nil, beeos.Errorf(beeos.InvalidParam, "the arguments are not JSON; correct them and send the form again")
	default:
		order.Arguments = json.RawMessage(input)
	}
	if err := e.readTrial(r, &c, &order); err != nil {
		return nil, err
	}
	made, err := e.Acts.ReplayCall(r.Context(), r.Caller(), order)
	if beeos.CodeOf(err) == beeos.ConfirmationRequired {
		problem, _, _ := strings.Cut(beeos.Public(err).Message, ";")
		err = beeos.Errorf(beeos.ConfirmationRequired, "%s; tick the box if it may be, and send the form again", problem)
	}
	if err != nil {
		return nil, err
	}
	return page.Redirect("/calls/"+c.ID+"/compare/"+made.Message.ID, ""), nil
}

// readTrial takes the model, the prompt and the step from the form. A prompt that is left as
// it was shown is not another one.
func (e *Explorer) readTrial(r *page.Request, c *sight.Call, order *act.Replay) error {
	order.Model = strings.TrimSpace(r.PostForm.Get("model"))
	if step := r.PostForm.Get("step"); step != "" {
		at, err := strconv.Atoi(step)
		if err != nil {
			return beeos.Errorf(beeos.InvalidParam, "%q is no step of the call; choose one from the list", beeos.Shorten(step, 20))
		}
		order.AtStep = at
	}
	if !r.PostForm.Has("prompt") {
		return nil
	}
	prompts, err := e.listPrompts(r)
	if err != nil {
		return err
	}
	own := ""
	switch agent, err := e.Options.Agents.Get(r.Context(), c.AgentID); {
	case err == nil:
		own = prompts[agent.InstanceID]
	case beeos.CodeOf(err) != beeos.AgentNotFound:
		return err
	}
	if prompt := unixLines(r.PostForm.Get("prompt")); prompt != currentPrompt(c, own) {
		order.Prompt = &prompt
	}
	return nil
}

// unixLines undoes what browsers do to the ends of lines.
func unixLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
