//go:build unix

package upgrade

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beeos/beeos"
	"github.com/beeos/beeos/agent"
	"github.com/beeos/beeos/client"
	"github.com/beeos/beeos/internal/app"
	"github.com/beeos/beeos/internal/config"
	"github.com/beeos/beeos/test/apptest"
	"github.com/beeos/beeos/test/hands"
	"github.com/beeos/beeos/test/pgtest"
)

// TestDataOfPastVersions: what past versions acknowledged is there after the newest
// one has opened their data, what was under way goes on, and new calls go through.
// testdata has the tables of each version from which a migration rewrites or moves
// rows that are there, and of the end of each day's work: see README.md there.
func TestDataOfPastVersions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".tar.gz"), func(t *testing.T) { testData(t, file) })
	}
}

func testData(t *testing.T, file string) {
	folder := t.TempDir()
	if err := Unpack(file, folder); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, StoryFile))
	if err != nil {
		t.Fatal(err)
	}
	p := past{cfg: apptest.Config(t), folder: folder}
	if err := json.Unmarshal(text, &p.Story); err != nil {
		t.Fatal(err)
	}
	p.cfg.Dev, p.cfg.Data = false, filepath.Join(folder, DataFolder)
	dsn := "sqlite:" + filepath.Join(p.cfg.Data, "beeos.db")
	if dump := filepath.Join(folder, DumpFile); exists(dump) {
		dsn = pgtest.URL(t)
		if err := Load(t.Context(), dump, dsn); err != nil {
			t.Fatal(err)
		}
		p.cfg.DatabaseURL = dsn
	}
	if err := Refresh(t.Context(), dsn, p.MadeAt); err != nil {
		t.Fatal(err)
	}
	p.checkFilled(t, dsn)
	p.model = hands.NewModel(t, ThinkOfClerk)
	p.cfg.LLM = p.model.Settings()
	server := apptest.StartWith(t, p.cfg, app.Options{})
	p.door = Open(server.REST, server.MCP, p.UserKey)
	p.server = server

	p.checkCalls(t) // nobody is connected: these answers are the old ones
	p.checkKeys(t)
	p.checkConversation(t)
	p.checkTasks(t)
	p.checkFile(t)
	p.checkSound(t)
	p.checkMore(t, dsn)

	p.connect(t)
	p.goOn(t)
	p.checkSound(t)
}

// past is the data of a past version in the hands of today's program.
type past struct {
	Story
	cfg    config.Config
	folder string
	server *apptest.App
	door   Door
	model  *hands.Model
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (p *past) checkCalls(t *testing.T) {
	ctx := t.Context()
	for _, c := range p.Calls {
		if got, err := p.door.Ask(ctx, p.AgentID, c); err != nil || got != c.Answer {
			t.Errorf("the answer to %q over %s is %q, %v", c.Text, c.Surface, got, err)
		}
	}
	if _, err := p.door.Ask(ctx, p.AgentID, Call{Surface: "rest", Text: "new"}); !beeosCode(err, beeos.AgentServiceUnavailable) {
		t.Errorf("a new call while nobody is connected: %v", err)
	}
	listed, outcomes := 0, map[string]int{}
	for c, err := range p.door.Calls(ctx, client.CallFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		listed++
		outcomes[c.Outcome]++
	}
	// 6 with keys, a tool, a stream, two sentences, two about files, four tasks, one of the built-in agent.
	if listed != 17 || outcomes["ok"] != 15 || outcomes["working"] != 2 {
		t.Errorf("%d calls are on record: %v", listed, outcomes)
	}
}

func beeosCode(err error, want beeos.Code) bool {
	e, ok := errors.AsType[*beeos.Error](err)
	return ok && e.Code == want
}

func (p *past) checkKeys(t *testing.T) {
	mine := Open(p.server.REST, p.server.MCP, p.AgentKey)
	if got, err := mine.Ask(t.Context(), p.AgentID, p.Calls[0]); err == nil && got == "" || err != nil && !beeosCode(err, beeos.AgentServiceUnavailable) {
		t.Errorf("the agent's key: %q, %v", got, err) // a key is a caller of its own: this call is new
	}
	gone := Open(p.server.REST, p.server.MCP, p.Revoked)
	if _, err := gone.Ask(t.Context(), p.AgentID, p.Calls[0]); err == nil || beeosCode(err, beeos.AgentServiceUnavailable) {
		t.Errorf("a key that was revoked: %v", err)
	}
	keys, err := p.door.Keys(t.Context(), p.AgentID)
	if err != nil || len(keys) == 0 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

func (p *past) checkConversation(t *testing.T) {
	var said []string
	for m, err := range p.door.Messages(t.Context(), p.AgentID, p.Conversation) {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, m.Body)
	}
	if diff := cmp.Diff(p.Said, said); diff != "" {
		t.Error(diff)
	}
}

func (p *past) checkTasks(t *testing.T) {
	ctx := t.Context()
	for id, want := range map[string]string{p.Done: "asked: that one", p.Approved: "wrote: yes"} {
		task, err := p.door.Task(ctx, p.AgentID, id)
		if err != nil || task.Status != beeos.TaskCompleted || task.Result == nil || task.Result.Text != want {
			t.Errorf("task %q: %+v, %v", want, task, err)
		}
	}
	open := 0
	for task, err := range p.door.Tasks(ctx, client.TaskFilter{State: "active"}) {
		if err != nil {
			t.Fatal(err)
		}
		if task.ID == p.Waiting || task.ID == p.Approving {
			open++
		}
	}
	if open != 2 {
		t.Errorf("%d of two tasks are open", open)
	}
	hooks, err := p.door.Webhooks(ctx, p.AgentID, p.Done)
	if err != nil || len(hooks) != 1 || hooks[0].ID != p.Webhook || !hooks[0].HasSecret {
		t.Errorf("webhooks: %+v, %v", hooks, err)
	}
	if told, err := p.door.Deliveries(ctx, p.AgentID, p.Done, p.Webhook, 10); err != nil || len(told) == 0 || told[0].Status != "succeeded" {
		t.Errorf("what the webhook was told: %+v, %v", told, err)
	}
	statuses := map[string]string{}
	for _, status := range []string{"pending", "decided"} {
		list, err := p.door.Approvals(ctx, status)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			statuses[a.ID] = a.Status
		}
	}
	if diff := cmp.Diff(map[string]string{p.Pending: "pending", p.Decided: "approved"}, statuses); diff != "" {
		t.Error(diff)
	}
}

func (p *past) checkFile(t *testing.T) {
	_, content, err := p.door.Download(t.Context(), p.File)
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil || hex.EncodeToString(sum.Sum(nil)) != p.SHA256 {
		t.Errorf("the file is another one, %v", err)
	}
}

// checkSound is beeos verify.
func (p *past) checkSound(t *testing.T) {
	t.Helper()
	report, err := app.Verify(t.Context(), p.cfg, true)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Clean() {
		t.Errorf("verify: %+v", report.Findings)
	}
}

// connect lets today's agent go on as the old one, with its key.
func (p *past) connect(t *testing.T) {
	path := filepath.Join(p.folder, IdentityFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var identity struct {
		PrivateKey string            `json:"private_key"`
		Instances  map[string]string `json:"instances"`
	}
	if err := json.Unmarshal(text, &identity); err != nil || len(identity.Instances) != 1 {
		t.Fatalf("the identity of the old agent: %v", err)
	}
	for _, instance := range identity.Instances { // at another port now
		identity.Instances = map[string]string{p.server.Agents: instance}
	}
	if text, err = json.Marshal(identity); err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	connected, ended := make(chan string, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		ended <- agent.Run(ctx, agent.Options{ // no key to join with: it is known, or fails
			Name: "echo", Gateway: p.server.Agents, Identity: path, Log: slog.New(slog.DiscardHandler),
			Connected: func(id string) {
				select {
				case connected <- id:
				default:
				}
			},
		}, answerAgain)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case id := <-connected:
		if id != p.AgentID {
			t.Errorf("the agent is %s, was %s", id, p.AgentID)
		}
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	case <-time.After(startWithin):
		t.Fatal("the agent does not connect")
	}
}

func answerAgain(ctx context.Context, m agent.Message, r *agent.Reply) error {
	order, rest, _ := strings.Cut(m.Text, " ")
	switch order {
	case "ask":
		said, err := r.InputRequired(ctx, "which one?", nil)
		if err != nil {
			return err
		}
		return r.Send("asked: " + said.Text)
	case "write":
		if err := r.Approve(ctx, "write_file", map[string]string{"text": rest}); err != nil {
			return err
		}
		return r.Send("wrote: " + rest)
	}
	return r.Send("again: " + m.Text)
}

// goOn ends what was under way, and makes new calls with the old keys.
func (p *past) goOn(t *testing.T) {
	ctx := t.Context()
	if _, err := p.door.Approve(ctx, p.Pending); err != nil {
		t.Errorf("approve what was asked before: %v", err)
	}
	if err := p.door.reach(ctx, p.AgentID, p.Approving, beeos.TaskCompleted); err != nil {
		t.Error(err)
	}
	if err := p.door.reach(ctx, p.AgentID, p.Waiting, beeos.TaskInputRequired); err != nil {
		t.Error(err)
	}
	if _, err := p.door.ContinueTask(ctx, p.AgentID, p.Waiting, "this one"); err != nil {
		t.Errorf("answer what was asked before: %v", err)
	}
	if err := p.door.reach(ctx, p.AgentID, p.Waiting, beeos.TaskCompleted); err != nil {
		t.Error(err)
	}
	if task, err := p.door.Task(ctx, p.AgentID, p.Waiting); err != nil || task.Result == nil || task.Result.Text != "asked: this one" {
		t.Errorf("%+v, %v", task, err)
	}
	for _, key := range []string{p.UserKey, p.AgentKey} {
		for _, surface := range []string{"mcp", "rest"} {
			got, err := Open(p.server.REST, p.server.MCP, key).Ask(ctx, p.AgentID, Call{Surface: surface, Key: "new-" + surface, Text: "hello"})
			if err != nil || got != "again: hello" {
				t.Errorf("a new call over %s: %q, %v", surface, got, err)
			}
		}
	}
	for _, c := range p.Calls {
		if got, err := p.door.Ask(ctx, p.AgentID, c); err != nil || got != c.Answer {
			t.Errorf("the answer to %q over %s has become %q, %v", c.Text, c.Surface, got, err)
		}
	}
}
