package acp_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/outward/bridge/acp"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
)

// TestWorkIsSteps: plans and tool calls are steps, thoughts are none of the answer's
// words, and what it took is told.
func TestWorkIsSteps(t *testing.T) {
	s := connect(t, "x", acp.Options{})
	got := s.say("work")
	if got.Text != "I look.\n\nDone it." || !strings.Contains(string(got.Parts), `"image/png"`) {
		t.Errorf("%+v", got)
	}
	var told []string
	for _, step := range s.steps() {
		if step.Kind == beeos.StepModel && (step.Model != "tiny-2" || step.InputTokens != 110 || step.OutputTokens != 50) {
			t.Errorf("%+v", step)
		}
		told = append(told, step.Name+"|"+string(step.Kind)+"|"+strconv.Itoa(step.Parent)+"|"+step.Attributes["kind"]+"|"+step.Attributes[beeos.StepReadOnly]+"|"+step.Error)
	}
	want := []string{"session/prompt|model|0|||", "plan|other|0|||", "Look|other|2|||", "Read|tool|0|read|true|", "Running make|tool|0|execute||no rule", "Do it|other|2|||"}
	if !slices.Equal(told, want) {
		t.Errorf("the steps are\n%q\nwant\n%q", told, want)
	}
	took, err := s.c.Usage(t.Context(), client.UsageFilter{AgentID: s.id})
	if err != nil || len(took) != 1 || took[0].Model != "tiny-2" || took[0].InputTokens != 110 || took[0].OutputTokens != 50 || *took[0].CostUSD != 0.25 {
		t.Errorf("it took %+v, %v", took, err)
	}
}

// TestAttachmentsBecomeBlocks that the program can take.
func TestAttachmentsBecomeBlocks(t *testing.T) {
	for how, want := range map[string][]string{
		"image embedded": {`{"type":"text","text":"blocks"}`, `{"type":"image","data":"cGl4","mimeType":"image/png"}`, `"resource":{"uri":"attachment:a.txt","mimeType":"text/plain","text":"words"}`},
		"x":              {`{"type":"text","text":"blocks"}`, `"name":"p.png"`, `"name":"a.txt"`, `"type":"resource_link"`},
	} {
		s := connect(t, how, acp.Options{})
		var files []client.Attachment
		for name, kind := range map[string]string{"p.png": "image/png", "a.txt": "text/plain"} {
			text := map[string]string{"p.png": "pix", "a.txt": "words"}[name]
			f, err := s.c.Upload(t.Context(), name, kind, strings.NewReader(text), int64(len(text)))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, client.Attachment{FileID: f.FileID})
		}
		got, err := s.c.Invoke(t.Context(), s.id, client.InvokeRequest{Message: "blocks", Attachments: files})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(got.Text, w) {
				t.Errorf("%s: no %s in %s", how, w, got.Text)
			}
		}
	}
}

// TestLoginIsNamed: who calls is told what its operator can do.
func TestLoginIsNamed(t *testing.T) {
	s := connect(t, "locked", acp.Options{})
	if got := s.say("hi"); !got.IsError || !strings.Contains(got.Text, "is not logged in (Authentication required)") || !strings.Contains(got.Text, "--acp-login") || !strings.Contains(got.Text, "A key (key)") {
		t.Errorf("%+v", got)
	}
}

// TestOddProgramsAreBounded: one that speaks something else, or too much at a time,
// is ended, and there for the next message.
func TestOddProgramsAreBounded(t *testing.T) {
	s := connect(t, "x", acp.Options{})
	for _, text := range []string{"babble", "endless"} {
		s.want(text, "the program behind this agent ended before it had answered; try again")
		s.want("hi", "you said: hi")
	}
	bridgetest.CancelTurn(t, s.app, s.id, "hang", func() { s.log.Await(t, "hanging in") })
	s.log.Await(t, "cancelled s")
	bridgetest.CancelTurn(t, s.app, s.id, "flood", func() { s.log.Await(t, "64 requests are being worked on already") })
	s.want("hi", "you said: hi")
}

// TestOptionsAreChecked before anything runs.
func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]acp.Options{
		`allow can be read, write and terminal, not "all"`: {Allow: []string{"all"}},
		"there is no folder /nowhere":                      {Cwd: "/nowhere"},
		"are for --sandbox":                                {Write: []string{"x"}},
	} {
		if err := o.Check(&settings.Bridge{Folder: "/x"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	o := acp.Options{Command: bridgetest.Command("./no-such-program")}
	if err := o.Run(t.Context(), settings.Bridge{}); err == nil || !strings.Contains(err.Error(), "cannot be run") {
		t.Error(err)
	}
}

// stand is a scripted coding agent behind a bridge.
type stand struct {
	t   *testing.T
	app *apptest.App
	c   *client.Client
	id  string
	log bridgetest.Journal
	dir string // that it works in
}

// connect puts a scripted agent behind a bridge. how says what it can do.
func connect(t *testing.T, how string, o acp.Options) *stand {
	t.Helper()
	s := &stand{t: t, app: apptest.Start(t, apptest.Config(t)), dir: t.TempDir()}
	s.c = client.New(s.app.REST, s.app.UserKey)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Command = bridgetest.Command(self)
	o.Cwd = s.dir
	s.id = bridgetest.Connect(t, s.app, &s.log, "coder", func(ctx context.Context, ao agent.Options) error {
		return o.Run(ctx, settings.Bridge{Agent: ao, Env: append(os.Environ(), "ACP_TEST_AGENT="+how, "BEEOS_KEY="+bridgetest.Secret)})
	})
	return s
}

// say sends a message and returns the answer.
func (s *stand) say(text string) client.Answer {
	s.t.Helper()
	return s.sayIn("", text)
}

func (s *stand) sayIn(conversation, text string) client.Answer {
	s.t.Helper()
	got, err := s.c.Invoke(s.t.Context(), s.id, client.InvokeRequest{Message: text, ContextID: conversation, TimeoutMS: 60_000})
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return *got
}

// want sends a message whose answer is known.
func (s *stand) want(text, want string) {
	s.t.Helper()
	if got := s.say(text); got.Text != want {
		s.t.Errorf("%s: %q, want %q", text, got.Text, want)
	}
}

// steps are those of the newest call.
func (s *stand) steps() []beeos.Step {
	s.t.Helper()
	for one, err := range s.c.Calls(s.t.Context(), client.CallFilter{AgentID: s.id}) {
		if err != nil {
			s.t.Fatal(err)
		}
		made, err := s.c.Call(s.t.Context(), one.ID)
		if err != nil {
			s.t.Fatal(err)
		}
		return made.Steps
	}
	s.t.Fatal("there is no call")
	return nil
}

func TestCodingAgentAnswers(t *testing.T) {
	s := connect(t, "x", acp.Options{Login: "key"})
	s.want("hi", "you said: hi")
	s.want("two\nlines", "you said: two\nlines")
	s.want("noise", "fine")
	if _, err := s.c.Invoke(t.Context(), s.id, client.InvokeRequest{Message: "stop refusal"}); err == nil || !strings.Contains(err.Error(), "the agent declined to answer this") {
		t.Errorf("a refusal: %v", err)
	}
	s.want("cut", "half\n\n[cut off: the agent reached its model's limit of tokens; tell it to go on]")
	s.want("fail oh no", "the program behind this agent answered with an error: oh no")
	s.want("stop cancelled", "the program behind this agent ended the turn as cancelled, which nobody had asked for; try again")
	s.want("stop end_turn", "the program behind this agent said nothing")
	if log := s.log.String(); !strings.Contains(log, "logged in by key") || !strings.Contains(log, `readTextFile\":false`) {
		t.Errorf("it was not introduced:\n%s", log)
	}
	a, err := s.c.Agent(t.Context(), s.id)
	if err != nil || a.DisplayName != "A scripted agent" || a.Version != "7" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestConversationsAreSessions: each has its own, which lasts, and several answer at
// once.
func TestConversationsAreSessions(t *testing.T) {
	s := connect(t, "x", acp.Options{})
	one, other := s.sayIn("a", "count").Text, s.sayIn("b", "count").Text
	if again := s.sayIn("a", "count").Text; again != strings.TrimSuffix(one, "1")+"2" || strings.Fields(one)[0] == strings.Fields(other)[0] {
		t.Errorf("%q, %q, then %q", one, other, again)
	}
	hung := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		_, err := s.c.Invoke(ctx, s.id, client.InvokeRequest{Message: "hang", ContextID: "a"})
		hung <- err
	}()
	s.log.Await(t, "hanging")
	if got := s.sayIn("b", "count").Text; got != strings.TrimSuffix(other, "1")+"2" {
		t.Errorf("beside another: %q", got)
	}
	stop()
	<-hung
}

// TestSessionsOutliveTheProgram where it can go on with them; else a conversation
// begins anew.
func TestSessionsOutliveTheProgram(t *testing.T) {
	for how, want := range map[string]string{"load": "101", "resume": "101", "x": "1"} {
		t.Run(how, func(t *testing.T) {
			s := connect(t, how, acp.Options{})
			before := s.sayIn("a", "count").Text
			s.kill("k")
			after := s.sayIn("a", "count").Text
			id, n, _ := strings.Cut(after, " ")
			if kept := strings.HasPrefix(before, id+" "); n != want || kept != (how != "x") {
				t.Errorf("%q, then %q", before, after)
			}
		})
	}
}

// kill kills the program in the middle of a turn.
func (s *stand) kill(conversation string) {
	s.t.Helper()
	answer := make(chan client.Answer, 1)
	go func() { answer <- s.sayIn(conversation, "hang") }()
	s.log.Await(s.t, "hanging in ")
	said := hanging.FindAllStringSubmatch(s.log.String(), -1)
	pid, err := strconv.Atoi(said[len(said)-1][1])
	if err != nil {
		s.t.Fatal(err)
	}
	victim, err := os.FindProcess(pid)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := victim.Kill(); err != nil {
		s.t.Fatal(err)
	}
	if got := <-answer; !got.IsError || !strings.Contains(got.Text, "the program behind this agent ended before it had answered; try again") {
		s.t.Errorf("killed: %+v", got)
	}
}

var hanging = regexp.MustCompile(`hanging in (\d+)`)
