package builtin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/builtin/answer"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/test/issuer"
)

// gate is how the server asks owners.
func gate(ctx context.Context, r *agent.Reply, a answer.Approval) error {
	return r.Gate(ctx, agent.Approval{Key: a.Key, Skill: a.Skill, Tool: a.Tool, Arguments: a.Arguments, Auto: a.Auto, Step: a.Step})
}

// TestOwnerDecides goes the way of the seed through the approval desk.
func TestOwnerDecides(t *testing.T) {
	as := issuer.New(t, map[string]issuer.Client{"clerk": {Secret: "s3cret"}})
	srv := skillServer(t)
	guard := protect(t, srv, as)
	s := start(t, builtin.Options{Model: llm.Script(saving), Approve: gate})
	_, id := s.create(t, builtin.Definition{Name: "clerk", Servers: []skill.Server{{
		Name: "files", URL: guard.URL, Auth: skill.Auth{Grant: "client_credentials", ClientID: "clerk", Issuer: as.URL},
	}}}, map[string]skill.Secrets{"files": {ClientSecret: "s3cret"}})
	c := client.New(s.REST, s.UserKey)
	for _, approve := range []bool{true, false} {
		said := make(chan string, 1)
		go func() { said <- s.callAgent(t, id, "invoice-1") }()
		a := s.waiting(t, c)
		if a.Skill != "files" || a.Tool != "save_csv" || !strings.Contains(string(a.Arguments), `"filename":"invoice-1"`) {
			t.Errorf("asked about %+v", a)
		}
		decide(t, c, a.ID, approve)
		got := <-said
		if approve && !strings.Contains(got, "CSV saved") || !approve && !strings.Contains(got, "because") {
			t.Errorf("approved %v: %q", approve, got)
		}
	}
	if got := srv.files(); len(got) != 1 {
		t.Errorf("saved %v", got)
	}
}

func (s *stack) waiting(t *testing.T, c *client.Client) client.Approval {
	t.Helper()
	within := time.After(20 * time.Second)
	for {
		list, err := c.Approvals(t.Context(), "pending")
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 1 {
			return list[0]
		}
		select {
		case <-within:
			t.Fatal("nobody asks")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// decide approves a tool call, or rejects it "because".
func decide(t *testing.T, c *client.Client, id string, approve bool) {
	t.Helper()
	var err error
	if approve {
		_, err = c.Approve(t.Context(), id)
	} else {
		_, err = c.Reject(t.Context(), id, "because")
	}
	if err != nil {
		t.Fatal(err)
	}
}
