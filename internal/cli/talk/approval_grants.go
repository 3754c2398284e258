package talk

import (
	"context"
	"fmt"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// ApprovalsGrantsCmd lists yeses for more than one call.
type ApprovalsGrantsCmd struct {
	remote.Server
	JSON bool `help:"Print JSON."`
}

// Run prints each with what it answers.
func (c *ApprovalsGrantsCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	list, err := cl.ApprovalGrants(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.PrintJSON(append([]client.ApprovalGrant{}, list...))
	}
	if len(list) == 0 {
		t.Note("no yes is for more than one call")
		return nil
	}
	names, err := nameAgents(ctx, cl)
	if err != nil {
		return err
	}
	var texts []string
	for i := range list {
		texts = append(texts, describeApprovalGrant(&list[i], names))
	}
	return t.PrintLine(strings.Join(texts, "\n\n"))
}

// describeApprovalGrant writes one as a person reads it.
func describeApprovalGrant(g *client.ApprovalGrant, names agentNames) string {
	what := "the same arguments as in approval " + g.ApprovalID
	if g.For == client.ForConversation {
		what = "any arguments, in conversation " + g.Conversation
	}
	return fmt.Sprintf("%s  %s\n  agent %s, called by %s: %s\n  given by %s %s, until %s",
		g.ID, describeTool(&client.Approval{Skill: g.Skill, Tool: g.Tool}), terminal.Printable(names.of(g.AgentID)), terminal.Printable(g.CallerName), terminal.Printable(what),
		terminal.Printable(g.GiverName), terminal.Ago(g.CreatedAt), g.ExpiresAt.Local().Format("2 Jan 15:04:05"))
}

// ApprovalsRevokeCmd ends a yes for more than one call.
type ApprovalsRevokeCmd struct {
	remote.Server
	ID string `arg:"" help:"Id of the approval grant, from: beeos approvals grants."`
}

// Run ends it.
func (c *ApprovalsRevokeCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	if err := cl.RevokeApprovalGrant(ctx, c.ID); err != nil {
		return terminal.HintOn(beeos.NotFound, err, "there is no such approval grant", "see which there are with: beeos approvals grants")
	}
	t.Note("ended; what is asked from now on waits for somebody")
	return nil
}
