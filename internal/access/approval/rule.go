package approval

import (
	"context"
	"encoding/json"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/store"
)

// rule is what counts for one tool.
type rule struct {
	auto    bool
	version string
	timeout time.Duration
}

// byDefault is the version of what counts without a rule of the owner's.
const byDefault = "default"

// rule finds what counts for a question: the owner's word about the tool, about
// its skill, about the agent; and without any, the agent's own. A tool that
// the agent declares destructive is asked about even when the agent says that
// it need not be.
func (d *Desk) rule(ctx context.Context, ask *Ask) (rule, error) {
	rules, err := d.DB.ApprovalRules(ctx, ask.Agent.ID)
	if err != nil {
		return rule{}, err
	}
	r := rule{auto: ask.Auto && !Destructive(ask.Agent, ask.Tool), version: byDefault, timeout: Timeout}
	best := -1
	for _, own := range rules {
		if own.Skill == "" && own.Tool == "" && own.Timeout > 0 {
			r.timeout = own.Timeout
		}
		if n := closeness(&own, ask.Skill, ask.Tool); own.Mode != store.ApprovalUnset && n > best {
			best = n
			r.auto, r.version = own.Mode == store.ApprovalAuto, own.Version
		}
	}
	return r, nil
}

// closeness is how closely a rule is about a tool; -1 = not at all.
func closeness(r *store.ApprovalRule, skill, tool string) int {
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

// SetRules changes the rules of an agent. Questions that wait under a rule
// that has changed are looked at again, by the new one.
func (d *Desk) SetRules(ctx context.Context, a *beeos.Agent, by beeos.User, rules []store.ApprovalRule) error {
	if len(rules) > maxRules {
		return beeos.Errorf(beeos.InvalidParam, "at most %d rules can be set at once", maxRules)
	}
	for i := range rules {
		r := &rules[i]
		switch {
		case r.Mode != store.ApprovalUnset && r.Mode != store.ApprovalAuto && r.Mode != store.ApprovalAsk:
			return beeos.Errorf(beeos.InvalidParam, "a rule is %q or %q, or empty for none", store.ApprovalAuto, store.ApprovalAsk)
		case r.Timeout != 0 && (r.Timeout < MinTimeout || r.Timeout > MaxTimeout):
			return beeos.Errorf(beeos.InvalidParam, "the time to decide must be from %s to %s", MinTimeout, MaxTimeout)
		case r.Timeout != 0 && (r.Skill != "" || r.Tool != ""):
			return beeos.Errorf(beeos.InvalidParam, "the time to decide is the agent's, not a tool's")
		case len(r.Skill) > maxName || len(r.Tool) > maxName:
			return beeos.Errorf(beeos.InvalidParam, "skill and tool may have at most %d bytes", maxName)
		}
		r.AgentID, r.UpdatedBy, r.UpdatedAt = a.ID, "user:"+by.ID, d.Now()
	}
	if err := d.DB.SetApprovalRules(ctx, rules); err != nil {
		return err
	}
	return d.review(ctx, a)
}

// viaRules marks a question that was withdrawn to be looked at again.
const viaRules = "rules"

// review withdraws the questions about an agent's tools that were asked by
// rules which no longer count.
func (d *Desk) review(ctx context.Context, agent *beeos.Agent) error {
	open := true
	list, err := d.DB.Approvals(ctx, store.ApprovalFilter{OwnerID: agent.OwnerID, Open: &open, Limit: lookAtOnce})
	if err != nil {
		return err
	}
	for _, a := range list {
		if a.AgentID != agent.ID {
			continue
		}
		r, err := d.rule(ctx, &Ask{Agent: agent, Skill: a.Skill, Tool: a.Tool})
		if err != nil {
			return err
		}
		if r.version != a.PolicyVersion {
			v := store.Verdict{ID: a.ID, State: store.ApprovalWithdrawn, By: "system", Via: viaRules, Reason: "the rules changed"}
			if _, err := d.settle(ctx, v); err != nil {
				return err
			}
		}
	}
	return nil
}
