//go:build unix && clients

package acp

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	bridge "github.com/beeos/beeos/internal/outward/bridge/acp"
	"github.com/beeos/beeos/internal/outward/bridge/settings"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/bridgetest"
	"github.com/beeos/beeos/test/browser"
	"github.com/beeos/beeos/test/npm"
)

var (
	//go:embed node/package.json
	manifest []byte
	//go:embed node/package-lock.json
	lock []byte
)

// stand is a coding agent of somebody else's behind a bridge.
type stand struct {
	t   *testing.T
	app *apptest.App
	c   *client.Client
	id  string
	dir string // that it works in
	pid string // file with the number of its process
	log bridgetest.Journal
}

// connect runs a script of an installed package behind a bridge, in a folder.
func connect(t *testing.T, script, dir string, env ...string) *stand {
	t.Helper()
	return connectWith(t, bridge.Options{}, script, dir, env...)
}

// connectWith is connect with more options.
func connectWith(t *testing.T, o bridge.Options, script, dir string, env ...string) *stand {
	t.Helper()
	tools, err := npm.Install(t.Context()) // for its Node
	if err != nil {
		t.Fatal(err)
	}
	agents, err := npm.InstallLocked(t.Context(), manifest, lock)
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, app: apptest.Start(t, apptest.Config(t)), dir: dir, pid: filepath.Join(t.TempDir(), "pid")}
	s.c = client.New(s.app.REST, s.app.UserKey)
	o.Cwd, o.Command = dir, bridgetest.Command("sh", "-c", `echo $$ >"$0"; exec "$@"`, s.pid, tools.Node(t.Context()).Path, agents.Module(script))
	s.id = bridgetest.Connect(t, s.app, &s.log, "coder", func(ctx context.Context, ao agent.Options) error {
		return o.Run(ctx, settings.Bridge{Agent: ao, Env: append(os.Environ(), env...)})
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.log.String())
		}
	})
	return s
}

// say sends a message.
func (s *stand) say(text string) <-chan client.Answer {
	answer := make(chan client.Answer, 1)
	go func() {
		got, err := s.c.Invoke(s.t.Context(), s.id, client.InvokeRequest{Message: text, ContextID: "one", TimeoutMS: 110_000})
		if err != nil {
			s.t.Errorf("%s: %v", text, err)
			got = &client.Answer{}
		}
		answer <- *got
	}()
	return answer
}

// decide decides about the tool call that waits, and returns it.
func (s *stand) decide(approve bool) client.Approval {
	s.t.Helper()
	a := bridgetest.AwaitApproval(s.t, s.c)
	var err error
	if approve {
		_, err = s.c.Approve(s.t.Context(), a.ID)
	} else {
		_, err = s.c.Reject(s.t.Context(), a.ID, "not today")
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

const example = "@agentclientprotocol/sdk/dist/examples/agent.js"

// TestExampleAgent has its change approved and rejected in the console where it may
// make it, and refused without asking where it may not.
func TestExampleAgent(t *testing.T) {
	s := connect(t, example, "/")
	var chromium browser.Chromium
	t.Cleanup(chromium.Close)
	b := chromium.Open(t)
	b.SignUp(s.app.Setup)
	b.Do(chromedp.Navigate(s.app.Web + "/approvals"))
	for button, want := range map[string]string{"[data-approve]": "I've successfully updated the configuration", ".reject button": "I understand you prefer not to make that change"} {
		answer := s.say("Improve my project")
		b.Await("the owner sees what it wants to do", `document.querySelector("[data-ask]")?.textContent.includes("/home/user/project/config.json")`)
		b.Do(chromedp.Click(`[data-ask] ` + button))
		if got := <-answer; !strings.Contains(got.Text, want) {
			t.Errorf("%s: %+v", button, got)
		}
		b.Await("nothing waits", `!document.querySelector("[data-ask]")`)
	}
	outside := connect(t, example, t.TempDir())
	if got := <-outside.say("Improve my project"); !strings.Contains(got.Text, "I understand you prefer not to make that change") {
		t.Errorf("outside: %+v", got)
	}
	outside.log.Await(t, "is refused without asking anybody")
}

// claudeEnv has Claude Code ask a model that is played, and keep what it keeps in a
// folder of its own.
func claudeEnv(m *model, home string) []string {
	return []string{
		"HOME=" + home, "CLAUDE_CONFIG_DIR=" + home, "ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=sk-ant-made-up", "DISABLE_TELEMETRY=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"IS_SANDBOX=1", // root may not run it otherwise
	}
}

// TestClaudeCode makes whole turns: a file that a person allows, one that a person
// does not, one outside of its folder, and one turn in which it is killed.
func TestClaudeCode(t *testing.T) {
	m := newModel(t)
	s := connect(t, "@agentclientprotocol/claude-agent-acp/dist/index.js", t.TempDir(), claudeEnv(m, t.TempDir())...)
	if got := <-s.say("hello"); got.Text != "Hello." {
		t.Fatalf("%+v", got)
	}
	for name, approve := range map[string]bool{"yes.txt": true, "no.txt": false} {
		path := filepath.Join(s.dir, name)
		answer := s.say("kindly-write " + path)
		a := s.decide(approve)
		if !strings.Contains(string(a.Arguments), "from the model") || !strings.Contains(string(a.Arguments), path) {
			t.Errorf("asked about %s %s", a.Tool, a.Arguments)
		}
		t.Logf("asked about %s: %s", a.Tool, a.Arguments)
		got := <-answer
		text, err := os.ReadFile(path)
		if approve && (string(text) != "from the model\n" || !strings.Contains(got.Text, "Written.")) || !approve && err == nil {
			t.Errorf("approved %v: %+v, %q, %v", approve, got, text, err)
		}
		t.Logf("approved %v: %q", approve, got.Text)
	}
	calls := 0
	for one, err := range s.c.Calls(t.Context(), client.CallFilter{AgentID: s.id}) {
		if err != nil {
			t.Fatal(err)
		}
		calls++
		call, err := s.c.Call(t.Context(), one.ID)
		if err != nil || len(call.Steps) == 0 {
			t.Fatalf("a call without steps: %+v, %v", call, err)
		}
		if input, output := call.Tokens(); input < 100 || output < 7 || call.Steps[0].Model == "" {
			t.Errorf("%d and %d tokens, %+v", input, output, call.Steps)
		}
		for _, step := range call.Steps {
			t.Log(step.Name, step.Summary())
		}
	}
	if calls != 3 {
		t.Errorf("%d calls are listed, want 3", calls)
	}
	outside := filepath.Join(t.TempDir(), "x.txt")
	got := <-s.say("kindly-write " + outside)
	if _, err := os.Stat(outside); err == nil {
		t.Errorf("it left its folder: %+v", got)
	}
	s.log.Await(t, "is refused without asking anybody")
	if open, err := s.c.Approvals(t.Context(), "pending"); err != nil || len(open) > 0 {
		t.Errorf("somebody was asked: %+v, %v", open, err)
	}

	dying := s.say("wait for me")
	<-m.waiting
	s.killProgram()
	if got := <-dying; !got.IsError || !strings.Contains(got.Text, "ended before it had answered; try again") {
		t.Errorf("killed: %+v", got)
	}
}

// killProgram kills the program as it is.
func (s *stand) killProgram() {
	s.t.Helper()
	text, err := os.ReadFile(s.pid)
	if err != nil {
		s.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
}

// TestClaudeCodeComesBack: killed, it is started anew and goes on with the session.
func TestClaudeCodeComesBack(t *testing.T) {
	m := newModel(t)
	s := connect(t, "@agentclientprotocol/claude-agent-acp/dist/index.js", t.TempDir(), claudeEnv(m, t.TempDir())...)
	if got := <-s.say("hello"); got.Text != "Hello." {
		t.Fatalf("%+v", got)
	}
	s.killProgram()
	s.log.Await(t, "the program ended; starting it again")
	if got := <-s.say("hello again"); got.Text != "Hello." {
		t.Fatalf("%+v", got)
	}
	if strings.Contains(s.log.String(), "a conversation begins anew") {
		t.Error("the session was not gone on with")
	}
}

// TestClaudeCodeTakesChoices of a mode and a model, and tells what there would be.
func TestClaudeCodeTakesChoices(t *testing.T) {
	m := newModel(t)
	start := func(o bridge.Options) *stand {
		return connectWith(t, o, "@agentclientprotocol/claude-agent-acp/dist/index.js", t.TempDir(), claudeEnv(m, t.TempDir())...)
	}
	if got := <-start(bridge.Options{Mode: "acceptEdits", Models: []string{"haiku"}}).say("hello"); !strings.HasPrefix(got.Text, "Hello.") {
		t.Errorf("%+v", got)
	}
	if !m.wasAsked("haiku") {
		t.Errorf("others were asked: %q", m.asked)
	}
	for want, o := range map[string]bridge.Options{`does not take the mode "yolo"; it offers`: {Mode: "yolo"}, `does not take the model "abacus"; it offers`: {Models: []string{"abacus"}}} {
		if got := <-start(o).say("hello"); !got.IsError || !strings.Contains(got.Text, want) {
			t.Errorf("%+v, want %s", got, want)
		}
	}
}
