package talk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/remote"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// ApprovalsCmd is about tool calls that wait for a person.
type ApprovalsCmd struct {
	List    ApprovalsListCmd    `cmd:"" default:"withargs" help:"List what waits for you."`
	Approve ApprovalsApproveCmd `cmd:"" help:"Let a tool call be made, with the arguments shown."`
	Reject  ApprovalsRejectCmd  `cmd:"" help:"Deny a tool call."`
	Link    ApprovalsLinkCmd    `cmd:"" help:"Print an address at which whoever has it may decide, once."`
	Grants  ApprovalsGrantsCmd  `cmd:"" help:"List the yeses for more than one call that count now."`
	Revoke  ApprovalsRevokeCmd  `cmd:"" help:"End a yes for more than one call."`
}

// ApprovalsListCmd lists approvals.
type ApprovalsListCmd struct {
	remote.Server
	Status string `enum:"pending,decided,all" default:"pending" help:"pending, decided or all."`
	JSON   bool   `help:"Print JSON."`
}

// Run prints each with its arguments, whole: nobody should approve what they
// have not seen.
func (c *ApprovalsListCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	list, err := cl.Approvals(ctx, c.Status)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.PrintJSON(append([]client.Approval{}, list...))
	}
	if len(list) == 0 {
		t.Note("nothing waits for you")
		return nil
	}
	names, err := nameAgents(ctx, cl)
	if err != nil {
		return err
	}
	var texts []string
	for i := range list {
		texts = append(texts, describeApproval(&list[i], names))
	}
	return t.PrintLine(strings.Join(texts, "\n\n"))
}

// describeApproval writes one approval as a person reads it.
func describeApproval(a *client.Approval, names agentNames) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", a.ID, a.Status, describeTool(a))
	fmt.Fprintf(&b, "  agent %s, called by %s, asked %s", terminal.Printable(names.of(a.AgentID)), terminal.Printable(cmp.Or(a.CallerName, a.Caller)), terminal.Ago(a.RequestedAt))
	if a.Status == "pending" {
		fmt.Fprintf(&b, ", until %s", a.ExpiresAt.Local().Format("15:04:05"))
		if a.Needed > 1 {
			fmt.Fprintf(&b, ", %d of %d said yes", a.Yes, a.Needed)
		}
	} else {
		fmt.Fprintf(&b, ", decided %s by %s", terminal.Ago(a.DecidedAt), terminal.Printable(cmp.Or(a.DeciderName, a.DecidedBy)))
	}
	if a.Reason != "" {
		fmt.Fprintf(&b, ": %s", terminal.Printable(a.Reason))
	}
	var args bytes.Buffer
	if json.Indent(&args, a.Arguments, "  ", "  ") != nil {
		args.Write(a.Arguments)
	}
	fmt.Fprintf(&b, "\n  %s", beeos.Visible(args.String()))
	return b.String()
}

// describeTool is the tool that an approval is about, as a person reads it.
func describeTool(a *client.Approval) string {
	if a.Skill != "" {
		return terminal.Printable(a.Skill + " / " + a.Tool)
	}
	return terminal.Printable(a.Tool)
}

// oneApproval is what the commands about one approval have in common.
type oneApproval struct {
	remote.Server
	ID string `arg:"" help:"Id of the approval, from: beeos approvals."`
}

// ApprovalsApproveCmd approves.
type ApprovalsApproveCmd struct {
	oneApproval
	For string `placeholder:"TIME" help:"Also approve the same call for this long, such as 30m; or, with conversation, any call of the tool in this conversation."`
}

// Run approves.
func (c *ApprovalsApproveCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	a, err := c.approve(ctx, cl)
	switch {
	case err != nil:
		return hintApproval(err)
	case a.Status == "pending":
		t.Note("counted: %d of %d said yes to %s", a.Yes, a.Needed, describeTool(a))
	default:
		t.Note("approved: %s; the agent continues", describeTool(a))
	}
	return nil
}

func (c *ApprovalsApproveCmd) approve(ctx context.Context, cl *client.Client) (*client.Approval, error) {
	switch c.For {
	case "":
		return cl.Approve(ctx, c.ID)
	case "conversation":
		return cl.ApproveFor(ctx, c.ID, client.ForConversation, 0)
	}
	d, err := time.ParseDuration(c.For)
	if err != nil || d < time.Minute {
		return nil, beeos.Errorf(beeos.InvalidParam, "--for is conversation, or a time of a minute or more such as 30m or 8h")
	}
	return cl.ApproveFor(ctx, c.ID, client.ForSameArguments, int(d/time.Minute))
}

// ApprovalsRejectCmd rejects.
type ApprovalsRejectCmd struct {
	oneApproval
	Reason []string `arg:"" optional:"" help:"What the agent is told."`
}

// Run rejects.
func (c *ApprovalsRejectCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	a, err := cl.Reject(ctx, c.ID, strings.Join(c.Reason, " "))
	if err != nil {
		return hintApproval(err)
	}
	t.Note("rejected: %s; the agent has been told", describeTool(a))
	return nil
}

// ApprovalsLinkCmd makes a link.
type ApprovalsLinkCmd struct{ oneApproval }

// Run prints the address.
func (c *ApprovalsLinkCmd) Run(ctx context.Context, t *terminal.Terminal, cl *client.Client) error {
	link, err := cl.ApprovalLink(ctx, c.ID)
	if err != nil {
		return hintApproval(err)
	}
	return t.PrintLine(link)
}

// hintApproval names the next step to who mistyped an id.
func hintApproval(err error) error {
	return terminal.HintOn(beeos.NotFound, err, "there is no such approval", "see what waits with: beeos approvals")
}
