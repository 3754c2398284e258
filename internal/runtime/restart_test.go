package runtime_test

import (
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/llm"
	"github.com/beeos/beeos/internal/runtime"
	"github.com/beeos/beeos/internal/skill"
	"github.com/beeos/beeos/test/issuer"
)

// TestStopAndStart: however soon an agent is started after it was stopped, it
// comes back.
func TestStopAndStart(t *testing.T) {
	as, srv := issuer.New(t, map[string]issuer.Client{"clerk": {Secret: "s3cret"}}), skillServer(t)
	guard := protect(t, srv, as)
	s := start(t, runtime.Options{Model: llm.Script(saving)})
	id, agentID := s.create(t, runtime.Definition{Name: "clerk", Servers: []skill.Server{{
		Name: "files", URL: guard.URL, AutoApprove: true, Auth: skill.Auth{Grant: "client_credentials", ClientID: "clerk"},
	}}}, map[string]skill.Secrets{"files": {ClientSecret: "s3cret"}})
	s.untilTools(t, id, 1)
	for i := range 4 {
		if err := s.rt.SetStopped(t.Context(), s.owner, id, true); err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 { // it is gone before it is wanted again
			s.untilAgent(t, id, "")
		}
		if err := s.rt.SetStopped(t.Context(), s.owner, id, false); err != nil {
			t.Fatal(err)
		}
		s.until(t, agentID, func(a *client.Answer, err error) bool { return err == nil && strings.Contains(a.Text, "CSV saved") })
	}
}

func (s *stack) untilAgent(t *testing.T, id, want string) {
	t.Helper()
	within := time.After(10 * time.Second)
	for s.rt.AgentID(id) != want {
		select {
		case <-within:
			t.Fatalf("still %q", s.rt.AgentID(id))
		case <-time.After(10 * time.Millisecond):
		}
	}
}
