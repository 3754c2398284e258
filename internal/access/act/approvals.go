package act

import (
	"cmp"
	"context"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/access/approval"
	"github.com/beeos/beeos/internal/store/approvals"
	"github.com/beeos/beeos/internal/store/audit"
)

// SetRules changes which tool calls of an agent wait for its owner. What it
// does not name stays. The row tells what differs from before.
func (a *Acts) SetRules(ctx context.Context, c beeos.Caller, agentID string, rules []approvals.Rule) error {
	agent, err := a.OwnAgent(ctx, c, agentID)
	if err != nil {
		return err
	}
	before, err := a.DB.Approvals.ListRules(ctx, agentID)
	if err != nil {
		return err
	}
	if err := a.Approvals.SetRules(ctx, agent, beeos.User{ID: c.UserID}, rules); err != nil {
		return err
	}
	if detail := describeRules(before, rules); len(detail) > 0 {
		a.record(ctx, c, agent.OwnerID, audit.ApprovalPolicy, agentID, detail)
	}
	return nil
}

func describeRules(before, rules []approvals.Rule) map[string]string {
	old := map[[2]string]approvals.Rule{}
	for _, r := range before {
		old[[2]string{r.Skill, r.Tool}] = r
	}
	detail := map[string]string{}
	for _, r := range rules {
		was, name := old[[2]string{r.Skill, r.Tool}], approval.ToolName(&approvals.Approval{Skill: r.Skill, Tool: cmp.Or(r.Tool, "all tools")})
		if r.Mode != was.Mode {
			detail[name] = cmp.Or(string(r.Mode), "no rule")
		}
		if r.Timeout != was.Timeout {
			detail["timeout"] = r.Timeout.String()
		}
	}
	return detail
}

// LinkApproval makes an address at which whoever has it may decide, once.
func (a *Acts) LinkApproval(ctx context.Context, c beeos.Caller, asked *approvals.Approval) (string, error) {
	if err := RequirePerson(c); err != nil {
		return "", err
	}
	url, err := a.Approvals.Link(ctx, asked)
	if err != nil {
		return "", err
	}
	a.record(ctx, c, asked.OwnerID, audit.ApprovalLink, asked.ID, map[string]string{"agent": asked.AgentID, "tool": asked.Tool})
	return url, nil
}
