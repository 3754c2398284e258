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
	Tools       []policyTool `json:"tools"`
}

// policyTool is the word about one tool; without a tool, about all of a skill.
type policyTool struct {
	Skill       string `json:"skill,omitempty"`
	Tool        string `json:"tool,omitempty"`
	AutoApprove *bool  `json:"auto_approve"`
	Version     string `json:"policy_version,omitempty"`
}

// ownAgent returns the agent of the path if it is the caller's own.
func (s *Surface) ownAgent(r *route.Request) (*beeos.Agent, error) {
	return s.opt.Acts.OwnAgent(r.Context(), r.Caller, r.PathValue("agentId"))
}

func (s *Surface) getPolicy(r *route.Request, a *beeos.Agent) (any, error) {
	rules, err := s.opt.DB.Approvals.ListRules(r.Context(), a.ID)
	v := policyView{AgentID: a.ID, Timeout: int64(approval.Timeout / time.Second), Tools: []policyTool{}}
	for _, rule := range rules {
		if rule.Skill != "" || rule.Tool != "" {
			v.Tools = append(v.Tools, policyTool{rule.Skill, rule.Tool, autoFromMode(rule.Mode), rule.Version})
			continue
		}
		v.AutoApprove = autoFromMode(rule.Mode)
		if rule.Timeout > 0 {
			v.Timeout = int64(rule.Timeout / time.Second)
		}
	}
	return v, err
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
	var auto, timeout json.RawMessage
	var tools []json.RawMessage
	err = r.ReadSettings(route.Strict, route.Shape{"auto_approve": &auto, "timeout_seconds": &timeout, "tools": &tools})
	if err != nil {
		return nil, err
	}
	if auto == nil && timeout == nil && len(tools) == 0 {
		return nil, beeos.Errorf(beeos.InvalidBody, "nothing to change: give auto_approve, timeout_seconds or tools")
	}
	if auto != nil || timeout != nil {
		own, err := s.findAgentRule(r, agentID)
		if err == nil {
			err = changeRule(&own, auto, timeout)
		}
		if err != nil {
			return nil, err
		}
		rules = append(rules, own)
	}
	for _, raw := range tools {
		var t policyTool
		if err := (route.Shape{"skill": &t.Skill, "tool": &t.Tool, "auto_approve": &t.AutoApprove}).Decode(raw, route.Strict); err != nil {
			return nil, err
		}
		if t.Skill == "" && t.Tool == "" {
			return nil, beeos.Errorf(beeos.MissingParam, "each of tools needs a tool, or a skill for all tools of it")
		}
		rules = append(rules, approvals.Rule{Skill: t.Skill, Tool: t.Tool, Mode: modeFromAuto(t.AutoApprove)})
	}
	return rules, nil
}

// findAgentRule returns the word about the agent as it stands.
func (s *Surface) findAgentRule(r *route.Request, agentID string) (approvals.Rule, error) {
	rules, err := s.opt.DB.Approvals.ListRules(r.Context(), agentID)
	for _, rule := range rules {
		if rule.Skill == "" && rule.Tool == "" {
			return rule, err
		}
	}
	return approvals.Rule{}, err
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
