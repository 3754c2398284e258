package approval

import (
	"bytes"
	"encoding/json"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
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

// ToolName returns the tool as people read it, with its skill in front.
func ToolName(a *approvals.Approval) string {
	if a.Skill == "" {
		return beeos.Visible(a.Tool)
	}
	return beeos.Visible(a.Skill + " / " + a.Tool)
}
