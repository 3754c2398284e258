package acp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/internal/outward/bridge/upstream"
)

// askPermission has a person decide about a tool call, unless it would leave the
// folder: then nobody is asked. A yes is for this one call: what the program would
// keep as a rule of its own ("always") is never chosen, since rules are the owner's,
// and stay with the agent.
func (t *turn) askPermission(ctx context.Context, q permissionParams) outcome {
	allow, reject := pickOption(q.Options, "allow_once"), pickOption(q.Options, "reject_once", "reject_always")
	t.mu.Lock()
	var c toolCall
	if known := t.tools[q.Call.ID]; known != nil {
		c = *known
		c.paths = slices.Clone(known.paths)
	}
	t.mu.Unlock()
	c.learn(&q.Call.toolUpdate, q.Call.Content)
	name := upstream.Shorten(cmp.Or(c.said.Name, c.said.ToolKind, "tool"))
	refused := func(why string) outcome {
		t.process.bridge.log.Warn("a tool call is refused without asking anybody", "tool", name, "why", why)
		step := c.step.Step("permission", agent.StepOther)
		if c.step == nil {
			step = t.r.Step(name, agent.StepTool)
		}
		step.End(errors.New("refused without asking anybody: " + why))
		return selected(reject)
	}
	if outside := t.findOutside(&c); outside != nil {
		return refused(outside.Error())
	}
	if allow == nil {
		return refused("the program offers no permission for this call alone, and one for more is not given here; make a rule for the agent instead")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	err := t.r.Gate(ctx, agent.Approval{Tool: name, Arguments: describeCall(&c, allow)})
	denied, no := errors.AsType[*agent.Denied](err)
	switch {
	case err == nil:
		return selected(allow)
	case no && !denied.Expired:
		return selected(reject)
	case !no && ctx.Err() == nil:
		t.process.bridge.log.Warn("nobody can decide about a tool", "tool", name, "err", err)
	}
	return cancelled
}

// cancelled says that nobody has decided.
var cancelled = outcome{Outcome: "cancelled"}

func selected(o *permissionOption) outcome {
	if o == nil {
		return cancelled
	}
	return outcome{Outcome: "selected", Option: o.ID}
}

// pickOption returns the first option of the first kind that there is.
func pickOption(options []permissionOption, kinds ...string) *permissionOption {
	for _, kind := range kinds {
		for i := range options {
			if options[i].Kind == kind {
				return &options[i]
			}
		}
	}
	return nil
}

// findOutside returns the first path of a tool call that leads out of the folder:
// one that it names, changes, or has among its arguments.
func (t *turn) findOutside(c *toolCall) error {
	f := t.process.bridge.folder
	for _, path := range c.paths {
		if _, err := f.Find(path); err != nil {
			return err
		}
	}
	return f.FindOutside(c.said.Input)
}

// What a person is shown of a tool call, in bytes.
const (
	maxShown     = 128 << 10
	maxShownText = 2 << 10 // of each text, where the whole is more than that
)

// callShown is a tool call as a person decides about it.
type callShown struct {
	Title   string   `json:"title,omitempty"`
	Kind    string   `json:"kind,omitempty"`
	Paths   []string `json:"paths,omitempty"`
	Input   any      `json:"input,omitempty"`
	Changes []change `json:"changes,omitempty"` // where the arguments do not say it
	Meaning string   `json:"if_approved,omitempty"`
}

type change struct {
	Path string `json:"path"`
	Old  any    `json:"old,omitempty"`
	New  any    `json:"new"`
}

// describeCall says what is asked for, and what the program takes a yes for.
func describeCall(c *toolCall, allow *permissionOption) any {
	shown := callShown{Title: c.said.Title, Kind: c.said.ToolKind, Paths: c.paths, Meaning: allow.Name}
	if len(c.said.Input) > 0 && string(c.said.Input) != "{}" {
		shown.Input = c.said.Input
	} else {
		for _, one := range c.content {
			if one.Type == "diff" {
				d := change{Path: one.Path, New: one.New}
				if one.Old != nil {
					d.Old = *one.Old
				}
				shown.Changes = append(shown.Changes, d)
			}
		}
	}
	raw, err := beeos.EncodeJSON(shown)
	if err != nil || len(raw) <= maxShown {
		return shown
	}
	var whole any
	_ = json.Unmarshal(raw, &whole) // it was written above
	return shortenTexts(whole, new(int))
}

// shortenTexts cuts long texts, and says what was cut, so that a yes is for the
// whole. It stops at some number of values: what has more of them is cut there.
func shortenTexts(v any, seen *int) any {
	if *seen++; *seen > 1000 {
		return "…"
	}
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = shortenTexts(inner, seen)
		}
	case []any:
		for i, inner := range v {
			if *seen > 1000 {
				return append(v[:i], "…")
			}
			v[i] = shortenTexts(inner, seen)
		}
	case string:
		if len(v) > maxShownText {
			return fmt.Sprintf("%s (cut; %d bytes, SHA-256 %x)", beeos.Shorten(v, maxShownText), len(v), sha256.Sum256([]byte(v)))
		}
	}
	return v
}
