package act

import (
	"cmp"
	"context"
	"fmt"
	"strings"

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
	if err := a.resolveReviewers(ctx, rules); err != nil {
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
	for i := range rules {
		r := &rules[i]
		was, name := old[[2]string{r.Skill, r.Tool}], approval.ToolName(&approvals.Approval{Skill: r.Skill, Tool: cmp.Or(r.Tool, "all tools")})
		if r.Mode != was.Mode {
			detail[name] = cmp.Or(string(r.Mode), "no rule")
		}
		if r.Timeout != was.Timeout {
			detail["timeout"] = r.Timeout.String()
		}
		if is := describeReview(r.Review); r.Review != nil && is != describeReview(was.Review) {
			detail[name+" reviewers"] = is
		}
	}
	return detail
}

// describeReview says who decides by a rule.
func describeReview(r *approvals.Review) string {
	if r == nil || len(r.Reviewers)+len(r.Second) == 0 && r.Need == 0 {
		return "the owner"
	}
	text := fmt.Sprintf("%d of: %s", max(r.Need, 1), strings.Join(r.Reviewers, " "))
	if !r.Only {
		text += " and the owner"
	}
	if len(r.Second) > 0 {
		text += "; later: " + strings.Join(r.Second, " ")
	}
	if r.NotCaller {
		text += "; not the caller"
	}
	return text
}

// resolveReviewers takes the people whom rules name by e-mail address, and puts their
// ids there.
func (a *Acts) resolveReviewers(ctx context.Context, rules []approvals.Rule) error {
	for _, r := range rules {
		if r.Review == nil {
			continue
		}
		for _, list := range [][]string{r.Review.Reviewers, r.Review.Second} {
			for i, address := range list {
				u, err := a.DB.People.GetUserByEmail(ctx, address)
				if isAbsent(err) || err == nil && !u.DisabledAt.IsZero() {
					return beeos.Errorf(beeos.InvalidParam, "there is no account %q that could decide; give the e-mail address of one", beeos.Shorten(beeos.Visible(address), 100))
				}
				if err != nil {
					return err
				}
				list[i] = u.ID
			}
		}
	}
	return nil
}

// NameReview returns who decides by a rule with the e-mail addresses of the people, as
// SetRules takes them. It is for the owner of the agent, who named them so.
func (a *Acts) NameReview(ctx context.Context, r *approvals.Review) (*approvals.Review, error) {
	if r == nil {
		return nil, nil
	}
	named := *r
	for _, list := range []*[]string{&named.Reviewers, &named.Second} {
		var addresses []string
		for _, id := range *list {
			u, err := a.DB.People.GetUser(ctx, id)
			if isAbsent(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			addresses = append(addresses, u.Email)
		}
		*list = addresses
	}
	return &named, nil
}

// LinkApproval makes an address at which whoever has it may decide for the caller, once.
func (a *Acts) LinkApproval(ctx context.Context, c beeos.Caller, asked *approvals.Approval) (string, error) {
	if err := RequirePerson(c); err != nil {
		return "", err
	}
	url, err := a.Approvals.Link(ctx, asked, c.UserID)
	if err != nil {
		return "", err
	}
	a.record(ctx, c, asked.OwnerID, audit.ApprovalLink, asked.ID, map[string]string{"agent": asked.AgentID, "tool": asked.Tool})
	return url, nil
}

// ApprovalGrants lists the yeses for more than one call that count now: of the caller's
// agents, and those that the caller gave.
func (a *Acts) ApprovalGrants(ctx context.Context, c beeos.Caller) ([]approvals.Grant, error) {
	if err := RequirePerson(c); err != nil {
		return nil, err
	}
	return a.Approvals.Grants(ctx, c.UserID)
}

// RevokeApprovalGrant ends such a yes: what is asked from now on waits for somebody.
// That stands in the audit trail with the end itself.
func (a *Acts) RevokeApprovalGrant(ctx context.Context, c beeos.Caller, id string) error {
	if err := RequirePerson(c); err != nil {
		return err
	}
	u, err := a.DB.People.GetUser(ctx, c.UserID)
	if err != nil {
		return err
	}
	return a.Approvals.RevokeGrant(ctx, id, &u)
}
