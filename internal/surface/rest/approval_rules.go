package rest

import (
	"encoding/json"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/surface/rest/route"
)

// policyView is what the owner of an agent decided about its tools. What is
// null is left to the agent, which asks unless it says that it need not.
type policyView struct {
	AgentID     string       `json:"agent_id"`
	AutoApprove *bool        `json:"auto_approve"`
	Timeout     int64        `json:"timeout_seconds"`
	Review      *reviewView  `json:"review"`
	Tools       []policyTool `json:"tools"`
}

// policyTool is the word about one tool; without a tool, about all of a skill.
type policyTool struct {
	Skill       string      `json:"skill,omitempty"`
	Tool        string      `json:"tool,omitempty"`
	AutoApprove *bool       `json:"auto_approve"`
	Review      *reviewView `json:"review"`
	Version     string      `json:"policy_version,omitempty"`
}

// reviewView is who decides, by e-mail address; null is the owner.
type reviewView struct {
	Reviewers []string `json:"reviewers"`
	Second    []string `json:"second_reviewers"`
	Needed    int      `json:"votes_needed"`
	Only      bool     `json:"only_reviewers"`
	NotCaller bool     `json:"not_caller"`
}

func (s *Surface) viewReview(r *route.Request, rule *approvals.Rule) (*reviewView, error) {
	named, err := s.opt.Acts.NameReview(r.Context(), rule.Review)
	if err != nil || named == nil {
		return nil, err
	}
	return &reviewView{append([]string{}, named.Reviewers...), append([]string{}, named.Second...), max(named.Need, 1), named.Only, named.NotCaller}, nil
}

// readReview reads who is to decide: nothing, to leave that as it is; null, for the
// owner; or people.
func readReview(raw json.RawMessage) (*approvals.Review, error) {
	if raw == nil {
		return nil, nil
	}
	r := &approvals.Review{}
	if string(raw) == "null" {
		return r, nil
	}
	err := (route.Shape{
		"reviewers": &r.Reviewers, "second_reviewers": &r.Second, "votes_needed": &r.Need, "only_reviewers": &r.Only, "not_caller": &r.NotCaller,
	}).Decode(raw, route.Strict)
	return r, err
}

// ownAgent returns the agent of the path if it is the caller's own.
func (s *Surface) ownAgent(r *route.Request) (*beeos.Agent, error) {
	return s.opt.Acts.OwnAgent(r.Context(), r.Caller, r.PathValue("agentId"))
}

func (s *Surface) getPolicy(r *route.Request, a *beeos.Agent) (any, error) {
	rules, err := s.opt.DB.Approvals.ListRules(r.Context(), a.ID)
	v := policyView{AgentID: a.ID, Timeout: int64(approval.Timeout / time.Second), Tools: []policyTool{}}
	if err != nil {
		return nil, err
	}
	for _, rule := range rules {
		review, err := s.viewReview(r, &rule)
		if err != nil {
			return nil, err
		}
		if rule.Skill != "" || rule.Tool != "" {
			v.Tools = append(v.Tools, policyTool{rule.Skill, rule.Tool, autoFromMode(rule.Mode), review, rule.Version})
			continue
		}
		v.AutoApprove, v.Review = autoFromMode(rule.Mode), review
		if rule.Timeout > 0 {
			v.Timeout = int64(rule.Timeout / time.Second)
		}
	}
	return v, nil
}

func autoFromMode(m approvals.Mode) *bool {
	if m == approvals.ModeUnset {
		return nil
	}
	auto := m == approvals.ModeAuto
	return &auto
}

func modeFromAuto(auto *bool) approvals.Mode {
	switch {
	case auto == nil:
		return approvals.ModeUnset
	case *auto:
		return approvals.ModeAuto
	}
	return approvals.ModeAsk
}

// patchPolicy changes what it names and leaves the rest; null takes a word
// back.
func (s *Surface) patchPolicy(r *route.Request, a *beeos.Agent) (any, error) {
	rules, err := s.readPolicy(r, a.ID)
	if err != nil {
		return nil, err
	}
	if err := s.opt.Acts.SetRules(r.Context(), r.Caller, a.ID, rules); err != nil {
		return nil, err
	}
	return s.getPolicy(r, a)
}

func (s *Surface) readPolicy(r *route.Request, agentID string) (rules []approvals.Rule, err error) {
	var auto, timeout, review json.RawMessage
	var tools []json.RawMessage
	err = r.ReadSettings(route.Strict, route.Shape{"auto_approve": &auto, "timeout_seconds": &timeout, "review": &review, "tools": &tools})
	if err != nil {
		return nil, err
	}
	if auto == nil && timeout == nil && review == nil && len(tools) == 0 {
		return nil, beeos.Errorf(beeos.InvalidBody, "nothing to change: give auto_approve, timeout_seconds, review or tools")
	}
	known, err := s.opt.DB.Approvals.ListRules(r.Context(), agentID)
	if err != nil {
		return nil, err
	}
	if auto != nil || timeout != nil || review != nil {
		own := findKnown(known, "", "")
		if err = changeRule(&own, auto, timeout); err == nil {
			own.Review, err = readReview(review)
		}
		if err != nil {
			return nil, err
		}
		rules = append(rules, own)
	}
	for _, raw := range tools {
		rule, err := readToolRule(raw, known)
		if err != nil {
			return nil, err
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// readToolRule reads the word about one tool. Who only says who decides leaves the rest
// as it is.
func readToolRule(raw json.RawMessage, known []approvals.Rule) (approvals.Rule, error) {
	var t policyTool
	var auto, review json.RawMessage
	if err := (route.Shape{"skill": &t.Skill, "tool": &t.Tool, "auto_approve": &auto, "review": &review}).Decode(raw, route.Strict); err != nil {
		return approvals.Rule{}, err
	}
	if t.Skill == "" && t.Tool == "" {
		return approvals.Rule{}, beeos.Errorf(beeos.MissingParam, "each of tools needs a tool, or a skill for all tools of it")
	}
	rule := approvals.Rule{Skill: t.Skill, Tool: t.Tool}
	if auto == nil && review != nil {
		rule.Mode = findKnown(known, t.Skill, t.Tool).Mode
	}
	err := changeRule(&rule, auto, nil)
	if err == nil {
		rule.Review, err = readReview(review)
	}
	return rule, err
}

// findKnown returns the word about a tool, a skill or the agent as it stands.
func findKnown(known []approvals.Rule, skill, tool string) approvals.Rule {
	for _, rule := range known {
		if rule.Skill == skill && rule.Tool == tool {
			return rule
		}
	}
	return approvals.Rule{Skill: skill, Tool: tool}
}

// changeRule takes the members that were given, of which each may be null.
func changeRule(rule *approvals.Rule, auto, timeout json.RawMessage) error {
	if auto != nil {
		var yes *bool
		if json.Unmarshal(auto, &yes) != nil {
			return beeos.Errorf(beeos.InvalidBody, "auto_approve must be true, false or null")
		}
		rule.Mode = modeFromAuto(yes)
	}
	if timeout != nil {
		var seconds int64
		least, most := int64(approval.MinTimeout/time.Second), int64(approval.MaxTimeout/time.Second)
		if json.Unmarshal(timeout, &seconds) != nil || seconds < 0 || seconds > most {
			return beeos.Errorf(beeos.InvalidParam, "timeout_seconds must be from %d to %d, or null for the default", least, most)
		}
		rule.Timeout = time.Duration(seconds) * time.Second
	}
	return nil
}
