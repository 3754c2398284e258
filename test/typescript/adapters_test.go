//go:build adapters && unix

package typescript

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/test/npm"
	"github.com/beeos/beeos/test/program"
)

// framework is one that the SDK serves the agents of. Its folder below
// testdata/adapters pins its packages and has an agent with a scripted model.
type framework struct {
	name string
	// What the model is told of a tool call that the owner refused, and of a tool
	// that failed: the frameworks have their own words.
	denied, broken string
}

var frameworks = []framework{
	{name: "vercel", denied: "wrong folder", broken: "the tool is broken"},
	{name: "mastra", denied: "wrong folder", broken: "the tool is broken"},
	{name: "langchain", denied: "wrong folder", broken: "the tool is broken"},
}

// TestAdapters: an agent of each framework is served as it is, beside a real
// server.
func TestAdapters(t *testing.T) {
	for _, f := range frameworks {
		t.Run(f.name, func(t *testing.T) {
			r := &rig{t: t, s: startServer(t), framework: f, dir: f.build(t), script: "agent.ts"}
			r.start(t)
			t.Run("conversation", r.testConversation)
			t.Run("streaming", r.testStreaming)
			t.Run("steps", r.testSteps)
			t.Run("approval", r.testApprovals)
			t.Run("files", r.testFiles)
			t.Run("failure", r.testFailures)
			t.Run("cancel", r.testCancel)
			t.Run("question", r.testQuestions)
			t.Run("types", r.testTypes)
			if f.name == "langchain" {
				t.Run("chain", r.testChain)
			}
		})
	}
}

// build installs the framework beside the packed SDK and the agent. Node takes its
// types away by itself.
func (f framework) build(t *testing.T) string {
	t.Helper()
	w := theProject(t)
	from := filepath.Join("testdata", "adapters", f.name)
	manifest, err1 := os.ReadFile(filepath.Join(from, "package.json"))
	lock, err2 := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	packages, err := npm.InstallLocked(t.Context(), manifest, lock)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	modules := filepath.Join(dir, "node_modules")
	must(t, os.Mkdir(modules, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "package.json"), manifest, 0o600))
	programs, err := filepath.Glob(filepath.Join(from, "*.ts"))
	must(t, err)
	for _, name := range append(programs, filepath.Join(from, "../script.ts"), filepath.Join(from, "../model.ts")) {
		text, err := os.ReadFile(name)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600))
	}
	installed, err := os.ReadDir(packages.Module(""))
	must(t, err)
	for _, d := range installed {
		must(t, os.Symlink(packages.Module(d.Name()), filepath.Join(modules, d.Name())))
	}
	must(t, os.Symlink(filepath.Join(w.project, "node_modules", "@beeos"), filepath.Join(modules, "@beeos")))
	if _, err := os.Stat(filepath.Join(modules, "@types", "node")); err != nil {
		must(t, os.RemoveAll(filepath.Join(modules, "@types")))
		must(t, os.Symlink(w.packages.Module("@types"), filepath.Join(modules, "@types")))
	}
	return dir
}

// testTypes checks the agents' types as strictly as their author would: what they
// hand over is what the SDK takes.
func (r *rig) testTypes(t *testing.T) {
	programs, err := filepath.Glob(filepath.Join("testdata", "adapters", r.framework.name, "*.ts"))
	must(t, err)
	for i, name := range programs {
		programs[i] = filepath.Base(name)
	}
	must(t, theProject(t).compile(t.Context(), r.dir, append(programs, "--strict", "--noUncheckedIndexedAccess", "--noEmit", "--module", "nodenext", "--target", "es2023",
		"--lib", "es2024,dom", "--types", "node", "--skipLibCheck", "--allowImportingTsExtensions", "--erasableSyntaxOnly")...))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rig is one framework's agent and a server.
type rig struct {
	t         *testing.T
	s         *server
	framework framework
	dir       string
	script    string // what runs the agent
	agent     *agentProcess
}

func (r *rig) start(t *testing.T) {
	t.Helper()
	env := append(slices.Clone(r.s.env), "XDG_CONFIG_HOME="+filepath.Dir(r.s.data))
	p, err := program.Start(r.framework.name, env, theWorkshop(t).node, filepath.Join(r.dir, r.script))
	must(t, err)
	r.t.Cleanup(func() {
		p.Kill()
		if r.t.Failed() {
			r.t.Log(p.Text())
		}
	})
	r.agent = &agentProcess{Process: p, t: r.t}
	r.agent.id = strings.TrimPrefix(await(t, p, "connected "), "connected ")
}

func (r *rig) say(t *testing.T, contextID, text string) *client.Answer {
	t.Helper()
	answer, err := r.s.client().Invoke(t.Context(), r.agent.id, client.InvokeRequest{Message: text, ContextID: contextID})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return answer
}

// testConversation: the third turn, after a restart, knows the first, and what
// tools said in the second.
func (r *rig) testConversation(t *testing.T) {
	first := r.say(t, "", "my name is Ada")
	second := r.say(t, first.ContextID, "weather in Oslo")
	if first.Text != "Nice to meet you, Ada." || second.Text != "They say: sunny in Oslo" {
		t.Errorf("%q, %q", first.Text, second.Text)
	}
	r.agent.Kill()
	r.start(t)
	if third := r.say(t, first.ContextID, "what is my name?"); third.Text != "Your name is Ada." {
		t.Errorf("after a restart: %q", third.Text)
	}
	if tools := r.say(t, first.ContextID, "what did the tools say?"); tools.Text != "sunny in Oslo" {
		t.Errorf("after a restart: %q", tools.Text)
	}
	if other := r.say(t, "", "what is my name?"); other.Text != "Your name is undefined." {
		t.Errorf("another conversation: %q", other.Text)
	}
}

// testStreaming: the caller sees each piece before the model says the next one, for
// which it waits; a model that waits in vain fails.
func (r *rig) testStreaming(t *testing.T) {
	agent, err := os.FindProcess(r.agent.Pid())
	must(t, err)
	var pieces []string
	for ev, err := range r.s.client().Stream(t.Context(), r.agent.id, client.InvokeRequest{Message: "count slowly"}) {
		must(t, err)
		if ev.Delta != "" {
			pieces = append(pieces, ev.Delta)
			must(t, agent.Signal(syscall.SIGUSR2))
		}
		if ev.Done != nil && (ev.Done.IsError || ev.Done.Text != "One, two, three, four.") {
			t.Errorf("%+v", ev.Done)
		}
	}
	if want := []string{"One, ", "two, ", "three, ", "four."}; !slices.Equal(pieces, want) {
		t.Errorf("%q", pieces)
	}
}

// testSteps: a tool call and the model's tokens are on the page of the call.
func (r *rig) testSteps(t *testing.T) {
	r.say(t, "", "weather in Rome")
	r.wantSteps(t, "model scripted-1 7 5", "tool forecast", "model scripted-1 7 5")
}

// wantSteps compares the steps of the latest call.
func (r *rig) wantSteps(t *testing.T, want ...string) {
	t.Helper()
	for one, err := range r.s.client().Calls(t.Context(), client.CallFilter{AgentID: r.agent.id}) {
		must(t, err)
		detail, err := r.s.client().Call(t.Context(), one.ID)
		must(t, err)
		var got []string
		for i := range detail.Steps {
			got = append(got, sayStep(&detail.Steps[i]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("steps %q, want %q", got, want)
		}
		return
	}
	t.Errorf("no call of %s is listed", r.agent.id)
}

func sayStep(s *beeos.Step) string {
	said := string(s.Kind) + " " + s.Name
	if s.Kind == beeos.StepModel {
		said = strings.TrimSpace("model " + s.Model + " " + strconv.FormatInt(s.InputTokens, 10) + " " + strconv.FormatInt(s.OutputTokens, 10))
	}
	if s.Error != "" {
		said += " failed: " + s.Error
	}
	return said
}

// testApprovals: the owner says yes to one call and no to another; what was
// refused is not done, and the model hears why.
func (r *rig) testApprovals(t *testing.T) {
	c := r.s.client()
	for path, yes := range map[string]bool{"a.csv": true, "b.csv": false} {
		got := make(chan string, 1)
		go func() { // ends with the call
			answer, err := c.Invoke(t.Context(), r.agent.id, client.InvokeRequest{Message: "delete " + path})
			if err != nil {
				got <- err.Error()
				return
			}
			got <- answer.Text
		}()
		waiting := awaitApproval(t, c)
		if waiting.Tool != "delete_file" || string(waiting.Arguments) != `{"path":"`+path+`"}` {
			t.Errorf("%+v", waiting)
		}
		var err error
		if yes {
			_, err = c.Approve(t.Context(), waiting.ID)
		} else {
			_, err = c.Reject(t.Context(), waiting.ID, "wrong folder")
		}
		must(t, err)
		text := <-got
		if done := slices.Contains(r.agent.Out.All(), "deleted "+path); done != yes {
			t.Errorf("%s deleted: %v", path, done)
		}
		if yes && text != "Well: "+path+" is gone" || !yes && !strings.Contains(text, r.framework.denied) {
			t.Errorf("%s: %q", path, text)
		}
	}
}

// testFiles: a text that comes along is read to the model and an image is shown to
// it; the next turn still knows the text.
func (r *rig) testFiles(t *testing.T) {
	c := r.s.client()
	notes, err := c.Upload(t.Context(), "notes.txt", "text/plain", strings.NewReader("buy milk"), 8)
	must(t, err)
	photo, err := c.Upload(t.Context(), "photo.png", "image/png", strings.NewReader("\x01\x02\x03"), 3)
	must(t, err)
	first, err := c.Invoke(t.Context(), r.agent.id, client.InvokeRequest{Message: "look", Attachments: []client.Attachment{{FileID: notes.FileID}, {FileID: photo.FileID}}})
	must(t, err)
	const words = "look\n\nThe file \"notes.txt\":\nbuy milk"
	if want := "I see: " + words + "<image/png: AQID>"; first.Text != want {
		t.Errorf("%q, want %q", first.Text, want)
	}
	if second := r.say(t, first.ContextID, "what did I show you?"); !strings.HasPrefix(second.Text, "You showed me: look\n\n") || !strings.Contains(second.Text, "buy milk") {
		t.Errorf("%q", second.Text)
	}
}

// testFailures: a model that fails is a failed answer; a tool that fails is a
// failed step, which the model may get over.
func (r *rig) testFailures(t *testing.T) {
	if answer := r.say(t, "", "fail"); !answer.IsError || !strings.Contains(answer.Text, "the model is down") {
		t.Errorf("%+v", answer)
	}
	if answer := r.say(t, "", "break a tool"); answer.IsError || !strings.Contains(answer.Text, r.framework.broken) {
		t.Errorf("%+v", answer)
	}
	r.wantSteps(t, "model scripted-1 7 5", "tool broken failed: "+r.framework.broken, "model scripted-1 7 5")
}

// testCancel: the model hears that nobody wants its answer.
func (r *rig) testCancel(t *testing.T) {
	c := r.s.client()
	task, err := c.CreateTask(t.Context(), r.agent.id, client.TaskRequest{Message: "wait"})
	must(t, err)
	await(t, r.agent.Process, "waiting")
	if task, err = c.CancelTask(t.Context(), r.agent.id, task.ID, "enough"); err != nil || task.Status != beeos.TaskCanceled {
		t.Errorf("%+v, %v", task, err)
	}
	await(t, r.agent.Process, "model aborted")
	if answer := r.say(t, "", "my name is Eve"); answer.Text != "Nice to meet you, Eve." {
		t.Errorf("afterwards: %+v", answer)
	}
}

// testQuestions: the person is asked, in the words of MCP or as a task pauses.
func (r *rig) testQuestions(t *testing.T) {
	elicit := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, q *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		if q.Params.Message != "Which city?" {
			t.Errorf("asked %q", q.Params.Message)
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "Paris"}}, nil
	}}
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		session := r.s.connect(r.agent.id, version, elicit)
		list, err := session.ListTools(t.Context(), nil)
		must(t, err)
		got := text(session.CallTool(t.Context(), &mcp.CallToolParams{Name: list.Tools[0].Name, Arguments: map[string]any{"message": "ask me"}}))
		if !strings.HasPrefix(got, "You said Paris") {
			t.Errorf("MCP %s: %q", version, got)
		}
	}
	c := r.s.client()
	task, err := c.CreateTask(t.Context(), r.agent.id, client.TaskRequest{Message: "ask me"})
	must(t, err)
	for _, err := range c.WatchTask(t.Context(), r.agent.id, task.ID) {
		must(t, err)
		if task, err = c.Task(t.Context(), r.agent.id, task.ID); err == nil && task.Question != nil {
			break
		}
	}
	if task.Question == nil || task.Question.Text != "Which city?" {
		t.Fatalf("%+v", task)
	}
	_, err = c.ContinueTask(t.Context(), r.agent.id, task.ID, "Bergen")
	must(t, err)
	if got := result(t, r.s, r.agent.id, task.ID); got != "You said Bergen" {
		t.Errorf("task: %q", got)
	}
}

// testChain: a runnable that is no graph has no tools and nothing to ask; the rest it
// does as the others do.
func (r *rig) testChain(t *testing.T) {
	chain := *r
	chain.script = "chain.ts"
	chain.start(t)
	first := chain.say(t, "", "my name is Ada")
	chain.say(t, first.ContextID, "look around")
	chain.agent.Kill()
	chain.start(t)
	if third := chain.say(t, first.ContextID, "what is my name?"); third.Text != "Your name is Ada." {
		t.Errorf("after a restart: %q", third.Text)
	}
	chain.wantSteps(t, "model scripted-1 7 5")
	if answer := chain.say(t, "", "fail"); !answer.IsError || !strings.Contains(answer.Text, "the model is down") {
		t.Errorf("%+v", answer)
	}
	t.Run("streaming", chain.testStreaming)
	t.Run("cancel", chain.testCancel)
}

// result waits for what came of a task.
func result(t *testing.T, s *server, agentID, taskID string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, err := range s.client().WatchTask(ctx, agentID, taskID) {
		must(t, err)
	}
	task, err := s.client().Task(ctx, agentID, taskID)
	if err != nil || task.Result == nil {
		t.Fatalf("%+v, %v", task, err)
	}
	return task.Result.Text
}
