package approval

import (
	"context"
	"encoding/json"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store/approvals"
)

// rule is what applies to one tool.
type rule struct {
	auto    bool
	version string
	timeout time.Duration
	named   approvals.Rule // the one that says who decides; without a review, the owner does
}

// defaultVersion is the version of what applies without a rule of the owner's.
const defaultVersion = "default"

// findRule finds what applies to a call: the owner's word about the tool, else
// about its skill, else about the agent; without any, the agent's own. A tool
// that the agent declares destructive is asked about even when the agent says
// that it need not be.
func (s *Approvals) findRule(ctx context.Context, call *ToolCall) (rule, error) {
	rules, err := s.Table.ListRules(ctx, call.Agent.ID)
	if err != nil {
		return rule{}, err
	}
	r := rule{auto: call.Auto && !Destructive(call.Agent, call.Tool), version: defaultVersion, timeout: Timeout}
	best, closest := -1, -1
	for _, own := range rules {
		if own.Skill == "" && own.Tool == "" && own.Timeout > 0 {
			r.timeout = own.Timeout
		}
		n := specificity(&own, call.Skill, call.Tool)
		if own.Mode != approvals.ModeUnset && n > best {
			best = n
			r.auto, r.version = own.Mode == approvals.ModeAuto, own.Version
		}
		if own.Review != nil && n > closest {
			closest, r.named = n, own
		}
	}
	if r.named.Review != nil && r.named.Version != r.version {
		r.version += "." + r.named.Version // what was asked by other reviewers' word is asked again
	}
	return r, nil
}

// specificity is how closely a rule fits a tool; -1 = not at all.
func specificity(r *approvals.Rule, skill, tool string) int {
	switch {
	case r.Skill == skill && r.Tool == tool:
		return 2
	case r.Skill == skill && r.Tool == "" && skill != "":
		return 1
	case r.Skill == "" && r.Tool == "":
		return 0
	}
	return -1
}

// Destructive reports whether an agent declares the tool to be so.
func Destructive(a *beeos.Agent, tool string) bool {
	for _, s := range a.Definition.Skills {
		if s.Name != tool {
			continue
		}
		var hints struct {
			Destructive bool `json:"destructiveHint"`
		}
		return len(s.Annotations) > 0 && json.Unmarshal(s.Annotations, &hints) == nil && hints.Destructive
	}
	return false
}

// Bounds of how long a person may be given.
const (
	MinTimeout = 10 * time.Second
	MaxTimeout = 55 * time.Minute // a turn ends after an hour
)

// maxRules bounds what one change may set.
const maxRules = 1000

// SetRules changes the rules of an agent. Calls that wait under a rule that has
// changed are judged again by the new one.
func (s *Approvals) SetRules(ctx context.Context, a *beeos.Agent, by beeos.User, rules []approvals.Rule) error {
	if len(rules) > maxRules {
		return beeos.Errorf(beeos.InvalidParam, "at most %d rules can be set at once", maxRules)
	}
	for i := range rules {
		r := &rules[i]
		switch {
		case r.Mode != approvals.ModeUnset && r.Mode != approvals.ModeAuto && r.Mode != approvals.ModeAsk:
			return beeos.Errorf(beeos.InvalidParam, "a rule is %q or %q, or empty for none", approvals.ModeAuto, approvals.ModeAsk)
		case r.Timeout != 0 && (r.Timeout < MinTimeout || r.Timeout > MaxTimeout):
			return beeos.Errorf(beeos.InvalidParam, "the time to decide must be from %s to %s", MinTimeout, MaxTimeout)
		case r.Timeout != 0 && (r.Skill != "" || r.Tool != ""):
			return beeos.Errorf(beeos.InvalidParam, "the time to decide is the agent's, not a tool's")
		case len(r.Skill) > maxName || len(r.Tool) > maxName:
			return beeos.Errorf(beeos.InvalidParam, "skill and tool may have at most %d bytes", maxName)
		}
		if err := checkReview(r.Review, a.OwnerID); err != nil {
			return err
		}
		r.AgentID, r.UpdatedBy, r.UpdatedAt = a.ID, "user:"+by.ID, s.Now()
	}
	if err := s.Table.SetRules(ctx, rules); err != nil {
		return err
	}
	return s.withdrawOutdated(ctx, a)
}

// viaRules marks an approval that was withdrawn so that its call is judged
// again.
const viaRules = "rules"

// withdrawOutdated withdraws the approvals of an agent's calls that were asked
// for under rules which no longer apply, and ends grants that were given under such.
func (s *Approvals) withdrawOutdated(ctx context.Context, agent *beeos.Agent) error {
	if err := s.endOutdatedGrants(ctx, agent); err != nil {
		return err
	}
	list, err := s.Table.List(ctx, approvals.Filter{OwnerID: agent.OwnerID, Open: new(true), Limit: batchSize})
	if err != nil {
		return err
	}
	for _, a := range list {
		if a.AgentID != agent.ID {
			continue
		}
		r, err := s.findRule(ctx, &ToolCall{Agent: agent, Skill: a.Skill, Tool: a.Tool})
		if err != nil {
			return err
		}
		if r.version != a.PolicyVersion {
			v := approvals.Verdict{ID: a.ID, State: approvals.Withdrawn, By: "system", Via: viaRules, Reason: "the rules changed"}
			if _, err := s.endUndecided(ctx, v); err != nil {
				return err
			}
		}
	}
	return nil
}
