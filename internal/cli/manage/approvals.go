package manage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/cli/terminal"
)

// ApprovalsCmd is about tool calls that wait for a person.
type ApprovalsCmd struct {
	List    ApprovalsListCmd    `cmd:"" default:"withargs" help:"List what waits for you."`
	Approve ApprovalsApproveCmd `cmd:"" help:"Let a tool call be made, with the arguments shown."`
	Reject  ApprovalsRejectCmd  `cmd:"" help:"Deny a tool call."`
	Link    ApprovalsLinkCmd    `cmd:"" help:"Print an address at which whoever has it may decide, once."`
}

// ApprovalsListCmd lists approvals.
type ApprovalsListCmd struct {
	Server
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
	var texts []string
	for i := range list {
		texts = append(texts, approvalText(&list[i]))
	}
	return t.PrintLine(strings.Join(texts, "\n\n"))
}

// approvalText is one approval as a person reads it.
func approvalText(a *client.Approval) string {
	tool := a.Tool
	if a.Skill != "" {
		tool = a.Skill + " / " + a.Tool
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", a.ID, a.Status, terminal.Printable(tool))
	fmt.Fprintf(&b, "  agent %s, called by %s, asked %s", terminal.Printable(a.AgentID), terminal.Printable(a.Caller), terminal.Ago(a.RequestedAt))
	if a.Status == "pending" {
		fmt.Fprintf(&b, ", until %s", a.ExpiresAt.Local().Format("15:04:05"))
	} else {
		fmt.Fprintf(&b, ", decided %s by %s", terminal.Ago(a.DecidedAt), terminal.Printable(a.DecidedBy))
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

// oneApproval is what the commands about one approval have in common.
type oneApproval struct {
	Server
	ID string `arg:"" help:"Id of the approval, from: beeos approvals."`
}

// ApprovalsApproveCmd approves.
type ApprovalsApproveCmd struct{ oneApproval }

// Run approves.
func (c *ApprovalsApproveCmd) Run(ctx context.Context, cl *client.Client) error {
	_, err := cl.Approve(ctx, c.ID)
	return hintApproval(err)
}

// ApprovalsRejectCmd rejects.
type ApprovalsRejectCmd struct {
	oneApproval
	Reason []string `arg:"" optional:"" help:"What the agent is told."`
}

// Run rejects.
func (c *ApprovalsRejectCmd) Run(ctx context.Context, cl *client.Client) error {
	_, err := cl.Reject(ctx, c.ID, strings.Join(c.Reason, " "))
	return hintApproval(err)
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
