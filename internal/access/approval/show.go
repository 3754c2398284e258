package approval

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/engine/sight/conceal"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/wire/schema"
)

// FormatArguments returns arguments as a person gets to see them: all of them,
// indented, with nothing hidden in them.
func FormatArguments(arguments json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, arguments, "", "  ") != nil {
		return beeos.Visible(string(arguments))
	}
	return beeos.Visible(b.String())
}

// Conceal masks what is secret of tool calls, in place: whoever decides sees that
// there is a secret, and not which. Whatever is shown of an approval passes here.
func (s *Approvals) Conceal(ctx context.Context, list ...approvals.Approval) []approvals.Approval {
	if err := (&conceal.Reader{Agents: s.Agents, Builtins: s.Tools}).Approvals(ctx, list); err != nil {
		s.Log.Error("approvals are shown without their arguments", "err", err)
		for i := range list {
			list[i].Arguments, list[i].Hash = schema.Secrets{}.Mask(list[i].Arguments), nil
		}
	}
	return list
}

// ToolName returns the tool as people read it, with its skill in front.
func ToolName(a *approvals.Approval) string {
	if a.Skill == "" {
		return beeos.Visible(a.Tool)
	}
	return beeos.Visible(a.Skill + " / " + a.Tool)
}
