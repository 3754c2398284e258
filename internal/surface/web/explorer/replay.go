package explorer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/act"
	"github.com/beeos/beeos/internal/engine/sight"
	agentstore "github.com/beeos/beeos/internal/store/agents"
	"github.com/beeos/beeos/internal/surface/web/page"
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
	for _, a := range owned {
		hasTool := func(s beeos.Skill) bool { return s.Name == c.Payload.Tool && s.Exposed() }
		if a.ID == c.AgentID || c.Payload.Tool == "" || slices.ContainsFunc(a.Definition.Skills, hasTool) {
			f.Agents = append(f.Agents, page.Choice{Value: a.ID, Text: page.AgentTitle(a)})
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
	}
	f.Agents = pick(f.Agents, asked)
	return f, nil
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
	input := strings.ReplaceAll(r.PostForm.Get("input"), "\r\n", "\n") // as browsers send lines
	switch {
	case label == "" || !r.PostForm.Has("input") || input == strings.ReplaceAll(was, "\r\n", "\n"):
	case label == "Text":
		order.Text = &input
	case !json.Valid([]byte(input)):
		return nil, beeos.Errorf(beeos.InvalidParam, "the arguments are not JSON; correct them and send the form again")
	default:
		order.Arguments = json.RawMessage(input)
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
