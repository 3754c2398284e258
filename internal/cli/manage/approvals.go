package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
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
	server
	Status string `enum:"pending,decided,all" default:"pending" help:"pending, decided or all."`
	JSON   bool   `help:"Print JSON."`
}

// Run prints each with its arguments, whole: nobody should approve what they
// have not seen.
func (c *ApprovalsListCmd) Run(ctx context.Context, t *terminal) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	list, err := cl.Approvals(ctx, c.Status)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(append([]client.Approval{}, list...))
	}
	if len(list) == 0 {
		t.note("nothing waits for you")
	}
	for i, a := range list {
		if i > 0 {
			fmt.Fprintln(t.out) //nolint:errcheck // the next line reports it
		}
		if _, err := fmt.Fprint(t.out, approvalText(&a)); err != nil {
			return err
		}
	}
	return nil
}

// approvalText is one approval as a person reads it.
func approvalText(a *client.Approval) string {
	tool := a.Tool
	if a.Skill != "" {
		tool = a.Skill + " / " + a.Tool
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", a.ID, a.Status, printable(tool))
	fmt.Fprintf(&b, "  agent %s, called by %s, asked %s", printable(a.AgentID), printable(a.Caller), ago(a.RequestedAt))
	if a.Status == "pending" {
		fmt.Fprintf(&b, ", until %s", a.ExpiresAt.Local().Format("15:04:05"))
	} else {
		fmt.Fprintf(&b, ", decided %s by %s", ago(a.DecidedAt), printable(a.DecidedBy))
	}
	if a.Reason != "" {
		fmt.Fprintf(&b, ": %s", printable(a.Reason))
	}
	var args bytes.Buffer
	if json.Indent(&args, a.Arguments, "  ", "  ") != nil {
		args.Write(a.Arguments)
	}
	fmt.Fprintf(&b, "\n  %s\n", beeos.Visible(args.String()))
	return b.String()
}

// ApprovalsApproveCmd approves.
type ApprovalsApproveCmd struct {
	server
	ID string `arg:"" help:"Id of the approval, from: beeos approvals."`
}

// Run approves.
func (c *ApprovalsApproveCmd) Run(ctx context.Context) error {
	cl, err := c.client()
	if err == nil {
		_, err = cl.Approve(ctx, c.ID)
	}
	return unknownApproval(err)
}

// ApprovalsRejectCmd rejects.
type ApprovalsRejectCmd struct {
	server
	ID     string   `arg:"" help:"Id of the approval, from: beeos approvals."`
	Reason []string `arg:"" optional:"" help:"What the agent is told."`
}

// Run rejects.
func (c *ApprovalsRejectCmd) Run(ctx context.Context) error {
	cl, err := c.client()
	if err == nil {
		_, err = cl.Reject(ctx, c.ID, strings.Join(c.Reason, " "))
	}
	return unknownApproval(err)
}

// ApprovalsLinkCmd makes a link.
type ApprovalsLinkCmd struct {
	server
	ID string `arg:"" help:"Id of the approval, from: beeos approvals."`
}

// Run prints the address.
func (c *ApprovalsLinkCmd) Run(ctx context.Context, t *terminal) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	link, err := cl.ApprovalLink(ctx, c.ID)
	if err != nil {
		return unknownApproval(err)
	}
	_, err = fmt.Fprintln(t.out, link)
	return err
}

// unknownApproval names the next step to who mistyped an id.
func unknownApproval(err error) error {
	if e, ok := errors.AsType[*beeos.Error](err); ok && e.Code == beeos.NotFound {
		return hinted{errors.New("there is no such approval"), "see what waits with: beeos approvals"}
	}
	return err
}
