package builtin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/builtin"
	"github.com/beeos/beeos/internal/outward/llm"
	"github.com/beeos/beeos/internal/store/database"
)

// savingTwice saves two files, one after the other, and then tells which model it
// is, what it was told to be, and what the tools said.
func savingTwice(r llm.Request) []llm.Delta {
	var said []string
	for _, m := range r.Messages {
		if m.Role == llm.ToolRole {
			said = append(said, m.Text[strings.LastIndex(m.Text, "/")+1:])
		}
	}
	if len(said) < 2 {
		name := fmt.Sprintf("%s-%d", r.Model, len(said)+1)
		return []llm.Delta{{Text: "Saving " + name + "."}, call("c"+name, "files__save_csv", csv{Filename: name, Rows: []map[string]any{}})}
	}
	return llm.Say(strings.Join(append([]string{r.Model, r.System}, said...), "|"))
}

// forks is an agent that has answered once, in three steps.
type forks struct {
	*stack
	t     *testing.T
	srv   *server
	rest  *client.Client
	agent string
	first *client.CallDetail
}

func newForks(t *testing.T) *forks {
	t.Helper()
	f := &forks{t: t, srv: skillServer(t)}
	f.stack = start(t, builtin.Options{Model: llm.Script(savingTwice)})
	_, f.agent = f.create(t, builtin.Definition{Name: "clerk", Model: "small", Prompt: "Be kind.", Servers: files(f.srv.URL, true)}, nil)
	f.rest = client.New(f.REST, f.UserKey)
	f.ask(t, f.agent, "", "save both")
	for c, err := range f.rest.Calls(t.Context(), client.CallFilter{AgentID: f.agent}) {
		if err != nil {
			t.Fatal(err)
		}
		if f.first, err = f.rest.Call(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// fork forks a call and waits for the answer.
func (f *forks) fork(of string, r client.ReplayRequest) *client.CallDetail {
	f.t.Helper()
	r.Confirm = true
	made, err := f.rest.ReplayCall(f.t.Context(), of, r)
	if err != nil {
		f.t.Fatal(err)
	}
	got, err := f.rest.AwaitReplay(f.t.Context(), made, func(question string) { f.t.Error(question) })
	if err != nil {
		f.t.Fatal(err)
	}
	return got
}

// TestForkAtAStep: an answer is taken up in its middle with another model and
// prompt. What had been done until then is neither done nor paid for again.
func TestForkAtAStep(t *testing.T) {
	f := newForks(t)
	brief := "Be brief."
	var last string
	for _, c := range []struct {
		r     client.ReplayRequest
		want  string
		saved []string // by this fork
	}{
		{client.ReplayRequest{AtStep: 3, Model: "large", Prompt: &brief}, "Saving small-1.\n\nSaving small-2.\n\nlarge|Be brief.|small-1.csv (0 rows)|small-2.csv (0 rows)", nil},
		{client.ReplayRequest{AtStep: 2, Model: "large"}, "Saving small-1.\n\nSaving large-2.\n\nlarge|Be kind.|small-1.csv (0 rows)|large-2.csv (0 rows)", []string{"large-2"}},
		{client.ReplayRequest{AtStep: 1, Model: "large"}, "Saving large-1.\n\nSaving large-2.\n\nlarge|Be kind.|large-1.csv (0 rows)|large-2.csv (0 rows)", []string{"large-1", "large-2"}},
		{client.ReplayRequest{AtStep: 3}, "Saving small-1.\n\nSaving small-2.\n\nsmall|Be kind.|small-1.csv (0 rows)|small-2.csv (0 rows)", nil},
	} {
		before := len(f.srv.files())
		got := f.fork(f.first.ID, c.r)
		if got.Reply == nil || got.Reply.Text != c.want {
			t.Errorf("at step %d: %+v, want %q", c.r.AtStep, got.Reply, c.want)
		}
		if saved := f.srv.files()[before:]; !slices.Equal(saved, c.saved) {
			t.Errorf("at step %d the tool saved %q, want %q", c.r.AtStep, saved, c.saved)
		}
		if len(got.Steps) != 5 || c.r.AtStep > 1 && got.Request.AtStep != c.r.AtStep {
			t.Fatalf("at step %d: %d steps of %+v", c.r.AtStep, len(got.Steps), got.Request)
		}
		for i, s := range got.Steps {
			kept := i < 2*(c.r.AtStep-1)
			if told := s.Attributes["words"] + s.Attributes["result"]; (told == "of the call that was forked") != kept || kept && s.InputTokens > 0 || !kept && s.Kind == beeos.StepModel && s.InputTokens == 0 {
				t.Errorf("at step %d: %+v", c.r.AtStep, s)
			}
		}
		if c.r.AtStep == 2 {
			last = got.ID
		}
	}
	// A fork can be forked, and replayed as the fork that it is.
	want := "Saving small-1.\n\nSaving large-2.\n\ntiny|Be kind.|small-1.csv (0 rows)|large-2.csv (0 rows)"
	if got := f.fork(last, client.ReplayRequest{AtStep: 3, Model: "tiny"}); got.Reply == nil || got.Reply.Text != want {
		t.Errorf("a fork of a fork: %+v", got.Reply)
	}
	want = "Saving small-1.\n\nSaving large-2.\n\nlarge|Be kind.|small-1.csv (0 rows)|large-2.csv (0 rows)"
	if got := f.fork(last, client.ReplayRequest{}); got.Reply == nil || got.Reply.Text != want || got.Request.AtStep != 2 {
		t.Errorf("a replay of a fork: %+v", got.Reply)
	}
}

// TestForkThatCannotBe is refused with what to do instead.
func TestForkThatCannotBe(t *testing.T) {
	f := newForks(t)
	other := "say this"
	for want, c := range map[string]struct {
		r    client.ReplayRequest
		code beeos.Code
	}{
		"choose a step from 1 to 3":  {client.ReplayRequest{AtStep: 4}, beeos.InvalidParam},
		"from 1":                     {client.ReplayRequest{AtStep: -1}, beeos.InvalidParam},
		"not both":                   {client.ReplayRequest{AtStep: 2, Text: &other}, beeos.InvalidParam},
		"by the agent that answered": {client.ReplayRequest{AtStep: 2, AgentID: f.AgentID}, beeos.Conflict},
	} {
		c.r.Confirm = true
		if _, err := f.rest.ReplayCall(t.Context(), f.first.ID, c.r); beeos.CodeOf(err) != c.code || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c.r, err, want)
		}
	}
	if err := f.db.Builtins.ForgetSteps(t.Context(), database.Now().Add(time.Hour), database.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	_, err := f.rest.ReplayCall(t.Context(), f.first.ID, client.ReplayRequest{AtStep: 2, Confirm: true})
	if beeos.CodeOf(err) != beeos.Conflict || !strings.Contains(err.Error(), "from its beginning") {
		t.Errorf("after its steps were forgotten: %v", err)
	}
}
