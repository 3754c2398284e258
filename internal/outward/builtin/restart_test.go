package builtin_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/outward/skill"
	"github.com/beeos/beeos/test/issuer"
)

// TestStopAndStart: however soon an agent is started after it was stopped, it
// comes back.
func TestStopAndStart(t *testing.T) {
	as, srv := issuer.New(t, map[string]issuer.Client{"clerk": {Secret: "s3cret"}}), skillServer(t)
	guard := protect(t, srv, as)
	s := start(t, builtin.Options{Model: llm.Script(saving)})
	id, agentID := s.create(t, builtin.Definition{Name: "clerk", Servers: []skill.Server{{
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

// TestChangesRefuseNobody: an agent is changed and restarted again and again
// while people talk to it. All of them get an answer, also the one who was
// being answered all the while, and in the end it is as it was made.
func TestChangesRefuseNobody(t *testing.T) {
	began, goOn := make(chan struct{}, 1), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	defer release()
	s := start(t, builtin.Options{Model: llm.Script(func(r llm.Request) []llm.Delta {
		if r.Messages[len(r.Messages)-1].Text == "slowly" {
			began <- struct{}{}
			<-goOn
		}
		return llm.Say(r.System)
	})})
	inst, id := s.create(t, builtin.Definition{Name: "clerk", Prompt: "before"}, nil)
	var talks errgroup.Group
	talks.Go(func() error {
		a, err := s.say(t.Context(), id, "", "slowly")
		if err == nil && a.Text != "before" {
			err = fmt.Errorf("the slow answer is %q", a.Text)
		}
		return err
	})
	<-began
	changed := make(chan struct{})
	for range 3 {
		talks.Go(func() error {
			for {
				a, err := s.say(t.Context(), id, "", "go")
				if err != nil || a.IsError {
					return fmt.Errorf("%+v, %w", a, err)
				}
				select {
				case <-changed:
					return nil
				default:
				}
			}
		})
	}
	for i := range 5 {
		prompt := fmt.Sprint("after ", i)
		if err := s.rt.Change(t.Context(), s.owner, inst, builtin.Definition{Prompt: prompt}, nil); err != nil {
			t.Fatal(err)
		}
		s.until(t, id, func(a *client.Answer, err error) bool { return err == nil && a.Text == prompt })
		if err := s.rt.Restart(t.Context(), s.owner, inst); err != nil {
			t.Fatal(err)
		}
	}
	close(changed)
	release()
	if err := talks.Wait(); err != nil {
		t.Error(err)
	}
}
