//go:build unix

package clients

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/apptest"
)

// bearer puts a key on every request.
type bearer struct {
	key  string
	next http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return b.next.RoundTrip(r)
}

// payer connects an agent that asks before it pays.
func payer(t *testing.T, a *apptest.App) string {
	t.Helper()
	return a.Connect(t, agent.Options{
		Name: "payer", Tools: []agent.Tool{{Name: "pay", Schema: []byte(`{"type":"object","properties":{"amount":{"type":"number"}}}`)}},
	}, func(ctx context.Context, m agent.Message, r *agent.Reply) error {
		var denied *agent.Denied
		switch err := r.Approve(ctx, "transfer", m.Arguments); {
		case errors.As(err, &denied):
			return r.Send("not paid: " + denied.Reason)
		case err != nil:
			return err
		}
		return r.Send("paid " + string(m.Arguments))
	})
}

// TestApprovalInClient: the owner of an agent decides in the program that
// called it, whatever revision that speaks; nobody else is asked there, and a
// program that cannot ask waits until somebody has decided elsewhere.
func TestApprovalInClient(t *testing.T) {
	a := apptest.Start(t, apptest.Config(t))
	id := payer(t, a)
	rest := client.New(a.REST, a.UserKey)
	key, err := rest.CreateKey(t.Context(), id, client.KeyRequest{Name: "stranger"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		key    string
		answer *mcp.ElicitResult // nil = the client cannot ask
		want   string
		via    string
	}{
		{"yes", a.UserKey, &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, `paid {"amount":5}`, "mcp"},
		{"no", a.UserKey, &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": false, "reason": "too much"}}, "not paid: too much", "mcp"},
		{"declined", a.UserKey, &mcp.ElicitResult{Action: "decline"}, "not paid: declined", "mcp"},
		{"cannot ask", a.UserKey, nil, `paid {"amount":5}`, "rest"},
		{"not the owner", key.Secret, &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, `paid {"amount":5}`, "rest"},
	} {
		for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
			t.Run(c.name+" "+version, func(t *testing.T) {
				var asked atomic.Int32
				opt := &mcp.ClientOptions{}
				if c.answer != nil {
					opt.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						asked.Add(1)
						if !strings.Contains(r.Params.Message, "transfer") || !strings.Contains(r.Params.Message, `"amount": 5`) {
							t.Errorf("the person reads %q", r.Params.Message)
						}
						return c.answer, nil
					}
				}
				transport := &http.Transport{}
				t.Cleanup(transport.CloseIdleConnections)
				session, err := mcp.NewClient(&mcp.Implementation{Name: "gosdk", Version: "1"}, opt).Connect(t.Context(),
					&mcp.StreamableClientTransport{Endpoint: a.MCP + "/" + id + "/mcp", HTTPClient: &http.Client{Transport: bearer{c.key, transport}}},
					&mcp.ClientSessionOptions{ProtocolVersion: version})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				var elsewhere errgroup.Group
				if c.via == "rest" {
					elsewhere.Go(func() error { return approveNext(t.Context(), rest) })
				}
				result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "pay", Arguments: map[string]int{"amount": 5}})
				if err != nil || said(result) != c.want {
					t.Fatalf("%+v %v", result, err)
				}
				if err := elsewhere.Wait(); err != nil {
					t.Error(err)
				}
				if want := int32(1); (c.via == "mcp") != (asked.Load() == want) {
					t.Errorf("asked %d times", asked.Load())
				}
				list, err := rest.Approvals(t.Context(), "decided")
				if err != nil || len(list) == 0 || list[0].Via != c.via {
					t.Errorf("decided via %+v, %v", list, err)
				}
			})
		}
	}
}

// approveNext approves what waits, as soon as something does.
func approveNext(ctx context.Context, rest *client.Client) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := rest.Approvals(ctx, "pending")
		if err == nil && len(list) == 1 {
			_, err = rest.Approve(ctx, list[0].ID)
		}
		if err != nil || len(list) == 1 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
