package talk

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
)

// lookForApprovalsEvery is how often a call that has no answer yet looks whether
// it waits for a person. The first look comes after as long: most answers have
// come by then.
const lookForApprovalsEvery = time.Second

// tellApprovals runs a call, and tells its person meanwhile which tool calls of
// the agent wait for them, and how they decide.
func tellApprovals(ctx context.Context, cl *client.Client, a *client.Agent, p *answerPrinter, call func(context.Context) error) error {
	looking, stop := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error {
		watchApprovals(looking, cl, a, p)
		return nil
	})
	err := call(ctx)
	stop()
	g.Wait() //nolint:errcheck // it returns none
	return err
}

// watchApprovals tells of each approval of the agent once. Whoever may not see
// approvals is told nothing.
func watchApprovals(ctx context.Context, cl *client.Client, a *client.Agent, p *answerPrinter) {
	known := map[string]bool{}
	for {
		select {
		case <-time.After(lookForApprovalsEvery):
		case <-ctx.Done():
			return
		}
		list, err := cl.Approvals(ctx, "pending")
		switch beeos.CodeOf(err) {
		case beeos.MissingToken, beeos.InvalidToken, beeos.Unauthorized, beeos.Forbidden, beeos.NotFound:
			return
		}
		for i := range list {
			if ask := &list[i]; ask.AgentID == a.ID && !known[ask.ID] {
				known[ask.ID] = true
				p.note("%s waits for your approval of %s, until %s. Look at it with: beeos approvals\nDecide with: beeos approvals approve %s, or: beeos approvals reject %s",
					a.Name, describeTool(ask), ask.ExpiresAt.Local().Format(time.TimeOnly), ask.ID, ask.ID)
			}
		}
	}
}
