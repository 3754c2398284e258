package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// TestYesForLonger: after it the same call asks nobody, until it is revoked.
func TestYesForLonger(t *testing.T) {
	app := apptest.Start(t, apptest.Config(t))
	ctx, c := t.Context(), client.New(app.REST, app.UserKey)
	id := app.Connect(t, agent.Options{Name: "clerk"}, func(ctx context.Context, _ agent.Message, r *agent.Reply) error {
		if err := r.Approve(ctx, "save", map[string]string{"path": "a.csv"}); err != nil {
			return err
		}
		return r.Send("saved")
	})
	answers := make(chan error, 1)
	call := func() {
		_, err := c.Invoke(ctx, id, client.InvokeRequest{Message: "save"})
		answers <- err
	}
	waiting := func() client.Approval {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
			if list, err := c.Approvals(ctx, "pending"); err != nil {
				t.Fatal(err)
			} else if len(list) > 0 {
				return list[0]
			}
		}
		t.Fatal("nothing waits")
		return client.Approval{}
	}
	go call()
	asked := waiting()
	if asked.Needed != 1 {
		t.Errorf("%+v", asked)
	}
	if _, err := c.ApproveFor(ctx, asked.ID, client.ForSameArguments, 30); err != nil {
		t.Fatal(err)
	}
	if err := <-answers; err != nil {
		t.Fatal(err)
	}
	call()
	if err := <-answers; err != nil {
		t.Fatal(err)
	}
	list, err := c.ApprovalGrants(ctx)
	if err != nil || len(list) != 1 || list[0].ApprovalID != asked.ID || list[0].For != client.ForSameArguments || list[0].Tool != "save" {
		t.Fatalf("%+v, %v", list, err)
	}
	decided, err := c.Approvals(ctx, "decided")
	if err != nil || len(decided) != 2 || decided[0].DecidedBy != "policy" || decided[0].GrantID != list[0].ID || decided[1].GrantID != "" {
		t.Errorf("%+v, %v", decided, err)
	}
	if err := c.RevokeApprovalGrant(ctx, list[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := c.RevokeApprovalGrant(ctx, list[0].ID); beeos.CodeOf(err) != beeos.NotFound {
		t.Errorf("revoked twice: %v", err)
	}
	go call()
	if _, err := c.Reject(ctx, waiting().ID, "no"); err != nil {
		t.Fatal(err)
	}
	<-answers
}
