package rest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/wire/httpd"
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

func (s *Surface) getPolicy(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, err := s.owned(r, c)
	if err != nil {
		return err
	}
	return s.showPolicy(w, r, a)
}

func (s *Surface) showPolicy(w http.ResponseWriter, r *http.Request, a *beeos.Agent) error {
	rules, err := s.DB.Approvals.ListRules(r.Context(), a.ID)
	if err != nil {
		return err
	}
	v := policyView{AgentID: a.ID, Timeout: int64(approval.Timeout / time.Second), Tools: []policyTool{}}
	for _, rule := range rules {
		if rule.Skill != "" || rule.Tool != "" {
			v.Tools = append(v.Tools, policyTool{rule.Skill, rule.Tool, autoOf(rule.Mode), rule.Version})
			continue
		}
		v.AutoApprove = autoOf(rule.Mode)
		if rule.Timeout > 0 {
			v.Timeout = int64(rule.Timeout / time.Second)
		}
	}
	httpd.WriteData(w, http.StatusOK, v)
	return nil
}

func autoOf(m approvals.Mode) *bool {
	if m == approvals.ModeUnset {
		return nil
	}
	auto := m == approvals.ModeAuto
	return &auto
}

func modeOf(auto *bool) approvals.Mode {
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
func (s *Surface) patchPolicy(w http.ResponseWriter, r *http.Request, c beeos.Caller) error {
	a, err := s.owned(r, c)
	if err != nil {
		return err
	}
	rules, err := s.readPolicy(w, r, a)
	if err != nil {
		return err
	}
	if err := s.Acts.SetRules(r.Context(), c, a.ID, rules); err != nil {
		return err
	}
	return s.showPolicy(w, r, a)
}

func (s *Surface) readPolicy(w http.ResponseWriter, r *http.Request, a *beeos.Agent) ([]approvals.Rule, error) {
	var auto, timeout json.RawMessage
	var tools []json.RawMessage
	err := read(w, r, settingLimit, true, shape{"auto_approve": &auto, "timeout_seconds": &timeout, "tools": &tools})
	if err != nil {
		return nil, err
	}
	if auto == nil && timeout == nil && len(tools) == 0 {
		return nil, beeos.Errorf(beeos.InvalidBody, "nothing to change: give auto_approve, timeout_seconds or tools")
	}
	var rules []approvals.Rule
	if auto != nil || timeout != nil {
		own, err := s.agentRule(r, a)
		if err != nil {
			return nil, err
		}
		if auto != nil {
			var yes *bool
			if json.Unmarshal(auto, &yes) != nil {
				return nil, beeos.Errorf(beeos.InvalidBody, "auto_approve must be true, false or null")
			}
			own.Mode = modeOf(yes)
		}
		if timeout != nil {
			var seconds int64
			if json.Unmarshal(timeout, &seconds) != nil || seconds < 0 || seconds > int64(approval.MaxTimeout/time.Second) {
				return nil, beeos.Errorf(beeos.InvalidParam, "timeout_seconds must be from %d to %d, or null for the default",
					int64(approval.MinTimeout/time.Second), int64(approval.MaxTimeout/time.Second))
			}
			own.Timeout = time.Duration(seconds) * time.Second
		}
		rules = append(rules, own)
	}
	for _, raw := range tools {
		var t policyTool
		if err := (shape{"skill": &t.Skill, "tool": &t.Tool, "auto_approve": &t.AutoApprove}).decode(raw, true); err != nil {
			return nil, err
		}
		if t.Skill == "" && t.Tool == "" {
			return nil, beeos.Errorf(beeos.MissingParam, "each of tools needs a tool, or a skill for all tools of it")
		}
		rules = append(rules, approvals.Rule{Skill: t.Skill, Tool: t.Tool, Mode: modeOf(t.AutoApprove)})
	}
	return rules, nil
}

// agentRule is the word about the agent as it stands.
func (s *Surface) agentRule(r *http.Request, a *beeos.Agent) (approvals.Rule, error) {
	rules, err := s.DB.Approvals.ListRules(r.Context(), a.ID)
	for _, rule := range rules {
		if rule.Skill == "" && rule.Tool == "" {
			return rule, err
		}
	}
	return approvals.Rule{}, err
}
