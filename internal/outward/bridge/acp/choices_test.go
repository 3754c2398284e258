package acp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/internal/outward/bridge/acp"
)

// TestCallersChooseTheModel of a conversation, of those that the operator named; the
// first of them answers who chooses none.
func TestCallersChooseTheModel(t *testing.T) {
	for _, how := range []string{"load", "resume"} {
		t.Run(how, func(t *testing.T) {
			s := connect(t, how, acp.Options{Models: []string{"large", "tiny", "huge"}, Mode: "plan"})
			talk := s.converse()
			talk.want("hi", "large", "you said: hi")
			if status := talk.chooseModel("tiny"); status != http.StatusAccepted {
				t.Fatal(status)
			}
			talk.want("again", "tiny", "you said: again")
			s.kill("k")
			talk.want("it was started again", "tiny", "you said: it was started again")
			if log := s.log.String(); strings.Count(log, "set m to large") != 2 || strings.Count(log, "set m to tiny") != 2 || strings.Count(log, "mode plan") != 3 {
				t.Errorf("it was told\n%s", log)
			}
			for model, want := range map[string]string{
				"huge":  `the program behind this agent does not take the model "huge"; it offers tiny, large`,
				"other": `this agent may not use the model "other"; choose one of large, tiny, huge`,
			} {
				if status := talk.chooseModel(model); status != http.StatusAccepted {
					t.Fatal(status)
				}
				if got := talk.say("hi"); !strings.Contains(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			}
		})
	}
}

// TestChoicesThatAreNone: what the program does not offer is told, with what it does.
func TestChoicesThatAreNone(t *testing.T) {
	for want, o := range map[string]acp.Options{
		`does not take the mode "yolo"; it offers ask, plan`: {Mode: "yolo"},
		"lets nobody choose its model":                       {Models: []string{"large"}},
	} {
		if got := connect(t, "fixed", o).converse().say("hi"); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	talk := connect(t, "x", acp.Options{Models: []string{"large"}}).converse()
	talk.want("hi", "large", "you said: hi")
	if status := talk.chooseModel("tiny"); status != http.StatusConflict {
		t.Errorf("one model is no choice: %d", status)
	}
}

// conversation is one whose model can be chosen.
type conversation struct {
	*stand
	id string
}

func (s *stand) converse() conversation {
	s.t.Helper()
	made, err := s.c.CreateConversation(s.t.Context(), s.id, "talk")
	if err != nil {
		s.t.Fatal(err)
	}
	return conversation{s, made.ID}
}

// say says something and returns the words of the answer, also of one that failed.
func (c conversation) say(text string) string {
	c.t.Helper()
	id, err := c.c.Say(c.t.Context(), c.stand.id, c.id, text)
	if err != nil {
		c.t.Fatal(err)
	}
	for u, err := range c.c.WatchConversation(c.t.Context(), c.stand.id, c.id, 0) {
		if err != nil {
			c.t.Fatal(err)
		}
		if u.Message.InReplyTo == id && u.Message.Type.Terminal() {
			return u.Message.Body
		}
	}
	c.t.Fatal("no answer came")
	return ""
}

// want says something whose answer is known, and who gives it.
func (c conversation) want(text, model, want string) {
	c.t.Helper()
	if got := c.say(text); got != want {
		c.t.Errorf("%s: %q, want %q", text, got, want)
	}
	for _, step := range c.steps() {
		if step.Kind == beeos.StepModel && step.Model != model {
			c.t.Errorf("%s answered, want %s", step.Model, model)
		}
	}
}

// chooseModel chooses the model of the conversation, and returns the answer's status.
func (c conversation) chooseModel(model string) int {
	c.t.Helper()
	address := c.app.REST + "/api/v1/agents/" + c.stand.id + "/conversations/" + c.id + "/model"
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodPut, address, strings.NewReader(fmt.Sprintf(`{"modelOverrideId":%q}`, model)))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.app.UserKey)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", beeos.NewID())
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}
