package explorer

import (
	"testing"

	"github.com/beeos/beeos"
)

// TestStepsSayWhoDecided: in words, with what the tool was called with apart.
func TestStepsSayWhoDecided(t *testing.T) {
	names := func(principal string) string { return "<" + principal + ">" }
	for want, attributes := range map[string]map[string]string{
		"went ahead by itself; tool, server files": {"approval": "went_by_itself", "server": "files"},
		"approved by <user:u>; tool":               {"approval": "approved", "decided_by": "user:u"},
		"denied by whoever had the link; tool":     {"approval": "denied", "decided_by": "link"},
		"nobody decided in time; tool":             {"approval": "expired", "decided_by": "system"},
		"tool, approval of its own making":         {"approval": "of its own making"},
		"tool":                                     nil,
	} {
		s := beeos.Step{Kind: beeos.StepTool, Attributes: map[string]string{"arguments": "{}"}}
		for name, value := range attributes {
			s.Attributes[name] = value
		}
		if note, given := describeStep(&s, names); note != want || given != "{}" {
			t.Errorf("%q, %q; want %q", note, given, want)
		}
	}
	other := beeos.Step{Kind: beeos.StepOther, Attributes: map[string]string{"arguments": "its own"}}
	if note, given := describeStep(&other, names); note != "other, arguments its own" || given != "" {
		t.Errorf("%q, %q", note, given)
	}
}
